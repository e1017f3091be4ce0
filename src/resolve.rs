//! Catalog × selection → plan. Pure: the rules of compatibility are data of the catalog, this
//! applies them, and says for every choice why it was made.
//!
//! All refusals of a selection are reported at once, each with the nearest good choice.

mod artifacts;
mod choices;
mod delivery;
mod extras;
mod floating;
mod groups;
mod image;
mod images;
mod kubernetes;
mod media;
mod overrides;
mod refusal;
mod support;
mod variables;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::choice::{Delivery, HostAccess, Join, Runtime};
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::version::Version;
use crate::catalog::{Catalog, CatalogError, TABLES};
use crate::diagnostic::{Finding, Result};
use crate::model::conditions::Conditions;
use crate::model::definition::ImageDefinition;
use crate::model::feature::Feature;
use crate::model::kubernetes::KubernetesLine;
use crate::model::overrides::is_prefix;
use crate::model::plan::{ArtifactRole, Governance, Plan, PlannedGroup, PlannedPacker, Warning};
use crate::model::pod_network::PodNetwork;
use crate::model::rules::CombinationRule;
use crate::model::target::Target;
use crate::model::windows::WindowsRelease;

pub use artifacts::{BuildHost, UnknownHost, plan_artifact, plan_tool};
pub use delivery::{check_mirrored, warn_login};
use image::ImageNames;
pub use images::IMAGE_SETS;
use images::PlannedImages;
pub use refusal::refuse_image;
use variables::VariableChoices;

/// The name under which an update knows everything that has Kubernetes' own version.
pub const KUBERNETES: &str = "kubernetes";

/// The part of the world that resolving may know.
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

/// One resolution on its way: the inputs that every choice reads, and all that was found.
struct Resolver<'a> {
    catalog: &'a Catalog,
    selection: &'a ImageDefinition,
    world: &'a World,
    refusals: Vec<Finding>,
    warnings: Vec<Warning>,
}

/// Choices that components depend on.
struct ChosenPlatform {
    line: Arc<KubernetesLine>,
    kubernetes: Version,
    windows: Arc<WindowsRelease>,
    runtime: Runtime,
    network: Arc<PodNetwork>,
    host_access: HostAccess,
    delivery: Delivery,
    features: Vec<Feature>,
    conditions: Conditions,
}

/// The contents of the image, and the programs that bake it.
struct ChosenContents {
    groups: Vec<PlannedGroup>,
    pause: String,
    images: PlannedImages,
    packer: Option<PlannedPacker>,
    /// Digest of the catalog's entries that count.
    catalog: String,
}

/// Resolves a selection.
///
/// # Errors
/// The catalog cannot be read, or the selection is refused.
pub fn resolve_selection(
    catalog: &Catalog,
    target: Arc<Target>,
    packer: &Version,
    selection: &ImageDefinition,
    world: &World,
) -> Result<Plan> {
    let mut resolver = Resolver {
        catalog,
        selection,
        world,
        refusals: Vec::new(),
        warnings: Vec::new(),
    };
    let mut platform = resolver.choose_platform(&target)?;
    let mut contents = resolver.choose_contents(&target, packer, &mut platform)?;
    let chosen = resolver.choose_variables(&target, &platform, &contents);

    let media = media::plan_media(&target, &platform.windows, &chosen.values);
    contents.groups.extend(media);
    let minimum_revision =
        choices::minimum_revision(&mut resolver, &target, &platform, &chosen.values);

    if !resolver.refusals.is_empty() {
        return Err(refuse_image(resolver.refusals).into());
    }
    resolver.warn_of_choices(&target, &platform, &chosen)?;
    resolver.assemble_plan(target, platform, contents, chosen, minimum_revision)
}

impl Resolver<'_> {
    fn choose_platform(&mut self, target: &Target) -> Result<ChosenPlatform> {
        let Self {
            catalog,
            selection,
            world,
            ..
        } = *self;
        let updated = &world.updated;
        let asked = selection.kubernetes.as_deref();

        let (line, kubernetes, warnings) =
            kubernetes::choose_kubernetes(catalog, asked, updated.get(KUBERNETES))?;
        self.warnings.extend(warnings);
        versions::check_versions(catalog, &selection.components, line.minor)?;
        let windows = choices::choose_windows(self, &line, &kubernetes)?;
        let runtime = choices::choose_runtime(self, &line);
        let host_access = choices::choose_host_access(self, &line, runtime)?;
        let component = catalog.load_component(runtime.as_str())?;
        let choice = component.find_choice(line.minor);
        let runtime_version =
            groups::component_version(choice, runtime.as_str(), selection, updated);
        let delivery = delivery::choose_delivery(self, target);

        let mut conditions = Conditions {
            target: target.name.clone(),
            image: target.image().is_some(),
            windows: windows.release.clone(),
            kubernetes: kubernetes.clone(),
            runtime,
            runtime_version,
            cni: String::new(),
            overlay: false,
            dsr: windows.dsr,
            host_access,
            join: selection.join.unwrap_or(Join::Kubeadm),
            delivery,
            winrm: target.image().map(|image| image.session().0),
            features: selection.features.iter().cloned().collect(),
            components: BTreeMap::new(),
        };
        let network = choices::choose_network(self, &mut conditions)?;
        let features = extras::choose_features(self, &conditions)?;
        extras::check_downloads(self);
        extras::warn_of_proxy(self, target);
        extras::check_registries(self, runtime, conditions.runtime_version.as_ref());
        extras::check_containerd_options(self, runtime, conditions.runtime_version.as_ref());

        Ok(ChosenPlatform {
            line,
            kubernetes,
            windows,
            runtime,
            network,
            host_access,
            delivery,
            features,
            conditions,
        })
    }

    /// Chooses components by the conditions, which from then on name them.
    fn choose_contents(
        &mut self,
        target: &Target,
        packer: &Version,
        platform: &mut ChosenPlatform,
    ) -> Result<ChosenContents> {
        let Self {
            catalog, selection, ..
        } = *self;

        let groups = groups::choose_groups(self, platform)?;
        delivery::check_delivery(self, platform.delivery, target, &groups);
        add_components(
            &mut platform.conditions,
            &groups,
            selection,
            &mut self.refusals,
        );
        self.check_rules(&platform.conditions)?;
        refusal::drop_consequences(&platform.line, platform.runtime, &mut self.refusals);
        let pause = choices::choose_pause_image(self, &platform.line, &platform.windows);
        let images = match platform.conditions.join {
            Join::None => images::refuse_images(self),
            Join::Kubeadm | Join::Templates => images::plan_images(self, &pause, platform)?,
        };
        extras::check_packer_versions(self)?;
        let packer = choices::plan_packer(self, target, packer);
        overrides::check_planned_overrides(
            catalog,
            &groups,
            packer.as_ref(),
            selection,
            &mut self.refusals,
        )?;
        let catalog = self.digest_inputs(target, platform, &groups)?;

        Ok(ChosenContents {
            groups,
            pause,
            images,
            packer,
            catalog,
        })
    }

    fn choose_variables(
        &mut self,
        target: &Target,
        platform: &ChosenPlatform,
        contents: &ChosenContents,
    ) -> VariableChoices {
        let image = ImageNames::new(
            &platform.windows,
            &platform.kubernetes,
            self.selection,
            &contents.catalog,
        );
        let chosen = variables::choose_variables(
            &variables::VariableInputs {
                target,
                windows: &platform.windows,
                selection: self.selection,
                packer: contents.packer.as_ref(),
                world: self.world,
                image,
            },
            &mut self.refusals,
        );
        media::check_evaluation(&platform.windows, &chosen.values, &mut self.refusals);
        extras::check_hypervisor(self, target, &platform.features, &chosen.values);
        extras::check_serial_console(self, target, &platform.features);
        chosen
    }

    fn warn_of_choices(
        &mut self,
        target: &Target,
        platform: &ChosenPlatform,
        chosen: &VariableChoices,
    ) -> Result<()> {
        let catalog = self.catalog;
        let floating = floating::warn_floating(target, &chosen.selectors, &chosen.values);

        self.warnings
            .extend(kubernetes::check_survey(catalog, &platform.line)?);
        self.warnings.extend(floating);
        Ok(())
    }

    fn assemble_plan(
        self,
        target: Arc<Target>,
        platform: ChosenPlatform,
        contents: ChosenContents,
        chosen: VariableChoices,
        minimum_revision: u32,
    ) -> Result<Plan> {
        let Self {
            catalog,
            selection,
            world,
            ..
        } = self;
        let conditions = &platform.conditions;
        let runtime_version = conditions.runtime_version.as_ref();

        Ok(Plan {
            support: support::list_support_ends(catalog, &platform, &contents.groups),
            selection: complete_selection(selection, &platform, &contents, &chosen),
            target,
            minimum_revision,
            runtime_version: runtime_version.unwrap_or(&platform.kubernetes).clone(),
            updated: select_used_updates(
                &world.updated,
                &platform.kubernetes,
                &contents.groups,
                selection,
            ),
            windows: platform.windows,
            line: platform.line,
            kubernetes: platform.kubernetes,
            runtime: platform.runtime,
            network: platform.network,
            host_access: platform.host_access,
            join: platform.conditions.join,
            delivery: platform.delivery,
            features: platform.features,
            pause: contents.pause,
            images: contents.images.pinned,
            tagged_images: contents.images.tagged,
            proxy: selection.proxy.clone().unwrap_or_default(),
            groups: contents.groups,
            variables: chosen.values,
            selectors: chosen.selectors,
            declared: chosen.declared,
            missing: chosen.missing,
            packer: contents.packer,
            choice_warnings: self.warnings,
            known: list_known_names(catalog)?,
            catalog: contents.catalog,
            own_files: world.own_files.clone(),
            governance: Governance::default(),
            locked_by: None,
        })
    }

    /// Adds what the rules of the catalog refuse and what they warn of.
    fn check_rules(&mut self, conditions: &Conditions) -> Result<()> {
        let rules = self.catalog.load_rules()?;

        for rule in &rules.refusals {
            if !applies(rule, conditions) {
                continue;
            }
            self.refusals.retain(|refusal| {
                refusal.code != Code::COMPONENT_RANGE
                    || !rule.components.contains_key(refusal.subject.as_str())
            });
            let finding = Finding::from_data(&rule.id, &rule.reason, &rule.instead);
            self.refusals.push(finding.with_source(&rule.source));
        }
        for rule in &rules.warnings {
            if !applies(rule, conditions) {
                continue;
            }
            let component = rule.components.keys().next();
            let subject = component.map_or_else(|| KUBERNETES.to_owned(), ToString::to_string);
            let message = format!("{}; {}", rule.reason, rule.instead);
            self.warnings.push(Warning {
                id: rule.id.clone(),
                subject,
                message,
            });
        }
        Ok(())
    }

    /// SHA-256 over all entries of the catalog that the plan was made from. Whole files count by their digests, which
    /// for built-in ones are known since the program was built.
    fn digest_inputs(
        &self,
        target: &Target,
        platform: &ChosenPlatform,
        groups: &[PlannedGroup],
    ) -> Result<String, CatalogError> {
        let windows = format!("windows/{}.json", platform.windows.release);
        let mut files = Vec::new();
        for path in TABLES.into_iter().chain([windows.as_str()]) {
            files.push(self.catalog.digest_file(path)?);
        }

        let ChosenPlatform { line, network, .. } = platform;
        let mut bytes = json::to_bytes(&(&target.digest, &**line, &**network, groups, files));
        let own_files = &self.world.own_files;
        if !own_files.is_empty() {
            bytes.extend(json::to_bytes(own_files));
        }
        Ok(sha256_hex(&bytes))
    }
}

/// Whether a rule concerns these conditions.
fn applies(rule: &CombinationRule, conditions: &Conditions) -> bool {
    let chosen = &conditions.components;
    let has_components = rule.components.iter().all(|(name, range)| {
        let version = chosen.get(name.as_str());
        version.is_some_and(|version| range.contains(version))
    });
    has_components && conditions.holds(&rule.when)
}

fn add_components(
    conditions: &mut Conditions,
    groups: &[PlannedGroup],
    selection: &ImageDefinition,
    refusals: &mut Vec<Finding>,
) {
    for artifact in groups.iter().flat_map(|group| &group.artifacts) {
        overrides::check_members(artifact, refusals);
        overrides::check_publisher(artifact, &selection.overrides, refusals);
        conditions
            .components
            .insert(artifact.component.to_string(), artifact.version.clone());
    }
    // Refused versions are included, because a rule gives a better reason for the refusal.
    for (name, version) in &selection.components {
        conditions
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
    let mut used = BTreeMap::new();
    for (name, version) in updated {
        let mut artifacts = groups.iter().flat_map(|group| &group.artifacts);
        let is_used = if name == KUBERNETES {
            version == kubernetes
        } else {
            artifacts.any(|it| it.component == name.as_str() && it.version == *version)
        };
        if is_used && !selection.components.contains_key(name.as_str()) {
            used.insert(name.clone(), version.clone());
        }
    }
    used
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
/// Mirrors stand apart: overrides of components decide what is in the image, and mirrors do not.
fn complete_selection(
    selection: &ImageDefinition,
    platform: &ChosenPlatform,
    contents: &ChosenContents,
    chosen: &VariableChoices,
) -> ImageDefinition {
    let conditions = &platform.conditions;
    let selectors = chosen
        .selectors
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()));
    let mut overrides = selection.overrides.clone();
    overrides.retain(|key, _| !is_prefix(key));
    let artifacts = contents.groups.iter().flat_map(|group| &group.artifacts);
    let media = artifacts.filter(|artifact| artifact.role == ArtifactRole::BootMedia);
    let mirrors = selection.download_mirrors.clone();
    ImageDefinition {
        schema: None,
        target: Some(conditions.target.clone()),
        windows: Some(conditions.windows.clone()),
        kubernetes: Some(conditions.kubernetes.to_string()),
        runtime: Some(conditions.runtime),
        cni: Some(conditions.cni.clone()),
        host_access: Some(conditions.host_access),
        delivery: Some(conditions.delivery),
        variables: chosen.values.clone().into_iter().chain(selectors).collect(),
        overrides,
        download_mirrors: mirrors
            .complete(&selection.overrides)
            .except(media.map(|medium| &medium.url)),
        ..selection.clone()
    }
}
