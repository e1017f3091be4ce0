//! What the build needed and the image must not have.

use crate::model::resource::{Direction, FirewallAction, Scope};

use super::super::command::named_paths;
use super::super::problem::Rule;
use super::super::state::{Machine, Origin};
use super::super::{paths, settle, upsert};
use super::{Context, Problems};

const TAKE_BACK: &str = "take it back in a resource of phase `seal` or `firstboot`";
const TEMPORARY: &str = r"c:\windows\temp";
const ANSWER_FILES: [&str; 6] = [
    r"c:\autounattend.xml",
    r"c:\unattend.xml",
    r"c:\windows\panther\unattend.xml",
    r"c:\windows\panther\unattend\unattend.xml",
    r"c:\windows\system32\sysprep\panther\unattend.xml",
    r"c:\windows\system32\sysprep\unattend.xml",
];
/// The ports of remote management; no rule for them belongs into an image.
const WINRM_PORTS: [u16; 2] = [5985, 5986];
const OPENINGS: [&str; 5] = [
    r"service\allowunencrypted",
    r"service\auth\basic",
    r"service\auth\credssp",
    r"client\allowunencrypted",
    r"client\auth\basic",
];

pub(super) fn build_scope(context: &Context<'_>, problems: &mut Problems<'_>) {
    for (thing, origin) in things(context.machine) {
        if origin.scope == Scope::Build {
            let message = format!("{thing} is part of the build and still there at its end");
            problems.add(Rule::BuildLeftover, origin, message, TAKE_BACK);
        }
    }
}

/// Everything on the machine that a resource made, in words. Accounts that are disabled are gone.
fn things(machine: &Machine) -> Vec<(String, &Origin)> {
    let mut things: Vec<(String, &Origin)> = Vec::new();
    things.extend(machine.services.iter().map(|it| (format!("service `{}`", it.name), &it.origin)));
    things.extend(machine.files.iter().map(|it| (it.path.clone(), &it.origin)));
    things.extend(machine.directories.iter().map(|it| (it.path.clone(), &it.origin)));
    things.extend(machine.links.iter().map(|it| (it.path.clone(), &it.origin)));
    things.extend(machine.registry.iter().map(|it| (format!(r"{}\{}", it.key, it.name), &it.origin)));
    let features = machine.features.iter().filter(|it| it.installed);
    things.extend(features.map(|it| (format!("feature `{}`", it.name), &it.origin)));
    things.extend(machine.environment.iter().map(|it| (format!("variable {}", it.name), &it.origin)));
    things.extend(machine.path.iter().map(|it| (format!("PATH entry {}", it.entry), &it.origin)));
    things.extend(machine.firewall.iter().map(|it| (format!("firewall rule `{}`", it.name), &it.origin)));
    things.extend(machine.port_ranges.iter().map(|it| (format!("port range {}", it.start), &it.origin)));
    things.extend(machine.defender.iter().map(|it| (format!("Defender exclusion {}", it.value), &it.origin)));
    let users = machine.users.iter().filter(|it| it.enabled);
    things.extend(users.map(|it| (format!("account `{}`", it.name), &it.origin)));
    let listeners = machine.winrm.listeners.iter();
    things.extend(
        listeners.map(|it| (format!("WinRM listener {}", upsert::transport(it.transport)), &it.origin)),
    );
    let settings = machine.winrm.settings.iter();
    things.extend(settings.map(|it| (format!("WinRM setting {}", it.name), &it.origin)));
    things.extend(machine.packages.iter().map(|it| (format!("package of {}", it.creates), &it.origin)));
    things.extend(machine.system.iter().map(|it| (format!("{} `{}`", it.kind, it.name), &it.origin)));
    things.extend(machine.images.iter().map(|it| (format!("image {}", it.reference), &it.origin)));
    things
}

/// Ways into the machine, whatever scope the plan gives them.
pub(super) fn build_access(context: &Context<'_>, problems: &mut Problems<'_>) {
    let machine = context.machine;
    for listener in machine.winrm.listeners.iter().filter(|it| it.origin.scope != Scope::Build) {
        let message =
            format!("WinRM listener {} is left in the image", upsert::transport(listener.transport));
        problems.add(Rule::BuildLeftover, &listener.origin, message, TAKE_BACK);
    }
    for setting in &machine.winrm.settings {
        let opens = OPENINGS.contains(&setting.name.to_lowercase().as_str());
        if opens && setting.value.eq_ignore_ascii_case("true") {
            let message = format!("WinRM setting {} is left at true", setting.name);
            problems.add(Rule::BuildLeftover, &setting.origin, message, "set it to false in phase `seal`");
        }
    }
    for rule in &machine.firewall {
        let opens = rule.direction == Direction::Inbound && rule.action == FirewallAction::Allow;
        let ports = rule.local_ports.iter().filter_map(|text| settle::parse_ports(text));
        let winrm = |(first, last): (u16, u16)| WINRM_PORTS.iter().any(|port| (first..=last).contains(port));
        if opens && rule.origin.scope != Scope::Build && ports.into_iter().any(winrm) {
            let message = format!("firewall rule `{}` leaves WinRM open", rule.name);
            problems.add(Rule::BuildLeftover, &rule.origin, message, TAKE_BACK);
        }
    }
}

/// Answer files hold passwords, and what is below the temporary directory does not stay.
pub(super) fn temporary(context: &Context<'_>, problems: &mut Problems<'_>) {
    let machine = context.machine;
    let is_temporary = |path: &str| paths::is_below(&paths::key(path), TEMPORARY);
    for file in &machine.files {
        if ANSWER_FILES.contains(&paths::key(&file.path).as_str()) {
            let message = format!("the answer file {} is left in the image", file.path);
            problems.add(Rule::BuildLeftover, &file.origin, message, TAKE_BACK);
        }
    }
    let services = machine.services.iter().flat_map(|service| {
        let program = service.program.as_deref();
        let named = named_paths(service).into_iter().map(|(_, path)| path);
        named.chain(program).map(|path| (path, &service.origin))
    });
    let files = machine.files.iter().map(|it| (it.path.as_str(), &it.origin));
    let variables = machine.environment.iter().map(|it| (it.value.as_str(), &it.origin));
    let entries = machine.path.iter().map(|it| (it.entry.as_str(), &it.origin));
    for (path, origin) in services.chain(files).chain(variables).chain(entries) {
        if origin.scope != Scope::Build && is_temporary(path) {
            let message = format!("relies on {path}, which is temporary");
            problems.add(Rule::BuildLeftover, origin, message, "choose a lasting place");
        }
    }
}
