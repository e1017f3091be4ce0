//! Armor, and the packets below it (RFC 9580, 4 and 6): nothing may stand where no parser looks.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base::code::Code;
use crate::verify::ProofError;

const BEGIN: &str = "-----BEGIN PGP ";

pub(super) fn malformed_error(message: &str) -> ProofError {
    ProofError::new(Code::OPENPGP_MALFORMED, message.to_owned())
}

/// The packets of a detached signature as bytes: nothing else stands around an armored one.
pub(super) fn dearmor_signature(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    let Some(text) = find_armor(bytes) else {
        return if begins_message(bytes) {
            Err(signed_message_error())
        } else {
            Ok(bytes.to_vec())
        };
    };
    let packets = decode_blocks(&text, "SIGNATURE", "signature")?;
    if has_text_outside(&text) {
        return Err(malformed_error(
            "the file contains text around the signature",
        ));
    }
    Ok(packets)
}

/// Whether the first packet is a one-pass signature, compressed data or literal data (RFC 9580, 4.2 and 5).
fn begins_message(bytes: &[u8]) -> bool {
    let kind = match bytes.first() {
        Some(head @ 0xc0..) => head & 0x3f,
        Some(head @ 0x80..0xc0) => head >> 2 & 0xf,
        _ => return false,
    };
    matches!(kind, 4 | 8 | 11)
}

/// The packets of public keys as bytes.
pub(super) fn dearmor_keyring(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    let Some(text) = find_armor(bytes) else {
        return Ok(bytes.to_vec());
    };
    if text.contains("-----BEGIN PGP PRIVATE KEY") {
        return Err(private_key_error());
    }
    decode_blocks(&text, "PUBLIC KEY BLOCK", "keyring")
}

fn signed_message_error() -> ProofError {
    malformed_error(
        "it is a message that has the signed file inside; give a detached signature, as `gpg --detach-sign` makes it",
    )
}

pub(super) fn private_key_error() -> ProofError {
    ProofError::new(
        Code::OPENPGP_KEY,
        "it is a private key; give the public key",
    )
}

/// The text of armor. A list of keys may have text of any encoding around them; a packet begins with a byte that is not
/// ASCII (RFC 9580, 4.2).
fn find_armor(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let text = String::from_utf8_lossy(bytes);
    let is_text = matches!(text, Cow::Borrowed(_)) || bytes.first().is_some_and(u8::is_ascii);
    Some(text).filter(|text| is_text && text.contains(BEGIN))
}

fn decode_blocks(text: &str, label: &str, what: &str) -> Result<Vec<u8>, ProofError> {
    let mut packets = Vec::new();
    for block in text.split(BEGIN).skip(1) {
        let Some(block) = block
            .strip_prefix(label)
            .and_then(|block| block.strip_prefix("-----"))
        else {
            if ["MESSAGE", "SIGNED MESSAGE"]
                .iter()
                .any(|other| block.starts_with(other))
            {
                return Err(signed_message_error());
            }
            return Err(malformed_error(&format!(
                "the {what} has no armor of a `PGP {label}`"
            )));
        };
        let decoded = decode_block(block, &format!("-----END PGP {label}-----"));
        packets.extend(
            decoded
                .ok_or_else(|| malformed_error(&format!("the {what} is truncated or damaged")))?,
        );
    }
    Ok(packets)
}

/// The content of an armor behind its first line: headers, a blank line, base64, a checksum that
/// RFC 9580, 6.1 makes meaningless, and the last line.
fn decode_block(block: &str, end: &str) -> Option<Vec<u8>> {
    let lines: Vec<&str> = block.split_once(end)?.0.lines().map(str::trim).collect();
    let blank = lines.iter().skip(1).position(|line| line.is_empty())? + 1;
    let headers = lines.get(1..blank)?;
    // The value of a header may be empty.
    let mut headers = headers.iter();
    if headers.any(|line| !line.contains(": ") && !line.ends_with(':')) {
        return None;
    }
    let body = lines
        .get(blank + 1..)?
        .iter()
        .filter(|line| !line.starts_with('='));
    STANDARD.decode(body.copied().collect::<String>()).ok()
}

fn has_text_outside(text: &str) -> bool {
    let mut inside = false;
    text.lines().map(str::trim).any(|line| {
        if line.starts_with(BEGIN) {
            inside = true;
        } else if line.starts_with("-----END PGP ") {
            inside = false;
        } else {
            return !inside && !line.is_empty();
        }
        false
    })
}

/// Bytes that are read from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of `width` bytes, the highest first.
    pub(super) fn read_number(&mut self, width: usize) -> Option<usize> {
        Some(
            self.take(width)?
                .iter()
                .fold(0, |number, byte| number << 8 | usize::from(*byte)),
        )
    }

    pub(super) fn read_byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// A multiprecision integer (RFC 9580, 3.2).
    pub(super) fn read_integer(&mut self) -> Option<&'a [u8]> {
        let bits = self.read_number(2)?;
        self.take(bits.div_ceil(8))
    }

    /// A length of one, two or five bytes (RFC 9580, 4.2.1 and 5.2.3.7). `end_of_two` is the end of
    /// the first bytes that begin one of two: partial lengths of packets are for data alone.
    pub(super) fn read_length(&mut self, end_of_two: u8) -> Option<usize> {
        let first = self.read_byte()?;
        match first {
            0..192 => Some(usize::from(first)),
            255 => self.read_number(4),
            _ if first < end_of_two => {
                Some(((usize::from(first) - 192) << 8) + usize::from(self.read_byte()?) + 192)
            }
            _ => None,
        }
    }

    /// Type and content of the next packet (RFC 9580, 4.2).
    fn read_packet(&mut self) -> Option<(u8, &'a [u8])> {
        let head = self.read_byte()?;
        let (kind, length) = match head {
            0xc0.. => (head & 0x3f, self.read_length(224)?),
            0x80..0xc0 if head & 3 < 3 => (head >> 2 & 0xf, self.read_number(1 << (head & 3))?),
            _ => return None,
        };
        Some((kind, self.take(length)?))
    }
}

/// Every packet by its type; none may be cut.
pub(super) fn split_packets<'a>(
    bytes: &'a [u8],
    what: &str,
) -> Result<Vec<(u8, &'a [u8])>, ProofError> {
    let mut cursor = Cursor(bytes);
    let mut packets = Vec::new();
    while !cursor.is_empty() {
        packets.push(
            cursor
                .read_packet()
                .ok_or_else(|| malformed_error(&format!("the {what} is truncated or damaged")))?,
        );
    }
    Ok(packets)
}
