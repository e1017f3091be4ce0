//! Ports that programs use, and the firewall rules that allow them.

use crate::windows::resource::{Direction, FirewallAction, FirewallRule, FirewallSettings};

use super::expect::{Expectations, PortUse};
use super::state::{Machine, Port};

/// The ports of the programs that are on the machine, by program.
pub(super) fn list_used_ports(machine: &Machine, expectations: &Expectations<'_>) -> Vec<Port> {
    let mut ports = Vec::new();
    for port in expectations.ports {
        if machine.find_program(&port.program).is_some() {
            ports.push(add_rule(port, machine));
        }
    }
    ports.sort_by(|a, b| (&a.program, a.protocol, &a.port).cmp(&(&b.program, b.protocol, &b.port)));
    ports
}

fn add_rule(port: &PortUse, machine: &Machine) -> Port {
    let rule = machine.present_resources::<FirewallRule>().find(|rule| {
        let allows = rule.settings.action == FirewallAction::Allow;
        allows && rule.settings.direction == port.direction && covers_port(rule.settings, port)
    });
    Port {
        port: port.port.clone(),
        protocol: port.protocol,
        direction: port.direction,
        program: port.program.clone(),
        rule: rule.map(|rule| rule.it.rule_name.to_string()),
    }
}

/// Whether the rule is about the port's protocol and every one of its numbers.
pub(super) fn covers_port(rule: &FirewallSettings, port: &PortUse) -> bool {
    if rule
        .protocol
        .is_some_and(|protocol| protocol != port.protocol)
    {
        return false;
    }
    let ports = match port.direction {
        Direction::Inbound => &rule.local_port,
        Direction::Outbound => &rule.remote_port,
    };
    if ports.is_empty() || !port.protocol.has_ports() {
        return true;
    }
    ports.iter().any(|ports| ports.covers(&port.port))
}
