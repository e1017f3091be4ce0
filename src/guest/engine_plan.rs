//! `guest-plan.json`, as the engine reads it and a workspace keeps it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::json::{self, parse_json};
use crate::base::value::HostPattern;
use crate::model::guest_plan::GuestPlan;
use crate::model::signing::Signer;
use crate::windows::command_line::{join_words, split_words};
use crate::windows::resource::{Resource, ResourceKind};

/// The guest plan as the engine reads it: a service's program and arguments joined to the command
/// line that Windows stores.
pub fn format_plan(plan: &GuestPlan) -> String {
    let GuestPlan {
        schema,
        target,
        windows,
        kubernetes,
        scripts,
        signers,
        allowed_hosts,
        preview,
        resources,
    } = plan;
    let (hosts, resources) = (
        allowed_hosts.as_deref(),
        resources.iter().map(EngineResource::from).collect(),
    );
    json::format_json(&EnginePlan {
        schema,
        target,
        windows,
        kubernetes,
        scripts,
        signers,
        allowed_hosts: hosts,
        preview: *preview,
        resources,
    })
}

/// A [`GuestPlan`] as the engine reads it.
#[derive(Serialize)]
struct EnginePlan<'a> {
    schema: &'a str,
    target: &'a str,
    windows: &'a str,
    kubernetes: &'a str,
    scripts: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    signers: &'a [Signer],
    #[serde(rename = "allowedHosts", skip_serializing_if = "Option::is_none")]
    allowed_hosts: Option<&'a [HostPattern]>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    preview: bool,
    resources: Vec<EngineResource<'a>>,
}

/// A resource as the engine reads it. Only services differ: a plan that is a `Value` as a whole doubles the work.
#[derive(Serialize)]
#[serde(untagged)]
enum EngineResource<'a> {
    Same(&'a Resource),
    Service(Value),
}

impl<'a> From<&'a Resource> for EngineResource<'a> {
    fn from(resource: &'a Resource) -> Self {
        let ResourceKind::Service(_) = &resource.kind else {
            return Self::Same(resource);
        };
        let mut value = json!(resource);
        join_command_line(&mut value);
        Self::Service(value)
    }
}

/// Reads a guest plan that a workspace has.
///
/// # Errors
/// It is no guest plan of this program's form.
pub fn parse_guest_plan(file: &str, bytes: &[u8]) -> Result<GuestPlan, json::JsonError> {
    let mut plan: Value = parse_json(file, bytes)?;
    for resource in plan["resources"].as_array_mut().into_iter().flatten() {
        split_command_line(resource);
    }
    parse_json(file, &json::to_bytes(&plan))
}

/// The reverse of [`join_command_line`].
fn split_command_line(resource: &mut Value) {
    let is_service = resource["type"] == "service";
    let Some(properties) = resource
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .filter(|_| is_service)
    else {
        return;
    };
    if let Some(Value::String(line)) = properties.shift_remove("commandLine") {
        let (program, arguments) = split_words(&line);
        properties.insert("program".to_owned(), json!(program));
        properties.insert("arguments".to_owned(), json!(arguments));
    }
}

fn join_command_line(resource: &mut Value) {
    let Some(properties) = resource
        .get_mut("properties")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let arguments: Vec<String> = properties
        .shift_remove("arguments")
        .and_then(|arguments| serde_json::from_value(arguments).ok())
        .unwrap_or_default();
    if let Some(Value::String(program)) = properties.shift_remove("program") {
        properties.insert(
            "commandLine".to_owned(),
            Value::String(join_words(&program, &arguments)),
        );
    }
}
