//! The way of user-data to a clone: the metadata of the platform, the name of the machine, and the accounts that stay.

use std::collections::{BTreeMap, BTreeSet};

use imagegen::model::platform::MetadataEndpoint;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Life, Node, image_targets, read_life, text};

/// The identifier of `LocalSystem`.
const SYSTEM: &str = "S-1-5-18";
/// The local account that cloudbase-init's package makes for its service.
const ACCOUNT: &str = "cloudbase-init";

/// A metadata service of cloudbase-init, and the address that it asks. One without reads a disc or the hypervisor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetadataService {
    service: String,
    address: Option<String>,
    port: Option<String>,
    source: String,
}

/// Names that platforms give two machines, which must not become one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    plugin: String,
    pairs: Vec<[String; 2]>,
    source: String,
}

/// On a clone, the account that reads user-data passes each rule of the firewall on its way to the metadata. A local
/// account has another identifier there than on the build machine. A node whose service has such an account keeps it
/// when a plan is applied whose service is `LocalSystem`.
pub(super) fn find_blocked_metadata(life: &Life, node: &Node) -> Vec<String> {
    let package = node.resources.iter().find(|it| {
        let name = it["name"].as_str().unwrap_or_default();
        it["type"] == "msi" && name.starts_with("cloudbase-init/")
    });
    let Some(package) = package else {
        return Vec::new();
    };
    let arguments = package["properties"]["arguments"].as_array();
    let is_system = arguments.is_some_and(|all| all.contains(&json!(life.user_data.argument)));
    let rules = node
        .resources
        .iter()
        .filter(|it| it["type"] == "firewallRule");
    let last: BTreeMap<&str, &Value> = rules.map(|it| (text(it, "ruleName"), it)).collect();

    let mut found = Vec::new();
    let asked = life
        .metadata
        .iter()
        .filter(|row| node.services.contains(&row.service));
    for row in asked {
        for rule in last.values().filter(|rule| blocks(rule, row)) {
            let passes_system = !is_system || holds(rule, "exceptAccount", SYSTEM);
            let passes_user = holds(rule, "exceptUser", ACCOUNT) && rule["phase"] == "firstboot";
            if !passes_system || !passes_user {
                let name = &rule["name"];
                found.push(format!(
                    "metadata: {name} blocks {} ({})",
                    row.service, row.source
                ));
            }
        }
    }
    found
}

fn holds(rule: &Value, property: &str, value: &str) -> bool {
    let list = rule["properties"][property].as_array();
    list.is_some_and(|all| all.contains(&json!(value)))
}

fn blocks(rule: &Value, row: &MetadataService) -> bool {
    let is_block = text(rule, "action") == "block" && text(rule, "direction") == "outbound";
    let concerns = |property: &str, value: &Option<String>| {
        let has_none = rule["properties"][property].is_null();
        let value = value.as_deref();
        value.is_some_and(|value| has_none || holds(rule, property, value))
    };
    is_block && concerns("remoteAddress", &row.address) && concerns("remotePort", &row.port)
}

/// Two machines that the platform names differently have different names in the cluster: kubeadm takes the host name.
pub(super) fn find_shared_names(life: &Life, node: &Node) -> Vec<String> {
    if !node.plugins.contains(&life.names.plugin) {
        return Vec::new();
    }
    let conf = node
        .resources
        .iter()
        .find(|it| it["name"] == "cloudbase-init/configuration");
    let conf = conf.map_or("", |it| text(it, "content"));

    let mut found = Vec::new();
    for [one, other] in &life.names.pairs {
        let name = name_machine(conf, one);
        if name == name_machine(conf, other) {
            found.push(format!(
                "name: {one} and {other} are {name} ({})",
                life.names.source
            ));
        }
    }
    found
}

/// As cloudbase-init's `utils/hostname.py`, whose option is on where the configuration does not have it.
fn name_machine(conf: &str, given: &str) -> String {
    let name = given.split('.').next().unwrap_or_default();
    let is_whole = conf
        .lines()
        .any(|line| line == "netbios_host_name_compatibility=false");
    let end = if is_whole {
        name.len()
    } else {
        name.len().min(15)
    };
    name[..end].to_owned()
}

/// An account of the build stays open only as the built-in administrator that the platform gives to its customer under
/// the name that every Windows gives it.
pub(super) fn find_open_build_accounts(_: &Life, node: &Node) -> Vec<String> {
    let users = node
        .resources
        .iter()
        .filter(|it| it["type"] == "localUser" && text(it, "ensure") == "closed");
    users
        .filter(|it| text(it, "userName") != "Administrator")
        .map(|it| format!("account: {} leaves the build's account open", it["name"]))
        .collect()
}

/// The rule of the model knows what the metadata services of a target ask.
#[test]
fn each_target_names_the_addresses_of_its_metadata() {
    let life = read_life();
    for target in image_targets() {
        let platform = &target.image().expect("an image").platform;
        let mut expected = BTreeSet::new();
        for service in &platform.cloudbase_init.main.services {
            let row = life.metadata.iter().find(|row| row.service == *service);
            let row = row.unwrap_or_else(|| panic!("{}: no row for {service}", target.name));
            if let (Some(address), Some(port)) = (&row.address, &row.port) {
                expected.insert((address.clone(), port.clone()));
            }
        }
        let named = |it: &MetadataEndpoint| (it.address.to_string(), it.port.to_string());
        let told: BTreeSet<(String, String)> = platform.metadata.iter().map(named).collect();
        // Programs of a node ask addresses that cloudbase-init does not.
        assert!(told.is_superset(&expected), "{}: {told:?}", target.name);
    }
}
