//! A template of Cluster API's kubeadm provider, without a command of the image: its `kubeadm join` is enough.
//! Endpoint, CA and token of each machine are Cluster API's, and its name where none is given.

use serde_json::json;

use crate::base::choice::HostAccess;
use crate::base::code::Code;
use crate::base::names::format_suggestion;
use crate::diagnostic::Finding;
use crate::model::kubernetes::ClusterApi;
use crate::model::plan::Plan;

use super::check::Node;
use super::userdata::Places;
use super::{Form, JoinInput, Secrets, config, span, yaml};

/// Refuses settings that Cluster API would overwrite.
pub(super) fn check_sources(input: &JoinInput, secrets: &Secrets) -> Result<(), Finding> {
    let given = [
        ("--endpoint", input.endpoint.is_some()),
        (
            "--ca-cert or --ca-cert-hash",
            !input.ca_cert_hashes.is_empty(),
        ),
        ("--discovery-kubeconfig", secrets.kubeconfig.is_some()),
        ("--discovery-timeout", input.discovery_timeout.is_some()),
        ("--token-env or --token-file", secrets.token.is_some()),
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
        "Cluster API gives each machine its cluster and its token: {}",
        names.join(", ")
    );
    Err(Finding::new(
        Code::CAPI_DISCOVERY,
        message,
        "leave them out with `--as capi`",
    ))
}

const GROUP: &str = "bootstrap.cluster.x-k8s.io";

pub(super) fn name_version(api: &ClusterApi) -> String {
    format!("{GROUP}/{}", api.api)
}

/// The API version of the template; none for another form.
pub(super) fn choose_api(
    input: &JoinInput,
    form: Form,
    apis: &[ClusterApi],
    problems: &mut Vec<Finding>,
) -> Option<ClusterApi> {
    let mut known = apis.iter();
    let chosen = match &input.template_api {
        Some(name) => known.find(|api| api.api == *name),
        None => known.next(),
    };
    if input.template_api.is_none() && form != Form::Capi {
        return None;
    }

    let (message, remedy) = match chosen {
        Some(api) if form == Form::Capi => return Some(api.clone()),
        Some(_) => (
            "only a template of Cluster API has an API version to choose".to_owned(),
            "leave `--template-api` out, or use `--as capi`".to_owned(),
        ),
        None => {
            let name = input.template_api.as_deref().unwrap_or_default();
            let names = apis.iter().map(|api| api.api.as_str());
            let message = format!("no template of Cluster API is known for the version `{name}`");
            (message, format_suggestion(name, names))
        }
    };
    problems.push(Finding::new(Code::CAPI_VERSION, message, remedy));
    None
}

pub(super) fn build_template(
    node: &Node,
    arguments: &[(String, String)],
    plan: &Plan,
    api: &ClusterApi,
    places: &Places,
) -> Result<String, Finding> {
    let registration = config::build_registration(node, arguments, plan.runtime, api.argument_list);
    let mut spec = json!({ "joinConfiguration": { "nodeRegistration": registration } });
    if plan.host_access == HostAccess::Services {
        // The image completes the service once its credentials are there.
        let secret = json!({ "name": "windows-kube-proxy", "key": "kubeconfig.conf" });
        spec["files"] = json!([{ "path": places.proxy, "contentFrom": { "secret": secret } }]);
    }
    let document = json!({
        "apiVersion": name_version(api),
        "kind": "KubeadmConfigTemplate",
        "metadata": { "name": "windows" },
        "spec": { "template": { "spec": spec } },
    });
    span::check_document(&document)?;
    Ok(yaml::format_document(&document))
}
