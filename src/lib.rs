//! imagegen: Windows node images for Kubernetes, from a pinned catalog to a baked image.
//!
//! Pure stages compute complete values, thin edges perform effects; a preview is to stop after
//! rendering.
//!
//! ```text
//! manifests/ ─ catalog ─► resolve(selection) ─► Plan ─► lock ─► Lock
//!                                                │
//!                     provisioners/ ─ guest ─► GuestPlan ─ machine ─► predicted machine
//!                                                │
//!                          packer/ ─ render ─► Workspace ─ bake (packer) ─► image.json
//! ```
//!
//! Invariants, each held by a test or a type:
//! * a module uses only those before it in the list below, and only `io` touches the world;
//! * a bake takes an [`acquire::ProvenPlan`], which exists only if every artifact is pinned, admitted by the
//!   policy and verified;
//! * values travel as data: JSON into PowerShell, JSON variables into Packer, never as text in code;
//! * the same lock gives the same bytes;
//! * what could not work is refused before anything is paid for, with the reason and the remedy.

pub mod diagnostic;

pub mod model;

pub mod embedded;

pub mod catalog;

pub mod resolve;

pub mod lock;

pub mod trust;

pub mod machine;

pub mod guest;

pub mod join;

pub mod cluster;

pub mod cli;

pub mod io;

pub mod ui;

pub mod fetch;

pub mod verify;

pub mod acquire;

pub mod scripts;

pub mod bundle;

pub mod render;

pub mod selection;

pub mod preflight;

pub mod updates;

pub mod bake;

pub mod workspace;

pub mod inspect;

pub mod carry;

pub mod view;

pub mod schemas;

pub mod commands;
