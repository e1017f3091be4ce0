//! Values → documents that say what is in an image, where it comes from, and what changed.
//!
//! Nothing here reads or writes a file, or asks the time: the same values give the same bytes.

pub mod diff;

pub mod inventory;
pub mod key;
mod license;
pub mod purl;
pub mod report;
pub mod sbom;
pub mod statement;
