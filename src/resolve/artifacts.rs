//! A component and a version → the published file and what pins it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::code::Code;
use crate::base::url::HttpUrl;
use crate::base::version::Version;
use crate::diagnostic::{Finding, classify};
use crate::model::component::{ChecksumFile, Component, DeclaredSignature, Member, Pin, Release};
use crate::model::overrides::Overrides;
use crate::model::plan::{ArtifactRole, OverriddenParts, PinnedDigest, PlannedArtifact, Warning};

/// A machine that builds, as publishers name it: `linux/amd64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String", extend("examples" = ["linux/amd64"]))]
pub struct BuildHost {
    /// `linux`, `darwin`, `windows`.
    pub os: &'static str,
    /// `amd64`, `arm64`.
    pub arch: &'static str,
}

/// A text that names no machine that Packer is published for.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{name}` is not a machine to bake on: expected one of {}",
    format_hosts()
)]
pub struct UnknownHost {
    name: String,
}

classify!(UnknownHost => VALUE);

fn format_hosts() -> String {
    let hosts: Vec<String> = BuildHost::ALL.iter().map(ToString::to_string).collect();
    hosts.join(", ")
}

impl std::fmt::Display for BuildHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.arch)
    }
}

impl std::str::FromStr for BuildHost {
    type Err = UnknownHost;

    fn from_str(text: &str) -> Result<Self, UnknownHost> {
        let known = Self::ALL.iter().find(|host| host.to_string() == text);
        known.copied().ok_or_else(|| UnknownHost {
            name: text.to_owned(),
        })
    }
}

impl Serialize for BuildHost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BuildHost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

const fn name_host(os: &'static str, arch: &'static str) -> BuildHost {
    BuildHost { os, arch }
}

impl BuildHost {
    /// Machines that HashiCorp publishes Packer for and imagegen is built for.
    pub const ALL: &'static [Self] = &[
        name_host("linux", "amd64"),
        name_host("linux", "arm64"),
        name_host("darwin", "amd64"),
        name_host("darwin", "arm64"),
        name_host("windows", "amd64"),
    ];

    /// The one that this program was built for.
    pub fn host() -> Self {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self { os, arch }
    }

    fn fill(self, text: &str) -> String {
        let exe = if self.os == "windows" { ".exe" } else { "" };
        text.replace("{os}", self.os)
            .replace("{arch}", self.arch)
            .replace("{exe}", exe)
    }
}

/// A tool of the machine that builds.
///
/// # Errors
/// No release of the component holds the version.
pub fn plan_tool(
    component: &Component,
    version: &Version,
    platform: BuildHost,
    overrides: &Overrides,
) -> Result<PlannedArtifact, Finding> {
    let name = format!("{}_{}", platform.os, platform.arch);
    let mut pins = component.pins.find_version(version);
    pins.retain(|pin| pin.platform.as_ref().is_none_or(|known| *known == name));
    let mut own = component.clone();
    for release in &mut own.definition.releases {
        release.url = release.url.fill_placeholders(|text| platform.fill(text));
        for member in &mut release.members {
            member.member = member.member.fill_placeholders(|text| platform.fill(text));
            member.file = member.file.fill_placeholders(|text| platform.fill(text));
        }
    }
    let published = plan_release(&own, version, pins)?;
    let mut artifact = PlannedArtifact {
        role: ArtifactRole::BuildTool,
        ..published
    };
    super::overrides::apply_overrides(&mut artifact, overrides);
    Ok(artifact)
}

/// The published file of a version, as overrides have it, and what is worth knowing of that.
///
/// # Errors
/// No release of the component holds the version.
pub fn plan_artifact(
    component: &Component,
    version: &Version,
    overrides: &Overrides,
) -> Result<(PlannedArtifact, Vec<Warning>), Finding> {
    let pins = component.pins.find_version(version);
    let mut artifact = plan_release(component, version, pins)?;
    let warnings = super::overrides::apply_overrides(&mut artifact, overrides);
    Ok((artifact, warnings))
}

/// `pins` are those of the version, for the machine that uses it.
fn plan_release(
    component: &Component,
    version: &Version,
    mut pins: Vec<Pin>,
) -> Result<PlannedArtifact, Finding> {
    pins.retain(Pin::is_usable);
    let release = component
        .definition
        .releases
        .iter()
        .find(|release| release.versions.contains(version));
    let Some(release) = release else {
        let message = format!(
            "no release of {} has the version {version}",
            component.definition.name
        );
        return Err(
            Finding::new(Code::VERSION_UNKNOWN, message, suggest_version(component))
                .with_subject(&component.definition.name)
                .with_source(format!(
                    "manifests/components/{}.json",
                    component.definition.name
                )),
        );
    };
    let signatures = fill_signatures(release, version);
    if let Some(refusal) = refuse_unverified(component, &signatures) {
        return Err(refusal);
    }
    let pattern = fill_url(&release.url, version);
    // Prefer pinned bytes of another URL to bytes without a pin.
    let url = if pins.iter().any(|pin| pin.url.is_none()) {
        pattern
    } else {
        pins.iter()
            .find_map(|pin| pin.url.clone())
            .unwrap_or(pattern)
    };
    let at_url: Vec<&Pin> = pins
        .iter()
        .filter(|pin| {
            pin.url
                .as_ref()
                .map_or_else(|| fill_url(&release.url, version) == url, |own| *own == url)
        })
        .collect();
    Ok(PlannedArtifact {
        component: component.definition.name.clone(),
        role: ArtifactRole::Guest,
        version: version.clone(),
        file: url.local_file_name(),
        size: at_url.iter().find_map(|pin| pin.size),
        digests: select_digests(&at_url),
        kind: release.kind,
        members: fill_members(release, version),
        checksums: fill_checksums(release, version),
        signatures,
        authenticode: release.authenticode.clone(),
        headers: BTreeMap::new(),
        dropped: Vec::new(),
        evidence: Vec::new(),
        ccg_plugin: component.definition.ccg_plugin.clone(),
        license: component.definition.license.clone(),
        purl: fill(&component.definition.purl, version),
        unproven: false,
        overridden: OverriddenParts::default(),
        url,
    })
}

/// A signature that declares what is not verified with its kind. The catalog's own are checked before a release of the
/// program; those of a component file of the user's are not.
fn refuse_unverified(component: &Component, signatures: &[DeclaredSignature]) -> Option<Finding> {
    for signature in signatures {
        if let Some(field) = signature.find_unverified() {
            let name = &component.definition.name;
            let kind = signature.kind.as_str();
            let message = format!(
                "`{field}` of the signature {} of {name} is not verified with its kind `{kind}`",
                signature.url
            );
            let remedy = format!("remove `{field}`, or name the kind of signature that has it");
            let refusal = Finding::new(Code::SIGNATURE_INCOMPLETE, message, remedy);
            return Some(refusal.with_subject(name));
        }
    }
    None
}

fn suggest_version(component: &Component) -> String {
    let pins = component.pins.list().into_iter();
    let usable = pins.filter(Pin::is_usable);
    match usable.map(|pin| pin.version).max() {
        Some(version) => {
            format!(
                "choose a published version, such as `--component {}={version}`",
                component.definition.name
            )
        }
        None => format!(
            "see `imagegen list components {}`",
            component.definition.name
        ),
    }
}

/// The best attested digest of each algorithm, SHA-256 first because every Windows tool knows it.
fn select_digests(pins: &[&Pin]) -> Vec<PinnedDigest> {
    let mut digests: Vec<PinnedDigest> = Vec::new();
    for pin in pins {
        let Some(digest) = pin.digest.file_digest() else {
            continue;
        };
        // Two records that contradict each other pin nothing.
        for known in &digests {
            if known.digest.algorithm() == digest.algorithm() && known.digest != digest {
                return Vec::new();
            }
        }
        digests.push(PinnedDigest {
            digest,
            confidence: pin.confidence,
            source: pin.source.clone(),
        });
    }
    digests.sort_by_key(|pin| (pin.digest.algorithm(), Reverse(pin.confidence)));
    digests.dedup_by_key(|pin| pin.digest.algorithm());
    digests
}

fn fill_members(release: &Release, version: &Version) -> Vec<Member> {
    release
        .members
        .iter()
        .map(|member| Member {
            member: member.member.fill_placeholders(|text| fill(text, version)),
            ..member.clone()
        })
        .collect()
}

fn fill_checksums(release: &Release, version: &Version) -> Vec<ChecksumFile> {
    release
        .checksums
        .iter()
        .map(|checksum| ChecksumFile {
            url: fill_url(&checksum.url, version),
            ..checksum.clone()
        })
        .collect()
}

fn fill_signatures(release: &Release, version: &Version) -> Vec<DeclaredSignature> {
    release
        .signatures
        .iter()
        .filter(|signature| {
            signature
                .versions
                .as_ref()
                .is_none_or(|range| range.contains(version))
        })
        .map(|signature| DeclaredSignature {
            url: fill_url(&signature.url, version),
            certificate_url: signature
                .certificate_url
                .as_ref()
                .map(|url| fill_url(url, version)),
            identity: signature
                .identity
                .as_ref()
                .map(|identity| fill(identity, version)),
            versions: None,
            ..signature.clone()
        })
        .collect()
}

pub(super) fn fill_url(pattern: &HttpUrl, version: &Version) -> HttpUrl {
    pattern.fill_placeholders(|text| fill(text, version))
}

pub(super) fn fill(pattern: &str, version: &Version) -> String {
    if !pattern.contains('{') {
        return pattern.to_owned();
    }
    let filled = pattern.replace("{version}", version.as_str());
    if !filled.contains("{version_}") {
        return filled;
    }
    filled.replace("{version_}", &version.as_str().replace('.', "_"))
}
