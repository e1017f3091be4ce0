//! Flags of the verbs about the nodes of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::ClusterArgs;
use crate::cluster::ClusterInput;
use crate::diagnostic::Result;
use crate::model::definition::ImageDefinition;
use crate::selection::Flags;

use super::name_policy;

/// # Errors
/// The settings of this machine cannot be read.
pub(in super::super) fn cluster_flags(args: &ClusterArgs) -> Result<Flags> {
    let settings = Flags::without_any()?;
    Ok(Flags {
        definition: ImageDefinition {
            kubernetes: args.k8s.clone(),
            runtime: args.runtime,
            cni: args.cni.clone(),
            host_access: args.host_access,
            components: args.component.iter().cloned().collect(),
            ..settings.definition
        },
        policy: name_policy(&args.policy),
        ..settings
    })
}

pub(in super::super) fn cluster_input(args: &ClusterArgs) -> ClusterInput {
    ClusterInput {
        endpoint: args.endpoint.clone(),
        pod_subnet: args.pod_subnet.clone(),
        service_subnet: args.service_subnet.clone(),
        dns: args.dns.clone(),
        domain: args.domain.clone(),
        node_subnets: args.node_subnet.clone(),
        hns_network: args.hns_network.clone(),
        flannel_namespace: args.flannel_namespace.clone(),
        metadata: BTreeSet::new(),
        pipe_accounts: Vec::new(),
        images: BTreeMap::new(),
        with: BTreeSet::new(),
    }
}
