//! The plain road: who chooses nothing gets a Ready node whose pods have a network, as far as image and manifests say.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use imagegen::base::choice::{HostAccess, Runtime};
use imagegen::catalog::Trees;
use imagegen::cluster::render_manifests;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::plan::Plan;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use serde_json::{Value, json};

use super::{documents, input};
use crate::join::ROADS;
use crate::support::root;
use crate::support::targets::all_targets;

const CNI_BIN: &str = r"C:\opt\cni\bin";

/// An image with the manifests of its cluster, and flannel's configuration on Linux nodes.
struct Road {
    plan: Plan,
    files: BTreeSet<String>,
    tasks: BTreeSet<String>,
    /// Ports of UDP that the node's firewall lets in.
    udp: BTreeSet<String>,
    manifests: Vec<Value>,
    notes: Vec<String>,
    linux: Value,
}

fn take(trees: &Trees, selection: &ImageDefinition) -> Road {
    let plan = resolve_plan(selection, trees).expect("a plan");
    let (guest, prediction) = predict_machine(&plan, trees).expect("a machine");
    let text: Value =
        serde_json::from_str(&imagegen::guest::format_plan(&guest.plan)).expect("JSON");
    let resources = text["resources"].as_array().expect("resources");
    let listed = |kind: &str, property: &str| -> BTreeSet<String> {
        let found = resources.iter().filter(|it| it["type"] == kind);
        let found = found.filter_map(|it| it["properties"][property].as_str());
        found.map(str::to_owned).collect()
    };
    let rules = resources
        .iter()
        .filter(|it| it["type"] == "firewallRule" && it["properties"]["protocol"] == "UDP");
    let udp = rules.flat_map(|it| {
        it["properties"]["localPort"]
            .as_array()
            .into_iter()
            .flatten()
    });
    let udp = udp.filter_map(Value::as_str).map(str::to_owned).collect();
    let metadata = all_targets()
        .iter()
        .flat_map(|target| {
            let image = target.image().cloned();
            image.into_iter().flat_map(|image| image.platform.metadata)
        })
        .map(|endpoint| endpoint.address)
        .collect();
    let paths = trees.read_paths().expect("paths");
    let input = imagegen::cluster::ClusterInput {
        metadata,
        node_subnets: Vec::new(),
        ..input()
    };
    let made = render_manifests(&input, &plan, &trees.catalog, &paths).expect("manifests");
    let manifests: Vec<Value> = made
        .files
        .iter()
        .flat_map(|it| documents(&it.content))
        .collect();
    let replaced = find(&manifests, "ConfigMap", "kube-flannel-cfg");
    let linux = read_json(&replaced["data"]["net-conf.json"]);
    Road {
        files: prediction
            .machine
            .present_files()
            .map(|it| it.path.to_string())
            .collect(),
        tasks: listed("scheduledTask", "taskName"),
        udp,
        manifests,
        notes: made.notes,
        linux,
        plan,
    }
}

fn find(manifests: &[Value], kind: &str, name: &str) -> Value {
    let mut found = manifests
        .iter()
        .filter(|it| it["kind"] == kind && it["metadata"]["name"] == name);
    found.next().cloned().unwrap_or_default()
}

fn read_json(text: &Value) -> Value {
    text.as_str().map_or(Value::Null, |text| {
        serde_json::from_str(text).expect("JSON")
    })
}

impl Road {
    fn words(&self, daemon: &str) -> Vec<String> {
        let set = find(&self.manifests, "DaemonSet", daemon);
        let words = &set["spec"]["template"]["spec"]["containers"][0]["command"];
        let words = words.as_array().into_iter().flatten();
        words.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn argument(&self, daemon: &str, name: &str) -> Option<String> {
        let words = self.words(daemon);
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).cloned()
    }

    fn has_program(&self, name: &str) -> bool {
        let path = format!(r"{CNI_BIN}\{name}.exe");
        self.files
            .iter()
            .any(|file| file.eq_ignore_ascii_case(&path))
    }

    /// Why the node does not become Ready: somebody must write a CNI configuration, from a pod that starts before.
    fn judge_ready(&self) -> Result<(), String> {
        if self.words("flannel-windows").is_empty() {
            return Err("nobody writes a CNI configuration".to_owned());
        }
        for daemon in ["flannel-windows", "kube-proxy-windows"] {
            let Some(program) = self.argument(daemon, "-Program") else {
                return Err(format!("{daemon} starts no program"));
            };
            // An image for wins carries its own program to the path.
            let is_there = self
                .files
                .iter()
                .any(|file| file.eq_ignore_ascii_case(&program));
            if self.plan.host_access == HostAccess::Hostprocess && !is_there {
                return Err(format!("{program} is not on the node"));
            }
        }
        let started = match (self.plan.host_access, self.plan.runtime) {
            (HostAccess::Hostprocess, _) => true,
            (_, Runtime::Docker) => self.tasks.contains("imagegen-docker-host-network"),
            _ => self
                .files
                .iter()
                .any(|file| file.ends_with("0-containerd-nat.json")),
        };
        if started {
            Ok(())
        } else {
            Err("pods of agents have no network to start with".to_owned())
        }
    }

    /// Why pods of a Ready node have no network.
    fn judge_network(&self) -> Result<(), String> {
        let map = find(&self.manifests, "ConfigMap", "flannel-windows");
        let conf = read_json(&map["data"]["cni-conf.json"]);
        let mut plugins = vec![&conf["type"], &conf["delegate"]["type"]];
        // flannel's plugin gives its delegate host-local for addresses.
        let host_local = json!("host-local");
        plugins.push(&host_local);
        for plugin in plugins {
            let name = plugin.as_str().unwrap_or_default();
            if !self.has_program(name) {
                return Err(format!("no plugin `{name}`"));
            }
        }
        let net = read_json(&map["data"]["net-conf.json"]);
        let backend = &net["Backend"];
        let made = match backend["Type"].as_str() {
            Some("vxlan") => format!("flannel.{}", backend["VNI"]),
            _ => "cbr0".to_owned(),
        };
        let arguments = find(&self.manifests, "ConfigMap", "kube-proxy-windows");
        let arguments = read_json(&arguments["data"]["arguments.json"]);
        let asked = format!("--network-name={made}");
        if !arguments
            .as_array()
            .is_some_and(|list| list.contains(&json!(asked)))
        {
            return Err(format!("kube-proxy does not ask for {made}"));
        }
        if backend["Type"] == "vxlan" && !self.udp.contains("4789") {
            return Err("the firewall drops VXLAN".to_owned());
        }
        if self.linux != net {
            return Err(format!("flannel on Linux has {}", self.linux["Backend"]));
        }
        Ok(())
    }

    /// Addresses that a node cannot ask any more when its network is made.
    fn find_lost_metadata(&self) -> Vec<String> {
        let kept = self
            .argument("flannel-windows", "-KeepRoutes")
            .unwrap_or_default();
        let kept: Vec<&str> = kept.split(',').collect();
        let image = self.plan.target.image().into_iter();
        let asked = image
            .flat_map(|it| &it.platform.metadata)
            .map(|it| it.address.to_string());
        asked
            .filter(|address| !kept.contains(&address.as_str()))
            .collect()
    }
}

fn select(target: &str, kubernetes: &str) -> ImageDefinition {
    ImageDefinition {
        target: Some(target.to_owned()),
        kubernetes: Some(kubernetes.to_owned()),
        ..ImageDefinition::default()
    }
}

const START: &str = "<!-- road: from the model -->\n";
const END: &str = "<!-- end of road -->\n";

/// What the model says, and whether the real programs said it, too.
fn describe(outcome: &Result<(), String>, has_run: bool) -> String {
    let proof = if has_run { "ran" } else { "modelled" };
    match outcome {
        Ok(()) => proof.to_owned(),
        Err(why) => format!("no: {why}"),
    }
}

fn list(words: impl Iterator<Item = String>) -> String {
    let words: BTreeSet<String> = words.collect();
    if words.is_empty() {
        return "-".to_owned();
    }
    words.into_iter().collect::<Vec<_>>().join(", ")
}

/// One row a line, with what the defaults give there.
fn format_lines(trees: &Trees) -> String {
    let mut text = "| line | runtime | agents reach the host through | pod network | manifests | warnings of the plan | unpinned | join, Ready | pod network works |\n|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for minor in trees.catalog.kubernetes_minors() {
        let road = take(trees, &select("azure", &minor.to_string()));
        let plan = &road.plan;
        let warnings = plan
            .warnings()
            .into_iter()
            .map(|warning| format!("`{}`", warning.id));
        let has_run = ROADS
            .iter()
            .any(|(version, _)| version.starts_with(&format!("{minor}.")));
        let unpinned = plan.artifacts().filter(|artifact| !artifact.is_pinned());
        let _ = writeln!(
            text,
            "| {minor} | {} | {} | {} | {} objects | {} | {} | {} | {} |",
            plan.runtime,
            plan.host_access,
            plan.network.name,
            road.manifests.len(),
            list(warnings),
            list(unpinned.map(|artifact| format!("`{}`", artifact.component))),
            describe(&road.judge_ready(), has_run),
            describe(&road.judge_network(), false),
        );
    }
    text
}

/// One row a target, with what its network must let through.
fn format_targets(trees: &Trees) -> String {
    let mut text =
        "| target | pod network | warnings about it | nodes' network |\n|---|---|---|---|\n"
            .to_owned();
    for target in all_targets() {
        let road = take(trees, &select(&target.name, "1.36.4"));
        let notes: Vec<&str> = target
            .notes
            .iter()
            .filter_map(|note| note.text.strip_prefix("Pod network: "))
            .collect();
        assert_eq!(
            notes.len(),
            1,
            "{}: one note says what the network must let through",
            target.name
        );
        let warnings = road
            .plan
            .warnings()
            .into_iter()
            .filter(|it| it.id.contains("vxlan"));
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            target.name,
            road.plan.network.name,
            list(warnings.map(|warning| format!("`{}`", warning.id))),
            notes[0],
        );
    }
    text
}

/// Every line arrives by its defaults; `UPDATE_GOLDEN=1` writes the table.
#[test]
fn every_line_arrives_by_its_defaults() {
    let trees = read_trees(None).expect("the catalog");
    let lines = format_lines(&trees);
    assert!(!lines.contains("no: "), "{lines}");
    let table = format!("{lines}\n{}", format_targets(&trees));
    let path = root().join("manifests/cluster/README.md");
    let readme = std::fs::read_to_string(&path).expect("README.md");
    let (before, rest) = readme.split_once(START).expect("the start of the table");
    let (there, after) = rest.split_once(END).expect("the end of the table");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{before}{START}{table}{END}{after}")).expect("README.md");
        return;
    }
    assert_eq!(there, table, "UPDATE_GOLDEN=1 writes the table anew");
}

/// What a node asks after the join is still reachable when the agents have made their network.
#[test]
fn routes_to_the_metadata_of_each_target_are_kept() {
    let trees = read_trees(None).expect("the catalog");
    let mut asked = BTreeSet::new();
    for target in all_targets() {
        for kubernetes in ["1.20.0", "1.36.4"] {
            let Ok(_) = resolve_plan(&select(&target.name, kubernetes), &trees) else {
                continue;
            };
            let mut road = take(&trees, &select(&target.name, kubernetes));
            assert_eq!(
                road.find_lost_metadata(),
                Vec::<String>::new(),
                "{} {kubernetes}",
                target.name
            );
            let has_metadata = target
                .image()
                .is_some_and(|it| !it.platform.metadata.is_empty());
            if has_metadata {
                asked.insert(target.name.clone());
                road.manifests.clear();
                assert_ne!(
                    road.find_lost_metadata(),
                    Vec::<String>::new(),
                    "{}",
                    target.name
                );
            }
        }
    }
    assert!(
        asked.iter().eq(["aws", "azure", "gcp", "oci", "openstack"]),
        "{asked:?}"
    );
}

type Break = fn(&mut Road);

/// Each rule sees its fact broken.
#[test]
fn a_road_with_a_broken_fact_does_not_arrive() {
    let trees = read_trees(None).expect("the catalog");
    let breaks: [(&str, &str, Break); 9] = [
        ("1.36.4", "no plugin `flannel`", |road| {
            road.files
                .retain(|file| !file.ends_with(r"bin\flannel.exe"));
        }),
        ("1.36.4", "no plugin `host-local`", |road| {
            road.files.retain(|file| !file.ends_with("host-local.exe"));
        }),
        ("1.20.0", "no plugin `win-overlay`", |road| {
            road.files.retain(|file| !file.ends_with("win-overlay.exe"));
        }),
        ("1.36.4", "the firewall drops VXLAN", |road| {
            road.udp.clear();
        }),
        ("1.20.0", "no network to start with", |road| {
            road.tasks.clear();
        }),
        ("1.36.4", "flanneld.exe is not on the node", |road| {
            road.files.retain(|file| !file.ends_with("flanneld.exe"));
        }),
        (
            "1.36.4",
            "kube-proxy does not ask for flannel.4096",
            |road| {
                road.manifests.retain(|it| {
                    it["metadata"]["name"] != "kube-proxy-windows" || it["kind"] != "ConfigMap"
                });
            },
        ),
        ("1.36.4", "nobody writes a CNI configuration", |road| {
            road.manifests.clear();
        }),
        // flannel's own numbers: the node is Ready, and its pods have no network.
        ("1.36.4", "flannel on Linux has", |road| {
            road.linux["Backend"] = json!({ "Type": "vxlan", "VNI": 1, "Port": 8472 });
            road.judge_ready().expect("Ready");
        }),
    ];
    for (kubernetes, said, break_fact) in breaks {
        let mut road = take(&trees, &select("azure", kubernetes));
        break_fact(&mut road);
        let outcome = road.judge_ready().and_then(|()| road.judge_network());
        let why = outcome.expect_err(said);
        assert!(why.contains(said), "{said}: {why}");
    }
    // The defaults of before: an image without pod network, under manifests with one.
    let bare = ImageDefinition {
        cni: Some("none".to_owned()),
        ..select("azure", "1.20.0")
    };
    let image = take(&trees, &bare);
    assert!(image.judge_ready().is_err());
    let road = Road {
        files: image.files,
        udp: image.udp,
        ..take(&trees, &select("azure", "1.20.0"))
    };
    assert_eq!(road.judge_network(), Err("no plugin `flannel`".to_owned()));
}

/// The last line of the manifests is what the network must let through, on every line.
#[test]
fn the_way_between_nodes_is_told_last() {
    let trees = read_trees(None).expect("the catalog");
    let road = take(&trees, &select("azure", "1.36.4"));
    let last = road.notes.last().expect("a note");
    assert!(
        last.contains("UDP 4789 between all nodes") && last.contains("TCP 10250"),
        "{last}"
    );
    assert!(road.notes[0].contains("kube-flannel"), "{:?}", road.notes);
    for name in trees.catalog.network_names() {
        let network = trees.catalog.network(&name).expect("network");
        let passage = network.cluster.passage.as_ref().expect("what must pass");
        assert!(passage.text.contains("10250"), "{name}");
    }
}
