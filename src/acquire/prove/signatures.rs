//! Detached signatures over an artifact or over its checksum file.

use crate::base::digest::{parse_sha256, sha256_hex};
use crate::base::url::HttpUrl;
use crate::fetch::Fetched;
use crate::io::fs;
use crate::model::component::{Signature, SignatureKind};
use crate::model::evidence::Evidence;
use crate::model::plan::PlannedArtifact;
use crate::verify::sigstore::Signer;
use crate::verify::{
    ProofError, Proven, cosign, keyless, minisign, openpgp, record_evidence, sigstore,
};

use super::{ProveError, Sums, Trust, fetch_sidecar, record_missing, strip_url_secrets};

/// What is signed: the artifact in the store, or the bytes of its checksum file.
enum Subject<'a> {
    Artifact(&'a Fetched),
    Sums(&'a Sums),
}

impl Subject<'_> {
    fn sha256(&self) -> Result<[u8; 32], ProofError> {
        let hex = match self {
            Self::Artifact(fetched) => fetched.sha256().to_owned(),
            Self::Sums(sums) => sha256_hex(&sums.bytes),
        };
        parse_sha256(&hex).ok_or_else(|| ProofError::new("digest", "the digest is not hexadecimal"))
    }

    fn read_pieces(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), ProveError> {
        match self {
            Self::Artifact(fetched) => Ok(fs::read_pieces(fetched.path(), each)?),
            Self::Sums(sums) => {
                each(&sums.bytes);
                Ok(())
            }
        }
    }
}

pub(super) fn check_signatures(
    artifact: &PlannedArtifact,
    fetched: &Fetched,
    sums: &[Sums],
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
            Subject::Sums(sums)
        } else {
            Subject::Artifact(fetched)
        };
        let mut certificate = None;
        if let Some(url) = &signature.certificate_url {
            certificate = sidecar(url)?;
            if certificate.is_none() {
                found.push(record_missing(artifact, kind, url, trust.policy));
                continue;
            }
        }
        let outcome =
            match verify_signature(signature, &subject, &bytes, certificate.as_deref(), trust) {
                Ok(proven) => Ok(proven),
                Err(ProveError::Proof(error)) => Err(error),
                Err(other) => return Err(other),
            };
        let name = match &subject {
            Subject::Artifact(_) => artifact.file.clone(),
            Subject::Sums(sums) => sums.url.rsplit('/').next().unwrap_or_default().to_owned(),
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
fn find_signed_sums<'a>(sums: &'a [Sums], url: &str) -> Option<&'a Sums> {
    sums.iter()
        .find(|sums| url.starts_with(&sums.url))
        .or(match sums {
            [only] => Some(only),
            _ => None,
        })
}

fn verify_signature(
    signature: &Signature,
    subject: &Subject<'_>,
    bytes: &[u8],
    certificate: Option<&[u8]>,
    trust: Trust<'_>,
) -> Result<Proven, ProveError> {
    let wanted = |value: &Option<String>, what: &str| {
        value
            .clone()
            .ok_or_else(|| ProofError::new("no-signer", format!("the signature names no {what}")))
    };
    let key = || wanted(&signature.key, "key").map(|key| trust.keys.find_key(&key));
    let identity = wanted(&signature.identity, "identity");
    let issuer = wanted(&signature.issuer, "issuer");
    Ok(match signature.kind {
        SignatureKind::CosignKey | SignatureKind::CosignKeyOverChecksums => {
            cosign::verify_key(&subject.sha256()?, bytes, &key()?)?
        }
        SignatureKind::Minisign | SignatureKind::MinisignOverChecksums => {
            minisign::verify_minisign(|each| subject.read_pieces(each), bytes, &key()?)?
        }
        SignatureKind::Openpgp | SignatureKind::OpenpgpOverChecksums => openpgp::verify_detached(
            |each| subject.read_pieces(each),
            bytes,
            key()?.as_bytes(),
            &identity?,
            trust.now,
        )?,
        SignatureKind::SigstoreBundle
            if signature.key.is_some() && signature.identity.is_none() =>
        {
            sigstore::verify_bundle_by_key(&subject.sha256()?, bytes, &key()?, None)?
        }
        SignatureKind::SigstoreBundle => {
            let signer = Signer {
                identity: &identity?,
                issuer: &issuer?,
            };
            sigstore::verify_bundle(&subject.sha256()?, bytes, signer, None)?
        }
        SignatureKind::GithubAttestation => {
            let signer = Signer {
                identity: &identity?,
                issuer: &issuer?,
            };
            sigstore::verify_attestation(&subject.sha256()?, bytes, signer, None)?
        }
        SignatureKind::CosignKeyless => {
            let signer = Signer {
                identity: &identity?,
                issuer: &issuer?,
            };
            let certificate = certificate.ok_or_else(|| {
                ProofError::new(
                    "no-certificate",
                    "the publisher has no certificate beside the signature",
                )
            })?;
            keyless::verify_signature(&subject.sha256()?, bytes, certificate, signer, None)?
        }
    })
}
