//! Options that change nothing in the manifests of a selection. They look like options that work, so they are refused.

use super::{ClusterInput, ClusterManifest, DOMAIN, FLANNEL_NAMESPACE, POD_NETWORK};
use crate::base::code::Code;
use crate::diagnostic::{Finding, Result};
use crate::join::refuse_input;
use crate::model::definition::SERVICE_NETWORK;

/// Refuses each option without which the same files come out.
///
/// # Errors
/// The options that change nothing; a template is wrong.
pub fn refuse_idle_options(
    input: &ClusterInput,
    files: &[ClusterManifest],
    render: impl Fn(&ClusterInput) -> Result<Vec<ClusterManifest>>,
) -> Result<()> {
    let mut problems = Vec::new();
    for (option, without) in list_without_each(input) {
        // A refusal is an effect, too.
        if render(&without).is_ok_and(|others| others == files) {
            let message = format!("`{option}` changes nothing in these manifests");
            let code = Code::OPTION_WITHOUT_EFFECT;
            problems.push(Finding::new(code, message, "remove it"));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(refuse_input(problems).into())
}

/// Each option whose value is not the default, with the input that lacks it.
fn list_without_each(input: &ClusterInput) -> Vec<(String, ClusterInput)> {
    let mut list = Vec::new();
    for (option, reset) in OPTIONS {
        let mut without = input.clone();
        reset(&mut without);
        list.push(((*option).to_owned(), without));
    }
    for name in input.images.keys() {
        let mut without = input.clone();
        without.images.remove(name);
        list.push((format!("--image {name}"), without));
    }
    list.retain(|(_, without)| without != input);
    list
}

type Reset = fn(&mut ClusterInput);

/// Options with their defaults. The endpoint is no part of them: a line that names it serves every pod network.
const OPTIONS: &[(&str, Reset)] = &[
    ("--pod-subnet", |input| {
        input.pod_subnet = POD_NETWORK.parse().expect("a network");
    }),
    ("--service-subnet", |input| {
        input.service_subnet = SERVICE_NETWORK.parse().expect("a network");
    }),
    ("--node-subnet", |input| input.node_subnets.clear()),
    ("--dns", |input| input.dns = None),
    ("--domain", |input| {
        input.domain = DOMAIN.parse().expect("a domain");
    }),
    ("--hns-network", |input| input.hns_network = None),
    ("--flannel-namespace", |input| {
        FLANNEL_NAMESPACE.clone_into(&mut input.flannel_namespace);
    }),
    ("--pipe-account", |input| input.pipe_accounts.clear()),
];
