//! The real containerd.exe of each minor under Wine reads the configuration that a plan lays: it takes every value,
//! warns of none, and loads the CRI plugin with it.

mod cri;
mod fragments;
mod mistakes;
mod registries;

use std::fmt::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::Receiver;

use imagegen::base::choice::Runtime;
use imagegen::catalog::Trees;
use imagegen::model::containerd::ContainerdOptions;
use imagegen::model::definition::ImageDefinition;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use imagegen::windows::resource::ResourceKind;
use serde_json::Value;

use crate::join;
use crate::join::wine::Wine;
use crate::support::Test;

const PIPE: &str = r"\\.\pipe\containerd-containerd";

/// containerd's version, and a Kubernetes line that takes it.
const VERSIONS: &[(&str, &str)] = &[
    ("1.6.32", "1.26"),
    ("1.7.27", "1.30"),
    ("2.0.5", "1.33"),
    ("2.1.4", "1.33"),
    ("2.2.7", "1.36"),
    ("2.3.4", "1.36"),
];

/// Windows Server 2019. On 2022 and newer, containerd 2.0 to 2.2 open cimfs and virtdisk, which Wine lacks.
const WINDOWS: &str = r#"Windows Registry Editor Version 5.00

[HKEY_LOCAL_MACHINE\Software\Microsoft\Windows NT\CurrentVersion]
"ProductName"="Windows Server 2019 Datacenter"
"CurrentBuild"="17763"
"CurrentBuildNumber"="17763"
"#;

/// What the daemon warns of whatever its configuration says, until a node has joined.
const USUAL: &[&str] = &[
    "failed to load cni during init",
    "failed check for fsverity support",
    "snapshotter doesn't export root path",
    "multiple differs match for platform",
];

/// Where a test asks for no image.
const MIRROR: &str = "https://mirror.example:5000";

/// What nobody finds but through a mirror.
const IMAGE: &str = "registry.invalid:5000/library/x:1";

/// Plugins that are not for this machine, or that nobody configured.
const SKIPPED: &[&str] = &[
    "blockcim", "cimfs", "otlp", "tracing", "metrics", "grpc-tcp", "debug",
];

/// What a plan says of the daemon.
struct Planned {
    arguments: Vec<String>,
    files: Vec<(String, String)>,
    configuration: String,
}

fn planned(
    trees: &Trees,
    version: &str,
    kubernetes: &str,
    hypervisor: bool,
    mirror: &str,
) -> Planned {
    planned_with(trees, version, kubernetes, hypervisor, mirror, None)
}

fn planned_with(
    trees: &Trees,
    version: &str,
    kubernetes: &str,
    hypervisor: bool,
    mirror: &str,
    options: Option<ContainerdOptions>,
) -> Planned {
    let mut selection = ImageDefinition {
        target: Some("azure".to_owned()),
        kubernetes: Some(kubernetes.to_owned()),
        runtime: Some(Runtime::Containerd),
        containerd: options,
        ..ImageDefinition::default()
    };
    selection
        .components
        .insert("containerd".to_owned(), version.parse().unwrap());
    selection.mirrors.insert(
        "docker.io".parse().unwrap(),
        vec!["https://mirror.example".parse().unwrap()],
    );
    selection.mirrors.insert(
        "registry.invalid:5000".parse().unwrap(),
        vec![mirror.parse().unwrap()],
    );
    selection
        .features
        .extend(hypervisor.then(|| "hyper-v".to_owned()));
    let plan =
        resolve_plan(&selection, trees).unwrap_or_else(|error| panic!("{version}: {error:#}"));
    let (guest, prediction) = predict_machine(&plan, trees).unwrap();
    let service = prediction
        .machine
        .find_service("containerd")
        .unwrap()
        .settings;
    assert_eq!(
        service.program.as_deref(),
        Some(r"C:\Program Files\containerd\containerd.exe")
    );
    let files: Vec<(String, String)> = guest
        .plan
        .resources
        .iter()
        .filter(|resource| resource.step == "containerd")
        .filter_map(|resource| match &resource.kind {
            ResourceKind::File(file) => Some((file.path.to_string(), file.content()?.to_owned())),
            _ => None,
        })
        .collect();
    let configuration = files
        .iter()
        .find(|(path, _)| path.ends_with(r"\config.toml"))
        .unwrap()
        .1
        .clone();
    Planned {
        arguments: service.arguments.clone(),
        files,
        configuration,
    }
}

/// A machine with every containerd, none of which runs.
struct Machine {
    wine: Wine,
    _test: Test,
}

fn machine() -> Option<Machine> {
    let programs = join::programs()?;
    let built = join::containerds()?;
    let test = Test::new();
    let wine = Wine::new(&test.folder.join("prefix"), &programs);
    wine.import(WINDOWS);
    for (version, _) in VERSIONS {
        for name in ["containerd", "ctr"] {
            let program = wine.path(&format!(r"C:\{name}-{version}.exe"));
            std::fs::copy(built.join(version).join(format!("{name}.exe")), program).unwrap();
        }
    }
    let machine = Machine { wine, _test: test };
    std::fs::copy(built.join("ask.exe"), machine.wine.path(r"C:\ask.exe")).unwrap();
    machine.stop();
    Some(machine)
}

impl Machine {
    fn write(&self, path: &str, content: &[u8]) {
        let path = self.wine.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// What `containerd.exe config COMMAND` says: its log, and the configuration that it prints.
    fn config(&self, version: &str, command: &str, file: &str) -> (Output, String, String) {
        let program = format!(r"C:\containerd-{version}.exe");
        let output = self
            .wine
            .run(60, &[&program, "--config", file, "config", command]);
        let is_log = |line: &&str| {
            line.starts_with("time=") || line.starts_with("containerd:") || line.contains("level=")
        };
        let all = join::text(&output);
        let (log, printed): (Vec<&str>, Vec<&str>) = all.lines().partition(is_log);
        (output, log.join("\n"), printed.join("\n"))
    }

    /// What is wrong with a configuration, as this version's own commands show it.
    fn problems(&self, version: &str, configuration: &[u8], command: &str) -> String {
        let file = r"C:\tried.toml";
        self.write(file, configuration);
        let (output, log, printed) = self.config(version, command, file);
        if !output.status.success() {
            return format!("{command} refuses it: {log}");
        }
        let mut problems = log;
        let (ours, theirs) = (toml(configuration), toml(printed.as_bytes()));
        missing("", &ours, &theirs, &mut problems);
        // A plugin that is not there is printed as if it were.
        let (output, _, defaults) = self.config(version, "default", file);
        assert!(
            output.status.success(),
            "{version}: {}",
            join::text(&output)
        );
        unknown("", &ours, &toml(defaults.as_bytes()), &mut problems);
        problems
    }

    /// Ends every program.
    fn stop(&self) {
        for option in ["-k", "-w"] {
            // There may be no server to end.
            let _ended = self
                .wine
                .command(60, "wineserver")
                .arg(option)
                .status()
                .unwrap();
        }
    }

    /// Starts the daemon, not as a service, and waits until it runs or ends.
    fn start(&self, version: &str, arguments: &[&str]) -> Daemon {
        // What it writes reaches services that Wine starts too: its end is a line of its own.
        let mut child = self
            .wine
            .command(120, "sh")
            .args(["-c", r#"wine "$@" 2>&1; echo "ended: $?""#, "sh"])
            .arg(format!(r"C:\containerd-{version}.exe"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = lines(&mut child);
        let mut log = String::new();
        for line in &lines {
            let _infallible = writeln!(log, "{line}");
            if line.contains("containerd successfully booted") || line.starts_with("ended: ") {
                break;
            }
        }
        Daemon {
            child,
            log,
            _lines: lines,
        }
    }
}

struct Daemon {
    child: Child,
    log: String,
    /// Open as long as the daemon writes.
    _lines: Receiver<String>,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Read in a thread of their own, which nobody waits for: a full pipe would stop the daemon.
fn lines(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = std::sync::mpsc::channel();
    let said = std::io::BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in std::io::BufRead::lines(said).map_while(Result::ok) {
            // Once it runs nobody listens.
            let _ = sender.send(line);
        }
    });
    lines
}

fn toml(text: &[u8]) -> Value {
    let script =
        "import json, sys, tomllib; json.dump(tomllib.load(open(sys.argv[1], 'rb')), sys.stdout)";
    let place = Test::new();
    let file = place.folder.join("it.toml");
    // containerd takes a byte order mark where it does; the comparison is of values.
    std::fs::write(
        &file,
        text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text),
    )
    .unwrap();
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        join::text(&output),
        String::from_utf8_lossy(text)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Values of `ours` that `theirs` has not.
fn missing(at: &str, ours: &Value, theirs: &Value, problems: &mut String) {
    match ours {
        Value::Object(table) => {
            for (key, value) in table {
                missing(&format!("{at}/{key}"), value, &theirs[key], problems);
            }
        }
        _ if ours == theirs => {}
        _ => {
            let _infallible = writeln!(problems, "{at}: {ours} became {theirs}");
        }
    }
}

/// Names of `ours` that are not among the defaults, but for those of runtimes, which are ours to give.
fn unknown(at: &str, ours: &Value, defaults: &Value, problems: &mut String) {
    for (key, value) in ours
        .as_object()
        .into_iter()
        .flatten()
        .filter(|_| !at.ends_with("/runtimes"))
    {
        let at = format!("{at}/{key}");
        match defaults.get(key) {
            Some(default) => unknown(&at, value, default, problems),
            None => {
                let _infallible = writeln!(problems, "{at}: unknown");
            }
        }
    }
}

/// A value's texts.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(table) => table.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Every option of the definition, for the sections of the version.
fn options() -> ContainerdOptions {
    let text = r#"{"logLevel": "debug", "maxConcurrentDownloads": 5, "discardUnpackedLayers": true, "metricsAddress": "127.0.0.1:1338"}"#;
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_minor_takes_each_value_of_its_configuration() {
    let Some(machine) = machine() else { return };
    let trees = read_trees(None).unwrap();
    for (version, kubernetes) in VERSIONS {
        for hypervisor in [false, true] {
            let planned = planned(&trees, version, kubernetes, hypervisor, MIRROR);
            assert_eq!(
                planned.configuration.contains("runhcs-wcow-hypervisor"),
                hypervisor,
                "{version}"
            );
            let configuration = planned.configuration.as_bytes();
            assert!(
                texts(&toml(configuration)).len() > 8,
                "{}",
                planned.configuration
            );
            assert_eq!(
                machine.problems(version, configuration, "dump"),
                "",
                "{version}"
            );
            if version.starts_with("2.") {
                assert_eq!(
                    machine.problems(version, configuration, "migrate"),
                    "",
                    "{version}"
                );
            }
        }
    }
}

/// Lines of a daemon's log that tell of a problem.
fn unusual(log: &str) -> Vec<&str> {
    let told = |line: &&str| {
        ["warning", "error", "fatal"]
            .iter()
            .any(|level| line.contains(&format!("level={level}")))
    };
    log.lines()
        .filter(told)
        .filter(|line| !USUAL.iter().any(|usual| line.contains(usual)))
        .collect()
}

/// What the CRI plugin says that it starts with.
fn configured(version: &str, hypervisor: bool, configuration: &str, log: &str) {
    let started = log.lines().find(|line| {
        line.to_lowercase().contains("starting cri plugin") || line.contains("Start cri plugin")
    });
    let started = started.unwrap_or_else(|| panic!("{version}: no CRI plugin\n{log}"));
    let plugins = &toml(configuration.as_bytes())["plugins"];
    let tables: &[&str] = match version.split('.').next() {
        Some("1") => &["io.containerd.grpc.v1.cri"],
        _ => &["io.containerd.cri.v1.runtime"],
    };
    for text in tables.iter().flat_map(|table| texts(&plugins[*table])) {
        // The log is a text in quotes.
        assert!(
            started.contains(&text.replace('\\', r"\\")),
            "{version}: no {text} in {started}"
        );
    }
    assert!(
        started.contains("runhcs-wcow-process"),
        "{version}: {started}"
    );
    assert_eq!(
        started.contains("SandboxIsolation"),
        hypervisor || version.starts_with("2."),
        "{version}: {started}"
    );
}

/// `ctr.exe` of the same version finds every plugin in its place.
fn plugins(wine: &Wine, version: &str) {
    let program = format!(r"C:\ctr-{version}.exe");
    let output = wine.run(60, &[&program, "--address", PIPE, "plugins", "ls"]);
    let listed = join::text(&output);
    assert!(output.status.success(), "{version}: {listed}");
    let plugins: Vec<(&str, &str, &str)> = listed
        .lines()
        .skip(1)
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[0], words[1], *words.last().unwrap())
        })
        .collect();
    assert!(plugins.len() > 25, "{version}: {listed}");
    for (kind, name, state) in &plugins {
        let right = *state == "ok" || (*state == "skip" && SKIPPED.contains(name));
        assert!(right, "{version}: {kind} {name} {state}");
    }
    let loaded = |kind: &str, name: &str| plugins.contains(&(kind, name, "ok"));
    assert!(
        loaded("io.containerd.grpc.v1", "cri"),
        "{version}: {listed}"
    );
    for name in ["images", "runtime"] {
        assert_eq!(
            loaded("io.containerd.cri.v1", name),
            version.starts_with("2."),
            "{version}: {listed}"
        );
    }
}

/// What the CRI plugin answers a kubelet: that the runtime is ready and uses nothing that will go away, and that it
/// asked for an image.
fn asked(wine: &Wine) -> (bool, bool, String) {
    let output = wine.run(60, &[r"C:\ask.exe", PIPE, IMAGE]);
    assert!(output.status.success(), "{}", join::text(&output));
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    let conditions = answers["status"]["conditions"].as_array().unwrap();
    let holds = |name: &str| {
        let condition = conditions
            .iter()
            .find(|condition| condition["type"] == name);
        condition.unwrap_or_else(|| panic!("no {name}: {answers}"))["status"] == true
    };
    let lasting = holds("ContainerdHasNoDeprecationWarnings");
    (
        holds("RuntimeReady"),
        lasting,
        answers["pull"].as_str().unwrap().to_owned(),
    )
}
