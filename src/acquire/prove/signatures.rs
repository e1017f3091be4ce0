//! Detached signatures over an artifact or over its checksum file.

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::text::last_segment;
use crate::base::url::HttpUrl;
use crate::catalog::Keys;
use crate::fetch::FetchedArtifact;
use crate::io::fs;
use crate::model::component::{DeclaredSignature, SignatureKind};
use crate::model::evidence::Evidence;
use crate::model::plan::PlannedArtifact;
use crate::verify::checksums::LINE;
use crate::verify::proof::{
    ExpectedSignature, SignedContent, require_named, require_signer, verify_detached,
};
use crate::verify::sigstore::ExpectedSigner;
use crate::verify::{ProofError, Proven, record_evidence, require_digest};

use super::{
    ProveError, Trust, VerifiedChecksums, fetch_sidecar, record_missing, strip_url_secrets,
};

/// The bytes that are signed: the artifact in the store, or its checksum file.
pub(super) enum SignedSource<'a> {
    Artifact(&'a FetchedArtifact),
    Sums(&'a VerifiedChecksums),
}

impl SignedSource<'_> {
    /// The facts of a proof over a checksum file have the entry of that very file: it is what was signed.
    pub(super) fn complete_facts(&self, mut proven: Proven) -> Proven {
        if let Self::Sums(VerifiedChecksums {
            line: Some(line), ..
        }) = self
        {
            proven.facts.insert(LINE.to_owned(), line.clone());
        }
        proven
    }
}

impl SignedContent for SignedSource<'_> {
    fn sha256(&self) -> Result<[u8; 32], ProofError> {
        let hex = match self {
            Self::Artifact(fetched) => fetched.sha256().to_owned(),
            Self::Sums(sums) => sha256_hex(&sums.bytes),
        };
        require_digest(&hex)
    }

    fn read_pieces(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), ProofError> {
        match self {
            Self::Artifact(fetched) => fs::read_pieces(fetched.path(), each)
                .map_err(|error| ProofError::new(Code::UNREADABLE, error.to_string())),
            Self::Sums(sums) => {
                each(&sums.bytes);
                Ok(())
            }
        }
    }
}

pub(super) fn check_signatures(
    artifact: &PlannedArtifact,
    fetched: &FetchedArtifact,
    sums: &[VerifiedChecksums],
    trust: Trust<'_>,
    found: &mut Vec<Evidence>,
) -> Result<(), ProveError> {
    for signature in &artifact.signatures {
        let kind = signature.kind.proof_kind();
        let sidecar = |url: &HttpUrl| -> Result<Option<Vec<u8>>, ProveError> {
            let found = fetch_sidecar(artifact, fetched.headers(), url, trust.fetcher)?;
            Ok(found.map(|sidecar| sidecar.bytes))
        };
        let Some(bytes) = sidecar(&signature.url)? else {
            found.push(record_missing(artifact, kind, &signature.url, trust.policy));
            continue;
        };
        let subject = if signature.kind.signs_checksums() {
            // A signature over checksums that are not there covers nothing.
            let Some(sums) = find_signed_sums(sums, signature.url.public_url()) else {
                found.push(record_missing(artifact, kind, &signature.url, trust.policy));
                continue;
            };
            SignedSource::Sums(sums)
        } else {
            SignedSource::Artifact(fetched)
        };
        let mut certificate = None;
        if let Some(url) = &signature.certificate_url {
            certificate = sidecar(url)?;
            if certificate.is_none() {
                found.push(record_missing(artifact, kind, url, trust.policy));
                continue;
            }
        }
        let outcome = expect_declared(signature, certificate.as_deref(), trust.keys, trust.now)
            .and_then(|expected| verify_detached(&subject, &bytes, &expected))
            .map(|proven| subject.complete_facts(proven));
        let name = match &subject {
            SignedSource::Artifact(_) => artifact.file.clone(),
            SignedSource::Sums(sums) => last_segment(&sums.url).to_owned(),
        };
        found.push(record_evidence(
            kind,
            &name,
            Some(&strip_url_secrets(&signature.url)),
            outcome,
        ));
    }
    Ok(())
}

/// The checksum file that a signature's URL names, or the only one there is.
pub(super) fn find_signed_sums<'a>(
    sums: &'a [VerifiedChecksums],
    url: &str,
) -> Option<&'a VerifiedChecksums> {
    // The name of one file may begin with that of another: `SHA256SUMS` and `SHA256SUMS.txt`.
    sums.iter()
        .filter(|sums| url.starts_with(&sums.url))
        .max_by_key(|sums| sums.url.len())
        .or(match sums {
            [only] => Some(only),
            _ => None,
        })
}

/// The signature as the catalog declares it. `certificate` lies beside the signature; `now` is seconds since 1970.
pub(super) fn expect_declared<'a>(
    signature: &'a DeclaredSignature,
    certificate: Option<&'a [u8]>,
    keys: &'a Keys,
    now: u64,
) -> Result<ExpectedSignature<'a>, ProofError> {
    match signature.kind {
        SignatureKind::CosignKey | SignatureKind::CosignKeyOverChecksums => {
            let key = require_key(signature, keys)?;
            Ok(ExpectedSignature::Cosign { key })
        }
        SignatureKind::Minisign | SignatureKind::MinisignOverChecksums => {
            let key = require_key(signature, keys)?;
            Ok(ExpectedSignature::Minisign { key })
        }
        SignatureKind::Openpgp | SignatureKind::OpenpgpOverChecksums => {
            Ok(ExpectedSignature::Openpgp {
                keyring: require_key(signature, keys)?.as_bytes(),
                fingerprint: require_named(signature.identity.as_deref(), "identity")?,
                now,
            })
        }
        SignatureKind::CosignKeyless => {
            let message = "the publisher has no certificate beside the signature";
            Ok(ExpectedSignature::KeylessPair {
                signer: declared_signer(signature)?,
                certificate: certificate
                    .ok_or_else(|| ProofError::new(Code::NO_CERTIFICATE, message))?,
                root: keys.sigstore_root(),
            })
        }
        SignatureKind::SigstoreBundle | SignatureKind::GithubAttestation => {
            expect_bundle(signature, keys)
        }
    }
}

/// The key that a signature names, or the text itself where it is a key.
///
/// # Errors
/// `no-signer`: it names none.
fn require_key<'a>(
    signature: &'a DeclaredSignature,
    keys: &'a Keys,
) -> Result<&'a str, ProofError> {
    let name = require_named(signature.key.as_deref(), "key")?;
    Ok(keys.resolve_key(name))
}

/// A sigstore bundle that its publisher made, as the catalog declares it.
///
/// # Errors
/// `no-signer`: neither key nor identity with issuer is declared.
fn expect_bundle<'a>(
    signature: &'a DeclaredSignature,
    keys: &'a Keys,
) -> Result<ExpectedSignature<'a>, ProofError> {
    let root = keys.sigstore_root();
    if signature.kind == SignatureKind::GithubAttestation {
        let signer = declared_signer(signature)?;
        return Ok(ExpectedSignature::Attestation { signer, root });
    }
    if signature.is_by_key() {
        let key = require_key(signature, keys)?;
        return Ok(ExpectedSignature::BundleByKey { key, root });
    }
    let signer = declared_signer(signature)?;
    Ok(ExpectedSignature::BundleBySigner { signer, root })
}

/// # Errors
/// `no-signer`: the catalog names no identity or no issuer.
pub(super) fn declared_signer(
    signature: &DeclaredSignature,
) -> Result<ExpectedSigner<'_>, ProofError> {
    require_signer(signature.identity.as_deref(), signature.issuer.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(signature: serde_json::Value) -> Option<Code> {
        let signature: DeclaredSignature = serde_json::from_value(signature).expect("a signature");
        let keys = Keys::default();
        let expected = expect_declared(&signature, Some(b"pem"), &keys, 0);
        expected.err().map(|error| error.code)
    }

    #[test]
    fn a_signature_is_over_the_checksum_file_of_its_name() {
        let sums = ["SHA256SUMS", "SHA256SUMS.txt", "other"].map(|name| VerifiedChecksums {
            url: format!("https://example.com/{name}"),
            bytes: Vec::new(),
            line: None,
        });
        for (name, found) in [
            ("SHA256SUMS.sig", Some("SHA256SUMS")),
            ("SHA256SUMS.txt.sig", Some("SHA256SUMS.txt")),
            ("SHA512SUMS.sig", None),
        ] {
            let signed = find_signed_sums(&sums, &format!("https://example.com/{name}"));
            let signed = signed.and_then(|sums| sums.url.rsplit('/').next());
            assert_eq!(signed, found, "{name}");
        }
    }

    /// Whatever is left out or empty would be met by anybody's signature.
    #[test]
    fn a_declared_signature_without_a_signer_is_refused() {
        let url = "https://example.com/x";
        for kind in ["cosign-keyless", "sigstore-bundle", "github-attestation"] {
            let declare = |identity: Option<&str>, issuer: Option<&str>| {
                let value = serde_json::json!({ "kind": kind, "url": url, "identity": identity, "issuer": issuer });
                code(value)
            };
            assert_eq!(declare(Some("me"), Some("https://issuer.example")), None);
            assert_eq!(declare(None, None), Some(Code::NO_SIGNER), "{kind}");
            assert_eq!(declare(Some("me"), None), Some(Code::NO_SIGNER), "{kind}");
            assert_eq!(
                declare(Some("me"), Some("")),
                Some(Code::NO_SIGNER),
                "{kind}"
            );
            assert_eq!(
                declare(None, Some("https://issuer.example")),
                Some(Code::NO_SIGNER),
                "{kind}"
            );
        }
        for kind in ["cosign-key", "minisign", "openpgp"] {
            for key in [None, Some("")] {
                let value =
                    serde_json::json!({ "kind": kind, "url": url, "key": key, "identity": "0123" });
                assert_eq!(code(value), Some(Code::NO_SIGNER), "{kind}");
            }
        }
        let value = serde_json::json!({ "kind": "openpgp", "url": url, "key": "k" });
        assert_eq!(code(value), Some(Code::NO_SIGNER));
    }
}
