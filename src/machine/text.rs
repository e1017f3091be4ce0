//! The machine as a listing that a Windows administrator can read and compare line by line.
//! Each thing stands on a line of its own, what belongs to it is indented below, and `from`
//! names the resource that made it.

use crate::model::command_line;
use crate::model::resource::{
    ArgumentsFile, AssertionCheck, Direction, ExclusionKind, FailureAction, FailureActionKind,
    FirewallAction, PinAlgorithm, PortRangeKind, RegistryData, ServiceState, StartType,
};

use super::state::{
    Artifact, Asserted, Directory, File, FirewallRule, Machine, Origin, Port, RegistryValue, Service,
};
use super::{sddl, upsert};

const WIDTH: usize = 100;

impl Machine {
    /// Plain text, ASCII as far as the values are.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("Windows {} (build {}) for {}", self.windows, self.build, self.target);
        out.push_str(if self.sealed { ", generalised\n" } else { ", not generalised\n" });
        let mut listing = Listing { out };
        listing.services(&self.services);
        listing.directories(&self.directories);
        listing.files(&self.files);
        listing.rest_of_files(self);
        listing.registry(&self.registry);
        listing.settings(self);
        listing.network(self);
        listing.access(self);
        listing.checks(self);
        listing.out
    }
}

struct Listing {
    out: String,
}

impl Listing {
    fn head(&mut self, title: &str, count: usize) {
        if count > 0 {
            self.out.push('\n');
            self.line(0, title);
        }
    }

    fn line(&mut self, indent: usize, text: &str) {
        let line = format!("{}{text}", "  ".repeat(indent));
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// Words on as few lines as fit, those after the first indented once more.
    fn wrapped(&mut self, indent: usize, words: &[String]) {
        let (mut line, first) = (String::new(), indent);
        let mut indent = indent;
        for word in words {
            if !line.is_empty() && 2 * indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(indent, &line);
                indent = first + 1;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(indent, &line);
    }

    /// `title: a, b, c`
    fn listed(&mut self, title: &str, values: &[String]) {
        if let Some((last, first)) = values.split_last() {
            let mut words = vec![format!("{title}:")];
            words.extend(first.iter().map(|value| format!("{value},")));
            words.push(last.clone());
            self.wrapped(2, &words);
        }
    }

    fn from(&mut self, origin: &Origin) {
        self.line(2, &format!("from {}", origin.resource));
    }

    fn services(&mut self, services: &[Service]) {
        self.head("Services", services.len());
        for service in services {
            self.line(1, &service_head(service));
            if let Some(program) = &service.program {
                self.wrapped(2, &command_line::words(program, &service.arguments));
            }
            self.later_arguments(2, service.arguments_file.as_ref());
            if let Some(name) = &service.display_name {
                self.line(2, &format!("shown as: {name}"));
            }
            self.listed("depends on", &service.depends_on);
            self.failures(service);
            self.listed("environment", &service.environment);
            self.from(&service.origin);
        }
    }

    fn later_arguments(&mut self, depth: usize, file: Option<&ArgumentsFile>) {
        if let Some(file) = file {
            self.line(depth, &format!("and, once it is there, {} of {}", file.variable, file.path));
        }
    }

    fn failures(&mut self, service: &Service) {
        let mut actions: Vec<String> = service.failure_actions.iter().map(failure).collect();
        if let Some(seconds) = service.failure_reset_seconds {
            actions.push(format!("counted anew after {seconds} s without one"));
        }
        self.listed("on failure", &actions);
    }

    fn directories(&mut self, directories: &[Directory]) {
        self.head("Directories", directories.len());
        for directory in directories {
            self.line(1, &directory.path);
            self.rights(directory.sddl.as_deref());
            if let Some(above) = &directory.inherits_from {
                self.line(2, &format!("access as {above} hands down"));
            }
            if directory.emptied {
                self.line(2, "emptied");
            }
            self.from(&directory.origin);
        }
    }

    /// The descriptor in words, and as it is.
    fn rights(&mut self, descriptor: Option<&str>) {
        let Some(descriptor) = descriptor else { return };
        self.listed("access", &sddl::in_words(descriptor));
        self.line(2, descriptor);
    }

    fn files(&mut self, files: &[File]) {
        self.head("Files", files.len());
        for file in files {
            self.line(1, &file.path);
            self.rights(file.sddl.as_deref());
            if let Some(artifact) = &file.artifact {
                self.artifact(artifact);
            }
            self.from(&file.origin);
            if file.content.as_ref().is_some_and(|text| text.contains('\r')) {
                self.line(2, "lines end with carriage return and line feed");
            }
            for line in file.content.iter().flat_map(|text| text.lines()) {
                self.line(2, &format!("| {line}"));
            }
        }
    }

    fn artifact(&mut self, artifact: &Artifact) {
        if let Some(member) = &artifact.member {
            self.line(2, &format!("member {member} of"));
        }
        self.line(2, &artifact.url);
        let algorithm = match artifact.algorithm {
            PinAlgorithm::Sha256 => "sha256",
            PinAlgorithm::Sha512 => "sha512",
        };
        self.line(2, &format!("{algorithm} {}", artifact.digest));
    }

    fn rest_of_files(&mut self, machine: &Machine) {
        self.head("Links", machine.links.len());
        for link in &machine.links {
            self.line(1, &format!("{} -> {}", link.path, link.target));
            self.from(&link.origin);
        }
        self.head("Packages", machine.packages.len());
        for package in &machine.packages {
            self.line(1, &package.creates);
            self.artifact(&package.artifact);
            self.listed("arguments", &package.arguments);
            self.from(&package.origin);
        }
        self.head("Container images", machine.images.len());
        for image in &machine.images {
            self.line(1, &image.reference);
            self.line(2, &format!("in {}  from {}", image.namespace, image.origin.resource));
        }
    }

    fn registry(&mut self, values: &[RegistryValue]) {
        self.head("Registry", values.len());
        let mut key = "";
        for value in values {
            if !value.key.eq_ignore_ascii_case(key) {
                key = &value.key;
                self.line(1, key);
            }
            let text = format!("{} = {} ({:?})", value.name, data(&value.data), value.kind);
            self.line(2, &format!("{text}  from {}", value.origin.resource));
            self.later_arguments(3, value.arguments_file.as_ref());
        }
    }

    fn settings(&mut self, machine: &Machine) {
        self.head("Windows features", machine.features.len());
        for feature in &machine.features {
            let state = if feature.installed { "installed" } else { "not installed" };
            self.line(1, &format!("{} {state}  from {}", feature.name, feature.origin.resource));
        }
        self.head("Of Windows itself", machine.system.len());
        for thing in &machine.system {
            self.line(1, &format!("{} {}", thing.kind, thing.name));
            for (name, value) in &thing.properties {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let words: Vec<String> = format!("{name}: {value}").split(' ').map(str::to_owned).collect();
                self.wrapped(2, &words);
            }
            self.from(&thing.origin);
        }
        self.head("Environment", machine.environment.len());
        for variable in &machine.environment {
            self.line(1, &format!("{}={}  from {}", variable.name, variable.value, variable.origin.resource));
        }
        self.head("Added to PATH, in this order", machine.path.len());
        for entry in &machine.path {
            self.line(1, &format!("{}  from {}", entry.entry, entry.origin.resource));
        }
        self.head("Left alone by Defender", machine.defender.len());
        for exclusion in &machine.defender {
            let kind = match exclusion.kind {
                ExclusionKind::Path => "path",
                ExclusionKind::Process => "process",
            };
            self.line(1, &format!("{kind} {}  from {}", exclusion.value, exclusion.origin.resource));
        }
    }

    fn network(&mut self, machine: &Machine) {
        self.head("Firewall", machine.firewall.len());
        for rule in &machine.firewall {
            self.line(1, &format!("{}: {}  from {}", rule.name, rule_text(rule), rule.origin.resource));
        }
        self.head("Ports in use", machine.ports.len());
        for port in &machine.ports {
            self.line(1, &port_text(port));
        }
        self.head("Port ranges", machine.port_ranges.len());
        for range in &machine.port_ranges {
            let kind = match range.kind {
                PortRangeKind::Dynamic => "dynamic",
                PortRangeKind::Excluded => "excluded",
            };
            let last = u32::from(range.start) + u32::from(range.count).saturating_sub(1);
            let ports = format!("{} {}-{last}", upsert::protocol(range.protocol), range.start);
            self.line(1, &format!("{kind} {ports}  from {}", range.origin.resource));
        }
    }

    fn access(&mut self, machine: &Machine) {
        self.head("Accounts of the build", machine.users.len());
        for user in &machine.users {
            let state = if user.enabled { "enabled" } else { "disabled" };
            self.line(1, &format!("{} {state}  from {}", user.name, user.origin.resource));
        }
        let winrm = &machine.winrm;
        self.head("WinRM", winrm.listeners.len() + winrm.settings.len());
        for listener in &winrm.listeners {
            let name = upsert::transport(listener.transport);
            self.line(1, &format!("listener {name}  from {}", listener.origin.resource));
        }
        for setting in &winrm.settings {
            self.line(1, &format!("{} = {}  from {}", setting.name, setting.value, setting.origin.resource));
        }
        self.head("Not there", machine.absent.len());
        for absent in &machine.absent {
            self.line(1, &format!("{} {}  from {}", absent.kind, absent.name, absent.origin.resource));
        }
    }

    fn checks(&mut self, machine: &Machine) {
        self.head("Checked", machine.assertions.len());
        for asserted in &machine.assertions {
            self.line(1, &assertion_text(asserted));
            self.from(&asserted.origin);
        }
        let Some(sysprep) = &machine.sysprep else { return };
        self.head("Sysprep", 1);
        self.line(1, &format!("until {}, then {}", sysprep.image_state, sysprep.finish));
        self.line(2, &format!("answers: {}", sysprep.unattend));
        self.from(&sysprep.origin);
    }
}

fn service_head(service: &Service) -> String {
    let start = service.start_type.map(|start| match start {
        StartType::Auto => "automatic",
        StartType::Delayed => "automatic, delayed",
        StartType::Manual => "manual",
        StartType::Disabled => "disabled",
    });
    let state = service.state.map(|state| match state {
        ServiceState::Running => "running",
        ServiceState::Stopped => "stopped",
    });
    let facts: Vec<&str> = [start, state, service.account.as_deref()].into_iter().flatten().collect();
    if facts.is_empty() { service.name.clone() } else { format!("{}: {}", service.name, facts.join(", ")) }
}

fn failure(action: &FailureAction) -> String {
    let what = match action.action {
        FailureActionKind::None => return "nothing".to_owned(),
        FailureActionKind::Restart => "restart",
        FailureActionKind::Reboot => "reboot",
    };
    format!("{what} after {} s", action.delay_seconds)
}

fn data(data: &RegistryData) -> String {
    match data {
        RegistryData::Number(number) => number.to_string(),
        RegistryData::Text(text) => format!("\"{text}\""),
        RegistryData::List(list) => format!("[{}]", list.join(", ")),
    }
}

fn rule_text(rule: &FirewallRule) -> String {
    let action = match rule.action {
        FirewallAction::Allow => "allow",
        FirewallAction::Block => "block",
    };
    let protocol = rule.protocol.map_or("any", upsert::protocol);
    let mut text = format!("{action} {} {protocol}", way(rule.direction));
    for (title, values) in
        [("port", &rule.local_ports), ("to port", &rule.remote_ports), ("with", &rule.remote_addresses)]
    {
        if !values.is_empty() {
            text = format!("{text} {title} {}", values.join(", "));
        }
    }
    if let Some(kind) = rule.icmp_type {
        text = format!("{text} type {kind}");
    }
    text
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Inbound => "in",
        Direction::Outbound => "out",
    }
}

fn port_text(port: &Port) -> String {
    let protocol = upsert::protocol(port.protocol);
    let rule = match (&port.rule, port.direction) {
        (Some(rule), _) => format!("allowed by {rule}"),
        (None, Direction::Inbound) => "allowed by no rule".to_owned(),
        (None, Direction::Outbound) => "which needs no rule".to_owned(),
    };
    format!("{}: {} {protocol} {}, {rule}", port.program, way(port.direction), port.port)
}

fn assertion_text(asserted: &Asserted) -> String {
    let it = &asserted.assertion;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let fact = match it.check {
        AssertionCheck::Command => {
            let arguments = it.arguments.clone().unwrap_or_default();
            let line = command_line::command_line(&text(&it.program), &arguments);
            match &it.pattern {
                Some(pattern) => format!("{line} prints {pattern}"),
                None => format!("{line} succeeds"),
            }
        }
        AssertionCheck::Service => {
            let state = it.state.map_or("there", |state| match state {
                ServiceState::Running => "running",
                ServiceState::Stopped => "stopped",
            });
            format!("service {} is {state}", text(&it.service_name))
        }
        AssertionCheck::OsBuild => {
            let revision = it.revision.map(|revision| format!(".{revision} or later"));
            format!("build {}{}", it.build.unwrap_or_default(), revision.unwrap_or_default())
        }
    };
    if it.holds { fact } else { format!("not: {fact}") }
}
