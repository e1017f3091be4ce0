//! The part of the fold for things that have a name and a value: the last one stands.

use crate::model::resource::{
    self as model, Direction, Ensure, FirewallAction, PortRangeKind, RegistryData, RegistryKind, Resource,
    ResourceKind, Scope,
};

use serde_json::Value;

use super::fold::origin;
use super::state::{self, Machine, Origin};

pub(super) fn upsert(machine: &mut Machine, resource: &Resource) {
    match &resource.kind {
        ResourceKind::RegistryValue(it) => registry(machine, it, resource),
        ResourceKind::EnvironmentVariable(it) => variable(machine, it, resource),
        ResourceKind::PathEntry(it) => path_entry(machine, it, resource),
        ResourceKind::WindowsFeature(it) => feature(machine, it, resource),
        ResourceKind::FirewallRule(it) => firewall(machine, it, resource),
        ResourceKind::PortRange(it) => port_range(machine, it, resource),
        ResourceKind::DefenderExclusion(it) => exclusion(machine, it, resource),
        ResourceKind::WinrmListener(it) => listener(machine, it, resource),
        ResourceKind::WinrmSetting(it) => setting(machine, it, resource),
        ResourceKind::ContainerImage(it) => image(machine, it, resource),
        ResourceKind::Assertion(it) => machine.assertions.push(state::Asserted {
            name: resource.name.clone(),
            assertion: it.clone(),
            origin: origin(resource),
        }),
        ResourceKind::Directory(_)
        | ResourceKind::File(_)
        | ResourceKind::Symlink(_)
        | ResourceKind::Artifact(_)
        | ResourceKind::Archive(_)
        | ResourceKind::Msi(_)
        | ResourceKind::Service(_)
        | ResourceKind::LocalUser(_)
        | ResourceKind::Sysprep(_)
        | ResourceKind::Hotfix(_)
        | ResourceKind::WindowsUpdate(_)
        | ResourceKind::WindowsCapability(_)
        | ResourceKind::ScheduledTask(_)
        | ResourceKind::HnsNetwork(_)
        | ResourceKind::PowerPlan(_)
        | ResourceKind::PageFile(_)
        | ResourceKind::Certificate(_)
        | ResourceKind::Script(_) => {}
    }
}

/// A thing by its type and name; the page file and the power plan are one each on a machine.
pub(super) fn thing(machine: &mut Machine, resource: &Resource) {
    let json = serde_json::to_value(&resource.kind).expect("a resource is plain data");
    let kind = json["type"].as_str().unwrap_or_default().to_owned();
    let mut properties = json["properties"].as_object().cloned().unwrap_or_default();
    let identity = match &resource.kind {
        ResourceKind::Hotfix(_) => "kb",
        ResourceKind::WindowsCapability(_) => "capability",
        ResourceKind::ScheduledTask(_) => "taskName",
        ResourceKind::HnsNetwork(_) => "networkName",
        _ => "",
    };
    let name = match properties.remove(identity) {
        Some(Value::String(name)) => name,
        _ if matches!(resource.kind, ResourceKind::PowerPlan(_) | ResourceKind::PageFile(_)) => {
            "Windows".to_owned()
        }
        _ => resource.name.clone(),
    };
    machine.system.retain(|known| known.kind != kind || !known.name.eq_ignore_ascii_case(&name));
    if properties.remove("ensure").is_some_and(|ensure| ensure == "absent") {
        return absent(machine, &kind, &name, resource);
    }
    not_absent(machine, &kind, &name);
    machine.system.push(state::Thing { kind, name, properties, origin: origin(resource) });
}

/// What is in the image stays in the image, and what is part of the build until an image's
/// resource takes it over.
pub(super) fn adopt(known: &mut Origin, new: Origin) {
    if (known.scope == Scope::Build) != (new.scope == Scope::Build) {
        *known = new;
    }
}

pub(super) fn absent(machine: &mut Machine, kind: &str, name: &str, resource: &Resource) {
    not_absent(machine, kind, name);
    machine.absent.push(state::Absent {
        kind: kind.to_owned(),
        name: name.to_owned(),
        origin: Origin { scope: Scope::Image, ..origin(resource) },
    });
}

pub(super) fn not_absent(machine: &mut Machine, kind: &str, name: &str) {
    machine.absent.retain(|known| known.kind != kind || !known.name.eq_ignore_ascii_case(name));
}

/// Notes whether the thing is wanted, and returns that.
fn wanted(machine: &mut Machine, ensure: Ensure, kind: &str, name: &str, by: &Resource) -> bool {
    match ensure {
        Ensure::Absent => absent(machine, kind, name, by),
        Ensure::Present => not_absent(machine, kind, name),
    }
    ensure == Ensure::Present
}

fn registry(machine: &mut Machine, it: &model::RegistryValue, resource: &Resource) {
    let key = super::paths::normal(&it.key);
    machine.registry.retain(|known| {
        !known.key.eq_ignore_ascii_case(&key) || !known.name.eq_ignore_ascii_case(&it.value_name)
    });
    let name = format!(r"{key}\{}", it.value_name);
    if wanted(machine, it.ensure, "registryValue", &name, resource) {
        machine.registry.push(state::RegistryValue {
            key,
            name: it.value_name.clone(),
            kind: it.kind.unwrap_or(RegistryKind::String),
            data: it.data.clone().unwrap_or(RegistryData::Text(String::new())),
            arguments_file: it.arguments_file.clone(),
            origin: origin(resource),
        });
    }
}

fn variable(machine: &mut Machine, it: &model::EnvironmentVariable, resource: &Resource) {
    machine.environment.retain(|known| !known.name.eq_ignore_ascii_case(&it.variable));
    if wanted(machine, it.ensure, "environmentVariable", &it.variable, resource) {
        machine.environment.push(state::Variable {
            name: it.variable.clone(),
            value: it.value.clone().unwrap_or_default(),
            origin: origin(resource),
        });
    }
}

fn path_entry(machine: &mut Machine, it: &model::PathEntry, resource: &Resource) {
    let entry = super::paths::normal(&it.entry);
    let at = machine.path.iter().position(|known| super::fold::same(&known.entry, &entry));
    if !wanted(machine, it.ensure, "pathEntry", &entry, resource) {
        machine.path.retain(|known| !super::fold::same(&known.entry, &entry));
        return;
    }
    match at {
        Some(at) => adopt(&mut machine.path[at].origin, origin(resource)),
        None => machine.path.push(state::PathEntry { entry, origin: origin(resource) }),
    }
}

fn feature(machine: &mut Machine, it: &model::WindowsFeature, resource: &Resource) {
    machine.features.retain(|known| !known.name.eq_ignore_ascii_case(&it.feature));
    machine.features.push(state::Feature {
        name: it.feature.clone(),
        installed: it.installed,
        origin: origin(resource),
    });
}

fn firewall(machine: &mut Machine, it: &model::FirewallRule, resource: &Resource) {
    machine.firewall.retain(|known| !known.name.eq_ignore_ascii_case(&it.rule_name));
    if wanted(machine, it.ensure, "firewallRule", &it.rule_name, resource) {
        machine.firewall.push(state::FirewallRule {
            name: it.rule_name.clone(),
            display_name: it.display_name.clone(),
            direction: it.direction.unwrap_or(Direction::Inbound),
            action: it.action.unwrap_or(FirewallAction::Allow),
            protocol: it.protocol,
            local_ports: it.local_port.clone().unwrap_or_default(),
            remote_ports: it.remote_port.clone().unwrap_or_default(),
            remote_addresses: it.remote_address.clone().unwrap_or_default(),
            icmp_type: it.icmp_type,
            origin: origin(resource),
        });
    }
}

/// A protocol has one dynamic range and any number of excluded ones.
fn port_range(machine: &mut Machine, it: &model::PortRange, resource: &Resource) {
    machine.port_ranges.retain(|known| {
        known.kind != it.kind
            || known.protocol != it.protocol
            || (it.kind == PortRangeKind::Excluded && known.start != it.start)
    });
    machine.port_ranges.push(state::PortRange {
        kind: it.kind,
        protocol: it.protocol,
        start: it.start,
        count: it.count,
        origin: origin(resource),
    });
}

fn exclusion(machine: &mut Machine, it: &model::DefenderExclusion, resource: &Resource) {
    machine.defender.retain(|known| known.kind != it.kind || !known.value.eq_ignore_ascii_case(&it.value));
    if wanted(machine, it.ensure, "defenderExclusion", &it.value, resource) {
        machine.defender.push(state::Exclusion {
            kind: it.kind,
            value: it.value.clone(),
            origin: origin(resource),
        });
    }
}

fn listener(machine: &mut Machine, it: &model::WinrmListener, resource: &Resource) {
    machine.winrm.listeners.retain(|known| known.transport != it.transport);
    let name = transport(it.transport);
    if wanted(machine, it.ensure, "winrmListener", name, resource) {
        let (transport, origin) = (it.transport, origin(resource));
        machine.winrm.listeners.push(state::Listener { transport, origin });
    }
}

pub(super) fn transport(transport: model::WinrmTransport) -> &'static str {
    match transport {
        model::WinrmTransport::Http => "HTTP",
        model::WinrmTransport::Https => "HTTPS",
    }
}

pub(super) fn protocol(protocol: model::Protocol) -> &'static str {
    match protocol {
        model::Protocol::Tcp => "TCP",
        model::Protocol::Udp => "UDP",
        model::Protocol::Icmpv4 => "ICMPv4",
        model::Protocol::Icmpv6 => "ICMPv6",
    }
}

fn setting(machine: &mut Machine, it: &model::WinrmSetting, resource: &Resource) {
    machine.winrm.settings.retain(|known| !known.name.eq_ignore_ascii_case(&it.setting));
    machine.winrm.settings.push(state::Setting {
        name: it.setting.clone(),
        value: it.value.clone(),
        origin: origin(resource),
    });
}

fn image(machine: &mut Machine, it: &model::ContainerImage, resource: &Resource) {
    machine.images.retain(|known| known.reference != it.reference || known.namespace != it.namespace);
    machine.images.push(state::Image {
        reference: it.reference.clone(),
        namespace: it.namespace.clone(),
        origin: origin(resource),
    });
}
