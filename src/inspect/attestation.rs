//! Signed statements about an image: each is verified, and held against the bytes that it names.

use std::path::{Path, PathBuf};

use crate::base::code::Code;
use crate::base::json::is_one_json;
use crate::base::value::PinAlgorithm;
use crate::diagnostic::{Finding, InputError, Result, UsageError};
use crate::io::fs::{self, DigestSet};
use crate::lock::LOCK_FILE;
use crate::model::evidence::{Evidence, ProofKind, StatementKind};
use crate::model::policy::{BAKED_IMAGE, Policy, TrustScope};
use crate::records::{ImageRecord, find_record};
use crate::selection::read_policy;
use crate::trust::PolicyFault;
use crate::verify::proof::require_signer;
use crate::verify::sigstore::{self, ExpectedSigner};
use crate::verify::{ProofError, Proven, dsse, record_evidence, require_digest};
use crate::workspace::IMAGE_RECORD;

use super::{VerifyOutput, VerifyRequest};

/// Largest bundle: a bill of materials is in it.
const LARGEST_BUNDLE: u64 = 16 << 20;

/// Statements that are accepted, beside earlier provenance.
const PREDICATES: &[&str] = &[
    "https://slsa.dev/provenance/v1",
    "https://slsa.dev/provenance/v0.2",
    "https://cyclonedx.org/bom",
    "https://spdx.dev/Document",
    "https://in-toto.io/attestation/test-result/v0.1",
];

/// The signer that every statement must be by.
enum ExpectedStatementSigner<'a> {
    Key(String),
    Certificate(ExpectedSigner<'a>),
}

/// Verifies every bundle of `--attestation` over an image. The second value is the judgement of the policy.
///
/// # Errors
/// A file cannot be read, or no signer is named.
pub fn inspect_attestations(request: &VerifyRequest) -> Result<(VerifyOutput, Result<()>)> {
    let path = find_record(Path::new(&request.file));
    if request.file.contains("://") {
        let message = "`--attestation` verifies an image on this machine";
        return Err(UsageError::new(message, "download it first").into());
    }
    let policy = read_policy(&request.policy)?;
    let signer = read_signer(request)?;
    let digests = fs::digest_file_with(&path, DigestSet::Both)?;
    let digest = require_digest(&digests.sha256)?;
    let name = path.display().to_string();
    let mut evidence = Vec::new();
    for file in &request.attestations {
        for bundle in read_bundles(file)? {
            let outcome = verify_bundle(&digest, &bundle, &signer);
            let source = file.display().to_string();
            evidence.push(record_evidence(
                ProofKind::Attestation,
                &name,
                Some(&source),
                outcome,
            ));
        }
    }
    if path.file_name().is_some_and(|name| name == IMAGE_RECORD) {
        evidence.extend(check_record(&path)?);
    }
    let demand = check_policy(&policy, &evidence, &name);
    let output = VerifyOutput {
        schema: "imagegen.dev/verify/v1",
        file: name,
        verified: super::count_failed(&evidence) == 0 && demand.is_ok(),
        sha512: digests.digest(PinAlgorithm::Sha512).to_owned(),
        sha256: digests.sha256,
        size: digests.size,
        evidence,
        offers: Vec::new(),
    };
    Ok((output, demand))
}

fn read_signer(request: &VerifyRequest) -> Result<ExpectedStatementSigner<'_>> {
    if let Some(key) = &request.key {
        if request.identity.is_some() || request.issuer.is_some() {
            let message = "`--key` and `--identity` name two signers";
            return Err(UsageError::new(message, "leave one of them out").into());
        }
        let bytes = fs::read_file(Path::new(key))?;
        return Ok(ExpectedStatementSigner::Key(
            String::from_utf8_lossy(&bytes).into_owned(),
        ));
    }
    let signer = require_signer(request.identity.as_deref(), request.issuer.as_deref());
    signer
        .map(ExpectedStatementSigner::Certificate)
        .map_err(|_| {
            let message = "a statement proves nothing without an expected signer";
            UsageError::new(message, "add `--key FILE`, or `--identity` and `--issuer`").into()
        })
}

/// The bundles of a file: one, or one on each line.
fn read_bundles(file: &Path) -> Result<Vec<Vec<u8>>> {
    let bytes = fs::read_head(file, LARGEST_BUNDLE + 1)?;
    if bytes.len() as u64 > LARGEST_BUNDLE {
        let message = format!("{} is larger than 16 MiB", file.display());
        return Err(InputError::new(message, "name a Sigstore bundle").into());
    }
    if is_one_json(&bytes) {
        return Ok(vec![bytes]);
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    let bundles: Vec<Vec<u8>> = lines
        .filter(|line| !line.trim_ascii().is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    if bundles.is_empty() {
        let message = format!("{} is empty", file.display());
        return Err(InputError::new(message, "name a Sigstore bundle").into());
    }
    Ok(bundles)
}

fn verify_bundle(
    digest: &[u8; 32],
    bundle: &[u8],
    signer: &ExpectedStatementSigner<'_>,
) -> Result<Proven, ProofError> {
    match signer {
        ExpectedStatementSigner::Key(key) => {
            dsse::verify_statement(digest, bundle, key, PREDICATES)
        }
        ExpectedStatementSigner::Certificate(signer) => {
            sigstore::verify_statement(digest, bundle, *signer, PREDICATES, None)
        }
    }
}

/// Files that a record names, as far as they are there: the lockfile beside it, and the files of the image.
fn check_record(path: &Path) -> Result<Vec<Evidence>> {
    let record = ImageRecord::decode(&path.display().to_string(), &fs::read_file(path)?)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut named = vec![(PathBuf::from(LOCK_FILE), record.lock.as_str())];
    for artifact in &record.artifacts {
        for file in &artifact.files {
            named.push((PathBuf::from(&file.path), file.sha256.as_str()));
        }
    }
    let mut evidence = Vec::new();
    for (name, sha256) in named {
        let file = folder.join(&name);
        if !fs::is_file(&file) {
            continue;
        }
        let found = fs::digest_file(&file)?.sha256;
        let outcome = if found == sha256 {
            Ok(super::proven("the record names these bytes"))
        } else {
            let message = format!("the record names the SHA-256 {sha256}, the file has {found}");
            Err(ProofError::new(Code::DIGEST_MISMATCH, message))
        };
        let shown = file.display().to_string();
        evidence.push(record_evidence(ProofKind::Pin, &shown, None, outcome));
    }
    Ok(evidence)
}

/// Every statement that the policy requires is there, by a signer whom it trusts.
fn check_policy(policy: &Policy, evidence: &[Evidence], subject: &str) -> Result<()> {
    let mut findings = Vec::new();
    let statements: Vec<&Evidence> = evidence
        .iter()
        .filter(|proof| proof.proof == ProofKind::Attestation && proof.verdict.holds())
        .collect();
    for kind in &policy.required_attestations {
        let is_there = statements
            .iter()
            .any(|proof| find_kind(proof) == Some(*kind));
        if !is_there {
            let message = format!("no verified statement is `{}`", kind.as_str());
            let remedy = format!(
                "add the bundle of its {}: `--attestation FILE`",
                kind.as_str()
            );
            findings.push(
                Finding::new(Code::ATTESTATION_MISSING, message, remedy).with_subject(subject),
            );
        }
    }
    if !policy.required_attestations.is_empty() {
        for proof in statements {
            if !is_trusted(policy, proof) {
                let signer = proof.facts.get("signer").map_or("unknown", String::as_str);
                let message = format!("the policy does not trust the signer: {signer}");
                let remedy = "add the key to `trustedKeys`, or the identity to `trustedIdentities`, with `\"components\": [\"baked-image\"]`";
                findings.push(
                    Finding::new(Code::ATTESTATION_SIGNER, message, remedy).with_subject(subject),
                );
            }
        }
    }
    Ok(PolicyFault::Proof.refuse(policy, findings)?)
}

fn find_kind(proof: &Evidence) -> Option<StatementKind> {
    StatementKind::from_predicate_type(proof.facts.get("predicate")?)
}

/// Whether the policy names the signer for the baked image. A key that is trusted for a component signs no image.
fn is_trusted(policy: &Policy, proof: &Evidence) -> bool {
    let facts = &proof.facts;
    if let Some(key) = facts.get("keySha256") {
        let mut keys = policy.trusted_keys.iter();
        return keys.any(|known| known.key.eq_ignore_ascii_case(key) && names_image(known.scope()));
    }
    policy.trusted_identities.iter().any(|known| {
        facts.get("signer") == Some(&known.identity)
            && facts.get("issuer") == Some(&known.issuer)
            && names_image(known.scope())
    })
}

fn names_image(scope: TrustScope<'_>) -> bool {
    scope.components.iter().any(|name| name == BAKED_IMAGE)
}
