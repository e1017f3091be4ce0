//! Values: what things are, without doing anything.

pub mod cluster;
pub mod component;
pub mod definition;
pub mod evidence;
pub mod feature;
pub mod guest_plan;
pub mod image_version;
pub mod images;
pub mod kubernetes;
pub mod line;
pub mod output_line;
pub mod overrides;
pub mod plan;
pub mod platform;
pub mod pod_network;
pub mod policy;
pub mod record;
pub mod rules;
pub mod signing;
pub mod situation;
pub mod step;
pub mod target;
pub mod upstream;
pub mod variable;
pub mod vulnerability;
pub mod windows;
