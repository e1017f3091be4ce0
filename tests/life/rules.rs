//! Rules over a plan: what others do to the node must not hurt it.

use serde_json::{Value, json};

use super::{Change, Life, Node, UserData, access, platforms, text, writers};

fn is_below(path: &str, above: &str) -> bool {
    let (path, above) = (path.to_lowercase(), above.to_lowercase());
    path == above
        || path
            .strip_prefix(&above)
            .is_some_and(|rest| rest.starts_with('\\'))
}

/// The flags of the file that a batch file starts a service with, less those that it leaves out.
fn pass_flags(script: &str, file: &str) -> Vec<String> {
    let left_out: Vec<&str> = script
        .lines()
        .filter_map(|line| line.split_once("set \"gone=%gone%"))
        .flat_map(|(_, names)| {
            names
                .split('"')
                .next()
                .unwrap_or_default()
                .split_whitespace()
        })
        .collect();
    let name = |word: &&str| word.split('=').next().unwrap_or_default().to_owned();
    let kept = file
        .split(' ')
        .filter(|word| !left_out.contains(&name(word).as_str()));
    kept.map(str::to_owned).collect()
}

/// What `Test-Node.ps1` and the gate of a join compare must not be what others change.
fn find_compared_changes(life: &Life, node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    for resource in &node.resources {
        if resource.get("scope").is_some_and(|scope| scope != "node") {
            continue;
        }
        for change in life
            .changes
            .iter()
            .filter(|change| change.concerns(node, resource))
        {
            if resource["volatile"].get(&change.property).is_none() {
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

/// Where a platform gives the built-in administrator to its customer, no account of the build may be demanded by name.
fn find_demanded_accounts(_: &Life, node: &Node) -> Vec<String> {
    if !node.owns_administrator {
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
            "ruleName",
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
    if node.resources.iter().any(restores) {
        return found;
    }
    if !node.facts("bridge").is_empty() {
        found.push("restart: nothing brings the bridge back".to_owned());
    }
    // A machine may start with another address, and no agent writes the configuration anew.
    let networks = node.facts("network");
    let network = networks
        .iter()
        .find_map(|path| node.find("file", "path", path));
    if network.is_some_and(|it| text(it, "content").contains("@NODE_ADDRESS@")) {
        found.push("restart: the pod network keeps an address that the node lost".to_owned());
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

/// kubeadm knows Docker by one name, and takes every other one for a remote runtime's.
fn find_foreign_socket(life: &Life, node: &Node) -> Vec<String> {
    if node.find("service", "serviceName", "docker").is_none() {
        return Vec::new();
    }
    let mut given = node.facts("criSocket");
    given.retain(|given| *given == life.socket.known);
    if given.is_empty() {
        return vec![format!(
            "socket: kubeadm does not know Docker by the node's name of it ({})",
            life.socket.source
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
/// password does not stay what the package made. A node keeps the account when a plan without it is applied.
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
        if !resets {
            found.push("user-data: the password of the service's account".to_owned());
        }
        found.extend(find_open_rights(rule, node));
        if !runs_as_system {
            found.extend(find_open_user(node));
        }
    }
    found
}

fn find_open_rights(rule: &UserData, node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    let rights = place_resource(node, "firstboot/user-data-rights");
    for right in &rule.denied {
        let denies =
            |part: &str| rights.is_some_and(|at| text(&node.resources[at], part).contains(right));
        if !denies("test") || !denies("set") {
            found.push(format!("user-data: the account has no {right}"));
        }
    }
    found
}

fn place_resource(node: &Node, name: &str) -> Option<usize> {
    node.resources.iter().position(|it| it["name"] == name)
}

fn find_open_user(node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    let states = [
        ("seal/user-data-account", "disabled"),
        ("firstboot/user-data-account", "present"),
    ];
    for (name, state) in states {
        let account = place_resource(node, name).map(|at| &node.resources[at]);
        if account.is_none_or(|it| text(it, "ensure") != state) {
            found.push(format!("user-data: the account is not {state} ({name})"));
        }
    }
    let rights = place_resource(node, "firstboot/user-data-rights");
    if rights >= place_resource(node, "firstboot/user-data-account") {
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

const RULES: [LifeRule; 15] = [
    writers::find_unasked,
    platforms::find_plugin_changes,
    find_compared_changes,
    find_demanded_accounts,
    find_build_leftovers,
    find_join_leftovers,
    find_lost_networks,
    find_foreign_pause,
    find_foreign_socket,
    find_unread_arguments,
    find_open_accounts,
    find_unwritable_volumes,
    access::find_blocked_metadata,
    access::find_shared_names,
    access::find_open_build_accounts,
];

pub(super) fn apply_rules(life: &Life, node: &Node) -> Vec<String> {
    RULES.iter().flat_map(|rule| rule(life, node)).collect()
}
