//! Subjects: everything that lands in an image, is installed from it later, or runs on the building machine.
//!
//! [`list_subjects`] is the only place that enumerates them. Policy, lock and reports walk its list.

use crate::model::plan::{PinnedDigest, Plan, PlannedArtifact};
use crate::model::resource::PinAlgorithm;

/// What a subject is in an image or a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A published file of a component: a program, an archive, an installer.
    Artifact,
    /// A file that the image definition names: a Windows update or a part of a volume plugin.
    UserFile,
    ContainerImage,
    /// A certificate that the guest is told to trust.
    Certificate,
    /// A variable that names the base image.
    BaseImage,
    /// Packer or a plugin of it, which runs on the building machine.
    BuildTool,
}

/// Where a subject's bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Url(String),
    /// `REGISTRY/NAME:TAG@DIGEST`
    Registry(String),
    /// The platform that the image is built on.
    Platform(String),
    /// The policy or the selection itself.
    Given,
    /// The catalog names it when it is acquired.
    Catalog,
}

/// One subject.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    pub role: Role,
    /// As messages name it: `kubelet 1.36.4`.
    pub title: String,
    /// The component, or the name of a file or an image.
    pub name: String,
    /// File names of the programs that it brings into the image.
    pub programs: Vec<&'a str>,
    pub origin: Origin,
    /// Algorithm and digest, as far as they are pinned.
    pub digests: Vec<(PinAlgorithm, &'a str)>,
    /// What is published about an artifact: its proofs, with their addresses.
    pub artifact: Option<&'a PlannedArtifact>,
}

impl<'a> Subject<'a> {
    fn new(role: Role, name: impl Into<String>, origin: Origin) -> Self {
        let name = name.into();
        Self {
            role,
            title: name.clone(),
            name,
            programs: Vec::new(),
            origin,
            digests: Vec::new(),
            artifact: None,
        }
    }

    fn from_artifact(artifact: &'a PlannedArtifact) -> Self {
        let members = artifact.members.iter().map(|member| member.file.as_str());
        let own = artifact.members.is_empty().then_some(artifact.file.as_str());
        let digest = |pin: &'a PinnedDigest| (pin.algorithm, pin.digest.as_str());
        Self {
            title: artifact.title(),
            programs: members.chain(own).collect(),
            digests: artifact.digests.iter().map(digest).collect(),
            artifact: Some(artifact),
            ..Self::new(Role::Artifact, &artifact.component, Origin::Url(artifact.url.to_string()))
        }
    }

    /// Every address that is asked for it and for its proofs.
    #[must_use]
    pub fn urls(&self) -> Vec<&str> {
        let mut urls = match &self.origin {
            Origin::Url(url) => vec![url.as_str()],
            Origin::Registry(_) | Origin::Platform(_) | Origin::Given | Origin::Catalog => Vec::new(),
        };
        if let Some(artifact) = self.artifact {
            urls.extend(artifact.checksums.iter().map(|checksum| checksum.url.as_str()));
            for signature in &artifact.signatures {
                urls.push(&signature.url);
                urls.extend(signature.certificate_url.as_deref());
            }
        }
        urls
    }
}

/// All subjects of a plan, by role and then in the plan's order.
#[must_use]
pub fn list_subjects(plan: &Plan) -> Vec<Subject<'_>> {
    let mut subjects: Vec<Subject<'_>> = plan.artifacts().map(Subject::from_artifact).collect();
    subjects.extend(plan.selection.own_files().map(|file| Subject {
        digests: vec![(PinAlgorithm::Sha256, file.sha256)],
        ..Subject::new(Role::UserFile, file.name, Origin::Url(file.url.to_string()))
    }));
    subjects.extend(plan.images.iter().map(|image| {
        Subject {
            digests: image
                .split_once("@sha256:")
                .map(|(_, digest)| (PinAlgorithm::Sha256, digest))
                .into_iter()
                .collect(),
            ..Subject::new(Role::ContainerImage, image.to_string(), Origin::Registry(image.to_string()))
        }
    }));
    let certificates = plan.signing.iter().flat_map(|signing| &signing.certificates);
    subjects.extend(certificates.map(|certificate| Subject {
        digests: vec![(PinAlgorithm::Sha256, certificate.sha256.as_str())],
        ..Subject::new(Role::Certificate, &certificate.sha256, Origin::Given)
    }));
    let variables = plan.target.variables.iter().filter(|variable| variable.base_image);
    subjects.extend(variables.filter_map(|variable| {
        let value = plan.variables.get(&variable.name)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(Subject::new(Role::BaseImage, &variable.name, Origin::Platform(text)))
    }));
    if let Some(packer) = &plan.packer {
        let title = format!("packer {}", packer.version);
        subjects.push(Subject { title, ..Subject::new(Role::BuildTool, "packer", Origin::Catalog) });
        subjects.extend(packer.plugins.iter().map(|plugin| Subject {
            title: format!("packer-plugin-{} {}", plugin.name, plugin.version),
            ..Subject::new(Role::BuildTool, format!("packer-plugin-{}", plugin.name), Origin::Catalog)
        }));
    }
    subjects
}
