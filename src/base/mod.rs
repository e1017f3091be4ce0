//! Values and helpers that know nothing of images: texts of a fixed form, versions, URLs, digests, JSON, secrets.
//!
//! Nothing here imports a module of the crate.

pub mod choice;
pub mod code;
pub mod digest;
pub mod download;
pub mod duration;
pub mod interrupt;
pub mod json;
pub mod member;
pub mod names;
pub mod no_proxy;
pub mod nonempty;
pub mod output_list;
pub mod pattern;
pub mod program;
pub mod public_key;
pub mod secret;
pub(crate) mod shell;
pub mod stream;
pub mod text;
pub mod toml;
pub mod url;
pub mod value;
pub mod version;
