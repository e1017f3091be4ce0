//! When a signature existed: RFC 3161 tokens and the older PKCS#9 countersignatures.
//!
//! A time counts only if the token is over this very signature, its own signature holds, and its
//! certificate was good for timestamping, and nothing else, at that time.

use der::DateTime;
use rustls_pki_types::UnixTime;

use super::SignatureDemand;
use super::cms::{SignedData, SignerInfo};
use super::digest::Algorithm;
use super::fault::Fault;
use super::tlv::{self, Element, Malformed};
use crate::base::code::Code;
use crate::base::text::is_digits;
use crate::verify::chain::{self, Purpose, Question, X509Certificate, format_time, oid};

/// A time that a timestamp proves, or only claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub at: UnixTime,
    pub signer: String,
    /// `RFC 3161` or `PKCS#9`.
    pub form: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum TimestampToken<'a> {
    Rfc3161(Element<'a>),
    Countersignature(Element<'a>),
}

/// The only timestamp of a signature.
fn find_token<'a>(signer: &SignerInfo<'a>) -> Result<Option<TimestampToken<'a>>, Fault> {
    let tokens = signer
        .unsigned_values(oid::TIMESTAMP_TOKEN)
        .into_iter()
        .map(TimestampToken::Rfc3161);
    let older = signer
        .unsigned_values(oid::COUNTERSIGNATURE)
        .into_iter()
        .map(TimestampToken::Countersignature);
    let all: Vec<TimestampToken<'_>> = tokens.chain(older).collect();
    match all.as_slice() {
        [] => Ok(None),
        [token] => Ok(Some(*token)),
        several => {
            let count = several.len();
            Err(Code::TIMESTAMP_SEVERAL
                .with_message(format!("the signature has {count} timestamps, not one")))
        }
    }
}

/// The time that a signature's timestamp proves.
pub(crate) fn prove_time(
    data: &SignedData<'_>,
    demand: &SignatureDemand,
) -> Result<Option<Stamp>, Fault> {
    let Some(token) = find_token(&data.signer)? else {
        return Ok(None);
    };
    let stamp = match token {
        TimestampToken::Rfc3161(token) => verify_token(token, data.signer.signature, demand),
        TimestampToken::Countersignature(signer) => verify_countersignature(signer, data, demand),
    };
    let stamp = stamp.map_err(Fault::for_timestamp)?;
    if stamp.at > demand.at {
        let (at, now) = (format_time(stamp.at), format_time(demand.at));
        return Err(Code::TIMESTAMP_FUTURE.with_message(format!(
            "the time of the timestamp is {at}, later than now ({now})"
        )));
    }
    Ok(Some(stamp))
}

/// The time that a timestamp claims, unproven.
pub(crate) fn read_claimed_time(signer: &SignerInfo<'_>) -> Option<UnixTime> {
    match find_token(signer).ok()?? {
        TimestampToken::Rfc3161(token) => {
            let data = SignedData::parse(token.whole).ok()?;
            Info::parse(data.content).ok().map(|info| info.at)
        }
        TimestampToken::Countersignature(signer) => {
            signing_time(&SignerInfo::parse(&signer).ok()?).ok()
        }
    }
}

fn verify_token(
    token: Element<'_>,
    signature: &[u8],
    demand: &SignatureDemand,
) -> Result<Stamp, Fault> {
    let data = SignedData::parse(token.whole)?;
    if data.content_type != oid::TIMESTAMP_INFO || data.content.tag != tlv::OCTET_STRING {
        return Err(Code::WRONG_CONTENT.with_message("it is not an RFC 3161 token"));
    }
    let info = Info::parse(data.content)?;
    if info.algorithm.digest_bytes(signature) != info.imprint {
        return Err(Code::TIMESTAMP_IMPRINT.with_message("it belongs to another signature"));
    }
    let leaf = data.leaf()?;
    data.signer
        .verify_content(data.content_type, data.content.body, &leaf)?;
    check_chain(&leaf, &data.certificates, info.at, demand)?;
    Ok(Stamp {
        at: info.at,
        signer: leaf.subject(),
        form: "RFC 3161",
    })
}

/// A signer of the signature's bytes, with its certificates beside those of the signature.
fn verify_countersignature(
    signer: Element<'_>,
    data: &SignedData<'_>,
    demand: &SignatureDemand,
) -> Result<Stamp, Fault> {
    let signer = SignerInfo::parse(&signer)?;
    let leaf = signer.find_certificate(&data.certificates)?;
    signer
        .verify_content(oid::DATA, data.signer.signature, &leaf)
        .map_err(|fault| match fault.code {
            Code::MESSAGE_DIGEST => {
                Code::TIMESTAMP_IMPRINT.with_message("it belongs to another signature")
            }
            _ => fault,
        })?;
    let at = signing_time(&signer)?;
    check_chain(&leaf, &data.certificates, at, demand)?;
    Ok(Stamp {
        at,
        signer: leaf.subject(),
        form: "PKCS#9",
    })
}

/// The chain of a timestamp held at the time that it names.
fn check_chain(
    leaf: &X509Certificate<'_>,
    certificates: &[&[u8]],
    at: UnixTime,
    demand: &SignatureDemand,
) -> Result<(), Fault> {
    let purpose = Purpose::Timestamping;
    let question = Question {
        roots: &demand.timestamp_roots,
        purpose,
        at,
    };
    chain::build_chain(leaf, certificates, question)?;
    Ok(())
}

/// TSTInfo of RFC 3161.
struct Info<'a> {
    algorithm: Algorithm,
    imprint: &'a [u8],
    at: UnixTime,
}

impl<'a> Info<'a> {
    fn parse(content: Element<'a>) -> Result<Self, Fault> {
        let mut info = tlv::parse_single(content.body, tlv::SEQUENCE, "TSTInfo")?.inner();
        if info.expect(tlv::INTEGER, "TSTInfo version")?.body != [1] {
            return Err(Malformed("TSTInfo version").into());
        }
        info.expect(tlv::OID, "TSTInfo policy")?;
        let mut imprint = info.expect(tlv::SEQUENCE, "messageImprint")?.inner();
        let algorithm = Algorithm::parse(imprint.expect(tlv::SEQUENCE, "messageImprint")?)?;
        let digest = imprint.expect(tlv::OCTET_STRING, "messageImprint")?.body;
        imprint.finish("messageImprint")?;
        info.expect(tlv::INTEGER, "TSTInfo serialNumber")?;
        let at = parse_generalized_time(info.expect(tlv::GENERALIZED_TIME, "genTime")?.body)?;
        Ok(Self {
            algorithm,
            imprint: digest,
            at,
        })
    }
}

fn signing_time(signer: &SignerInfo<'_>) -> Result<UnixTime, Fault> {
    let value = signer.signed_value(oid::SIGNING_TIME)?;
    let value = value.ok_or_else(|| Code::SIGNED_ATTRIBUTES.with_message("it has no time"))?;
    match value.tag {
        tlv::GENERALIZED_TIME => Ok(parse_generalized_time(value.body)?),
        // RFC 5280: years from 50 on are of the last century.
        tlv::UTC_TIME => {
            let century: &[u8] = if value.body.first() >= Some(&b'5') {
                b"19"
            } else {
                b"20"
            };
            Ok(parse_generalized_time(&[century, value.body].concat())?)
        }
        _ => Err(Malformed("signingTime").into()),
    }
}

/// `YYYYMMDDhhmmss[.f]Z`. A fraction is cut off.
fn parse_generalized_time(text: &[u8]) -> Result<UnixTime, Malformed> {
    std::str::from_utf8(text)
        .ok()
        .and_then(parse_time_text)
        .ok_or(Malformed("its time"))
}

fn parse_time_text(text: &str) -> Option<UnixTime> {
    let local = text.strip_suffix('Z')?;
    let (whole, fraction) = local.split_once('.').unwrap_or((local, "0"));
    if whole.len() != 14 || fraction.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let time = DateTime::new(
        whole[..4].parse().ok()?,
        whole[4..6].parse().ok()?,
        whole[6..8].parse().ok()?,
        whole[8..10].parse().ok()?,
        whole[10..12].parse().ok()?,
        whole[12..].parse().ok()?,
    );
    Some(UnixTime::since_unix_epoch(time.ok()?.unix_duration()))
}
