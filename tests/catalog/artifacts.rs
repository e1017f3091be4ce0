//! A component and a version become a published file with its pins.

use imagegen::diagnostic::Finding;
use imagegen::model::component::{Component, Pin};
use imagegen::model::overrides::Overrides;
use imagegen::model::pins::PinList;
use imagegen::model::plan::PlannedArtifact;
use imagegen::resolve::plan_artifact;

fn component() -> Component {
    let definition = serde_json::json!({
        "name": "thing", "summary": "", "license": "MIT", "purl": "pkg:generic/thing@{version}",
        "releases": [{
            "versions": "<2.0.0", "url": "https://x.example/v{version}/t-{version_}.zip", "kind": "zip",
            "members": [{ "member": "t-{version}/t.exe", "file": "t.exe" }],
            "signatures": [{ "kind": "cosign-keyless", "versions": ">=1.5.0", "url": "https://x.example/{version}.sig" }],
            "source": "s"
        }]
    });
    let pins = serde_json::json!([
        { "version": "1.0.0", "algorithm": "sha1", "digest": "a".repeat(40), "confidence": "authoritative", "source": ["s"] },
        { "version": "1.1.0", "algorithm": "sha512", "digest": "b".repeat(128), "size": 7, "confidence": "medium", "source": ["s"] },
        { "version": "1.1.0", "algorithm": "sha256", "digest": "c".repeat(64), "confidence": "medium", "source": ["s"] },
        { "version": "1.2.0", "algorithm": "sha256", "digest": "d".repeat(64), "confidence": "mutable", "source": ["s"] },
        { "version": "1.3.0", "algorithm": "sha256", "digest": "e".repeat(64), "confidence": "superseded", "source": ["s"] },
        { "version": "1.6.0", "algorithm": "sha256", "digest": "f".repeat(64), "confidence": "low", "source": ["s"], "url": "https://mirror.example/t.zip" }
    ]);
    Component {
        definition: serde_json::from_value(definition).expect("component"),
        pins: PinList::Loaded(serde_json::from_value(pins).expect("pins")),
    }
}

fn plan(component: &Component, version: &str) -> Result<PlannedArtifact, Finding> {
    let version = version.parse().expect("version");
    plan_artifact(component, &version, &Overrides::new()).map(|(artifact, _)| artifact)
}

fn planned(version: &str) -> PlannedArtifact {
    plan(&component(), version).expect("planned")
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
    assert_eq!(
        artifact.url.public_url(),
        "https://x.example/v1.1.0/t-1_1_0.zip"
    );
    assert_eq!(artifact.file, "t-1_1_0.zip");
    assert_eq!(artifact.members[0].member.as_str(), "t-1.1.0/t.exe");
    assert_eq!(artifact.size, Some(7));
    let lengths: Vec<usize> = artifact
        .digests
        .iter()
        .map(|digest| digest.digest.as_str().len())
        .collect();
    assert_eq!(lengths, [64, 128]);
    assert!(artifact.signatures.is_empty());
    assert_eq!(
        planned("1.6.0").url.public_url(),
        "https://mirror.example/t.zip"
    );
    assert_eq!(planned("1.6.0").signatures.len(), 1);
}

#[test]
fn records_that_contradict_each_other_pin_nothing() {
    let mut own = component();
    let mut pins = own.pins.list();
    pins.push(Pin {
        digest: pins[5].digest.clone(),
        ..pins[2].clone()
    });
    own.pins = PinList::Loaded(pins);
    let artifact = plan(&own, "1.1.0").expect("planned");
    assert!(!artifact.is_pinned(), "{:?}", artifact.digests);
    assert!(planned("1.1.0").is_pinned());
}

#[test]
fn versions_outside_every_release_are_refused() {
    let refusal = plan(&component(), "2.0.0").expect_err("refused");
    assert_eq!(refusal.message, "no release of thing has the version 2.0.0");
    assert_eq!(
        refusal.remedy,
        "choose a published version, such as `--component thing=1.6.0`"
    );
}
