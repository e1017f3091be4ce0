//! Detached signatures over an artifact or over its checksum file.

use crate::embedded::{sha256, sha256_bytes};
use crate::fetch::Fetched;
use crate::io::fs;
use crate::model::component::{Signature, SignatureKind};
use crate::model::evidence::Evidence;
use crate::model::plan::PlannedArtifact;
use crate::model::url::HttpUrl;
use crate::verify::sigstore::Signer;
use crate::verify::{ProofError, Proven, cosign, evidence, keyless, minisign, openpgp, sigstore};

use super::{ProveError, Sums, Trust, missing, shown, sidecar};

/// What is signed: the artifact in the store, or the bytes of its checksum file.
enum Subject<'a> {
    Artifact(&'a Fetched),
    Sums(&'a Sums),
}

impl Subject<'_> {
    fn sha256(&self) -> Result<[u8; 32], ProofError> {
        let hex = match self {
            Self::Artifact(fetched) => fetched.sha256().to_owned(),
            Self::Sums(sums) => sha256(&sums.bytes),
        };
        sha256_bytes(&hex).ok_or_else(|| ProofError::new("digest", "the digest is not hexadecimal"))
    }

    fn pieces(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), ProveError> {
        match self {
            Self::Artifact(fetched) => Ok(fs::pieces(fetched.path(), each)?),
            Self::Sums(sums) => {
                each(&sums.bytes);
                Ok(())
            }
        }
    }
}

pub(super) fn check(
    artifact: &PlannedArtifact,
    fetched: &Fetched,
    sums: &[Sums],
    trust: Trust<'_>,
    found: &mut Vec<Evidence>,
) -> Result<(), ProveError> {
    for signature in &artifact.signatures {
        let kind = signature.kind.proof();
        let sidecar = |url: &HttpUrl| sidecar(artifact, fetched.headers(), url, trust.fetcher);
        let Some(bytes) = sidecar(&signature.url)? else {
            found.push(missing(artifact, kind, &signature.url, trust.policy));
            continue;
        };
        let subject = if signature.kind.over_checksums() {
            // A signature over checksums that are not there covers nothing.
            let Some(sums) = signed_sums(sums, &signature.url) else {
                found.push(missing(artifact, kind, &signature.url, trust.policy));
                continue;
            };
            Subject::Sums(sums)
        } else {
            Subject::Artifact(fetched)
        };
        let mut certificate = None;
        if let Some(url) = &signature.certificate_url {
            certificate = sidecar(url)?;
            if certificate.is_none() {
                found.push(missing(artifact, kind, url, trust.policy));
                continue;
            }
        }
        let outcome = match one(signature, &subject, &bytes, certificate.as_deref(), trust) {
            Ok(proven) => Ok(proven),
            Err(ProveError::Proof(error)) => Err(error),
            Err(other) => return Err(other),
        };
        let name = match &subject {
            Subject::Artifact(_) => artifact.file.clone(),
            Subject::Sums(sums) => sums.url.rsplit('/').next().unwrap_or_default().to_owned(),
        };
        found.push(evidence(kind, &name, Some(&shown(&signature.url)), outcome));
    }
    Ok(())
}

/// The checksum file that a signature's URL names, or the only one there is.
fn signed_sums<'a>(sums: &'a [Sums], url: &str) -> Option<&'a Sums> {
    sums.iter().find(|sums| url.starts_with(&sums.url)).or(match sums {
        [only] => Some(only),
        _ => None,
    })
}

fn one(
    signature: &Signature,
    subject: &Subject<'_>,
    bytes: &[u8],
    certificate: Option<&[u8]>,
    trust: Trust<'_>,
) -> Result<Proven, ProveError> {
    let wanted = |value: &Option<String>, what: &str| {
        value.clone().ok_or_else(|| ProofError::new("no-signer", format!("the signature names no {what}")))
    };
    let key = || wanted(&signature.key, "key").map(|key| trust.keys.get(&key));
    let identity = wanted(&signature.identity, "identity");
    let issuer = wanted(&signature.issuer, "issuer");
    Ok(match signature.kind {
        SignatureKind::CosignKey | SignatureKind::CosignKeyOverChecksums => {
            cosign::verify_key(&subject.sha256()?, bytes, &key()?)?
        }
        SignatureKind::Minisign | SignatureKind::MinisignOverChecksums => {
            minisign::verify(|each| subject.pieces(each), bytes, &key()?)?
        }
        SignatureKind::Openpgp | SignatureKind::OpenpgpOverChecksums => {
            openpgp::verify(|each| subject.pieces(each), bytes, key()?.as_bytes(), &identity?, trust.now)?
        }
        SignatureKind::SigstoreBundle if signature.key.is_some() && signature.identity.is_none() => {
            sigstore::verify_bundle_by_key(&subject.sha256()?, bytes, &key()?, None)?
        }
        SignatureKind::SigstoreBundle => {
            let signer = Signer { identity: &identity?, issuer: &issuer? };
            sigstore::verify_bundle(&subject.sha256()?, bytes, signer, None)?
        }
        SignatureKind::GithubAttestation => {
            let signer = Signer { identity: &identity?, issuer: &issuer? };
            sigstore::verify_attestation(&subject.sha256()?, bytes, signer, None)?
        }
        SignatureKind::CosignKeyless => {
            let signer = Signer { identity: &identity?, issuer: &issuer? };
            let certificate = certificate.ok_or_else(|| {
                ProofError::new("no-certificate", "the publisher has no certificate beside the signature")
            })?;
            keyless::verify(&subject.sha256()?, bytes, certificate, signer, None)?
        }
    })
}
