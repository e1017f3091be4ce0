//! Addresses of the cluster: networks, and the addresses that they contain.

use std::net::Ipv4Addr;

use crate::diagnostic::Finding;
use crate::join::{find_endpoint_problem, is_subdomain};
use crate::model::choice::HostAccess;
use crate::model::plan::Plan;

use super::ClusterInput;

/// An IPv4 network. Windows overlays and kube-proxy's kernel mode take no other here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    address: u32,
    length: u32,
}

impl Network {
    /// None where the text is no network, or has bits set behind its prefix.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let address: u32 = address.parse::<Ipv4Addr>().ok()?.into();
        let length = length.parse().ok().filter(|length| (1..=32).contains(length))?;
        let network = Self { address, length };
        (address & !network.prefix_mask() == 0).then_some(network)
    }

    fn prefix_mask(self) -> u32 {
        u32::MAX << (32 - self.length)
    }

    fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address) & self.prefix_mask() == self.address
    }

    fn overlaps(self, other: Self) -> bool {
        let mask = self.prefix_mask() & other.prefix_mask();
        self.address & mask == other.address & mask
    }

    /// Where kubeadm puts the cluster's DNS.
    fn dns_address(self) -> Ipv4Addr {
        Ipv4Addr::from(self.address.saturating_add(10))
    }
}

/// The cluster's DNS: as said, or where kubeadm puts it.
pub(super) fn choose_dns_address(input: &ClusterInput) -> String {
    match (&input.dns, Network::parse(&input.service_subnet)) {
        (Some(dns), _) => dns.clone(),
        (None, Some(services)) => services.dns_address().to_string(),
        (None, None) => String::new(),
    }
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
            problems.push(Finding::new(
                "name-format",
                format!("{what} `{text}` is no name that Kubernetes takes"),
                instead,
            ));
        }
    };
    let label = |text: &str| is_subdomain(text, 63) && !text.contains('.');
    let namespace = &input.flannel_namespace;
    demand(label(namespace), "the namespace", namespace, "use lower-case letters, digits and `-`");
    demand(is_subdomain(&input.domain, 253), "the domain", &input.domain, "such as `cluster.local`");
    for account in &input.pipe_accounts {
        let good =
            account.split_once(':').is_some_and(|(space, name)| label(space) && is_subdomain(name, 253));
        demand(good, "the account", account, "write it as NAMESPACE:NAME");
    }
    if let Some(network) = &input.hns_network {
        let good =
            !network.is_empty() && network.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        demand(good, "the HNS network", network, "use letters, digits, `.`, `_` and `-`");
    }
}

fn check_subnets(input: &ClusterInput, plan: &Plan, problems: &mut Vec<Finding>) {
    let mut named: Vec<(&str, &str)> =
        vec![("--pod-subnet", &input.pod_subnet), ("--service-subnet", &input.service_subnet)];
    named.extend(input.node_subnets.iter().map(|text| ("--node-subnet", text.as_str())));
    let mut known: Vec<(&str, &str, Network)> = Vec::new();
    for (flag, text) in named {
        let Some(network) = Network::parse(text) else {
            let message = format!("`{flag} {text}` is no IPv4 network");
            problems.push(Finding::new(
                "network-format",
                message,
                "write it as 10.244.0.0/16, without bits behind the prefix",
            ));
            continue;
        };
        if let Some((other, theirs, _)) = known
            .iter()
            .find(|(other, _, known)| (*other != flag || flag != "--node-subnet") && known.overlaps(network))
        {
            let message = format!("`{flag} {text}` overlaps `{other} {theirs}`");
            problems.push(Finding::new("network-overlap", message, "give each network addresses of its own"));
        }
        known.push((flag, text, network));
    }
    if let (Some(dns), Some(services)) = (&input.dns, Network::parse(&input.service_subnet))
        && !dns.parse().is_ok_and(|address| services.contains(address))
    {
        let message = format!("`--dns {dns}` is no address of the service network {}", input.service_subnet);
        problems.push(Finding::new("dns-outside", message, "give the address of the service `kube-dns`"));
    }
    if plan.network.cluster.node_subnet && input.node_subnets.is_empty() {
        problems.push(Finding::new(
            "node-subnet-missing",
            "the network of the nodes is missing: traffic from pods to nodes would be translated",
            "add `--node-subnet NETWORK`",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_strictly() {
        for (text, good) in [
            ("10.244.0.0/16", true),
            ("10.244.0.1/16", false),
            ("10.244.0.0", false),
            ("10.244.0.0/33", false),
            ("10.0.0.0/0", false),
            ("fd00::/64", false),
            ("x/8", false),
            ("192.168.1.1/32", true),
        ] {
            assert_eq!(Network::parse(text).is_some(), good, "{text}");
        }
        let network = |text: &str| Network::parse(text).expect(text);
        assert!(network("10.0.0.0/8").overlaps(network("10.1.0.0/16")));
        assert!(!network("10.96.0.0/12").overlaps(network("10.244.0.0/16")));
        assert_eq!(network("10.96.0.0/12").dns_address().to_string(), "10.96.0.10");
        assert!(network("10.96.0.0/12").contains(Ipv4Addr::new(10, 111, 0, 1)));
        assert!(!network("10.96.0.0/12").contains(Ipv4Addr::new(10, 112, 0, 1)));
    }
}
