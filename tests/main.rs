//! One integration binary: what the program does, seen from outside.

#![expect(
    clippy::disallowed_methods,
    clippy::similar_names,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "tests touch the world by themselves, hold tables of cases, and fail by a panic"
)]

mod support;

mod archive;
mod authenticode;
mod bake;
mod build_time;
mod bundle;
mod catalog;
mod cli;
mod cloudbase;
mod cluster;
mod combinations;
mod completions;
mod containerd;
mod defects;
mod detached;
mod doctor;
mod documented;
mod evidence;
mod exit_codes;
mod explain;
mod extension;
mod fetch;
mod first_use;
mod fleet;
mod fuzz;
mod guest_static;
mod host;
mod images;
#[cfg(target_os = "linux")]
mod interrupts;
mod join;
mod join_data;
mod life;
mod lockfile;
mod machine;
mod manifests;
mod matrix;
mod memory;
mod mirror;
mod options;
mod own_content;
mod owners;
mod packer;
mod pipelines;
mod place;
mod publish;
mod reports;
mod road;
mod schema;
mod scripts;
mod targets;
mod terminal;
mod tidy;
mod trust;
mod values;
mod verify;
mod wine;
