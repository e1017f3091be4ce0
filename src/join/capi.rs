//! A template of Cluster API's kubeadm provider, without a command of the image: its `kubeadm join` is enough.
//! Endpoint, CA, token and name of each machine are Cluster API's.

use serde_json::json;

use crate::base::choice::{HostAccess, Runtime};
use crate::base::code::Code;
use crate::diagnostic::Finding;

use super::check::Node;
use super::userdata::Places;
use super::{JoinInput, Secrets, config, yaml};

/// Refuses settings that Cluster API would overwrite.
pub(super) fn check_sources(input: &JoinInput, secrets: &Secrets) -> Result<(), Finding> {
    let given = [
        ("--endpoint", input.endpoint.is_some()),
        ("--ca-cert-hash", !input.ca_cert_hashes.is_empty()),
        ("--discovery-kubeconfig", secrets.kubeconfig.is_some()),
        ("--discovery-timeout", input.discovery_timeout.is_some()),
        ("--token-env", secrets.token.is_some()),
        ("--name", input.name.is_some()),
    ];
    let names: Vec<&str> = given
        .iter()
        .filter(|(_, given)| *given)
        .map(|(name, _)| *name)
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let message = format!(
        "Cluster API gives each machine its cluster, its token and its name: {}",
        names.join(", ")
    );
    Err(Finding::new(
        Code::CAPI_DISCOVERY,
        message,
        "leave them out with `--as capi`",
    ))
}

pub(super) fn template(
    node: &Node,
    arguments: &[(String, String)],
    runtime: Runtime,
    access: HostAccess,
    places: &Places,
) -> String {
    let mut spec = json!({
        "joinConfiguration": { "nodeRegistration": config::build_registration(node, arguments, runtime, false) },
    });
    if access == HostAccess::Services {
        // The image completes the service once its credentials are there.
        let secret = json!({ "name": "windows-kube-proxy", "key": "kubeconfig.conf" });
        spec["files"] = json!([{ "path": places.proxy, "contentFrom": { "secret": secret } }]);
    }
    let document = json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1",
        "kind": "KubeadmConfigTemplate",
        "metadata": { "name": "windows" },
        "spec": { "template": { "spec": spec } },
    });
    yaml::format_document(&document)
}
