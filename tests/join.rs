//! A node joins a real cluster without Windows: the real kubelet.exe and kubeadm.exe under Wine, laid out by the
//! guest plan and by nothing else, against a real API server in a network of its own.

mod cluster;
mod compare;
pub mod daemons;
mod flows;
mod guest;
mod mirror;
mod mistakes;
mod person;
pub mod wine;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::passed::Inputs;
use crate::support::targets::executed_versions;
use crate::support::{Test, root};
use cluster::Cluster;
use mirror::Mirror;
use mistakes::{Found, MISTAKES, Made, Mistake};
use wine::Wine;

/// Tells the test inside of the namespaces what to do: `VERSION RUNTIME`, and `mistakes` where the node is to stay away.
const INSIDE: &str = "IMAGEGEN_TEST_JOIN_INSIDE";
const FOLDER: &str = "IMAGEGEN_TEST_JOIN_FOLDER";
/// The node's name, which is not the machine's, and its address.
const NODE: &str = "node-a";
const ADDRESS: &str = "10.9.8.7";
/// What the node is told of itself: it reaches the kubelet through kubeadm's file, which its batch file reads.
const NAMED: &str = "--name node-a";
const TOLD: &str = "--label team=web --label example.com/zone=b --taint dedicated=windows:NoSchedule \
    --kubelet-arg kube-reserved=memory=1Gi --kubelet-arg max-pods=42";
const CLOUD: &str =
    "--var location=westeurope --var managed_image_resource_group_name=rg --var auth=client_secret";
const CONFIG: &str = r"C:\etc\kubernetes\join-config.yaml";
const KUBEADM: &str = r"C:\k\kubeadm.exe";
const STARTS: &str = r"C:\var\log\kubelet\start.log";
const PROXY_FLAGS: &str = r"C:\var\lib\kube-proxy\kube-proxy-flags.env";
/// The release whose node a person also upgrades.
const UPGRADED: &str = "1.30.0";
const TOKEN: &str = "abcdef.0123456789abcdef";

/// Namespaces of its own: no network but loopback, a name and an address for the node, and every
/// process ends with the first one.
const ENTER: &str = r#"set -e
hostname win1
ip link set lo up
ip addr add 10.9.8.7/24 dev lo
mount --bind "$HOSTS" /etc/hosts
exec "$@""#;

/// What stands for containerd.exe.
#[derive(Clone, Copy, PartialEq)]
enum Runtime {
    /// The one of `ci/programs/join/cri`, started by containerd's own command line and configuration.
    Small,
    Real,
}

pub fn programs() -> Option<PathBuf> {
    // ci/check sets it where they can be built, and in CI counts it as a failure where they cannot.
    let programs = built("join", "IMAGEGEN_TEST_JOIN")?;
    for tool in ["wine", "unshare", "ip", "openssl", "curl", "tar", "python3"] {
        let there = Command::new("sh")
            .args(["-c", &format!("command -v {tool}")])
            .output()
            .unwrap();
        if !there.status.success() {
            println!("skipped: needs {tool}");
            return None;
        }
    }
    Some(programs)
}

/// What the `build` of a folder below `ci/` built.
pub fn built(folder: &str, variable: &str) -> Option<PathBuf> {
    let programs = std::env::var_os(variable).map(PathBuf::from);
    if programs.is_none() {
        println!("skipped: needs wine and the programs of ci/programs/{folder}/build ({variable})");
    }
    programs
}

pub fn containerds() -> Option<PathBuf> {
    built("containerd", "IMAGEGEN_TEST_CONTAINERD")
}

/// Whether `inside` does well in its namespaces. Pipes and services of Wine are not those of Windows and fail now and
/// then: what is wrong with a node fails twice.
fn joins(version: &str, task: &str) {
    let Some(programs) = programs() else { return };
    list_inputs(version, task, &programs).judge(|| {
        assert!((0..2).any(|_| tried(version, task)), "twice");
    });
}

/// Everything that a join depends on.
fn list_inputs(version: &str, task: &str, programs: &Path) -> Inputs {
    let mut inputs = Inputs::new(&format!("join of {version}, {task}"));
    inputs.add_sources(&["join", "join.rs", "bake", "bake.rs", "support"]);
    inputs.add_programs(programs);
    inputs.add("wine", &run_wine());
    for variable in ["IMAGEGEN_TEST_PACKER", "IMAGEGEN_TEST_CONTAINERD"] {
        if let Some(path) = std::env::var_os(variable) {
            inputs.add_programs(Path::new(&path));
        }
    }

    let test = Test::new();
    let selection = choose_selection(version, task);
    imagegen(&test, &format!("build {selection} --no-bake --out o"));
    inputs.add_files(&test.folder.join("o"));
    let state = imagegen(&test, &format!("plan {selection} --state --format json"));
    inputs.add("state", state.as_bytes());
    let authority = root().join("tests/fixtures/cluster-ca.pem");
    let data = format!(
        "join-data --k8s {version} --endpoint 127.0.0.1:6443 --ca-cert {} --token-env JOIN_TOKEN {NAMED} {TOLD}",
        authority.display()
    );
    inputs.add("join data", imagegen(&test, &data).as_bytes());
    inputs
}

/// The version of Wine.
fn run_wine() -> Vec<u8> {
    let output = Command::new("wine").arg("--version").output();
    output.expect("wine").stdout
}

fn tried(version: &str, task: &str) -> bool {
    let test = Test::new().file(
        "hosts",
        &format!("127.0.0.1 localhost\n{ADDRESS} win1 {NODE}\n"),
    );
    let output = Command::new("timeout")
        .args(["--kill-after=5", "900", "unshare"])
        .args([
            "--net",
            "--uts",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            ENTER,
            "sh",
        ])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "join::inside", "--nocapture", "--test-threads=1"])
        .env(FOLDER, &test.folder)
        .env("HOSTS", test.folder.join("hosts"))
        .env(INSIDE, format!("{version} {task}"))
        .output()
        .unwrap();
    // Indented, so that nobody counts the test inside as one of the tests.
    for line in text(&output).lines() {
        println!("    {line}");
    }
    output.status.success()
}

#[test]
fn a_node_of_the_newest_minor_joins() {
    // Without Packer there is no payload that arrives.
    if crate::bake::simulation().is_none() {
        return;
    }
    joins("1.36.0", "small");
}

#[test]
fn a_node_of_the_newest_minor_joins_with_the_real_containerd() {
    if crate::bake::simulation().is_none() || containerds().is_none() {
        return;
    }
    joins("1.36.0", "real");
}

#[test]
fn a_node_of_1_20_joins() {
    joins("1.20.0", "small");
}

#[test]
fn a_node_of_1_20_joins_with_the_real_containerd() {
    joins("1.20.0", "real");
}

/// Its kubeadm is the first that asks for a runtime by its URL; dockershim is gone.
#[test]
fn a_node_of_1_24_joins() {
    joins_if_built("1.24.0");
}

/// The last kubeadm that refuses SYSTEM; it has the configuration of 1.22 to 1.30 and asks crictl, and its kubelet
/// gets the address of the runtime and the pause image as arguments.
#[test]
fn a_node_of_1_30_joins() {
    joins("1.30.0", "small");
}

/// Its kubelet sets the rights of its own folders at each start.
#[test]
fn a_node_of_1_31_joins() {
    joins_if_built("1.31.0");
}

/// Its kubeadm writes the address of the runtime into the kubelet's configuration.
#[test]
fn a_node_of_1_34_joins() {
    joins_if_built("1.34.0");
}

/// A line that CI does not build.
fn joins_if_built(version: &str) {
    let Some(programs) = programs() else { return };
    if programs.join(version).exists() {
        joins(version, "small");
    } else {
        println!("skipped: needs ci/programs/join/build --all");
    }
}

#[test]
fn mistakes_keep_a_node_of_the_newest_minor_away() {
    joins("1.36.0", "small mistakes");
}

#[test]
fn mistakes_keep_a_node_of_1_20_away() {
    joins("1.20.0", "real mistakes");
}

/// The part in the namespaces; alone it has nothing to do.
#[test]
fn inside() {
    let Some(task) = std::env::var_os(INSIDE) else {
        return;
    };
    let task = task.into_string().unwrap();
    let words: Vec<&str> = task.split(' ').collect();
    let runtime = if words[1] == "real" {
        Runtime::Real
    } else {
        Runtime::Small
    };
    let programs = programs().expect("seen outside");
    // In its namespace each of these is process 1, so the folder comes from outside.
    let mut test = Test::new().env("IMAGEGEN_WAIVE", WAIVED);
    test.folder = std::env::var_os(FOLDER).expect("set outside").into();
    let mirror = Mirror::new(&test.folder.join("mirror"));
    let selection = choose_selection(words[0], &task);
    stock(&test, &selection, &mirror, &programs, runtime);
    let cluster = Cluster::start(&test.folder.join("cluster"), &programs, words[0]);
    let scene = Scene {
        test: &test,
        programs: &programs,
        cluster: &cluster,
        version: words[0],
        runtime,
    };
    if words.get(2) == Some(&"mistakes") {
        let mine = |mistake: &&Mistake| mistake.kubernetes == words[0] && mistake.is_for_the_join();
        for (at, mistake) in MISTAKES.iter().filter(mine).enumerate() {
            println!("{}", mistake.name);
            stays_away(&scene, mistake, &test.folder.join(format!("prefix-{at}")));
        }
    } else {
        comes(&scene, &selection);
    }
}

/// The image of a join.
fn choose_selection(version: &str, task: &str) -> String {
    // Without a pod network kube-proxy is no service. What `mistakes::definition` asks for has less: an override of more
    // would be refused. The wrapper of 1.20 is what templates call.
    let access = match version {
        version if !has_proxy(version) => "hostprocess --join templates",
        _ if task.ends_with("mistakes") => "services",
        "1.20.0" => "services --cni win-bridge",
        _ => "services --cni win-bridge --join templates",
    };
    let selection = format!("--target azure --k8s {version} --host-access {access}");
    if version == "1.20.0" {
        // Built by today's Go and started by Wine as a service it ends seconds after it registered: so this one
        // shows the wrapper, of which another program stands.
        return selection + " --component nssm=2.24";
    }
    selection
}

/// Of the lines between, `ci/programs/join/build` builds kubelet and kubeadm alone.
fn has_proxy(version: &str) -> bool {
    ["1.20.0", "1.36.0"].contains(&version)
}

/// What a node meets.
struct Scene<'a> {
    test: &'a Test,
    programs: &'a Path,
    cluster: &'a Cluster,
    version: &'a str,
    runtime: Runtime,
}

impl Scene<'_> {
    /// The machine with what the test itself needs on it, restarted.
    fn start(&self, wine: &Wine, laid: &guest::Laid, network: bool) -> Option<wine::Held> {
        if self.runtime == Runtime::Small {
            wine.reboot();
            return None;
        }
        // Wine never tells that it runs when it starts it as a service.
        guest::run_plainly(wine, laid, "containerd", "--run-service");
        if network {
            guest::network(wine);
        }
        self.restart(wine)
    }

    fn restart(&self, wine: &Wine) -> Option<wine::Held> {
        wine.reboot();
        (self.runtime == Runtime::Real).then(|| wine.hold(r"\\.\pipe\containerd-containerd"))
    }

    /// The cluster forgets its nodes, and the machine the identity that it had. On Windows `kubeadm reset` takes that
    /// away with the folder of the kubelet, which it does not find under Wine. The restart ends a kubelet that is
    /// stopping: it may end before it says that it has stopped, which Windows' service manager notices and Wine's does
    /// not.
    fn leave(&self, wine: &Wine) {
        self.cluster.kubectl(&["delete", "nodes", "--all"]);
        let identity = wine.path(r"C:\var\lib\kubelet\pki");
        if identity.exists() {
            std::fs::remove_dir_all(identity).unwrap();
        }
        let _held = self.restart(wine);
    }

    /// What `imagegen join-data` writes.
    fn join_data(&self, told: &str) -> String {
        let line = format!(
            "join-data --k8s {} --endpoint 127.0.0.1:6443 --ca-cert {} --token-env JOIN_TOKEN {told}",
            self.version,
            self.cluster.authority().display()
        );
        imagegen(self.test, &line)
    }

    fn minor(&self) -> u32 {
        let minor = self.version.split('.').nth(1);
        minor.expect("a minor").parse().expect("a number")
    }

    fn node(&self, name: &str) -> Value {
        serde_json::from_str(&self.cluster.kubectl(&["get", "node", name, "-o", "json"])).unwrap()
    }
}

fn comes(scene: &Scene<'_>, selection: &str) {
    let payload = payload(scene.test, selection);
    let wine = Wine::new(&scene.test.folder.join("prefix"), scene.programs);
    let plan = guest::unpack(&wine, &payload);
    let before = wine.snapshot();
    let laid = guest::lay(&wine, &plan);
    let predicted = predicted(scene.test, selection);
    compare::machine(&wine, &before, &laid, &predicted);
    flows::share_folders(scene, &wine);
    let held = scene.start(&wine, &laid, true);
    join(scene, &wine);
    ready(scene, &wine);
    told(&scene.node(NODE));
    compare::lines(&wine, &predicted);
    if has_proxy(scene.version) {
        proxies(scene, &wine);
        compare::lines(&wine, &predicted);
    }
    drop(held);
    restarted(scene, &wine, &plan, NODE);
    check_rights(scene.version, &wine, &plan);
    compare::lines(&wine, &predicted);
    reset(&wine, &predicted);
    if scene.runtime == Runtime::Small {
        comes_by_others(scene, &wine, &laid, &plan, &predicted);
    }
}

/// The same machine joins again: as a person does it, and by a template that others publish.
fn comes_by_others(
    scene: &Scene<'_>,
    wine: &Wine,
    laid: &guest::Laid,
    plan: &Value,
    predicted: &Value,
) {
    scene.leave(wine);
    person::join_by_hand(scene, wine);
    restarted(scene, wine, plan, person::MACHINE);
    reset(wine, predicted);

    scene.leave(wine);
    flows::join_by_template(scene, wine);
    wait_until_ready(scene, wine, NODE);
    restarted(scene, wine, plan, NODE);
    reset(wine, predicted);

    if scene.version == UPGRADED {
        scene.leave(wine);
        person::join_by_hand(scene, wine);
        person::upgrade_by_hand(scene, wine, laid);
    }
}

/// After a restart the node is Ready again without another join, and is what `Test-Node.ps1` wants.
fn restarted(scene: &Scene<'_>, wine: &Wine, plan: &Value, name: &str) {
    compare::node(wine, plan);
    let heartbeat = |node: &Value| {
        let conditions = node["status"]["conditions"].as_array().unwrap();
        let ready = conditions.iter().find(|it| it["type"] == "Ready").unwrap();
        ready["lastHeartbeatTime"].as_str().unwrap().to_owned()
    };
    let before = scene.node(name);
    // What a restart of the machine does: all programs end, and those that start by themselves start.
    let _held = scene.restart(wine);
    let ready = (0..600).any(|_| {
        let node = scene.node(name);
        let conditions = node["status"]["conditions"].as_array().unwrap();
        let ready = conditions
            .iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True");
        ready && heartbeat(&node) > heartbeat(&before)
    });
    assert!(
        ready,
        "{:#}\n{}",
        scene.node(name)["status"]["conditions"],
        logs(wine)
    );
    compare::node(wine, plan);
}

/// What the kubelet does to the rights of folders is volatile in the plan, and 1.31 does it.
fn check_rights(version: &str, wine: &Wine, plan: &Value) {
    let log =
        std::fs::read_to_string(wine.path(r"C:\var\log\kubelet\kubelet.log")).unwrap_or_default();
    let changed = compare::folders_of_the_kubelet(&log, plan);
    let resources = plan["resources"].as_array().unwrap();
    for path in &changed {
        let is_it =
            |it: &&Value| it["properties"]["path"] == path.as_str() && it["type"] == "directory";
        let folder = resources.iter().find(is_it).unwrap();
        let volatile = folder["volatile"]
            .as_array()
            .is_some_and(|all| all.contains(&"sddl".into()));
        assert!(
            volatile,
            "{version}: {path} is compared, and the kubelet changes it"
        );
    }
    if version == "1.31.0" {
        let own = [r"C:\var\log\containers", r"C:\var\log\pods"].map(str::to_owned);
        assert_eq!(changed, own.into());
    }
}

/// The real programs notice the mistake and name it.
fn stays_away(scene: &Scene<'_>, mistake: &Mistake, prefix: &Path) {
    let plan = mistakes::guest_plan(mistake, &mistakes::overrides(&scene.test.folder)).unwrap();
    let wine = Wine::new(prefix, scene.programs);
    let laid = guest::lay(&wine, &plan);
    let _held = scene.start(&wine, &laid, !matches!(mistake.made, Made::NoNetwork));
    let mut data = scene.join_data(&format!("{NAMED} {TOLD}"));
    if let Made::Configuration { right, wrong } = mistake.made {
        assert!(data.contains(right), "{data}");
        data = data.replace(right, wrong);
    }
    if let Made::Cluster { right, wrong } = mistake.made {
        scene.cluster.change_kubelet(right, wrong);
    }
    std::fs::write(wine.path(CONFIG), data).unwrap();
    let seconds = if matches!(mistake.found, Found::Fails(_)) {
        45
    } else {
        120
    };
    let joined = wine.run(seconds, &[KUBEADM, "join", "--config", CONFIG]);
    let all = text(&joined) + &logs(&wine);
    match mistake.found {
        Found::Fails(said) => {
            assert!(
                !joined.status.success() && all.contains(said),
                "{}: {all}",
                mistake.name
            );
            let nodes = scene.cluster.kubectl(&["get", "nodes", "-o", "name"]);
            assert_eq!(nodes, "", "{}: {all}", mistake.name);
        }
        Found::NotReady(said) => {
            assert!(joined.status.success(), "{}: {all}", mistake.name);
            not_ready(scene, said);
        }
        Found::Refused(_) => unreachable!("there is no node to join"),
    }
    scene.cluster.kubectl(&["delete", "nodes", "--all"]);
}

fn not_ready(scene: &Scene<'_>, said: &str) {
    let mut last = Value::Null;
    for _ in 0..200 {
        let node = scene.node(NODE);
        let conditions = node["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        let ready = conditions
            .into_iter()
            .find(|condition| condition["type"] == "Ready");
        last = ready.cloned().unwrap_or_default();
        if last["status"] == "False" && last["message"].as_str().unwrap().contains(said) {
            return;
        }
    }
    panic!("{last}");
}

/// Proofs that no stand-in of a mirror has.
const WAIVED: &str =
    "kubernetes-node=cosign-keyless,containerd=attestation,cloudbase-init=authenticode";

/// The mirror holds what the selection's plan downloads.
fn stock(test: &Test, selection: &str, mirror: &Mirror, programs: &Path, runtime: Runtime) {
    imagegen(test, &format!("build {selection} --no-bake --out first"));
    let first: Value = serde_json::from_slice(&test.read("first/guest-plan.json")).unwrap();
    mirror.fill(&first, programs, runtime == Runtime::Real, &test.folder);
}

/// The payload of the selection, its artifacts replaced by what the mirror holds. Of the newest minor it is what the
/// real Packer sent to a guest that keeps what it gets.
fn payload(test: &Test, selection: &str) -> PathBuf {
    let line = format!(
        "build {selection} --out o --offline --store store --overrides overrides.json --ignore-lock"
    );
    if !selection.contains("1.36.0") {
        imagegen(test, &format!("{line} --no-bake"));
        return test.folder.join("o/payload.zip");
    }
    let write = |name: &str, text: &str| std::fs::write(test.folder.join(name), text).unwrap();
    write("imagegen.json", &executed_versions("azure"));
    write(
        "report.json",
        r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 1, "failed": 0, "resources": []}"#,
    );
    let packer = crate::bake::simulation().expect("seen outside");
    let mut command = test.command();
    command
        .args(line.split(' '))
        .args(CLOUD.split(' '))
        .arg("--packer")
        .arg(packer);
    let records = test.folder.join("records");
    let report = test.folder.join("report.json");
    let baked = crate::bake::simulated_command(
        &command,
        &test.folder,
        &records,
        &["--report", report.to_str().unwrap()],
    );
    assert!(baked.status.success(), "{}", text(&baked));
    let uploads = std::fs::read_dir(records.join("winrm/uploads")).unwrap();
    let mut sent = uploads.map(|entry| entry.unwrap().path());
    sent.find(|path| path.to_str().unwrap().ends_with("-payload.zip"))
        .expect("Packer sent a payload")
}

fn predicted(test: &Test, selection: &str) -> Value {
    let said = imagegen(
        test,
        &format!("plan {selection} --overrides overrides.json --ignore-lock --state --format json"),
    );
    serde_json::from_str(&said).unwrap()
}

fn imagegen(test: &Test, line: &str) -> String {
    let output = test
        .command()
        .args(line.split(' '))
        .env("JOIN_TOKEN", TOKEN)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// `kubeadm.exe join` with the data that imagegen writes.
fn join(scene: &Scene<'_>, wine: &Wine) {
    // At this level the kubelet tells whose rights it sets.
    let level = if scene.version == "1.31.0" {
        "--kubelet-arg v=6"
    } else {
        ""
    };
    let told = format!("{NAMED} {TOLD} {level}");
    std::fs::write(wine.path(CONFIG), scene.join_data(told.trim_end())).unwrap();
    let joined = wine.run(120, &[KUBEADM, "join", "--config", CONFIG]);
    assert!(joined.status.success(), "{}\n{}", text(&joined), logs(wine));
    assert!(
        text(&joined).contains("This node has joined the cluster"),
        "{}",
        text(&joined)
    );
    check_starts(wine);
}

/// The kubelet was never started without what kubeadm wrote: before the join it ended without a word.
fn check_starts(wine: &Wine) {
    let starts = list_starts(wine);
    assert!(!starts.is_empty(), "{}", logs(wine));
    check_flags(
        &starts,
        &[
            "--node-labels=team=web",
            "--register-with-taints=dedicated=windows:NoSchedule",
        ],
    );
}

/// Command lines of the kubelet, by the log of its launcher.
fn list_starts(wine: &Wine) -> Vec<String> {
    let log = std::fs::read_to_string(wine.path(STARTS)).unwrap_or_default();
    let starts = log.lines().filter(|line| line.contains(" start "));
    starts.map(str::to_owned).collect()
}

fn check_flags(starts: &[String], flags: &[&str]) {
    for start in starts {
        for flag in flags {
            assert!(start.contains(flag), "{flag}: {starts:#?}");
        }
    }
}

/// What the join data tell the node has come to the API server.
fn told(node: &Value) {
    assert_eq!(node["metadata"]["labels"]["team"], "web");
    assert_eq!(node["metadata"]["labels"]["example.com/zone"], "b");
    let taint = serde_json::json!({"key": "dedicated", "value": "windows", "effect": "NoSchedule"});
    assert!(
        node["spec"]["taints"].as_array().unwrap().contains(&taint),
        "{}",
        node["spec"]["taints"]
    );
    assert_eq!(node["status"]["capacity"]["pods"], "42");
    let memory = |of: &str| -> u64 {
        let text = node["status"][of]["memory"].as_str().unwrap();
        text.strip_suffix("Ki").unwrap().parse().unwrap()
    };
    // 2 GiB of the image, 1 GiB of the join data.
    assert_eq!(
        memory("capacity") - memory("allocatable"),
        3 << 20,
        "{}",
        node["status"]
    );
}

/// The ends of what the services wrote.
fn logs(wine: &Wine) -> String {
    end_of_logs(wine, "containerd") + &end_of_logs(wine, "kubelet")
}

fn end_of_logs(wine: &Wine, name: &str) -> String {
    let folder = wine.path(&format!(r"C:\var\log\{name}"));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| {
        (
            entry.path(),
            std::fs::read(entry.path()).unwrap_or_default(),
        )
    });
    files
        .map(|(path, bytes)| {
            let end = &bytes[bytes.len().saturating_sub(20_000)..];
            format!(
                "---- {}\n{}\n",
                path.display(),
                String::from_utf8_lossy(end)
            )
        })
        .collect()
}

fn wait_until_ready(scene: &Scene<'_>, wine: &Wine, name: &str) {
    let node = format!("node/{name}");
    let cluster = scene.cluster;
    cluster.kubectl(&["wait", "--for=create", "--timeout=60s", &node]);
    let condition = ["wait", "--for=condition=Ready", "--timeout=180s", &node];
    let waited = cluster.try_kubectl(&condition);
    let conditions = &scene.node(name)["status"]["conditions"];
    assert!(waited.status.success(), "{conditions:#}\n{}", logs(wine));
}

fn ready(scene: &Scene<'_>, wine: &Wine) {
    wait_until_ready(scene, wine, NODE);
    let node = scene.node(NODE);
    let info = &node["status"]["nodeInfo"];
    assert_eq!(info["kubeletVersion"], format!("v{}", scene.version));
    assert_eq!(info["operatingSystem"], "windows");
    let runtime = info["containerRuntimeVersion"].as_str().unwrap();
    if scene.runtime == Runtime::Real {
        let lock: Value =
            serde_json::from_slice(&scene.test.read("first/imagegen.lock.json")).unwrap();
        // Builds out of a module name a revision that nobody knows.
        let version = runtime.split('+').next().unwrap();
        assert_eq!(
            version,
            format!("containerd://{}", lock["runtimeVersion"].as_str().unwrap())
        );
    } else {
        assert!(runtime.starts_with("containerd://"), "{info}");
    }
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/os"], "windows");
    assert_eq!(
        node["status"]["addresses"][0]["address"], ADDRESS,
        "{}",
        node["status"]["addresses"]
    );
    assert!(wine.path(r"C:\etc\kubernetes\kubelet.conf").exists());
}

/// kube-proxy finds its node by the name that the join gives it, and not by the machine's.
fn proxies(scene: &Scene<'_>, wine: &Wine) {
    let kubeconfig = wine.path(r"C:\var\lib\kube-proxy\kubeconfig.conf");
    std::fs::copy(scene.cluster.admin(), kubeconfig).unwrap();
    let given =
        format!("KUBE_PROXY_ARGS=\"--hostname-override={NODE} --cluster-cidr=10.244.0.0/16\"\n");
    std::fs::write(wine.path(PROXY_FLAGS), given).unwrap();
    let started = wine.run(60, &["sc", "start", "kube-proxy"]);
    assert!(started.status.success(), "{}", text(&started));
    let mut said = String::new();
    for _ in 0..300 {
        said = end_of_logs(wine, "kube-proxy");
        if said.contains(ADDRESS) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    panic!("kube-proxy did not find {NODE}: {said}");
}

fn reset(wine: &Wine, predicted: &Value) {
    let socket = "npipe:////./pipe/containerd-containerd";
    let done = wine.run(
        90,
        &[
            r"C:\k\kubeadm.exe",
            "reset",
            "--force",
            "--cri-socket",
            socket,
        ],
    );
    assert!(done.status.success(), "{}", text(&done));
    assert!(
        !wine.path(r"C:\etc\kubernetes\kubelet.conf").exists(),
        "{}",
        text(&done)
    );
    compare::lines(wine, predicted);
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
