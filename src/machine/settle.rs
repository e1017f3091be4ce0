//! What follows from the whole machine: where access control comes from, which rule lets which
//! port, and the order of lists.

use crate::model::resource::{Direction, FirewallAction, Protocol};

use super::expect::{Expectations, PortUse};
use super::state::{FirewallRule, Machine, Port};
use super::{fold, inbox, paths};

pub(super) fn settle(machine: &mut Machine, expectations: &Expectations<'_>) {
    inheritance(machine, expectations.target);
    sort(machine);
    let used = expectations.ports.iter().filter(|port| is_there(machine, &port.program));
    machine.ports = used.map(|port| with_rule(port, &machine.firewall)).collect();
    machine.ports.sort_by(|a, b| (&a.program, a.protocol, &a.port).cmp(&(&b.program, b.protocol, &b.port)));
}

fn inheritance(machine: &mut Machine, target: &str) {
    let own: Vec<String> = machine
        .directories
        .iter()
        .filter(|directory| directory.sddl.is_some())
        .map(|directory| directory.path.clone())
        .collect();
    let has_own = |path: &String| {
        own.iter().any(|known| fold::same(known, path))
            || inbox::directory(&paths::key(path), target).is_some()
    };
    for directory in &mut machine.directories {
        directory.inherits_from = match directory.sddl {
            Some(_) => None,
            None if has_own(&directory.path) => None,
            None => paths::ancestors(&directory.path).find(has_own),
        };
    }
}

fn sort(machine: &mut Machine) {
    machine.services.sort_by_cached_key(|it| it.name.to_lowercase());
    machine.files.sort_by_cached_key(|it| paths::key(&it.path));
    machine.directories.sort_by_cached_key(|it| paths::key(&it.path));
    machine.links.sort_by_cached_key(|it| paths::key(&it.path));
    machine.registry.sort_by_cached_key(|it| (it.key.to_lowercase(), it.name.to_lowercase()));
    machine.features.sort_by_cached_key(|it| it.name.to_lowercase());
    machine.environment.sort_by_cached_key(|it| it.name.to_lowercase());
    machine.firewall.sort_by_cached_key(|it| it.name.to_lowercase());
    machine.port_ranges.sort_by_key(|it| (it.kind as u8, it.protocol, it.start));
    machine.defender.sort_by_cached_key(|it| (it.kind as u8, it.value.to_lowercase()));
    machine.users.sort_by_cached_key(|it| it.name.to_lowercase());
    machine.winrm.listeners.sort_by_key(|it| it.transport as u8);
    machine.winrm.settings.sort_by_cached_key(|it| it.name.to_lowercase());
    machine.packages.sort_by_cached_key(|it| paths::key(&it.creates));
    machine.images.sort_by(|a, b| (&a.namespace, &a.reference).cmp(&(&b.namespace, &b.reference)));
    machine.system.sort_by_cached_key(|it| (it.kind.clone(), it.name.to_lowercase()));
    machine.assertions.sort_by(|a, b| a.name.cmp(&b.name));
    machine.absent.sort_by_cached_key(|it| (it.kind.clone(), it.name.to_lowercase()));
}

/// Whether a service or a file goes by that name.
pub(super) fn is_there(machine: &Machine, program: &str) -> bool {
    machine.services.iter().any(|service| service.name.eq_ignore_ascii_case(program))
        || machine.files.iter().any(|file| paths::file_name(&file.path).eq_ignore_ascii_case(program))
}

fn with_rule(port: &PortUse, rules: &[FirewallRule]) -> Port {
    let rule = rules.iter().find(|rule| {
        rule.action == FirewallAction::Allow && rule.direction == port.direction && covers(rule, port)
    });
    Port {
        port: port.port.clone(),
        protocol: port.protocol,
        direction: port.direction,
        program: port.program.clone(),
        rule: rule.map(|rule| rule.name.clone()),
    }
}

/// Whether the rule is about the port's protocol and every one of its numbers.
pub(super) fn covers(rule: &FirewallRule, port: &PortUse) -> bool {
    if rule.protocol.is_some_and(|protocol| protocol != port.protocol) {
        return false;
    }
    let ports = match port.direction {
        Direction::Inbound => &rule.local_ports,
        Direction::Outbound => &rule.remote_ports,
    };
    if ports.is_empty() || matches!(port.protocol, Protocol::Icmpv4 | Protocol::Icmpv6) {
        return true;
    }
    let within = |(first, last): (u16, u16), text: &String| {
        parse_ports(text).is_some_and(|(low, high)| low <= first && last <= high)
    };
    parse_ports(&port.port).is_some_and(|wanted| ports.iter().any(|text| within(wanted, text)))
}

/// `10250` or `30000-32767` as first and last.
pub(super) fn parse_ports(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (0 < first && first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ports_and_refuses_others() {
        assert_eq!(parse_ports("10250"), Some((10250, 10250)));
        assert_eq!(parse_ports("30000-32767"), Some((30000, 32767)));
        for bad in ["", "0", "65536", "9-8", "any", "1-2-3", " 1"] {
            assert_eq!(parse_ports(bad), None, "{bad}");
        }
    }
}
