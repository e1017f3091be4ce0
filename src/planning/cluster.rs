//! Inputs of `cluster-manifests` and `conformance`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::catalog::Trees;
use crate::cli::{ClusterArgs, SelectionArgs};
use crate::cluster::ClusterInput;
use crate::diagnostic::Result;
use crate::model::plan::Plan;
use crate::model::policy::Policy;

use crate::selection::DefinedImage;

use super::resolve_node_plan;

/// The plan of the nodes that a cluster is prepared for.
///
/// # Errors
/// As [`resolve_node_plan`].
pub fn resolve_cluster_plan(
    args: &ClusterArgs,
    image: &DefinedImage,
    trees: &Trees,
) -> Result<(Plan, Policy)> {
    let selection = SelectionArgs {
        k8s: args.k8s.clone(),
        runtime: args.runtime,
        cni: args.cni.clone(),
        host_access: args.host_access,
        component: args.component.clone(),
        policy: args.policy.policy.clone(),
        ..SelectionArgs::default()
    };
    resolve_node_plan(&selection, image, trees)
}

pub fn cluster_input(args: &ClusterArgs) -> ClusterInput {
    ClusterInput {
        endpoint: args.endpoint.clone(),
        pod_subnet: args.pod_subnet.clone(),
        service_subnet: args.service_subnet.clone(),
        dns: args.dns.clone(),
        domain: args.domain.clone(),
        node_subnets: args.node_subnet.clone(),
        hns_network: args.hns_network.clone(),
        flannel_namespace: args.flannel_namespace.clone(),
        metadata_route: false,
        pipe_accounts: Vec::new(),
        images: BTreeMap::new(),
        with: BTreeSet::new(),
    }
}

/// # Errors
/// The file is no JSON.
pub fn read_paths(trees: &Trees) -> Result<Value> {
    Ok(trees
        .provisioners
        .read_json("paths.json")?
        .unwrap_or_default())
}
