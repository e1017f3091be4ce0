//! Armor, and the packets below it: nothing may stand where the parser does not look.

use std::io::{BufReader, Read as _};

use pgp::armor::Dearmor;

use crate::verify::ProofError;

const BEGIN: &str = "-----BEGIN PGP ";
const SIGNATURE: u8 = 2;

fn malformed(message: &str) -> ProofError {
    ProofError::new("openpgp-malformed", message.to_owned())
}

/// The packets of a detached signature, which has no others and nothing behind them.
pub(super) fn signatures(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    let packets = match armored(bytes) {
        Some(text) => {
            let blocks = blocks(text, "SIGNATURE", "signature")?;
            if outside(text) {
                return Err(malformed("there is text around the signature"));
            }
            blocks
        }
        None => bytes.to_vec(),
    };
    let mut rest = &packets[..];
    while !rest.is_empty() {
        let (kind, behind) = packet(rest).ok_or_else(|| malformed("the signature is cut or damaged"))?;
        if kind != SIGNATURE {
            return Err(malformed("there is something else beside the signature"));
        }
        rest = behind;
    }
    Ok(packets)
}

/// The packets of public keys.
pub(super) fn keyring(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    let Some(text) = armored(bytes) else { return Ok(bytes.to_vec()) };
    if text.contains("-----BEGIN PGP PRIVATE KEY") {
        return Err(ProofError::new("openpgp-key", "it is a private key: give the public one"));
    }
    blocks(text, "PUBLIC KEY BLOCK", "keyring")
}

fn armored(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.contains(BEGIN))
}

fn blocks(text: &str, label: &str, what: &str) -> Result<Vec<u8>, ProofError> {
    let mut packets = Vec::new();
    for block in text.split(BEGIN).skip(1) {
        if !block.starts_with(label) {
            let message = format!("the {what} has no armor of a `PGP {label}`");
            return Err(ProofError::new("openpgp-malformed", message));
        }
        let block = format!("{BEGIN}{block}");
        Dearmor::new(BufReader::new(block.as_bytes()))
            .read_to_end(&mut packets)
            .map_err(|error| malformed(&format!("the {what} cannot be read: {error}")))?;
    }
    Ok(packets)
}

fn outside(text: &str) -> bool {
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

/// Kind of the first packet, and what stands behind it (RFC 9580, 4.2).
fn packet(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (&head, rest) = bytes.split_first()?;
    let number = |bytes: &[u8]| bytes.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
    let (kind, length, rest) = match head {
        0xc0.. => {
            let (&first, rest) = rest.split_first()?;
            match first {
                0..192 => (head & 0x3f, usize::from(first), rest),
                192..224 => {
                    let (&second, rest) = rest.split_first()?;
                    (head & 0x3f, ((usize::from(first) - 192) << 8) + usize::from(second) + 192, rest)
                }
                255 => {
                    let (length, rest) = rest.split_at_checked(4)?;
                    (head & 0x3f, number(length), rest)
                }
                // Parts are for data, not for signatures.
                224..255 => return None,
            }
        }
        0x80..0xc0 => {
            let width = match head & 3 {
                0 => 1,
                1 => 2,
                2 => 4,
                _ => return None,
            };
            let (length, rest) = rest.split_at_checked(width)?;
            (head >> 2 & 0xf, number(length), rest)
        }
        0..0x80 => return None,
    };
    rest.split_at_checked(length).map(|(_, behind)| (kind, behind))
}
