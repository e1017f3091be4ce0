//! Catalog × selection → plan. Pure: the rules of compatibility are data of the catalog, this
//! applies them, and says for every choice why it was made.
//!
//! All refusals of a selection are reported at once, each with the nearest good choice.

mod artifacts;
mod choices;
mod delivery;
mod extras;
mod flaws;
mod floating;
mod groups;
mod image;
mod images;
mod kubernetes;
mod media;
mod overrides;
mod refusal;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::version::Version;
use crate::catalog::{Catalog, CatalogError, TABLES};
use crate::diagnostic::{Finding, Result};
use crate::model::definition::ImageDefinition;
use crate::model::kubernetes::KubernetesLine;
use crate::model::plan::{Governance, Plan, PlannedGroup, PlannedPacker, Warning};
use crate::model::pod_network::PodNetwork;
use crate::model::rules::CombinationRule;
use crate::model::situation::Conditions;
use crate::model::target::Target;
use crate::model::windows::WindowsRelease;

pub use artifacts::{BuildHost, plan_artifact, plan_tool};
use image::ImageNames;
pub use refusal::refuse_image;

/// The name under which an update knows everything that has Kubernetes' own version.
pub const KUBERNETES: &str = "kubernetes";

/// What resolving may know of the world.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// Names that the environment sets, never their values.
    pub environment: BTreeSet<String>,
    /// Values of build-time selectors that the environment sets.
    pub selectors: BTreeMap<String, String>,
    /// Newer releases than the catalog's that an update found: component, or `kubernetes`, → version.
    pub updated: BTreeMap<String, Version>,
    /// Files that the user brought, with their SHA-256.
    pub own_files: BTreeMap<String, String>,
}

/// Resolves a selection.
///
/// # Errors
/// The catalog cannot be read, or the selection is refused.
pub fn resolve_selection(
    catalog: &Catalog,
    target: Target,
    packer: &Version,
    selection: &ImageDefinition,
    surroundings: &World,
) -> Result<Plan> {
    let updated = &surroundings.updated;
    let (line, kubernetes, mut warnings) = kubernetes::choose_kubernetes(
        catalog,
        selection.kubernetes.as_deref(),
        updated.get(KUBERNETES),
    )?;
    let mut refusals = Vec::new();
    let network = catalog.network(selection.cni.as_deref().unwrap_or("none"))?;
    let windows = choices::choose_windows(catalog, &line, &kubernetes, selection, &mut refusals)?;
    let runtime = choices::choose_runtime(&line, selection, &mut refusals);
    let host_access =
        choices::choose_host_access(catalog, &line, runtime, selection, &mut refusals)?;
    let choice = catalog
        .load_component(runtime.as_str())?
        .find_choice(line.minor)
        .cloned();
    let delivery = delivery::choose_delivery(&target, selection, &mut refusals);
    let mut situation = Conditions {
        target: target.name.clone(),
        image: target.image().is_some(),
        windows: windows.release.clone(),
        kubernetes: kubernetes.clone(),
        runtime,
        runtime_version: groups::component_version(
            choice.as_ref(),
            runtime.as_str(),
            selection,
            updated,
        ),
        cni: network.name.clone(),
        overlay: network.overlay,
        dsr: windows.dsr,
        host_access,
        delivery,
        winrm: target.image().map(|image| image.session().0),
        features: selection.features.iter().cloned().collect(),
        components: BTreeMap::new(),
    };
    let features = extras::choose_features(catalog, &situation, &mut refusals)?;
    extras::check_downloads(selection, &mut refusals);
    let mut groups = groups::choose_groups(
        groups::GroupInputs {
            catalog,
            line: &line,
            situation: &situation,
            network: &network,
            selection,
            updated,
        },
        &mut warnings,
        &mut refusals,
    )?;
    warnings.extend(delivery::check_delivery(
        delivery,
        &target,
        selection,
        &groups,
        &mut refusals,
    ));
    add_components(&mut situation, &groups, selection, &mut refusals);
    warnings.extend(check_rules(catalog, &situation, &mut refusals)?);
    refusal::drop_consequences(&line, runtime, &mut refusals);
    let pause = choices::choose_pause_image(&line, &windows, selection, &mut refusals);
    let images = images::plan_images(catalog, &pause, delivery, selection, &mut warnings)?;
    extras::check_packer_versions(catalog, selection, &mut refusals)?;
    let planned_packer = choices::plan_packer(&target, packer, selection, &mut refusals);
    check_overrides(
        catalog,
        &groups,
        planned_packer.as_ref(),
        selection,
        &mut refusals,
    )?;
    let catalog_digest = digest_inputs(
        catalog,
        &target,
        &line,
        &windows,
        &network,
        &groups,
        surroundings,
    )?;
    let image = ImageNames::new(&windows, &kubernetes, selection, &catalog_digest);
    let chosen = variables::choose_variables(
        &variables::VariableInputs {
            target: &target,
            windows: &windows,
            selection,
            packer: planned_packer.as_ref(),
            surroundings,
            image,
        },
        &mut refusals,
    );
    let variables = chosen.values;
    groups.extend(media::plan_media(&target, &windows, &variables));
    media::check_evaluation(&windows, &variables, &mut refusals);
    extras::check_hypervisor(&target, &features, &variables, &mut refusals);
    let minimum_revision = choices::minimum_revision(
        &target,
        &windows,
        &situation,
        &features,
        &variables,
        &mut refusals,
    );
    if !refusals.is_empty() {
        return Err(refuse_image(refusals).into());
    }
    warnings.extend(kubernetes::check_line(catalog, &line)?);
    warnings.extend(flaws::warn_flaws(catalog, &groups)?);
    warnings.extend(floating::warn_floating(
        &target,
        &chosen.selectors,
        &variables,
    ));
    let updated = select_used_updates(updated, &kubernetes, &groups, selection);
    let runtime_version = situation
        .runtime_version
        .clone()
        .unwrap_or_else(|| kubernetes.clone());
    Ok(Plan {
        selection: complete_selection(selection, &situation, &variables, &chosen.selectors),
        target,
        windows,
        minimum_revision,
        line,
        kubernetes,
        runtime,
        runtime_version,
        network,
        host_access,
        delivery,
        features,
        pause,
        images,
        proxy: selection.proxy.clone().unwrap_or_default(),
        groups,
        updated,
        variables,
        selectors: chosen.selectors,
        declared: chosen.declared,
        missing: chosen.missing,
        packer: planned_packer,
        choice_warnings: warnings,
        known: list_known_names(catalog)?,
        catalog: catalog_digest,
        own_files: surroundings.own_files.clone(),
        governance: Governance::default(),
        locked_by: None,
    })
}

fn add_components(
    situation: &mut Conditions,
    groups: &[PlannedGroup],
    selection: &ImageDefinition,
    refusals: &mut Vec<Finding>,
) {
    for artifact in groups.iter().flat_map(|group| &group.artifacts) {
        overrides::check_members(artifact, refusals);
        situation
            .components
            .insert(artifact.component.to_string(), artifact.version.clone());
    }
    // Refused versions are included, because a rule gives a better reason for the refusal.
    for (name, version) in &selection.components {
        situation
            .components
            .entry(name.clone())
            .or_insert_with(|| version.clone());
    }
}

/// The updates that this plan is made with.
fn select_used_updates(
    updated: &BTreeMap<String, Version>,
    kubernetes: &Version,
    groups: &[PlannedGroup],
    selection: &ImageDefinition,
) -> BTreeMap<String, Version> {
    let artifacts = || groups.iter().flat_map(|group| &group.artifacts);
    let is_used = |name: &str, version: &Version| match name {
        KUBERNETES => version == kubernetes,
        _ => artifacts().any(|artifact| artifact.component == name && artifact.version == *version),
    };
    let kept = updated.iter().filter(|(name, version)| {
        is_used(name, version) && !selection.components.contains_key(name.as_str())
    });
    kept.map(|(name, version)| (name.clone(), version.clone()))
        .collect()
}

fn list_known_names(catalog: &Catalog) -> Result<Vec<String>, CatalogError> {
    let mut names = catalog.component_names();
    names.extend(
        catalog
            .load_contents()?
            .groups
            .iter()
            .map(|group| group.name.to_string()),
    );
    names.sort();
    names.dedup();
    Ok(names)
}

/// The selection with every default written out, as the lock records it.
fn complete_selection(
    selection: &ImageDefinition,
    situation: &Conditions,
    variables: &BTreeMap<String, serde_json::Value>,
    selectors: &BTreeMap<String, String>,
) -> ImageDefinition {
    let selectors = selectors
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()));
    ImageDefinition {
        schema: None,
        target: Some(situation.target.clone()),
        windows: Some(situation.windows.clone()),
        kubernetes: Some(situation.kubernetes.to_string()),
        runtime: Some(situation.runtime),
        cni: Some(situation.cni.clone()),
        host_access: Some(situation.host_access),
        delivery: Some(situation.delivery),
        variables: variables.clone().into_iter().chain(selectors).collect(),
        ..selection.clone()
    }
}

/// Overrides against what is planned: tools that the target is not built with, and bytes that the catalog knows.
fn check_overrides(
    catalog: &Catalog,
    groups: &[PlannedGroup],
    packer: Option<&PlannedPacker>,
    selection: &ImageDefinition,
    refusals: &mut Vec<Finding>,
) -> Result<(), CatalogError> {
    check_tool_overrides(packer, selection, refusals);
    let artifacts = groups.iter().flat_map(|group| &group.artifacts);
    let artifacts = artifacts.map(|artifact| (artifact.component.to_string(), &artifact.version));
    let plugins = packer.iter().flat_map(|packer| &packer.plugins);
    let plugins = plugins.map(|plugin| (format!("packer-plugin-{}", plugin.name), &plugin.version));
    let packer = packer
        .iter()
        .map(|packer| ("packer".to_owned(), &packer.version));
    let versions = artifacts.chain(plugins).chain(packer).collect();
    overrides::check_known_digests(catalog, &selection.overrides, &versions, refusals)
}

/// Refuses overrides of tools that the target is not built with.
fn check_tool_overrides(
    packer: Option<&PlannedPacker>,
    selection: &ImageDefinition,
    refusals: &mut Vec<Finding>,
) {
    let plugins = packer.iter().flat_map(|packer| &packer.plugins);
    let mut used: Vec<String> = plugins
        .map(|plugin| format!("packer-plugin-{}", plugin.name))
        .collect();
    used.extend(packer.map(|_| "packer".to_owned()));
    let unused = selection
        .overrides
        .keys()
        .filter(|key| groups::is_tool(key) && !used.contains(key));
    refusals.extend(unused.map(|name| {
        let message = format!("an override names {name}, which this target is not built with");
        Finding::new("override-unused", message, "remove the override").with_subject(name)
    }));
}

/// Adds what the rules of the catalog refuse, and returns what they warn of.
fn check_rules(
    catalog: &Catalog,
    situation: &Conditions,
    refusals: &mut Vec<Finding>,
) -> Result<Vec<Warning>> {
    let rules = catalog.load_rules()?;
    let applies = |rule: &CombinationRule| {
        let components = rule.components.iter().all(|(name, range)| {
            situation
                .components
                .get(name.as_str())
                .is_some_and(|version| range.contains(version))
        });
        components && situation.holds(&rule.when)
    };
    for rule in rules.refusals.into_iter().filter(applies) {
        refusals.retain(|refusal| {
            refusal.code != "component-range"
                || !rule.components.contains_key(refusal.subject.as_str())
        });
        refusals.push(Finding::new(&rule.id, rule.reason, rule.instead).with_source(&rule.source));
    }
    let warn = |rule: CombinationRule| {
        let subject = rule
            .components
            .keys()
            .next()
            .map_or_else(|| "kubernetes".to_owned(), ToString::to_string);
        Warning::new(
            rule.id,
            subject,
            format!("{}; {}", rule.reason, rule.instead),
        )
    };
    Ok(rules
        .warnings
        .into_iter()
        .filter(applies)
        .map(warn)
        .collect())
}

/// SHA-256 over all entries of the catalog that the plan was made from. Whole files count by their digests, which
/// for built-in ones are known since the program was built.
fn digest_inputs(
    catalog: &Catalog,
    target: &Target,
    line: &KubernetesLine,
    windows: &WindowsRelease,
    network: &PodNetwork,
    groups: &[PlannedGroup],
    surroundings: &World,
) -> Result<String, CatalogError> {
    let windows = format!("windows/{}.json", windows.release);
    let files = TABLES.into_iter().chain([windows.as_str()]);
    let files = files
        .map(|path| catalog.digest_file(path))
        .collect::<Result<Vec<String>, _>>()?;
    let mut bytes = json::to_bytes(&(&target.digest, line, network, groups, files));
    if !surroundings.own_files.is_empty() {
        bytes.extend(json::to_bytes(&surroundings.own_files));
    }
    Ok(sha256_hex(&bytes))
}
