//! A node's life after its image is sealed: what a plan compares on a node, undoes at a reset and starts
//! again after a restart, held against what others do to the machine (`life/changes.json`).

mod access;
mod defects;
mod docker;
mod flows;
mod platforms;
mod pods;
mod rules;
mod writers;

use std::collections::{BTreeMap, BTreeSet};

use imagegen::base::version::{Version, VersionRange};
use imagegen::catalog::Trees;
use imagegen::guest::{Constants, collect_facts, format_plan};
use imagegen::machine::ForeignWrite;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::plan::Plan;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use rules::apply_rules;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::root;
use crate::support::targets::{all_targets, image_targets};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Life {
    #[expect(dead_code, reason = "for readers")]
    note: String,
    changes: Vec<Change>,
    /// Things that nobody but the plan writes on a node.
    nobody: Vec<writers::Place>,
    /// `provisioners/writes.json`.
    #[serde(skip)]
    writes: Vec<ForeignWrite>,
    platforms: Vec<platforms::Platform>,
    plugins: Vec<platforms::Plugin>,
    metadata: Vec<access::MetadataService>,
    names: access::Names,
    preflight: Preflight,
    stays: Vec<Stay>,
    long_running: Vec<LongRunning>,
    pause: Pause,
    socket: Socket,
    launcher: Launcher,
    user_data: UserData,
}

/// The argument of cloudbase-init's package without which its service has an account of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserData {
    argument: String,
    /// Rights of the account's logons that are denied.
    denied: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Launcher {
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Change {
    stage: String,
    by: String,
    #[serde(default)]
    targets: Vec<String>,
    #[serde(default)]
    kubernetes: Vec<String>,
    #[serde(rename = "type")]
    kind: String,
    identity: Map<String, Value>,
    property: String,
    value: Option<Value>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Preflight {
    files: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stay {
    path: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongRunning {
    program: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pause {
    written: String,
    kubernetes: VersionRange,
    source: String,
}

/// The name by which kubeadm knows Docker.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Socket {
    known: String,
    source: String,
}

fn read_life() -> Life {
    let text =
        std::fs::read_to_string(root().join("tests/life/changes.json")).expect("changes.json");
    let mut life: Life = serde_json::from_str(&text).expect("changes.json has its form");
    let text =
        std::fs::read_to_string(root().join("provisioners/writes.json")).expect("writes.json");
    life.writes = serde_json::from_str(&text).expect("writes.json has its form");
    life
}

/// A guest plan as the engine reads it, with what the rules ask of its selection.
#[derive(Clone)]
struct Node {
    kubernetes: Version,
    resources: Vec<Value>,
    later: Vec<String>,
    /// The platform gives the built-in administrator to its customer.
    owns_administrator: bool,
    target: String,
    /// Of cloudbase-init, by class.
    plugins: Vec<String>,
    /// Metadata services of cloudbase-init's service, by class.
    services: Vec<String>,
}

fn make_node(selection: &ImageDefinition, trees: &Trees) -> Option<Node> {
    let plan = resolve_plan(selection, trees).ok()?;
    let (guest, _) =
        predict_machine(&plan, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    let text: Value = serde_json::from_str(&format_plan(&guest.plan)).expect("a plan is JSON");
    Some(Node {
        owns_administrator: plan
            .target
            .image()
            .is_some_and(|image| image.platform.owns_administrator),
        plugins: platforms::list_plugins(&plan.target),
        services: platforms::list_services(&plan.target),
        target: plan.target.name.clone(),
        kubernetes: plan.kubernetes,
        resources: text["resources"].as_array().expect("resources").clone(),
        later: guest.later.iter().map(|it| it.path.clone()).collect(),
    })
}

fn text<'a>(resource: &'a Value, name: &str) -> &'a str {
    resource["properties"][name].as_str().unwrap_or_default()
}

impl Node {
    fn facts(&self, name: &str) -> Vec<&str> {
        let conf = self
            .resources
            .iter()
            .find(|it| text(it, "path").ends_with(r"\node.conf"))
            .expect("node.conf");
        let lines = text(conf, "content").lines();
        lines
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .collect()
    }

    fn find(&self, kind: &str, property: &str, value: &str) -> Option<&Value> {
        self.resources
            .iter()
            .find(|it| it["type"] == kind && text(it, property) == value)
    }
}

impl Change {
    fn concerns(&self, node: &Node, resource: &Value) -> bool {
        let in_range = |range: &String| {
            range
                .parse::<VersionRange>()
                .expect("a range")
                .contains(&node.kubernetes)
        };
        let properties = &resource["properties"];
        let same = |(name, value): (&String, &Value)| {
            let found = properties[name].as_str().unwrap_or_default();
            value == "*"
                || value
                    .as_str()
                    .is_some_and(|value| value.eq_ignore_ascii_case(found))
        };
        resource["type"] == self.kind.as_str()
            && (self.targets.is_empty() || self.targets.contains(&node.target))
            && (self.kubernetes.is_empty() || self.kubernetes.iter().any(in_range))
            && self.identity.iter().all(same)
            && !properties[&self.property].is_null()
            && self
                .value
                .as_ref()
                .is_none_or(|value| properties[&self.property] == *value)
    }
}

fn select(target: &str, kubernetes: &str) -> ImageDefinition {
    ImageDefinition {
        target: Some(target.to_owned()),
        kubernetes: Some(kubernetes.to_owned()),
        ..ImageDefinition::default()
    }
}

#[test]
fn every_selection_outlives_what_others_do() {
    let (life, trees) = (read_life(), read_trees(None).expect("the catalog"));
    let targets: Vec<String> = all_targets()
        .iter()
        .map(|target| target.name.clone())
        .collect();
    let (mut attempts, mut seen) = (0, BTreeMap::new());
    for (number, minor) in trees.catalog.kubernetes_minors().into_iter().enumerate() {
        let release = trees.catalog.load_kubernetes_line(minor).expect("line");
        for (at, access) in release.host_access.iter().enumerate() {
            for (turn, runtime) in release.runtimes.iter().enumerate() {
                // Every network meets every other choice in some line.
                let turns = number + at + turn;
                for (step, cni) in trees
                    .catalog
                    .network_names()
                    .iter()
                    .enumerate()
                    .skip(turns % 3)
                    .step_by(3)
                {
                    let windows =
                        &release.windows[(at + turn + step) % release.windows.len()].value;
                    // Each target meets each line and network somewhere.
                    attempts += 1;
                    let target = &targets[attempts % targets.len()];
                    let selection = ImageDefinition {
                        windows: Some(windows.clone()),
                        cni: Some(cni.clone()),
                        host_access: access.name.parse().ok(),
                        runtime: runtime.name.parse().ok(),
                        ..select(target, release.latest.as_str())
                    };
                    let Some(node) = make_node(&selection, &trees) else {
                        continue;
                    };
                    let found = apply_rules(&life, &node);
                    assert!(found.is_empty(), "{selection:?}:\n{}", found.join("\n"));
                    *seen.entry(target).or_insert(0) += 1;
                }
            }
        }
    }
    assert!(
        targets
            .iter()
            .all(|target| seen.get(target).is_some_and(|count| *count > 5)),
        "{seen:?}"
    );
    assert!(seen.values().sum::<usize>() > 100, "{seen:?}");
}

/// What nobody pinned cannot be baked: the plan says what a user must bring, or what proves it.
#[test]
fn plans_say_what_a_user_must_bring() {
    let trees = read_trees(None).expect("the catalog");
    for (minor, component, version, cni, wanted) in [
        (
            "1.30",
            "csi-proxy",
            Some("1.2.1"),
            None,
            "--override csi-proxy.sha256=",
        ),
        (
            "1.30",
            "windows-container-networking",
            Some("0.3.0"),
            Some("sdnbridge"),
            "--override windows-container-networking.sha256=",
        ),
        ("1.20.0", "wins", Some("0.1.3"), None, "imagegen lock"),
    ] {
        let components = version
            .map(|version| (component.to_owned(), version.parse().expect("a version")))
            .into_iter()
            .collect();
        let cni = cni.map(str::to_owned);
        let plan = resolve_plan(
            &ImageDefinition {
                components,
                cni,
                ..select("azure", minor)
            },
            &trees,
        );
        let plan = plan.unwrap_or_else(|error| panic!("{component}: {error:#}"));
        let warning = plan
            .warnings()
            .into_iter()
            .find(|it| it.id == "unpinned" && it.subject == component);
        assert!(
            warning.is_some_and(|it| it.message.contains(wanted)),
            "{component}: {:?}",
            plan.warnings()
        );
    }
}

/// The facts that templates and steps see.
fn list_facts(plan: &Plan, trees: &Trees) -> Value {
    let parse = |name: &str| -> Value {
        serde_json::from_slice(trees.provisioners.get(name).expect(name)).expect(name)
    };
    collect_facts(
        plan,
        &plan.conditions(),
        &trees.catalog.load_baked_flags().expect("flags"),
        &trees.catalog.load_programs().expect("programs"),
        &Constants {
            paths: parse("paths.json").into(),
            sddl: parse("sddl.json").into(),
            failing: Vec::new(),
            refusals: &[],
        },
    )
    .expect("facts")
}

/// An unknown name is false in `{% if %}` without a word: every name there is a fact, or one of the template's own.
#[test]
fn conditions_of_templates_name_facts() {
    let trees = read_trees(None).expect("the catalog");
    let plan = resolve_plan(&select("azure", "1.36.4"), &trees).expect("a plan");
    let facts = list_facts(&plan, &trees);
    let condition =
        regex_lite::Regex::new(r"\{%-?\s*(?:el)?if\s+(.*?)\s*-?%\}").expect("a pattern");
    let own = regex_lite::Regex::new(r"\{%-?\s*(?:set|for)\s+([A-Za-z_]+)").expect("a pattern");
    let word =
        regex_lite::Regex::new(r#""[^"]*"|'[^']*'|[A-Za-z_][A-Za-z0-9_.]*"#).expect("a pattern");
    let mut seen = 0;
    let mut unknown = Vec::new();
    for (name, bytes) in trees
        .provisioners
        .files()
        .into_iter()
        .filter(|(name, _)| !name.contains("README"))
    {
        let Ok(content) = String::from_utf8(bytes) else {
            continue;
        };
        let own: BTreeSet<&str> = own
            .captures_iter(&content)
            .map(|found| found.get(1).expect("a name").as_str())
            .collect();
        for found in condition.captures_iter(&content) {
            for word in word.find_iter(&found[1]).map(|found| found.as_str()) {
                let first = word.split('.').next().unwrap_or_default();
                let is_literal = word.starts_with(['"', '\''])
                    || [
                        "and",
                        "or",
                        "not",
                        "in",
                        "is",
                        "loop",
                        "starting_with",
                        "pat",
                    ]
                    .contains(&first);
                // An entry of `each`, and a variable of the template.
                if is_literal || first == "item" || own.contains(first) {
                    continue;
                }
                seen += 1;
                if facts
                    .pointer(&format!("/{}", word.replace('.', "/")))
                    .is_none()
                {
                    unknown.push(format!("{name}: {word}"));
                }
            }
        }
    }
    assert!(seen >= 20, "{seen}");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

/// The scripts select by scope and take what they remove from node.conf.
#[test]
fn no_script_of_the_node_has_a_list_of_its_own() {
    for (script, phase) in [
        ("Test-Node.ps1", "'node'"),
        ("Reset-Node.ps1", "'node'"),
        ("Upgrade-Node.ps1", "'node'"),
    ] {
        let text =
            std::fs::read_to_string(root().join("provisioners/node").join(script)).expect(script);
        assert!(text.contains(phase), "{script}");
        for other in ["'install'", "'bootstrap'", "'prepare'"] {
            assert!(!text.contains(other), "{script}: {other}");
        }
    }
    let read = |name: &str| {
        std::fs::read_to_string(root().join("provisioners/node").join(name)).expect(name)
    };
    for script in ["Node.psm1", "Join.ps1", "Reset.ps1", "Upgrade.ps1"] {
        for name in ["bootstrap-kubelet.conf", "ca.crt"] {
            assert!(!read(script).contains(name), "{script} names {name}");
        }
    }
    assert!(
        read("Node.psm1").contains("'Restore-Network'"),
        "the task of the bridge calls it"
    );
}

/// Microsoft replaces these files several times a day: the user's copy is pinned, fetched before its program runs, and
/// the machine is held against the version that the user states.
#[test]
fn defender_is_updated_from_pinned_files() {
    let trees = read_trees(None).expect("the catalog");
    let digest = |digit: &str| digit.repeat(64);
    let updates = json!({"defender": [
        {"part": "platform", "version": "4.18.25080.5", "url": "https://files.example/p.exe", "sha256": digest("a")},
        {"part": "signatures", "version": "1.421.12.0", "url": "https://files.example/s.exe", "sha256": digest("b")},
    ]});
    let selection = ImageDefinition {
        updates: serde_json::from_value(updates).expect("updates"),
        ..select("azure", "1.36.4")
    };
    let files: Vec<String> = selection.user_files().map(|file| file.name).collect();
    assert_eq!(
        files,
        [
            "Defender platform 4.18.25080.5",
            "Defender signatures 1.421.12.0"
        ]
    );

    let node = make_node(&selection, &trees).expect("a plan");
    for (part, digit) in [("platform", "a"), ("signatures", "b")] {
        let position = |kind: &str, name: &str, value: &str| {
            let mut resources = node.resources.iter();
            resources.position(|it| it["type"] == kind && text(it, name).contains(value))
        };
        let fetched = position("artifact", "digest", &digest(digit)).expect("the file");
        let path = text(&node.resources[fetched], "path").to_owned();
        let run = position("script", "set", &path).expect("the program");
        assert!(fetched < run, "{part}");
        let set = text(&node.resources[run], "set");
        assert!(
            set.contains(&format!("if ('{part}' -ceq 'signatures')")),
            "{set}"
        );
        let test = text(&node.resources[run], "test");
        assert!(test.contains("-ge [version]'"), "{test}");
    }
    let wrong = json!({"defender": [{"part": "engine", "version": "1", "url": "https://a.example/x", "sha256": digest("a")}]});
    let refused = serde_json::from_value::<imagegen::model::definition::Updates>(wrong);
    assert!(refused.is_err(), "an unknown part");
}
