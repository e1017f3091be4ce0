//! Subjects: everything that lands in an image, is installed from it later, or runs on the building machine.
//!
//! [`list_subjects`](super::subjects::list_subjects) is the only place that enumerates them. Policy, lock and reports walk its
//! list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::base::names::is_same_program;
use crate::base::url::{HttpUrl, file_name, parse_host};
use crate::base::value::{DEFAULT_REGISTRY, FileDigest, Registry};
use crate::base::version::Version;
use crate::catalog::Catalog;
use crate::embedded::Tree;
use crate::model::mirrors::Mirrors;
use crate::model::plan::{ArtifactRole, Plan, PlannedArtifact};
use crate::model::policy::{Requirement, Role, TrustScope, matches_host, matches_pattern};

/// Names of the components and programs of the catalog that this program carries.
static PROGRAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let names = catalog.list_program_names();
    names.expect("the program's own catalog is well-formed")
});

/// Where a subject's bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectSource {
    Url(String),
    /// `REGISTRY/NAME:TAG@DIGEST`
    Registry(String),
    /// The platform that the image is built on.
    Platform(String),
    /// The selection itself.
    Given,
    /// The policy itself.
    Policy,
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
    pub origin: SubjectSource,
    /// Sources of container images: their registry and its mirrors.
    pub registries: Vec<String>,
    /// The digests that pin it.
    pub digests: Vec<FileDigest>,
    /// None of what has no version.
    pub version: Option<&'a Version>,
    /// Published proofs of an artifact, with their addresses.
    pub artifact: Option<&'a PlannedArtifact>,
    /// It is not part of the image, or not as a file that something attests: the pause image, which nodes pull, the
    /// tools that build, the base image, certificates and files of the user's own. The pattern `*` alone does not
    /// select it; its name, its role and its host do.
    pub outside: bool,
}

impl<'a> Subject<'a> {
    pub(super) fn new(role: Role, name: impl Into<String>, origin: SubjectSource) -> Self {
        let name = name.into();
        Self {
            role,
            title: name.clone(),
            name,
            programs: Vec::new(),
            origin,
            registries: Vec::new(),
            digests: Vec::new(),
            version: None,
            artifact: None,
            outside: matches!(
                role,
                Role::BuildTool | Role::BaseImage | Role::OwnFile | Role::Certificate
            ),
        }
    }

    pub fn from_artifact(artifact: &'a PlannedArtifact) -> Self {
        let role = match artifact.role {
            ArtifactRole::Guest => Role::Artifact,
            ArtifactRole::BootMedia => Role::Medium,
            ArtifactRole::BuildTool => Role::BuildTool,
        };
        Self {
            title: artifact.title(),
            programs: artifact.list_programs(),
            digests: artifact
                .digests
                .iter()
                .map(|pin| pin.digest.clone())
                .collect(),
            version: Some(&artifact.version),
            artifact: Some(artifact),
            ..Self::new(
                role,
                &artifact.component,
                SubjectSource::Url(artifact.url.to_string()),
            )
        }
    }

    /// A file of the user's own in the place of the program's or beside it.
    pub fn from_own_file(path: &str, sha256: &str) -> Self {
        let digest = sha256.parse().ok().map(FileDigest::Sha256);
        Self {
            digests: digest.into_iter().collect(),
            ..Self::new(Role::OwnFile, path, SubjectSource::Given)
        }
    }

    /// Whether it counts only where the policy names its digest: nobody but the user vouches for it.
    pub(super) fn needs_trust(&self) -> bool {
        match self.role {
            Role::GuestScript | Role::OwnFile => true,
            Role::Certificate => self.origin == SubjectSource::Given,
            Role::Artifact
            | Role::Update
            | Role::VolumePlugin
            | Role::ContainerImage
            | Role::BaseImage
            | Role::BuildTool
            | Role::Medium => false,
        }
    }

    /// A container image that manifests or a bundle name.
    pub fn from_image(image: &'a str, mirrors: &BTreeMap<Registry, Vec<HttpUrl>>) -> Self {
        Self {
            digests: image
                .split_once("@sha256:")
                .and_then(|(_, digest)| digest.parse().ok())
                .map(FileDigest::Sha256)
                .into_iter()
                .collect(),
            registries: list_registries(mirrors, image),
            ..Self::new(
                Role::ContainerImage,
                image,
                SubjectSource::Registry(image.to_owned()),
            )
        }
    }

    /// Whether a pattern names it: as a component, a file or an image, or by a program that it brings.
    pub fn is_named(&self, pattern: &str) -> bool {
        !(self.outside && pattern == "*")
            && (self.is_called(pattern) || self.brings(pattern).next().is_some())
    }

    /// Whether a pattern names it, however definition and policy write the name.
    pub fn is_called(&self, pattern: &str) -> bool {
        match self.role {
            // Windows tells no case apart; the folder of a plugin means each of its files.
            Role::VolumePlugin => {
                let (pattern, name) =
                    (pattern.to_ascii_lowercase(), self.name.to_ascii_lowercase());
                let folder = name.split('/').next().unwrap_or_default();
                matches_pattern(&pattern, &name) || matches_pattern(&pattern, folder)
            }
            Role::ContainerImage => matches_image(pattern, &self.name),
            // A search by category may find any update.
            Role::Update => {
                matches_pattern(pattern, &self.name)
                    || self.name == SEARCH && pattern.starts_with("KB")
            }
            // The path, or the name of the file.
            Role::OwnFile => {
                matches_pattern(pattern, &self.name)
                    || matches_pattern(pattern, file_name(&self.name))
            }
            Role::Artifact
            | Role::Medium
            | Role::GuestScript
            | Role::BuildTool
            | Role::BaseImage
            | Role::Certificate => matches_pattern(pattern, &self.name),
        }
    }

    /// Programs that a pattern of a rule names, by their name in the image or in the archive that brings them.
    pub fn brings<'p>(&'p self, pattern: &'p str) -> impl Iterator<Item = &'a str> + 'p {
        let members = self.artifact.map_or(&[][..], |artifact| &artifact.members);
        self.programs.iter().copied().filter(move |program| {
            let mut own = members.iter().filter(|it| *it.file == **program);
            matches_program(pattern, program)
                || own.any(|it| matches_program(pattern, file_name(&it.member)))
        })
    }

    /// The names under which a proof may state it: the component's, and those of its programs.
    pub fn list_names(&self) -> Vec<&str> {
        let programs = self.programs.iter().copied();
        programs.chain([self.name.as_str()]).collect()
    }

    /// Whether an anchor is trusted for it: by its own name, or by those of all programs that it brings. A program of
    /// the catalog that an override makes of it needs to be named, too. Names inside an archive count for nothing
    /// here: whoever writes the definition chooses among them.
    pub fn is_within(&self, scope: TrustScope<'_>) -> bool {
        let patterns = scope.components;
        let is_program = |program: &&str| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| matches_program(pattern, program))
        };
        let is_named = if patterns.iter().any(|pattern| self.is_called(pattern)) {
            self.list_renamed().iter().all(is_program)
        } else {
            !self.programs.is_empty() && self.programs.iter().all(is_program)
        };
        scope.holds(is_named, Some(self.role), self.version)
    }

    /// Programs of the catalog that an override makes of it, and that its publisher does not bring. A policy can name
    /// no others.
    fn list_renamed(&self) -> Vec<&'a str> {
        let mut renamed = Vec::new();
        if let Some(artifact) = self.artifact {
            renamed.extend(artifact.overridden.programs.iter().map(String::as_str));
        }
        renamed.retain(|program| PROGRAMS.iter().any(|own| is_same_program(own, program)));
        renamed
    }

    /// The names that trust for it must have.
    pub(super) fn list_trusted_names(&self) -> Vec<&str> {
        let mut names = vec![self.name.as_str()];
        for program in self.list_renamed() {
            names.push(program.strip_suffix(".exe").unwrap_or(program));
        }
        names
    }

    /// Whether a requirement of a policy is about it.
    pub fn is_selected(&self, rule: &Requirement, mirrors: &Mirrors) -> bool {
        let selected = rule.roles.contains(&self.role)
            || rule.components.iter().any(|pattern| self.is_named(pattern))
            || self
                .hosts(mirrors)
                .iter()
                .any(|host| rule.hosts.iter().any(|pattern| matches_host(pattern, host)));
        let is_version = match (&rule.versions, self.version) {
            (Some(range), Some(version)) => range.contains(version),
            _ => true,
        };
        selected && is_version
    }

    /// Hosts of its publishers, and those that are asked in their place.
    pub fn hosts(&self, mirrors: &Mirrors) -> Vec<String> {
        let published = self.published_urls().into_iter().map(parse_host);
        let mut hosts: Vec<String> = published.chain(self.asked_hosts(mirrors)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// Every host that is asked for it and for its proofs.
    pub fn asked_hosts(&self, mirrors: &Mirrors) -> Vec<String> {
        let urls = self.asked_urls(mirrors);
        let mut hosts: Vec<String> = urls.iter().map(|url| parse_host(url)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// Every address that is asked for it and for its proofs: its publishers', or those of mirrors in their place. A
    /// registry stays one beside its mirror, because nodes ask it.
    pub fn asked_urls(&self, mirrors: &Mirrors) -> Vec<String> {
        // Media and base images without a download of ours: the platform asks for them by itself.
        let is_ours =
            self.artifact.is_some() || !matches!(self.role, Role::Medium | Role::BaseImage);
        let mut asked = self.registries.clone();
        for text in self.published_urls() {
            let url = text.parse::<HttpUrl>().ok().filter(|_| is_ours);
            let url = url.map(|url| mirrors.locate(&url).to_string());
            asked.push(url.unwrap_or_else(|| text.to_owned()));
        }
        if let SubjectSource::Registry(image) = &self.origin {
            let registry = find_registry(image);
            let name = image.trim_start_matches(registry).trim_start_matches('/');
            let place = mirrors.locate_image(registry, name);
            asked.extend(place.map(|(_, url)| url.to_string()));
        }
        asked
    }

    /// The addresses that its publishers have it and its proofs at.
    fn published_urls(&self) -> Vec<&str> {
        let mut urls = match &self.origin {
            SubjectSource::Url(url) => vec![url.as_str()],
            SubjectSource::Registry(_)
            | SubjectSource::Platform(_)
            | SubjectSource::Given
            | SubjectSource::Policy
            | SubjectSource::Catalog => Vec::new(),
        };
        if let Some(artifact) = self.artifact {
            urls.extend(artifact.list_proof_urls());
        }
        urls
    }
}

/// Mirrors of registries that no image of the plan comes from: nodes ask them for what they pull later.
pub fn list_mirrors(plan: &Plan) -> Vec<Subject<'_>> {
    let images = plan.images.iter().map(|image| find_registry(image));
    let used: BTreeSet<&str> = images.chain([find_registry(&plan.pause)]).collect();
    let others = plan.selection.list_registry_urls().into_iter();
    others
        .filter(|(registry, _)| !used.contains(registry.as_str()))
        .map(|(registry, urls)| {
            let name = format!("mirror of {registry}");
            let registries = urls.iter().map(HttpUrl::to_string).collect();
            Subject {
                registries,
                outside: true,
                ..Subject::new(Role::ContainerImage, name, SubjectSource::Given)
            }
        })
        .collect()
}

/// The name of all updates that a search by category finds.
pub(super) const SEARCH: &str = "updates that Windows Update finds";

/// Whether a pattern names a program, with or without its ending. Windows tells no case apart in the names of files.
fn matches_program(pattern: &str, program: &str) -> bool {
    let (pattern, program) = (pattern.to_ascii_lowercase(), program.to_ascii_lowercase());
    let stem = program.strip_suffix(".exe").unwrap_or(&program);
    matches_pattern(&pattern, &program) || matches_pattern(&pattern, stem)
}

/// Whether a pattern names an image. Registries, ports and `library/` that are left out are those that a container
/// runtime fills in; a pattern without port means every port.
fn matches_image(pattern: &str, image: &str) -> bool {
    let has_port = find_registry(pattern).contains(':');
    let (image, pattern) = (
        complete_image(image, has_port),
        complete_image(pattern, has_port),
    );
    let short = image.replacen("docker.io/library/", "docker.io/", 1);
    [&image, &short]
        .into_iter()
        .any(|name| matches_pattern(&pattern, name))
}

/// An image, or the beginning of one, with its registry.
pub fn complete_image(image: &str, with_port: bool) -> String {
    let registry = find_registry(image);
    let named = image
        .strip_prefix(registry)
        .and_then(|rest| rest.strip_prefix('/'));
    let host = registry.strip_suffix(":443").unwrap_or(registry);
    let host = host
        .split(':')
        .next()
        .filter(|_| !with_port)
        .unwrap_or(host);
    let host = if matches!(host, "index.docker.io" | "registry-1.docker.io") {
        "docker.io"
    } else {
        host
    };
    let name = named.unwrap_or(image);
    let library = if host == "docker.io" && !name.contains('/') && !name.is_empty() && name != "*" {
        "library/"
    } else {
        ""
    };
    format!("{host}/{library}{name}")
}

fn find_registry(image: &str) -> &str {
    match image.split_once('/') {
        Some((registry, _)) if registry.contains(['.', ':']) || registry == "localhost" => registry,
        _ => "docker.io",
    }
}

/// URLs of an image's registry and of the mirrors that are named for it.
fn list_registries(mirrors: &BTreeMap<Registry, Vec<HttpUrl>>, image: &str) -> Vec<String> {
    let registry = find_registry(image);
    let is_named = mirrors.keys().any(|name| name.as_str() == registry);
    let wanted = if is_named { registry } else { DEFAULT_REGISTRY };
    let mirrors = mirrors.iter().filter(|(name, _)| name.as_str() == wanted);
    let mirrors = mirrors.flat_map(|(_, urls)| urls).map(HttpUrl::to_string);
    std::iter::once(format!("https://{registry}/"))
        .chain(mirrors)
        .collect()
}
