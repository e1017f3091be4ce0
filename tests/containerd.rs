//! The real containerd.exe of each minor under Wine reads the configuration that a plan lays: it takes every value,
//! warns of none, and loads the CRI plugin with it.

use std::fmt::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::Receiver;

use imagegen::base::choice::Runtime;
use imagegen::base::toml::{ClosedKey, TomlFragment, merge_fragments};
use imagegen::catalog::Trees;
use imagegen::lock::Lock;
use imagegen::model::containerd::ContainerdOptions;
use imagegen::model::definition::ImageDefinition;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use imagegen::windows::resource::ResourceKind;
use serde_json::Value;

use crate::join;
use crate::join::wine::{Held, Wine};
use crate::support::server::{Server, Step};
use crate::support::{Test, root};

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

/// Each option of the definition reaches containerd under the name that its version has for it.
#[test]
fn every_minor_takes_the_options_of_a_definition() {
    let trees = read_trees(None).unwrap();
    let machine = machine();
    for (version, kubernetes) in VERSIONS {
        let planned = planned_with(&trees, version, kubernetes, false, MIRROR, Some(options()));
        let text = &planned.configuration;
        let wanted = [
            "level = 'debug'",
            "max_concurrent_downloads = 5",
            "discard_unpacked_layers = true",
            "address = '127.0.0.1:1338'",
        ];
        for line in wanted {
            assert_eq!(text.matches(line).count(), 1, "{version}: {line}: {text}");
        }
        let pulls_itself = text.contains("use_local_image_pull = true");
        let can_transfer = !["1.6.32", "1.7.27", "2.0.5"].contains(version);
        assert_eq!(pulls_itself, can_transfer, "{version}: {text}");
        if let Some(machine) = &machine {
            let problems = machine.problems(version, text.as_bytes(), "dump");
            assert_eq!(problems, "", "{version}");
        }
    }
}

/// Keys of a fragment that containerd reads under one name in every version, and one of the version's own.
fn fragment(configuration: &str) -> (i64, String) {
    let version = toml(configuration.as_bytes())["version"].as_i64().unwrap();
    let runtime = match version {
        2 => "io.containerd.grpc.v1.cri",
        _ => "io.containerd.cri.v1.runtime",
    };
    let text = format!(
        "version = {version}\n\n# Ours.\n[timeouts]\n'io.containerd.timeout.shim.load' = \"9s\"\n\n\
         [plugins.'{runtime}']\nignore_image_defined_volumes = true\n\n\
         [plugins.'{runtime}'.containerd.runtimes.mine]\nruntime_type = 'io.containerd.runhcs.v1'\n"
    );
    (version, text)
}

fn fragments(texts: &[&str]) -> ContainerdOptions {
    serde_json::from_value(serde_json::json!({ "fragments": texts })).unwrap()
}

/// The keys of a fragment stand beside those of the image, in each version of the configuration.
#[test]
fn every_minor_takes_the_fragment_of_its_version() {
    let trees = read_trees(None).unwrap();
    let machine = machine();
    for (version, kubernetes) in VERSIONS {
        let plain = planned(&trees, version, kubernetes, false, MIRROR).configuration;
        let (form, text) = fragment(&plain);
        let other = format!("version = {}\nroot = 'elsewhere'\n", form + 1);
        let options = Some(fragments(&[&text, &other]));
        let planned = planned_with(&trees, version, kubernetes, false, MIRROR, options);

        let merged = toml(planned.configuration.as_bytes());
        let mut problems = String::new();
        for part in [plain.as_bytes(), text.as_bytes()] {
            missing("", &toml(part), &merged, &mut problems);
        }
        assert_eq!(problems, "", "{version}: {}", planned.configuration);
        if let Some(machine) = &machine {
            let found = machine.problems(version, planned.configuration.as_bytes(), "dump");
            assert_eq!(found, "", "{version}");
        }
    }
}

/// Every value of the image's configuration with its path.
fn leaves(at: &[String], value: &Value, found: &mut Vec<(Vec<String>, Value)>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                leaves(&[at, std::slice::from_ref(key)].concat(), value, found);
            }
        }
        value => found.push((at.to_vec(), value.clone())),
    }
}

/// `version = 3` and another value at a path.
fn contradiction(version: &Value, path: &[String]) -> TomlFragment {
    let keys: Vec<String> = path.iter().map(|key| format!("'{key}'")).collect();
    let first = if path == ["version"] {
        ""
    } else {
        &*format!("version = {version}\n")
    };
    format!("{first}{} = 9999\n", keys.join("."))
        .parse()
        .unwrap()
}

/// No fragment changes what the image relies on: neither a value that the image sets, nor one of `closed.json`.
#[test]
fn no_fragment_contradicts_the_image() {
    let trees = read_trees(None).unwrap();
    let closed: Vec<ClosedKey> =
        serde_json::from_slice(trees.provisioners.get("closed.json").unwrap()).unwrap();
    let mut used = vec![false; closed.len()];
    for (version, kubernetes) in VERSIONS {
        let file = planned(&trees, version, kubernetes, true, MIRROR).configuration;
        let content = toml(file.as_bytes());
        let form = &content["version"];
        let mut facts = Vec::new();
        leaves(&[], &content, &mut facts);
        assert!(facts.len() > 12, "{version}: {facts:?}");
        for (path, own) in facts {
            let part = contradiction(form, &path);
            let error = merge_fragments(&file, &[part], &closed).expect_err(&path.join("."));
            assert_eq!((&*error.given, error.own), ("`9999`", format!("`{own}`")));
        }
        // A table of another version is no table of this one, and closed all the same.
        for (key, used) in closed.iter().zip(&mut used) {
            let name = |part: &String| part.replace('*', "io.containerd.grpc.v1.cri");
            let path: Vec<String> = key.key.iter().map(name).collect();
            let Some(first) = key.forbidden.first() else {
                let part = contradiction(form, &path);
                let error = merge_fragments(&file, &[part], &closed).expect_err(&path.join("."));
                *used |= error.remedy.as_ref() == Some(&key.remedy);
                continue;
            };
            let text = format!("version = {form}\n{} = ['x', '{first}']", path.join("."));
            let part: TomlFragment = text.parse().unwrap();
            let error = merge_fragments(&file, &[part], &closed).expect_err(&text);
            *used |= error.remedy.as_ref() == Some(&key.remedy);
        }
    }
    for (key, used) in closed.iter().zip(used) {
        assert!(used, "{:?}", key.key);
    }
}

/// A file beside the definition is part of the lockfile, and its contradictions name the key, both values and a remedy.
#[test]
fn a_fragment_beside_a_definition_is_part_of_the_image() {
    let definition = r#"{"target": "azure", "kubernetes": "1.36.4", "containerd": {"fragments": ["containerd.toml"]}}"#;
    let given = |text: &str| {
        let test = Test::new();
        test.file("imagegen.json", definition)
            .file("containerd.toml", text)
    };
    let good = given("version = 4\n[timeouts]\n'io.containerd.timeout.shim.load' = '9s'\n")
        .line("build --no-bake --out o");
    good.succeeds();
    for file in ["o/imagegen.lock.json", "o/guest-plan.json"] {
        let text = good.text(file);
        assert!(text.contains("io.containerd.timeout.shim.load"), "{file}");
    }
    let lock = Lock::decode("lock", &good.read("o/imagegen.lock.json"));
    lock.expect("a text of several lines");
    for (text, said) in [
        (
            "version = 4\nroot = 'D:\\x'\n",
            &[
                r#"sets `root` to `"D:\\x"`, but the file has `"C:\\"#,
                "remove `root`",
            ][..],
        ),
        (
            "version = 4\n[plugins.'io.containerd.cri.v1.images']\nsnapshotter = 'overlayfs'\n",
            &[
                "sets `plugins.'io.containerd.cri.v1.images'.snapshotter` to `\"overlayfs\"`, but the file has `\"windows\"`",
                "remove the key",
            ],
        ),
        (
            "version = 4\n[plugins.'io.containerd.cri.v1.images'.registry.headers]\nAuthorization = ['Basic c2VjcmV0']\n",
            &["credential providers"],
        ),
        (
            "version = 4\npassword = 'c2VjcmV0'\n",
            &["containerd.toml: the name of `password` says"],
        ),
        (
            "version = 3\n",
            &["has no fragment with `version = 4`, which containerd 2.3.4 reads"],
        ),
        ("[timeouts]\n", &["containerd.toml: it has no `version`"]),
        ("version = 4\nx = = 1\n", &["containerd.toml: line 2: "]),
    ] {
        let ran = given(text).line("build --no-bake --out o").fails(3, said);
        assert!(
            !ran.stderr.contains("c2VjcmV0") || said[0].contains("credential"),
            "{}",
            ran.stderr
        );
    }
    Test::new()
        .file("imagegen.json", definition)
        .line("build --no-bake --out o")
        .fails(3, &["there is no file `containerd.toml`"]);
}

/// A definition with one registry, beside a certificate of an authority.
fn with_registry(registry: &str, rest: &str) -> Test {
    let definition = format!(
        r#"{{"target": "azure", "kubernetes": "1.36.4", "registries": {{"registry.example:5000": {registry}}}{rest}}}"#
    );
    let ca = root().join("provisioners/example/steps/corporate-root.pem");
    let pem = std::fs::read_to_string(ca).unwrap();
    Test::new()
        .file("imagegen.json", &definition)
        .file("ca.pem", &pem)
}

/// Everything that a definition says of a registry stands in its `hosts.toml`, and the certificates beside it.
#[test]
fn registries_of_a_definition_become_hosts_files() {
    let registry = r#"{
        "server": {"url": "https://registry.example:5000", "ca": "ca.pem", "headers": {"X-Meta-Team": "nodes"}},
        "hosts": [
            {"url": "https://mirror.example/v2/x", "capabilities": ["pull"], "ca": "ca.pem", "overridePath": true},
            {"url": "https://lab.example", "skipVerify": true, "dialTimeout": "5s", "headers": {"X-A": "1", "X-B": "2"}}
        ]}"#;
    let test = with_registry(registry, "").line("build --no-bake --out o --allow-http lab.example");
    test.succeeds();
    let plan: Value = serde_json::from_slice(&test.read("o/guest-plan.json")).unwrap();
    let resources = plan["resources"].as_array().unwrap();
    let content = |file: &str| {
        let path = format!(r"\registry.example_5000_\{file}");
        let mut properties = resources.iter().map(|it| &it["properties"]);
        let found = properties.find(|it| it["path"].as_str().is_some_and(|it| it.ends_with(&path)));
        found.unwrap_or_else(|| panic!("{path}"))["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        toml(content("hosts.toml").as_bytes()),
        serde_json::json!({
            "server": "https://registry.example:5000", "capabilities": ["pull", "resolve"], "ca": "ca-0.pem",
            "header": { "X-Meta-Team": "nodes" },
            "host": {
                "https://mirror.example/v2/x": { "capabilities": ["pull"], "ca": "ca-1.pem", "override_path": true },
                "https://lab.example": {
                    "capabilities": ["pull", "resolve"], "skip_verify": true, "dial_timeout": "5s",
                    "header": { "X-A": "1", "X-B": "2" },
                },
            },
        })
    );
    for file in ["ca-0.pem", "ca-1.pem"] {
        assert_eq!(content(file), test.text("ca.pem"), "{file}");
    }
    // containerd asks the hosts in the order of the file.
    let text = content("hosts.toml");
    assert!(
        text.find("mirror.example") < text.find("lab.example"),
        "{text}"
    );
}

/// `_default` stands for registries that have no file of their own: no server is named for it.
#[test]
fn a_default_registry_has_hosts_and_no_server() {
    let definition = |registries: &str| {
        format!(r#"{{"target": "azure", "kubernetes": "1.36.4", "registries": {registries}}}"#)
    };
    let hosts =
        r#"{"_default": {"hosts": [{"url": "https://m.example", "capabilities": ["pull"]}]}}"#;
    let test = Test::new().file("imagegen.json", &definition(hosts)).file(
        "p.json",
        r#"{"name": "ours", "allowedHosts": ["registry.k8s.io"]}"#,
    );
    test.bare().prints("build --no-bake --out o");
    let plan: Value = serde_json::from_slice(&test.read("o/guest-plan.json")).unwrap();
    let resources = plan["resources"].as_array().unwrap();
    let mut properties = resources.iter().map(|it| &it["properties"]);
    let path = r"\_default\hosts.toml";
    let found = properties.find(|it| it["path"].as_str().is_some_and(|it| it.ends_with(path)));
    let content = found.expect("hosts.toml")["content"].as_str().unwrap();
    assert_eq!(
        toml(content.as_bytes()),
        serde_json::json!({ "host": { "https://m.example": { "capabilities": ["pull"] } } })
    );
    // Every image may come from there.
    let refused = test.bare().run("plan --policy p.json");
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let mut lines = refused.stderr.lines();
    let said = "it comes from m.example";
    assert!(
        lines.any(|line| line.contains("registry.k8s.io/pause") && line.contains(said)),
        "{}",
        refused.stderr
    );
}

#[test]
fn an_older_containerd_is_not_given_what_it_passes_over() {
    let timeout =
        r#"{"docker.io": {"hosts": [{"url": "https://m.example", "dialTimeout": "5s"}]}}"#;
    let default = r#"{"_default": {"hosts": [{"url": "https://m.example"}]}}"#;
    let client =
        r#"{"docker.io": {"hosts": [{"url": "https://m.example", "client": ["c.pem", "k.pem"]}]}}"#;
    let never = timeout.replace("5s", "5 s");
    for (registries, kubernetes, version, said) in [
        (timeout, "1.34.0", "2.1.0", ""),
        (
            timeout,
            "1.34.0",
            "2.0.4",
            "`dialTimeout` is for containerd 2.1.0 and newer",
        ),
        (default, "1.24.0", "1.6.38", ""),
        (
            default,
            "1.24.0",
            "1.6.0",
            "the registry `_default` is for containerd 1.6.20",
        ),
        (
            client,
            "1.34.0",
            "2.1.0",
            "a client certificate has a private key",
        ),
        (&never, "1.34.0", "2.1.0", "`5 s` is not a time"),
    ] {
        let definition = format!(
            r#"{{"target": "azure", "kubernetes": "{kubernetes}", "registries": {registries}}}"#
        );
        let line = format!("plan --runtime containerd --component containerd={version}");
        let ran = Test::new()
            .file("imagegen.json", &definition)
            .line(&line)
            .run();
        let title = format!("{registries} {version}: {}", ran.stderr);
        if said.is_empty() {
            let is_refused = ran.stderr.contains("[mirror]");
            assert!(!is_refused, "{title}");
        } else {
            assert_eq!(ran.code, Some(3), "{title}");
            assert!(ran.stderr.contains(said), "{title}");
        }
    }
}

#[test]
fn registries_without_credentials_and_with_verified_certificates_alone() {
    for (registry, rest, said) in [
        (
            r#"{"server": {"url": "https://registry.example:5000", "headers": {"Authorization": "Basic c2VjcmV0"}}}"#,
            "",
            &[
                "registries.registry.example:5000.server.headers",
                "carries credentials",
                "credential provider",
            ][..],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example", "headers": {"X-Api-Token": "c2VjcmV0"}}]}"#,
            "",
            &["carries credentials"],
        ),
        (
            r#"{"hosts": [{"url": "https://user:c2VjcmV0@m.example"}]}"#,
            "",
            &["registries.registry.example:5000"],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example", "skipVerify": true}]}"#,
            "",
            &[
                "unverified-registry",
                "give the certificate of its authority as `ca`",
                "`--allow-http m.example`",
            ],
        ),
        (
            r#"{"hosts": [{"url": "http://m.example"}]}"#,
            "",
            &["plain-http", "`--allow-http m.example`"],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example", "ca": "none.pem"}]}"#,
            "",
            &["registries.registry.example:5000: ca is not a certificate"],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example", "ca": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"}]}"#,
            "",
            &["is a private key"],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example"}]}"#,
            r#", "mirrors": {"registry.example:5000": ["https://n.example"]}"#,
            &["is in `mirrors` and in `registries`"],
        ),
        ("{}", "", &["has neither `server` nor `hosts`"]),
        (
            r#"{"hosts": [{"url": "https://m.example", "capabilities": []}]}"#,
            "",
            &["has no capabilities"],
        ),
    ] {
        let ran = with_registry(registry, rest)
            .line("build --no-bake --out o")
            .fails(3, said);
        assert!(!ran.stderr.contains("c2VjcmV0"), "{}", ran.stderr);
    }
    let docker = r#"{"target": "azure", "kubernetes": "1.20.0", "runtime": "docker", "registries": {"docker.io": {"hosts": [{"url": "https://m.example"}]}}}"#;
    Test::new()
        .file("imagegen.json", docker)
        .line("build --no-bake --out o")
        .fails(
            3,
            &["`registries` is for containerd 1.5 and newer, and the image has docker"],
        );
}

/// What the checks of this file are worth: each mistake that a version of containerd lets pass is seen.
#[test]
fn mistakes_in_a_configuration_are_seen() {
    let Some(machine) = machine() else { return };
    let trees = read_trees(None).unwrap();
    let content = |version: &str| {
        let (_, kubernetes) = VERSIONS
            .iter()
            .find(|(known, _)| *known == version)
            .unwrap();
        planned(&trees, version, kubernetes, true, MIRROR).configuration
    };
    for (version, of, from, to, said) in [
        // Dropped in silence.
        (
            "1.6.32",
            "1.6.32",
            "sandbox_image",
            "sandbox_imag",
            "sandbox_imag:",
        ),
        ("1.7.27", "1.7.27", "conf_dir", "confdir", "confdir:"),
        (
            "2.1.4",
            "2.1.4",
            "conf_dir",
            "confdir",
            "Ignoring unknown key in TOML",
        ),
        // Names of another version.
        (
            "2.1.4",
            "2.1.4",
            "io.containerd.cri.v1.runtime",
            "io.containerd.grpc.v1.cri",
            "Ignoring unknown key in TOML",
        ),
        ("2.0.5", "2.1.4", "", "", "Ignoring unknown key in TOML"),
        // Kept although nobody reads them.
        (
            "2.1.4",
            "2.1.4",
            "sandbox = ",
            "sandbx = ",
            "/sandbx: unknown",
        ),
        (
            "2.3.4",
            "2.3.4",
            "io.containerd.server.v1.grpc'",
            "io.containerd.server.v1.grcp'",
            "v1.grcp: unknown",
        ),
        ("1.7.27", "2.0.5", "", "", "unsupported config version"),
        ("2.2.7", "2.3.4", "", "", "version"),
        // Windows PowerShell's UTF-8.
        (
            "2.2.7",
            "2.2.7",
            "# Configuration",
            "\u{feff}# Configuration",
            "invalid character",
        ),
    ] {
        let right = content(of);
        let wrong = right.replace(from, to);
        assert_eq!(wrong == right, from == to, "{version}: {from}");
        let problems = machine.problems(version, wrong.as_bytes(), "dump");
        assert!(
            problems.contains(said),
            "{version}, {from} → {to}: {problems}"
        );
    }
    // `config dump` says nothing of these: only the daemon does.
    let alone = content("1.7.27").replace("runtimes.runhcs-wcow-process]", "runtimes.mine]");
    assert_eq!(machine.problems("1.7.27", alone.as_bytes(), "dump"), "");
    let daemon = machine.start("1.7.27", &["--config", r"C:\tried.toml"]);
    assert!(
        daemon.log.contains("no corresponding runtime configured"),
        "{}",
        daemon.log
    );
    assert!(!unusual(&daemon.log).is_empty());
    machine.stop();
    let old = content("2.1.4").replace(
        "bin_dirs = [\"C:/opt/cni/bin\"]",
        "bin_dir = \"C:/opt/cni/bin\"",
    );
    machine.write(r"C:\tried.toml", old.as_bytes());
    let daemon = machine.start("2.1.4", &["--config", r"C:\tried.toml"]);
    assert!(daemon.log.contains("successfully booted"), "{}", daemon.log);
    let _held = machine.wine.hold(PIPE);
    let (ready, lasting, _) = asked(&machine.wine);
    assert!(ready && !lasting);
    machine.stop();
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

#[test]
fn every_minor_loads_the_cri_plugin() {
    let Some(machine) = machine() else { return };
    let trees = read_trees(None).unwrap();
    let nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let mirror = Server::new(|_| vec![Step::Send(nothing.to_vec()), Step::Close]);
    for (version, kubernetes) in VERSIONS {
        for hypervisor in [false, true] {
            let planned = planned(&trees, version, kubernetes, hypervisor, &mirror.url(""));
            for (path, content) in &planned.files {
                machine.write(path, content.as_bytes());
            }
            let (last, plain) = planned.arguments.split_last().unwrap();
            assert_eq!(
                last, "--run-service",
                "Wine never tells that it runs when it starts it as a service"
            );
            let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
            let daemon = machine.start(version, &plain);
            assert_eq!(unusual(&daemon.log), Vec::<&str>::new(), "{version}");
            configured(version, hypervisor, &planned.configuration, &daemon.log);
            if version.starts_with("1.6.") {
                // Its CRI plugin is loaded; its pipes do not open under Wine.
                assert!(
                    daemon
                        .log
                        .contains(r"open \\.\pipe\containerd-containerd.ttrpc"),
                    "{}",
                    daemon.log
                );
            } else {
                assert!(
                    daemon.log.contains("successfully booted"),
                    "{version}: {}",
                    daemon.log
                );
                let _held: Held = machine.wine.hold(PIPE);
                plugins(&machine.wine, version);
                let before = mirror.asked().len();
                let (ready, lasting, pulled) = asked(&machine.wine);
                assert!(ready && lasting, "{version}");
                assert!(
                    pulled.contains("registry.invalid:5000/library/x:1"),
                    "{version}: {pulled}"
                );
                let wanted: Vec<String> = mirror.asked()[before..]
                    .iter()
                    .map(|asked| asked.path.clone())
                    .collect();
                let manifest = "/v2/library/x/manifests/1?ns=registry.invalid%3A5000";
                assert!(
                    wanted.iter().any(|path| path == manifest),
                    "{version}: {wanted:?}, {pulled}"
                );
            }
            machine.stop();
        }
    }
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

/// Each version of the table is built, and each minor that the catalog has is in it.
#[test]
fn the_table_follows_the_build_and_the_catalog() {
    let folder = root().join("ci/programs/containerd");
    let built = |version: &str| {
        let minor = version.rsplit_once('.').unwrap().0;
        std::fs::read_to_string(folder.join(minor).join("go.mod")).is_ok_and(|text| {
            text.lines()
                .any(|line| line.ends_with(&format!(" v{version}")))
        })
    };
    for (version, _) in VERSIONS {
        assert!(built(version), "{version}");
    }
    let text = std::fs::read_to_string(root().join("manifests/pins/containerd.json")).unwrap();
    let catalog: Value = serde_json::from_str(&text).unwrap();
    for pin in catalog["pins"].as_array().unwrap() {
        let version = pin["version"].as_str().unwrap();
        let minor = version.rsplit_once('.').unwrap().0;
        let tried = VERSIONS
            .iter()
            .any(|(known, _)| known.rsplit_once('.').unwrap().0 == minor);
        assert!(tried || ["1.4", "1.5"].contains(&minor), "{version}");
    }
}
