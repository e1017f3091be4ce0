//! Windows itself: its paths, command lines, security descriptors and texts, and the resource types of a guest plan.

pub mod command_line;
pub mod inbox;
pub mod paths;
mod pattern;
pub mod resource;
pub mod sddl;
pub mod value;
