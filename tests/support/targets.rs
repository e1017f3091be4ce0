//! Targets that are built in, and what their records say of them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use imagegen::catalog::{load_target, load_targets};
use imagegen::embedded::Tree;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::target::Target;
use imagegen::model::target_record::{CheckStage, TargetCheck, TargetRecord};
use serde_json::{Map, Value, json};

use super::link_file;

pub fn all_targets() -> Vec<Arc<Target>> {
    load_targets(&Tree::embedded_packer()).expect("targets")
}

pub fn image_targets() -> Vec<Arc<Target>> {
    all_targets()
        .into_iter()
        .filter(|target| target.image().is_some())
        .collect()
}

/// A selection of one cloud.
pub fn azure(kubernetes: &str) -> ImageDefinition {
    ImageDefinition {
        target: Some("azure".to_owned()),
        kubernetes: Some(kubernetes.to_owned()),
        ..ImageDefinition::default()
    }
}

/// The checks of a stage.
pub fn find_checks(record: &TargetRecord, stage: CheckStage) -> impl Iterator<Item = &TargetCheck> {
    record
        .checks
        .iter()
        .filter(move |check| check.stage == stage)
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
    let check = find_checks(&target.record, CheckStage::Executed)
        .next()
        .expect("an executed build");
    write_versions(&target, check)
}

/// Folders of the built plugins of a target, below that of all plugins.
pub fn list_plugins(target: &Target) -> impl Iterator<Item = &str> {
    let images = target.image().into_iter();
    let plugins = images.flat_map(|image| image.plugins.as_slice());
    plugins.map(|plugin| plugin.address.as_str())
}

/// The folder of all plugins that are built.
pub fn find_plugins() -> PathBuf {
    PathBuf::from(std::env::var_os("PACKER_PLUGIN_PATH").expect("plugins"))
}

/// A folder below `folder` with the built plugins of one target. Packer reads, digests and starts every plugin that it
/// finds, for each of its commands.
pub fn link_plugins(folder: &Path, target: &Target) -> PathBuf {
    let built = find_plugins();
    let own = folder.join("built-plugins");
    for plugin in list_plugins(target) {
        let to = own.join(plugin);
        fs::create_dir_all(&to).expect("a folder");
        // A target may have a plugin that is not built.
        let files = fs::read_dir(built.join(plugin)).into_iter();
        for file in files.flatten().flatten() {
            link_file(&file.path(), &to.join(file.file_name()));
        }
    }
    own
}

/// The built plugins for a command of imagegen: those of the target that it names.
pub fn choose_plugins(command: &Command, folder: &Path) -> PathBuf {
    let mut words = command.get_args();
    if words.any(|word| word == "--target") {
        let name = words.next().and_then(OsStr::to_str).expect("a name");
        let target = load_target(&Tree::embedded_packer(), name).expect("target");
        return link_plugins(folder, &target);
    }
    find_plugins()
}
