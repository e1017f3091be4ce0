//! The machine as a listing that a Windows administrator can read and compare line by line.
//! Each thing stands on a line of its own, what belongs to it is indented below, and `from`
//! names the resource that made it.

mod format;

use std::fmt::Display;

use crate::windows::command_line;
use crate::windows::paths;
use crate::windows::resource::{
    Assertion, ContainerImage, DefenderExclusion, Directory, DirectoryState, EnsureUser,
    EnvironmentVariable, FirewallRule, LocalUser, Msi, PathEntry, PinnedUrl, PortRange,
    RegistryValue, ResourceKind, Section, Service, ServiceSettings, Symlink, Sysprep, UNPINNED,
    WindowsFeature, WinrmListener, WinrmSetting,
};

use super::inbox;
use super::state::{Machine, PlacedResource, ResourceOrigin};
use crate::windows::sddl;

use format::{
    format_assertion, format_data, format_failure_action, format_port, format_rule, format_service,
};

const WIDTH: usize = 100;

impl Machine {
    /// Plain text, ASCII as far as the values are.
    pub fn format_listing(&self) -> String {
        let mut out = format!(
            "Windows {} (build {}) for {}",
            self.windows, self.build, self.target
        );
        out.push_str(if self.is_sealed() {
            ", generalized\n"
        } else {
            ", not generalized\n"
        });
        let mut listing = Listing { out };
        listing.write_services(self);
        listing.write_directories(self);
        listing.write_files(self);
        listing.write_section(
            "Links",
            self.present_resources::<Symlink>(),
            |listing, link| {
                listing.write_line(1, &format!("{} -> {}", link.it.path, link.settings.target));
                listing.write_origin(link.origin);
            },
        );
        listing.write_section(
            "Packages",
            self.resources_of::<Msi>(),
            |listing, (it, origin)| {
                listing.write_line(1, &it.creates);
                listing.write_pin(&it.download);
                listing.write_list("arguments", &it.arguments);
                listing.write_origin(origin);
            },
        );
        listing.write_section(
            "Container images",
            self.resources_of::<ContainerImage>(),
            |listing, (it, origin)| {
                listing.write_line(1, &it.reference);
                listing.write_line(2, &format!("in {}  from {}", it.namespace, origin.resource));
            },
        );
        listing.write_registry(self);
        listing.write_settings(self);
        listing.write_network(self);
        listing.write_accounts(self);
        listing.write_checks(self);
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
}

impl Listing {
    fn write_title(&mut self, title: &str) {
        self.out.push('\n');
        self.write_line(0, title);
    }

    /// A title with an entry for each item, or nothing where there is none.
    fn write_section<T>(
        &mut self,
        title: &str,
        items: impl Iterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) {
        for (at, item) in items.enumerate() {
            if at == 0 {
                self.write_title(title);
            }
            write(self, item);
        }
    }

    fn write_line(&mut self, indent: usize, text: &str) {
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
        self.write_section(
            "Services",
            machine.present_resources::<Service>(),
            |listing, service| {
                let settings = service.settings;
                listing.write_line(1, &format_service(&service.it.service_name, settings));
                if let Some(program) = &settings.program {
                    listing
                        .write_wrapped(2, &command_line::quote_words(program, &settings.arguments));
                }
                if let Some(name) = &settings.display_name {
                    listing.write_line(2, &format!("display name: {name}"));
                }
                listing.write_list(
                    "depends on",
                    settings.depends_on.as_deref().unwrap_or_default(),
                );
                listing.write_failure_actions(settings);
                listing.write_list(
                    "environment",
                    settings.environment.as_deref().unwrap_or_default(),
                );
                listing.write_origin(service.origin);
            },
        );
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
        let present = machine
            .resources_of::<Directory>()
            .filter(|(it, _)| it.state != DirectoryState::Absent {});
        self.write_section("Directories", present, |listing, (it, origin)| {
            listing.write_line(1, &paths::normalize_path(&it.path));
            listing.write_access(it.sddl());
            let inherits = it.sddl().is_none()
                && inbox::find_directory(&paths::normalize_key(&it.path), &machine.platform)
                    .is_none();
            if let Some(above) = machine.find_access_source(&it.path).filter(|_| inherits) {
                listing.write_line(2, &format!("access inherited from {above}"));
            }
            if it.clears_content() {
                listing.write_line(2, "content removed");
            }
            listing.write_origin(origin);
        });
    }

    /// The descriptor in words, and as it is.
    fn write_access(&mut self, descriptor: Option<&str>) {
        let Some(descriptor) = descriptor else { return };
        self.write_list("access", &sddl::describe_access(descriptor));
        self.write_line(2, descriptor);
    }

    fn write_files(&mut self, machine: &Machine) {
        let things = machine.resources.values();
        let files = things.filter_map(|placed| Some((placed.kind.properties().file()?, placed)));
        self.write_section("Files", files, |listing, (path, placed)| {
            listing.write_line(1, &paths::normalize_path(path));
            listing.write_access(placed.kind.properties().descriptor().map(|(sddl, _)| sddl));
            match &placed.kind {
                ResourceKind::Artifact(it) => listing.write_pin(&it.download),
                ResourceKind::Archive(it) => {
                    for member in &it.members {
                        listing.write_line(2, &format!("member {} of", member.member));
                    }
                    listing.write_pin(&it.download);
                }
                _ => {}
            }
            listing.write_origin(&placed.origin);
            listing.write_content(placed);
        });
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
        let mut values = machine.present_resources::<RegistryValue>().peekable();
        if values.peek().is_some() {
            self.write_title("Registry");
        }
        let mut key = "";
        for value in values {
            if !value.it.key.eq_ignore_ascii_case(key) {
                key = &value.it.key;
                self.write_line(1, key);
            }
            let (name, origin) = (&value.it.value_name, &value.origin.resource);
            self.write_line(
                2,
                &format!(
                    "{name} = {}  from {origin}",
                    format_data(&value.settings.data)
                ),
            );
        }
    }

    fn write_settings(&mut self, machine: &Machine) {
        self.write_section(
            "Windows features",
            machine.resources_of::<WindowsFeature>(),
            |listing, (it, origin)| {
                let state = if it.installed {
                    "installed"
                } else {
                    "not installed"
                };
                listing.write_line_from(&format!("{} {state}", it.feature), origin);
            },
        );
        self.write_windows(machine);
        self.write_section(
            "Environment",
            machine.present_resources::<EnvironmentVariable>(),
            |listing, variable| {
                let text = format!("{}={}", variable.it.variable, variable.settings.value);
                listing.write_line_from(&text, variable.origin);
            },
        );
        let entries = machine.path.iter().filter_map(|entry| {
            let is_it =
                |it: &PathEntry| paths::normalize_key(&it.entry) == paths::normalize_key(entry);
            machine
                .resources_of::<PathEntry>()
                .find(|(it, _)| is_it(it))
                .map(|(_, origin)| (entry, origin))
        });
        self.write_section(
            "Added to PATH, in this order",
            entries,
            |listing, (entry, origin)| {
                listing.write_line_from(entry, origin);
            },
        );
        self.write_section(
            "Defender exclusions",
            machine.resources_of::<DefenderExclusion>(),
            |listing, (it, origin)| {
                listing.write_line_from(&format!("{} {}", it.kind.as_str(), it.value), origin);
            },
        );
    }

    /// Resources without a form of their own, with their properties as they are.
    fn write_windows(&mut self, machine: &Machine) {
        let things = machine.resources.iter().filter(|(_, placed)| {
            !placed.kind.properties().is_absent() && placed.kind.section() == Section::System
        });
        self.write_section(
            "Updates, tasks and system settings",
            things,
            |listing, (identity, placed)| {
                let (kind, properties) = placed.kind.to_json();
                // The resource's name says more than a digest or a script.
                let is_named = matches!(identity.properties(), [_])
                    && !matches!(placed.kind, ResourceKind::Script(_));
                let hidden = |name: &str| {
                    name == "ensure" || is_named && identity.properties().contains(&name)
                };
                let name = if is_named {
                    identity.name()
                } else {
                    placed.origin.resource.as_str()
                };
                listing.write_line(1, &format!("{kind} {name}"));
                for (name, value) in properties.iter().filter(|(name, _)| !hidden(name)) {
                    let value = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned);
                    let words: Vec<String> = format!("{name}: {value}")
                        .split(' ')
                        .map(str::to_owned)
                        .collect();
                    listing.write_wrapped(2, &words);
                }
                listing.write_origin(&placed.origin);
            },
        );
    }

    fn write_network(&mut self, machine: &Machine) {
        self.write_section(
            "Firewall",
            machine.present_resources::<FirewallRule>(),
            |listing, rule| {
                let text = format!("{}: {}", rule.it.rule_name, format_rule(rule.settings));
                listing.write_line_from(&text, rule.origin);
            },
        );
        self.write_section("Ports in use", machine.ports.iter(), |listing, port| {
            listing.write_line(1, &format_port(port));
        });
        self.write_section(
            "Port ranges",
            machine.resources_of::<PortRange>(),
            |listing, (it, origin)| {
                let last = u32::from(it.start) + u32::from(it.count).saturating_sub(1);
                listing.write_line_from(
                    &format!("{} {} {}-{last}", it.kind, it.protocol, it.start),
                    origin,
                );
            },
        );
    }

    fn write_accounts(&mut self, machine: &Machine) {
        let users = machine
            .resources_of::<LocalUser>()
            .filter(|(it, _)| it.ensure != EnsureUser::Absent);
        self.write_section("Build accounts", users, |listing, (it, origin)| {
            let state = match it.ensure {
                EnsureUser::Present => "enabled",
                EnsureUser::Closed => {
                    "no way in: absent, disabled, or the platform's built-in administrator"
                }
                EnsureUser::Disabled | EnsureUser::Absent => "disabled",
            };
            listing.write_line_from(&format!("{} {state}", it.user_name), origin);
        });
        let winrm = machine
            .resources
            .values()
            .filter_map(|placed| match &placed.kind {
                ResourceKind::WinrmListener(WinrmListener { transport, .. })
                    if !placed.kind.properties().is_absent() =>
                {
                    Some((format!("listener {transport}"), &placed.origin))
                }
                ResourceKind::WinrmSetting(WinrmSetting { setting, value }) => {
                    Some((format!("{setting} = {value}"), &placed.origin))
                }
                _ => None,
            });
        self.write_section("WinRM", winrm, |listing, (text, origin)| {
            listing.write_line_from(&text, origin);
        });
        let absent = machine
            .resources
            .iter()
            .filter(|(_, placed)| placed.kind.properties().is_absent());
        self.write_section("Absent", absent, |listing, (identity, placed)| {
            let text = format!("{} {}", placed.kind.to_json().0, identity.name());
            listing.write_line_from(&text, &placed.origin);
        });
    }

    fn write_checks(&mut self, machine: &Machine) {
        self.write_section(
            "Assertions",
            machine.resources_of::<Assertion>(),
            |listing, (it, origin)| {
                listing.write_line(1, &format_assertion(it));
                listing.write_origin(origin);
            },
        );
        self.write_section(
            "Sysprep",
            machine.resources_of::<Sysprep>(),
            |listing, (it, origin)| {
                listing.write_line(
                    1,
                    &format!("image state {}, then {}", it.image_state, it.finish),
                );
                if it.agents.is_empty() {
                    listing.write_line(2, &format!("answer file: {}", it.unattend));
                } else {
                    let names: Vec<&str> =
                        it.agents.iter().map(|agent| agent.name.as_str()).collect();
                    listing.write_line(2, &format!("run by {}", names.join(" or ")));
                }
                listing.write_origin(origin);
            },
        );
    }
}
