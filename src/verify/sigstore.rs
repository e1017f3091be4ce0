//! Sigstore: verifies sigstore bundles and attestations in them without network, against the built-in root of the public
//! good instance or another root.
//!
//! Signer and issuer are compared as a whole. A sigstore bundle needs a log entry that the log's checkpoint proves, and a time
//! of the log or of a timestamp authority while the certificate was valid. A time in the future is refused.
//!
//! A trusted root that names no log is of an instance that has none: its sigstore bundles have a timestamp in the place of
//! the entry. The built-in root names logs.
//!
//! Codes: `sigstore-malformed`, `sigstore-root`, `sigstore-identity`, `sigstore-bad-signature`,
//! `sigstore-certificate`, `sigstore-log`, `sigstore-time`, `sigstore-subject`,
//! `sigstore-predicate`, `sigstore-refused`.

mod root;

use std::collections::BTreeMap;

use serde::Deserialize;
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::{Bundle, DerPublicKey, Sha256Hash, SignatureContent};
use sigstore_verify::{
    CertificateError, Error, Policy, PublicKeyVerificationPolicy, TransparencyLogError,
    VerificationPolicy, VerificationResult, verify as check,
};

use super::{ProofError, Proven, cosign};
use crate::base::code::Code;
use crate::base::json::{is_one_json, parse_foreign};
use crate::base::public_key::CosignKey;
use crate::model::evidence::Verdict;
use root::{check_known_logs, describe_root, stale_root_error};

pub(super) use root::{check_root, load_trusted_roots};

/// The demanded signer. Both parts are compared whole.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedSigner<'a> {
    /// E-mail address or URI of the certificate.
    pub identity: &'a str,
    /// Issuer that vouched for the identity.
    pub issuer: &'a str,
}

/// Whom a sigstore bundle must be by.
enum Expected<'a> {
    Signer(ExpectedSigner<'a>),
    Key(CosignKey),
}

/// Types of a provenance statement.
const PROVENANCE: &[&str] = &[
    "https://slsa.dev/provenance/v1",
    "https://slsa.dev/provenance/v0.2",
];

/// Type of a bare signature of cosign in the form of a statement.
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// Verifies a sigstore bundle over a file with this SHA-256. `root` is a sigstore trusted root in JSON.
///
/// # Errors
/// See the module's codes.
pub fn verify_bundle(
    digest: &[u8; 32],
    bundle: &[u8],
    signer: ExpectedSigner<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    verify_expected(digest, bundle, &Expected::Signer(signer), root)
}

/// Verifies a sigstore bundle that was signed by a key (P-256, in PEM), as `cosign sign-blob --key` writes it.
///
/// # Errors
/// See the module's codes; `cosign-key` for any other key.
pub fn verify_bundle_by_key(
    digest: &[u8; 32],
    bundle: &[u8],
    key: &str,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let key = cosign::parse_p256_key(key)?;
    verify_expected(digest, bundle, &Expected::Key(key), root)
}

fn verify_expected(
    digest: &[u8; 32],
    bundle: &[u8],
    by: &Expected<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let bundle = parse_bundle(bundle)?;
    let mut facts = BTreeMap::new();
    if let SignatureContent::DsseEnvelope(envelope) = &bundle.content {
        // Any statement names its subject, a report of a flaw too.
        let allowed = [PROVENANCE, &[SIGNED]].concat();
        check_statement(envelope.payload.as_bytes(), digest, &allowed, &mut facts)?;
    }
    prove_bundle(
        digest,
        &bundle,
        by,
        root,
        facts,
        "the signature in the sigstore bundle is valid",
    )
}

/// Verifies that a provenance statement names a file with this SHA-256. The file may contain several
/// sigstore bundles, one per line; one match is enough.
///
/// # Errors
/// See the module's codes.
pub fn verify_attestation(
    digest: &[u8; 32],
    bundles: &[u8],
    signer: ExpectedSigner<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let lines: Vec<&[u8]> = if is_one_json(bundles) {
        vec![bundles]
    } else {
        bundles.split(|byte| *byte == b'\n').collect()
    };
    let mut why = None;
    for line in lines {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match verify_statement(digest, line, signer, PROVENANCE, root) {
            Ok(proven) => return Ok(proven),
            // What is wrong with the statement about this file tells more than those about others.
            Err(error) if why.is_none() || error.code != Code::SIGSTORE_SUBJECT => {
                why = Some(error);
            }
            Err(_) => {}
        }
    }
    Err(why.unwrap_or_else(|| {
        ProofError::new(Code::SIGSTORE_MALFORMED, "it contains no sigstore bundle")
    }))
}

/// Verifies that a signed statement with one of these predicates names a file with this SHA-256.
///
/// # Errors
/// See the module's codes.
pub fn verify_statement(
    digest: &[u8; 32],
    bundle: &[u8],
    signer: ExpectedSigner<'_>,
    predicates: &[&str],
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let bundle = parse_bundle(bundle)?;
    let SignatureContent::DsseEnvelope(envelope) = &bundle.content else {
        return Err(ProofError::new(
            Code::SIGSTORE_MALFORMED,
            "the sigstore bundle contains no in-toto statement",
        ));
    };
    let mut facts = BTreeMap::new();
    check_statement(envelope.payload.as_bytes(), digest, predicates, &mut facts)?;
    let by = Expected::Signer(signer);
    prove_bundle(
        digest,
        &bundle,
        &by,
        root,
        facts,
        if predicates == PROVENANCE {
            "a signed provenance statement names the file"
        } else {
            "a signed statement names the file"
        },
    )
}

pub(super) fn parse_bundle(bytes: &[u8]) -> Result<Bundle, ProofError> {
    let why = match read_bundle(bytes) {
        Ok(bundle) => return Ok(bundle),
        Err(why) => why,
    };
    let other = cosign::find_other_form(&String::from_utf8_lossy(bytes));
    let message = match other {
        Some(other) => other.to_owned(),
        None => format!("it is not a sigstore bundle: {why}"),
    };
    Err(ProofError::new(
        Code::SIGSTORE_MALFORMED,
        flatten_text(&message),
    ))
}

/// The sigstore bundle, where no key stands in it twice.
fn read_bundle(bytes: &[u8]) -> Result<Bundle, String> {
    parse_foreign(bytes).map_err(|error| error.to_string())
}

/// One line, whatever a sigstore bundle has put into an error.
pub(super) fn flatten_text(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text.trim_end_matches(['.', ' ']).to_owned()
}

/// Patterns match more than is meant, so there are none.
pub(super) fn check_signer(signer: ExpectedSigner<'_>) -> Result<(), ProofError> {
    if signer.identity.is_empty() || signer.issuer.is_empty() {
        let message = "a signature proves nothing without an expected signer and issuer";
        return Err(ProofError::new(Code::SIGSTORE_IDENTITY, message));
    }
    for text in [signer.identity, signer.issuer] {
        if text.contains(['*', '^', '$', '\\', '|', '(', '[']) {
            let message =
                format!("`{text}` looks like a pattern; signer and issuer are compared whole");
            return Err(ProofError::new(
                Code::SIGSTORE_IDENTITY,
                flatten_text(&message),
            ));
        }
    }
    Ok(())
}

/// Verifies a sigstore bundle by the first trusted root that it holds by. Each instance has a root of its own.
fn prove_bundle(
    digest: &[u8; 32],
    bundle: &Bundle,
    by: &Expected<'_>,
    root: Option<&str>,
    facts: BTreeMap<String, String>,
    detail: &str,
) -> Result<Proven, ProofError> {
    if let Expected::Signer(signer) = by {
        check_signer(*signer)?;
    }
    let mut why: Option<ProofError> = None;
    for trusted in load_trusted_roots(root)? {
        let error = match prove_by_root(digest, bundle, by, &trusted) {
            Ok(found) => return Ok(describe_proof(found, facts, &trusted, root, detail)),
            Err(error) => error,
        };
        if why.as_ref().is_none_or(|known| tells_more(&error, known)) {
            why = Some(error);
        }
    }
    Err(why.unwrap_or_else(|| ProofError::new(Code::SIGSTORE_ROOT, "there is no trusted root")))
}

/// Whether the error of one root says more of a sigstore bundle than that of another: a signer is compared where the
/// certificate chains to the root, and another instance's bundle is unknown to a root.
fn tells_more(error: &ProofError, known: &ProofError) -> bool {
    let is_unknown = known.code == Code::SIGSTORE_ROOT && error.code != Code::SIGSTORE_ROOT;
    is_unknown || error.code == Code::SIGSTORE_IDENTITY
}

fn prove_by_root(
    digest: &[u8; 32],
    bundle: &Bundle,
    by: &Expected<'_>,
    trusted: &TrustedRoot,
) -> Result<BTreeMap<String, String>, ProofError> {
    let policy: Box<dyn Policy> = match by {
        Expected::Signer(signer) => Box::new(demand_signer(*signer, trusted)),
        Expected::Key(key) => Box::new(PublicKeyVerificationPolicy::new(DerPublicKey::new(
            key.spki().to_vec(),
        ))),
    };
    check_known_logs(bundle, trusted)?;
    let result = check(Sha256Hash::new(*digest), bundle, policy.as_ref(), trusted)
        .map_err(|error| explain_error(&error, trusted))?;
    Ok(collect_facts(&result, bundle, by))
}

/// An instance without logs, as GitHub's for private repositories is, makes no entry in one: there its timestamp authority
/// alone proves the time.
fn demand_signer(signer: ExpectedSigner<'_>, trusted: &TrustedRoot) -> VerificationPolicy {
    let mut policy = VerificationPolicy::new(signer.identity, signer.issuer);
    if trusted.tlogs.is_empty() {
        policy = policy.skip_tlog_unsafe();
    }
    if trusted.ctlogs.is_empty() {
        policy = policy.skip_sct();
    }
    policy
}

fn describe_proof(
    found: BTreeMap<String, String>,
    mut facts: BTreeMap<String, String>,
    trusted: &TrustedRoot,
    root: Option<&str>,
    detail: &str,
) -> Proven {
    facts.extend(found);
    facts.extend(describe_root(trusted, root));
    let detail = if trusted.tlogs.is_empty() {
        format!("{detail}; its root has no log, and a timestamp authority proves the time")
    } else {
        detail.to_owned()
    };
    Proven {
        verdict: Verdict::Verified,
        detail,
        facts,
    }
}

fn collect_facts(
    result: &VerificationResult,
    bundle: &Bundle,
    by: &Expected<'_>,
) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    match by {
        Expected::Signer(signer) => {
            facts.insert("signer".to_owned(), signer.identity.to_owned());
            facts.insert("issuer".to_owned(), signer.issuer.to_owned());
        }
        Expected::Key(key) => {
            let fingerprint = key.sha256();
            facts.insert(
                "signer".to_owned(),
                format!("the key with the SHA-256 {fingerprint}"),
            );
            facts.insert("keySha256".to_owned(), fingerprint);
        }
    }
    if let Some(time) = result.verified_timestamps().iter().min() {
        facts.insert("time".to_owned(), time.to_string());
    }
    if let Some(entry) = bundle.verification_material.tlog_entries.first() {
        facts.insert("logIndex".to_owned(), entry.log_index.to_string());
    }
    let Some(claims) = result
        .certificate()
        .map(|certificate| &certificate.ci_claims)
    else {
        return facts;
    };
    for (name, claim) in [
        ("sourceRepository", &claims.source_repository_uri),
        ("sourceDigest", &claims.source_repository_digest),
        ("sourceRef", &claims.source_repository_ref),
        ("run", &claims.run_invocation_uri),
    ] {
        if let Some(claim) = claim {
            facts.insert(name.to_owned(), flatten_text(claim));
        }
    }
    facts
}

fn explain_error(error: &Error, root: &TrustedRoot) -> ProofError {
    let code = match error {
        Error::IdentityMismatch { .. } | Error::IssuerMismatch { .. } => Code::SIGSTORE_IDENTITY,
        Error::SignatureInvalid(_) => Code::SIGSTORE_BAD_SIGNATURE,
        Error::ArtifactMismatch(_) => Code::SIGSTORE_SUBJECT,
        Error::Certificate(CertificateError::NoValidAuthority { .. })
        | Error::TransparencyLog(TransparencyLogError::UnknownLog { .. })
        | Error::InvalidTrustRoot(_)
        | Error::TrustRoot(_)
        | Error::TrustedCertificate(_) => return stale_root_error(&error.to_string(), root),
        Error::Certificate(_) => Code::SIGSTORE_CERTIFICATE,
        Error::TransparencyLog(_) => Code::SIGSTORE_LOG,
        Error::Timestamp(_) => Code::SIGSTORE_TIME,
        Error::InvalidBundle(_)
        | Error::UnsupportedBundle(_)
        | Error::UnsupportedArtifact(_)
        | Error::Types(_)
        | Error::Bundle(_) => Code::SIGSTORE_MALFORMED,
        _ => Code::SIGSTORE_REFUSED,
    };
    ProofError::new(code, flatten_text(&error.to_string()))
}

#[derive(Deserialize)]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    #[serde(rename = "predicateType")]
    predicate: String,
    subject: Vec<StatementSubject>,
}

#[derive(Deserialize)]
struct StatementSubject {
    #[serde(default)]
    name: String,
    #[serde(default)]
    digest: BTreeMap<String, String>,
}

const STATEMENTS: [&str; 2] = [
    "https://in-toto.io/Statement/v1",
    "https://in-toto.io/Statement/v0.1",
];

/// The statement is of an allowed kind, and names the file.
pub(super) fn check_statement(
    payload: &[u8],
    digest: &[u8; 32],
    allowed: &[&str],
    facts: &mut BTreeMap<String, String>,
) -> Result<(), ProofError> {
    let statement = parse_foreign::<Statement>(payload).ok();
    let Some(statement) = statement.filter(|it| STATEMENTS.contains(&it.kind.as_str())) else {
        let message = "the sigstore bundle contains no in-toto statement";
        return Err(ProofError::new(Code::SIGSTORE_MALFORMED, message));
    };
    let wanted = crate::base::digest::encode_hex(digest);
    let mut subjects = statement.subject.iter();
    let Some(named) = subjects.find(|it| it.digest.get("sha256") == Some(&wanted)) else {
        let message = format!("the statement does not name a file with the digest {wanted}");
        return Err(ProofError::new(Code::SIGSTORE_SUBJECT, message));
    };
    if !allowed.contains(&statement.predicate.as_str()) {
        let message = format!("the statement is `{}`, not provenance", statement.predicate);
        return Err(ProofError::new(
            Code::SIGSTORE_PREDICATE,
            flatten_text(&message),
        ));
    }
    facts.insert("predicate".to_owned(), statement.predicate);
    if !named.name.is_empty() {
        facts.insert("subject".to_owned(), flatten_text(&named.name));
    }
    Ok(())
}
