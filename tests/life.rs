//! A node's life after its image is sealed: what a plan compares on a node, undoes at a reset and starts
//! again after a restart, held against what others do to the machine (`life/changes.json`).

use std::collections::{BTreeMap, BTreeSet};

use imagegen::base::version::{Version, VersionRange};
use imagegen::catalog::Trees;
use imagegen::guest::{Constants, collect_facts, format_plan};
use imagegen::model::definition::ImageDefinition;
use imagegen::model::plan::Plan;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::root;
use crate::support::targets::{all_targets, image_targets};

mod flows;
mod platforms;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Life {
    #[expect(dead_code, reason = "for readers")]
    note: String,
    changes: Vec<Change>,
    platforms: Vec<platforms::Platform>,
    plugins: Vec<platforms::Plugin>,
    preflight: Preflight,
    stays: Vec<Stay>,
    long_running: Vec<LongRunning>,
    pause: Pause,
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

fn read_life() -> Life {
    let text =
        std::fs::read_to_string(root().join("tests/life/changes.json")).expect("changes.json");
    serde_json::from_str(&text).expect("changes.json has its form")
}

/// A guest plan as the engine reads it, with what the rules ask of its selection.
#[derive(Clone)]
struct Node {
    kubernetes: Version,
    resources: Vec<Value>,
    later: Vec<String>,
    /// The platform renames the built-in administrator.
    renamed: bool,
    target: String,
    /// Of cloudbase-init, by class.
    plugins: Vec<String>,
}

fn make_node(selection: &ImageDefinition, trees: &Trees) -> Option<Node> {
    let plan = resolve_plan(selection, trees).ok()?;
    let (guest, _) =
        predict_machine(&plan, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    let text: Value = serde_json::from_str(&format_plan(&guest.plan)).expect("a plan is JSON");
    Some(Node {
        renamed: plan
            .target
            .image()
            .is_some_and(|image| image.platform.owns_administrator),
        plugins: platforms::list_plugins(&plan.target),
        target: plan.target.name.clone(),
        kubernetes: plan.kubernetes,
        resources: text["resources"].as_array().expect("resources").clone(),
        later: guest.later.iter().map(|it| it.path.clone()).collect(),
    })
}

fn text<'a>(resource: &'a Value, name: &str) -> &'a str {
    resource["properties"][name].as_str().unwrap_or_default()
}

fn is_below(path: &str, above: &str) -> bool {
    let (path, above) = (path.to_lowercase(), above.to_lowercase());
    path == above
        || path
            .strip_prefix(&above)
            .is_some_and(|rest| rest.starts_with('\\'))
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

/// The flags of the file that a batch file starts a service with, less those that it leaves out.
fn pass_flags(script: &str, file: &str) -> Vec<String> {
    let left_out: Vec<&str> = script
        .lines()
        .filter_map(|line| line.strip_prefix("set \"gone=%gone%"))
        .flat_map(|line| line.trim_end_matches('"').split_whitespace())
        .collect();
    let name = |word: &&str| word.split('=').next().unwrap_or_default().to_owned();
    let kept = file
        .split(' ')
        .filter(|word| !left_out.contains(&name(word).as_str()));
    kept.map(str::to_owned).collect()
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

/// What `Test-Node.ps1` and the gate of a join compare must not be what others change.
fn find_compared_changes(life: &Life, node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    for resource in &node.resources {
        if resource.get("scope").is_some_and(|scope| scope != "node") {
            continue;
        }
        let volatile: BTreeSet<&str> = resource["volatile"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for change in life
            .changes
            .iter()
            .filter(|change| change.concerns(node, resource))
        {
            if !volatile.contains(change.property.as_str()) {
                let Change {
                    property,
                    by,
                    stage,
                    source,
                    ..
                } = change;
                found.push(format!(
                    "compared: {} `{property}`, set by {by} ({stage}; {source})",
                    resource["name"]
                ));
            }
        }
    }
    found
}

/// Where a platform renames the built-in administrator, no account of the build may be demanded by name.
fn find_demanded_accounts(_: &Life, node: &Node) -> Vec<String> {
    if !node.renamed {
        return Vec::new();
    }
    let users = node
        .resources
        .iter()
        .filter(|it| it["type"] == "localUser" && it["phase"] == "firstboot");
    // One that stays is none of the build.
    users
        .filter(|it| !["closed", "present"].contains(&text(it, "ensure")))
        .map(|it| format!("account: {} demands an account by its name", it["name"]))
        .collect()
}

/// What is part of the build is taken back by a later resource of the same thing, or of a folder above it.
fn find_build_leftovers(_: &Life, node: &Node) -> Vec<String> {
    let identity = |it: &Value| {
        [
            "serviceName",
            "path",
            "transport",
            "setting",
            "userName",
            "taskName",
        ]
        .into_iter()
        .find_map(|name| it["properties"][name].as_str().map(str::to_lowercase))
    };
    let mut found = Vec::new();
    // An assertion changes nothing.
    let is_made = |it: &Value| it["scope"] == "build" && it["type"] != "assertion";
    for (at, resource) in node
        .resources
        .iter()
        .enumerate()
        .filter(|(_, it)| is_made(it))
    {
        let own = identity(resource).expect("an identity");
        let taken = node.resources[at + 1..].iter().any(|later| {
            let other = identity(later).unwrap_or_default();
            later["scope"] != "build" && later["type"] == resource["type"] && is_below(&own, &other)
        });
        if !taken {
            found.push(format!("build: nothing takes {} back", resource["name"]));
        }
    }
    found
}

/// After a reset nothing is left that a join made, and a second join finds nothing that kubeadm refuses.
fn find_join_leftovers(life: &Life, node: &Node) -> Vec<String> {
    let mut gone = node.facts("empty");
    for name in ["joined", "arguments", "proxyFlags"] {
        gone.extend(node.facts(name));
    }
    // Stop-Flannel removes what the join wrote there.
    let flannel = node.facts("flannel");
    gone.extend(&flannel);
    let stays = |path: &str| life.stays.iter().any(|it| is_below(path, &it.path));
    let is_gone = |path: &str| gone.iter().any(|it| is_below(path, it));
    // A path whose step is not part of the plan is nobody's here.
    let made_here = |path: &&String| {
        if is_below(path, r"C:\etc\kube-flannel") && flannel.is_empty() {
            return false;
        }
        let folder = path.rsplit_once('\\').map_or("", |(folder, _)| folder);
        node.find("directory", "path", folder).is_some()
    };
    let later = node
        .later
        .iter()
        .filter(made_here)
        .filter(|path| !stays(path) && !is_gone(path));
    let mut found: Vec<String> = later
        .map(|path| format!("reset: {path} stays behind"))
        .collect();
    let joined = node.facts("joined");
    found.extend(
        life.preflight
            .files
            .iter()
            .filter(|path| !joined.contains(&path.as_str()))
            .map(|path| {
                format!(
                    "second join: kubeadm refuses {path} ({})",
                    life.preflight.source
                )
            }),
    );
    found
}

/// After a restart pods have their network, and a program that runs for long is not left to one start.
fn find_lost_networks(life: &Life, node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    for task in node
        .resources
        .iter()
        .filter(|it| it["type"] == "scheduledTask")
    {
        let arguments = task["properties"]["arguments"].to_string();
        for program in &life.long_running {
            if arguments.contains(&program.program) && text(task, "trigger") != "minutely" {
                found.push(format!(
                    "restart: {} is started once ({})",
                    task["name"], program.source
                ));
            }
        }
    }
    let restores = |it: &Value| {
        it["type"] == "scheduledTask"
            && text(it, "trigger") == "startup"
            && it["properties"]["arguments"].as_array().is_some_and(|all| {
                let name = |it: &Value| it.as_str().unwrap_or_default().to_owned();
                all.iter().any(|it| name(it).ends_with("Complete-Node.ps1"))
            })
    };
    if !node.facts("bridge").is_empty() && !node.resources.iter().any(restores) {
        found.push("restart: nothing brings the bridge back".to_owned());
    }
    found
}

/// The sandbox image of dockershim is the plan's, although kubeadm names its own behind it.
fn find_foreign_pause(life: &Life, node: &Node) -> Vec<String> {
    if !life.pause.kubernetes.contains(&node.kubernetes) {
        return Vec::new();
    }
    let script = node
        .find("file", "path", r"C:\k\start-kubelet.cmd")
        .expect("the kubelet's batch file");
    let flags = pass_flags(text(script, "content"), &life.pause.written);
    let last = flags.last().map(String::as_str);
    if last == Some(life.pause.written.as_str()) {
        return vec![format!(
            "pause: the cluster's image stands last ({})",
            life.pause.source
        )];
    }
    Vec::new()
}

/// Whoever runs kubeadm finds a kubelet that reads its arguments at every start, starts by itself, and ends quietly
/// before a join; what stands in its command line is the image's for good.
fn find_unread_arguments(life: &Life, node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    let services = node.resources.iter().filter(|it| {
        it["type"] == "service" && ["kubelet", "kube-proxy"].contains(&text(it, "serviceName"))
    });
    for service in services {
        let name = text(service, "serviceName");
        let script = format!(r"C:\k\start-{name}.cmd");
        let wrapped = node.find("registryValue", "valueName", "AppParameters");
        let line = if text(service, "commandLine").ends_with("nssm.exe") {
            wrapped.map_or("", |it| text(it, "data"))
        } else {
            text(service, "commandLine")
        };
        let content = node
            .find("file", "path", &script)
            .map_or("", |it| text(it, "content"));
        let file = if name == "kubelet" {
            "KUBELET_KUBEADM_ARGS"
        } else {
            "KUBE_PROXY_ARGS"
        };
        if !line.contains(&script) || !content.contains(file) {
            found.push(format!(
                "arguments: {name} does not read {file} ({})",
                life.launcher.source
            ));
        }
        if !content.contains("if not exist") {
            found.push(format!(
                "arguments: {name} does not end quietly before a join"
            ));
        }
        if text(service, "startType") != "auto" {
            found.push(format!("arguments: {name} does not start by itself"));
        }
    }
    found
}

/// The account that runs user-data is disabled in the image. On a clone it logs on as batch and service alone, and its
/// password does not stay what the package made.
fn find_open_accounts(life: &Life, node: &Node) -> Vec<String> {
    let rule = &life.user_data;
    let mut found = Vec::new();
    for package in node.resources.iter().filter(|it| it["type"] == "msi") {
        if !package["name"]
            .as_str()
            .unwrap_or_default()
            .starts_with("cloudbase-init/")
        {
            continue;
        }
        let arguments = package["properties"]["arguments"].as_array();
        let runs_as_system = arguments.is_some_and(|all| all.contains(&json!(rule.argument)));
        let conf = node
            .resources
            .iter()
            .find(|it| it["name"] == "cloudbase-init/configuration");
        let resets =
            conf.is_some_and(|it| text(it, "content").contains("reset_service_password=true"));
        if resets == runs_as_system {
            found.push("user-data: the password of the service's account".to_owned());
        }
        if !runs_as_system {
            found.extend(find_open_rights(rule, node));
        }
    }
    found
}

fn find_open_rights(rule: &UserData, node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    let place = |name: &str| node.resources.iter().position(|it| it["name"] == name);
    let states = [
        ("seal/user-data-account", "disabled"),
        ("firstboot/user-data-account", "present"),
    ];
    for (name, state) in states {
        let account = place(name).map(|at| &node.resources[at]);
        if account.is_none_or(|it| text(it, "ensure") != state) {
            found.push(format!("user-data: the account is not {state} ({name})"));
        }
    }
    let rights = place("firstboot/user-data-rights");
    for right in &rule.denied {
        let denies =
            |part: &str| rights.is_some_and(|at| text(&node.resources[at], part).contains(right));
        if !denies("test") || !denies("set") {
            found.push(format!("user-data: the account has no {right}"));
        }
    }
    if rights >= place("firstboot/user-data-account") {
        found.push("user-data: the account is enabled before its rights are denied".to_owned());
    }
    found
}

/// A container's user, who is one of `Users` on Windows, writes into an emptyDir.
fn find_unwritable_volumes(_: &Life, node: &Node) -> Vec<String> {
    let pods = node
        .find("directory", "path", r"C:\var\lib\kubelet\pods")
        .expect("the folder of pods");
    if text(pods, "sddl").contains("(A;OICI;0x1301bf;;;BU)") {
        return Vec::new();
    }
    vec!["emptyDir: users of containers cannot write".to_owned()]
}

type LifeRule = fn(&Life, &Node) -> Vec<String>;

const RULES: [LifeRule; 10] = [
    platforms::find_plugin_changes,
    find_compared_changes,
    find_demanded_accounts,
    find_build_leftovers,
    find_join_leftovers,
    find_lost_networks,
    find_foreign_pause,
    find_unread_arguments,
    find_open_accounts,
    find_unwritable_volumes,
];

fn apply_rules(life: &Life, node: &Node) -> Vec<String> {
    RULES.iter().flat_map(|rule| rule(life, node)).collect()
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

fn with_node(node: &Node, edit: impl FnOnce(&mut Vec<Value>)) -> Node {
    let mut node = node.clone();
    edit(&mut node.resources);
    node
}

fn named<'a>(resources: &'a mut [Value], name: &str) -> &'a mut Value {
    resources
        .iter_mut()
        .find(|it| it["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// Each defect that once was in every image, put back into a plan.
#[test]
fn each_rule_finds_its_defect() {
    let (life, trees) = (read_life(), read_trees(None).expect("the catalog"));
    let make = |selection: ImageDefinition| make_node(&selection, &trees).expect("a plan");
    let old = make(select("azure", "1.31.14"));
    let google = make(select("gcp", "1.36.4"));
    let docker = make(ImageDefinition {
        runtime: "docker".parse().ok(),
        ..select("azure", "1.20.0")
    });
    let services = ImageDefinition {
        host_access: "services".parse().ok(),
        cni: Some("flannel-overlay".to_owned()),
        ..select("azure", "1.20.0")
    };
    let services = make(services);
    let bridge = make(ImageDefinition {
        cni: Some("win-bridge".to_owned()),
        ..select("azure", "1.36.4")
    });
    let drop_field = |field: &'static str, name: &'static str, node: &Node| {
        with_node(node, |all| {
            named(all, name)
                .as_object_mut()
                .expect("an object")
                .remove(field)
                .expect("the field");
        })
    };
    let set = |name: &'static str, property: &'static str, value: Value, node: &Node| {
        with_node(node, |all| named(all, name)["properties"][property] = value)
    };
    let conf = |line: &'static str, node: &Node| {
        with_node(node, |all| {
            let content = &mut named(all, "node/facts")["properties"]["content"];
            let text = content.as_str().expect("text").replace(line, "x=");
            assert_ne!(*content, json!(text), "{line}");
            *content = json!(text);
        })
    };
    let forget = |name: &'static str, node: &Node| {
        with_node(node, |all| all.retain(|it| it["name"] != name))
    };
    let cases: Vec<(&str, Node)> = vec![
        (
            "compared: \"directories/log-containers\" `sddl`",
            drop_field("volatile", "directories/log-containers", &old),
        ),
        (
            "compared: \"directories/kubelet-1.31\" `sddl`",
            drop_field("volatile", "directories/kubelet-1.31", &old),
        ),
        (
            "compared: \"cloudbase-init/service\"",
            drop_field("scope", "cloudbase-init/service", &old),
        ),
        (
            "compared: \"cloudbase-init/setup-complete\"",
            drop_field("scope", "cloudbase-init/setup-complete", &old),
        ),
        (
            "compared: \"checks/containerd-running\"",
            drop_field("scope", "checks/containerd-running", &old),
        ),
        (
            "arguments: kubelet does not read",
            set(
                "kubernetes/kubelet-service-logged",
                "commandLine",
                json!(r"C:\k\kube-log-runner.exe C:\k\kubelet.exe"),
                &old,
            ),
        ),
        (
            "arguments: kubelet does not end quietly",
            set(
                "kubernetes/start-kubelet",
                "content",
                json!("KUBELET_KUBEADM_ARGS"),
                &old,
            ),
        ),
        (
            "arguments: kubelet does not start by itself",
            set(
                "kubernetes/kubelet-service-logged",
                "startType",
                json!("manual"),
                &old,
            ),
        ),
        (
            "arguments: kube-proxy does not read",
            forget("kubernetes/start-kube-proxy", &services),
        ),
        (
            "plugin: \"disk/system-volume\"",
            drop_field("scope", "disk/system-volume", &old),
        ),
        (
            "plugin: nobody says what no.such.Plugin changes",
            Node {
                plugins: vec!["no.such.Plugin".to_owned()],
                ..old.clone()
            },
        ),
        (
            "compared: \"cloudbase-init/setup-complete-platform\"",
            drop_field("scope", "cloudbase-init/setup-complete-platform", &google),
        ),
        (
            "account: ",
            set("firstboot/build-user", "ensure", json!("disabled"), &old),
        ),
        (
            "build: nothing takes \"containerd/running\" back",
            forget("seal/containerd", &old),
        ),
        (
            "reset: C:\\etc\\kubernetes\\pki\\ca.crt",
            conf(r"joined=C:\etc\kubernetes\pki\ca.crt", &old),
        ),
        (
            "second join: kubeadm refuses",
            conf(r"joined=C:\etc\kubernetes\bootstrap-kubelet.conf", &old),
        ),
        (
            "reset: C:\\var\\lib\\kubelet\\config.yaml",
            conf(r"empty=C:\var\lib\kubelet", &old),
        ),
        (
            "restart: \"cni/flanneld\"",
            set("cni/flanneld", "trigger", json!("startup"), &services),
        ),
        (
            "restart: \"docker/host-network\"",
            set("docker/host-network", "trigger", json!("startup"), &docker),
        ),
        (
            "restart: nothing brings the bridge back",
            forget("cni/bridge", &bridge),
        ),
        (
            "pause: ",
            set(
                "kubernetes/start-kubelet",
                "content",
                json!("if not exist"),
                &docker,
            ),
        ),
        (
            "user-data: the password",
            with_node(&docker, |all| {
                for package in all.iter_mut().filter(|it| it["type"] == "msi") {
                    package["properties"]["arguments"] = json!(["RUN_SERVICE_AS_LOCAL_SYSTEM=1"]);
                }
            }),
        ),
        (
            "user-data: the account is not disabled",
            forget("seal/user-data-account", &docker),
        ),
        (
            "user-data: the account is not present",
            forget("firstboot/user-data-account", &docker),
        ),
        (
            "user-data: the account has no SeDenyNetworkLogonRight",
            set("firstboot/user-data-rights", "set", json!(""), &docker),
        ),
        (
            "user-data: the account is enabled before",
            with_node(&docker, |all| {
                let at = all
                    .iter()
                    .position(|it| it["name"] == "firstboot/user-data-rights");
                let rights = all.remove(at.expect("the rights"));
                all.push(rights);
            }),
        ),
        (
            "emptyDir: ",
            set(
                "directories/kubelet-pods",
                "sddl",
                json!("O:BAG:SYD:PAI(A;OICI;0x1200a9;;;BU)"),
                &docker,
            ),
        ),
    ];
    for (expected, node) in cases {
        let found = apply_rules(&life, &node);
        assert!(
            found.iter().any(|it| it.starts_with(expected)),
            "{expected}: {found:?}"
        );
    }
}

/// containerd gives the host's network to `HostProcess` pods alone, so pods of agents that come through wins need a
/// network to start with: the image has one, or its plan says how to bring it.
#[test]
fn agents_without_the_network_of_the_host_can_start_or_the_plan_says_why_not() {
    let trees = read_trees(None).expect("the catalog");
    let with_plugin = |selection: ImageDefinition| ImageDefinition {
        components: [(
            "windows-container-networking".to_owned(),
            "0.3.1".parse().expect("a version"),
        )]
        .into(),
        ..selection
    };
    for minor in ["1.19", "1.20.0", "1.21", "1.22"] {
        for cni in ["none", "flannel-hostgw", "flannel-overlay", "calico"] {
            let selection = ImageDefinition {
                cni: cni.parse().ok(),
                ..select("azure", minor)
            };
            let selection = ImageDefinition {
                host_access: "wins".parse().ok(),
                ..selection
            };
            let selection = ImageDefinition {
                runtime: "containerd".parse().ok(),
                ..selection
            };
            let plan = resolve_plan(&selection, &trees).expect("a plan");
            let warned = |plan: &Plan| {
                let lacking = plan
                    .warnings()
                    .into_iter()
                    .filter(|warning| warning.id == "lacking");
                lacking
                    .filter(|warning| {
                        warning
                            .message
                            .contains("--override windows-container-networking")
                    })
                    .count()
            };
            assert_eq!(warned(&plan), 1, "{minor} {cni}");
            let node = make_node(&selection, &trees).expect("a plan");
            assert!(node.facts("startNetwork").is_empty(), "{minor} {cni}");

            let selection = with_plugin(selection);
            assert_eq!(
                warned(&resolve_plan(&selection, &trees).expect("a plan")),
                0,
                "{minor} {cni}"
            );
            let node = make_node(&selection, &trees).expect("a plan");
            let path = r"C:\k\cni\0-containerd-nat.json";
            assert_eq!(node.facts("startNetwork"), [path], "{minor} {cni}");
            let file = node.find("file", "path", path).expect("the configuration");
            assert!(
                text(file, "content").contains(r#""type": "nat""#),
                "{minor} {cni}"
            );
            let plugin = node
                .resources
                .iter()
                .any(|it| it["properties"].to_string().contains("nat.exe"));
            assert!(plugin, "{minor} {cni}");
        }
    }
    let hostprocess = resolve_plan(&select("azure", "1.36.4"), &trees).expect("a plan");
    assert!(
        hostprocess
            .warnings()
            .iter()
            .all(|warning| warning.id != "lacking")
    );
    for (script, call) in [
        (
            "provisioners/node/Join.ps1",
            "Initialize-StartNetwork -Facts $facts",
        ),
        (
            "manifests/cluster/scripts/Start-Flannel.ps1",
            "Remove-Item -LiteralPath $start",
        ),
    ] {
        assert!(
            std::fs::read_to_string(root().join(script))
                .expect(script)
                .contains(call),
            "{script}"
        );
    }
}

/// `ctr image pull NAME:TAG@DIGEST` takes all of that for the name, which the kubelet never asks for, and knows no
/// mirrors (containerd#13529): the CRI pulls, and the tag is a name of its own.
#[test]
fn images_get_the_names_that_the_kubelet_asks_for() {
    let trees = read_trees(None).expect("the catalog");
    let reference = format!("registry.example/pause:3.9@sha256:{}", "a".repeat(64));
    let image = reference.parse().expect("a reference");
    let node = make_node(
        &ImageDefinition {
            container_images: vec![image],
            ..select("azure", "1.36.4")
        },
        &trees,
    );
    let node = node.expect("a plan");
    let image = node
        .find("containerImage", "reference", &reference)
        .expect("the image");
    let client = text(image, "client");
    let archives = node
        .resources
        .iter()
        .filter(|it| it["properties"]["members"].is_array());
    let earlier = |it: &Value| {
        it["properties"]["members"]
            .to_string()
            .contains("crictl.exe")
    };
    assert!(
        client.ends_with(r"\crictl.exe") && archives.clone().any(earlier),
        "{client}"
    );
    let path = root().join("provisioners/resources/containerImage.ps1");
    let script = std::fs::read_to_string(path).expect("the script");
    for call in [
        "-Program $client",
        "'pull', $image.pinned",
        "'tag', '--force', $image.pinned, $image.name",
    ] {
        assert!(script.contains(call), "{call}");
    }
    assert!(!script.contains("'images', 'pull'"));
}

/// The pause image, without which no pod starts, is pulled in advance wherever its digest is known, for each runtime
/// and under the name that the kubelet asks for; where it cannot be, the plan says so.
#[test]
fn the_pause_image_is_on_the_node_or_the_plan_says_why_not() {
    let trees = read_trees(None).expect("the catalog");
    let mut pulled = 0;
    for minor in [
        "1.17", "1.20.0", "1.21", "1.23", "1.26", "1.31", "1.34", "1.36.4",
    ] {
        for runtime in ["docker", "containerd"] {
            let selection = ImageDefinition {
                runtime: runtime.parse().ok(),
                ..select("azure", minor)
            };
            let Ok(plan) = resolve_plan(&selection, &trees) else {
                continue;
            };
            let node = make_node(&selection, &trees).expect("a plan");
            let is_pause = |it: &&Value| {
                it["type"] == "containerImage"
                    && text(it, "reference").starts_with(&format!("{}@", plan.pause))
            };
            let image = node.resources.iter().find(is_pause);
            let told = plan
                .warnings()
                .iter()
                .any(|warning| warning.id == "pause-image");
            assert_eq!(image.is_none(), told, "{minor} {runtime}");
            pulled += usize::from(image.is_some_and(|it| text(it, "runtime") == runtime));
        }
    }
    assert!(pulled >= 7, "{pulled}");
    let mirror = ImageDefinition {
        delivery: "mirror".parse().ok(),
        overrides: serde_json::from_value(json!({"https://": {"url": "https://mirror.example/"}}))
            .expect("overrides"),
        ..select("azure", "1.36.4")
    };
    let warned = |selection: &ImageDefinition| {
        let plan = resolve_plan(selection, &trees).expect("a plan");
        plan.warnings().iter().any(|it| {
            it.id == "pause-image" && it.message.contains("--registry-mirror registry.k8s.io")
        })
    };
    assert!(warned(&mirror));
    let mirrors = serde_json::from_value(json!({"registry.k8s.io": ["https://mirror.example"]}))
        .expect("mirrors");
    assert!(!warned(&ImageDefinition { mirrors, ..mirror }));
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
            None,
            Some("sdnbridge"),
            "--override windows-container-networking.sha256=",
        ),
        (
            "1.30",
            "windows-container-networking",
            None,
            Some("sdnoverlay"),
            "--override windows-container-networking.sha256=",
        ),
        ("1.20.0", "wins", None, None, "imagegen lock"),
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

/// An unknown name is false in `{% if %}` without a word: every name there is a fact, or one of the template's own.
#[test]
fn conditions_of_templates_name_facts() {
    let trees = read_trees(None).expect("the catalog");
    let plan = resolve_plan(&select("azure", "1.36.4"), &trees).expect("a plan");
    let parse = |name: &str| -> Value {
        serde_json::from_slice(trees.provisioners.get(name).expect(name)).expect(name)
    };
    let flags = trees.catalog.load_flags().expect("flags");
    let programs = trees.catalog.load_programs().expect("programs");
    let facts = collect_facts(
        &plan,
        &plan.situation(),
        &flags,
        &programs,
        &Constants {
            paths: parse("paths.json").into(),
            sddl: parse("sddl.json").into(),
            failing: Vec::new(),
            refusals: &[],
        },
    )
    .expect("facts");
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

/// A fact without a source that a reader can open is an opinion.
#[test]
fn every_row_has_a_source() {
    let life = read_life();
    let sources = life.changes.iter().map(|it| &it.source);
    let sources = sources.chain(life.stays.iter().map(|it| &it.source));
    let sources = sources.chain([&life.launcher.source, &life.user_data.source]);
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
