//! Boot media: files that the user pins, and that the builder attaches to the machine.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::component::{Confidence, PayloadKind};
use crate::model::plan::{ArtifactRole, PinnedDigest, PlannedArtifact, PlannedGroup};
use crate::model::target::{BootMedium, ImageTarget, Target};
use crate::model::url::HttpUrl;
use crate::model::value::{FileDigest, Sha256};
use crate::model::version::Version;
use crate::model::windows::WindowsRelease;

/// The media whose URL and digest are given. Those that are not are reported as missing variables.
pub(super) fn plan_media(
    target: &Target,
    windows: &WindowsRelease,
    variables: &BTreeMap<String, Value>,
) -> Option<PlannedGroup> {
    let version: Version = windows.release.parse().ok()?;
    let value = |name: &str| variables.get(name).and_then(Value::as_str);
    let media = target.image().map(ImageTarget::media).unwrap_or_default();
    let artifacts: Vec<PlannedArtifact> = media
        .iter()
        .filter_map(|medium| {
            // The variable's pattern has refused what is no URL and no digest.
            let url: HttpUrl = value(&medium.url)?.parse().ok()?;
            Some(plan_medium(medium, &version, &url, &value(&medium.sha256)?.parse().ok()?))
        })
        .collect();
    (!artifacts.is_empty()).then(|| PlannedGroup {
        name: "boot-media".to_owned(),
        version,
        reason: format!("target {} installs Windows from media", target.name),
        source: format!("packer/targets/{}/target.json", target.name),
        artifacts,
    })
}

fn plan_medium(medium: &BootMedium, version: &Version, url: &HttpUrl, sha256: &Sha256) -> PlannedArtifact {
    PlannedArtifact {
        component: medium.name.clone(),
        role: ArtifactRole::BootMedia,
        version: version.clone(),
        url: url.clone(),
        file: url.file_name().to_owned(),
        kind: PayloadKind::File,
        members: Vec::new(),
        size: None,
        digests: vec![PinnedDigest {
            digest: FileDigest::Sha256(sha256.clone()),
            confidence: Confidence::Authoritative,
            source: vec![format!("variable `{}`", medium.sha256)],
        }],
        checksums: Vec::new(),
        signatures: Vec::new(),
        authenticode: None,
        headers: BTreeMap::new(),
        evidence: Vec::new(),
        license: medium.license.clone(),
        purl: format!("pkg:generic/{}@{version}?checksum=sha256:{sha256}", medium.name),
    }
}
