//! kubeadm's JoinConfiguration in the shape of each of its API versions.
//!
//! The secret is on the last line, so that user-data in several parts can append it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::base::choice::Runtime;
use crate::model::plan::Plan;

use super::check::Node;
use super::userdata::Places;
use super::yaml;

pub(super) const GROUP: &str = "kubeadm.k8s.io";

/// A JoinConfiguration without its secret, and how the secret is appended.
#[derive(Debug)]
pub(super) struct Document {
    pub text: String,
    /// Name of the token's field with its indent: `    token: `.
    pub secret_key: &'static str,
    /// Seconds for each part of the join, where those of the image's script are too few.
    pub seconds: Option<u64>,
}

impl Document {
    pub(super) fn render_secret_line(&self, token: &str) -> String {
        format!("{}{}\n", self.secret_key, Value::String(token.to_owned()))
    }
}

pub(super) fn build_document(
    node: &Node,
    arguments: &[(String, String)],
    plan: &Plan,
    api: &str,
    places: &Places,
    by_file: bool,
) -> Document {
    let lists = !matches!(api, "v1beta2" | "v1beta3");
    let mut document = Map::new();
    document.insert("apiVersion".to_owned(), json!(format!("{GROUP}/{api}")));
    document.insert("kind".to_owned(), json!("JoinConfiguration"));
    document.insert(
        "nodeRegistration".to_owned(),
        build_registration(node, arguments, plan.runtime, lists),
    );
    if let (Some(timeout), true) = (&node.timeout, lists) {
        document.insert("timeouts".to_owned(), json!({ "discovery": timeout.text }));
    }
    let mut discovery = Map::new();
    if let (Some(timeout), false) = (&node.timeout, lists) {
        discovery.insert("timeout".to_owned(), json!(timeout.text));
    }
    let secret_key = if by_file {
        discovery.insert(
            "file".to_owned(),
            json!({ "kubeConfigPath": places.discovery }),
        );
        "  tlsBootstrapToken: "
    } else {
        discovery.insert(
            "bootstrapToken".to_owned(),
            json!({ "apiServerEndpoint": node.endpoint, "caCertHashes": node.hashes }),
        );
        "    token: "
    };
    document.insert("discovery".to_owned(), discovery.into());
    Document {
        text: yaml::format_document(&document.into()),
        secret_key,
        seconds: node
            .timeout
            .as_ref()
            .and_then(|timeout| extend_limit(timeout.time)),
    }
}

/// `kubeadm join` has 600 seconds of `Join-Node.ps1`, twice what discovery takes at most by itself: a longer discovery
/// leaves it the rest, within the longest limit that the script takes.
fn extend_limit(discovery: Duration) -> Option<u64> {
    let more = discovery.checked_sub(Duration::from_secs(300))?.as_secs();
    (more > 0).then(|| more.saturating_add(600).min(86_400))
}

pub(super) fn build_registration(
    node: &Node,
    arguments: &[(String, String)],
    runtime: Runtime,
    lists: bool,
) -> Value {
    let mut fields = Map::new();
    if let Some(name) = &node.name {
        fields.insert("name".to_owned(), json!(name));
    }
    // Always named: kubeadm's own default was a TCP address once, and several sockets are an error.
    fields.insert("criSocket".to_owned(), json!(runtime.kubeadm_socket()));
    if !node.taints.is_empty() {
        let taints = node
            .taints
            .iter()
            .map(|taint| json!({ "key": taint.key, "value": taint.value, "effect": taint.effect }));
        fields.insert("taints".to_owned(), taints.collect());
    }
    let mut all = arguments.to_vec();
    if !node.labels.is_empty() {
        let labels: Vec<String> = node
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        all.push(("node-labels".to_owned(), labels.join(",")));
    }
    if !all.is_empty() {
        let value: Value = if lists {
            all.iter()
                .map(|(name, value)| json!({ "name": name, "value": value }))
                .collect()
        } else {
            Value::Object(
                all.into_iter()
                    .map(|(name, value)| (name, Value::String(value)))
                    .collect(),
            )
        };
        fields.insert("kubeletExtraArgs".to_owned(), value);
    }
    if !node.ignored.is_empty() {
        fields.insert("ignorePreflightErrors".to_owned(), json!(node.ignored));
    }
    fields.into()
}
