//! Addresses of the cluster: networks, and the addresses that they contain.

use std::net::Ipv4Addr;

use crate::base::choice::HostAccess;
use crate::base::code::Code;
use crate::base::text::is_alphanumeric_or;
use crate::base::value::is_subdomain;
use crate::diagnostic::Finding;
use crate::join::check_endpoint;
use crate::model::plan::Plan;

use super::ClusterInput;

/// The cluster's DNS: as said, or where kubeadm puts it.
pub(super) fn choose_dns_address(input: &ClusterInput) -> String {
    if let Some(address) = &input.dns {
        return address.to_string();
    }
    let services = u32::from(input.service_subnet.network().network());
    Ipv4Addr::from(services.saturating_add(10)).to_string()
}

pub(super) fn check_network(input: &ClusterInput, plan: &Plan, problems: &mut Vec<Finding>) {
    if let Some(endpoint) = &input.endpoint {
        problems.extend(check_endpoint(endpoint).err());
    }
    let agents = plan.host_access != HostAccess::Services || plan.network.cluster.endpoint;
    if agents && input.endpoint.is_none() {
        problems.push(Finding::new(
            Code::ENDPOINT_MISSING,
            "the API server's address is missing: the in-cluster address is unreachable until kube-proxy runs",
            "add `--endpoint HOST:PORT`",
        ));
    }
    check_subnets(input, plan, problems);
    check_names(input, problems);
    check_hns_network(input, plan, problems);
}

fn check_names(input: &ClusterInput, problems: &mut Vec<Finding>) {
    let namespace = &input.flannel_namespace;
    if !is_label(namespace) {
        let remedy = "use lower-case letters, digits and `-`";
        problems.push(refuse_name("the namespace", namespace, remedy));
    }
    for account in &input.pipe_accounts {
        let parts = account.split_once(':');
        if !parts.is_some_and(|(space, name)| is_label(space) && is_subdomain(name, 253)) {
            let remedy = "write it as NAMESPACE:NAME";
            problems.push(refuse_name("the account", account, remedy));
        }
    }
    if let Some(network) = &input.hns_network
        && (network.is_empty() || !is_alphanumeric_or(network, "._-"))
    {
        let remedy = "use letters, digits, `.`, `_` and `-`";
        problems.push(refuse_name("the HNS network", network, remedy));
    }
}

/// The HNS network of the pods: as the pod network makes it, or as said.
pub(super) fn find_hns_network<'a>(input: &'a ClusterInput, plan: &'a Plan) -> Option<&'a str> {
    let made = plan.network.hns_network.as_deref();
    made.or(input.hns_network.as_deref())
}

fn check_hns_network(input: &ClusterInput, plan: &Plan, problems: &mut Vec<Finding>) {
    let (made, asked) = (&plan.network.hns_network, &input.hns_network);
    let (Some(made), Some(asked)) = (made, asked) else {
        return;
    };
    if made != asked {
        let message = format!(
            "nothing makes an HNS network `{asked}`: that of the pod network `{}` is `{made}`",
            plan.network.name
        );
        let remedy = format!("leave `--hns-network` out, or give `{made}`");
        problems.push(Finding::new(Code::HNS_NETWORK_UNKNOWN, message, remedy));
    }
}

fn is_label(text: &str) -> bool {
    is_subdomain(text, 63) && !text.contains('.')
}

fn refuse_name(what: &str, name: &str, remedy: &str) -> Finding {
    let message = format!("{what} `{name}` is not a valid name in Kubernetes");
    Finding::new(Code::NAME_FORMAT, message, remedy)
}

fn check_subnets(input: &ClusterInput, plan: &Plan, problems: &mut Vec<Finding>) {
    let mut subnets = vec![
        ("--pod-subnet", &input.pod_subnet),
        ("--service-subnet", &input.service_subnet),
    ];
    for subnet in &input.node_subnets {
        subnets.push(("--node-subnet", subnet));
    }
    for (index, (flag, subnet)) in subnets.iter().enumerate() {
        // Networks of nodes may overlap each other.
        let mut earlier = subnets[..index].iter();
        let taken = earlier.find(|(other, known)| {
            (other != flag || *flag != "--node-subnet") && known.overlaps(subnet)
        });
        if let Some((other, theirs)) = taken {
            let message = format!("`{flag} {subnet}` overlaps `{other} {theirs}`");
            problems.push(Finding::new(
                Code::NETWORK_OVERLAP,
                message,
                "choose networks that do not overlap",
            ));
        }
    }
    let dns = choose_dns_address(input);
    let is_inside = dns
        .parse()
        .is_ok_and(|address| input.service_subnet.contains(address));
    if !is_inside {
        let message = format!(
            "the address of the cluster's DNS, {dns}, is not in the service network {}",
            input.service_subnet
        );
        let remedy = "give the address of the service `kube-dns`: `--dns ADDRESS`";
        problems.push(Finding::new(Code::DNS_OUTSIDE, message, remedy));
    }
    if plan.network.cluster.node_subnet && input.node_subnets.is_empty() {
        let message = "the network of the nodes is missing: traffic from pods to nodes would pass through NAT";
        problems.push(Finding::new(
            Code::NODE_SUBNET_MISSING,
            message,
            "add `--node-subnet NETWORK`",
        ));
    }
}
