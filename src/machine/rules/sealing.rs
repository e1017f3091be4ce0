//! The end of the plan: what closes the machine, and that nothing comes after.

use crate::model::resource::{Ensure, ResourceKind, WinrmTransport};
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
        if it.finish == "shutdown" && index + 1 < context.resources.len() {
            let message = "shuts the machine down, but resources follow".to_owned();
            problems.add(Rule::SysprepMissing, resource, message, "make it the last resource of the plan");
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

/// Once the listener that the build talks through is gone, no result comes back. Only closing
/// what is left of remote management and Sysprep, whose outcome the target sees, may follow.
pub(super) fn listener(context: &Context<'_>, problems: &mut Problems<'_>) {
    let closes = |transport: WinrmTransport| context.expectations.winrm.is_none_or(|ours| ours == transport);
    let at = context.resources.iter().position(|resource| match &resource.kind {
        ResourceKind::WinrmListener(it) => it.ensure == Ensure::Absent && closes(it.transport),
        _ => false,
    });
    let Some(at) = at else { return };
    let by = &context.resources[at].name;
    for resource in &context.resources[at + 1..] {
        if matches!(resource.kind, ResourceKind::WinrmListener(_) | ResourceKind::Sysprep(_)) {
            continue;
        }
        let message = format!("comes after `{by}`, which removes the listener that the build talks through");
        problems.add(Rule::AfterListener, resource, message, "move it before the listener's removal");
    }
}
