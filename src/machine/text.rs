//! The machine as a listing that a Windows administrator can read and compare line by line.
//! Each thing stands on a line of its own, what belongs to it is indented below, and `from`
//! names the resource that made it.

mod format;

use std::fmt::Display;

use crate::windows::resource::{
    Assertion, ContainerImage, DefenderExclusion, Directory, DirectoryState, EnsureUser,
    EnvironmentVariable, FirewallRule, LocalUser, Msi, PathEntry, PinnedUrl, PortRange,
    RegistryValue, ResourceKind, Section, Service, ServiceSettings, Symlink, Sysprep, UNPINNED,
    WindowsFeature,
};
use crate::windows::{command_line, paths, sddl};
use serde_json::Value;

use super::inbox;
use super::state::{Machine, PlacedResource, ResourceOrigin};

use format::{
    format_assertion, format_data, format_failure_action, format_port, format_rule, format_service,
};

const WIDTH: usize = 100;

impl Machine {
    /// Plain text, ASCII as far as the values are.
    pub fn format_listing(&self) -> String {
        let state = if self.is_sealed() {
            "generalized"
        } else {
            "not generalized"
        };
        let mut listing = Listing {
            out: format!(
                "Windows {} (build {}) for {}, {state}\n",
                self.windows, self.build, self.target
            ),
            next_title: None,
        };

        listing.write_services(self);
        listing.write_directories(self);
        listing.write_files(self);
        listing.write_links(self);
        listing.write_packages(self);
        listing.write_images(self);
        listing.write_registry(self);
        listing.write_features(self);
        listing.write_system_settings(self);
        listing.write_environment(self);
        listing.write_exclusions(self);
        listing.write_network(self);
        listing.write_accounts(self);
        listing.write_remote_access(self);
        listing.write_absent(self);
        listing.write_assertions(self);
        listing.write_generalization(self);
        listing.out
    }

    /// The nearest directory above that has its own access control.
    fn find_access_source(&self, path: &str) -> Option<String> {
        paths::list_ancestors(&paths::normalize_path(path)).find(|above| {
            let own =
                matches!(self.find_at_path(above), Some(ResourceKind::Directory(it)) if it.sddl().is_some());
            own || inbox::find_directory(&paths::normalize_key(above), &self.platform).is_some()
        })
    }
}

struct Listing {
    out: String,
    /// Title of the section that begins with the next line, if there is one.
    next_title: Option<&'static str>,
}

impl Listing {
    /// The next line begins a section. A section without lines has no title.
    fn start_section(&mut self, title: &'static str) {
        self.next_title = Some(title);
    }

    fn write_line(&mut self, indent: usize, text: &str) {
        if let Some(title) = self.next_title.take() {
            self.out.push('\n');
            self.out.push_str(title);
            self.out.push('\n');
        }
        let line = format!("{}{text}", "  ".repeat(indent));
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// `text  from resource`
    fn write_line_from(&mut self, text: &str, origin: &ResourceOrigin) {
        self.write_line(1, &format!("{text}  from {}", origin.resource));
    }

    /// Words on as few lines as fit, those after the first indented once more.
    fn write_wrapped(&mut self, indent: usize, words: &[String]) {
        let (mut line, first) = (String::new(), indent);
        let mut indent = indent;
        for word in words {
            if !line.is_empty()
                && 2 * indent + line.chars().count() + 1 + word.chars().count() > WIDTH
            {
                self.write_line(indent, &line);
                indent = first + 1;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.write_line(indent, &line);
    }

    /// `title: a, b, c`
    fn write_list<T: Display>(&mut self, title: &str, values: &[T]) {
        if let Some((last, first)) = values.split_last() {
            let mut words = vec![format!("{title}:")];
            words.extend(first.iter().map(|value| format!("{value},")));
            words.push(last.to_string());
            self.write_wrapped(2, &words);
        }
    }

    fn write_origin(&mut self, origin: &ResourceOrigin) {
        self.write_line(2, &format!("from {}", origin.resource));
    }

    fn write_services(&mut self, machine: &Machine) {
        self.start_section("Services");
        for service in machine.present_resources::<Service>() {
            let settings = service.settings;
            self.write_line(1, &format_service(&service.it.service_name, settings));
            if let Some(program) = &settings.program {
                self.write_wrapped(2, &command_line::quote_words(program, &settings.arguments));
            }
            if let Some(name) = &settings.display_name {
                self.write_line(2, &format!("display name: {name}"));
            }
            let needed = settings.depends_on.as_deref().unwrap_or_default();
            self.write_list("depends on", needed);
            self.write_failure_actions(settings);
            let variables = settings.environment.as_deref().unwrap_or_default();
            self.write_list("environment", variables);
            self.write_origin(service.origin);
        }
    }

    fn write_failure_actions(&mut self, service: &ServiceSettings) {
        let mut actions: Vec<String> = service
            .failure_actions
            .iter()
            .flatten()
            .map(format_failure_action)
            .collect();
        if let Some(seconds) = service.failure_reset_seconds {
            actions.push(format!("count reset after {seconds} s without a failure"));
        }
        if service.failure_flag == Some(true) {
            actions.push("also after an error code".to_owned());
        }
        self.write_list("on failure", &actions);
    }

    fn write_directories(&mut self, machine: &Machine) {
        self.start_section("Directories");
        for (it, origin) in machine.resources_of::<Directory>() {
            if it.state == (DirectoryState::Absent {}) {
                continue;
            }
            self.write_line(1, &paths::normalize_path(&it.path));
            self.write_access(it.sddl());
            let key = paths::normalize_key(&it.path);
            let inherits =
                it.sddl().is_none() && inbox::find_directory(&key, &machine.platform).is_none();
            if inherits && let Some(above) = machine.find_access_source(&it.path) {
                self.write_line(2, &format!("access inherited from {above}"));
            }
            if it.clears_content() {
                self.write_line(2, "content removed");
            }
            self.write_origin(origin);
        }
    }

    /// The descriptor in words, and as it is.
    fn write_access(&mut self, descriptor: Option<&str>) {
        let Some(descriptor) = descriptor else { return };
        self.write_list("access", &sddl::describe_access(descriptor));
        self.write_line(2, descriptor);
    }

    fn write_files(&mut self, machine: &Machine) {
        self.start_section("Files");
        for placed in machine.resources.values() {
            let properties = placed.kind.properties();
            let Some(path) = properties.file() else {
                continue;
            };
            self.write_line(1, &paths::normalize_path(path));
            if let Some((descriptor, _)) = properties.descriptor() {
                self.write_access(Some(descriptor));
            }
            match &placed.kind {
                ResourceKind::Artifact(it) => self.write_pin(&it.download),
                ResourceKind::Archive(it) => {
                    for member in &it.members {
                        self.write_line(2, &format!("member {} of", member.member));
                    }
                    self.write_pin(&it.download);
                }
                _ => {}
            }
            self.write_origin(&placed.origin);
            self.write_content(placed);
        }
    }

    fn write_links(&mut self, machine: &Machine) {
        self.start_section("Links");
        for link in machine.present_resources::<Symlink>() {
            self.write_line(1, &format!("{} -> {}", link.it.path, link.settings.target));
            self.write_origin(link.origin);
        }
    }

    fn write_packages(&mut self, machine: &Machine) {
        self.start_section("Packages");
        for (it, origin) in machine.resources_of::<Msi>() {
            self.write_line(1, &it.creates);
            self.write_pin(&it.download);
            self.write_list("arguments", &it.arguments);
            self.write_origin(origin);
        }
    }

    fn write_images(&mut self, machine: &Machine) {
        self.start_section("Container images");
        for (it, origin) in machine.resources_of::<ContainerImage>() {
            self.write_line(1, &it.reference);
            self.write_line(2, &format!("in {}  from {}", it.namespace, origin.resource));
        }
    }

    fn write_content(&mut self, placed: &PlacedResource) {
        let ResourceKind::File(file) = &placed.kind else {
            return;
        };
        let Some(file) = file.desired.present() else {
            return;
        };
        if file.content.contains('\r') {
            self.write_line(2, "line endings: CRLF");
        }
        for line in file.content.lines() {
            self.write_line(2, &format!("| {line}"));
        }
    }

    fn write_pin(&mut self, download: &PinnedUrl) {
        self.write_line(2, download.url.public_url());
        self.write_line(
            2,
            &match &download.digest {
                Some(digest) => format!("{} {digest}", digest.algorithm().as_str()),
                None => format!("sha256 {UNPINNED}"),
            },
        );
    }

    fn write_registry(&mut self, machine: &Machine) {
        self.start_section("Registry");
        let mut key = "";
        for value in machine.present_resources::<RegistryValue>() {
            if !value.it.key.eq_ignore_ascii_case(key) {
                key = &value.it.key;
                self.write_line(1, key);
            }
            let (name, origin) = (&value.it.value_name, &value.origin.resource);
            let data = format_data(&value.settings.data);
            self.write_line(2, &format!("{name} = {data}  from {origin}"));
        }
    }

    fn write_features(&mut self, machine: &Machine) {
        self.start_section("Windows features");
        for (it, origin) in machine.resources_of::<WindowsFeature>() {
            let state = if it.installed {
                "installed"
            } else {
                "not installed"
            };
            self.write_line_from(&format!("{} {state}", it.feature), origin);
        }
    }

    fn write_environment(&mut self, machine: &Machine) {
        self.start_section("Environment");
        for variable in machine.present_resources::<EnvironmentVariable>() {
            let text = format!("{}={}", variable.it.variable, variable.settings.value);
            self.write_line_from(&text, variable.origin);
        }

        self.start_section("Added to PATH, in this order");
        for entry in &machine.path {
            let key = paths::normalize_key(entry);
            let mut entries = machine.resources_of::<PathEntry>();
            if let Some((_, origin)) =
                entries.find(|(it, _)| paths::normalize_key(&it.entry) == key)
            {
                self.write_line_from(entry, origin);
            }
        }
    }

    fn write_exclusions(&mut self, machine: &Machine) {
        self.start_section("Defender exclusions");
        for (it, origin) in machine.resources_of::<DefenderExclusion>() {
            self.write_line_from(&format!("{} {}", it.kind.as_str(), it.value), origin);
        }
    }

    /// Resources without a form of their own, with their properties as they are.
    fn write_system_settings(&mut self, machine: &Machine) {
        self.start_section("Updates, tasks and system settings");
        for (identity, placed) in &machine.resources {
            if placed.kind.is_absent() || placed.kind.section() != Section::System {
                continue;
            }
            // The resource's name says more than a digest or a script.
            let is_named = matches!(identity.properties(), [_])
                && !matches!(placed.kind, ResourceKind::Script(_));
            let name = if is_named {
                identity.name()
            } else {
                placed.origin.resource.as_str()
            };
            let (kind, properties) = placed.kind.to_json();
            self.write_line(1, &format!("{kind} {name}"));
            for (property, value) in &properties {
                let in_title = is_named && identity.properties().contains(&property.as_str());
                if property != "ensure" && !in_title {
                    self.write_property(property, value);
                }
            }
            self.write_origin(&placed.origin);
        }
    }

    fn write_property(&mut self, name: &str, value: &Value) {
        let line = match value {
            Value::String(text) => format!("{name}: {text}"),
            other => format!("{name}: {other}"),
        };
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        self.write_wrapped(2, &words);
    }

    fn write_network(&mut self, machine: &Machine) {
        self.start_section("Firewall");
        for rule in machine.present_resources::<FirewallRule>() {
            let text = format!("{}: {}", rule.it.rule_name, format_rule(rule.settings));
            self.write_line_from(&text, rule.origin);
        }

        self.start_section("Ports in use");
        for port in &machine.ports {
            self.write_line(1, &format_port(port));
        }

        self.start_section("Port ranges");
        for (it, origin) in machine.resources_of::<PortRange>() {
            let last = u32::from(it.start) + u32::from(it.count).saturating_sub(1);
            let text = format!("{} {} {}-{last}", it.kind, it.protocol, it.start);
            self.write_line_from(&text, origin);
        }
    }

    fn write_accounts(&mut self, machine: &Machine) {
        self.start_section("Build accounts");
        for (it, origin) in machine.resources_of::<LocalUser>() {
            let state = match it.ensure {
                EnsureUser::Absent => continue,
                EnsureUser::Present => "enabled",
                EnsureUser::Closed => {
                    "no way in: absent, disabled, or the platform's built-in administrator"
                }
                EnsureUser::Disabled => "disabled",
            };
            self.write_line_from(&format!("{} {state}", it.user_name), origin);
        }
    }

    fn write_remote_access(&mut self, machine: &Machine) {
        self.start_section("WinRM");
        for placed in machine.resources.values() {
            let text = match &placed.kind {
                ResourceKind::WinrmListener(it) if !placed.kind.is_absent() => {
                    format!("listener {}", it.transport)
                }
                ResourceKind::WinrmSetting(it) => format!("{} = {}", it.setting, it.value),
                _ => continue,
            };
            self.write_line_from(&text, &placed.origin);
        }
    }

    fn write_absent(&mut self, machine: &Machine) {
        self.start_section("Absent");
        for (identity, placed) in &machine.resources {
            if placed.kind.is_absent() {
                let (kind, _) = placed.kind.to_json();
                self.write_line_from(&format!("{kind} {}", identity.name()), &placed.origin);
            }
        }
    }

    fn write_assertions(&mut self, machine: &Machine) {
        self.start_section("Assertions");
        for (it, origin) in machine.resources_of::<Assertion>() {
            self.write_line(1, &format_assertion(it));
            self.write_origin(origin);
        }
    }

    fn write_generalization(&mut self, machine: &Machine) {
        self.start_section("Sysprep");
        for (it, origin) in machine.resources_of::<Sysprep>() {
            let order = format!("image state {}, then {}", it.image_state, it.finish);
            self.write_line(1, &order);
            if it.agents.is_empty() {
                self.write_line(2, &format!("answer file: {}", it.unattend));
            } else {
                let names: Vec<&str> = it.agents.iter().map(|agent| agent.name.as_str()).collect();
                self.write_line(2, &format!("run by {}", names.join(" or ")));
            }
            self.write_origin(origin);
        }
    }
}
