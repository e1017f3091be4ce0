//! Things that the build needs and the image must not have.

use crate::base::code::Code;
use crate::windows::paths;
use crate::windows::resource::{
    Direction, Ensure, EnsureUser, EnvironmentVariable, FirewallAction, FirewallRule, PathEntry,
    ResourceKind, Scope, Service, WinrmListener, WinrmSetting,
};
use crate::windows::value::Ports;

use super::super::command::list_argument_paths;
use super::super::state::ResourceOrigin;
use super::Context;

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

pub(super) fn check_build_scope(context: &Context<'_>) {
    for (identity, placed) in &context.machine.resources {
        if placed.origin.scope == Scope::Build && is_active(&placed.kind) {
            let message = format!("{identity} is part of the build and still there at its end");
            context.add_problem(Code::BUILD_LEFTOVER, &placed.origin, message, REMOVE);
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
        _ => !kind.is_absent(),
    }
}

/// Remote access to the machine, whatever scope the plan gives it.
pub(super) fn check_build_access(context: &Context<'_>) {
    let machine = context.machine;
    for (it, origin) in machine.resources_of::<WinrmListener>() {
        if it.ensure == Ensure::Present && origin.scope != Scope::Build {
            let message = format!("WinRM listener {} is left in the image", it.transport);
            context.add_problem(Code::BUILD_LEFTOVER, origin, message, REMOVE);
        }
    }
    for (it, origin) in machine.resources_of::<WinrmSetting>() {
        let opens = OPENINGS.contains(&it.setting.to_lowercase().as_str());
        if opens && it.value.eq_ignore_ascii_case("true") {
            let message = format!("WinRM setting {} is left at true", it.setting);
            context.add_problem(
                Code::BUILD_LEFTOVER,
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
        if opens && rule.origin.scope != Scope::Build && settings.local_port.iter().any(holds_winrm)
        {
            let message = format!("firewall rule `{}` leaves WinRM open", rule.it.rule_name);
            context.add_problem(Code::BUILD_LEFTOVER, rule.origin, message, REMOVE);
        }
    }
}

/// Answer files hold passwords, and what is below the temporary directory does not stay.
pub(super) fn check_temporary_paths(context: &Context<'_>) {
    let machine = context.machine;
    for file in machine.present_files() {
        if ANSWER_FILES.contains(&paths::normalize_key(file.path).as_str()) {
            let message = format!("the answer file {} is left in the image", file.path);
            context.add_problem(Code::BUILD_LEFTOVER, file.origin, message, REMOVE);
        }
    }

    for service in machine.present_resources::<Service>() {
        for (_, path) in list_argument_paths(service.settings) {
            check_temporary_path(context, path, service.origin);
        }
        if let Some(program) = &service.settings.program {
            check_temporary_path(context, program, service.origin);
        }
    }
    for file in machine.present_files() {
        check_temporary_path(context, file.path, file.origin);
    }
    for variable in machine.present_resources::<EnvironmentVariable>() {
        check_temporary_path(context, &variable.settings.value, variable.origin);
    }
    for (it, origin) in machine.resources_of::<PathEntry>() {
        if it.ensure == Ensure::Present {
            check_temporary_path(context, &it.entry, origin);
        }
    }
}

fn check_temporary_path(context: &Context<'_>, path: &str, origin: &ResourceOrigin) {
    if origin.scope != Scope::Build && paths::is_below(&paths::normalize_key(path), TEMPORARY) {
        let message = format!("relies on {path}, which is temporary");
        let remedy = "choose a path that stays";
        context.add_problem(Code::BUILD_LEFTOVER, origin, message, remedy);
    }
}

fn holds_winrm(ports: &Ports) -> bool {
    let (first, last) = ports.bounds();
    WINRM_PORTS.iter().any(|port| (first..=last).contains(port))
}
