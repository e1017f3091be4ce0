//! Authenticode: embedded signatures of Windows files.
//!
//! A file passes only if all of these are true; [`Code`] lists the failures:
//! * the signature is where the format puts it, with no unsigned bytes beside it;
//! * it is CMS with one signer, over the digest of this file as a file of its kind;
//! * the signer's certificate is for code signing and chains to a pinned root at the time of the timestamp or,
//!   without timestamp, of the check;
//! * a timestamp, if present, is valid;
//! * the policy accepts the signer's publisher or certificate;
//! * nested signatures pass the same checks.
//!
//! Not checked: revocation (the evidence says so), page hashes, cabinets, and catalogs that sign other files. The
//! formats do not cover sectors of an MSI that no stream owns, names of streams without a digest, and unsigned
//! attributes (the evidence lists them). Therefore a signature never replaces the pin of the file.

mod cms;
mod content;
mod digest;
mod fault;
mod msi;
mod offer;
mod pe;
mod publisher;
mod script;
mod signer;
mod source;
mod timestamp;
mod tlv;

use std::collections::BTreeMap;
use std::time::Duration;

use rustls_pki_types::UnixTime;

pub use offer::{Offer, describe_signatures};
pub use publisher::{Publisher, PublisherError};
pub use signer::SignedBy;
pub use source::ReadSeek;

use cms::SignedData;
use content::Indirect;
use digest::Algorithm;
use fault::Fault;
use timestamp::Stamp;

use crate::base::code::Code;
use crate::base::digest::encode_hex;
use crate::model::evidence::Verdict;
use crate::verify::chain::{
    self, PinnedRoots, Purpose, Question, Root, X509Certificate, format_time, oid,
};
use crate::verify::{ProofError, Proven};

/// Kinds of files that carry a signature in themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Pe,
    Msi,
    PowerShell,
}

impl FileKind {
    pub const ALL: &'static [Self] = &[Self::Pe, Self::Msi, Self::PowerShell];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pe => "PE image",
            Self::Msi => "MSI package",
            Self::PowerShell => "PowerShell script",
        }
    }

    /// By a file's first eight bytes, and by its name where they do not tell.
    pub fn detect(name: &str, head: &[u8]) -> Option<Self> {
        let end = name
            .rsplit_once('.')
            .map_or("", |(_, end)| end)
            .to_ascii_lowercase();
        if ["ps1", "psm1", "psd1"].contains(&end.as_str()) {
            Some(Self::PowerShell)
        } else if head.starts_with(b"MZ") {
            Some(Self::Pe)
        } else if head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]) {
            Some(Self::Msi)
        } else {
            None
        }
    }
}

/// Demands on a signature.
#[derive(Debug, Clone)]
pub struct SignatureDemand {
    pub publisher: Option<Publisher>,
    pub roots: Vec<Root>,
    pub timestamp_roots: Vec<Root>,
    pub require_timestamp: bool,
    /// The time of the check.
    pub at: UnixTime,
}

impl SignatureDemand {
    /// The program's own roots and nothing else demanded. `now` is in seconds since 1970.
    pub fn new(roots: &PinnedRoots, now: u64) -> Self {
        Self {
            publisher: None,
            roots: roots.code_signing.clone(),
            timestamp_roots: roots.timestamping.clone(),
            require_timestamp: false,
            at: UnixTime::since_unix_epoch(Duration::from_secs(now)),
        }
    }

    /// Signers chain to these roots alone. Times may be by these roots too: whoever signs with an authority of their
    /// own mostly has the time signed by a public one.
    #[must_use]
    pub fn with_own_roots(mut self, own: Vec<Root>) -> Self {
        self.timestamp_roots.extend(own.iter().cloned());
        self.roots = own;
        self
    }
}

/// Nested signatures in one file; real ones have one.
const MOST_NESTED: usize = 8;

/// Verifies a file's embedded signature.
///
/// # Errors
///
/// [`Code`] has every reason, as the error's code.
pub fn verify_signature(
    kind: FileKind,
    source: &mut dyn ReadSeek,
    demand: &SignatureDemand,
) -> Result<Proven, ProofError> {
    Ok(verify_file(kind, source, demand, summarize_proof)?)
}

/// As [`verify_signature`], for a file whose kind its name and beginning tell.
///
/// # Errors
/// As [`verify_signature`]; a file of any other kind is unsigned.
pub fn verify_source(
    name: &str,
    source: &mut dyn ReadSeek,
    demand: &SignatureDemand,
) -> Result<Proven, ProofError> {
    let head = source::read_at(source, 0, 8)?;
    verify_signature(detect_kind(name, &head)?, source, demand)
}

/// Verifies bytes in memory as [`verify_source`] and tells who signed, by certificates.
///
/// # Errors
/// As [`verify_source`].
pub fn verify_signer(
    name: &str,
    bytes: Vec<u8>,
    demand: &SignatureDemand,
) -> Result<SignedBy, ProofError> {
    let kind = detect_kind(name, &bytes)?;
    Ok(verify_file(
        kind,
        &mut std::io::Cursor::new(bytes),
        demand,
        |shown, _| SignedBy::from_signature(shown),
    )?)
}

/// A PowerShell script as it was before it was signed; itself where it is unsigned. Nothing of the
/// signature is checked but that it hides no code.
///
/// # Errors
///
/// A signature block that is no such, or text that cannot be read.
pub fn unsigned_script(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    Ok(script::strip_signature(bytes)?)
}

fn detect_kind(name: &str, bytes: &[u8]) -> Result<FileKind, ProofError> {
    FileKind::detect(name, bytes.get(..8).unwrap_or(bytes)).ok_or_else(|| {
        ProofError::new(
            Code::UNSIGNED,
            "Authenticode is verified in PE images, MSI packages and PowerShell scripts alone",
        )
    })
}

/// A signed file, read as far as its signature.
enum SignedFile {
    Pe(pe::Image),
    Msi(msi::Package),
    PowerShell(script::SignedScript),
}

impl SignedFile {
    fn read(kind: FileKind, source: &mut dyn ReadSeek) -> Result<Self, Fault> {
        Ok(match kind {
            FileKind::Pe => Self::Pe(pe::read_image(source)?),
            FileKind::Msi => Self::Msi(msi::read_package(source)?),
            FileKind::PowerShell => Self::PowerShell(script::read_script(source)?),
        })
    }

    fn signature(&self) -> &[u8] {
        match self {
            Self::Pe(image) => &image.signature,
            Self::Msi(package) => &package.signature,
            Self::PowerShell(script) => &script.signature,
        }
    }

    /// The digest that a signature is over.
    fn digest(&self, source: &mut dyn ReadSeek, algorithm: Algorithm) -> Result<Vec<u8>, Fault> {
        match self {
            Self::Pe(image) => image.digest(source, algorithm),
            Self::Msi(package) => package.digest(source, algorithm),
            Self::PowerShell(script) => Ok(script.digest(algorithm)),
        }
    }
}

/// A signed file with the digests that were taken of it: each algorithm reads the file once, however many signatures
/// name it.
struct SignedFileDigests<'a> {
    file: &'a SignedFile,
    source: &'a mut dyn ReadSeek,
    digests: Vec<(Algorithm, Vec<u8>)>,
}

impl SignedFileDigests<'_> {
    fn digest(&mut self, algorithm: Algorithm) -> Result<Vec<u8>, Fault> {
        let known = self.digests.iter().find(|(known, _)| *known == algorithm);
        if let Some((_, digest)) = known {
            return Ok(digest.clone());
        }
        let digest = self.file.digest(self.source, algorithm)?;
        self.digests.push((algorithm, digest.clone()));
        Ok(digest)
    }
}

/// Statements of one signature that holds.
struct VerifiedSignature<'a> {
    leaf: X509Certificate<'a>,
    /// Between leaf and root, in DER.
    authorities: Vec<Vec<u8>>,
    root: Root,
    algorithm: Algorithm,
    stamp: Option<Stamp>,
    /// The program's description, as its publisher signed it.
    description: Option<String>,
    /// Attributes beside the signature that nobody signed and that mean nothing here. Installers
    /// put data of their own into them; it can be changed without a trace.
    unsigned: Vec<String>,
}

fn verify_file<T>(
    kind: FileKind,
    source: &mut dyn ReadSeek,
    demand: &SignatureDemand,
    told: impl FnOnce(&VerifiedSignature<'_>, usize) -> T,
) -> Result<T, Fault> {
    let file = SignedFile::read(kind, source)?;
    let data = SignedData::parse(file.signature())?;
    let nested = data.signer.unsigned_values(oid::NESTED_SIGNATURE);
    if nested.len() > MOST_NESTED {
        let count = nested.len();
        return Err(
            Code::SEVERAL_SIGNATURES.with_message(format!("{count} signatures are nested in one"))
        );
    }
    let mut digested = SignedFileDigests {
        file: &file,
        source,
        digests: Vec::new(),
    };
    let shown = signature(kind, &mut digested, &data, demand)?;
    for (index, element) in nested.iter().enumerate() {
        if let Err(fault) = verify_nested(kind, &mut digested, element.whole, demand) {
            return Err(fault.for_nested(index + 1));
        }
    }
    Ok(told(&shown, nested.len()))
}

fn verify_nested(
    kind: FileKind,
    file: &mut SignedFileDigests<'_>,
    signed: &[u8],
    demand: &SignatureDemand,
) -> Result<(), Fault> {
    let data = SignedData::parse(signed)?;
    let nested = data.signer.unsigned_values(oid::NESTED_SIGNATURE);
    if !nested.is_empty() {
        return Err(Code::SEVERAL_SIGNATURES.with_message("it has nested signatures itself"));
    }
    signature(kind, file, &data, demand)?;
    Ok(())
}

/// One signature of a file.
fn signature<'a>(
    kind: FileKind,
    file: &mut SignedFileDigests<'_>,
    data: &SignedData<'a>,
    demand: &SignatureDemand,
) -> Result<VerifiedSignature<'a>, Fault> {
    let algorithm = check_digest(kind, file, data)?;
    let leaf = data.leaf()?;
    data.signer
        .verify_content(data.content_type, data.content.body, &leaf)?;
    let stamp = timestamp::prove_time(data, demand)?;
    if stamp.is_none() && demand.require_timestamp {
        return Err(Code::TIMESTAMP_MISSING.with_message("no timestamp, which the policy requires"));
    }
    let (root, authorities) = find_trusted_root(&leaf, data, stamp.as_ref(), demand)?;
    if let Some(publisher) = &demand.publisher {
        publisher.check_certificate(&leaf)?;
    }
    let known = [
        oid::TIMESTAMP_TOKEN,
        oid::COUNTERSIGNATURE,
        oid::NESTED_SIGNATURE,
    ];
    let unsigned = data
        .signer
        .unsigned
        .iter()
        .filter(|attribute| !known.contains(&attribute.kind));
    let unsigned = unsigned
        .map(|attribute| attribute.kind.to_string())
        .collect();
    Ok(VerifiedSignature {
        leaf,
        authorities,
        root,
        algorithm,
        stamp,
        description: content::read_description(&data.signer)?,
        unsigned,
    })
}

/// That the signature is over this file: the digest it is over, by which algorithm.
fn check_digest(
    kind: FileKind,
    file: &mut SignedFileDigests<'_>,
    data: &SignedData<'_>,
) -> Result<Algorithm, Fault> {
    if data.content_type != oid::INDIRECT_DATA {
        let found = data.content_type;
        return Err(Code::WRONG_CONTENT
            .with_message(format!("the signature is over content of type {found}")));
    }
    let indirect = Indirect::parse(data.content, kind)?;
    let found = file.digest(indirect.algorithm)?;
    if found != indirect.digest {
        return Err(Code::FILE_DIGEST.with_message(format!(
            "the file differs from the signed file: its {} is {}, the signed one is {}",
            indirect.algorithm.as_str(),
            encode_hex(&found),
            encode_hex(indirect.digest)
        )));
    }
    Ok(indirect.algorithm)
}

/// The root that the signer leads to, at the time that counts, and the authorities on the way.
fn find_trusted_root(
    leaf: &X509Certificate<'_>,
    data: &SignedData<'_>,
    stamp: Option<&Stamp>,
    demand: &SignatureDemand,
) -> Result<(Root, Vec<Vec<u8>>), Fault> {
    let at = stamp.map_or(demand.at, |stamp| stamp.at);
    let purpose = Purpose::CodeSigning;
    let question = Question {
        roots: &demand.roots,
        purpose,
        at,
    };
    let chain = chain::build_chain(leaf, &data.certificates, question)?;
    let for_life = leaf
        .purposes()?
        .is_some_and(|purposes| purposes.contains(&oid::LIFETIME_SIGNING));
    if for_life && at != demand.at {
        // Such a signature ends with its certificate, whatever its timestamp says.
        chain::build_chain(
            leaf,
            &data.certificates,
            Question {
                at: demand.at,
                ..question
            },
        )?;
    }
    Ok((chain.root.clone(), chain.authorities))
}

fn summarize_proof(shown: &VerifiedSignature<'_>, nested: usize) -> Proven {
    let stamp = shown.stamp.as_ref();
    let time = stamp.map_or_else(|| "none".to_owned(), |stamp| format_time(stamp.at));
    let mut facts = BTreeMap::from([
        ("signer".to_owned(), shown.leaf.subject()),
        ("issuer".to_owned(), shown.leaf.issuer()),
        ("leafSha256".to_owned(), shown.leaf.sha256()),
        ("root".to_owned(), shown.root.subject.clone()),
        ("rootSha256".to_owned(), shown.root.sha256.clone()),
        (
            "digestAlgorithm".to_owned(),
            shown.algorithm.as_str().to_owned(),
        ),
        ("time".to_owned(), time.clone()),
        ("nested".to_owned(), nested.to_string()),
        ("revocation".to_owned(), "not checked".to_owned()),
    ]);
    if let Some(description) = &shown.description {
        facts.insert("description".to_owned(), description.clone());
    }
    if !shown.unsigned.is_empty() {
        facts.insert("unsignedAttributes".to_owned(), shown.unsigned.join(" "));
    }
    let mut detail = format!("signed by `{}`", shown.leaf.subject());
    if let Some(stamp) = stamp {
        facts.insert("timestampSigner".to_owned(), stamp.signer.clone());
        facts.insert("timestampForm".to_owned(), stamp.form.to_owned());
        detail = format!("{detail} at {time}");
    }
    Proven {
        verdict: Verdict::Verified,
        detail,
        facts,
    }
}
