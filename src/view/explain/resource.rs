//! Resources of the guest plan, by their names and by the names that they give to things of Windows.

use serde_json::Value;

use crate::base::json::format_plain;
use crate::machine::Machine;
use crate::model::step::{Step, StepResource};
use crate::windows::resource::Resource;

use super::NameIndex;

/// Properties that name a thing of Windows.
const NAMING: &[&str] = &["name", "path", "valueName"];

impl NameIndex {
    /// Things of the predicted machine: members of archives, folders of installers, files of later programs.
    pub(super) fn add_machine(&mut self, machine: &Machine) {
        for placed in machine.resources.values() {
            let value = serde_json::to_value(&placed.kind).unwrap_or_default();
            let kind = value["type"].as_str().unwrap_or_default();
            let lines = vec![format!("{kind} of {}", placed.origin.resource)];
            let source = format!("derived: step {} of the plan", placed.origin.step);
            for path in collect_paths(&value["properties"]) {
                self.add("path", path, lines.clone(), &source);
            }
        }
    }

    pub(super) fn add_resource(&mut self, resource: &Resource, source: &str) {
        let value = serde_json::to_value(resource).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or_default();
        let phase = value["phase"].as_str().unwrap_or_default();
        let scope = value["scope"].as_str().unwrap_or("node");
        let mut lines = vec![
            format!("{kind} of step {}", resource.step),
            format!("phase {phase}, scope {scope}"),
        ];
        for (name, value) in value["properties"].as_object().into_iter().flatten() {
            lines.push(format!("{name}: {}", shorten_value(value)));
        }

        let mut keys = vec![resource.name.as_str()];
        if let Some((_, short)) = resource.name.split_once('/') {
            keys.push(short);
        }
        for key in NAMING {
            keys.extend(value["properties"][key].as_str());
        }
        for key in keys {
            self.add_as(key, "resource", &resource.name, lines.clone(), source);
        }
    }

    /// A resource that this plan may lack, by the names that are the same in every plan.
    pub(super) fn add_step_resource(&mut self, step: &Step, resource: &StepResource) {
        let properties = NAMING
            .iter()
            .filter_map(|key| resource.properties.get(*key));
        let mut names: Vec<&str> = properties.filter_map(Value::as_str).collect();
        names.push(&resource.name);
        let lines = vec![
            format!("{} of step {}", resource.kind, step.id),
            step.summary.clone(),
        ];
        names.retain(|name| !name.contains("{{"));
        for name in names {
            self.add_as(
                name,
                "step resource",
                &resource.name,
                lines.clone(),
                &resource.source,
            );
        }
    }
}

/// Paths at any depth: members of an archive have their own.
fn collect_paths(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(entries) => {
            let own = entries.get("path").and_then(Value::as_str);
            own.into_iter()
                .chain(entries.values().flat_map(collect_paths))
                .collect()
        }
        Value::Array(items) => items.iter().flat_map(collect_paths).collect(),
        _ => Vec::new(),
    }
}

/// A value in one line; of a long text the beginning.
pub(super) fn shorten_value(value: &Value) -> String {
    const LONGEST: usize = 100;
    let text = format_plain(value);
    let line = text.lines().next().unwrap_or_default();
    if line.len() == text.len() && line.chars().count() <= LONGEST {
        return text;
    }
    format!(
        "{}… ({} characters)",
        line.chars().take(LONGEST).collect::<String>(),
        text.chars().count()
    )
}
