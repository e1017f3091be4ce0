//! The end of the plan: what closes the machine, and that the build can still hear of it.

use crate::model::resource::{Ensure, EnsureUser, ResourceKind};
use crate::model::step::Phase;

use super::super::problem::Rule;
use super::{Context, Problems, Target};

pub(super) fn sysprep(context: &Context<'_>, problems: &mut Problems<'_>) {
    let mut seals = context
        .resources
        .iter()
        .enumerate()
        .filter(|(_, resource)| matches!(resource.kind, ResourceKind::Sysprep(_)))
        .peekable();
    if context.expectations.seals && seals.peek().is_none() {
        let target = format!("target/{}", context.expectations.target);
        let message = "images of this target are generalised, but the plan has no `sysprep`".to_owned();
        let remedy = "end phase `seal` with a `sysprep` resource";
        problems.add(Rule::SysprepMissing, &Target(&target), message, remedy);
    }
    for (index, resource) in seals {
        let ResourceKind::Sysprep(it) = &resource.kind else { continue };
        if resource.phase != Phase::Seal {
            let message =
                format!("generalises in phase {:?}, before the machine is finished", resource.phase);
            problems.add(Rule::SysprepMissing, resource, message, "move it to phase `seal`");
        }
        let follows = context.resources.get(index + 1).is_some_and(|next| next.phase == Phase::Seal);
        if it.finish == "shutdown" && follows {
            let message = "shuts the machine down, but resources follow".to_owned();
            problems.add(Rule::SysprepMissing, resource, message, "make it the last resource of the phase");
        }
        if !context.history.is_there_before(&it.unattend, index) {
            let message =
                format!("hands Sysprep the answer file {}, which is not there by then", it.unattend);
            problems.add(
                Rule::AnswerFileMissing,
                resource,
                message,
                "add a `file` resource for it before this one",
            );
        }
    }
}

/// The build speaks to the machine until its last command has ended and said how. Whoever takes the
/// listener or the account from under it loses that answer, and Packer the build.
pub(super) fn session(context: &Context<'_>, problems: &mut Problems<'_>) {
    let expectations = context.expectations;
    for resource in context.resources.iter().filter(|resource| resource.phase < Phase::Firstboot) {
        let cut = match &resource.kind {
            ResourceKind::WinrmListener(it) if it.ensure == Ensure::Absent => {
                (expectations.winrm == Some(it.transport)).then_some("removes the listener")
            }
            ResourceKind::LocalUser(it) if it.ensure != EnsureUser::Present => {
                let ours =
                    expectations.build_user.is_some_and(|user| user.eq_ignore_ascii_case(&it.user_name));
                ours.then_some("closes the account")
            }
            _ => None,
        };
        if let Some(what) = cut {
            let message = format!("{what} that the build still talks through");
            problems.add(Rule::SessionCut, resource, message, "move it to phase `firstboot`");
        }
    }
}
