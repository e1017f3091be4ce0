//! Ports that programs use, and the firewall.

use crate::model::resource::{Direction, FirewallAction, Protocol, ResourceKind};

use super::super::problem::Rule;
use super::super::{settle, upsert};
use super::{Context, Problems, Target};

pub(super) fn ports(context: &Context<'_>, problems: &mut Problems<'_>) {
    malformed(context, problems);
    for port in &context.machine.ports {
        if port.direction == Direction::Inbound && port.rule.is_none() {
            let message = format!(
                "`{}` listens on {} {}, but no firewall rule lets anybody in",
                port.program,
                upsert::protocol(port.protocol),
                port.port
            );
            let remedy = "add a `firewallRule` that allows it inbound";
            match user(context, &port.program) {
                Some(origin) => problems.add(Rule::PortWithoutRule, origin, message, remedy),
                None => problems.add(Rule::PortWithoutRule, &Target(&port.program), message, remedy),
            }
        }
    }
    outbound(context, problems);
}

/// Windows lets everything out that no rule blocks.
fn outbound(context: &Context<'_>, problems: &mut Problems<'_>) {
    let used = context.expectations.ports.iter().filter(|port| {
        port.direction == Direction::Outbound && settle::is_there(context.machine, &port.program)
    });
    for port in used {
        let blocks = context.machine.firewall.iter().find(|rule| {
            let is_block = rule.action == FirewallAction::Block && rule.direction == Direction::Outbound;
            is_block && rule.remote_addresses.is_empty() && settle::covers(rule, port)
        });
        if let Some(rule) = blocks {
            let message = format!(
                "blocks {} {}, which `{}` needs",
                upsert::protocol(port.protocol),
                port.port,
                port.program
            );
            problems.add(Rule::PortWithoutRule, &rule.origin, message, "narrow the rule, by address or port");
        }
    }
}

/// The resource that brings the service or file of that name.
fn user<'a>(context: &Context<'a>, program: &str) -> Option<&'a super::Origin> {
    let service = context.machine.services.iter().find(|it| it.name.eq_ignore_ascii_case(program));
    service.map(|it| &it.origin).or_else(|| {
        let named = |path: &str| super::super::paths::file_name(path).eq_ignore_ascii_case(program);
        context.machine.files.iter().find(|it| named(&it.path)).map(|it| &it.origin)
    })
}

fn malformed(context: &Context<'_>, problems: &mut Problems<'_>) {
    let remedy = "write ports as `10250` or `30000-32767`, within 1 and 65535";
    for resource in context.resources {
        let fault = match &resource.kind {
            ResourceKind::FirewallRule(it) => it
                .local_port
                .iter()
                .chain(&it.remote_port)
                .flatten()
                .find(|text| settle::parse_ports(text).is_none())
                .map(|text| format!("`{text}` is no port and no range of ports")),
            ResourceKind::PortRange(it) => {
                let beyond =
                    it.start == 0 || it.count == 0 || u32::from(it.start) + u32::from(it.count) > 65536;
                let icmp = matches!(it.protocol, Protocol::Icmpv4 | Protocol::Icmpv6);
                (beyond || icmp).then(|| {
                    format!(
                        "{} ports from {} of {} are no range of ports",
                        it.count,
                        it.start,
                        upsert::protocol(it.protocol)
                    )
                })
            }
            _ => None,
        };
        if let Some(message) = fault {
            problems.add(Rule::PortMalformed, resource, message, remedy);
        }
    }
    for port in context.expectations.ports {
        if settle::parse_ports(&port.port).is_none() {
            let message = format!("provisioners/ports.json gives it the port `{}`", port.port);
            problems.add(Rule::PortMalformed, &Target(&port.program), message, remedy);
        }
    }
}
