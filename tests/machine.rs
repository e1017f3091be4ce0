//! The predicted machine of a small plan: what each resource type makes of it, each rule broken once.

mod breaks;
mod compare;
pub mod difference;
mod fold;
mod plan;
mod sddl;
mod stages;
mod text;
mod windows;
