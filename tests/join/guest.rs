//! The guest plan once more folded: this time into a Wine prefix.
//!
//! Files, folders, links, artifacts, registry, environment, PATH and services are laid as the plan says. What Wine
//! has nothing of (firewall, Defender, port ranges, power plan, …) is only counted, so that a type that
//! nobody thought of fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use imagegen::base::digest::Digester;
use imagegen::base::value::PinAlgorithm;
use serde_json::{Map, Value};

use super::registry::SERVICE_TIME;
use super::wine::Wine;

pub const SERVICES: &str = r"HKLM:\SYSTEM\CurrentControlSet\Services";
pub const ENVIRONMENT: &str = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
/// Windows' own PATH, which the plan adds to.
pub const PATH: &str = r"C:\windows\system32;C:\windows;C:\windows\system32\wbem;C:\windows\system32\WindowsPowerShell\v1.0";
pub const WRAPPER: &str = r"C:\windows\svcwrap.exe";
/// Types of which Wine has nothing to set.
const RECORDED: &[&str] = &[
    "assertion",
    "certificate",
    "containerImage",
    "defenderExclusion",
    "firewallRule",
    "hnsNetwork",
    "localUser",
    "pageFile",
    "portRange",
    "powerPlan",
    "scheduledTask",
    "script",
    "sysprep",
    "windowsFeature",
    "winrmListener",
    "winrmSetting",
];

/// What was laid: services as the whole plan leaves them.
pub struct Laid {
    pub services: BTreeMap<String, Map<String, Value>>,
    registry: BTreeMap<(String, String), (String, Value)>,
    path: Vec<String>,
}

/// Lays what arrived where a machine unpacks it, and gives the plan that is in it.
pub fn unpack(wine: &Wine, payload: &Path) -> Value {
    let folder = wine.path(r"C:\imagegen");
    let done = Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .args([payload, &folder])
        .status()
        .unwrap();
    assert!(done.success());
    serde_json::from_slice(&fs::read(folder.join("guest-plan.json")).unwrap()).unwrap()
}

pub fn lay(wine: &Wine, plan: &Value) -> Laid {
    let mut laid = Laid {
        services: BTreeMap::new(),
        registry: BTreeMap::new(),
        path: Vec::new(),
    };
    for resource in plan["resources"].as_array().unwrap() {
        let properties = &resource["properties"];
        let kind = resource["type"].as_str().unwrap();
        match kind {
            "directory" => directory(wine, properties),
            "file" => file(wine, properties),
            "symlink" => symlink(wine, properties),
            "artifact" => artifact(wine, properties),
            "archive" => archive(wine, properties),
            "msi" => msi(wine, properties),
            "registryValue" => laid.value(properties),
            "environmentVariable" => laid.variable(properties),
            "pathEntry" => laid.path.push(text(properties, "entry").to_owned()),
            "service" => laid.service(properties),
            _ => assert!(RECORDED.contains(&kind), "{kind}: nobody lays it"),
        }
    }
    laid.import(wine);
    laid
}

pub fn text<'a>(properties: &'a Value, name: &str) -> &'a str {
    properties[name]
        .as_str()
        .unwrap_or_else(|| panic!("no {name} in {properties}"))
}

fn directory(wine: &Wine, properties: &Value) {
    let path = wine.path(text(properties, "path"));
    let ensure = text(properties, "ensure");
    if ensure != "present" && path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    if ensure != "absent" {
        fs::create_dir_all(&path).unwrap();
    }
}

fn file(wine: &Wine, properties: &Value) {
    let path = wine.path(text(properties, "path"));
    if text(properties, "ensure") == "absent" {
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
    } else if let Some(content) = properties["content"].as_str() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn symlink(wine: &Wine, properties: &Value) {
    let path = wine.path(text(properties, "path"));
    assert_eq!(properties["ensure"], "present");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(wine.path(text(properties, "target")), path).unwrap();
}

/// The file behind the plan's URL, whose bytes are those that the plan pins.
fn download(properties: &Value, path: &Path) {
    let url = text(properties, "url");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let status = Command::new("curl")
        .args(["-s", "--fail", "-o"])
        .args([path, Path::new(url)])
        .status()
        .unwrap();
    assert!(status.success(), "{url}: {status}");
    assert_eq!(properties["algorithm"], "sha256");
    let mut digester = Digester::new(PinAlgorithm::Sha256);
    std::io::copy(&mut fs::File::open(path).unwrap(), &mut digester).unwrap();
    assert_eq!(digester.finish(), text(properties, "digest"), "{url}");
}

fn artifact(wine: &Wine, properties: &Value) {
    download(properties, &wine.path(text(properties, "path")));
}

fn archive(wine: &Wine, properties: &Value) {
    let cache = wine.path(text(properties, "cache"));
    download(properties, &cache);
    let members = properties["members"].as_array().unwrap();
    // Beside the drive: what is compared later is on it.
    let folder = wine.make_folder();
    unpack_members(text(properties, "format"), &cache, folder.path(), members);
    for member in members {
        let path = wine.path(text(member, "path"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::rename(folder.path().join(text(member, "member")), path).unwrap();
    }
}

/// All members by one program, which reads the archive once.
fn unpack_members(format: &str, archive: &Path, folder: &Path, members: &[Value]) {
    // The archives that stand for the published ones have names without it.
    let names = members.iter().map(|member| text(member, "member"));
    let names = names.map(|name| name.trim_start_matches("./"));
    let mut command = match format {
        "tar.gz" => {
            let mut command = Command::new("tar");
            command.arg("-xzf").arg(archive).arg("-C").arg(folder);
            command.args(names);
            command
        }
        "zip" => {
            let mut command = Command::new("python3");
            command.args(["-c", UNZIP]).arg(archive).arg(folder);
            command.args(names);
            command
        }
        other => panic!("{other}: nobody unpacks it"),
    };
    assert!(command.status().unwrap().success(), "{members:?}");
}

const UNZIP: &str =
    "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2], sys.argv[3:])";

/// A package's own files are unknown: the one that tells that it is there stands for them.
fn msi(wine: &Wine, properties: &Value) {
    download(properties, &wine.path(text(properties, "cache")));
    let path = wine.path(text(properties, "creates"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "laid by the package").unwrap();
}

impl Laid {
    fn value(&mut self, properties: &Value) {
        let place = (
            text(properties, "key").to_owned(),
            text(properties, "valueName").to_owned(),
        );
        if properties["ensure"] == "absent" {
            self.registry.remove(&place);
        } else {
            self.registry.insert(
                place,
                (
                    text(properties, "kind").to_owned(),
                    properties["data"].clone(),
                ),
            );
        }
    }

    fn variable(&mut self, properties: &Value) {
        assert_eq!(properties["ensure"], "present");
        self.registry.insert(
            (
                ENVIRONMENT.to_owned(),
                text(properties, "variable").to_owned(),
            ),
            ("String".to_owned(), properties["value"].clone()),
        );
    }

    fn service(&mut self, properties: &Value) {
        let name = text(properties, "serviceName").to_owned();
        if properties["ensure"] == "absent" {
            self.services.remove(&name);
            return;
        }
        let service = self.services.entry(name).or_default();
        for (key, value) in properties.as_object().unwrap() {
            service.insert(key.clone(), value.clone());
        }
    }

    /// Everything in one file for `reg.exe`: services are read when Windows starts.
    fn import(&self, wine: &Wine) {
        let mut values = self.registry.clone();
        let mut path = vec![PATH.to_owned()];
        path.extend(self.path.iter().cloned());
        values.insert(
            (ENVIRONMENT.to_owned(), "PATH".to_owned()),
            ("ExpandString".to_owned(), path.join(";").into()),
        );
        for (name, service) in &self.services {
            // Services of Windows itself and of packages have no command line in a plan.
            if let Some(line) = service.get("commandLine") {
                let key = format!("{SERVICES}\\{name}");
                let mut add = |name: &str, kind: &str, data: Value| {
                    values.insert((key.clone(), name.to_owned()), (kind.to_owned(), data));
                };
                add("ImagePath", "ExpandString", line.clone());
                add("DisplayName", "String", service["displayName"].clone());
                add("ObjectName", "String", "LocalSystem".into());
                add("Type", "DWord", 16.into());
                add("ErrorControl", "DWord", 1.into());
                add("Start", "DWord", start(&service["startType"]).into());
                if let Some(depends) = service.get("dependsOn") {
                    add("DependOnService", "MultiString", depends.clone());
                }
            }
        }
        wine.import(&registry_file(&values));
    }
}

/// The plan's limit for services that start, from the next restart on, as Wine reads it. Not before: a service that Wine
/// cannot start would hold up the machine as long.
pub fn limit_starts(wine: &Wine, laid: &Laid) {
    let mut values = laid.registry.clone();
    values.retain(|(_, name), _| name == SERVICE_TIME);
    for (kind, data) in values.values_mut() {
        (*kind, *data) = ("String".to_owned(), data.to_string().into());
    }
    wine.import(&registry_file(&values));
}

pub fn start(kind: &Value) -> u32 {
    match kind.as_str().unwrap() {
        "auto" | "delayed" => 2,
        "manual" => 3,
        "disabled" => 4,
        other => panic!("{other}"),
    }
}

fn registry_file(values: &BTreeMap<(String, String), (String, Value)>) -> String {
    let mut file = "Windows Registry Editor Version 5.00\n".to_owned();
    let mut last = "";
    for ((key, name), (kind, data)) in values {
        if key != last {
            let _infallible = write!(
                file,
                "\n[{}]\n",
                key.replace("HKLM:\\", "HKEY_LOCAL_MACHINE\\")
            );
            last = key;
        }
        let wide = |text: &str| -> String {
            let bytes: Vec<String> = text
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            bytes.join(",")
        };
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let data = match kind.as_str() {
            "String" => format!("\"{}\"", quoted(data.as_str().unwrap())),
            "ExpandString" => format!("hex(2):{}", wide(&format!("{}\0", data.as_str().unwrap()))),
            "MultiString" => {
                let all: String = data
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| format!("{}\0", one.as_str().unwrap()))
                    .collect();
                format!("hex(7):{}", wide(&format!("{all}\0")))
            }
            "DWord" => format!("dword:{:08x}", data.as_u64().unwrap()),
            other => panic!("{other}: nobody writes it"),
        };
        let _infallible = writeln!(file, "\"{}\"={data}", quoted(name));
    }
    file
}

/// A wrapper starts the service's program with the plan's arguments, less the one that makes it a service, and
/// starts it again when it ends.
pub fn run_plainly(wine: &Wine, laid: &Laid, name: &str, as_service: &str) {
    let line = laid.services[name]["commandLine"].as_str().unwrap();
    let (program, arguments) = match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').unwrap(),
        None => line.split_once(' ').unwrap(),
    };
    assert!(arguments.contains(as_service), "{line}");
    if !wine.path(WRAPPER).exists() {
        wine.install("svcwrap.exe", WRAPPER);
    }
    let key = format!("{SERVICES}\\{name}");
    let value = |key: &str, name: &str, kind: &str, data: &str| {
        (
            (key.to_owned(), name.to_owned()),
            (kind.to_owned(), Value::from(data)),
        )
    };
    let parameters = format!("{key}\\Parameters");
    let plain = arguments.replace(as_service, "");
    wine.import(&registry_file(&BTreeMap::from([
        value(&key, "ImagePath", "ExpandString", WRAPPER),
        value(&parameters, "Application", "String", program),
        value(&parameters, "AppParameters", "String", plain.trim()),
        value(
            &parameters,
            "AppStdout",
            "String",
            &format!(r"C:\var\log\{name}\said.log"),
        ),
    ])));
}

/// The same with a console, as services have one on Windows: in Wine a batch file without one reads no output of what it
/// starts, such as the version of the kubelet.
pub fn run_with_console(wine: &Wine, laid: &Laid, name: &str, as_service: &str) {
    run_plainly(wine, laid, name, as_service);
    let place = (
        format!("{SERVICES}\\{name}\\Parameters"),
        "AppConsole".to_owned(),
    );
    let value = ("String".to_owned(), Value::from("1"));
    wine.import(&registry_file(&BTreeMap::from([(place, value)])));
}

/// What the cluster's network add-on writes: without it no node is Ready. The kubelet reads it for Docker, and asks the
/// plugin for its version.
pub fn network(wine: &Wine) {
    let folder = wine.path(&find_network_folder(wine));
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("10-test.conf"),
        r#"{"cniVersion":"0.3.1","name":"test","type":"win-overlay"}"#,
    )
    .unwrap();
}

/// The folder that containerd's configuration names; without containerd, the one that the node's scripts know.
fn find_network_folder(wine: &Wine) -> String {
    let Ok(config) = fs::read_to_string(wine.path(r"C:\Program Files\containerd\config.toml"))
    else {
        let facts = fs::read_to_string(wine.path(r"C:\imagegen\node.conf")).unwrap();
        let mut lines = facts.lines();
        let folder = lines.find_map(|line| line.strip_prefix("cniConf="));
        return folder.expect("a folder").to_owned();
    };
    let line = config
        .lines()
        .find(|line| line.trim_start().starts_with("conf_dir"))
        .unwrap();
    let folder = line.split(['"', '\'']).nth(1).unwrap();
    folder.replace('/', "\\").replace("\\\\", "\\")
}
