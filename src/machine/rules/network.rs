//! Ports that programs use, and the firewall.

use crate::base::code::Code;
use crate::windows::resource::{
    Direction, FirewallAction, FirewallRule, Protocol, ResourceKind, ServiceSettings,
};
use crate::windows::value::Ports;

use super::super::ports;
use super::{Context, TargetSubject};

pub(super) fn check_ports(context: &Context<'_>) {
    check_port_ranges(context);
    check_rule_protocols(context);
    for port in &context.machine.ports {
        if port.direction == Direction::Inbound && port.rule.is_none() {
            let message = format!(
                "`{}` listens on {} {}, but no firewall rule allows it",
                port.program, port.protocol, port.port
            );
            let remedy = "add a `firewallRule` that allows it inbound";
            match context.machine.find_program(&port.program) {
                Some(origin) => {
                    context.add_problem(Code::PORT_WITHOUT_RULE, origin, message, remedy);
                }
                None => context.add_problem(
                    Code::PORT_WITHOUT_RULE,
                    &TargetSubject(&port.program),
                    message,
                    remedy,
                ),
            }
        }
    }
    check_outbound_blocks(context);
}

/// Windows allows outbound connections that no rule blocks.
fn check_outbound_blocks(context: &Context<'_>) {
    let used = context.expectations.ports.iter().filter(|port| {
        port.direction == Direction::Outbound
            && context.machine.find_program(&port.program).is_some()
    });
    for port in used {
        let blocks = context
            .machine
            .present_resources::<FirewallRule>()
            .find(|rule| {
                let rule = rule.settings;
                let is_block =
                    rule.action == FirewallAction::Block && rule.direction == Direction::Outbound;
                is_block && rule.remote_address.is_empty() && ports::covers_port(rule, port)
            });
        if let Some(rule) = blocks {
            let message = format!(
                "blocks {} {}, which `{}` needs",
                port.protocol, port.port, port.program
            );
            let remedy = "narrow the rule, by address or port";
            context.add_problem(Code::PORT_WITHOUT_RULE, rule.origin, message, remedy);
        }
    }
}

fn check_port_ranges(context: &Context<'_>) {
    for resource in context.resources {
        let ResourceKind::PortRange(it) = &resource.kind else {
            continue;
        };
        let is_beyond =
            it.start == 0 || it.count == 0 || u32::from(it.start) + u32::from(it.count) > 65536;
        if is_beyond || !it.protocol.has_ports() {
            let message = format!(
                "{} {} ports from {} are not a range of ports",
                it.count, it.protocol, it.start
            );
            let remedy = "choose TCP or UDP, and ports from 1 to 65535";
            context.add_problem(Code::PORT_MALFORMED, resource, message, remedy);
        }
    }
}

/// Windows takes ports for TCP and UDP alone, and types of messages for ICMP
/// (<https://learn.microsoft.com/windows/win32/api/netfw/nf-netfw-inetfwrule-put_localports>).
fn check_rule_protocols(context: &Context<'_>) {
    for rule in context.machine.present_resources::<FirewallRule>() {
        let settings = rule.settings;
        let names_ports = !settings.local_port.is_empty() || !settings.remote_port.is_empty();
        let (what, protocols) = match settings.protocol.map(Protocol::has_ports) {
            Some(false) | None if names_ports => ("ports", "TCP or UDP"),
            Some(true) | None if settings.icmp_type.is_some() => ("`icmpType`", "ICMPv4 or ICMPv6"),
            _ => continue,
        };
        let message = format!("has {what}, and its protocol is not {protocols}");
        let remedy = "correct `protocol`, or leave the other out";
        context.add_problem(Code::PORT_MALFORMED, rule.origin, message, remedy);
    }
}

/// A configuration that names a port of the machine itself, at which another program listens. On every address, that
/// program has it there, too.
pub(super) fn check_loopback_ports(context: &Context<'_>) {
    for resource in context.resources {
        let ResourceKind::File(file) = &resource.kind else {
            continue;
        };
        for named in list_loopback_ports(file.content().unwrap_or_default()) {
            let mut ports = context.machine.ports.iter();
            let taken = ports.find(|port| {
                port.direction == Direction::Inbound
                    && port.protocol == Protocol::Tcp
                    && port.port.covers(&named)
            });
            if let Some(port) = taken {
                let message = format!(
                    "{} names 127.0.0.1:{named}, but `{}` listens on {} {}",
                    file.path, port.program, port.protocol, port.port
                );
                let remedy = "choose a port that no other program has";
                context.add_problem(Code::PORT_TAKEN, resource, message, remedy);
            }
        }
    }
}

/// Ports of lines such as `address = '127.0.0.1:1338'`.
fn list_loopback_ports(text: &str) -> Vec<Ports> {
    let mut ports = Vec::new();
    for line in text.lines() {
        let Some((_, value)) = line.split_once('=') else {
            continue;
        };
        let address = value.trim().trim_matches(['\'', '"']);
        let port = address.strip_prefix("127.0.0.1:");
        ports.extend(port.and_then(|port| port.parse().ok()));
    }
    ports
}

/// kube-proxy in kernel mode ends at once unless a flag or its environment names the HNS network of the pods.
/// Source: kubernetes/kubernetes@v1.37.2 `pkg/proxy/winkernel/proxier.go` (`getNetworkName`).
pub(super) fn check_proxy_network(context: &Context<'_>) {
    for (service, command) in context.commands() {
        let is_told = command.flag_value("network-name").is_some()
            || command.flag_value("config").is_some()
            || names_network(service.settings);
        if command.program_stem() != "kube-proxy" || is_told {
            continue;
        }

        let message = format!(
            "service `{}` runs kube-proxy without the name of the pod network's HNS network",
            service.it.service_name
        );
        let remedy = "add `--network-name`, or leave the service out";
        context.add_problem(Code::PROXY_WITHOUT_NETWORK, service.origin, message, remedy);
    }
}

/// Whether the service's environment names the network.
fn names_network(service: &ServiceSettings) -> bool {
    let mut variables = service.environment.iter().flatten();
    variables.any(|variable| variable.starts_with("KUBE_NETWORK="))
}
