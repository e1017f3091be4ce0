//! Facts of the registries that containerd asks: the content of each `hosts.toml`, and the certificates beside it.

use serde_json::{Value, json};

use crate::base::choice::RegistryCapability;
use crate::base::value::{DEFAULT_REGISTRY, Registry, find_registry_host};
use crate::model::containerd::RegistryHost;
use crate::model::plan::Plan;

/// Registries with the folder that containerd reads for each.
pub(super) fn collect_registries(plan: &Plan) -> Value {
    let mut registries = Vec::new();
    for (registry, known) in plan.selection.list_registries() {
        let mut hosts = Vec::new();
        for (index, host) in known.hosts.iter().enumerate() {
            hosts.push(describe_host(host, index + 1));
        }
        let server = match &known.server {
            Some(server) => describe_host(server, 0),
            // containerd asks the registry of the image.
            None if *registry == *DEFAULT_REGISTRY => json!({ "url": "", "capabilities": "" }),
            None => {
                let url = format!("https://{}", find_registry_host(&registry));
                json!({ "url": url, "capabilities": "" })
            }
        };
        registries.push(json!({
            "registry": registry,
            "folder": find_folder(&registry),
            "server": server,
            "hosts": hosts,
        }));
    }
    registries.into()
}

/// The files with certificates, one for each host that has some.
pub(super) fn collect_certificates(plan: &Plan) -> Value {
    let mut files = Vec::new();
    for (registry, known) in plan.selection.list_registries() {
        let server = known.server.iter().map(|server| (0, server));
        let hosts = known.hosts.iter().enumerate();
        for (index, host) in server.chain(hosts.map(|(index, host)| (index + 1, host))) {
            if let Some(ca) = &host.ca {
                files.push(json!({
                    "registry": registry,
                    "folder": find_folder(&registry),
                    "file": name_certificates(index),
                    "content": ca,
                }));
            }
        }
    }
    files.into()
}

/// The name that containerd looks for: a path takes no colon before a port.
fn find_folder(registry: &Registry) -> String {
    match registry.split_once(':') {
        Some((name, port)) => format!("{name}_{port}_"),
        None => registry.to_string(),
    }
}

/// The server is 0, the hosts count from 1. A name that ends in `.crt` would mean something else to containerd.
fn name_certificates(index: usize) -> String {
    format!("ca-{index}.pem")
}

fn describe_host(host: &RegistryHost, index: usize) -> Value {
    let capabilities: Vec<&str> = host
        .capabilities
        .iter()
        .copied()
        .map(RegistryCapability::as_str)
        .collect();
    let ca = host.ca.as_ref().map(|_| name_certificates(index));
    let headers = host.headers.iter();
    let headers: Vec<Value> = headers
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    json!({
        "url": host.url,
        "capabilities": format!("{capabilities:?}"),
        "ca": ca.unwrap_or_default(),
        "skipVerify": host.skip_verify,
        "overridePath": host.override_path,
        "dialTimeout": host.dial_timeout.as_deref().unwrap_or_default(),
        "headers": headers,
    })
}
