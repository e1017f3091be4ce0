//! Addresses of the cluster: networks, and the addresses that they contain.

use std::net::Ipv4Addr;

use crate::base::choice::HostAccess;
use crate::base::value::{Ipv4Address, is_subdomain};
use crate::diagnostic::Finding;
use crate::join::find_endpoint_problem;
use crate::model::plan::Plan;

use super::ClusterInput;

/// The cluster's DNS: as said, or where kubeadm puts it.
pub(super) fn choose_dns_address(input: &ClusterInput) -> String {
    let services = u32::from(input.service_subnet.network().network());
    let tenth = || Ipv4Addr::from(services.saturating_add(10)).to_string();
    input
        .dns
        .as_ref()
        .map_or_else(tenth, Ipv4Address::to_string)
}

pub(super) fn check_network(input: &ClusterInput, plan: &Plan, problems: &mut Vec<Finding>) {
    if let Some(endpoint) = &input.endpoint {
        problems.extend(find_endpoint_problem(endpoint));
    }
    let agents = plan.host_access != HostAccess::Services || plan.network.cluster.endpoint;
    if agents && input.endpoint.is_none() {
        problems.push(Finding::new(
            "endpoint-missing",
            "the API server's address is missing: the in-cluster address is unreachable until kube-proxy runs",
            "add `--endpoint HOST:PORT`",
        ));
    }
    check_subnets(input, plan, problems);
    check_names(input, problems);
}

fn check_names(input: &ClusterInput, problems: &mut Vec<Finding>) {
    let mut demand = |good: bool, what: &str, text: &str, instead: &str| {
        if !good {
            let message = format!("{what} `{text}` is not a valid name in Kubernetes");
            problems.push(Finding::new("name-format", message, instead));
        }
    };
    let label = |text: &str| is_subdomain(text, 63) && !text.contains('.');
    let namespace = &input.flannel_namespace;
    demand(
        label(namespace),
        "the namespace",
        namespace,
        "use lower-case letters, digits and `-`",
    );
    for account in &input.pipe_accounts {
        let good = account
            .split_once(':')
            .is_some_and(|(space, name)| label(space) && is_subdomain(name, 253));
        demand(good, "the account", account, "write it as NAMESPACE:NAME");
    }
    if let Some(network) = &input.hns_network {
        let good = !network.is_empty()
            && network
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        demand(
            good,
            "the HNS network",
            network,
            "use letters, digits, `.`, `_` and `-`",
        );
    }
}

fn check_subnets(input: &ClusterInput, plan: &Plan, problems: &mut Vec<Finding>) {
    let mut known = vec![("--pod-subnet", &input.pod_subnet)];
    let services = std::iter::once(("--service-subnet", &input.service_subnet));
    for (flag, subnet) in services.chain(
        input
            .node_subnets
            .iter()
            .map(|subnet| ("--node-subnet", subnet)),
    ) {
        let is_other = |other: &str| other != flag || flag != "--node-subnet";
        let taken = known
            .iter()
            .find(|(other, known)| is_other(other) && known.overlaps(subnet));
        if let Some((other, theirs)) = taken {
            let message = format!("`{flag} {subnet}` overlaps `{other} {theirs}`");
            problems.push(Finding::new(
                "network-overlap",
                message,
                "choose networks that do not overlap",
            ));
        }
        known.push((flag, subnet));
    }
    if let Some(dns) = &input.dns
        && !dns
            .parse()
            .is_ok_and(|address| input.service_subnet.contains(address))
    {
        let message = format!(
            "`--dns {dns}` is not in the service network {}",
            input.service_subnet
        );
        problems.push(Finding::new(
            "dns-outside",
            message,
            "give the address of the service `kube-dns`",
        ));
    }
    if plan.network.cluster.node_subnet && input.node_subnets.is_empty() {
        let message = "the network of the nodes is missing: traffic from pods to nodes would pass through NAT";
        problems.push(Finding::new(
            "node-subnet-missing",
            message,
            "add `--node-subnet NETWORK`",
        ));
    }
}
