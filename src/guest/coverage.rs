//! Whether a step installs each component wherever an image has it: conditions of `contents.json` against those of
//! `steps`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::code::Code;
use crate::catalog::Trees;
use crate::diagnostic::{Finding, Result};
use crate::model::component::{Component, ComponentDefinition, Release};
use crate::model::conditions::Conditions;
use crate::model::rules::{CombinationRule, Group};
use crate::model::step::{Step, StepResource, When};

use super::read_steps;
use super::situations::{Membership, describe_situation, list_situations};

/// A finding for each component, and form of its releases, that some image has and no step installs.
///
/// # Errors
/// A file of the catalog, of the targets or of the steps cannot be read.
pub fn lint_coverage(trees: &Trees) -> Result<Vec<Finding>> {
    let steps = read_steps(&trees.provisioners)?;
    let rules = trees.catalog.load_rules()?;
    let contents = trees.catalog.load_contents()?;
    let mut groups = contents.groups.clone();
    for name in trees.catalog.component_names() {
        let component = trees.catalog.load_component(&name)?;
        let own = component.definition.contents.as_ref();
        groups.extend(own.map(|own| Group::of_component(&component.definition.name, own)));
    }

    let mut findings = Vec::new();
    for group in &groups {
        for part in group.alternatives.iter().flatten() {
            // A name without a file is a finding of the catalog's own lint.
            let Ok(component) = trees.catalog.load_component(&part.component) else {
                continue;
            };
            for list in list_facts(group, &component) {
                let installers = find_installers(&steps, &list);
                let member = Membership {
                    group,
                    part,
                    groups: &groups,
                };
                let gap = find_gap(trees, &member, &installers, &rules.refusals)?;
                findings.extend(gap.map(|gap| describe_gap(trees, group, &component, &list, &gap)));
            }
        }
    }
    Ok(findings)
}

/// Lists of the facts that have the component's files, one for each form that its releases come in.
fn list_facts(group: &Group, component: &Arc<Component>) -> BTreeSet<String> {
    let definition = &component.definition;
    let is_plugin = definition.ccg_plugin.is_some();
    let releases = definition.releases.iter();
    let planned = releases.filter(|release| is_planned(definition, release));
    let forms = planned.map(|release| match release.kind.archive_format() {
        Some(_) if is_plugin => "ccgPlugins.archives".to_owned(),
        None if is_plugin => "ccgPlugins.files".to_owned(),
        Some(_) => format!("archives.{}", group.name),
        None => format!("downloads.{}", group.name),
    });
    forms.collect()
}

/// Whether some Kubernetes line works with a version of the release.
fn is_planned(definition: &ComponentDefinition, release: &Release) -> bool {
    let mut choices = definition.choices.iter();
    definition.choices.is_empty() || choices.any(|it| it.allowed.overlaps(&release.versions))
}

/// Conditions of the resources that are repeated over the list.
fn find_installers<'a>(steps: &'a [(String, Step)], list: &str) -> Vec<(&'a When, &'a When)> {
    let mut found = Vec::new();
    for (_, step) in steps {
        let resources = step.resources.iter();
        let installers = resources.filter(|resource| takes_list(resource, list));
        found.extend(installers.map(|resource| (&step.when, &resource.when)));
    }
    found
}

/// A step names a file by repeating a resource over its list, or by the list's name in an expression.
fn takes_list(resource: &StepResource, list: &str) -> bool {
    if !["archive", "artifact", "msi"].contains(&resource.kind.as_str()) {
        return false;
    }
    if let Some(each) = &resource.each {
        return each == list;
    }
    let mut values = resource.properties.values();
    values.any(|value| value.to_string().contains(list))
}

/// The first image that has the component and no resource for it.
fn find_gap(
    trees: &Trees,
    member: &Membership<'_>,
    installers: &[(&When, &When)],
    refusals: &[CombinationRule],
) -> Result<Option<String>> {
    let mut whens = vec![&member.group.when, &member.part.when];
    whens.extend(
        installers
            .iter()
            .flat_map(|(step, resource)| [*step, *resource]),
    );
    for situation in list_situations(trees, member, &whens)? {
        let is_built = member.is_part_of(&situation) && !is_refused(refusals, &situation);
        let mut installers = installers.iter();
        let is_covered =
            installers.any(|(step, resource)| situation.holds(step) && situation.holds(resource));
        if is_built && !is_covered {
            return Ok(Some(describe_situation(&situation, &whens)));
        }
    }
    Ok(None)
}

fn is_refused(refusals: &[CombinationRule], situation: &Conditions) -> bool {
    let mut refusals = refusals.iter();
    refusals.any(|rule| rule.components.is_empty() && situation.holds(&rule.when))
}

fn describe_gap(
    trees: &Trees,
    group: &Group,
    component: &Component,
    list: &str,
    gap: &str,
) -> Finding {
    let name = &component.definition.name;
    let message = if gap.is_empty() {
        format!("{}: no step installs {name} (`each`: `{list}`)", group.name)
    } else {
        format!(
            "{}: no step installs {name} (`each`: `{list}`) where an image has it: {gap}",
            group.name
        )
    };
    let remedy = "give the group the conditions of its step, or add a resource to a step";
    let subject = trees.catalog.file_label("contents.json");
    Finding::new(Code::COMPONENT_UNINSTALLED, message, remedy).with_subject(subject)
}
