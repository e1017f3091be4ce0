//! imagegen: Windows node images for Kubernetes, from a pinned catalog to a baked image.
//!
//! Pure stages compute complete values; thin edges perform effects. A preview stops after rendering.
//!
//! ```text
//! manifests/ ─ catalog ─► resolve(selection) ─► Plan ─► lock ─► Lock
//!                                                │
//!                     provisioners/ ─ guest ─► GuestPlan ─ machine ─► predicted machine
//!                                                │
//!                          packer/ ─ render ─► Workspace ─ bake (packer) ─► image.json
//! ```
//!
//! A test or a type enforces each invariant:
//! * a module uses only modules before it in the list below, and only `io` accesses files, network, clock and
//!   processes;
//! * a bake takes an [`acquire::ProvenPlan`], which exists only if every artifact is pinned, admitted by the
//!   policy and verified;
//! * values are passed as data, never as text in code: as JSON to PowerShell, as JSON variables to Packer;
//! * the same lock gives the same bytes;
//! * combinations that cannot work are refused before the build starts, with the reason and the remedy.

pub mod base;

pub mod diagnostic;

pub mod windows;

pub mod model;

pub mod embedded;

pub mod catalog;

pub mod template;

pub mod resolve;

pub mod lock;

pub mod trust;

pub mod machine;

pub mod guest;

pub mod join;

pub mod cluster;

pub mod attest;

pub mod io;

pub mod ui;

pub mod fetch;

pub mod verify;

pub mod acquire;

pub mod scripts;

pub mod bundle;

pub mod render;

pub mod selection;

pub mod planning;

pub mod preflight;

pub mod updates;

pub mod bake;

pub mod workspace;

pub mod records;

pub mod publish;

pub mod inspect;

pub mod carry;

pub mod view;

pub mod schemas;

pub mod cli;

pub mod complete;

pub mod commands;
