//! Boot media: files that the user pins, and that the builder attaches to the machine.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::code::Code;
use crate::base::text::last_segment;
use crate::base::url::HttpUrl;
use crate::base::value::{FileDigest, Sha256};
use crate::base::version::Version;
use crate::diagnostic::Finding;
use crate::model::component::{Confidence, PayloadKind};
use crate::model::plan::{
    ArtifactRole, OverriddenParts, PinnedDigest, PlannedArtifact, PlannedGroup,
};
use crate::model::target::{BootMedium, ImageTarget, Target};
use crate::model::variable::EVALUATION;
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
            Some(plan_medium(
                medium,
                &version,
                &url,
                &value(&medium.sha256)?.parse().ok()?,
            ))
        })
        .collect();
    (!artifacts.is_empty()).then(|| PlannedGroup {
        name: "boot-media".to_owned(),
        version,
        reason: format!("target {} installs Windows from media", target.name),
        source: target.source(),
        artifacts,
    })
}

/// Refuses evaluation media, known by their digest or by the name that Microsoft gives to them, unless they are asked
/// for: their Windows expires, and images of them must not be published.
pub(super) fn check_evaluation(
    windows: &WindowsRelease,
    variables: &BTreeMap<String, Value>,
    refusals: &mut Vec<Finding>,
) {
    if variables.get(EVALUATION) == Some(&Value::Bool(true)) {
        return;
    }
    for (name, value) in variables
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_str()?)))
    {
        let known = windows
            .evaluation_media
            .iter()
            .find(|medium| medium.sha256 == value);
        if known.is_none() && !is_evaluation_url(value) {
            continue;
        }
        let source = known.map_or("https://www.microsoft.com/evalcenter", |medium| {
            &medium.source
        });
        let message = format!(
            "`{name}` is an evaluation medium: its Windows expires after 180 days, and images of it must not be published"
        );
        let remedy =
            "use the media of your license, or add `--var evaluation=true` for tests of your own";
        refusals.push(
            Finding::new(Code::EVALUATION_MEDIA, message, remedy)
                .with_subject(name)
                .with_source(source),
        );
    }
}

/// `…_SERVER_EVAL_x64FRE_en-us.iso`
fn is_evaluation_url(text: &str) -> bool {
    let file = last_segment(text).to_ascii_lowercase();
    text.contains("://") && file.split(['_', '-', '.']).any(|part| part == "eval")
}

fn plan_medium(
    medium: &BootMedium,
    version: &Version,
    url: &HttpUrl,
    sha256: &Sha256,
) -> PlannedArtifact {
    PlannedArtifact {
        component: medium.name.clone(),
        role: ArtifactRole::BootMedia,
        version: version.clone(),
        url: url.clone(),
        file: url.local_file_name(),
        kind: PayloadKind::File,
        members: Vec::new(),
        size: None,
        digests: vec![PinnedDigest {
            digest: FileDigest::Sha256(sha256.clone()),
            confidence: Confidence::Low,
            source: vec![format!("variable `{}`", medium.sha256)],
        }],
        checksums: Vec::new(),
        signatures: Vec::new(),
        authenticode: None,
        headers: BTreeMap::new(),
        dropped: Vec::new(),
        evidence: Vec::new(),
        ccg_plugin: None,
        license: medium.license.clone(),
        purl: format!(
            "pkg:generic/{}@{version}?checksum=sha256:{sha256}",
            medium.name
        ),
        unproven: false,
        overridden: OverriddenParts::default(),
    }
}
