//! Problems of a plan: one function per rule, which looks at the context and adds what it finds to it.

mod accounts;
mod conflicts;
mod credentials;
mod features;
mod files;
mod flags;
mod forms;
mod leftovers;
mod metadata;
mod network;
mod sealing;
mod security;
mod services;
mod writes;

use std::cell::RefCell;

use crate::base::code::Code;
use crate::diagnostic::Finding;
use crate::windows::paths;
use crate::windows::resource::{Msi, Resource, Service};

use super::command::CommandLine;
use super::expect::{Expectations, PackageService};
use super::history::{Act, History, list_acts};
use super::state::{Machine, PresentResource, ResourceOrigin};

pub(super) struct Context<'a> {
    pub resources: &'a [Resource],
    /// Acts of all resources, in order.
    pub acts: &'a [Act<'a>],
    pub machine: &'a Machine,
    pub history: History,
    pub expectations: &'a Expectations<'a>,
    /// Found so far.
    problems: RefCell<Vec<Finding>>,
}

type Check = fn(&Context<'_>);

const CHECKS: [Check; 34] = [
    accounts::check_stage_accounts,
    conflicts::check_resource_names,
    conflicts::check_claims,
    conflicts::check_removals,
    credentials::check_providers,
    features::check_feature_order,
    files::check_parent_directories,
    files::check_path_entries,
    files::check_environment,
    files::check_link_targets,
    files::check_tools,
    files::check_node_facts,
    flags::check_flags,
    flags::check_flag_paths,
    flags::check_cri_endpoint,
    forms::check_descriptors,
    forms::check_command_characters,
    forms::check_service_programs,
    leftovers::check_build_scope,
    leftovers::check_build_access,
    leftovers::check_temporary_paths,
    metadata::check_endpoints,
    network::check_loopback_ports,
    network::check_ports,
    network::check_proxy_network,
    sealing::check_sysprep,
    sealing::check_session,
    sealing::check_name_order,
    security::check_programs,
    security::check_search_path,
    services::check_programs,
    services::check_dependencies,
    services::check_settings,
    writes::check_foreign_writes,
];

/// Remedy for a file that no resource creates.
const DECLARE: &str =
    "create the file, or declare in provisioners/later.json which program creates it";

pub(super) fn find_problems(
    resources: &[Resource],
    machine: &Machine,
    expectations: &Expectations<'_>,
) -> Vec<Finding> {
    let acts = list_acts(resources);
    let history = History::from_acts(&acts, expectations.platform);
    let context = Context {
        resources,
        acts: &acts,
        machine,
        history,
        expectations,
        problems: RefCell::default(),
    };
    for check in CHECKS {
        check(&context);
    }
    let mut problems = context.problems.into_inner();
    problems.sort_by(|a, b| a.code.cmp(&b.code));
    problems
}

/// Something that a problem can point to.
trait Locate {
    fn resource(&self) -> &str;
    fn step(&self) -> &str;
}

impl Locate for Resource {
    fn resource(&self) -> &str {
        &self.name
    }
    fn step(&self) -> &str {
        &self.step
    }
}

impl Locate for ResourceOrigin {
    fn resource(&self) -> &str {
        &self.resource
    }
    fn step(&self) -> &str {
        &self.step
    }
}

/// The target itself, for a problem that no resource causes.
struct TargetSubject<'a>(&'a str);

impl Locate for TargetSubject<'_> {
    fn resource(&self) -> &str {
        self.0
    }
    fn step(&self) -> &'static str {
        ""
    }
}

impl<'a> Context<'a> {
    fn add_problem(&self, rule: Code, by: &impl Locate, message: String, remedy: &str) {
        let step = by.step();
        let step_file = if step.is_empty() {
            String::new()
        } else {
            (self.expectations.step_file)(step)
        };
        let finding = Finding::new(rule, message, remedy).with_subject(by.resource());
        let mut problems = self.problems.borrow_mut();
        problems.push(finding.with_file(step_file));
    }

    /// The services that run a program, with their command lines.
    fn commands(&self) -> impl Iterator<Item = (PresentResource<'a, Service>, CommandLine<'a>)> {
        let services = self.machine.present_resources::<Service>();
        services.filter_map(|service| {
            let command = CommandLine::from_service(service.settings)?;
            Some((service, command))
        })
    }

    /// The package that installs the service, with the resource that brings it.
    fn find_package(
        &self,
        service: &str,
    ) -> Option<(&'a PackageService, &'a Msi, &'a ResourceOrigin)> {
        for installed in self.expectations.packages {
            if !installed.service.eq_ignore_ascii_case(service) {
                continue;
            }
            let mut packages = self.machine.resources_of::<Msi>();
            let found = packages.find(|(package, _)| package.download.url == installed.package);
            if let Some((package, origin)) = found {
                return Some((installed, package, origin));
            }
        }
        None
    }

    /// Whether the path is on the finished machine.
    fn exists(&self, path: &str) -> bool {
        self.history.exists_at_end(path)
    }

    /// Whether `later.json` declares that a program creates the path after the image is made.
    fn is_created_later(&self, path: &str) -> bool {
        self.expectations
            .later
            .iter()
            .any(|later| later.covers_path(path))
    }

    /// Whether the directory is on the machine's PATH.
    fn is_on_path(&self, entry: &str) -> bool {
        self.machine
            .path
            .iter()
            .any(|known| paths::normalize_key(known) == paths::normalize_key(entry))
    }

    /// Where the resource stands in the plan.
    fn index_of(&self, origin: &ResourceOrigin) -> Option<usize> {
        self.resources
            .iter()
            .position(|resource| resource.name == origin.resource)
    }
}
