//! The guest plan once more folded: this time into a Wine prefix.
//!
//! Files, folders, links, artifacts, registry, environment, PATH and services are laid as the plan says. What Wine
//! has nothing of (firewall, Defender, port ranges, power plan, …) is only counted, so that a type that
//! nobody thought of fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

use super::wine::Wine;

const SERVICES: &str = r"HKLM:\SYSTEM\CurrentControlSet\Services";
const ENVIRONMENT: &str = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
/// Windows' own PATH, which the plan adds to.
const PATH: &str =
    r"C:\windows\system32;C:\windows;C:\windows\system32\wbem;C:\windows\system32\WindowsPowerShell\v1.0";
const WRAPPER: &str = r"C:\windows\svcwrap.exe";
/// Types of which Wine has nothing to set.
const RECORDED: &[&str] = &[
    "assertion",
    "certificate",
    "defenderExclusion",
    "firewallRule",
    "localUser",
    "pageFile",
    "portRange",
    "powerPlan",
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
    let done =
        Command::new("python3").args(["-m", "zipfile", "-e"]).args([payload, &folder]).status().unwrap();
    assert!(done.success());
    serde_json::from_slice(&fs::read(folder.join("guest-plan.json")).unwrap()).unwrap()
}

pub fn lay(wine: &Wine, plan: &Value) -> Laid {
    let mut laid = Laid { services: BTreeMap::new(), registry: BTreeMap::new(), path: Vec::new() };
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

fn text<'a>(properties: &'a Value, name: &str) -> &'a str {
    properties[name].as_str().unwrap_or_else(|| panic!("no {name} in {properties}"))
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

/// The bytes behind the plan's URL, which are those that the plan pins.
fn download(properties: &Value) -> Vec<u8> {
    let output = Command::new("curl").args(["-s", "--fail", text(properties, "url")]).output().unwrap();
    assert!(output.status.success(), "{}: {}", properties["url"], output.status);
    assert_eq!(properties["algorithm"], "sha256");
    assert_eq!(
        imagegen::embedded::sha256(&output.stdout),
        text(properties, "digest"),
        "{}",
        properties["url"]
    );
    output.stdout
}

fn artifact(wine: &Wine, properties: &Value) {
    let path = wine.path(text(properties, "path"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, download(properties)).unwrap();
}

fn archive(wine: &Wine, properties: &Value) {
    let cache = wine.path(text(properties, "cache"));
    fs::write(&cache, download(properties)).unwrap();
    for member in properties["members"].as_array().unwrap() {
        let path = wine.path(text(member, "path"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let name = text(member, "member");
        let mut command = match text(properties, "format") {
            "tar.gz" => {
                let mut command = Command::new("tar");
                command.arg("-xzOf").arg(&cache).arg(format!("./{name}"));
                command
            }
            "zip" => {
                let mut command = Command::new("python3");
                command.args(["-c", UNZIP]).arg(&cache).arg(name);
                command
            }
            other => panic!("{other}: nobody unpacks it"),
        };
        let done = command.stdout(fs::File::create(&path).unwrap()).status().unwrap();
        assert!(done.success(), "{member}");
    }
}

const UNZIP: &str =
    "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";

/// A package's own files are unknown: the one that tells that it is there stands for them.
fn msi(wine: &Wine, properties: &Value) {
    let cache = wine.path(text(properties, "cache"));
    fs::write(cache, download(properties)).unwrap();
    let path = wine.path(text(properties, "creates"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "laid by the package").unwrap();
}

impl Laid {
    fn value(&mut self, properties: &Value) {
        let place = (text(properties, "key").to_owned(), text(properties, "valueName").to_owned());
        if properties["ensure"] == "absent" {
            self.registry.remove(&place);
        } else {
            self.registry.insert(place, (text(properties, "kind").to_owned(), properties["data"].clone()));
        }
    }

    fn variable(&mut self, properties: &Value) {
        assert_eq!(properties["ensure"], "present");
        self.registry.insert(
            (ENVIRONMENT.to_owned(), text(properties, "variable").to_owned()),
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

fn start(kind: &Value) -> u32 {
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
            let _infallible = write!(file, "\n[{}]\n", key.replace("HKLM:\\", "HKEY_LOCAL_MACHINE\\"));
            last = key;
        }
        let wide = |text: &str| -> String {
            let bytes: Vec<String> =
                text.encode_utf16().flat_map(u16::to_le_bytes).map(|byte| format!("{byte:02x}")).collect();
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
        ((key.to_owned(), name.to_owned()), (kind.to_owned(), Value::from(data)))
    };
    let parameters = format!("{key}\\Parameters");
    let plain = arguments.replace(as_service, "");
    wine.import(&registry_file(&BTreeMap::from([
        value(&key, "ImagePath", "ExpandString", WRAPPER),
        value(&parameters, "Application", "String", program),
        value(&parameters, "AppParameters", "String", plain.trim()),
        value(&parameters, "AppStdout", "String", &format!(r"C:\var\log\{name}\said.log")),
    ])));
}

/// What the cluster's network add-on writes: containerd reads it, and without it no node is Ready.
pub fn network(wine: &Wine) {
    let config = fs::read_to_string(wine.path(r"C:\Program Files\containerd\config.toml")).unwrap();
    let line = config.lines().find(|line| line.trim_start().starts_with("conf_dir")).unwrap();
    let folder = line.split(['"', '\'']).nth(1).unwrap().replace('/', "\\").replace("\\\\", "\\");
    let folder = wine.path(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("10-test.conf"), r#"{"cniVersion":"0.3.1","name":"test","type":"sdnbridge"}"#)
        .unwrap();
}

/// What lies there is what `imagegen plan --state` predicted, in both directions.
pub fn compare(wine: &Wine, before: &[String], laid: &Laid, predicted: &Value) {
    let list = |name: &str| predicted[name].as_array().unwrap().clone();
    let mut expected = BTreeSet::new();
    for entry in list("files") {
        let path = text(&entry, "path");
        expected.insert(path.to_lowercase());
        if let Some(content) = entry["content"].as_str() {
            assert_eq!(fs::read_to_string(wine.path(path)).unwrap_or_default(), content, "{path}");
        }
    }
    for entry in list("packages") {
        expected.insert(text(&entry, "creates").to_lowercase());
    }
    for entry in list("links") {
        expected.insert(text(&entry, "path").to_lowercase());
        let target = fs::read_link(wine.path(text(&entry, "path"))).unwrap();
        assert_eq!(target, wine.path(text(&entry, "target")));
    }
    let mut folders: BTreeSet<String> =
        list("directories").iter().map(|entry| format!("{}\\", text(entry, "path").to_lowercase())).collect();
    let before: BTreeSet<&String> = before.iter().collect();
    folders.retain(|folder| !before.contains(folder));
    let after = wine.snapshot();
    let new: BTreeSet<String> = after.iter().filter(|path| !before.contains(path)).cloned().collect();
    // Folders above what is predicted come with it.
    for path in expected.clone().iter().chain(folders.clone().iter()) {
        for (at, _) in path.match_indices('\\').skip(1) {
            let folder = path[..=at].to_owned();
            if !before.contains(&folder) {
                folders.insert(folder);
            }
        }
    }
    let wanted: BTreeSet<String> = expected.into_iter().chain(folders).collect();
    let missing: Vec<&String> = wanted.difference(&new).collect();
    let surplus: Vec<&String> = new.difference(&wanted).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing: {missing:#?}\nsurplus: {surplus:#?}");
    for entry in list("absent") {
        if ["file", "directory"].contains(&text(&entry, "kind")) {
            assert!(!wine.path(text(&entry, "name")).exists(), "{entry}");
        }
    }
    compare_dependencies(wine, predicted);
    let own = compare_lines(wine, predicted);
    let laid: BTreeSet<&str> = laid
        .services
        .iter()
        .filter(|(_, service)| service.contains_key("commandLine"))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(laid, own.iter().map(String::as_str).collect());
}

/// Registry, environment and services are as predicted, command lines with what files add to them. Gives the
/// services that are the plan's own.
pub fn compare_lines(wine: &Wine, predicted: &Value) -> BTreeSet<String> {
    compare_registry(wine, predicted);
    compare_services(wine, predicted)
}

/// What the file of a predicted command line has to say by now, with a blank before it.
pub fn behind(wine: &Wine, owner: &Value) -> String {
    let Some(file) = owner["argumentsFile"].as_object() else { return String::new() };
    let Ok(line) = fs::read_to_string(wine.path(file["path"].as_str().unwrap())) else {
        return String::new();
    };
    let value = line.strip_prefix(&format!("{}=", file["variable"].as_str().unwrap())).unwrap();
    // What kubeadm writes is a text of Go's, and JSON's where nothing special is in it.
    let value: String = serde_json::from_str(value).unwrap();
    if value.is_empty() { value } else { format!(" {value}") }
}

fn compare_registry(wine: &Wine, predicted: &Value) {
    let mut seen = BTreeMap::new();
    for entry in predicted["registry"].as_array().unwrap() {
        let key = text(entry, "key");
        let values = seen.entry(key.to_owned()).or_insert_with(|| wine.values(key));
        let expected = match text(entry, "kind") {
            "DWord" => format!("REG_DWORD 0x{:x}", entry["data"].as_u64().unwrap()),
            "String" => format!("REG_SZ {}", entry["data"].as_str().unwrap()),
            "ExpandString" => {
                format!("REG_EXPAND_SZ {}{}", entry["data"].as_str().unwrap(), behind(wine, entry))
            }
            other => panic!("{other}: nobody compares it ({entry})"),
        };
        assert_eq!(values.get(text(entry, "name")), Some(&expected), "{entry}");
    }
    let values = wine.values(ENVIRONMENT);
    for entry in predicted["environment"].as_array().unwrap() {
        assert_eq!(values[text(entry, "name")], format!("REG_SZ {}", text(entry, "value")));
    }
    let path: Vec<&str> =
        predicted["path"].as_array().unwrap().iter().map(|entry| text(entry, "entry")).collect();
    let rest = values["PATH"].strip_prefix(&format!("REG_EXPAND_SZ {PATH};")).unwrap();
    let mut laid: Vec<&str> = rest.split(';').collect();
    laid.sort_unstable();
    let mut path = path;
    path.sort_unstable();
    assert_eq!(laid, path);
}

fn compare_services(wine: &Wine, predicted: &Value) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for service in predicted["services"].as_array().unwrap() {
        let name = text(service, "name");
        let Some(program) = service["program"].as_str() else { continue };
        own.insert(name.to_owned());
        let mut words = vec![program.to_owned()];
        let arguments = service["arguments"].as_array().into_iter().flatten();
        words.extend(arguments.map(|word| word.as_str().unwrap().to_owned()));
        let line: Vec<String> = words
            .iter()
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() })
            .collect();
        let values = wine.values(&format!("{SERVICES}\\{name}"));
        let line = line.join(" ") + &behind(wine, service);
        // Wine's service manager writes the other kind than what the plan laid.
        let found = values["ImagePath"].split_once(' ').unwrap().1;
        if found == WRAPPER {
            continue;
        }
        assert_eq!(found, line, "{name}");
        assert_eq!(values["Start"], format!("REG_DWORD 0x{:x}", start(&service["startType"])), "{name}");
    }
    own
}

/// Wine's service manager loses them when it saves a change: so they are compared before the first.
fn compare_dependencies(wine: &Wine, predicted: &Value) {
    for service in predicted["services"].as_array().unwrap() {
        let name = text(service, "name");
        if service["program"].is_null() {
            continue;
        }
        let values = wine.values(&format!("{SERVICES}\\{name}"));
        let depends: Vec<&str> =
            service["dependsOn"].as_array().into_iter().flatten().map(|one| one.as_str().unwrap()).collect();
        let found = values
            .get("DependOnService")
            .map(|text| text.trim_start_matches("REG_MULTI_SZ "))
            .unwrap_or_default();
        assert_eq!(found.split("\\0").filter(|part| !part.is_empty()).collect::<Vec<_>>(), depends, "{name}");
    }
}
