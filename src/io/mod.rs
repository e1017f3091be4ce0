//! The only modules that touch the world.

pub mod exec;
pub mod fs;
