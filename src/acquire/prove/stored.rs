//! Signers' proofs that are stored beside a lockfile and verified again without network or artifact: the lockfile
//! has the signed digest.
//!
//! A signature with its certificate is stored as a sigstore bundle without log entry; the verdict stays
//! `signed-time-unproven`. A publisher's own sigstore bundle and a signature by a key are stored unchanged, and a
//! signature over a checksum file with that file. An OpenPGP or minisign signature over the artifact itself is over a
//! digest that no lockfile has, and is not stored.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::public_key::CosignKey;
use crate::base::url::HttpUrl;
use crate::base::value::PinAlgorithm;
use crate::catalog::Keys;
use crate::fetch::Fetcher;
use crate::io::fs;
use crate::model::component::{ChecksumFile, DeclaredSignature, SignatureKind};
use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::model::plan::PlannedArtifact;
use crate::verify::checksums::{self, ChecksumLine};
use crate::verify::proof::{ExpectedSignature, SignedContent, verify_detached};
use crate::verify::{ProofError, Proven, keyless, record_evidence, require_digest};

use super::signatures::{SignedSource, declared_signer, expect_declared, find_signed_sums};
use super::{ProveError, VerifiedArtifact, VerifiedChecksums, find_sidecar, strip_url_secrets};

/// Names of the files of a proof.
struct StoredNames {
    signature: String,
    /// The checksum file that is signed.
    checksums: Option<String>,
}

/// Contents of the files of a proof.
struct StoredProof {
    signature: Vec<u8>,
    checksums: Option<Vec<u8>>,
}

/// A proof that holds, and that a lockfile alone cannot prove again.
#[derive(Debug)]
pub struct UnstoredProof {
    /// Component and version.
    pub title: String,
    pub proof: ProofKind,
    pub reason: &'static str,
}

/// Keys, and the time at which signatures are judged.
#[derive(Debug, Clone, Copy)]
pub struct StoredTrust<'a> {
    pub keys: &'a Keys,
    /// Seconds since 1970.
    pub now: u64,
}

/// Why a lockfile alone cannot prove a signature again; none where it can.
fn find_obstacle(
    artifact: &PlannedArtifact,
    signature: &DeclaredSignature,
    keys: &Keys,
) -> Option<&'static str> {
    let is_locked = |algorithm: PinAlgorithm| {
        let mut digests = artifact.digests.iter();
        digests.any(|pin| pin.digest.algorithm() == algorithm)
    };
    match signature.kind {
        SignatureKind::Openpgp | SignatureKind::Minisign => {
            Some("it is over the bytes of the file, and a lockfile has only their SHA-256")
        }
        SignatureKind::CosignKeyOverChecksums
        | SignatureKind::OpenpgpOverChecksums
        | SignatureKind::MinisignOverChecksums => {
            let sums = list_signed_sums(artifact, signature);
            let is_open = !sums.iter().any(|file| is_locked(file.algorithm));
            is_open.then_some("the lockfile has no digest of the algorithm of the checksum file")
        }
        SignatureKind::CosignKey if has_own_digest(signature, keys) => {
            Some("it may be over another digest of the file than a lockfile has")
        }
        SignatureKind::CosignKeyless
        | SignatureKind::SigstoreBundle
        | SignatureKind::GithubAttestation
        | SignatureKind::CosignKey => {
            let is_open = !is_locked(PinAlgorithm::Sha256);
            is_open.then_some("the lockfile has no SHA-256 of the file")
        }
    }
}

fn has_own_digest(signature: &DeclaredSignature, keys: &Keys) -> bool {
    let key = keys.resolve_key(signature.key.as_deref().unwrap_or_default());
    CosignKey::parse(key).is_ok_and(|key| key.algorithm().has_own_digest())
}

/// The checksum file whose name the signature's begins with; all, if there is none.
fn list_signed_sums<'a>(
    artifact: &'a PlannedArtifact,
    signature: &DeclaredSignature,
) -> Vec<&'a ChecksumFile> {
    let place = signature.url.public_url();
    let mut sums = Vec::from_iter(&artifact.checksums);
    sums.retain(|file| place.starts_with(file.url.public_url()));
    if sums.is_empty() {
        sums.extend(&artifact.checksums);
    }
    sums
}

/// How many digits of an artifact's digest stand in the names of its proofs.
const NAME_DIGITS: usize = 12;

/// The names by which a folder has the proof of a signature. Images that share the folder may have other bytes of one
/// version, and an artifact several signatures of one kind.
fn name_files(artifact: &PlannedArtifact, signature: &DeclaredSignature) -> StoredNames {
    name_marked_files(artifact, signature, "")
}

/// The names where another image has the first ones for a signature of the same bytes by another signer: the digits of
/// this signer stand in them.
fn name_signer_files(
    artifact: &PlannedArtifact,
    signature: &DeclaredSignature,
    keys: &Keys,
) -> StoredNames {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let key = text(&signature.key);
    let signer = [
        keys.resolve_key(&key).to_owned(),
        text(&signature.identity),
        text(&signature.issuer),
    ];
    let digest = sha256_hex(signer.join("\0").as_bytes());
    name_marked_files(artifact, signature, &format!("-{}", &digest[..NAME_DIGITS]))
}

fn name_marked_files(
    artifact: &PlannedArtifact,
    signature: &DeclaredSignature,
    mark: &str,
) -> StoredNames {
    let kind = signature.kind;
    let (signed, end) = match kind {
        SignatureKind::CosignKeyless => ("", ".keyless.sigstore.json"),
        SignatureKind::SigstoreBundle => ("", ".sigstore.json"),
        SignatureKind::GithubAttestation => ("", ".intoto.jsonl"),
        SignatureKind::CosignKey => ("", ".cosign.sig"),
        SignatureKind::Openpgp => ("", ".openpgp.sig"),
        SignatureKind::Minisign => ("", ".minisig"),
        SignatureKind::CosignKeyOverChecksums => (".cosign.checksums", ".sig"),
        SignatureKind::OpenpgpOverChecksums => (".openpgp.checksums", ".sig"),
        SignatureKind::MinisignOverChecksums => (".minisign.checksums", ".minisig"),
    };
    let digests = artifact.digests.iter().map(|pin| pin.digest.as_str());
    let digest = digests
        .min_by_key(|digest| digest.len())
        .unwrap_or_default();
    let digits = digest.get(..NAME_DIGITS).unwrap_or(digest);
    let mut alike = artifact.signatures.iter().filter(|one| one.kind == kind);
    let place = match alike.position(|one| one == signature) {
        Some(earlier) if earlier > 0 => format!(".{}", earlier + 1),
        _ => String::new(),
    };
    let PlannedArtifact {
        component, version, ..
    } = artifact;
    let signed = format!("{component}-{version}-{digits}{mark}{place}{signed}");
    StoredNames {
        signature: format!("{signed}{end}"),
        checksums: kind.signs_checksums().then_some(signed),
    }
}

/// Whether this signature was proven when the artifact was locked: another one of its kind may have been absent.
fn was_proven(artifact: &PlannedArtifact, signature: &DeclaredSignature) -> bool {
    let place = strip_url_secrets(&signature.url);
    artifact.evidence.iter().any(|one| {
        let is_of = one.source.as_ref().is_none_or(|source| *source == place);
        is_of && one.proof == signature.kind.proof_kind() && one.verdict.holds()
    })
}

/// A proof of an artifact that was just proven, out of the store.
fn collect_proof(
    verified: &VerifiedArtifact,
    signature: &DeclaredSignature,
    fetcher: &Fetcher,
) -> Result<StoredProof, ProveError> {
    let bytes = read_sidecar(&signature.url, fetcher)?;
    if signature.kind.signs_checksums() {
        let sums = read_signed_sums(verified.artifact(), signature, fetcher)?;
        return Ok(StoredProof {
            signature: bytes,
            checksums: Some(sums),
        });
    }

    let signature = match &signature.certificate_url {
        Some(url) if signature.kind == SignatureKind::CosignKeyless => {
            let certificate = read_sidecar(url, fetcher)?;
            let digest = require_digest(verified.fetched().sha256())?;
            keyless::build_bundle(&digest, &bytes, &certificate)?.into_bytes()
        }
        _ => bytes,
    };
    Ok(StoredProof {
        signature,
        checksums: None,
    })
}

/// The bytes that were fetched from an address, or that a bundle brought in their place.
fn read_sidecar(url: &HttpUrl, fetcher: &Fetcher) -> Result<Vec<u8>, ProveError> {
    match find_sidecar(url, fetcher)? {
        Some(bytes) => Ok(bytes),
        None => Err(gone_error(url).into()),
    }
}

/// The checksum file that a signature is over.
fn read_signed_sums(
    artifact: &PlannedArtifact,
    signature: &DeclaredSignature,
    fetcher: &Fetcher,
) -> Result<Vec<u8>, ProveError> {
    let mut stored = Vec::new();
    for checksum in &artifact.checksums {
        if let Some(bytes) = find_sidecar(&checksum.url, fetcher)? {
            stored.push(VerifiedChecksums {
                url: checksum.url.to_string(),
                bytes,
                line: None,
            });
        }
    }
    match find_signed_sums(&stored, signature.url.public_url()) {
        Some(sums) => Ok(sums.bytes.clone()),
        None => Err(gone_error(&signature.url).into()),
    }
}

fn gone_error(url: &HttpUrl) -> ProofError {
    let message = format!(
        "the store does not contain {} any more",
        strip_url_secrets(url)
    );
    ProofError::new(Code::PROOF_GONE, message)
}

/// Writes the proofs of artifacts that were just proven into a folder, each proven once more; those that cannot be
/// stored are returned.
///
/// # Errors
/// The store lacks a proof or has something else, or the folder cannot be written.
pub fn write_proofs(
    folder: &Path,
    verified: &[VerifiedArtifact],
    fetcher: &Fetcher,
    trust: StoredTrust<'_>,
) -> Result<Vec<UnstoredProof>, ProveError> {
    let mut unstored = Vec::new();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for verified in verified {
        let artifact = verified.artifact();
        for signature in &artifact.signatures {
            let proof = signature.kind.proof_kind();
            if !was_proven(artifact, signature) {
                continue;
            }
            if let Some(reason) = find_obstacle(artifact, signature, trust.keys) {
                let title = artifact.title();
                unstored.push(UnstoredProof {
                    title,
                    proof,
                    reason,
                });
            } else {
                let proof = collect_proof(verified, signature, fetcher)?;
                verify_stored(artifact, signature, &proof, trust)?;
                let names = choose_names(artifact, signature, folder, trust)?;
                files.push((names.signature, proof.signature));
                files.extend(names.checksums.zip(proof.checksums));
            }
        }
    }

    for (name, bytes) in files {
        fs::write_file(&folder.join(name), &bytes)?;
    }
    Ok(unstored)
}

/// The names for a proof that is written: those that tell the signer where the folder has a proof by another one.
fn choose_names(
    artifact: &PlannedArtifact,
    signature: &DeclaredSignature,
    folder: &Path,
    trust: StoredTrust<'_>,
) -> Result<StoredNames, ProveError> {
    let names = name_files(artifact, signature);
    let is_others = match read_proof(folder, &names)? {
        ReadProof::Whole(proof) => verify_stored(artifact, signature, &proof, trust).is_err(),
        ReadProof::Absent(_) => false,
    };
    if is_others {
        return Ok(name_signer_files(artifact, signature, trust.keys));
    }
    Ok(names)
}

/// The names by which a folder has a proof, or would have it.
fn find_names(
    artifact: &PlannedArtifact,
    signature: &DeclaredSignature,
    folder: &Path,
    keys: &Keys,
) -> Result<StoredNames, ProveError> {
    let names = name_signer_files(artifact, signature, keys);
    match read_proof(folder, &names)? {
        ReadProof::Whole(_) => Ok(names),
        ReadProof::Absent(_) => Ok(name_files(artifact, signature)),
    }
}

/// Proves again what is kept in a folder. What the lock says to be proven must be there; another declared signature
/// without a file is absent.
///
/// # Errors
/// A file cannot be read.
pub fn reprove_artifact(
    artifact: &PlannedArtifact,
    folder: &Path,
    trust: StoredTrust<'_>,
) -> Result<Vec<Evidence>, ProveError> {
    let mut found = Vec::new();
    for signature in &artifact.signatures {
        if find_obstacle(artifact, signature, trust.keys).is_some() {
            continue;
        }
        let names = find_names(artifact, signature, folder, trust.keys)?;
        let kind = signature.kind.proof_kind();
        let (name, outcome) = match read_proof(folder, &names)? {
            ReadProof::Whole(proof) => {
                let outcome = verify_stored(artifact, signature, &proof, trust);
                (&names.signature, outcome)
            }
            ReadProof::Absent(name) if was_proven(artifact, signature) => {
                let message = "the lockfile records this file as the proof";
                (name, Err(ProofError::new(Code::PROOF_ABSENT, message)))
            }
            ReadProof::Absent(name) => {
                let absent = Proven {
                    verdict: Verdict::Absent,
                    detail: "the folder has no such file".to_owned(),
                    facts: BTreeMap::new(),
                };
                (name, Ok(absent))
            }
        };
        let source = folder.join(name).display().to_string();
        found.push(record_evidence(
            kind,
            &artifact.file,
            Some(&source),
            outcome,
        ));
    }
    Ok(found)
}

/// A proof as a folder has it.
enum ReadProof<'a> {
    Whole(StoredProof),
    /// The file that is not there.
    Absent(&'a String),
}

fn read_proof<'a>(folder: &Path, names: &'a StoredNames) -> Result<ReadProof<'a>, ProveError> {
    let Some(signature) = fs::read_if_exists(&folder.join(&names.signature))? else {
        return Ok(ReadProof::Absent(&names.signature));
    };
    let mut checksums = None;
    if let Some(name) = &names.checksums {
        checksums = fs::read_if_exists(&folder.join(name))?;
        if checksums.is_none() {
            return Ok(ReadProof::Absent(name));
        }
    }
    Ok(ReadProof::Whole(StoredProof {
        signature,
        checksums,
    }))
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

/// Proves what [`collect_proof`] read: a signature over the artifact by the digest of the lockfile, one over a
/// checksum file by that file, which must state a digest of the lockfile.
///
/// # Errors
/// `proof-digest`: the lockfile has no digest of the algorithm. The proof does not hold.
fn verify_stored(
    artifact: &PlannedArtifact,
    signature: &DeclaredSignature,
    proof: &StoredProof,
    trust: StoredTrust<'_>,
) -> Result<Proven, ProofError> {
    let expected = expect_stored(signature, trust)?;
    let Some(sums) = &proof.checksums else {
        let content = LockedContent(read_locked_sha256(artifact)?);
        return verify_detached(&content, &proof.signature, &expected);
    };

    let line = compare_stated(artifact, sums)?;
    let sums = VerifiedChecksums {
        url: String::new(),
        bytes: sums.clone(),
        line: line.name,
    };
    let source = SignedSource::Sums(&sums);
    let proven = verify_detached(&source, &proof.signature, &expected)?;
    Ok(source.complete_facts(proven))
}

/// The signature of a stored file: one with its certificate is a sigstore bundle there.
fn expect_stored<'a>(
    signature: &'a DeclaredSignature,
    trust: StoredTrust<'a>,
) -> Result<ExpectedSignature<'a>, ProofError> {
    if signature.kind == SignatureKind::CosignKeyless {
        let signer = declared_signer(signature)?;
        let root = trust.keys.sigstore_root();
        return Ok(ExpectedSignature::KeylessBundle { signer, root });
    }
    expect_declared(signature, None, trust.keys, trust.now)
}

fn read_locked_sha256(artifact: &PlannedArtifact) -> Result<[u8; 32], ProofError> {
    for pin in &artifact.digests {
        if pin.digest.algorithm() == PinAlgorithm::Sha256 {
            return require_digest(pin.digest.as_str());
        }
    }
    let message = "the lockfile has no SHA-256 of the file";
    Err(ProofError::new(Code::PROOF_DIGEST, message))
}

/// The line of a checksum file that states a digest of the lockfile.
fn compare_stated(artifact: &PlannedArtifact, sums: &[u8]) -> Result<ChecksumLine, ProofError> {
    let message = "the lockfile has no digest of the algorithm of the checksum file";
    let mut why = ProofError::new(Code::PROOF_DIGEST, message);
    for pin in &artifact.digests {
        let algorithm = pin.digest.algorithm();
        match checksums::find_url_line(sums, &artifact.url, algorithm) {
            Ok(line) if line.digest == pin.digest.as_str() => return Ok(line),
            Ok(_) => {
                let message = "the signed checksum file states another digest than the lockfile";
                return Err(ProofError::new(Code::CHECKSUM_MISMATCH, message));
            }
            Err(error) if error.code == Code::CHECKSUM_ALGORITHM => {}
            Err(error) => why = error,
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(signature: &serde_json::Value) -> Code {
        let signature: DeclaredSignature =
            serde_json::from_value(signature.clone()).expect("a signature");
        let trust = StoredTrust {
            keys: &Keys::default(),
            now: 0,
        };
        let expected = expect_stored(&signature, trust);
        expected.expect_err("nobody is named").code
    }

    /// An artifact with two signatures of one kind, of which the first was absent and waived.
    fn signed_twice() -> PlannedArtifact {
        let signature = |name: &str| serde_json::json!({"kind": "cosign-key", "url": format!("https://example.com/{name}"), "key": "k"});
        let proof = |name: &str, verdict: &str| serde_json::json!({"proof": "cosign-key", "verdict": verdict, "subject": "kubelet.exe", "detail": "d", "source": format!("https://example.com/{name}")});
        let artifact = serde_json::json!({
            "component": "kubelet", "version": "1.36.4", "url": "https://example.com/kubelet.exe",
            "file": "kubelet.exe", "kind": "exe", "license": "Apache-2.0", "purl": "pkg:generic/kubelet@1.36.4",
            "digests": [{"algorithm": "sha256", "digest": "ab".repeat(32), "confidence": "low", "source": ["derived: a test"]}],
            "signatures": [signature("one.sig"), signature("two.sig")],
            "evidence": [proof("one.sig", "absent"), proof("two.sig", "verified")],
        });
        serde_json::from_value(artifact).expect("an artifact")
    }

    #[test]
    fn signatures_of_one_kind_are_told_apart() {
        let artifact = signed_twice();
        let [one, two] = artifact.signatures.as_slice() else {
            panic!("two signatures");
        };
        assert!(!was_proven(&artifact, one) && was_proven(&artifact, two));
        let name = |signature| name_files(&artifact, signature).signature;
        assert_eq!(name(one), "kubelet-1.36.4-abababababab.cosign.sig");
        assert_eq!(name(two), "kubelet-1.36.4-abababababab.2.cosign.sig");
    }

    /// A lockfile has no SHA-384 of a file, over which newer versions of cosign sign by such a key.
    #[test]
    fn a_signature_over_the_digest_of_a_curve_is_not_stored() {
        let mut artifact = signed_twice();
        let keys = Keys::default();
        let obstacle = |artifact: &PlannedArtifact| {
            find_obstacle(artifact, &artifact.signatures[0], &keys).is_some()
        };
        assert!(!obstacle(&artifact));
        let key = "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEpjOXuGZSZaq/EbcSSze2KsV1LbqOlo7TXS05HiFxlFMDEfaGPTYb3wqEtbeibD5CT0ZxzXhgSD0p/R7fpFHHARtLkisQBifunxOjpd9sNtyt0DNY0fdgYP9xcCbOarv6";
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n");
        artifact.signatures[0].key = Some(pem);
        assert!(obstacle(&artifact));
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
