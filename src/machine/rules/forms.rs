//! Properties that do not fit together, and descriptors.

use std::collections::BTreeMap;

use crate::windows::resource::{RegistryData, ResourceKind};

use super::super::rule::Rule;
use super::{Context, Problems};
use crate::windows::sddl;

pub(super) fn check_descriptors(context: &Context<'_>, problems: &mut Problems<'_>) {
    // Some fifty resources share few descriptors.
    let mut faults = BTreeMap::new();
    for resource in context.resources {
        let Some((text, object)) = resource.kind.properties().descriptor() else {
            continue;
        };
        let fault = faults
            .entry((text, object))
            .or_insert_with(|| sddl::parse_sddl(text, object).err());
        if let Some(fault) = fault {
            let message = format!("the security descriptor is not in canonical form: {fault}");
            let remedy = "write it as Windows prints it, such as `O:BAG:SYD:PAI(A;OICI;FA;;;SY)` for a directory";
            problems.add_problem(Rule::SddlInvalid, resource, message, remedy);
        }
    }
}

pub(super) fn check_registry(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        let ResourceKind::RegistryValue(it) = &resource.kind else {
            continue;
        };
        let Some(value) = it
            .desired
            .present()
            .filter(|it| it.arguments_file.is_some())
        else {
            continue;
        };
        if !matches!(
            value.data,
            RegistryData::String(_) | RegistryData::ExpandString(_)
        ) {
            let message = format!(
                "`{}` takes arguments from a file, but its kind is not a text",
                it.value_name
            );
            let remedy = "give it the kind `String` or `ExpandString`";
            problems.add_problem(Rule::RegistryKind, resource, message, remedy);
        }
    }
}

/// Arguments without a program would be lost: the engine sets both or neither.
pub(super) fn check_service_programs(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        let ResourceKind::Service(it) = &resource.kind else {
            continue;
        };
        let Some(settings) = it.desired.present().filter(|it| it.program.is_none()) else {
            continue;
        };
        if !settings.arguments.is_empty() || settings.arguments_file.is_some() {
            let message = format!(
                "service `{}` has arguments but no `program`",
                it.service_name
            );
            problems.add_problem(
                Rule::PropertyMissing,
                resource,
                message,
                "give `program` in the step",
            );
        }
    }
}
