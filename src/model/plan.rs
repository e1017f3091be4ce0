//! The plan: what an image will hold, with the reason for each choice.

mod artifact;
mod digest;
mod downloads;
mod images;
mod tools;
mod warning;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conditions::Conditions;
use super::feature::Feature;
use super::kubernetes::KubernetesLine;
use super::pod_network::PodNetwork;
use super::policy::PolicyUsed;
use super::signing::Signing;
use super::support::SupportEnd;
use super::tagged_image::TaggedImage;
use super::target::Target;
use super::windows::WindowsRelease;
use crate::base::choice::{Delivery, HostAccess, Join, Runtime};
use crate::base::code::Code;
use crate::base::download::DownloadSize;
use crate::base::program::ProgramVersion;
use crate::base::url::strip_value;
use crate::base::value::{HostPattern, ImageReference};
use crate::base::version::Version;
use crate::model::definition::{ImageDefinition, Proxy};

pub use artifact::{ArtifactRole, OverriddenParts, PlannedArtifact, format_unasked};
pub use digest::PinnedDigest;
pub use images::{is_selected_image, list_unpinned, list_unpinned_images};
pub use tools::{PlannedPacker, PlannedPlugin};
pub use warning::{MissingVariable, Warning};

/// Everything later stages need, resolved. Made by `resolve` alone.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The selection, with every default that it came to.
    pub selection: ImageDefinition,
    pub target: Arc<Target>,
    pub windows: Arc<WindowsRelease>,
    /// Lowest update revision that the chosen features need; 0 where none is known.
    pub minimum_revision: u32,
    pub line: Arc<KubernetesLine>,
    pub kubernetes: Version,
    pub runtime: Runtime,
    pub runtime_version: Version,
    pub network: Arc<PodNetwork>,
    pub host_access: HostAccess,
    pub join: Join,
    pub delivery: Delivery,
    /// Optional features that were asked for.
    pub features: Vec<Feature>,
    pub pause: String,
    /// Container images with their digests, those of pinned tags among them.
    pub images: Vec<ImageReference>,
    /// Container images that were named by tag.
    pub tagged_images: Vec<TaggedImage>,
    pub proxy: Proxy,
    pub groups: Vec<PlannedGroup>,
    /// Versions that are newer than the catalog's choice, because an update found them.
    pub updated: BTreeMap<String, Version>,
    /// Values of the target's variables, defaults included. Never a secret.
    pub variables: BTreeMap<String, Value>,
    /// Chosen value of each of the target's selectors.
    pub selectors: BTreeMap<String, String>,
    /// Variables that the workspace declares, with or without a value.
    pub declared: Vec<String>,
    pub missing: Vec<MissingVariable>,
    /// None where no image is baked.
    pub packer: Option<PlannedPacker>,
    /// Until when Kubernetes, Windows and components are supported.
    pub support: Vec<SupportEnd>,
    /// Warnings of the choices; [`Plan::warnings`] has all.
    pub choice_warnings: Vec<Warning>,
    /// Every component and group of the catalog, whether planned or not.
    pub known: Vec<String>,
    /// SHA-256 over the catalog's entries that this plan was made from.
    pub catalog: String,
    /// Files that the user brought, with their SHA-256.
    pub own_files: BTreeMap<String, String>,
    pub governance: Governance,
    /// The program that wrote the plan's lockfile; none where there is no lockfile.
    pub locked_by: Option<ProgramVersion>,
}

/// The policy of a plan, and its consequences for the guest.
#[derive(Debug, Clone, Default)]
pub struct Governance {
    /// None where the user named no policy.
    pub policy: Option<PolicyUsed>,
    /// Of the policy, for the guest; none where every host may be asked.
    pub allowed_hosts: Option<Vec<HostPattern>>,
    /// None where no policy demands signed scripts.
    pub signing: Option<Signing>,
    /// Anchors that the definition chooses where no policy decides, and signatures of scripts that expire.
    pub warnings: Vec<Warning>,
}

impl Governance {
    /// The same with the signatures of the guest's scripts.
    #[must_use]
    pub fn with_signing(mut self, signing: Signing, warnings: Vec<Warning>) -> Self {
        self.signing = Some(signing);
        self.warnings.extend(warnings);
        self
    }
}

/// Digests for the artifacts of a plan.
#[derive(Debug, Clone, Copy)]
pub enum Pins<'a> {
    /// Of a lockfile: they pin what the catalog does not pin.
    Locked {
        written_by: Option<&'a ProgramVersion>,
        artifacts: &'a [PlannedArtifact],
        images: &'a [TaggedImage],
    },
    /// Artifacts that were proven in this run: each takes the place of the one with its component and URL.
    Proven(&'a [PlannedArtifact]),
}

impl Plan {
    pub fn conditions(&self) -> Conditions {
        let mut components: BTreeMap<String, Version> = BTreeMap::new();
        for group in &self.groups {
            components.insert(group.name.clone(), group.version.clone());
            for artifact in &group.artifacts {
                components.insert(artifact.component.to_string(), artifact.version.clone());
            }
        }
        Conditions {
            target: self.target.name.clone(),
            image: self.target.image().is_some(),
            windows: self.windows.release.clone(),
            kubernetes: self.kubernetes.clone(),
            runtime: self.runtime,
            runtime_version: Some(self.runtime_version.clone()),
            cni: self.network.name.clone(),
            overlay: self.network.overlay,
            dsr: self.windows.dsr,
            host_access: self.host_access,
            join: self.join,
            delivery: self.delivery,
            winrm: self.target.image().map(|image| image.session().0),
            features: self
                .features
                .iter()
                .map(|feature| feature.name.clone())
                .collect(),
            components,
        }
    }

    /// Size of a build's downloads, if nothing of it is in the store.
    pub fn download_size(&self) -> DownloadSize {
        DownloadSize::sum(self.artifacts().map(|artifact| artifact.size))
    }

    /// The selection without what decides only how, where or under which name the image is built.
    pub fn locked_selection(&self) -> ImageDefinition {
        let mut selection = self.selection.clone();
        selection.image_version = None;
        // The files are recorded, not their folders.
        (
            selection.steps,
            selection.targets,
            selection.component_files,
        ) = Default::default();
        selection
            .variables
            .retain(|name, _| !self.target.is_build_time(name));
        selection
            .variables
            .values_mut()
            .for_each(|value| *value = strip_value(value));
        selection
    }

    pub fn artifacts(&self) -> impl Iterator<Item = &PlannedArtifact> {
        self.groups.iter().flat_map(|group| &group.artifacts)
    }

    /// The same plan with digests that the catalog does not have. Nothing else of a plan changes after it was made.
    #[must_use]
    pub fn with_pins(mut self, pins: Pins<'_>) -> Self {
        if let Pins::Locked { images, .. } = pins {
            self.adopt_image_pins(images);
        }
        let artifacts = self
            .groups
            .iter_mut()
            .flat_map(|group| &mut group.artifacts);
        match pins {
            Pins::Locked {
                written_by,
                artifacts: locked,
                ..
            } => {
                self.locked_by = written_by.cloned();
                for artifact in artifacts {
                    if let Some(locked) = locked.iter().find(|locked| artifact.is_same(locked)) {
                        artifact.adopt_pins(locked);
                    }
                }
            }
            Pins::Proven(proven) => {
                for artifact in artifacts {
                    if let Some(proven) = proven.iter().find(|proven| artifact.is_same(proven)) {
                        artifact.clone_from(proven);
                    }
                }
            }
        }
        self
    }

    /// The same plan with answers of registries for the images that were named by tag.
    #[must_use]
    pub fn with_image_pins(mut self, pinned: &[TaggedImage]) -> Self {
        self.adopt_image_pins(pinned);
        self
    }

    /// Images of pinned tags are images with a digest.
    fn adopt_image_pins(&mut self, pinned: &[TaggedImage]) {
        for tagged in &mut self.tagged_images {
            tagged.adopt_pin(pinned, self.windows.build);
            if let Some(image) = tagged.reference()
                && !self.images.contains(&image)
            {
                self.images.push(image);
            }
        }
    }

    /// The warning that the line's programs are not surveyed: what is held against them is not checked.
    pub fn list_survey_warnings(&self) -> Vec<String> {
        let warnings = self.choice_warnings.iter();
        warnings
            .filter(|warning| warning.id == Code::NOT_SURVEYED)
            .map(|warning| warning.message.clone())
            .collect()
    }

    /// All warnings: of the choices, of artifacts without digest, and of governance.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.choice_warnings.clone();
        for artifact in self.unpinned_artifacts() {
            let component = artifact.component.to_string();
            warnings.push(Warning::new(
                Code::UNPINNED,
                component,
                artifact.describe_unpinned(),
            ));
        }
        for image in self.tagged_images.iter().filter(|it| it.pin.is_none()) {
            let name = image.name.to_string();
            let message = format!(
                "{name}: no recorded digest; run `imagegen lock` to ask its registry and pin it"
            );
            warnings.push(Warning::new(Code::UNPINNED, name, message));
        }
        warnings.extend(self.governance.warnings.iter().cloned());
        warnings
    }

    /// Artifacts and container images without a digest, as messages name them.
    pub fn list_unpinned(&self) -> Vec<String> {
        list_unpinned(self.artifacts(), &self.tagged_images)
    }

    /// Components without a digest that could decide which bytes are used.
    pub fn unpinned_artifacts(&self) -> impl Iterator<Item = &PlannedArtifact> {
        self.artifacts().filter(|artifact| !artifact.is_pinned())
    }

    /// Components with a digest that only the lockfile states: this run has proven nothing of their bytes.
    pub fn unproven_artifacts(&self) -> impl Iterator<Item = &PlannedArtifact> {
        self.artifacts().filter(|artifact| artifact.unproven)
    }
}

/// Components that come together, with why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedGroup {
    pub name: String,
    pub version: Version,
    pub reason: String,
    pub source: String,
    pub artifacts: Vec<PlannedArtifact>,
}
