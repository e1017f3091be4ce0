//! The rule, its value and its source, for anything that has a name.

mod catalog;
mod facts;
mod options;
mod policy;
mod resource;
mod value;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::names::find_closest_name;
use crate::catalog::{CatalogError, Trees, load_targets};
use crate::diagnostic::{Error, Result};
use crate::guest::read_steps;
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::target::Target;
use crate::model::variable::Variable;

use crate::planning::{predict_machine, resolve_node_plan};
use crate::render::read_packer_base;
use crate::selection::{DefinedImage, Flags};

use catalog::find_program_name;
pub use options::OptionHelp;
pub use words::read_words;

/// One thing that a name means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `component`, `flag`, `gate`, `step`, `resource`, `rule`, `pod network`, `windows setting`, `variable`, …
    pub kind: &'static str,
    pub name: String,
    pub lines: Vec<String>,
    pub source: String,
}

/// Meaning of a name in a plan; without a target in the selection, for any target.
///
/// # Errors
/// The selection cannot be resolved, or the name is unknown.
pub fn explain_name(
    name: &str,
    flags: &Flags,
    options: &[OptionHelp],
    image: &DefinedImage,
    trees: &Trees,
) -> Result<(Vec<Explanation>, Plan)> {
    let (names, plan) = index_names(flags, options, image, trees)?;
    let found = names.explain(name, &plan, trees)?;
    Ok((found, plan))
}

/// Every name that is known for a selection.
///
/// # Errors
/// The selection cannot be resolved, or the catalog cannot be read.
pub fn index_names(
    flags: &Flags,
    options: &[OptionHelp],
    image: &DefinedImage,
    trees: &Trees,
) -> Result<(NameIndex, Plan)> {
    let (plan, _) = resolve_node_plan(flags, image, trees)?;
    let mut index = NameIndex::default();
    index.add_components(&plan, trees)?;
    index.add_pause(&plan);
    index.add_flags(&plan, trees)?;
    index.add_steps(&plan, trees)?;
    index.add_rules(trees)?;
    index.add_owners(trees)?;
    index.add_settings(&plan, trees)?;
    index.add_networks(trees)?;
    index.add_variables(&plan, trees)?;
    index.add_programs(trees)?;
    index.add_catalog(trees)?;
    index.add_words();
    index.add_policy();
    index.add_options(options);
    Ok((index, plan))
}

/// Names in lower case and without leading dashes → what they mean.
#[derive(Debug, Default)]
pub struct NameIndex(BTreeMap<String, Vec<Explanation>>);

fn normalize_name(name: &str) -> String {
    name.trim_start_matches('-').to_lowercase()
}

impl NameIndex {
    pub fn find(&self, name: &str) -> Option<&[Explanation]> {
        self.0.get(&normalize_name(name)).map(Vec::as_slice)
    }

    /// Meanings of a name, or of a name with a value.
    ///
    /// # Errors
    /// The name is unknown, or the catalog cannot be read.
    pub fn explain(&self, name: &str, plan: &Plan, trees: &Trees) -> Result<Vec<Explanation>> {
        if let Some(found) = self.find_meanings(name, trees)? {
            return Ok(found);
        }
        let found = value::explain_value(name, self, plan, trees)?;
        found.ok_or_else(|| self.refuse(name))
    }

    /// Meanings of a name for imagegen and for the programs of a node, which share names of flags.
    fn find_meanings(&self, name: &str, trees: &Trees) -> Result<Option<Vec<Explanation>>> {
        let own = self.find(name).unwrap_or_default();
        let mut found = own.to_vec();
        if own.iter().all(|it| it.kind == options::OPTION) {
            found.extend(find_program_name(trees, name)?.unwrap_or_default());
        }
        Ok((!found.is_empty()).then_some(found))
    }

    /// Meanings of a name that are of this kind.
    fn find_kind(&self, name: &str, kind: &str) -> Vec<Explanation> {
        let found = self.find(name).unwrap_or_default().iter();
        found.filter(|it| it.kind == kind).cloned().collect()
    }

    /// Names of this kind, without repetition.
    fn list_names(&self, kind: &str) -> Vec<&str> {
        let names = self.entries().filter(|it| it.kind == kind);
        let names: BTreeSet<&str> = names.map(|it| it.name.as_str()).collect();
        names.into_iter().collect()
    }

    /// All explanations, ordered by name.
    pub fn entries(&self) -> impl Iterator<Item = &Explanation> {
        self.0.values().flatten()
    }

    fn refuse(&self, name: &str) -> Error {
        let known = self.0.keys().map(String::as_str);
        let suggestion = match find_closest_name(&normalize_name(name), known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "`imagegen list` shows components, features, variables, steps and rules".to_owned()
            }
        };
        CatalogError::Unknown {
            what: "name",
            name: name.to_owned(),
            suggestion,
        }
        .into()
    }

    fn add(&mut self, kind: &'static str, name: &str, lines: Vec<String>, source: &str) {
        self.add_as(name, kind, name, lines, source);
    }

    /// Adds an explanation under another name than its own. An explanation stands once under a name.
    fn add_as(
        &mut self,
        key: &str,
        kind: &'static str,
        name: &str,
        lines: Vec<String>,
        source: &str,
    ) {
        let item = Explanation {
            kind,
            name: name.to_owned(),
            lines,
            source: source.to_owned(),
        };
        // The unnamed value of a registry key: nobody asks for it, and every short name is close to it.
        let key = normalize_name(key);
        if key.is_empty() {
            return;
        }

        let items = self.0.entry(key).or_default();
        if !items.contains(&item) {
            items.push(item);
        }
    }

    fn add_components(&mut self, plan: &Plan, trees: &Trees) -> Result<()> {
        for name in trees.catalog.component_names() {
            let component = trees.catalog.load_component(&name)?;
            let mut lines = vec![
                component.definition.summary.clone(),
                format!("license: {}", component.definition.license),
            ];
            let choice = component.find_choice(plan.line.minor);
            if let Some(choice) = choice {
                lines.push(format!(
                    "default {} for Kubernetes {}: {}",
                    choice.default, plan.line.minor, choice.reason
                ));
                lines.push(format!("allowed: {}", choice.allowed));
            }
            for group in &plan.groups {
                for artifact in &group.artifacts {
                    if artifact.component == name.as_str() {
                        describe_artifact(artifact, &group.reason, &mut lines);
                    }
                }
            }
            let release = component.definition.releases.first();
            let source = choice.map(|choice| &choice.source);
            let source = source.or(release.map(|release| &release.source));
            self.add(
                "component",
                &name,
                lines,
                &source.cloned().unwrap_or_default(),
            );
        }
        Ok(())
    }

    fn add_flags(&mut self, plan: &Plan, trees: &Trees) -> Result<()> {
        let table = trees.catalog.load_flags()?;
        let conditions = plan.conditions();
        for rule in &table.flags {
            let applies = conditions.admits(&rule.versions, &rule.when);
            let lines = vec![
                format!(
                    "{}: versions {}, value {}",
                    rule.program,
                    rule.versions,
                    rule.value.as_deref().unwrap_or("none")
                ),
                rule.reason.clone(),
                format!(
                    "in this plan: {}",
                    if applies { "given" } else { "not given" }
                ),
            ];
            self.add("flag", &rule.flag, lines, &rule.source);
        }
        for rule in &table.feature_gates {
            let applies = conditions.admits(&rule.versions, &rule.when);
            let lines = vec![
                format!(
                    "{}: versions {}, set to {}",
                    rule.program, rule.versions, rule.value
                ),
                rule.reason.clone(),
                format!(
                    "in this plan: {}",
                    if applies { "given" } else { "not given" }
                ),
            ];
            self.add("gate", &rule.gate, lines, &rule.source);
        }
        Ok(())
    }

    fn add_steps(&mut self, plan: &Plan, trees: &Trees) -> Result<()> {
        let (guest, prediction) = predict_machine(plan, trees)?;
        self.add_machine(&prediction.machine);
        self.add_facts(&guest.facts);
        for (path, step) in read_steps(&trees.provisioners)?.iter() {
            let mut names = Vec::new();
            for resource in &guest.plan.resources {
                if resource.step == step.id {
                    names.push(resource.name.clone());
                }
            }
            let part = match names.len() {
                0 => "not part of this plan".to_owned(),
                count => format!("{count} resources in this plan"),
            };
            let mut lines = vec![step.summary.clone(), part];
            lines.append(&mut names);
            self.add("step", &step.id, lines, path);
            for resource in &step.resources {
                self.add_step_resource(step, resource);
            }
        }
        for resource in &guest.plan.resources {
            let source = guest.sources.get(&resource.name).map_or("", String::as_str);
            self.add_resource(resource, source);
        }
        Ok(())
    }

    fn add_rules(&mut self, trees: &Trees) -> Result<()> {
        let rules = trees.catalog.load_rules()?;
        let refusals = rules.refusals.iter().map(|rule| ("refused", rule));
        let warnings = rules.warnings.iter().map(|rule| ("warning", rule));
        for (verdict, rule) in refusals.chain(warnings) {
            let reason = format!("{verdict}: {}", rule.reason);
            let lines = vec![reason, rule.instead.clone()];
            self.add("rule", &rule.id, lines, &rule.source);
        }
        Ok(())
    }

    /// Products that own their nodes, and what an image for them must not have.
    fn add_owners(&mut self, trees: &Trees) -> Result<()> {
        for owner in &trees.catalog.load_rules()?.owners {
            let mut lines = vec![owner.title.clone(), owner.reason.clone()];
            let services = owner.services.iter().map(|name| format!("service {name}"));
            let refused: Vec<String> = services.chain(owner.paths.iter().cloned()).collect();
            if !refused.is_empty() {
                lines.push(format!("an image must not have: {}", refused.join(", ")));
            }
            lines.push(owner.instead.clone());
            self.add("node owner", &owner.name, lines, &owner.source);
        }
        Ok(())
    }

    fn add_networks(&mut self, trees: &Trees) -> Result<()> {
        for name in trees.catalog.network_names() {
            let network = trees.catalog.network(&name)?;
            let mut lines = vec![network.title.clone()];
            if !network.components.is_empty() {
                lines.push(format!("components: {}", network.components.join(", ")));
            }
            lines.extend(
                network
                    .hns_network
                    .as_ref()
                    .map(|hns| format!("HNS network: {hns}")),
            );
            self.add("pod network", &name, lines, &network.source);
        }
        Ok(())
    }

    fn add_variables(&mut self, plan: &Plan, trees: &Trees) -> Result<()> {
        for target in load_targets(&trees.packer)? {
            for variable in &target.variables {
                self.add_variable(plan, &target, variable);
            }
            for selector in &target.selectors {
                let mut lines = vec![
                    format!("target {}: {}", target.name, selector.description),
                    format!("default: {}", selector.default),
                ];
                lines.extend(
                    selector
                        .values
                        .iter()
                        .map(|value| format!("{}: {}", value.value, value.description)),
                );
                let names = selector.build_time.then(|| selector.packer_name());
                lines.push(describe_environment(&names.into_iter().collect::<Vec<_>>()));
                self.add("variable", &selector.name, lines, &selector.source);
            }
        }
        Ok(())
    }

    /// A bake needs them, and `doctor` looks for them.
    fn add_programs(&mut self, trees: &Trees) -> Result<()> {
        let targets = load_targets(&trees.packer)?;
        let images = targets.iter().filter_map(|target| target.image());
        let base = read_packer_base(&trees.packer)?;
        for program in images
            .flat_map(|image| &image.programs)
            .chain(&base.programs)
        {
            let names = program.names.as_slice();
            for name in names.iter().chain([&names.join(" or ")]) {
                let lines = vec![format!("a program that {}", program.purpose)];
                self.add("doctor check", name, lines, &program.source);
            }
        }
        Ok(())
    }

    fn add_variable(&mut self, plan: &Plan, target: &Target, variable: &Variable) {
        let mut lines = vec![
            format!("target {}: {}", target.name, variable.description),
            format!("type: {}", variable.kind.as_str()),
        ];
        let value = plan
            .variables
            .get(&variable.name)
            .filter(|_| plan.target.name == target.name);
        lines.extend(value.map(|value| format!("in this plan: {value}")));
        for (selector, values) in &variable.when {
            lines.push(format!("only with {selector} `{}`", values.join("` or `")));
        }
        let environment: Vec<String> = variable.environment_names().collect();
        lines.push(describe_environment(&environment));
        let (name, source) = (&variable.name, &variable.source);
        for key in &environment {
            self.add_as(key, "variable", name, lines.clone(), source);
        }
        self.add("variable", name, lines, source);
    }
}

fn describe_environment(names: &[String]) -> String {
    if names.is_empty() {
        return "part of the lock; the environment cannot set it".to_owned();
    }
    format!("not part of the lock; environment: {}", names.join(", "))
}

fn describe_artifact(artifact: &PlannedArtifact, reason: &str, lines: &mut Vec<String>) {
    lines.push(format!("in this plan: {} ({reason})", artifact.version));
    lines.push(format!("from {}", artifact.url));
    lines.push(artifact.format_pin_state());
    for checksum in &artifact.checksums {
        lines.push(format!("checksum file: {}", checksum.url));
    }
    for signature in &artifact.signatures {
        let identity = signature.identity.as_deref().unwrap_or("-");
        lines.push(format!("signature: {} by {identity}", signature.url));
    }
}
