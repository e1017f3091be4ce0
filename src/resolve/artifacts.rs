//! A component and a version → the published file and what pins it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::diagnostic::Finding;
use crate::model::component::{ChecksumFile, Component, Member, Pin, Release, Signature};
use crate::model::overrides::Overrides;
use crate::model::plan::{ArtifactRole, PinnedDigest, PlannedArtifact, Warning};
use crate::model::url::HttpUrl;
use crate::model::version::Version;

/// The machine that builds, as publishers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    /// `linux`, `darwin`, `windows`.
    pub os: &'static str,
    /// `amd64`, `arm64`.
    pub arch: &'static str,
}

impl Platform {
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
        text.replace("{os}", self.os).replace("{arch}", self.arch).replace("{exe}", exe)
    }
}

/// A tool of the machine that builds.
///
/// # Errors
/// No release of the component holds the version.
pub fn plan_tool(
    component: &Component,
    version: &Version,
    platform: Platform,
    overrides: &Overrides,
) -> Result<PlannedArtifact, Finding> {
    let mut own = component.clone();
    let name = format!("{}_{}", platform.os, platform.arch);
    let is_own = |pin: &&Pin| pin.platform.as_ref().is_none_or(|known| *known == name);
    own.pins = component.pins.iter().filter(is_own).cloned().collect();
    for release in &mut own.releases {
        release.url = release.url.fill_placeholders(|text| platform.fill(text));
        for member in &mut release.members {
            member.member = member.member.fill_placeholders(|text| platform.fill(text));
            member.file = member.file.fill_placeholders(|text| platform.fill(text));
        }
    }
    let (artifact, _) = plan_artifact(&own, version, overrides)?;
    Ok(PlannedArtifact { role: ArtifactRole::BuildTool, ..artifact })
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
    let mut artifact = plan_release(component, version)?;
    let warnings = super::overrides::apply_overrides(&mut artifact, overrides);
    Ok((artifact, warnings))
}

fn plan_release(component: &Component, version: &Version) -> Result<PlannedArtifact, Finding> {
    let mut pins = component.find_pins(version);
    pins.retain(Pin::is_usable);
    let release = component.releases.iter().find(|release| release.versions.contains(version));
    let Some(release) = release else {
        let message = format!("no release of {} has the version {version}", component.name);
        return Err(Finding::new("version-unknown", message, suggest_version(component))
            .with_subject(&component.name)
            .with_source(format!("manifests/components/{}.json", component.name)));
    };
    let pattern = fill_url(&release.url, version);
    // Prefer pinned bytes of another URL to bytes without a pin.
    let url = if pins.iter().any(|pin| pin.url.is_none()) {
        pattern
    } else {
        pins.iter().find_map(|pin| pin.url.clone()).unwrap_or(pattern)
    };
    let at_url: Vec<&Pin> = pins
        .iter()
        .filter(|pin| {
            pin.url.as_ref().map_or_else(|| fill_url(&release.url, version) == url, |own| *own == url)
        })
        .collect();
    Ok(PlannedArtifact {
        component: component.name.clone(),
        role: ArtifactRole::Guest,
        version: version.clone(),
        file: url.file_name().to_owned(),
        size: at_url.iter().find_map(|pin| pin.size),
        digests: select_digests(&at_url),
        kind: release.kind,
        members: fill_members(release, version),
        checksums: fill_checksums(release, version),
        signatures: fill_signatures(release, version),
        authenticode: release.authenticode.clone(),
        headers: BTreeMap::new(),
        evidence: Vec::new(),
        license: component.license.clone(),
        purl: fill(&component.purl, version),
        url,
    })
}

fn suggest_version(component: &Component) -> String {
    match component.pins.iter().filter(|pin| pin.is_usable()).map(|pin| &pin.version).max() {
        Some(version) => {
            format!("choose a published version, such as `--component {}={version}`", component.name)
        }
        None => format!("see `imagegen list components {}`", component.name),
    }
}

/// The best attested digest of each algorithm, SHA-256 first because every Windows tool knows it.
fn select_digests(pins: &[&Pin]) -> Vec<PinnedDigest> {
    let pinned = |pin: &&Pin| {
        let digest = pin.digest.file_digest()?;
        Some(PinnedDigest { digest, confidence: pin.confidence, source: pin.source.clone() })
    };
    let mut digests: Vec<PinnedDigest> = pins.iter().filter_map(pinned).collect();
    // Two records that contradict each other pin nothing.
    let is_contradicted = |pin: &PinnedDigest| {
        digests.iter().any(|it| it.digest.algorithm() == pin.digest.algorithm() && it.digest != pin.digest)
    };
    if digests.iter().any(is_contradicted) {
        return Vec::new();
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
        .map(|checksum| ChecksumFile { url: fill_url(&checksum.url, version), ..checksum.clone() })
        .collect()
}

fn fill_signatures(release: &Release, version: &Version) -> Vec<Signature> {
    release
        .signatures
        .iter()
        .filter(|signature| signature.versions.as_ref().is_none_or(|range| range.contains(version)))
        .map(|signature| Signature {
            url: fill_url(&signature.url, version),
            certificate_url: signature.certificate_url.as_ref().map(|url| fill_url(url, version)),
            identity: signature.identity.as_ref().map(|identity| fill(identity, version)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn component() -> Component {
        serde_json::from_value(serde_json::json!({
            "name": "thing", "summary": "", "license": "MIT", "purl": "pkg:generic/thing@{version}",
            "releases": [{
                "versions": "<2.0.0", "url": "https://x.example/v{version}/t-{version_}.zip", "kind": "zip",
                "members": [{ "member": "t-{version}/t.exe", "file": "t.exe" }],
                "signatures": [{ "kind": "cosign-keyless", "versions": ">=1.5.0", "url": "https://x.example/{version}.sig" }],
                "source": "s"
            }],
            "pins": [
                { "version": "1.0.0", "algorithm": "sha1", "digest": "a".repeat(40), "confidence": "authoritative", "source": ["s"] },
                { "version": "1.1.0", "algorithm": "sha512", "digest": "b".repeat(128), "size": 7, "confidence": "medium", "source": ["s"] },
                { "version": "1.1.0", "algorithm": "sha256", "digest": "c".repeat(64), "confidence": "medium", "source": ["s"] },
                { "version": "1.2.0", "algorithm": "sha256", "digest": "d".repeat(64), "confidence": "mutable", "source": ["s"] },
                { "version": "1.3.0", "algorithm": "sha256", "digest": "e".repeat(64), "confidence": "superseded", "source": ["s"] },
                { "version": "1.6.0", "algorithm": "sha256", "digest": "f".repeat(64), "confidence": "low", "source": ["s"], "url": "https://mirror.example/t.zip" }
            ]
        }))
        .expect("component")
    }

    fn planned(version: &str) -> PlannedArtifact {
        plan_release(&component(), &version.parse().expect("version")).expect("planned")
    }

    #[test]
    fn only_usable_records_pin() {
        for (version, pinned) in [
            ("1.0.0", false),
            ("1.1.0", true),
            ("1.2.0", false),
            ("1.3.0", false),
            ("1.4.0", false),
            ("1.6.0", true),
        ] {
            assert_eq!(planned(version).is_pinned(), pinned, "{version}");
        }
    }

    #[test]
    fn patterns_are_filled_and_sha256_stands_first() {
        let artifact = planned("1.1.0");
        assert_eq!(artifact.url.public_url(), "https://x.example/v1.1.0/t-1_1_0.zip");
        assert_eq!(artifact.file, "t-1_1_0.zip");
        assert_eq!(artifact.members[0].member.as_str(), "t-1.1.0/t.exe");
        assert_eq!(artifact.size, Some(7));
        let lengths: Vec<usize> =
            artifact.digests.iter().map(|digest| digest.digest.as_str().len()).collect();
        assert_eq!(lengths, [64, 128]);
        assert!(artifact.signatures.is_empty());
        assert_eq!(planned("1.6.0").url.public_url(), "https://mirror.example/t.zip");
        assert_eq!(planned("1.6.0").signatures.len(), 1);
    }

    #[test]
    fn records_that_contradict_each_other_pin_nothing() {
        let mut own = component();
        let pins: Vec<&Pin> = own.pins.iter().collect();
        let other = Pin { digest: pins[5].digest.clone(), ..pins[2].clone() };
        own.pins = own.pins.iter().cloned().chain([other]).collect();
        let artifact = plan_release(&own, &"1.1.0".parse().expect("version")).expect("planned");
        assert!(!artifact.is_pinned(), "{:?}", artifact.digests);
        assert!(planned("1.1.0").is_pinned());
    }

    #[test]
    fn versions_outside_every_release_are_refused() {
        let refusal = plan_release(&component(), &"2.0.0".parse().expect("version")).expect_err("refused");
        assert_eq!(refusal.message, "no release of thing has the version 2.0.0");
        assert_eq!(refusal.remedy, "choose a published version, such as `--component thing=1.6.0`");
    }
}
