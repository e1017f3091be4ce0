//! Services: their programs, whether they are known, and what they depend on.

use std::collections::BTreeSet;

use crate::base::code::Code;
use crate::windows::resource::{
    AssertionCheck, RegistryData, RegistryValue, ResourceKind, Service, ServiceSettings,
    ServiceState, StartType,
};

use super::super::command::CommandLine;
use super::super::inbox;
use super::super::state::PresentResource;
use super::Context;

pub(super) fn check_programs(context: &Context<'_>) {
    for service in context.machine.present_resources::<Service>() {
        let Some(command) = CommandLine::from_service(service.settings) else {
            check_tuned_service(context, &service);
            continue;
        };
        for program in command.programs() {
            check_program(context, &service, program);
        }
    }
    for resource in context.resources {
        let ResourceKind::Assertion(it) = &resource.kind else {
            continue;
        };
        let AssertionCheck::Service {
            service_name,
            alternatives,
            ..
        } = &it.check
        else {
            continue;
        };
        for name in [service_name].into_iter().chain(alternatives) {
            if !is_known(context, name) {
                let message = format!("checks service `{name}`, which no resource creates");
                let remedy = "correct the name, or create the service";
                context.add_problem(Code::SERVICE_UNKNOWN, resource, message, remedy);
            }
        }
    }
}

/// Settings that the service manager refuses or forgets: it starts no service whose list of variables is empty
/// (<https://github.com/kardianos/service/issues/328>), keeps no reset period without actions, counts delays in
/// milliseconds (<https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-sc_action>), takes no
/// dependencies for no change (<https://github.com/golang/go/issues/73494>), and starts no service that is disabled
/// (<https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-startservicew>, `ERROR_SERVICE_DISABLED`).
pub(super) fn check_settings(context: &Context<'_>) {
    for resource in context.resources {
        let faults = match &resource.kind {
            ResourceKind::Service(it) => it.desired.present().map(find_faults).unwrap_or_default(),
            ResourceKind::RegistryValue(it) if empties_environment(it) => vec![(
                "gives a service an empty `Environment`, with which it does not start".to_owned(),
                "set `ensure` to `absent`, or give a variable",
            )],
            _ => continue,
        };
        for (message, remedy) in faults {
            context.add_problem(Code::SERVICE_SETTINGS, resource, message, remedy);
        }
    }
}

/// Faults in the settings of a service, each with its remedy.
fn find_faults(settings: &ServiceSettings) -> Vec<(String, &'static str)> {
    let mut faults = Vec::new();
    for variable in settings.environment.iter().flatten() {
        let name = variable.split_once('=').map_or("", |(name, _)| name);
        if name.is_empty() {
            faults.push((
                format!("has the variable `{variable}`, which is no `NAME=value`"),
                "write `NAME=value`; an empty list removes all variables",
            ));
        }
    }
    if settings.depends_on.as_ref().is_some_and(Vec::is_empty) {
        faults.push((
            "has an empty `dependsOn`, which the service manager takes for no change".to_owned(),
            "remove `dependsOn`, or name a service",
        ));
    }

    if is_disabled(settings) && settings.state == Some(ServiceState::Running) {
        faults.push((
            "is to run and is `disabled`, so that Windows does not start it".to_owned(),
            "set `startType` to `manual`, or `state` to `stopped`",
        ));
    }

    for action in settings.failure_actions.iter().flatten() {
        if action.delay_seconds > u32::MAX / 1000 {
            faults.push((
                format!("delays a failure action by {} s, which are more milliseconds than Windows counts", action.delay_seconds),
                "choose at most 4294967",
            ));
        }
    }

    let resets = settings.failure_reset_seconds.unwrap_or_default() > 0;
    let mut actions = settings.failure_actions.iter().flatten();
    if resets && actions.next().is_none() {
        faults.push((
            "has `failureResetSeconds` without `failureActions`, and Windows keeps neither"
                .to_owned(),
            "give `failureActions`, or remove `failureResetSeconds`",
        ));
    }
    faults
}

/// Whether a registry value is a service's list of variables, and has none.
fn empties_environment(value: &RegistryValue) -> bool {
    let services = r"\currentcontrolset\services\";
    let is_environment = value.value_name.eq_ignore_ascii_case("Environment")
        && value.key.to_lowercase().contains(services);
    let data = value.desired.present().map(|present| &present.data);
    is_environment && matches!(data, Some(RegistryData::MultiString(lines)) if lines.is_empty())
}

fn check_program(context: &Context<'_>, service: &PresentResource<'_, Service>, program: &str) {
    let name = &service.it.service_name;
    if !context.exists(program) {
        let message = format!("service `{name}` runs {program}, which no resource installs");
        let remedy = "add the component that has the program, or correct the path";
        context.add_problem(
            Code::SERVICE_PROGRAM_MISSING,
            service.origin,
            message,
            remedy,
        );
        return;
    }
    let at = context.index_of(service.origin);
    let maker = context.history.find_maker(program);
    if let (Some(at), Some(maker)) = (at, maker)
        && maker > at
    {
        let message = format!(
            "service `{name}` runs {program}, which `{}` installs later",
            context.resources[maker].name
        );
        let remedy = "move the service after the program";
        context.add_problem(Code::SERVICE_PROGRAM_LATER, service.origin, message, remedy);
    }
}

fn check_tuned_service(context: &Context<'_>, service: &PresentResource<'_, Service>) {
    let name = &service.it.service_name;
    if !is_provided(context, name) {
        let message =
            format!("configures service `{name}`, which neither Windows nor the plan has");
        let remedy = "correct the name, or give the service a `program`";
        context.add_problem(Code::SERVICE_UNKNOWN, service.origin, message, remedy);
    }
}

/// Whether a service of that name is on the machine.
fn is_known(context: &Context<'_>, name: &str) -> bool {
    context.machine.find_service(name).is_some() || is_provided(context, name)
}

/// Whether Windows or a package brings the service. A missing feature is a rule of its own.
fn is_provided(context: &Context<'_>, name: &str) -> bool {
    let platform = context.expectations.platform;
    inbox::find_service_origin(name, platform).is_some() || context.find_package(name).is_some()
}

pub(super) fn check_dependencies(context: &Context<'_>) {
    let mut in_cycles = BTreeSet::new();
    for service in context.machine.present_resources::<Service>() {
        for needed in service.settings.depends_on.iter().flatten() {
            check_dependency(context, &service, needed);
        }
        if let Some(cycle) = find_cycle(context, &service)
            && in_cycles.is_disjoint(&cycle)
        {
            let names: Vec<&str> = cycle.iter().map(String::as_str).collect();
            let message = format!("services {} need each other to start", names.join(", "));
            let remedy = "remove one name from `dependsOn`";
            context.add_problem(Code::DEPENDENCY_CYCLE, service.origin, message, remedy);
            in_cycles.extend(cycle);
        }
    }
}

fn check_dependency(context: &Context<'_>, service: &PresentResource<'_, Service>, needed: &str) {
    let name = &service.it.service_name;
    if !is_known(context, needed) {
        let message = format!("service `{name}` depends on `{needed}`, which no resource creates");
        let remedy = "correct the name in `dependsOn`, or create the service";
        context.add_problem(Code::DEPENDENCY_MISSING, service.origin, message, remedy);
    }
    let other = context.machine.find_service(needed);
    if other.is_some_and(|it| is_disabled(it.settings)) && !is_disabled(service.settings) {
        let message = format!("service `{name}` depends on `{needed}`, which is disabled");
        let remedy = "enable the other service, or disable this one too";
        context.add_problem(Code::DEPENDENCY_START, service.origin, message, remedy);
    }
}

/// The services between this one and itself, if it depends on itself.
fn find_cycle(
    context: &Context<'_>,
    service: &PresentResource<'_, Service>,
) -> Option<BTreeSet<String>> {
    let start = service.it.service_name.to_lowercase();
    let mut ways = vec![vec![start.clone()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        let Some(last) = way
            .last()
            .and_then(|name| context.machine.find_service(name))
        else {
            continue;
        };
        for needed in last
            .settings
            .depends_on
            .iter()
            .flatten()
            .map(|name| name.to_lowercase())
        {
            if needed == start {
                return Some(way.into_iter().collect());
            }
            if seen.insert(needed.clone()) {
                ways.push(way.iter().cloned().chain([needed]).collect());
            }
        }
    }
    None
}

fn is_disabled(settings: &ServiceSettings) -> bool {
    settings.start_type == Some(StartType::Disabled)
}
