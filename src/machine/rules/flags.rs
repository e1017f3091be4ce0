//! The command lines of services: flags, feature gates, and the files that flags name.

use crate::base::code::Code;
use crate::model::gates::GateFault;
use crate::model::kubernetes::Program;
use crate::windows::paths;
use crate::windows::resource::{ResourceKind, Service, StartType};

use super::super::command::{CommandLine, list_argument_paths};
use super::super::state::{PresentResource, ResourceOrigin};
use super::{Context, DECLARE};

const CONTAINERD: &str = r"\\.\pipe\containerd-containerd";
const DOCKERSHIM: &str = r"\\.\pipe\dockershim";
pub(super) fn check_flags(context: &Context<'_>) {
    for (service, command) in context.commands() {
        let Some(program) = context.expectations.programs.get(&command.program_stem()) else {
            continue;
        };
        let remedy = name_place(context, service.origin);
        for (flag, value) in command.flags() {
            if !lists_name(&program.flags, flag) {
                let message = format!(
                    "`--{flag}` is not a flag of {} {}",
                    command.program_stem(),
                    program.version
                );
                context.add_problem(Code::UNKNOWN_FLAG, service.origin, message, &remedy);
            } else if flag == "feature-gates" {
                for (gate, fault) in program.find_gate_faults(value.unwrap_or_default()) {
                    let (code, message) =
                        describe_fault(program, &command.program_stem(), gate, &fault);
                    context.add_problem(code, service.origin, message, &remedy);
                }
            }
        }
    }
}

/// Where the arguments of the service are written: the services of imagegen get theirs from one table.
fn name_place(context: &Context<'_>, origin: &ResourceOrigin) -> String {
    let file = (context.expectations.step_file)(&origin.step);
    if file.starts_with("provisioners/") {
        return "correct the version range in manifests/kubernetes/flags.json".to_owned();
    }
    format!("correct the arguments of the service in {file}")
}

fn lists_name(known: &[String], name: &str) -> bool {
    known
        .iter()
        .any(|known| known.trim_start_matches('-') == name)
}

fn describe_fault(
    program: &Program,
    name: &str,
    gate: &str,
    fault: &GateFault<'_>,
) -> (Code, String) {
    let version = &program.version;
    match fault {
        GateFault::Unknown => (
            Code::UNKNOWN_GATE,
            format!("`{gate}` is not a feature gate of {name} {version}"),
        ),
        GateFault::NotBoolean(state) => (
            Code::UNKNOWN_GATE,
            format!("feature gate `{gate}` is set to `{state}`, not to true or false"),
        ),
        GateFault::Locked(value) => (
            Code::LOCKED_GATE,
            format!(
                "feature gate `{gate}` of {name} {version} is locked to {value}: the program does not start with another value"
            ),
        ),
    }
}

/// Every path that a flag names is in the image, or a program is declared to create it; and a file
/// that another program creates is there before the service first starts.
pub(super) fn check_flag_paths(context: &Context<'_>) {
    for service in context.machine.present_resources::<Service>() {
        let name = &service.it.service_name;
        let mut early = None;
        for (flag, path) in list_argument_paths(service.settings) {
            if context.exists(path) {
                continue;
            }
            if !context.is_created_later(path) {
                let message =
                    format!("`{flag}` of service `{name}` names {path}, which no resource creates");
                context.add_problem(Code::FLAG_FILE_MISSING, service.origin, message, DECLARE);
            } else if early.is_none() && is_created_by_another(context, &service, path) {
                early = Some((flag, path));
            }
        }
        let starts_with_windows = matches!(
            service.settings.start_type,
            Some(StartType::Auto | StartType::Delayed)
        );
        let is_early = starts_with_windows && !waits_for_file(context, &service);
        if let Some((flag, path)) = early.filter(|_| is_early) {
            let message = format!(
                "service `{name}` starts with Windows, but `{flag}` names {path}, which is created later"
            );
            let remedy = "set `startType` to `manual`, or start the program by a batch file that ends without the file (`if not exist`)";
            context.add_problem(
                Code::SERVICE_STARTS_TOO_EARLY,
                service.origin,
                message,
                remedy,
            );
        }
    }
}

/// Whether the service's batch file ends quietly as long as a file that another program creates is not there.
fn waits_for_file(context: &Context<'_>, service: &PresentResource<'_, Service>) -> bool {
    let command = CommandLine::from_service(service.settings);
    let Some(script) = command.and_then(|command| command.script()) else {
        return false;
    };
    let Some(ResourceKind::File(file)) = context.machine.find_at_path(script) else {
        return false;
    };
    let mut lines = file.content().unwrap_or_default().lines();
    lines.any(|line| {
        find_awaited_path(line).is_some_and(|path| is_created_by_another(context, service, path))
    })
}

/// The path without which this line ends a batch file.
fn find_awaited_path(line: &str) -> Option<&str> {
    line.strip_prefix("if not exist \"")?
        .strip_suffix("\" exit 0")
}

/// Whether another program than the service itself creates the path: a service writes its own logs.
fn is_created_by_another(
    context: &Context<'_>,
    service: &PresentResource<'_, Service>,
    path: &str,
) -> bool {
    let command = CommandLine::from_service(service.settings);
    let programs = command.iter().flat_map(CommandLine::programs);
    let mut names: Vec<String> = programs.map(paths::file_stem).collect();
    names.push(service.it.service_name.to_string());

    for later in context.expectations.later {
        if later.covers_path(path) && names.iter().any(|name| later.is_created_by(name)) {
            return false;
        }
    }
    true
}

/// The kubelet, and crictl's configuration, must name the pipe that the runtime serves.
pub(super) fn check_cri_endpoint(context: &Context<'_>) {
    let Some((runtime, served)) = find_served_pipe(context) else {
        return;
    };
    let remedy = "use the endpoint of the plan's runtime";
    for (service, command) in context.commands() {
        if command.program_stem() != "kubelet" {
            continue;
        }
        for flag in ["container-runtime-endpoint", "image-service-endpoint"] {
            if let Some(given) = command
                .flag_value(flag)
                .filter(|given| normalize_pipe(given) != normalize_pipe(&served))
            {
                let message = format!("`--{flag}` is {given}, but {runtime} serves {served}");
                context.add_problem(Code::CRI_ENDPOINT, service.origin, message, remedy);
            }
        }
    }
    for file in context.machine.present_files() {
        if !paths::file_name(file.path).eq_ignore_ascii_case("crictl.yaml") {
            continue;
        }
        for (key, given) in file.content.into_iter().flat_map(find_endpoints) {
            if normalize_pipe(given) != normalize_pipe(&served) {
                let message = format!(
                    "`{key}` in {} is {given}, but {runtime} serves {served}",
                    file.path
                );
                context.add_problem(Code::CRI_ENDPOINT, file.origin, message, remedy);
            }
        }
    }
}

/// The runtime on the machine and the pipe of its CRI. If both are there, containerd is part of Docker.
fn find_served_pipe(context: &Context<'_>) -> Option<(&'static str, String)> {
    if find_command(context, "dockerd").is_some() {
        return Some(("dockershim", DOCKERSHIM.to_owned()));
    }

    let containerd = find_command(context, "containerd")?;
    let configuration = containerd.flag_value("config");
    let address = if let Some(address) = containerd.flag_value("address") {
        Some(address.to_owned())
    } else {
        configuration.and_then(|path| find_configured_address(context, path))
    };
    let pipe = address.unwrap_or_else(|| CONTAINERD.to_owned());
    Some(("containerd", pipe))
}

/// Command line of the service that starts the program.
fn find_command<'a>(context: &Context<'a>, stem: &str) -> Option<CommandLine<'a>> {
    let mut commands = context.commands().map(|(_, command)| command);
    commands.find(|command| command.program_stem() == stem)
}

/// The section of containerd's configuration that names the pipe: before its version 4, and since.
const SECTIONS: [&str; 2] = ["[grpc]", "[plugins.'io.containerd.server.v1.grpc']"];

/// `address` in containerd's configuration.
fn find_configured_address(context: &Context<'_>, path: &str) -> Option<String> {
    let Some(ResourceKind::File(file)) = context.machine.find_at_path(path) else {
        return None;
    };
    let value = find_address_setting(file.content()?)?;
    // Between quotation marks, backslashes are doubled; between apostrophes they are not.
    Some(match value.strip_prefix('"') {
        Some(quoted) => quoted.trim_end_matches('"').replace(r"\\", r"\"),
        None => value.trim_matches('\'').to_owned(),
    })
}

/// Value of `address` as it is written in the section of the CRI's pipe.
fn find_address_setting(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| SECTIONS.contains(line))?;
    for line in lines {
        if line.starts_with('[') {
            return None;
        }
        if let Some((key, value)) = line.split_once('=')
            && key.trim() == "address"
        {
            return Some(value.trim());
        }
    }
    None
}

/// One spelling of `npipe:////./pipe/x`, `npipe:\\.\pipe\x` and `\\.\pipe\x`.
fn normalize_pipe(endpoint: &str) -> String {
    let path = endpoint.strip_prefix("npipe:").unwrap_or(endpoint);
    path.replace('/', r"\")
        .trim_start_matches('\\')
        .to_lowercase()
}

fn find_endpoints(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .map(|(key, value)| (key.trim(), value.trim().trim_matches(['"', '\''])))
        .filter(|(key, _)| matches!(*key, "runtime-endpoint" | "image-endpoint"))
}
