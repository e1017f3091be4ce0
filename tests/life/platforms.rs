//! What platforms do to a clone: by themselves, and by the plugins of cloudbase-init that a target chooses.

use std::collections::BTreeSet;

use imagegen::model::target::Target;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Life, Node, image_targets, read_life, text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Platform {
    target: String,
    does: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plugin {
    #[serde(rename = "plugin")]
    class: String,
    does: String,
    changes: Option<PluginChange>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginChange {
    #[serde(rename = "type")]
    kind: String,
    identity: Map<String, Value>,
    property: String,
}

pub(super) fn list_plugins(target: &Target) -> Vec<String> {
    let phases = target.image().map(|image| &image.platform.cloudbase_init);
    let lists = phases.map(|it| [&it.main.plugins, &it.unattend.plugins]);
    lists.into_iter().flatten().flatten().cloned().collect()
}

pub(super) fn list_services(target: &Target) -> Vec<String> {
    let image = target.image();
    image.map_or_else(Vec::new, |image| {
        image.platform.cloudbase_init.main.services.clone()
    })
}

/// What a plugin of the target changes is not compared on a node, and each plugin is known.
pub(super) fn find_plugin_changes(life: &Life, node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    for name in &node.plugins {
        let Some(plugin) = life.plugins.iter().find(|plugin| plugin.class == *name) else {
            found.push(format!("plugin: nobody says what {name} changes"));
            continue;
        };
        let Some(changes) = &plugin.changes else {
            continue;
        };
        let same = |resource: &Value| {
            changes.identity.iter().all(|(name, value)| {
                *value == json!("*") || text(resource, name) == value.as_str().unwrap_or_default()
            })
        };
        let compared = node.resources.iter().filter(|it| {
            let volatile = it["volatile"].get(&changes.property).is_some();
            let lasts = it.get("scope").is_none_or(|scope| scope == "node");
            it["type"] == changes.kind.as_str() && same(it) && lasts && !volatile
        });
        found.extend(compared.map(|it| {
            format!(
                "plugin: {} `{}`, set by {name} ({})",
                it["name"], changes.property, plugin.source
            )
        }));
    }
    found
}

/// A target without a row is one of which nobody asked what it does to a clone.
#[test]
fn each_target_says_what_it_does_to_a_clone() {
    let life = read_life();
    let told: BTreeSet<&str> = life.platforms.iter().map(|it| it.target.as_str()).collect();
    let targets = image_targets();
    let names: BTreeSet<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(told, names);
    let rows = life.platforms.iter().map(|it| (&it.does, &it.source));
    for (does, source) in rows.chain(life.plugins.iter().map(|it| (&it.does, &it.source))) {
        assert!(
            !does.is_empty() && (source.contains("https://") || source.contains('@')),
            "{does}: {source}"
        );
    }
    let targets = life.changes.iter().flat_map(|change| &change.targets);
    let unknown: Vec<&String> = targets
        .filter(|target| !names.contains(target.as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
