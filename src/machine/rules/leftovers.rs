//! Things that the build needs and the image must not have.

use crate::windows::paths;
use crate::windows::resource::{
    Direction, Ensure, EnsureUser, EnvironmentVariable, FirewallAction, FirewallRule, PathEntry,
    ResourceKind, Scope, Service, WinrmListener, WinrmSetting,
};
use crate::windows::value::Ports;

use super::super::command::list_argument_paths;
use super::super::rule::Rule;
use super::{Context, Problems};

const REMOVE: &str = "remove it in a resource of phase `seal` or `firstboot`";
const TEMPORARY: &str = r"c:\windows\temp";
const ANSWER_FILES: [&str; 6] = [
    r"c:\autounattend.xml",
    r"c:\unattend.xml",
    r"c:\windows\panther\unattend.xml",
    r"c:\windows\panther\unattend\unattend.xml",
    r"c:\windows\system32\sysprep\panther\unattend.xml",
    r"c:\windows\system32\sysprep\unattend.xml",
];
/// The ports of remote management; an image must have no rule for them.
const WINRM_PORTS: [u16; 2] = [5985, 5986];
const OPENINGS: [&str; 5] = [
    r"service\allowunencrypted",
    r"service\auth\basic",
    r"service\auth\credssp",
    r"client\allowunencrypted",
    r"client\auth\basic",
];

pub(super) fn check_build_scope(context: &Context<'_>, problems: &mut Problems<'_>) {
    for (identity, placed) in &context.machine.resources {
        if placed.origin.scope == Scope::Build && is_active(&placed.kind) {
            let message = format!("{identity} is part of the build and still there at its end");
            problems.add_problem(Rule::BuildLeftover, &placed.origin, message, REMOVE);
        }
    }
}

/// Whether the thing is on the machine and in use: a disabled account and a feature that is not
/// installed are not.
fn is_active(kind: &ResourceKind) -> bool {
    match kind {
        ResourceKind::LocalUser(it) => it.ensure == EnsureUser::Present,
        ResourceKind::WindowsFeature(it) => it.installed,
        ResourceKind::Assertion(_) | ResourceKind::Sysprep(_) => false,
        _ => !kind.properties().is_absent(),
    }
}

/// Remote access to the machine, whatever scope the plan gives it.
pub(super) fn check_build_access(context: &Context<'_>, problems: &mut Problems<'_>) {
    let machine = context.machine;
    for (it, origin) in machine.resources_of::<WinrmListener>() {
        if it.ensure == Ensure::Present && origin.scope != Scope::Build {
            let message = format!("WinRM listener {} is left in the image", it.transport);
            problems.add_problem(Rule::BuildLeftover, origin, message, REMOVE);
        }
    }
    for (it, origin) in machine.resources_of::<WinrmSetting>() {
        let opens = OPENINGS.contains(&it.setting.to_lowercase().as_str());
        if opens && it.value.eq_ignore_ascii_case("true") {
            let message = format!("WinRM setting {} is left at true", it.setting);
            problems.add_problem(
                Rule::BuildLeftover,
                origin,
                message,
                "set it to false in phase `seal`",
            );
        }
    }
    for rule in machine.present_resources::<FirewallRule>() {
        let settings = rule.settings;
        let opens =
            settings.direction == Direction::Inbound && settings.action == FirewallAction::Allow;
        let mut opened = settings.local_port.iter().map(Ports::bounds);
        let is_winrm = |(first, last)| WINRM_PORTS.iter().any(|port| (first..=last).contains(port));
        if opens && rule.origin.scope != Scope::Build && opened.any(is_winrm) {
            let message = format!("firewall rule `{}` leaves WinRM open", rule.it.rule_name);
            problems.add_problem(Rule::BuildLeftover, rule.origin, message, REMOVE);
        }
    }
}

/// Answer files hold passwords, and what is below the temporary directory does not stay.
pub(super) fn check_temporary_paths(context: &Context<'_>, problems: &mut Problems<'_>) {
    let machine = context.machine;
    let is_temporary = |path: &str| paths::is_below(&paths::normalize_key(path), TEMPORARY);
    for file in machine.present_files() {
        if ANSWER_FILES.contains(&paths::normalize_key(file.path).as_str()) {
            let message = format!("the answer file {} is left in the image", file.path);
            problems.add_problem(Rule::BuildLeftover, file.origin, message, REMOVE);
        }
    }
    let services = machine.present_resources::<Service>().flat_map(|service| {
        let named = list_argument_paths(service.settings)
            .into_iter()
            .map(|(_, path)| path);
        named
            .chain(service.settings.program.as_deref())
            .map(move |path| (path, service.origin))
    });
    let files = machine.present_files().map(|file| (file.path, file.origin));
    let variables = machine.present_resources::<EnvironmentVariable>();
    let variables = variables.map(|variable| (variable.settings.value.as_str(), variable.origin));
    let entries = machine
        .resources_of::<PathEntry>()
        .filter(|(it, _)| it.ensure == Ensure::Present);
    let entries = entries.map(|(it, origin)| (it.entry.as_str(), origin));
    for (path, origin) in services.chain(files).chain(variables).chain(entries) {
        if origin.scope != Scope::Build && is_temporary(path) {
            let message = format!("relies on {path}, which is temporary");
            problems.add_problem(
                Rule::BuildLeftover,
                origin,
                message,
                "choose a path that stays",
            );
        }
    }
}
