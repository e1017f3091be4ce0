//! How well proofs attest a digest: somebody's signature does, what a file says of itself does not.

use imagegen::base::value::{FileDigest, PinAlgorithm};
use imagegen::catalog::Catalog;
use imagegen::embedded::Tree;
use imagegen::model::evidence::Evidence;
use imagegen::model::plan::PlannedArtifact;
use imagegen::trust::{check_evidence, pin_digests};
use serde_json::{Value, json};

const ARCHIVE: &str = "crictl.tar.gz";
const MEMBER: &str = "crictl.tar.gz!crictl.exe";
const BESIDE: &str = "https://a.example/sums";
const ELSEWHERE: &str = "https://b.example/sums";

fn artifact(members: &[&str]) -> PlannedArtifact {
    let members = members
        .iter()
        .map(|name| json!({"member": name, "file": name}));
    let artifact = json!({
        "component": "crictl", "version": "1.36.5", "file": ARCHIVE, "kind": "tar.gz", "digests": [],
        "url": "https://a.example/crictl.tar.gz", "members": members.collect::<Vec<_>>(),
        "license": "Apache-2.0", "purl": "pkg:github/kubernetes-sigs/cri-tools",
    });
    serde_json::from_value(artifact).expect("an artifact")
}

fn prove(proof: &str, verdict: &str, subject: &str, source: &str) -> Value {
    json!({"proof": proof, "verdict": verdict, "subject": subject, "detail": "d", "source": source})
}

fn decode(evidence: &[Value]) -> Vec<Evidence> {
    serde_json::from_value(evidence.into()).expect("evidence")
}

#[test]
fn signatures_alone_make_a_digest_authoritative() {
    let held = |proof, subject, source| prove(proof, "verified", subject, source);
    let sums = |source| held("checksum-file", ARCHIVE, source);
    let inner = held("authenticode", MEMBER, BESIDE);
    let digest = FileDigest::new(PinAlgorithm::Sha256, "ab".repeat(32)).expect("a digest");
    for (members, evidence, expected) in [
        // An unsigned program's own version resource, or its Go build information.
        (
            &["crictl.exe"][..],
            vec![held("statement", MEMBER, BESIDE)],
            "low",
        ),
        (
            &["crictl.exe"],
            vec![sums(BESIDE), held("statement", MEMBER, BESIDE)],
            "low",
        ),
        (
            &["crictl.exe"],
            vec![sums(ELSEWHERE), held("statement", MEMBER, BESIDE)],
            "medium",
        ),
        (&[], vec![held("statement", ARCHIVE, BESIDE)], "low"),
        (&["crictl.exe"], vec![held("pin", MEMBER, BESIDE)], "low"),
        (&["crictl.exe"], vec![held("size", MEMBER, BESIDE)], "low"),
        (
            &["crictl.exe"],
            vec![prove("authenticode", "failed", MEMBER, BESIDE)],
            "low",
        ),
        (
            &["crictl.exe", "critest.exe"],
            vec![
                inner.clone(),
                held("statement", "crictl.tar.gz!critest.exe", BESIDE),
            ],
            "low",
        ),
        // The controls.
        (&["crictl.exe"], vec![inner], "authoritative"),
        (
            &["crictl.exe"],
            vec![held("cosign-key", ARCHIVE, BESIDE)],
            "authoritative",
        ),
    ] {
        let found = decode(&evidence);
        let pins = pin_digests(&artifact(members), [digest.clone()], &found);
        assert_eq!(pins[0].confidence.as_str(), expected, "{evidence:#?}");
    }
}

/// Whoever writes an override chooses both addresses.
#[test]
fn a_checksum_file_of_an_override_attests_nothing_more() {
    let digest = FileDigest::new(PinAlgorithm::Sha256, "ab".repeat(32)).expect("a digest");
    let found = decode(&[prove("checksum-file", "verified", ARCHIVE, ELSEWHERE)]);
    for (named, expected) in [
        (ELSEWHERE, "low"),
        ("https://b.example/sums?sig=s3cret", "low"),
        ("https://b.example/other", "medium"),
    ] {
        let mut artifact = artifact(&["crictl.exe"]);
        artifact.overridden.checksums = vec![named.parse().expect("a URL")];
        let pins = pin_digests(&artifact, [digest.clone()], &found);
        assert_eq!(pins[0].confidence.as_str(), expected, "{named}");
    }
}

/// A policy's minimum of verdicts is one for its minimum of confidence, too.
#[test]
fn a_proof_below_the_minimum_verdict_raises_no_confidence() {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let minimum = json!({"name": "ours", "minimumConfidence": "high"});
    let strict = json!({"name": "ours", "minimumConfidence": "high", "minimumVerdict": "verified"});
    for (policy, verdict, is_met) in [
        (&minimum, "signed-time-unproven", true),
        (&strict, "signed-time-unproven", false),
        (&strict, "verified", true),
    ] {
        let evidence = decode(&[prove("cosign-keyless", verdict, ARCHIVE, BESIDE)]);
        let policy = serde_json::from_value(policy.clone()).expect("a policy");
        let findings = check_evidence(&policy, &artifact(&["crictl.exe"]), &evidence, &catalog);
        assert_eq!(findings.is_empty(), is_met, "{verdict}: {findings:#?}");
    }
}
