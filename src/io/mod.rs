//! The only modules that touch the world.

pub mod ask;
pub mod clock;
pub mod exec;
pub mod fs;
pub mod http;
pub mod interrupt;
pub mod oci;
pub mod random;
mod signals;
pub mod store;
