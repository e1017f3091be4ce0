//! The machine as a listing that a Windows administrator can read and compare line by line.
//! Each thing stands on a line of its own, what belongs to it is indented below, and `from`
//! names the resource that made it.

mod format;

use crate::model::command_line;
use crate::model::paths;
use crate::model::resource::{
    Archive, ArgumentsFile, Artifact, Assertion, ContainerImage, DefenderExclusion, Directory,
    DirectoryState, EnsureUser, EnvironmentVariable, FirewallRule, LocalUser, Msi, PathEntry, PinAlgorithm,
    PortRange, PortRangeKind, RegistryValue, ResourceKind, Service, ServiceSettings, Symlink, Sysprep,
    WindowsFeature, WinrmListener, WinrmSetting,
};

use super::state::{Machine, Origin, Placed};
use super::{inbox, sddl};

use format::{
    format_assertion, format_data, format_failure_action, format_port, format_rule, format_service,
};

const WIDTH: usize = 100;

impl Machine {
    /// Plain text, ASCII as far as the values are.
    #[must_use]
    pub fn format_listing(&self) -> String {
        let mut out = format!("Windows {} (build {}) for {}", self.windows, self.build, self.target);
        out.push_str(if self.is_sealed() { ", generalized\n" } else { ", not generalized\n" });
        let mut listing = Listing { out };
        listing.services(self);
        listing.directories(self);
        listing.files(self);
        listing.section("Links", self.present::<Symlink>(), |listing, link| {
            listing.line(1, &format!("{} -> {}", link.it.path, link.settings.target));
            listing.origin(link.origin);
        });
        listing.section("Packages", self.all::<Msi>(), |listing, (it, origin)| {
            listing.line(1, &it.creates);
            listing.pin(&it.url, it.algorithm, &it.digest);
            listing.list("arguments", &it.arguments);
            listing.origin(origin);
        });
        listing.section("Container images", self.all::<ContainerImage>(), |listing, (it, origin)| {
            listing.line(1, &it.reference);
            listing.line(2, &format!("in {}  from {}", it.namespace, origin.resource));
        });
        listing.registry(self);
        listing.settings(self);
        listing.network(self);
        listing.access(self);
        listing.checks(self);
        listing.out
    }

    /// The nearest directory above that has its own access control.
    fn access_source(&self, path: &str) -> Option<String> {
        paths::ancestors(&paths::normalize(path)).find(|above| {
            let own = matches!(self.at_path(above), Some(ResourceKind::Directory(it)) if it.sddl().is_some());
            own || inbox::directory(&paths::key(above), &self.platform).is_some()
        })
    }
}

struct Listing {
    out: String,
}

impl Listing {
    fn title(&mut self, title: &str) {
        self.out.push('\n');
        self.line(0, title);
    }

    /// A title with an entry for each item, or nothing where there is none.
    fn section<T>(&mut self, title: &str, items: impl Iterator<Item = T>, write: impl Fn(&mut Self, T)) {
        for (at, item) in items.enumerate() {
            if at == 0 {
                self.title(title);
            }
            write(self, item);
        }
    }

    fn line(&mut self, indent: usize, text: &str) {
        let line = format!("{}{text}", "  ".repeat(indent));
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// `text  from resource`
    fn line_from(&mut self, text: &str, origin: &Origin) {
        self.line(1, &format!("{text}  from {}", origin.resource));
    }

    /// Words on as few lines as fit, those after the first indented once more.
    fn wrap(&mut self, indent: usize, words: &[String]) {
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
    fn list(&mut self, title: &str, values: &[String]) {
        if let Some((last, first)) = values.split_last() {
            let mut words = vec![format!("{title}:")];
            words.extend(first.iter().map(|value| format!("{value},")));
            words.push(last.clone());
            self.wrap(2, &words);
        }
    }

    fn origin(&mut self, origin: &Origin) {
        self.line(2, &format!("from {}", origin.resource));
    }

    fn services(&mut self, machine: &Machine) {
        self.section("Services", machine.present::<Service>(), |listing, service| {
            let settings = service.settings;
            listing.line(1, &format_service(&service.it.service_name, settings));
            if let Some(program) = &settings.program {
                listing.wrap(2, &command_line::words(program, &settings.arguments));
            }
            listing.later_arguments(2, settings.arguments_file.as_ref());
            if let Some(name) = &settings.display_name {
                listing.line(2, &format!("display name: {name}"));
            }
            listing.list("depends on", settings.depends_on.as_deref().unwrap_or_default());
            listing.failures(settings);
            listing.list("environment", settings.environment.as_deref().unwrap_or_default());
            listing.origin(service.origin);
        });
    }

    fn later_arguments(&mut self, depth: usize, file: Option<&ArgumentsFile>) {
        if let Some(file) = file {
            self.line(
                depth,
                &format!("followed by {} of {}, when that file exists", file.variable, file.path),
            );
        }
    }

    fn failures(&mut self, service: &ServiceSettings) {
        let mut actions: Vec<String> =
            service.failure_actions.iter().flatten().map(format_failure_action).collect();
        if let Some(seconds) = service.failure_reset_seconds {
            actions.push(format!("count reset after {seconds} s without a failure"));
        }
        self.list("on failure", &actions);
    }

    fn directories(&mut self, machine: &Machine) {
        let present = machine.all::<Directory>().filter(|(it, _)| it.state != DirectoryState::Absent {});
        self.section("Directories", present, |listing, (it, origin)| {
            listing.line(1, &paths::normalize(&it.path));
            listing.rights(it.sddl());
            let inherits =
                it.sddl().is_none() && inbox::directory(&paths::key(&it.path), &machine.platform).is_none();
            if let Some(above) = machine.access_source(&it.path).filter(|_| inherits) {
                listing.line(2, &format!("access inherited from {above}"));
            }
            if it.clears_content() {
                listing.line(2, "content removed");
            }
            listing.origin(origin);
        });
    }

    /// The descriptor in words, and as it is.
    fn rights(&mut self, descriptor: Option<&str>) {
        let Some(descriptor) = descriptor else { return };
        self.list("access", &sddl::in_words(descriptor));
        self.line(2, descriptor);
    }

    fn files(&mut self, machine: &Machine) {
        let things = machine.resources.values();
        let files = things.filter_map(|placed| Some((placed.kind.properties().file()?, placed)));
        self.section("Files", files, |listing, (path, placed)| {
            listing.line(1, &paths::normalize(path));
            listing.rights(placed.kind.properties().descriptor().map(|(sddl, _)| sddl));
            match &placed.kind {
                ResourceKind::Artifact(Artifact { url, algorithm, digest, .. }) => {
                    listing.pin(url, *algorithm, digest);
                }
                ResourceKind::Archive(Archive { url, algorithm, digest, members, .. }) => {
                    for member in members {
                        listing.line(2, &format!("member {} of", member.member));
                    }
                    listing.pin(url, *algorithm, digest);
                }
                _ => {}
            }
            listing.origin(&placed.origin);
            listing.content(placed);
        });
    }

    fn content(&mut self, placed: &Placed) {
        let ResourceKind::File(file) = &placed.kind else { return };
        let Some(file) = file.desired.present() else { return };
        if file.content.contains('\r') {
            self.line(2, "line endings: CRLF");
        }
        for line in file.content.lines() {
            self.line(2, &format!("| {line}"));
        }
    }

    fn pin(&mut self, url: &str, algorithm: PinAlgorithm, digest: &str) {
        self.line(2, url);
        self.line(2, &format!("{} {digest}", algorithm.as_str()));
    }

    fn registry(&mut self, machine: &Machine) {
        let mut values = machine.present::<RegistryValue>().peekable();
        if values.peek().is_some() {
            self.title("Registry");
        }
        let mut key = "";
        for value in values {
            if !value.it.key.eq_ignore_ascii_case(key) {
                key = &value.it.key;
                self.line(1, key);
            }
            let (name, origin) = (&value.it.value_name, &value.origin.resource);
            self.line(2, &format!("{name} = {}  from {origin}", format_data(&value.settings.data)));
            self.later_arguments(3, value.settings.arguments_file.as_ref());
        }
    }

    fn settings(&mut self, machine: &Machine) {
        self.section("Windows features", machine.all::<WindowsFeature>(), |listing, (it, origin)| {
            let state = if it.installed { "installed" } else { "not installed" };
            listing.line_from(&format!("{} {state}", it.feature), origin);
        });
        self.windows(machine);
        self.section("Environment", machine.present::<EnvironmentVariable>(), |listing, variable| {
            let text = format!("{}={}", variable.it.variable, variable.settings.value);
            listing.line_from(&text, variable.origin);
        });
        let entries = machine.path.iter().filter_map(|entry| {
            let is_it = |it: &PathEntry| paths::key(&it.entry) == paths::key(entry);
            machine.all::<PathEntry>().find(|(it, _)| is_it(it)).map(|(_, origin)| (entry, origin))
        });
        self.section("Added to PATH, in this order", entries, |listing, (entry, origin)| {
            listing.line_from(entry, origin);
        });
        self.section("Defender exclusions", machine.all::<DefenderExclusion>(), |listing, (it, origin)| {
            listing.line_from(&format!("{} {}", it.kind.as_str(), it.value), origin);
        });
    }

    /// Types without a section of their own, with their properties as they are.
    fn windows(&mut self, machine: &Machine) {
        let things = machine.resources.iter().filter(|(_, placed)| {
            !placed.kind.properties().is_absent()
                && matches!(
                    placed.kind,
                    ResourceKind::Hotfix(_)
                        | ResourceKind::WindowsUpdate(_)
                        | ResourceKind::WindowsCapability(_)
                        | ResourceKind::ScheduledTask(_)
                        | ResourceKind::HnsNetwork(_)
                        | ResourceKind::PowerPlan(_)
                        | ResourceKind::PageFile(_)
                        | ResourceKind::Certificate(_)
                        | ResourceKind::Script(_)
                )
        });
        self.section("Updates, tasks and system settings", things, |listing, (identity, placed)| {
            let (kind, properties) = placed.kind.to_json();
            // The resource's name says more than a digest or a script.
            let is_named =
                matches!(identity.properties(), [_]) && !matches!(placed.kind, ResourceKind::Script(_));
            let hidden = |name: &str| name == "ensure" || is_named && identity.properties().contains(&name);
            let name = if is_named { identity.name() } else { placed.origin.resource.as_str() };
            listing.line(1, &format!("{kind} {name}"));
            for (name, value) in properties.iter().filter(|(name, _)| !hidden(name)) {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let words: Vec<String> = format!("{name}: {value}").split(' ').map(str::to_owned).collect();
                listing.wrap(2, &words);
            }
            listing.origin(&placed.origin);
        });
    }

    fn network(&mut self, machine: &Machine) {
        self.section("Firewall", machine.present::<FirewallRule>(), |listing, rule| {
            let text = format!("{}: {}", rule.it.rule_name, format_rule(rule.settings));
            listing.line_from(&text, rule.origin);
        });
        self.section("Ports in use", machine.ports.iter(), |listing, port| {
            listing.line(1, &format_port(port));
        });
        self.section("Port ranges", machine.all::<PortRange>(), |listing, (it, origin)| {
            let kind = match it.kind {
                PortRangeKind::Dynamic => "dynamic",
                PortRangeKind::Excluded => "excluded",
            };
            let last = u32::from(it.start) + u32::from(it.count).saturating_sub(1);
            listing.line_from(&format!("{kind} {} {}-{last}", it.protocol, it.start), origin);
        });
    }

    fn access(&mut self, machine: &Machine) {
        let users = machine.all::<LocalUser>().filter(|(it, _)| it.ensure != EnsureUser::Absent);
        self.section("Build accounts", users, |listing, (it, origin)| {
            let state = match it.ensure {
                EnsureUser::Present => "enabled",
                EnsureUser::Closed => "no way in: absent, disabled, or the platform's built-in administrator",
                EnsureUser::Disabled | EnsureUser::Absent => "disabled",
            };
            listing.line_from(&format!("{} {state}", it.user_name), origin);
        });
        let winrm = machine.resources.values().filter_map(|placed| match &placed.kind {
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
        self.section("WinRM", winrm, |listing, (text, origin)| listing.line_from(&text, origin));
        let absent = machine.resources.iter().filter(|(_, placed)| placed.kind.properties().is_absent());
        self.section("Absent", absent, |listing, (identity, placed)| {
            let text = format!("{} {}", placed.kind.to_json().0, identity.name());
            listing.line_from(&text, &placed.origin);
        });
    }

    fn checks(&mut self, machine: &Machine) {
        self.section("Assertions", machine.all::<Assertion>(), |listing, (it, origin)| {
            listing.line(1, &format_assertion(it));
            listing.origin(origin);
        });
        self.section("Sysprep", machine.all::<Sysprep>(), |listing, (it, origin)| {
            listing.line(1, &format!("image state {}, then {}", it.image_state, it.finish));
            listing.line(2, &format!("answer file: {}", it.unattend));
            listing.origin(origin);
        });
    }
}
