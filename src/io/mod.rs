//! The only modules that touch the world.

pub mod ask;
pub mod clock;
pub mod exec;
pub mod fs;
pub mod http;
pub mod oci;
pub mod random;
pub mod store;
