//! Services: their programs, whether they are known, and what they depend on.

use std::collections::BTreeSet;

use crate::model::resource::{AssertionCheck, ResourceKind, StartType};

use super::super::command::Command;
use super::super::inbox;
use super::super::problem::Rule;
use super::super::state::Service;
use super::{Context, Problems};

pub(super) fn programs(context: &Context<'_>, problems: &mut Problems<'_>) {
    for service in &context.machine.services {
        let Some(command) = Command::of(service) else {
            unknown(context, service, problems);
            continue;
        };
        let mut programs: Vec<&str> =
            service.program.as_deref().into_iter().chain([command.program]).collect();
        programs.dedup();
        for program in programs {
            program_is_there(context, service, program, problems);
        }
    }
    for resource in context.resources {
        if let ResourceKind::Assertion(it) = &resource.kind
            && it.check == AssertionCheck::Service
            && let Some(name) = it.service_name.as_deref().filter(|name| !is_known(context, name))
        {
            let message = format!("asks for service `{name}`, which nobody makes");
            problems.add(Rule::ServiceUnknown, resource, message, "correct the name, or make the service");
        }
    }
}

fn program_is_there(context: &Context<'_>, service: &Service, program: &str, problems: &mut Problems<'_>) {
    if !context.exists(program) {
        let message = format!("service `{}` runs {program}, which nobody puts there", service.name);
        let remedy = "add the component that brings the program, or correct the path";
        problems.add(Rule::ServiceProgramMissing, &service.origin, message, remedy);
        return;
    }
    let at = context.index_of(&service.origin);
    let maker = context.history.maker(program);
    if let (Some(at), Some(maker)) = (at, maker)
        && maker > at
    {
        let message = format!(
            "service `{}` runs {program}, which only `{}` puts there, later",
            service.name, context.resources[maker].name
        );
        let remedy = "move the service behind the program";
        problems.add(Rule::ServiceProgramLater, &service.origin, message, remedy);
    }
}

fn unknown(context: &Context<'_>, service: &Service, problems: &mut Problems<'_>) {
    if !is_known(context, &service.name) || is_of_nobody(context, &service.name) {
        let message = format!("tunes service `{}`, which neither Windows nor the plan has", service.name);
        let remedy = "correct the name, or give the service a `program`";
        problems.add(Rule::ServiceUnknown, &service.origin, message, remedy);
    }
}

/// Whether a service of that name is on the machine.
fn is_known(context: &Context<'_>, name: &str) -> bool {
    find(context, name).is_some() || !is_of_nobody(context, name)
}

/// Whether neither Windows nor a package brings the service. A missing feature is a rule of its
/// own.
fn is_of_nobody(context: &Context<'_>, name: &str) -> bool {
    match inbox::service(name, context.expectations.target) {
        Some(inbox::From::Package(part)) => {
            let mut packages = context.machine.packages.iter();
            !packages.any(|package| package.creates.to_lowercase().contains(part))
        }
        Some(inbox::From::Windows | inbox::From::Feature(_) | inbox::From::Target(_)) => false,
        None => true,
    }
}

fn find<'a>(context: &Context<'a>, name: &str) -> Option<&'a Service> {
    context.machine.services.iter().find(|service| service.name.eq_ignore_ascii_case(name))
}

pub(super) fn dependencies(context: &Context<'_>, problems: &mut Problems<'_>) {
    let mut in_cycles = BTreeSet::new();
    for service in &context.machine.services {
        for needed in &service.depends_on {
            dependency(context, service, needed, problems);
        }
        if let Some(cycle) = cycle_from(context, service)
            && in_cycles.is_disjoint(&cycle)
        {
            let names: Vec<&str> = cycle.iter().map(String::as_str).collect();
            let message = format!("services {} need each other to start", names.join(", "));
            let remedy = "take one name out of `dependsOn`";
            problems.add(Rule::DependencyCycle, &service.origin, message, remedy);
            in_cycles.extend(cycle);
        }
    }
}

fn dependency(context: &Context<'_>, service: &Service, needed: &str, problems: &mut Problems<'_>) {
    if !is_known(context, needed) {
        let message = format!("service `{}` depends on `{needed}`, which nobody makes", service.name);
        let remedy = "correct the name in `dependsOn`, or make the service";
        problems.add(Rule::DependencyMissing, &service.origin, message, remedy);
    }
    let disabled = find(context, needed).is_some_and(|it| it.start_type == Some(StartType::Disabled));
    if disabled && service.start_type != Some(StartType::Disabled) {
        let message = format!("service `{}` depends on `{needed}`, which is disabled", service.name);
        let remedy = "let the other service start, or disable this one too";
        problems.add(Rule::DependencyStart, &service.origin, message, remedy);
    }
}

/// The services between this one and itself, if it waits for itself.
fn cycle_from(context: &Context<'_>, service: &Service) -> Option<BTreeSet<String>> {
    let start = service.name.to_lowercase();
    let mut ways = vec![vec![start.clone()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        let Some(last) = way.last().and_then(|name| find(context, name)) else { continue };
        for needed in last.depends_on.iter().map(|name| name.to_lowercase()) {
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
