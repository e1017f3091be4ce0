//! Values: what things are, without doing anything.

pub mod choice;
pub mod cluster;
pub mod command_line;
pub mod component;
pub mod evidence;
pub mod feature;
pub mod json;
pub mod kubernetes;
pub mod names;
pub mod overrides;
pub mod paths;
pub mod plan;
pub mod policy;
pub mod resource;
pub mod rules;
pub mod selection;
pub mod signing;
pub mod situation;
pub mod step;
pub mod target;
pub mod text;
pub mod upstream;
pub mod url;
pub mod version;
pub mod windows;
