//! Features of Windows, which work only after the restart that follows their installation.

use crate::model::resource::{AssertionCheck, Resource, ResourceKind, ServiceState};

use super::super::command::Command;
use super::super::problem::Rule;
use super::super::{fold, inbox};
use super::{Context, Culprit, Problems};

const INSTALL: &str = "add a `windowsFeature` resource for it in phase `prepare`";
const WAIT: &str = "move it to a phase after the restart, or the feature to `prepare`";

pub(super) fn feature_order(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        if let Some(feature) = needed_at_once(context, resource) {
            check(context, problems, resource, feature);
        }
    }
    for service in &context.machine.services {
        let Some(command) = Command::of(service) else { continue };
        if let Some(feature) = inbox::needed_feature(command.program)
            && installer(context, feature).is_none()
        {
            missing(problems, &service.origin, feature);
        }
    }
}

fn check(context: &Context<'_>, problems: &mut Problems<'_>, resource: &Resource, feature: &str) {
    match installer(context, feature) {
        None => missing(problems, resource, feature),
        Some(installer) if fold::boot(installer.phase) >= fold::boot(resource.phase) => {
            let message =
                format!("needs the feature `{feature}` before the restart that follows `{}`", installer.name);
            problems.add(Rule::FeatureBeforeRestart, resource, message, WAIT);
        }
        Some(_) => {}
    }
}

fn missing(problems: &mut Problems<'_>, by: &impl Culprit, feature: &str) {
    let message = format!("needs the feature `{feature}`, which nobody installs");
    problems.add(Rule::FeatureMissing, by, message, INSTALL);
}

fn installer<'a>(context: &Context<'a>, feature: &str) -> Option<&'a Resource> {
    context.resources.iter().find(|resource| match &resource.kind {
        ResourceKind::WindowsFeature(it) => it.installed && it.feature.eq_ignore_ascii_case(feature),
        _ => false,
    })
}

/// The feature without which the resource cannot be applied, or cannot hold.
fn needed_at_once(context: &Context<'_>, resource: &Resource) -> Option<&'static str> {
    match &resource.kind {
        ResourceKind::ContainerImage(it) => inbox::needed_feature(&it.program),
        ResourceKind::Service(it) => match inbox::service(&it.service_name, context.expectations.target) {
            Some(inbox::From::Feature(feature)) if it.program.is_none() => Some(feature),
            _ if it.state == Some(ServiceState::Running) => {
                inbox::needed_feature(it.program.as_deref().unwrap_or(&it.service_name))
            }
            _ => None,
        },
        ResourceKind::Assertion(it) if it.check == AssertionCheck::Service => {
            let name = it.service_name.as_deref()?;
            match inbox::service(name, context.expectations.target) {
                Some(inbox::From::Feature(feature)) => Some(feature),
                _ => inbox::needed_feature(name),
            }
        }
        _ => None,
    }
}
