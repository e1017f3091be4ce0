//! The end of the plan: Sysprep seals the machine, and the build keeps its connection until then.

use crate::base::code::Code;
use crate::windows::resource::{Ensure, EnsureUser, Phase, ResourceKind, WinrmTransport};

use super::{Context, TargetSubject};

pub(super) fn check_sysprep(context: &Context<'_>) {
    let mut seals = context
        .resources
        .iter()
        .enumerate()
        .filter(|(_, resource)| matches!(resource.kind, ResourceKind::Sysprep(_)))
        .peekable();
    if context.expectations.seals && seals.peek().is_none() {
        let target = format!("target/{}", context.expectations.target);
        let message =
            "images of this target are generalized, but the plan has no `sysprep`".to_owned();
        let remedy = "end phase `seal` with a `sysprep` resource";
        context.add_problem(
            Code::SYSPREP_MISSING,
            &TargetSubject(&target),
            message,
            remedy,
        );
    }
    for (index, resource) in seals {
        let ResourceKind::Sysprep(it) = &resource.kind else {
            continue;
        };
        if resource.phase != Phase::Seal {
            let message = format!(
                "generalizes in phase {:?}, before the machine is finished",
                resource.phase
            );
            context.add_problem(
                Code::SYSPREP_MISSING,
                resource,
                message,
                "move it to phase `seal`",
            );
        }
        let follows = context
            .resources
            .get(index + 1)
            .is_some_and(|next| next.phase == Phase::Seal);
        if it.finish == "shutdown" && follows {
            let message = "shuts the machine down, but resources follow".to_owned();
            let remedy = "make it the last resource of the phase";
            context.add_problem(Code::SYSPREP_MISSING, resource, message, remedy);
        }
        if it.agents.is_empty() && !context.history.exists_before(&it.unattend, index) {
            let message = format!(
                "gives Sysprep the answer file {}, which does not exist at that point",
                it.unattend
            );
            let remedy = "add a `file` resource for it before this one";
            context.add_problem(Code::ANSWER_FILE_MISSING, resource, message, remedy);
        }
    }
}

/// The build is connected to the machine until its last command has returned its exit code. A
/// resource that removes the listener or the account earlier ends the connection, and Packer fails.
pub(super) fn check_session(context: &Context<'_>) {
    let expectations = context.expectations;
    for resource in context
        .resources
        .iter()
        .filter(|resource| resource.phase < Phase::Firstboot)
    {
        let change = match &resource.kind {
            ResourceKind::WinrmListener(it) if it.ensure == Ensure::Absent => {
                (expectations.winrm == Some(it.transport)).then_some("removes the listener")
            }
            ResourceKind::WinrmSetting(it)
                if it.setting == r"Service\AllowUnencrypted" && it.value == "false" =>
            {
                (expectations.winrm == Some(WinrmTransport::Http))
                    .then_some("closes the unencrypted session")
            }
            ResourceKind::LocalUser(it) if it.ensure != EnsureUser::Present => {
                let ours = expectations
                    .build_user
                    .is_some_and(|user| user.eq_ignore_ascii_case(&it.user_name));
                ours.then_some("closes the account")
            }
            _ => None,
        };
        if let Some(what) = change {
            let message = format!("{what} of the build's own connection");
            context.add_problem(
                Code::SESSION_CUT,
                resource,
                message,
                "move it to phase `firstboot`",
            );
        }
    }
}

/// cloudbase-init runs its plugins in the order of its list. A node that joins before it has its name registers under
/// the old one.
pub(super) fn check_name_order(context: &Context<'_>) {
    let plugins = &context.expectations.platform.cloudbase_init.main.plugins;
    let named = plugins
        .iter()
        .position(|class| class.ends_with(".SetHostNamePlugin"));
    let joined = plugins
        .iter()
        .position(|class| class.ends_with(".UserDataPlugin"));
    if let (Some(named), Some(joined)) = (named, joined)
        && named > joined
    {
        let message = format!(
            "`{}` names the machine after `{}`, which joins it to the cluster",
            plugins[named], plugins[joined]
        );
        let remedy =
            "list the plugin of the name first in `cloudbaseInit.main.plugins` of the target";
        let target = TargetSubject(context.expectations.target);
        context.add_problem(Code::NAME_AFTER_USER_DATA, &target, message, remedy);
    }
}
