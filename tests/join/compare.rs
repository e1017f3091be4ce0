//! What was laid, beside what imagegen predicted.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::guest::{ENVIRONMENT, Laid, PATH, SERVICES, WRAPPER, start, text};
use super::registry::{Registry, Values};
use super::wine::Wine;
use crate::support::present;

/// What lies there is what `imagegen plan --state` predicted, in both directions.
pub fn machine(wine: &Wine, before: &[String], laid: &Laid, predicted: &Value) {
    let list = |kind: &str| present(predicted, kind);
    let mut expected = BTreeSet::new();
    for entry in list("file") {
        let path = text(entry, "path");
        expected.insert(path.to_lowercase());
        assert_eq!(
            fs::read_to_string(wine.path(path)).unwrap_or_default(),
            text(entry, "content"),
            "{path}"
        );
    }
    expected.extend(
        list("artifact")
            .iter()
            .map(|entry| text(entry, "path").to_lowercase()),
    );
    for archive in list("archive") {
        let members = archive["members"].as_array().unwrap().iter();
        expected.extend(members.map(|member| text(member, "path").to_lowercase()));
    }
    expected.extend(
        list("msi")
            .iter()
            .map(|entry| text(entry, "creates").to_lowercase()),
    );
    for entry in list("symlink") {
        expected.insert(text(entry, "path").to_lowercase());
        let target = fs::read_link(wine.path(text(entry, "path"))).unwrap();
        assert_eq!(target, wine.path(text(entry, "target")));
    }
    let mut folders: BTreeSet<String> = list("directory")
        .iter()
        .map(|entry| format!("{}\\", text(entry, "path").to_lowercase()))
        .collect();
    let before: BTreeSet<&String> = before.iter().collect();
    folders.retain(|folder| !before.contains(folder));
    let after = wine.snapshot();
    let new: BTreeSet<String> = after
        .iter()
        .filter(|path| !before.contains(path))
        .cloned()
        .collect();
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
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "missing: {missing:#?}\nsurplus: {surplus:#?}"
    );
    for entry in predicted["resources"].as_array().unwrap() {
        let is_path = ["file", "directory"].contains(&text(entry, "type"));
        if is_path && entry["properties"]["ensure"] == "absent" {
            assert!(
                !wine.path(text(&entry["properties"], "path")).exists(),
                "{entry}"
            );
        }
    }
    let mut read = Registry::new(wine);
    dependencies(&mut read, predicted);
    registry(&mut read, predicted);
    let own = services(&mut read, predicted);
    let laid: BTreeSet<&str> = laid
        .services
        .iter()
        .filter(|(_, service)| service.contains_key("commandLine"))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(laid, own.iter().map(String::as_str).collect());
}

/// Registry, environment and services are as predicted. Gives the services that are the plan's own.
pub fn lines(wine: &Wine, predicted: &Value) -> BTreeSet<String> {
    let mut read = Registry::new(wine);
    registry(&mut read, predicted);
    services(&mut read, predicted)
}

/// The command line among a service's values. Wine's service manager writes it as the other kind than what the plan
/// laid.
fn command_line(values: &Values) -> &str {
    values["ImagePath"].split_once(' ').unwrap().1
}

/// Folders of the plan whose rights the kubelet has set, as its log tells at level 6. Wine keeps few rights.
pub fn folders_of_the_kubelet(log: &str, plan: &Value) -> BTreeSet<String> {
    let set: BTreeSet<String> = log
        .lines()
        .filter_map(|line| {
            line.split_once("\"Setting new DACL for path\" path=")?
                .1
                .split_once(" dacl=")
        })
        .map(|(path, _)| {
            let path: String = serde_json::from_str(path).unwrap();
            let path = path.replace('/', "\\").to_lowercase();
            // The kubelet's own names have no drive.
            if path.starts_with('\\') {
                format!("c:{path}")
            } else {
                path
            }
        })
        .collect();
    let resources = plan["resources"].as_array().unwrap().iter();
    let folders =
        resources.filter(|it| it["type"] == "directory" && it["properties"]["sddl"].is_string());
    let paths = folders.map(|it| text(&it["properties"], "path").to_owned());
    paths
        .filter(|path| set.contains(&path.to_lowercase()))
        .collect()
}

/// What `Test-Node.ps1` compares: each resource of scope `node`, without its volatile properties.
pub fn node(wine: &Wine, plan: &Value) {
    let mut compared = BTreeSet::new();
    let mut read = Registry::new(wine);
    for resource in plan["resources"].as_array().unwrap() {
        if resource.get("scope").is_some_and(|scope| scope != "node") {
            continue;
        }
        let is_compared = |name: &str| resource["volatile"].get(name).is_none();
        let wanted = &resource["properties"];
        if compare_resource(&mut read, text(resource, "type"), wanted, &is_compared) {
            compared.insert(text(resource, "type"));
        }
    }
    let kinds = [
        "archive",
        "directory",
        "environmentVariable",
        "file",
        "registryValue",
        "service",
    ];
    // A plan with Docker has no variable of the environment.
    let has = |kind: &&str| {
        let mut all = plan["resources"].as_array().unwrap().iter();
        all.any(|it| it["type"] == **kind)
    };
    assert!(
        kinds
            .iter()
            .filter(|kind| has(kind))
            .all(|kind| compared.contains(kind)),
        "{compared:?}"
    );
}

/// Whether Wine has something of this type.
fn compare_resource(
    read: &mut Registry<'_>,
    kind: &str,
    wanted: &Value,
    is_compared: &dyn Fn(&str) -> bool,
) -> bool {
    let present = wanted["ensure"] != "absent";
    let wine = read.wine;
    match kind {
        "directory" | "file" | "symlink" => {
            let path = wine.path(text(wanted, "path"));
            if is_compared("ensure") {
                assert_eq!(path.symlink_metadata().is_ok(), present, "{wanted}");
            }
            if let (Some(content), true) = (wanted["content"].as_str(), is_compared("content")) {
                assert_eq!(fs::read_to_string(path).unwrap(), content, "{wanted}");
            }
        }
        "archive" => {
            for member in wanted["members"].as_array().unwrap() {
                assert!(wine.path(text(member, "path")).is_file(), "{member}");
            }
        }
        "environmentVariable" => {
            let value = format!("REG_SZ {}", text(wanted, "value"));
            assert_eq!(read.values(ENVIRONMENT)[text(wanted, "variable")], value);
        }
        "registryValue" => compare_value(read, wanted, is_compared),
        "service" if present => compare_service(read, wanted, is_compared),
        _ => return false,
    }
    true
}

fn compare_value(read: &mut Registry<'_>, wanted: &Value, is_compared: &dyn Fn(&str) -> bool) {
    let values = read.values(text(wanted, "key"));
    let found = values.get(text(wanted, "valueName"));
    if wanted["ensure"] == "absent" {
        assert_eq!(found, None, "{wanted}");
        return;
    }
    let data = registry_data(wanted);
    assert!(
        !is_compared("data") || found == Some(&data),
        "{wanted}: {found:?}"
    );
}

/// Kind and data of a registry value as Wine prints them.
fn registry_data(wanted: &Value) -> String {
    match text(wanted, "kind") {
        "DWord" => format!("REG_DWORD 0x{:x}", wanted["data"].as_u64().unwrap()),
        "String" => format!("REG_SZ {}", wanted["data"].as_str().unwrap()),
        "ExpandString" => {
            format!("REG_EXPAND_SZ {}", wanted["data"].as_str().unwrap())
        }
        other => panic!("{other}: nobody compares it ({wanted})"),
    }
}

fn compare_service(read: &mut Registry<'_>, wanted: &Value, is_compared: &dyn Fn(&str) -> bool) {
    let name = text(wanted, "serviceName");
    let Some(line) = wanted["commandLine"].as_str() else {
        return;
    };
    let values = read.values(&format!("{SERVICES}\\{name}"));
    let found = command_line(values);
    if is_compared("commandLine") && found != WRAPPER {
        assert_eq!(found, line, "{name}");
    }
    if !wanted["startType"].is_null() && is_compared("startType") {
        assert_eq!(
            values["Start"],
            format!("REG_DWORD 0x{:x}", start(&wanted["startType"])),
            "{name}"
        );
    }
}

fn registry(read: &mut Registry<'_>, predicted: &Value) {
    for entry in present(predicted, "registryValue") {
        let values = read.values(text(entry, "key"));
        assert_eq!(
            values.get(text(entry, "valueName")),
            Some(&registry_data(entry)),
            "{entry}"
        );
    }
    let values = read.values(ENVIRONMENT);
    for entry in present(predicted, "environmentVariable") {
        assert_eq!(
            values[text(entry, "variable")],
            format!("REG_SZ {}", text(entry, "value"))
        );
    }
    let path: Vec<&str> = predicted["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry.as_str().unwrap())
        .collect();
    let rest = values["PATH"]
        .strip_prefix(&format!("REG_EXPAND_SZ {PATH};"))
        .unwrap();
    let mut laid: Vec<&str> = rest.split(';').collect();
    laid.sort_unstable();
    let mut path = path;
    path.sort_unstable();
    assert_eq!(laid, path);
}

fn services(read: &mut Registry<'_>, predicted: &Value) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for service in present(predicted, "service") {
        let name = text(service, "serviceName");
        let Some(program) = service["program"].as_str() else {
            continue;
        };
        own.insert(name.to_owned());
        let mut words = vec![program.to_owned()];
        let arguments = service["arguments"].as_array().into_iter().flatten();
        words.extend(arguments.map(|word| word.as_str().unwrap().to_owned()));
        let line: Vec<String> = words
            .iter()
            .map(|word| {
                if word.contains(' ') {
                    format!("\"{word}\"")
                } else {
                    word.clone()
                }
            })
            .collect();
        let values = read.values(&format!("{SERVICES}\\{name}"));
        let line = line.join(" ");
        let found = command_line(values);
        if found == WRAPPER {
            continue;
        }
        assert_eq!(found, line, "{name}");
        assert_eq!(
            values["Start"],
            format!("REG_DWORD 0x{:x}", start(&service["startType"])),
            "{name}"
        );
    }
    own
}

/// Wine's service manager loses them when it saves a change: so they are compared before the first.
fn dependencies(read: &mut Registry<'_>, predicted: &Value) {
    for service in present(predicted, "service") {
        let name = text(service, "serviceName");
        if service["program"].is_null() {
            continue;
        }
        let values = read.values(&format!("{SERVICES}\\{name}"));
        let depends: Vec<&str> = service["dependsOn"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| one.as_str().unwrap())
            .collect();
        let found = values
            .get("DependOnService")
            .map(|text| text.trim_start_matches("REG_MULTI_SZ "))
            .unwrap_or_default();
        assert_eq!(
            found
                .split("\\0")
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>(),
            depends,
            "{name}"
        );
    }
}
