//! Sigstore: bundles and attestations in bundles, verified without network against the public
//! good instance's root that is built in, or another.
//!
//! Codes: `sigstore-malformed`, `sigstore-root`, `sigstore-identity`, `sigstore-refused`,
//! `sigstore-subject`, `sigstore-predicate`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::{Bundle, Sha256Hash};
use sigstore_verify::{VerificationPolicy, verify as check};

use super::{ProofError, Proven};
use crate::model::evidence::Verdict;

/// Who must have signed. Both are compared whole.
#[derive(Debug, Clone, Copy)]
pub struct Signer<'a> {
    /// E-mail address or URI of the certificate.
    pub identity: &'a str,
    /// Who vouched for it.
    pub issuer: &'a str,
}

/// What a provenance statement may be called.
const PROVENANCE: &[&str] = &["https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"];

/// Verifies a bundle over a file with this SHA-256.
///
/// # Errors
/// See the module's codes.
pub fn verify_bundle(
    digest: &[u8; 32],
    bundle: &[u8],
    signer: Signer<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let (bundle, _) = parse(bundle)?;
    proven(digest, &bundle, signer, root, "a sigstore bundle over the file holds")
}

/// Verifies that a provenance statement names a file with this SHA-256. The file may hold several
/// bundles, one a line; one that fits is enough.
///
/// # Errors
/// See the module's codes.
pub fn verify_attestation(
    digest: &[u8; 32],
    bundles: &[u8],
    signer: Signer<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let lines: Vec<&[u8]> = if serde_json::from_slice::<serde_json::Value>(bundles).is_ok() {
        vec![bundles]
    } else {
        bundles.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect()
    };
    let mut why = ProofError::new("sigstore-malformed", "there is no bundle in it");
    for line in lines {
        let outcome = parse(line).and_then(|(bundle, text)| {
            statement(&text, digest)?;
            proven(digest, &bundle, signer, root, "a signed provenance statement names the file")
        });
        match outcome {
            Ok(proven) => return Ok(proven),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn parse(bytes: &[u8]) -> Result<(Bundle, String), ProofError> {
    let malformed = |error: &dyn std::fmt::Display| {
        ProofError::new("sigstore-malformed", format!("it is no sigstore bundle: {error}"))
    };
    let text = std::str::from_utf8(bytes).map_err(|error| malformed(&error))?;
    let bundle = Bundle::from_json(text).map_err(|error| malformed(&error))?;
    Ok((bundle, text.to_owned()))
}

fn proven(
    digest: &[u8; 32],
    bundle: &Bundle,
    signer: Signer<'_>,
    root: Option<&str>,
    detail: &str,
) -> Result<Proven, ProofError> {
    if signer.identity.is_empty() || signer.issuer.is_empty() {
        return Err(ProofError::new(
            "sigstore-identity",
            "a bundle proves nothing without an expected signer and issuer",
        ));
    }
    let root = TrustedRoot::from_json(root.unwrap_or(SIGSTORE_PRODUCTION_TRUSTED_ROOT)).map_err(|error| {
        ProofError::new("sigstore-root", format!("the trusted root cannot be read: {error}"))
    })?;
    let policy = VerificationPolicy::new(signer.identity, signer.issuer);
    let result = check(
        Sha256Hash::from_hex(&crate::embedded::hex(digest))
            .map_err(|error| ProofError::new("sigstore-malformed", error.to_string()))?,
        bundle,
        &policy,
        &root,
    )
    .map_err(|error| {
        let told = error.to_string();
        let code = if told.contains("identity") || told.contains("issuer") {
            "sigstore-identity"
        } else {
            "sigstore-refused"
        };
        ProofError::new(code, told)
    })?;
    let mut facts = BTreeMap::from([
        ("signer".to_owned(), signer.identity.to_owned()),
        ("issuer".to_owned(), signer.issuer.to_owned()),
    ]);
    if let Some(time) = result.integrated_time() {
        facts.insert("time".to_owned(), time.to_string());
    }
    Ok(Proven { verdict: Verdict::Verified, detail: detail.to_owned(), facts })
}

#[derive(Deserialize)]
struct Statement {
    #[serde(rename = "predicateType")]
    predicate: String,
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    digest: BTreeMap<String, String>,
}

/// The statement is provenance, and names the file.
fn statement(bundle: &str, digest: &[u8; 32]) -> Result<(), ProofError> {
    let malformed = || ProofError::new("sigstore-malformed", "the bundle holds no in-toto statement");
    let json: serde_json::Value = serde_json::from_str(bundle).map_err(|_| malformed())?;
    let payload = json["dsseEnvelope"]["payload"].as_str().ok_or_else(malformed)?;
    let payload = STANDARD.decode(payload).map_err(|_| malformed())?;
    let statement: Statement = serde_json::from_slice(&payload).map_err(|_| malformed())?;
    if !PROVENANCE.contains(&statement.predicate.as_str()) {
        let message = format!("the statement is `{}`, not provenance", statement.predicate);
        return Err(ProofError::new("sigstore-predicate", message));
    }
    let wanted = crate::embedded::hex(digest);
    if statement.subject.iter().any(|subject| subject.digest.get("sha256") == Some(&wanted)) {
        return Ok(());
    }
    Err(ProofError::new(
        "sigstore-subject",
        format!("the statement does not name a file with the digest {wanted}"),
    ))
}
