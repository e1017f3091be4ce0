//! Values by themselves: what their types take, refuse and print.

mod choice;
mod command_line;
mod download;
mod image_version;
mod json;
mod line;
mod mask;
mod member;
mod no_proxy;
mod overrides;
mod paths;
mod policy;
mod secret;
mod situation;
mod text;
mod upstream;
mod url;
mod value;
mod version;
