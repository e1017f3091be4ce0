//! Signed statements about an image: each is verified, and held against the bytes that it names.

use std::path::Path;

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json::is_one_json;
use crate::base::text::{convert_to_utf8, parent_folder};
use crate::base::value::PinAlgorithm;
use crate::catalog::{Keys, Trees};
use crate::diagnostic::{Error, Finding, InternalError, Result};
use crate::io::fs::{self, DigestSet, Digests, digest_stream};
use crate::lock::{LOCK_FILE, Lock, digest_lockfile};
use crate::model::evidence::{Evidence, ISSUER, KEY, ProofKind, SIGNER, StatementKind};
use crate::model::policy::Policy;
use crate::records::{ImageRecord, find_record};
use crate::selection::read_policy;
use crate::trust::PolicyFault;
use crate::ui::Printer;
use crate::verify::proof::require_signer;
use crate::verify::sigstore::{self, ExpectedSigner};
use crate::verify::{ProofError, Proven, dsse, record_evidence, require_digest};
use crate::workspace::IMAGE_RECORD;

use super::{VerifyOutput, VerifyRequest};

/// Largest sigstore bundle: a bill of materials is in it.
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

/// Verifies every sigstore bundle of `--attestation` over an image, and the digests and the lockfile that are named.
/// The second value is the judgement of the policy.
///
/// # Errors
/// A file cannot be read, or no signer is named.
pub fn inspect_attestations(
    request: &VerifyRequest,
    trees: &Trees,
    printer: &Printer,
) -> Result<(VerifyOutput, Result<()>)> {
    let path = find_record(Path::new(&request.file));
    if request.file.contains("://") {
        let message = "`--attestation` verifies an image on this machine";
        return Err(Error::usage(message, "download it first"));
    }
    let policy = read_policy(&request.policy)?;
    let signer = read_signer(request)?;
    let keys = Keys::load(trees.catalog.tree())?;
    let (digests, record) = read_image(&path)?;
    let digest = require_digest(&digests.sha256)?;
    let name = path.display().to_string();
    let mut evidence = super::compare_digests(request, &name, &digests);
    for file in &request.attestations {
        for bundle in read_bundles(file)? {
            let outcome = verify_bundle(&digest, &bundle, &signer, keys.sigstore_root());
            let source = file.display().to_string();
            evidence.push(record_evidence(
                ProofKind::Attestation,
                &name,
                Some(&source),
                outcome,
            ));
        }
    }
    let mut lock = match &record {
        Some(_) => LockBytes::read_if_exists(&path.with_file_name(LOCK_FILE))?,
        None => None,
    };
    if let Some(record) = &record {
        evidence.extend(check_record(&path, record, lock.as_ref())?);
    }
    if let Some(named) = &request.lock {
        let reviewed = LockBytes::read(named)?;
        evidence.push(compare_lock(&reviewed, record.as_ref(), &name)?);
        lock = Some(reviewed);
    }
    let is_proven = super::count_failed(&evidence) == 0;
    let mut demand = Ok(());
    if request.policy.file.is_some() {
        demand = check_statements(&policy, &evidence, &name);
    }
    // Nothing is fetched for an image that is not what was signed.
    if request.policy.file.is_some() && is_proven && demand.is_ok() {
        demand = judge_contents(request, &path, lock.as_ref(), &policy, trees, printer);
    }
    let output = VerifyOutput {
        schema: "imagegen.dev/verify/v1",
        file: name,
        verified: is_proven && demand.is_ok(),
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
            return Err(Error::usage(message, "leave one of them out"));
        }
        let bytes = fs::read_file(Path::new(key))?;
        return Ok(ExpectedStatementSigner::Key(
            String::from_utf8_lossy(&convert_to_utf8(&bytes)).into_owned(),
        ));
    }
    let signer = require_signer(request.identity.as_deref(), request.issuer.as_deref());
    signer
        .map(ExpectedStatementSigner::Certificate)
        .map_err(|_| {
            let message = "a statement proves nothing without an expected signer";
            Error::usage(message, "add `--key FILE`, or `--identity` and `--issuer`")
        })
}

/// The sigstore bundles of a file: one, or one on each line.
fn read_bundles(file: &Path) -> Result<Vec<Vec<u8>>> {
    let bytes = fs::read_head(file, LARGEST_BUNDLE + 1)?;
    if bytes.len() as u64 > LARGEST_BUNDLE {
        let message = format!("{} is larger than 16 MiB", file.display());
        return Err(Error::value(message, "name a sigstore bundle"));
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
        return Err(Error::value(message, "name a sigstore bundle"));
    }
    Ok(bundles)
}

fn verify_bundle(
    digest: &[u8; 32],
    bundle: &[u8],
    signer: &ExpectedStatementSigner<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    match signer {
        ExpectedStatementSigner::Key(key) => {
            dsse::verify_statement(digest, bundle, key, PREDICATES)
        }
        ExpectedStatementSigner::Certificate(signer) => {
            sigstore::verify_statement(digest, bundle, *signer, PREDICATES, root)
        }
    }
}

/// The digests of a file, and the record of a build that these very bytes are; none where the file is an image.
fn read_image(path: &Path) -> Result<(Digests, Option<ImageRecord>)> {
    if path.file_name().is_none_or(|name| name != IMAGE_RECORD) {
        return Ok((fs::digest_file_with(path, DigestSet::Both)?, None));
    }
    let bytes = fs::read_file(path)?;
    let digests = digest_bytes(path, &bytes)?;
    let record = ImageRecord::decode(&path.display().to_string(), &bytes)?;
    Ok((digests, Some(record)))
}

fn digest_bytes(path: &Path, mut bytes: &[u8]) -> Result<Digests> {
    let digests = digest_stream(&mut bytes, DigestSet::Both, &mut std::io::sink());
    digests.map_err(|error| InternalError(format!("hashing {}: {error}", path.display())).into())
}

/// A lockfile that was read once: what is compared is what is judged.
struct LockBytes {
    name: String,
    bytes: Vec<u8>,
}

impl LockBytes {
    fn read(path: &Path) -> Result<Self> {
        Ok(Self {
            name: path.display().to_string(),
            bytes: fs::read_text(path)?,
        })
    }

    fn read_if_exists(path: &Path) -> Result<Option<Self>> {
        fs::is_file(path).then(|| Self::read(path)).transpose()
    }

    fn sha256(&self) -> String {
        sha256_hex(&self.bytes)
    }
}

/// The reviewed lockfile against those that the record names: the one that was baked, and the one of the definition.
fn compare_lock(lock: &LockBytes, record: Option<&ImageRecord>, subject: &str) -> Result<Evidence> {
    let Some(record) = record else {
        let message = "`--lock` is compared with the record of an image, and this file is none";
        return Err(Error::usage(
            message,
            "name the `image.json` or the workspace",
        ));
    };
    let sha256 = digest_lockfile(&lock.bytes);
    let mut named = record.lockfile.iter().chain([&record.lock]);
    let outcome = if named.any(|digest| *digest == sha256) {
        Ok(super::proven(
            "the image was made from the reviewed lockfile",
        ))
    } else {
        let message = format!(
            "the record names the SHA-256 {}, the reviewed lockfile has {sha256}",
            record.lock
        );
        Err(ProofError::new(Code::FILE_DIFFERS, message))
    };
    Ok(record_evidence(ProofKind::Pin, subject, None, outcome))
}

/// Judges what the image was made of: its lockfile lies beside its record, or the user names it.
fn judge_contents(
    request: &VerifyRequest,
    path: &Path,
    lock: Option<&LockBytes>,
    policy: &Policy,
    trees: &Trees,
    printer: &Printer,
) -> Result<()> {
    let LockBytes { name, bytes } = match lock {
        Some(lock) => lock,
        None if !policy.judges_contents() => return Ok(()),
        None => {
            let message = format!(
                "policy {} judges what an image was made of, and {} has no lockfile beside it",
                policy.name,
                path.display()
            );
            let remedy = "name the `image.json` or the workspace, with the lockfile beside it or with `--lock FILE`";
            return Err(Error::value(message, remedy));
        }
    };
    let lock = Lock::decode(name, bytes)?;
    request.prover(trees, printer).judge_lock(name, &lock)?;
    Ok(())
}

/// Files that a record names, as far as they are there. The lockfile was read before.
fn check_record(
    path: &Path,
    record: &ImageRecord,
    lock: Option<&LockBytes>,
) -> Result<Vec<Evidence>> {
    let folder = parent_folder(path);
    let mut evidence = Vec::new();
    for (name, sha256) in record.list_files() {
        let file = folder.join(name);
        let found = match lock {
            Some(lock) if name == LOCK_FILE => lock.sha256(),
            _ if fs::is_file(&file) => fs::digest_file(&file)?.sha256,
            _ => continue,
        };
        let shown = file.display().to_string();
        evidence.push(compare_named(&shown, sha256, &found));
    }
    Ok(evidence)
}

/// The digest that a record names for a file against that of the file.
fn compare_named(file: &str, named: &str, found: &str) -> Evidence {
    let outcome = if found == named {
        Ok(super::proven("the record names these bytes"))
    } else {
        let message = format!("the record names the SHA-256 {named}, the file has {found}");
        Err(ProofError::new(Code::DIGEST_MISMATCH, message))
    };
    record_evidence(ProofKind::Pin, file, None, outcome)
}

/// Every statement that the policy requires is there, and each one is by a signer whom it trusts.
fn check_statements(policy: &Policy, evidence: &[Evidence], subject: &str) -> Result<()> {
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
                "add the sigstore bundle of its {}: `--attestation FILE`",
                kind.as_str()
            );
            findings.push(
                Finding::new(Code::ATTESTATION_MISSING, message, remedy).with_subject(subject),
            );
        }
    }
    for proof in statements {
        if !is_trusted(policy, proof) {
            let signer = proof.facts.get(SIGNER).map_or("unknown", String::as_str);
            let message = format!("the policy does not trust the signer: {signer}");
            let remedy = "add the key to `trustedKeys`, or the identity to `trustedIdentities`, with `\"components\": [\"baked-image\"]`";
            findings.push(
                Finding::new(Code::ATTESTATION_SIGNER, message, remedy).with_subject(subject),
            );
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
    if let Some(key) = facts.get(KEY) {
        let mut keys = policy.trusted_keys.iter();
        return keys
            .any(|known| known.key.eq_ignore_ascii_case(key) && known.scope().names_baked_image());
    }
    policy.trusted_identities.iter().any(|known| {
        facts.get(SIGNER) == Some(&known.identity)
            && facts.get(ISSUER) == Some(&known.issuer)
            && known.scope().names_baked_image()
    })
}
