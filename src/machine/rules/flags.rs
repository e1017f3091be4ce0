//! The command lines of services: flags, gates, and the files that flags name.

use crate::model::kubernetes::Program;
use crate::model::resource::StartType;

use super::super::command::{Command, named_paths};
use super::super::paths;
use super::super::problem::Rule;
use super::super::state::Service;
use super::{Context, Problems};

const CONTAINERD: &str = r"\\.\pipe\containerd-containerd";
const DOCKERSHIM: &str = r"\\.\pipe\dockershim";
const DECLARE: &str = "make the file, or declare who creates it in provisioners/later.json";
const TABLE: &str = "correct the version range in manifests/kubernetes/flags.json";

pub(super) fn known(context: &Context<'_>, problems: &mut Problems<'_>) {
    for service in &context.machine.services {
        let Some(command) = Command::of(service) else { continue };
        let Some(program) = context.expectations.programs.get(&command.stem()) else { continue };
        for (flag, value) in command.flags() {
            if !lists(&program.flags, flag) {
                let message = format!("`--{flag}` is no flag of {} {}", command.stem(), program.version);
                problems.add(Rule::UnknownFlag, &service.origin, message, TABLE);
            } else if flag == "feature-gates" {
                gates(program, &command, value.unwrap_or_default(), service, problems);
            }
        }
    }
}

fn lists(known: &[String], name: &str) -> bool {
    known.iter().any(|known| known.trim_start_matches('-') == name)
}

fn gates(
    program: &Program,
    command: &Command<'_>,
    value: &str,
    service: &Service,
    problems: &mut Problems<'_>,
) {
    for pair in value.split(',').filter(|pair| !pair.is_empty()) {
        let (gate, state) = pair.split_once('=').unwrap_or((pair, ""));
        let message = if !lists(&program.feature_gates, gate) {
            format!("`{gate}` is no feature gate of {} {}", command.stem(), program.version)
        } else if !matches!(state, "true" | "false") {
            format!("feature gate `{gate}` is set to `{state}`, not to true or false")
        } else {
            continue;
        };
        problems.add(Rule::UnknownGate, &service.origin, message, TABLE);
    }
}

/// Every path that a flag names is baked, or somebody is declared to create it; and what others
/// create is there before the service first starts.
pub(super) fn paths_exist(context: &Context<'_>, problems: &mut Problems<'_>) {
    for service in &context.machine.services {
        let mut early = None;
        for (flag, path) in named_paths(service) {
            if context.exists(path) {
                continue;
            }
            if !context.comes_later(path) {
                problems.add(
                    Rule::FlagFileMissing,
                    &service.origin,
                    format!("`{flag}` of service `{}` names {path}, which nobody makes", service.name),
                    DECLARE,
                );
            } else if early.is_none() && made_by_another(context, service, path) {
                early = Some((flag, path));
            }
        }
        if let (Some((flag, path)), Some(StartType::Auto | StartType::Delayed)) = (early, service.start_type)
        {
            problems.add(
                Rule::ServiceStartsTooEarly,
                &service.origin,
                format!(
                    "service `{}` starts with Windows, but `{flag}` names {path}, which comes later",
                    service.name
                ),
                "set `startType` to `manual`; who creates the file starts the service",
            );
        }
    }
}

/// The same of a command line that stands in the registry, which a wrapper reads.
pub(super) fn argument_files_exist(context: &Context<'_>, problems: &mut Problems<'_>) {
    for value in &context.machine.registry {
        let Some(file) = &value.arguments_file else { continue };
        if !context.exists(&file.path) && !context.comes_later(&file.path) {
            let message =
                format!("`argumentsFile` of `{}` names {}, which nobody makes", value.name, file.path);
            problems.add(Rule::FlagFileMissing, &value.origin, message, DECLARE);
        }
    }
}

/// Whether no one who creates the path is the service itself, which writes its own logs.
fn made_by_another(context: &Context<'_>, service: &Service, path: &str) -> bool {
    let behind = Command::of(service).map(|command| command.stem());
    let own = service.program.as_deref().map(paths::stem);
    let names = [Some(service.name.clone()), behind, own];
    let mut makers = context.expectations.later.iter().filter(|later| later.covers(path));
    !makers.any(|later| names.iter().flatten().any(|name| later.is_by(name)))
}

/// The kubelet, and crictl's configuration, must name the pipe that the runtime serves.
pub(super) fn cri_endpoint(context: &Context<'_>, problems: &mut Problems<'_>) {
    let Some((runtime, served)) = served_pipe(context) else { return };
    let remedy = "name the endpoint of the plan's runtime";
    for service in &context.machine.services {
        let Some(command) = Command::of(service).filter(|command| command.stem() == "kubelet") else {
            continue;
        };
        for flag in ["container-runtime-endpoint", "image-service-endpoint"] {
            if let Some(given) = command.flag(flag).filter(|given| pipe(given) != pipe(&served)) {
                let message = format!("`--{flag}` is {given}, but {runtime} serves {served}");
                problems.add(Rule::CriEndpoint, &service.origin, message, remedy);
            }
        }
    }
    for file in &context.machine.files {
        if !paths::file_name(&file.path).eq_ignore_ascii_case("crictl.yaml") {
            continue;
        }
        for (key, given) in file.content.iter().flat_map(|text| endpoints(text)) {
            if pipe(given) != pipe(&served) {
                let message = format!("`{key}` in {} is {given}, but {runtime} serves {served}", file.path);
                problems.add(Rule::CriEndpoint, &file.origin, message, remedy);
            }
        }
    }
}

/// The runtime on the machine and the pipe of its CRI. With both there, containerd is Docker's.
fn served_pipe(context: &Context<'_>) -> Option<(&'static str, String)> {
    let find = |stem: &str| {
        let commands = context.machine.services.iter().filter_map(Command::of);
        commands.into_iter().find(|command| command.stem() == stem)
    };
    if find("dockerd").is_some() {
        return Some(("dockershim", DOCKERSHIM.to_owned()));
    }
    let address = find("containerd")?.flag("address").unwrap_or(CONTAINERD).to_owned();
    Some(("containerd", address))
}

/// One spelling of `npipe:////./pipe/x`, `npipe:\\.\pipe\x` and `\\.\pipe\x`.
fn pipe(endpoint: &str) -> String {
    let path = endpoint.strip_prefix("npipe:").unwrap_or(endpoint);
    path.replace('/', r"\").trim_start_matches('\\').to_lowercase()
}

fn endpoints(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .map(|(key, value)| (key.trim(), value.trim().trim_matches(['"', '\''])))
        .filter(|(key, _)| matches!(*key, "runtime-endpoint" | "image-endpoint"))
}
