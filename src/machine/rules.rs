//! What could not work, one function per rule, and what they all look at.

mod conflicts;
mod features;
mod files;
mod flags;
mod forms;
mod leftovers;
mod network;
mod sealing;
mod security;
mod services;

use crate::model::resource::Resource;

use super::expect::Expectations;
use super::history::History;
use super::problem::{Problem, Rule};
use super::state::{Machine, Origin};

pub(super) struct Context<'a> {
    pub resources: &'a [Resource],
    pub machine: &'a Machine,
    pub history: History,
    pub expectations: &'a Expectations<'a>,
}

type Check = fn(&Context<'_>, &mut Problems<'_>);

const CHECKS: [Check; 28] = [
    conflicts::resource_names,
    conflicts::claims,
    conflicts::taken_away,
    features::feature_order,
    files::parent_directories,
    files::path_entries,
    files::environment,
    files::link_targets,
    files::tools,
    flags::known,
    flags::paths_exist,
    flags::argument_files_exist,
    flags::cri_endpoint,
    forms::paths,
    forms::descriptors,
    forms::digests,
    forms::registry,
    forms::properties,
    leftovers::build_scope,
    leftovers::build_access,
    leftovers::temporary,
    network::ports,
    sealing::sysprep,
    sealing::session,
    security::programs,
    security::search_path,
    services::programs,
    services::dependencies,
];

pub(super) fn judge(
    resources: &[Resource],
    machine: &Machine,
    expectations: &Expectations<'_>,
) -> Vec<Problem> {
    let history = History::of(resources, expectations.target);
    let context = Context { resources, machine, history, expectations };
    let mut problems = Problems { found: Vec::new(), step_file: expectations.step_file };
    for check in CHECKS {
        check(&context, &mut problems);
    }
    problems.found.sort_by_key(|problem| problem.rule);
    problems.found
}

pub(super) struct Problems<'a> {
    found: Vec<Problem>,
    step_file: &'a dyn Fn(&str) -> String,
}

impl Problems<'_> {
    fn add(&mut self, rule: Rule, by: &impl Culprit, message: String, remedy: &str) {
        let step = by.step();
        let step_file = if step.is_empty() { String::new() } else { (self.step_file)(step) };
        self.found.push(Problem {
            rule,
            resource: by.resource().to_owned(),
            step_file,
            message,
            remedy: remedy.to_owned(),
        });
    }
}

/// What a problem can be laid at the door of.
trait Culprit {
    fn resource(&self) -> &str;
    fn step(&self) -> &str;
}

impl Culprit for Resource {
    fn resource(&self) -> &str {
        &self.name
    }
    fn step(&self) -> &str {
        &self.step
    }
}

impl Culprit for Origin {
    fn resource(&self) -> &str {
        &self.resource
    }
    fn step(&self) -> &str {
        &self.step
    }
}

/// The target itself, where no resource is at fault.
struct Target<'a>(&'a str);

impl Culprit for Target<'_> {
    fn resource(&self) -> &str {
        self.0
    }
    fn step(&self) -> &'static str {
        ""
    }
}

impl Context<'_> {
    /// Whether the path is on the finished machine.
    fn exists(&self, path: &str) -> bool {
        self.history.is_there_at_the_end(path)
    }

    /// Whether somebody is declared to create the path after the image is made.
    fn comes_later(&self, path: &str) -> bool {
        self.expectations.later.iter().any(|later| later.covers(path))
    }

    /// The resource's place in the plan.
    fn index_of(&self, origin: &Origin) -> Option<usize> {
        self.resources.iter().position(|resource| resource.name == origin.resource)
    }
}
