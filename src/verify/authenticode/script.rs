//! PowerShell: the signature is a block of comments at the end.
//!
//! The digest is over the text before the line break that precedes the block, in UTF-16LE, with the byte order mark.
//! A line in the block that is not a comment, and text after the block, would run without being signed; both are
//! refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base::code::Code;
use crate::base::text::is_alphanumeric_or;

use super::digest::Algorithm;
use super::fault::Fault;
use super::source::{self, ReadSeek, encode_utf16_le};

#[derive(Debug, Clone)]
pub(crate) struct SignedScript {
    /// The signed text, in UTF-16LE.
    text: Vec<u8>,
    pub signature: Vec<u8>,
}

/// Byte order mark of UTF-16LE.
const UTF16: &[u8] = &[0xff, 0xfe];
const BEGIN: &str = "# SIG # Begin signature block";
const END: &str = "# SIG # End signature block";

pub(crate) fn read_script(source: &mut dyn ReadSeek) -> Result<SignedScript, Fault> {
    let text = decode_text(&source::read_all(source)?)?;
    let (signed, signature) = split_signature(&text)?;
    Ok(SignedScript {
        text: encode_utf16_le(signed),
        signature,
    })
}

/// The script as it was before it was signed, in the bytes that it had; itself where it is unsigned.
pub(crate) fn strip_signature(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let text = decode_text(bytes)?;
    match split_signature(&text) {
        Ok((signed, _)) if bytes.starts_with(UTF16) => Ok(encode_utf16_le(signed)),
        Ok((signed, _)) => Ok(signed.as_bytes().to_vec()),
        Err(fault) if fault.code == Code::UNSIGNED => Ok(bytes.to_vec()),
        Err(fault) => Err(fault),
    }
}

/// The signed part, and the signature.
fn split_signature(text: &str) -> Result<(&str, Vec<u8>), Fault> {
    let mut begins = find_lines(text, BEGIN);
    let Some(begin) = begins.next() else {
        // An end without a beginning is no unsigned script.
        return Err(match find_lines(text, END).next() {
            Some(_) => block_fault("its end line has no begin line"),
            None => Code::UNSIGNED.with_message("no embedded signature"),
        });
    };
    if begins.next().is_some() {
        return Err(
            Code::SEVERAL_SIGNATURES.with_message("the script has several signature blocks")
        );
    }
    let Some(signed) = text[..begin].strip_suffix("\r\n") else {
        return Err(block_fault("no CRLF precedes it"));
    };
    Ok((signed, parse_block(&text[begin..])?))
}

impl SignedScript {
    pub(crate) fn digest(&self, algorithm: Algorithm) -> Vec<u8> {
        algorithm.digest_bytes(&self.text)
    }
}

/// Places of the lines that start so.
fn find_lines<'a>(text: &'a str, line: &'a str) -> impl Iterator<Item = usize> + 'a {
    let places = text.match_indices(line).map(|(place, _)| place);
    places.filter(|place| {
        text[..*place]
            .chars()
            .next_back()
            .is_none_or(|last| matches!(last, '\n' | '\r'))
    })
}

/// Every encoding in which Windows PowerShell and this program read the same text.
fn decode_text(bytes: &[u8]) -> Result<String, Fault> {
    if bytes.starts_with(&[0xfe, 0xff]) {
        return Err(encoding_fault("it is UTF-16BE"));
    }
    if !bytes.starts_with(UTF16) {
        return match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(encoding_fault("it is neither UTF-8 nor UTF-16LE")),
        };
    }
    if !bytes.len().is_multiple_of(2) {
        return Err(encoding_fault("it ends inside a UTF-16 character"));
    }
    let mut units = Vec::with_capacity(bytes.len() / 2);
    for pair in bytes.chunks_exact(2) {
        units.push(u16::from_le_bytes([pair[0], pair[1]]));
    }
    String::from_utf16(&units).map_err(|_| encoding_fault("it is not valid UTF-16"))
}

fn encoding_fault(why: &str) -> Fault {
    Code::ENCODING.with_message(format!("the script's text cannot be read: {why}"))
}

/// The signature in a block, with nothing else in it or after it.
fn parse_block(text: &str) -> Result<Vec<u8>, Fault> {
    let mut lines = text.split_inclusive('\n');
    if lines
        .next()
        .is_none_or(|line| !line.ends_with('\n') || strip_line_end(line) != BEGIN)
    {
        return Err(block_fault("text follows its first line"));
    }

    let mut base64 = String::new();
    loop {
        let Some(line) = lines.next() else {
            return Err(block_fault("its end line is missing"));
        };
        let content = strip_line_end(line);
        if content == END {
            break;
        }
        if let Some(rest) = content.strip_prefix(END) {
            return Err(trailing_text_fault(rest));
        }
        match content.strip_prefix("# ") {
            Some(part) if !part.is_empty() && is_alphanumeric_or(part, "+/=") => base64 += part,
            _ => {
                return Err(block_fault(
                    "one of its lines does not belong to a signature",
                ));
            }
        }
    }

    let rest: String = lines.collect();
    if !rest.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
        return Err(trailing_text_fault(&rest));
    }
    STANDARD
        .decode(base64)
        .map_err(|_| block_fault("it is not base64"))
}

/// The line without its end. A carriage return is part of the end only before a line feed.
fn strip_line_end(line: &str) -> &str {
    match line.strip_suffix('\n') {
        Some(content) => content.strip_suffix('\r').unwrap_or(content),
        None => line,
    }
}

fn block_fault(why: &str) -> Fault {
    Code::SIGNATURE_BLOCK.with_message(format!("the signature block is wrong: {why}"))
}

fn trailing_text_fault(rest: &str) -> Fault {
    let count = rest.trim().chars().count();
    Code::TEXT_AFTER_SIGNATURE.with_message(format!(
        "{count} unsigned characters follow the signature block"
    ))
}
