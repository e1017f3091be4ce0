//! Checks of `imagegen verify`: every proof that is named, on any file, on any system.

mod attestation;
mod authenticode;
mod carried;
mod demanded;
mod key;
mod request;
mod review;
mod whole;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::acquire::{SIDECAR, open_fetcher};
use crate::base::code::Code;
use crate::base::text::{convert_to_utf8, is_hex};
use crate::base::url::{HttpUrl, strip_secrets};
use crate::base::value::PinAlgorithm;
use crate::bundle::OpenedBundle;
use crate::catalog::{Keys, Trees};
use crate::diagnostic::{CodedError, Error, InternalError, Result};
use crate::embedded::Tree;
use crate::fetch::{MAX_SIZE, Request};
use crate::io::clock;
use crate::io::fs::{self, DigestSet, Digests};
use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::model::policy::Policy;
use crate::ui::{Downloads, Printer};
use crate::verify::proof::{ExpectedSignature, SignedContent, require_signer, verify_detached};
use crate::verify::sigstore::ExpectedSigner;
use crate::verify::{NotProven, ProofError, Proven, checksums, record_evidence, require_digest};

use key::{is_keyring, is_openpgp, no_key_error};
use whole::{inspect_whole, inspect_workspace};

pub use attestation::inspect_attestations;
pub use request::{AuthenticodeRequest, VerifyRequest};
pub use review::Review;
pub use whole::WholeOutput;

/// Output of `imagegen verify`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyOutput {
    pub schema: &'static str,
    pub file: String,
    pub sha256: String,
    pub sha512: String,
    pub size: u64,
    /// At least one proof was requested, and every one holds.
    pub verified: bool,
    pub evidence: Vec<Evidence>,
    /// Signatures that the file itself carries, where no proof was asked for. Nothing of it is checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<String>,
}

/// Verified subject with its outcome.
#[derive(Debug)]
pub enum Inspected {
    File(VerifyOutput),
    Bundle(Box<OpenedBundle>),
    Whole(WholeOutput),
}

/// # Errors
/// The file or a proof of it cannot be read; a bundle is not what its index says.
pub fn inspect_file(
    request: &VerifyRequest,
    trees: &Trees,
    printer: &Printer,
) -> Result<Inspected> {
    let mut path = request.fetch_file(&request.file, MAX_SIZE)?;
    // What a pipe gives the second time is something else: it is read once.
    let copy = fs::copy_stream(&path, MAX_SIZE)
        .map_err(|error| Error::value(error.to_string(), "check the path of the file to verify"))?;
    if let Some(copy) = &copy {
        path = copy.path().join("file");
    }
    let named = request.names_proof();
    let review = request.make_review();
    if path.is_dir() && !named && request.proofs.is_none() && request.at.is_none() {
        let prover = request.prover(trees, printer);
        let whole = inspect_workspace(&path, review, prover)?;
        return Ok(Inspected::Whole(whole));
    }
    if path.is_dir() {
        let message = "a directory is verified as a whole, without other proofs";
        return Err(Error::usage(message, "name a file of it"));
    }
    // Proofs that are named are applied to the bytes, whatever these look like.
    if !named
        && request.at.is_none()
        && let Some(whole) = inspect_whole(request, &path, review, trees, printer)?
    {
        return Ok(whole);
    }
    if request.proofs.is_some() {
        let message = "`--proofs` applies to lockfiles only, without other proofs";
        return Err(Error::usage(
            message,
            "use `--signature` or `--bundle` for a file",
        ));
    }
    let mirrors = &request.policy.mirrors;
    if request.policy.file.is_some() || request.lock.is_some() || !mirrors.is_empty() {
        let message = "`--policy` and `--lock` apply to workspaces, lockfiles and bundles, without other proofs, and \
                       `--mirror` to what a policy demands of them";
        let remedy = "leave them out, or name the proofs of the file";
        return Err(Error::usage(message, remedy));
    }
    let digests = fs::digest_file_with(&path, DigestSet::Both)?;
    let manifests = trees.catalog.tree();
    let used = RefCell::default();
    let job = Job {
        request,
        path: &path,
        digests: &digests,
        manifests,
        keys: &*Keys::load(manifests)?,
        used,
    };
    let evidence = job.check_proofs()?;
    job.check_uses()?;
    if reads_again(&evidence) && fs::digest_file(&path)?.sha256 != digests.sha256 {
        return Err(
            ProofError::new(Code::FILE_CHANGED, "the file changed while it was verified").into(),
        );
    }
    let offers = if evidence.is_empty() {
        job.list_offers()?
    } else {
        Vec::new()
    };
    Ok(Inspected::File(VerifyOutput {
        schema: "imagegen.dev/verify/v1",
        file: strip_secrets(&request.file),
        verified: !evidence.is_empty() && count_failed(&evidence) == 0,
        sha512: digests.digest(PinAlgorithm::Sha512).to_owned(),
        sha256: digests.sha256,
        size: digests.size,
        evidence,
        offers,
    }))
}

fn count_failed(evidence: &[Evidence]) -> usize {
    evidence
        .iter()
        .filter(|proof| proof.verdict < Verdict::SignedTimeUnproven)
        .count()
}

impl VerifyOutput {
    /// # Errors
    /// A proof failed, or none was requested.
    pub fn require_proofs(&self) -> Result<(), NotProven> {
        match count_failed(&self.evidence) {
            0 if !self.evidence.is_empty() => Ok(()),
            failed => Err(NotProven {
                file: self.file.clone(),
                failed,
                proofs: self.evidence.len(),
            }),
        }
    }
}

/// Verdict, proof, subject and detail.
pub fn format_proof(proof: &Evidence) -> String {
    let (verdict, kind) = (proof.verdict.as_str(), proof.proof.as_str());
    format!(
        "{verdict:<21} {kind:<15} {}: {}",
        proof.subject, proof.detail
    )
}

impl VerifyRequest {
    /// A file that is here, or one behind a URL.
    fn fetch_file(&self, place: &str, limit: u64) -> Result<PathBuf> {
        if !place.contains("://") {
            return Ok(PathBuf::from(place));
        }
        let policy = Policy::from_hosts(&self.policy.plain_http);
        let network = open_fetcher(&self.network, &policy)?;
        let request =
            Request::without_digest(&strip_secrets(place), &place.parse::<HttpUrl>()?, limit);
        let outcomes = network.fetch_all(&[request], 1, &Downloads::new_silent());
        match outcomes.into_iter().next() {
            Some(Ok(file)) => Ok(file.path().to_owned()),
            Some(Err(error)) => Err(error.into()),
            None => Err(InternalError("nothing was fetched".to_owned()).into()),
        }
    }

    fn read_proof(&self, place: &str) -> Result<Vec<u8>> {
        let bytes = fs::read_head(&self.fetch_file(place, SIDECAR)?, SIDECAR + 1)?;
        if bytes.len() as u64 > SIDECAR {
            let message = format!("{place} is too large to be a proof (more than {SIDECAR} bytes)");
            return Err(CodedError::new(Code::VALUE, message).into());
        }
        Ok(convert_to_utf8(&bytes).into_owned())
    }

    fn read_text(&self, place: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.read_proof(place)?).into_owned())
    }
}

/// The digests that the user names, against those of the file.
fn compare_digests(request: &VerifyRequest, name: &str, digests: &Digests) -> Vec<Evidence> {
    let short = request.sha256.as_deref();
    let long = request.sha512.as_deref();
    let mut found = Vec::new();
    for (algorithm, wanted, actual) in [
        ("SHA-256", short, digests.sha256.as_str()),
        ("SHA-512", long, digests.digest(PinAlgorithm::Sha512)),
    ] {
        if let Some(wanted) = wanted {
            let outcome = compare_digest(algorithm, wanted, actual);
            found.push(record_evidence(ProofKind::Pin, name, None, outcome));
        }
    }
    found
}

/// The kind of a proof and what became of it.
type NamedOutcome = (ProofKind, std::result::Result<Proven, ProofError>);

struct Job<'a> {
    request: &'a VerifyRequest,
    path: &'a Path,
    digests: &'a Digests,
    manifests: &'a Tree,
    keys: &'a Keys,
    /// Options beside a signature that had a meaning for it.
    used: RefCell<BTreeSet<&'static str>>,
}

impl Job<'_> {
    fn name(&self) -> String {
        let place = strip_secrets(&self.request.file);
        place
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or(&place)
            .to_owned()
    }

    fn now(&self) -> u64 {
        self.used.borrow_mut().insert("--at");
        self.request.at.unwrap_or_else(clock::current_time)
    }

    fn check_proofs(&self) -> Result<Vec<Evidence>> {
        let request = self.request;
        let mut outcomes = Vec::new();
        if let Some(place) = &request.checksums {
            let outcome = self.check_checksums(&request.read_proof(place)?);
            outcomes.push((place, (ProofKind::ChecksumFile, outcome)));
        }
        if let Some(place) = &request.signature {
            outcomes.push((place, self.check_signature(&request.read_proof(place)?)?));
        }
        if let Some(place) = &request.bundle {
            outcomes.push((place, self.check_bundle(&request.read_proof(place)?)?));
        }

        let name = self.name();
        let mut found = compare_digests(request, &name, self.digests);
        for (place, (kind, outcome)) in outcomes {
            let source = strip_secrets(place);
            found.push(record_evidence(kind, &name, Some(&source), outcome));
        }
        if let Some(demand) = &request.authenticode {
            found.extend(self.authenticode(demand)?);
        }
        Ok(found)
    }

    fn check_bundle(&self, bytes: &[u8]) -> Result<NamedOutcome> {
        let root = self.keys.sigstore_root();
        // A statement names the file, a sigstore bundle is over it: the content tells which it is.
        if String::from_utf8_lossy(bytes).contains("\"dsseEnvelope\"") {
            if self.request.key.is_some() && self.request.identity.is_none() {
                let message =
                    "`--bundle` has a signed statement, which `--key` does not prove there";
                let remedy = "name it as `--attestation FILE`, with the same `--key`";
                return Err(Error::usage(message, remedy));
            }
            let signer = self.signer()?;
            let expected = ExpectedSignature::Attestation { signer, root };
            return Ok(self.prove(bytes, &expected));
        }
        match &self.request.key {
            Some(place) if self.request.identity.is_none() => {
                self.used.borrow_mut().insert("--key");
                let key = &self.request.read_text(place)?;
                Ok(self.prove(bytes, &ExpectedSignature::BundleByKey { key, root }))
            }
            _ => {
                let signer = self.signer()?;
                Ok(self.prove(bytes, &ExpectedSignature::BundleBySigner { signer, root }))
            }
        }
    }

    fn prove(&self, signature: &[u8], expected: &ExpectedSignature<'_>) -> NamedOutcome {
        let outcome = verify_detached(self, signature, expected);
        (expected.proof_kind(), outcome)
    }

    /// Refuses what was named and has no meaning beside the other proofs: nobody is to believe that it was
    /// checked.
    fn check_uses(&self) -> Result<()> {
        let used = self.used.borrow();
        let given = [
            ("--key", self.request.key.is_some()),
            ("--certificate", self.request.certificate.is_some()),
            ("--identity", self.request.identity.is_some()),
            ("--issuer", self.request.issuer.is_some()),
            ("--at", self.request.at.is_some()),
        ];
        match given
            .iter()
            .find(|(name, given)| *given && !used.contains(name))
        {
            Some((name, _)) => Err(Error::usage(
                format!(
                    "`{name}` has no effect with the other proofs; no proof was checked against it"
                ),
                "name the `--signature` or `--bundle` that it belongs to, or remove it",
            )),
            None => Ok(()),
        }
    }

    fn check_checksums(&self, bytes: &[u8]) -> Result<Proven, ProofError> {
        let short = self.find_stated(bytes, PinAlgorithm::Sha256);
        let (stated, algorithm) = match short {
            Ok(stated) => (stated, PinAlgorithm::Sha256),
            Err(error) if error.code == Code::CHECKSUM_ALGORITHM => (
                self.find_stated(bytes, PinAlgorithm::Sha512)?,
                PinAlgorithm::Sha512,
            ),
            Err(error) => return Err(error),
        };
        let actual = self.digests.digest(algorithm);
        if stated == actual {
            return Ok(proven("the checksum file states this digest"));
        }
        let message = format!("the checksum file states {stated}, the file has {actual}");
        Err(ProofError::new(Code::CHECKSUM_MISMATCH, message))
    }

    /// The digest that a checksum file states for the file, of one behind a URL by either of its names.
    fn find_stated(&self, bytes: &[u8], algorithm: PinAlgorithm) -> Result<String, ProofError> {
        let file = &self.request.file;
        match file
            .parse::<HttpUrl>()
            .ok()
            .filter(|_| file.contains("://"))
        {
            Some(url) => checksums::find_url_line(bytes, &url, algorithm).map(|line| line.digest),
            None => checksums::find_checksum(bytes, &self.name(), algorithm),
        }
    }

    fn signer(&self) -> Result<ExpectedSigner<'_>> {
        let (identity, issuer) = (
            self.request.identity.as_deref(),
            self.request.issuer.as_deref(),
        );
        let Ok(signer) = require_signer(identity, issuer) else {
            let message = "a signature by a certificate proves nothing without an expected signer";
            return Err(Error::usage(message, "add `--identity` and `--issuer`"));
        };
        self.used.borrow_mut().extend(["--identity", "--issuer"]);
        Ok(signer)
    }

    fn check_signature(&self, bytes: &[u8]) -> Result<NamedOutcome> {
        let root = self.keys.sigstore_root();
        if let Some(place) = &self.request.certificate {
            let certificate = &self.request.read_proof(place)?;
            self.used.borrow_mut().insert("--certificate");
            let expected = ExpectedSignature::KeylessPair {
                certificate,
                signer: self.signer()?,
                root,
            };
            return Ok(self.prove(bytes, &expected));
        }
        if self.request.key.is_none() && bytes.trim_ascii_start().starts_with(b"{") {
            let signer = self.signer()?;
            let expected = ExpectedSignature::KeylessBundle { signer, root };
            return Ok(self.prove(bytes, &expected));
        }
        let Some(place) = &self.request.key else {
            let remedy =
                "add `--key FILE`, or `--certificate FILE` with `--identity` and `--issuer`";
            return Err(Error::usage(
                "a signature proves nothing without a key",
                remedy,
            ));
        };
        self.used.borrow_mut().insert("--key");
        self.check_key(bytes, &self.request.read_proof(place)?)
    }

    /// A signature by a key whose form, like that of the signature, its content tells.
    fn check_key(&self, signature: &[u8], key: &[u8]) -> Result<NamedOutcome> {
        let text = String::from_utf8_lossy(key);
        if signature
            .trim_ascii_start()
            .starts_with(b"untrusted comment:")
        {
            return Ok(self.prove(signature, &ExpectedSignature::Minisign { key: &text }));
        }
        if key.trim_ascii_start().starts_with(b"-----BEGIN") && !is_openpgp(key) {
            return Ok(self.prove(signature, &ExpectedSignature::Cosign { key: &text }));
        }
        if !is_openpgp(key) && !is_keyring(key) {
            return Err(no_key_error(
                self.request.key.as_deref().unwrap_or_default(),
            ));
        }
        let Some(fingerprint) = &self.request.identity else {
            let remedy = "name the key by its whole fingerprint: `--identity FINGERPRINT`";
            return Err(Error::usage("a keyring holds any number of keys", remedy));
        };
        self.used.borrow_mut().insert("--identity");
        let expected = ExpectedSignature::Openpgp {
            keyring: key,
            fingerprint,
            now: self.now(),
        };
        Ok(self.prove(signature, &expected))
    }
}

impl SignedContent for Job<'_> {
    fn sha256(&self) -> Result<[u8; 32], ProofError> {
        require_digest(&self.digests.sha256)
    }

    fn read_pieces(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), ProofError> {
        fs::read_pieces(self.path, each)
            .map_err(|error| ProofError::new(Code::UNREADABLE, error.to_string()))
    }
}

/// Whether a proof read the file after it was hashed.
fn reads_again(evidence: &[Evidence]) -> bool {
    let streams = [
        ProofKind::Authenticode,
        ProofKind::CosignKey,
        ProofKind::Minisign,
        ProofKind::Openpgp,
    ];
    evidence.iter().any(|proof| streams.contains(&proof.proof))
}

fn proven(detail: &str) -> Proven {
    Proven {
        verdict: Verdict::Verified,
        detail: detail.to_owned(),
        facts: std::collections::BTreeMap::new(),
    }
}

fn compare_digest(algorithm: &str, wanted: &str, actual: &str) -> Result<Proven, ProofError> {
    let hex = wanted.len() == actual.len() && is_hex(wanted);
    if !hex {
        let message = format!(
            "`{wanted}` is not a {algorithm} of {} hexadecimal digits",
            actual.len()
        );
        return Err(ProofError::new(Code::DIGEST_MALFORMED, message));
    }
    if wanted.eq_ignore_ascii_case(actual) {
        return Ok(proven("the bytes have this digest"));
    }
    Err(ProofError::new(
        Code::DIGEST_MISMATCH,
        format!("the file has the {algorithm} {actual}"),
    ))
}
