//! Who else writes on a clone or a node: asked of each resource that lasts.

use imagegen::model::policy::matches_pattern;
use serde::Deserialize;
use serde_json::Value;

use super::{Life, Node, read_life, text};

/// Things that nobody else writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    #[serde(rename = "type")]
    kind: String,
    /// As in `provisioners/writes.json`.
    thing: String,
    source: String,
}

/// Each has an answer: a row of `writes.json`, which the model judges, of `changes`, or of `nobody`.
pub(super) fn find_unasked(life: &Life, node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    let lasts = |it: &&Value| it.get("scope").is_none_or(|scope| scope == "node");
    for resource in node.resources.iter().filter(lasts) {
        let name = resource["name"].as_str().expect("a name");
        let (kind, thing) = (&resource["type"], name_thing(resource));
        let is_it =
            |of: &str, place: &str| kind == of && matches_pattern(&place.to_lowercase(), &thing);
        let is_asked = life.writes.iter().any(|it| is_it(&it.kind, &it.thing))
            || life.nobody.iter().any(|it| is_it(&it.kind, &it.thing))
            || life.changes.iter().any(|it| it.concerns(node, resource));
        if !is_asked {
            found.push(format!("unasked: {name}: who else writes {kind} {thing}?"));
        }
        let reasons = resource["volatile"].as_object().into_iter().flatten();
        let bare = reasons.filter(|(_, reason)| reason.as_str().is_none_or(|it| it.len() < 20));
        found.extend(bare.map(|(of, _)| format!("unasked: {name} `{of}` has no reason")));
    }
    found
}

fn name_thing(resource: &Value) -> String {
    let names = ["key", "path", "taskName", "test"];
    let name = names
        .into_iter()
        .find(|name| resource["properties"][name].is_string());
    let mut thing = name.map_or("", |name| text(resource, name)).to_owned();
    if resource["type"] == "registryValue" {
        thing = format!(r"{thing}\{}", text(resource, "valueName"));
    }
    thing.to_lowercase()
}

/// A fact without a source that a reader can open is an opinion.
#[test]
fn every_row_has_a_source() {
    let life = read_life();
    let sources = life.changes.iter().map(|it| &it.source);
    let sources = sources.chain(life.nobody.iter().map(|it| &it.source));
    let sources = sources.chain(life.writes.iter().map(|it| &it.source));
    let sources = sources.chain(life.stays.iter().map(|it| &it.source));
    let sources = sources.chain([
        &life.launcher.source,
        &life.user_data.source,
        &life.socket.source,
    ]);
    for source in sources.chain(life.long_running.iter().map(|it| &it.source)) {
        let opens = [
            "https://",
            "derived: ",
            "kubernetes/kubernetes@",
            "GoogleCloudPlatform/compute-image-windows@",
        ]
        .iter()
        .any(|form| source.starts_with(form));
        assert!(opens, "{source}");
    }
}
