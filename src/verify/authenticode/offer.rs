//! A file's own words on its signatures. Nothing of it is checked.

use std::time::Duration;

use rustls_pki_types::UnixTime;

use super::cms::SignedData;
use super::fault::Fault;
use super::source::ReadSeek;
use super::{FileKind, SignedFile, timestamp};
use crate::verify::ProofError;
use crate::verify::chain::oid;

/// A signature that a file offers, unproven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub signer: String,
    pub issuer: String,
    /// SHA-256 of the signer's certificate.
    pub certificate: String,
    /// Dates of that certificate.
    pub not_before: UnixTime,
    pub not_after: UnixTime,
    pub digest_algorithm: &'static str,
    /// The time that a timestamp claims.
    pub timestamp: Option<UnixTime>,
    pub nested: bool,
}

/// The signatures of a file, the outer one first.
///
/// # Errors
///
/// No signature, or one that cannot be read.
pub fn describe_signatures(
    kind: FileKind,
    source: &mut dyn ReadSeek,
) -> Result<Vec<Offer>, ProofError> {
    let file = SignedFile::read(kind, source)?;
    let data = SignedData::parse(file.signature())?;
    let mut offers = vec![describe_signature(&data, false)?];
    for nested in data.signer.unsigned_values(oid::NESTED_SIGNATURE) {
        offers.push(describe_signature(&SignedData::parse(nested.whole)?, true)?);
    }
    Ok(offers)
}

fn describe_signature(data: &SignedData<'_>, nested: bool) -> Result<Offer, Fault> {
    let leaf = data.leaf()?;
    Ok(Offer {
        signer: leaf.subject(),
        issuer: leaf.issuer(),
        certificate: leaf.sha256(),
        not_before: UnixTime::since_unix_epoch(Duration::from_secs(leaf.not_before())),
        not_after: UnixTime::since_unix_epoch(Duration::from_secs(leaf.not_after())),
        digest_algorithm: data.signer.digest.as_str(),
        timestamp: timestamp::read_claimed_time(&data.signer),
        nested,
    })
}
