//! Properties that do not fit together, and descriptors.

use std::collections::BTreeMap;

use crate::base::code::Code;
use crate::windows::resource::ResourceKind;

use super::Context;
use crate::windows::sddl;

pub(super) fn check_descriptors(context: &Context<'_>) {
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
            context.add_problem(Code::SDDL_INVALID, resource, message, remedy);
        }
    }
}

/// Characters that cmd.exe takes for its own.
const OPERATORS: [char; 8] = ['&', '|', '<', '>', '^', '%', '!', '"'];

/// A command line that goes through cmd.exe holds no character that cmd.exe takes for its own.
pub(super) fn check_command_characters(context: &Context<'_>) {
    for (service, command) in context.commands() {
        if command.script().is_none() {
            continue;
        }
        for argument in command.arguments {
            if !argument.contains([' ', '\t']) && !argument.contains(OPERATORS) {
                continue;
            }
            let message = format!(
                "the argument `{argument}` of service `{}` passes through cmd.exe and holds a character that is cmd.exe's own",
                service.it.service_name
            );
            let remedy = "set it in the configuration file of the program instead";
            context.add_problem(Code::COMMAND_CHARACTER, service.origin, message, remedy);
        }
    }
}

/// Arguments without a program would be lost: the engine sets both or neither.
pub(super) fn check_service_programs(context: &Context<'_>) {
    for resource in context.resources {
        let ResourceKind::Service(it) = &resource.kind else {
            continue;
        };
        let Some(settings) = it.desired.present().filter(|it| it.program.is_none()) else {
            continue;
        };
        if !settings.arguments.is_empty() {
            let message = format!(
                "service `{}` has arguments but no `program`",
                it.service_name
            );
            context.add_problem(
                Code::PROPERTY_MISSING,
                resource,
                message,
                "give `program` in the step",
            );
        }
    }
}
