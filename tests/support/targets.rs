//! Targets that are built in, and what their records say of them.

use std::sync::Arc;

use imagegen::catalog::{load_target, load_targets};
use imagegen::embedded::Tree;
use imagegen::model::record::{CheckStage, TargetCheck};
use imagegen::model::target::Target;
use serde_json::{Map, Value, json};

pub fn all_targets() -> Vec<Arc<Target>> {
    load_targets(&Tree::embedded_packer()).expect("targets")
}

pub fn image_targets() -> Vec<Arc<Target>> {
    all_targets()
        .into_iter()
        .filter(|target| target.image().is_some())
        .collect()
}

/// An image definition with the versions of a check.
pub fn write_versions(target: &Target, check: &TargetCheck) -> String {
    let names = target
        .image()
        .into_iter()
        .flat_map(|image| image.plugins.as_slice());
    let plugins: Map<String, Value> = names
        .zip(&check.plugin)
        .map(|(plugin, version)| (plugin.name.clone(), json!(version)))
        .collect();
    json!({"packer": {"version": check.packer, "plugins": plugins}}).to_string()
}

/// An image definition with the versions with which, as the record says, a build of the target was executed.
#[track_caller]
pub fn executed_versions(name: &str) -> String {
    let target = load_target(&Tree::embedded_packer(), name).expect("target");
    let check = target
        .record
        .find_checks(CheckStage::Executed)
        .next()
        .expect("an executed build");
    write_versions(&target, check)
}
