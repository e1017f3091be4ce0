//! Features of Windows, which work only after the restart that follows their installation.

use crate::base::code::Code;
use crate::windows::paths;
use crate::windows::resource::{AssertionCheck, Resource, ResourceKind, ServiceState};

use super::super::fold;
use super::super::inbox::{ServiceOrigin, find_service_origin};
use super::{Context, Locate};
use crate::windows::inbox::InboxOrigin;

const INSTALL: &str = "add a `windowsFeature` resource for it in phase `prepare`";
const WAIT: &str = "move it to a phase after the restart, or the feature to `prepare`";

pub(super) fn check_feature_order(context: &Context<'_>) {
    for resource in context.resources {
        if let Some(feature) = required_feature(context, resource) {
            check_installer(context, resource, feature);
        }
    }
    for (service, command) in context.commands() {
        if let Some(feature) = find_needed_feature(context, command.program)
            && find_installer(context, feature).is_none()
        {
            report_missing(context, service.origin, feature);
        }
    }
}

fn check_installer(context: &Context<'_>, resource: &Resource, feature: &str) {
    match find_installer(context, feature) {
        None => report_missing(context, resource, feature),
        Some(installer)
            if fold::restarts_before(installer.phase) >= fold::restarts_before(resource.phase) =>
        {
            let message = format!(
                "needs the feature `{feature}` before the restart that follows `{}`",
                installer.name
            );
            context.add_problem(Code::FEATURE_BEFORE_RESTART, resource, message, WAIT);
        }
        Some(_) => {}
    }
}

fn report_missing(context: &Context<'_>, by: &impl Locate, feature: &str) {
    let message = format!("needs the feature `{feature}`, which no resource installs");
    context.add_problem(Code::FEATURE_MISSING, by, message, INSTALL);
}

fn find_installer<'a>(context: &Context<'a>, feature: &str) -> Option<&'a Resource> {
    context
        .resources
        .iter()
        .find(|resource| match &resource.kind {
            ResourceKind::WindowsFeature(it) => {
                it.installed && it.feature.eq_ignore_ascii_case(feature)
            }
            _ => false,
        })
}

/// The feature without which the resource cannot be applied, or cannot hold.
fn required_feature<'a>(context: &Context<'a>, resource: &Resource) -> Option<&'a str> {
    let platform = context.expectations.platform;
    match &resource.kind {
        ResourceKind::ContainerImage(it) => find_needed_feature(context, &it.program),
        ResourceKind::Service(it) => {
            let settings = it.desired.present()?;
            match find_service_origin(&it.service_name, platform) {
                Some(ServiceOrigin::Windows(InboxOrigin::Feature(feature)))
                    if settings.program.is_none() =>
                {
                    Some(feature)
                }
                _ if settings.state == Some(ServiceState::Running) => find_needed_feature(
                    context,
                    settings.program.as_deref().unwrap_or(&it.service_name),
                ),
                _ => None,
            }
        }
        ResourceKind::Assertion(it) => {
            let AssertionCheck::Service { service_name, .. } = &it.check else {
                return None;
            };
            match find_service_origin(service_name, platform) {
                Some(ServiceOrigin::Windows(InboxOrigin::Feature(feature))) => Some(feature),
                _ => find_needed_feature(context, service_name),
            }
        }
        _ => None,
    }
}

/// The feature that a program or service needs.
fn find_needed_feature<'a>(context: &Context<'a>, name: &str) -> Option<&'a str> {
    let stem = paths::file_stem(name);
    context
        .expectations
        .needs
        .iter()
        .find(|need| need.program == stem)
        .map(|need| need.feature.as_str())
}
