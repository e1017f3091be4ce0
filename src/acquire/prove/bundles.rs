//! Signers' proofs that are stored beside a lockfile and verified again without network or artifact: the lockfile
//! has the signed digest.
//!
//! A signature with its certificate is stored as a sigstore bundle without log entry; the verdict stays
//! `signed-time-unproven`. A publisher's own bundle is stored unchanged.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::code::Code;
use crate::base::url::HttpUrl;
use crate::base::value::PinAlgorithm;
use crate::io::fs;
use crate::io::store::Store;
use crate::model::component::{DeclaredSignature, SignatureKind};
use crate::model::evidence::{Evidence, ProofKind};
use crate::model::plan::PlannedArtifact;
use crate::verify::proof::{ExpectedSignature, SignedContent, verify_detached};
use crate::verify::{ProofError, Proven, keyless, record_evidence, require_digest};

use super::signatures::{declared_signer, expect_bundle};
use super::{Keys, ProveError, VerifiedArtifact, strip_url_secrets};

/// The part of a proof that is kept, by the name of its file; none for kinds that say nothing of a signer's
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
    let digest = require_digest(verified.fetched().sha256())?;
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
                let signed = read_stored(store, &signature.url)?;
                let certificate = read_stored(store, url)?;
                keyless::build_bundle(&digest, &signed, &certificate)?.into_bytes()
            }
            _ => read_stored(store, &signature.url)?,
        };
        verify_stored(signature, digest, &bytes, keys)?;
        files.insert(name, bytes);
    }
    Ok(files)
}

/// The bytes that were fetched from an address.
fn read_stored(store: &Store, url: &HttpUrl) -> Result<Vec<u8>, ProveError> {
    if let Some(object) = store.find_url(url.public_url())
        && let Some(content) = store.read_object(&object)?
    {
        return Ok(content);
    }
    let message = format!(
        "the store does not contain {} any more",
        strip_url_secrets(url)
    );
    Err(ProofError::new(Code::PROOF_GONE, message).into())
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
                Code::PROOF_ABSENT,
                "the lockfile records this file as the proof",
            )),
            (_, None) => Err(ProofError::new(
                Code::PROOF_DIGEST,
                "the lock has no SHA-256 of the artifact",
            )),
            (Some(bytes), Some(pin)) => require_digest(pin.digest.as_str())
                .and_then(|digest| verify_stored(signature, digest, &bytes, keys)),
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

/// An artifact of which only the digest is at hand.
struct LockedContent([u8; 32]);

impl SignedContent for LockedContent {
    fn sha256(&self) -> Result<[u8; 32], ProofError> {
        Ok(self.0)
    }

    fn read_pieces(&self, _: &mut dyn FnMut(&[u8])) -> Result<(), ProofError> {
        let message = "only the digest of the artifact is here, and this proof is over its bytes";
        Err(ProofError::new(Code::UNREADABLE, message))
    }
}

/// Proves what [`collect_proofs`] kept: of a signature with its certificate both in one file, of a publisher's bundle
/// the bundle.
fn verify_stored(
    signature: &DeclaredSignature,
    digest: [u8; 32],
    bytes: &[u8],
    keys: &Keys,
) -> Result<Proven, ProofError> {
    let expected = if signature.kind == SignatureKind::CosignKeyless {
        let signer = declared_signer(signature)?;
        ExpectedSignature::KeylessBundle { signer }
    } else {
        expect_bundle(signature, keys)?
    };
    verify_detached(&LockedContent(digest), bytes, &expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(signature: &serde_json::Value) -> Code {
        let signature: DeclaredSignature =
            serde_json::from_value(signature.clone()).expect("a signature");
        let outcome = verify_stored(&signature, [7; 32], b"{}", &Keys::default());
        outcome.expect_err("nobody signed it").code
    }

    /// A definition may leave any of them out, and a lockfile be edited.
    #[test]
    fn a_stored_proof_without_a_signer_is_none() {
        let url = "https://example.com/x";
        for kind in ["cosign-keyless", "sigstore-bundle", "github-attestation"] {
            for (identity, issuer) in [
                (None, None),
                (Some("me"), None),
                (None, Some("https://issuer.example")),
                (Some(""), Some("https://issuer.example")),
                (Some("me"), Some(" ")),
            ] {
                let signature = serde_json::json!({ "kind": kind, "url": url, "identity": identity, "issuer": issuer });
                assert_eq!(code(&signature), Code::NO_SIGNER, "{signature}");
            }
        }
        let by_key = serde_json::json!({ "kind": "sigstore-bundle", "url": url, "key": "" });
        assert_eq!(code(&by_key), Code::NO_SIGNER);
    }
}
