//! Content under an Authenticode signature: the digest of a file, and of which kind it is.

use super::FileKind;
use super::cms::SignerInfo;
use super::digest::Algorithm;
use super::fault::Fault;
use super::tlv::{self, Element};
use crate::base::code::Code;
use crate::verify::chain::oid;

/// SpcIndirectDataContent: the digest of a file.
#[derive(Debug)]
pub(crate) struct Indirect<'a> {
    pub algorithm: Algorithm,
    pub digest: &'a [u8],
}

/// Class ids of the packages that hash an MSI and a PowerShell script, as their bytes stand.
const MSI_PACKAGE: [u8; 16] = [
    0xf1, 0x10, 0x0c, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x46,
];
const POWERSHELL_PACKAGE: [u8; 16] = [
    0x1f, 0xcc, 0x3b, 0x60, 0x59, 0x4b, 0x08, 0x4e, 0xb7, 0x24, 0xd2, 0xc6, 0x29, 0x7e, 0xf3, 0x51,
];

impl<'a> Indirect<'a> {
    pub(crate) fn parse(content: Element<'a>, kind: FileKind) -> Result<Self, Fault> {
        if content.tag != tlv::SEQUENCE {
            return Err(Code::CMS_MALFORMED
                .with_message("the signed content is not an SpcIndirectDataContent"));
        }
        let mut parts = content.inner();
        let data = parts.expect(tlv::SEQUENCE, "SpcIndirectDataContent.data")?;
        let mut digest = parts
            .expect(tlv::SEQUENCE, "SpcIndirectDataContent.messageDigest")?
            .inner();
        parts.finish("SpcIndirectDataContent")?;
        check_subject(data, kind)?;
        let algorithm = Algorithm::parse(digest.expect(tlv::SEQUENCE, "DigestInfo")?)?;
        let value = digest.expect(tlv::OCTET_STRING, "DigestInfo")?.body;
        digest.finish("DigestInfo")?;
        Ok(Self {
            algorithm,
            digest: value,
        })
    }
}

/// The signature names the kind of file that it is over, and it is this one.
fn check_subject(data: Element<'_>, kind: FileKind) -> Result<(), Fault> {
    let mut data = data.inner();
    let found = data
        .expect(tlv::OID, "SpcIndirectDataContent.data")?
        .parse_oid("SpcIndirectDataContent.data")?;
    let package = match kind {
        FileKind::Msi => Some(MSI_PACKAGE),
        FileKind::PowerShell => Some(POWERSHELL_PACKAGE),
        FileKind::Pe => None,
    };
    let right = match package {
        // SpcSipInfo: version, class id, …
        Some(package) if found == oid::SUBJECT_PACKAGE => {
            let mut info = data.expect(tlv::SEQUENCE, "SpcSipInfo")?.inner();
            info.expect(tlv::INTEGER, "SpcSipInfo")?;
            info.expect(tlv::OCTET_STRING, "SpcSipInfo")?.body == package
        }
        Some(_) => false,
        None => found == oid::PE_IMAGE,
    };
    if right {
        return Ok(());
    }
    Err(Code::WRONG_CONTENT.with_message(format!(
        "the signature is over another kind of file than {}",
        kind.as_str()
    )))
}

/// The description of SpcSpOpusInfo: an SpcString, in UTF-16 or in ASCII; none where there is none.
pub(crate) fn read_description(signer: &SignerInfo<'_>) -> Result<Option<String>, Fault> {
    let Some(info) = signer.signed_value(oid::OPUS_INFO)? else {
        return Ok(None);
    };
    let mut parts = info.inner();
    let Some(name) = parts.next_if_tag(tlv::context_tag(0), "SpcSpOpusInfo")? else {
        return Ok(None);
    };
    let text = name.inner().next("SpcSpOpusInfo.programName")?;
    let text = if text.tag == UNICODE {
        let pairs = text.body.chunks_exact(2);
        let units: Vec<u16> = pairs
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
            .collect();
        String::from_utf16_lossy(&units)
    } else {
        String::from_utf8_lossy(text.body).into_owned()
    };
    let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// SpcString: `[0] IMPLICIT BMPSTRING`.
const UNICODE: u8 = 0x80;
