//! Catalog × selection → plan. Pure: the rules of compatibility are data of the catalog, this
//! applies them, and says for every choice why it was made.
//!
//! All refusals of a selection are reported at once, each with the nearest good choice.

mod artifacts;
mod choices;
mod delivery;
mod extras;
mod groups;
mod kubernetes;
mod media;
mod overrides;
mod refusal;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::Finding;
use crate::embedded::sha256;
use crate::model::json;
use crate::model::kubernetes::KubernetesLine;
use crate::model::plan::{Plan, PlannedArtifact, PlannedGroup, Warning};
use crate::model::pod_network::PodNetwork;
use crate::model::selection::ImageDefinition;
use crate::model::situation::Situation;
use crate::model::target::Target;
use crate::model::version::Version;
use crate::model::windows::WindowsRelease;

pub use artifacts::{Platform, plan_artifact, plan_tool};
pub use refusal::ResolveError;

/// The name under which an update knows everything that has Kubernetes' own version.
pub const KUBERNETES: &str = "kubernetes";

/// What resolving may know of the world.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Names that the environment sets, never their values.
    pub environment: BTreeSet<String>,
    /// Newer releases than the catalog's that an update found: component, or `kubernetes`, → version.
    pub updated: BTreeMap<String, Version>,
    /// SHA-256 of targets and steps that the user brought.
    pub own_files: Option<String>,
}

/// Resolves a selection.
///
/// # Errors
/// The catalog cannot be read, or the selection is refused.
pub fn resolve(
    catalog: &Catalog,
    target: Target,
    packer: &Version,
    selection: &ImageDefinition,
    surroundings: &Surroundings,
) -> Result<Plan, ResolveError> {
    let updated = &surroundings.updated;
    let (line, kubernetes, mut warnings) =
        kubernetes::choose(catalog, selection.kubernetes.as_deref(), updated.get(KUBERNETES))?;
    let mut refusals = Vec::new();
    let network = catalog.network(selection.cni.as_deref().unwrap_or("none"))?;
    let windows = choices::windows(catalog, &line, &kubernetes, selection, &mut refusals)?;
    let runtime = choices::runtime(&line, selection, &mut refusals);
    let host_access = choices::host_access(catalog, &line, runtime, selection, &mut refusals)?;
    let choice = catalog.component(runtime.as_str())?.choice(line.minor).cloned();
    let delivery = delivery::choose(&target, selection, &mut refusals);
    let mut situation = Situation {
        target: target.name.clone(),
        image: target.image().is_some(),
        windows: windows.release.clone(),
        kubernetes: kubernetes.clone(),
        runtime,
        runtime_version: groups::component_version(choice.as_ref(), runtime.as_str(), selection, updated),
        cni: network.name.clone(),
        overlay: network.overlay,
        host_access,
        delivery,
        winrm: target.image().map(|image| image.session().0),
        features: selection.features.iter().cloned().collect(),
        components: BTreeMap::new(),
    };
    let features = extras::features(catalog, &situation, &mut refusals)?;
    extras::check(selection, &mut refusals);
    extras::images(selection, runtime, &mut refusals);
    let groups = groups::choose(
        groups::Inputs { catalog, line: &line, situation: &situation, network: &network, selection, updated },
        &mut warnings,
        &mut refusals,
    )?;
    warnings.extend(delivery::check(delivery, selection, &groups, &mut refusals));
    for artifact in groups.iter().flat_map(|group| &group.artifacts) {
        overrides::check_members(artifact, &mut refusals);
        situation.components.insert(artifact.component.clone(), artifact.version.clone());
    }
    // Refused versions are included, because a rule gives a better reason for the refusal.
    for (name, version) in &selection.components {
        situation.components.entry(name.clone()).or_insert_with(|| version.clone());
    }
    check_rules(catalog, &situation, &mut refusals)?;
    let pause = choices::pause(&line, &windows, selection, &mut refusals);
    extras::packer_versions(catalog, selection, &mut refusals)?;
    let planned_packer = choices::packer(&target, packer, selection, &mut refusals);
    let chosen = variables::choose(
        &variables::Inputs {
            target: &target,
            windows: &windows,
            selection,
            packer: planned_packer.as_ref(),
            surroundings,
            image_name: format!("windows-{}-k8s-{kubernetes}", windows.release),
        },
        &mut refusals,
    );
    let variables = chosen.values;
    let mut groups = groups;
    groups.extend(media::plan_media(&target, &windows, &variables));
    let minimum_revision =
        choices::minimum_revision(&target, &windows, &situation, &features, &variables, &mut refusals);
    if !refusals.is_empty() {
        return Err(ResolveError::Refused(refusals));
    }
    warnings.extend(kubernetes::missing_survey(catalog, &line)?);
    warnings.extend(kubernetes::security_floor(&line, &kubernetes));
    warnings.extend(unpinned_warnings(&groups));
    let updated = used(updated, &kubernetes, &groups, selection);
    let runtime_version = situation.runtime_version.clone().unwrap_or_else(|| kubernetes.clone());
    let own_files = surroundings.own_files.as_deref();
    let catalog_digest = inputs_digest(catalog, &target, &line, &windows, &network, &groups, own_files)?;
    Ok(Plan {
        selection: settled(selection, &situation, &variables, &chosen.selectors),
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
        images: selection.images.clone(),
        proxy: selection.proxy.clone().unwrap_or_default(),
        groups,
        updated,
        variables,
        selectors: chosen.selectors,
        declared: chosen.declared,
        missing: chosen.missing,
        packer: planned_packer,
        warnings,
        known: known_names(catalog)?,
        catalog: catalog_digest,
        policy: None,
        signing: None,
    })
}

/// The updates that this plan is made with.
fn used(
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
    kept.map(|(name, version)| (name.clone(), version.clone())).collect()
}

fn known_names(catalog: &Catalog) -> Result<Vec<String>, CatalogError> {
    let mut names = catalog.component_names();
    names.extend(catalog.contents()?.groups.into_iter().map(|group| group.name));
    names.sort();
    names.dedup();
    Ok(names)
}

/// The selection with every default written out, as the lock records it.
fn settled(
    selection: &ImageDefinition,
    situation: &Situation,
    variables: &BTreeMap<String, serde_json::Value>,
    selectors: &BTreeMap<String, String>,
) -> ImageDefinition {
    let selectors = selectors.iter().map(|(name, value)| (name.clone(), value.clone().into()));
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

fn check_rules(
    catalog: &Catalog,
    situation: &Situation,
    refusals: &mut Vec<Finding>,
) -> Result<(), ResolveError> {
    for rule in catalog.rules()?.refusals {
        let components = rule.components.iter().all(|(name, range)| {
            situation.components.get(name).is_some_and(|version| range.contains(version))
        });
        if situation.holds(&rule.when) && components {
            refusals.retain(|refusal| {
                refusal.code != "component-range" || !rule.components.contains_key(&refusal.subject)
            });
            refusals.push(Finding::new(&rule.id, rule.reason, rule.instead).with_source(&rule.source));
        }
    }
    Ok(())
}

fn unpinned_warnings(groups: &[PlannedGroup]) -> Vec<Warning> {
    groups
        .iter()
        .flat_map(|group| &group.artifacts)
        .filter(|artifact| !artifact.is_pinned())
        .map(|artifact| Warning {
            id: "unpinned".to_owned(),
            subject: artifact.component.clone(),
            message: unpinned(artifact),
        })
        .collect()
}

fn unpinned(artifact: &PlannedArtifact) -> String {
    let title = artifact.title();
    let signature = artifact.signatures.first().map(|signature| &signature.url);
    let proof = artifact.checksums.first().map(|checksum| &checksum.url).or(signature);
    if proof.is_some() || artifact.authenticode.is_some() {
        let source = proof.map(|url| format!(" (proof: {url})")).unwrap_or_default();
        return format!("{title}: no recorded digest; run `imagegen lock` to verify and pin it{source}");
    }
    format!(
        "{title}: no recorded digest, and its publisher offers no proof; state one with `--override {}.sha256=…`",
        artifact.component
    )
}

/// SHA-256 over all entries of the catalog that the plan was made from.
fn inputs_digest(
    catalog: &Catalog,
    target: &Target,
    line: &KubernetesLine,
    windows: &WindowsRelease,
    network: &PodNetwork,
    groups: &[PlannedGroup],
    own_files: Option<&str>,
) -> Result<String, CatalogError> {
    let mut text = json::pretty(target) + &json::pretty(line) + &json::pretty(windows);
    text += own_files.unwrap_or_default();
    text += &json::pretty(network);
    text += &json::pretty(&catalog.flags()?);
    text += &json::pretty(&catalog.rules()?);
    text += &json::pretty(&catalog.features()?);
    text += &json::pretty(&catalog.contents()?);
    for group in groups {
        text += &json::pretty(group);
    }
    Ok(sha256(text.as_bytes()))
}
