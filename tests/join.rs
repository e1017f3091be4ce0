//! A node joins a real cluster without Windows: the real kubelet.exe and kubeadm.exe under Wine, laid out by the
//! guest plan and by nothing else, against a real API server in a network of its own.

mod cluster;
mod compare;
pub mod daemons;
mod flows;
mod guest;
mod mirror;
mod mistakes;
mod node;
mod person;
mod prefix;
mod registry;
mod road;
mod scenes;
pub mod wine;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cluster::Cluster;
use mirror::Mirror;
use mistakes::{MISTAKES, Mistake};
use node::{join, logs, pauses, proxies, ready, reset, told, wait_until_ready};
use scenes::{comes, stays_away};
use serde_json::Value;
use wine::Wine;

use crate::support::passed::Inputs;
use crate::support::{Test, root};

/// Tells the test inside of the namespaces what to do: `VERSION RUNTIME`, and `mistakes` where the node is to stay away.
const INSIDE: &str = "IMAGEGEN_TEST_JOIN_INSIDE";

const FOLDER: &str = "IMAGEGEN_TEST_JOIN_FOLDER";

/// Versions whose nodes join by the commands of the README, with every default.
pub const ROADS: [(&str, &str); 2] = [("1.20.0", "docker road"), ("1.36.0", "small road")];

/// The node's name, which is not the machine's, and its address.
const NODE: &str = "node-a";

const ADDRESS: &str = "10.9.8.7";

/// What the node is told of itself: it reaches the kubelet through kubeadm's file, which its batch file reads.
const NAMED: &str = "--name node-a";

const TOLD: &str = "--label team=web --label example.com/zone=b --taint dedicated=windows:NoSchedule \
    --kubelet-arg kube-reserved=memory=1Gi --kubelet-arg max-pods=42";

const CONFIG: &str = r"C:\etc\kubernetes\join-config.yaml";

const KUBEADM: &str = r"C:\k\kubeadm.exe";

const TOKEN: &str = "abcdef.0123456789abcdef";

/// Namespaces of its own: no network but loopback, a name and an address for the node, and every
/// process ends with the first one.
const ENTER: &str = r#"set -e
hostname win1
ip link set lo up
ip addr add 10.9.8.7/24 dev lo
mount --bind "$HOSTS" /etc/hosts
exec "$@""#;

/// What runs containers, or stands for it.
#[derive(Clone, Copy, PartialEq)]
enum Runtime {
    /// The one of `ci/programs/join/cri`, started by containerd's own command line and configuration.
    Small,
    /// The real containerd.
    Real,
    /// The one of `ci/programs/join/docker`, started by dockerd's own command line and configuration.
    Docker,
}

impl Runtime {
    fn parse(task: &str) -> Self {
        match task.split(' ').next() {
            Some("small") => Self::Small,
            Some("real") => Self::Real,
            Some("docker") => Self::Docker,
            _ => panic!("{task}"),
        }
    }

    fn service(self) -> &'static str {
        if self == Self::Docker {
            "docker"
        } else {
            "containerd"
        }
    }

    /// Its name to kubeadm.
    fn socket(self) -> &'static str {
        if self == Self::Docker {
            "npipe:////./pipe/docker_engine"
        } else {
            "npipe:////./pipe/containerd-containerd"
        }
    }
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
    let others = joins_by_template(version, Runtime::parse(task));
    if others && crate::cloudbase::environments().is_none() {
        return;
    }
    list_inputs(version, task, &programs).judge(|| {
        assert!((0..2).any(|_| tried(version, task)), "twice");
    });
}

/// Everything that a join depends on.
fn list_inputs(version: &str, task: &str, programs: &Path) -> Inputs {
    let mut inputs = Inputs::new(&format!("join of {version}, {task}"));
    let sources = [
        "join",
        "join.rs",
        "bake.rs",
        "cloudbase",
        "cloudbase.rs",
        "support",
    ];
    inputs.add_sources(&sources);
    inputs.add_programs(programs);
    inputs.add("wine", &run_wine());
    // Its folder, in which Python writes, has the digest of what it was installed of.
    let environments = std::env::var_os("IMAGEGEN_TEST_CLOUDBASE").unwrap_or_default();
    inputs.add("cloudbase-init", environments.as_encoded_bytes());
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
    let runtime = Runtime::parse(task).service();
    inputs.add("README", crate::support::readme::read_readme().as_bytes());
    let data = format!(
        "join-data --k8s {version} --runtime {runtime} --endpoint 127.0.0.1:6443 --ca-cert {} --token-env JOIN_TOKEN {NAMED} {TOLD}",
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
    joins("1.20.0", "docker");
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
    joins("1.20.0", "docker mistakes");
}

/// The user's own sentence, and what the README shows after it.
#[test]
fn the_road_of_the_readme_leads_to_a_node_of_1_20() {
    follows_road(ROADS[0]);
}

#[test]
fn the_road_of_the_readme_leads_to_a_node_of_the_newest_minor() {
    follows_road(ROADS[1]);
}

fn follows_road((version, task): (&str, &str)) {
    if crate::bake::simulation().is_some() {
        joins(version, task);
    }
}

/// The part in the namespaces; alone it has nothing to do.
#[test]
fn inside() {
    let Some(task) = std::env::var_os(INSIDE) else {
        return;
    };
    let task = task.into_string().unwrap();
    let (version, task) = task.split_once(' ').expect("a version and a task");
    let runtime = Runtime::parse(task);
    let programs = programs().expect("seen outside");
    // In its namespace each of these is process 1, so the folder comes from outside.
    let mut test = Test::new().env("IMAGEGEN_WAIVE", WAIVED);
    test.folder = std::env::var_os(FOLDER).expect("set outside").into();
    let mirror = Mirror::new(&test.folder.join("mirror"));
    let selection = choose_selection(version, task);
    stock(&test, &selection, &mirror, &programs, runtime);
    let cluster = Cluster::start(&test.folder.join("control"), &programs, version);
    let scene = Scene {
        test: &test,
        programs: &programs,
        cluster: &cluster,
        version,
        runtime,
    };
    if task.ends_with("mistakes") {
        let mine = |mistake: &&Mistake| mistake.kubernetes == version && mistake.is_for_the_join();
        for (at, mistake) in MISTAKES.iter().filter(mine).enumerate() {
            println!("{}", mistake.name);
            stays_away(&scene, mistake, &test.folder.join(format!("prefix-{at}")));
        }
    } else if task.ends_with("road") {
        road::follow(&scene, &crate::bake::simulation().expect("seen outside"));
    } else {
        comes(&scene, &selection);
    }
}

/// The image of a join.
fn choose_selection(version: &str, task: &str) -> String {
    // Without a pod network kube-proxy is no service. What `mistakes::definition` asks for has less: an override of more
    // would be refused. The wrapper of 1.20 is what templates call. With Docker it is the default.
    let asked = match version {
        _ if task.ends_with("road") => "",
        version if !has_proxy(version) => " --host-access hostprocess --join templates",
        _ if task.starts_with("docker") => "",
        _ if task.ends_with("mistakes") => " --host-access services --cni none",
        "1.20.0" => " --host-access services --runtime containerd --cni win-bridge",
        _ => " --host-access services --cni win-bridge --join templates",
    };
    let selection = format!("--target azure --k8s {version}{asked}");
    if version == "1.20.0" && !task.ends_with("road") {
        // Built by today's Go and started by Wine as a service it ends seconds after it registered: so this one
        // shows the wrapper, of which another program stands.
        return selection + " --component nssm=2.24";
    }
    selection
}

/// By what others publish, which cloudbase-init applies: templates for Docker need the cloud providers of the kubelet's
/// own tree. With the newest minor it is the small runtime's turn.
fn joins_by_template(version: &str, runtime: Runtime) -> bool {
    match runtime {
        Runtime::Small => true,
        Runtime::Real => version == "1.20.0",
        Runtime::Docker => false,
    }
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
        guest::limit_starts(wine, laid);
        if self.runtime == Runtime::Real {
            // Wine never tells that it runs when it starts it as a service.
            guest::run_plainly(wine, laid, "containerd", "--run-service");
        }
        if network && self.runtime != Runtime::Small {
            guest::network(wine);
        }
        self.restart(wine)
    }

    fn restart(&self, wine: &Wine) -> Option<wine::Held> {
        wine.reboot(self.runtime.service());
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
            "join-data --k8s {} --runtime {} --endpoint 127.0.0.1:6443 --ca-cert {} --token-env JOIN_TOKEN {told}",
            self.version,
            self.runtime.service(),
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

/// Proofs that no stand-in of a mirror has.
const WAIVED: &str =
    "kubernetes-node=cosign-keyless,containerd=attestation,cloudbase-init=authenticode";

/// The mirror holds what the selection's plan downloads.
fn stock(test: &Test, selection: &str, mirror: &Mirror, programs: &Path, runtime: Runtime) {
    imagegen(test, &format!("build {selection} --no-bake --out first"));
    let first: Value = serde_json::from_slice(&test.read("first/guest-plan.json")).unwrap();
    mirror.fill(&first, programs, runtime == Runtime::Real, &test.folder);
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

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
