//! Signers' proofs that are stored beside a lockfile and verified again without network or artifact: the lockfile
//! has the signed digest.
//!
//! A signature with its certificate is stored as a sigstore bundle without log entry; the verdict stays
//! `signed-time-unproven`. A publisher's own bundle is stored unchanged.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::digest::parse_sha256;
use crate::base::url::HttpUrl;
use crate::base::value::PinAlgorithm;
use crate::io::fs;
use crate::io::store::Store;
use crate::model::component::{Signature, SignatureKind};
use crate::model::evidence::{Evidence, ProofKind};
use crate::model::plan::PlannedArtifact;
use crate::verify::sigstore::Signer;
use crate::verify::{ProofError, Proven, keyless, record_evidence, sigstore};

use super::{Keys, ProveError, VerifiedArtifact, strip_url_secrets};

/// What is kept of a proof, by the name of its file; none for kinds that say nothing of a signer's
/// certificate.
fn file_name(artifact: &PlannedArtifact, kind: SignatureKind) -> Option<String> {
    let end = match kind {
        SignatureKind::CosignKeyless => "keyless.sigstore.json",
        SignatureKind::SigstoreBundle => "sigstore.json",
        SignatureKind::GithubAttestation => "intoto.jsonl",
        _ => return None,
    };
    Some(format!("{}-{}.{end}", artifact.component, artifact.version))
}

/// Whether something of this kind was proven when the artifact was locked.
fn was_proven(artifact: &PlannedArtifact, kind: ProofKind) -> bool {
    artifact
        .evidence
        .iter()
        .any(|one| one.proof == kind && one.verdict.holds())
}

/// The proofs of an artifact that was just proven, out of the store, each proven once more.
///
/// # Errors
/// The store lacks what it had, or has something else.
fn collect_proofs(
    verified: &VerifiedArtifact,
    store: &Store,
    keys: &Keys,
) -> Result<BTreeMap<String, Vec<u8>>, ProveError> {
    let artifact = verified.artifact();
    let digest = parse_digest(verified.fetched().sha256())?;
    let stored = |url: &HttpUrl| -> Result<Vec<u8>, ProveError> {
        let object = store.find_url(url.public_url());
        let content = object
            .map(|object| store.read_object(&object))
            .transpose()?;
        let gone = || {
            ProofError::new(
                "proof-gone",
                format!(
                    "the store does not contain {} any more",
                    strip_url_secrets(url)
                ),
            )
        };
        Ok(content.flatten().ok_or_else(gone)?)
    };
    let mut files = BTreeMap::new();
    for signature in &artifact.signatures {
        let Some(name) = file_name(artifact, signature.kind) else {
            continue;
        };
        if !was_proven(artifact, signature.kind.proof_kind()) {
            continue;
        }
        let bytes = match &signature.certificate_url {
            Some(url) if signature.kind == SignatureKind::CosignKeyless => {
                keyless::build_bundle(&digest, &stored(&signature.url)?, &stored(url)?)?
                    .into_bytes()
            }
            _ => stored(&signature.url)?,
        };
        verify_proof(signature, &digest, &bytes, keys)?;
        files.insert(name, bytes);
    }
    Ok(files)
}

/// Writes the proofs of artifacts that were just proven into a folder.
///
/// # Errors
/// The store lacks a proof, or the folder cannot be written.
pub fn write_proofs(
    folder: &Path,
    verified: &[VerifiedArtifact],
    store: &Store,
    keys: &Keys,
) -> Result<(), ProveError> {
    for artifact in verified {
        for (name, bytes) in collect_proofs(artifact, store, keys)? {
            fs::write_file(&folder.join(name), &bytes)?;
        }
    }
    Ok(())
}

/// Proves again what is kept in a folder. What the lock says to be proven must be there.
///
/// # Errors
/// A file cannot be read.
pub fn reprove_artifact(
    artifact: &PlannedArtifact,
    folder: &Path,
    keys: &Keys,
) -> Result<Vec<Evidence>, ProveError> {
    let mut found = Vec::new();
    for signature in &artifact.signatures {
        let Some(name) = file_name(artifact, signature.kind) else {
            continue;
        };
        let path = folder.join(name);
        let kind = signature.kind.proof_kind();
        let bytes = fs::read_if_exists(&path)?;
        if bytes.is_none() && !was_proven(artifact, kind) {
            continue;
        }
        let pin = artifact
            .digests
            .iter()
            .find(|pin| pin.digest.algorithm() == PinAlgorithm::Sha256);
        let outcome = match (bytes, pin) {
            (None, _) => Err(ProofError::new(
                "proof-absent",
                "the lockfile records this file as the proof",
            )),
            (_, None) => Err(ProofError::new(
                "proof-digest",
                "the lock has no SHA-256 of the artifact",
            )),
            (Some(bytes), Some(pin)) => parse_digest(pin.digest.as_str())
                .and_then(|digest| verify_proof(signature, &digest, &bytes, keys)),
        };
        found.push(record_evidence(
            kind,
            &artifact.file,
            Some(&path.display().to_string()),
            outcome,
        ));
    }
    Ok(found)
}

fn parse_digest(hex: &str) -> Result<[u8; 32], ProofError> {
    parse_sha256(hex).ok_or_else(|| ProofError::new("digest", "the digest is not hexadecimal"))
}

fn verify_proof(
    signature: &Signature,
    digest: &[u8; 32],
    bytes: &[u8],
    keys: &Keys,
) -> Result<Proven, ProofError> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let (identity, issuer) = (text(&signature.identity), text(&signature.issuer));
    // An empty signer is refused by whoever is asked.
    let signer = Signer {
        identity: &identity,
        issuer: &issuer,
    };
    match (signature.kind, &signature.key) {
        (SignatureKind::CosignKeyless, _) => keyless::verify_bundle(digest, bytes, signer, None),
        (SignatureKind::SigstoreBundle, Some(key)) if signature.identity.is_none() => {
            sigstore::verify_bundle_by_key(digest, bytes, &keys.find_key(key), None)
        }
        (SignatureKind::GithubAttestation, _) => {
            sigstore::verify_attestation(digest, bytes, signer, None)
        }
        _ => sigstore::verify_bundle(digest, bytes, signer, None),
    }
}
