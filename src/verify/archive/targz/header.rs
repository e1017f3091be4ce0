//! A header of tar, of 512 bytes: ustar (POSIX.1-2001 pax, "ustar Interchange Format"), GNU's or the one of version 7,
//! each with the fields that it has and zeros elsewhere.
//!
//! Readers guess which of them a header is by different bytes, and read numbers that are spelled otherwise each in
//! its own way; so there is one spelling.

use super::super::ProofError;
use super::super::names::escape_name;
use super::corrupt_tar_error;
use crate::base::code::Code;

pub(super) const BLOCK: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Directory,
    Link,
    Sparse,
    LongName,
    LongLink,
    Records,
    GlobalRecords,
    Other,
}

pub(super) struct Header {
    pub name: Vec<u8>,
    pub kind: EntryKind,
    pub size: u64,
    pub mode: u64,
    pub has_target: bool,
}

impl Header {
    /// # Errors
    /// The checksum is wrong, or a field is not as every reader reads it.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Result<Self, ProofError> {
        let sum: u64 = block
            .iter()
            .enumerate()
            .map(|(at, byte)| match at {
                148..156 => u64::from(b' '),
                _ => u64::from(*byte),
            })
            .sum();
        if parse_number(&block[148..156]) != Some(sum) {
            return Err(ProofError::new(
                Code::ARCHIVE_CHECKSUM,
                "a tar header's checksum is wrong",
            ));
        }
        // Owners and times say nothing about the content, but a reader may stop at them. GNU tar writes a number above
        // 2,097,151 in binary behind such a byte: users of a directory service or of OpenShift have one.
        for field in [&block[108..116], &block[116..124]] {
            if !field.starts_with(&[0x80, 0, 0, 0]) && parse_number(field).is_none() {
                return Err(corrupt_tar_error("an owner or a group"));
            }
        }
        for (field, what) in [
            (100..108, "a mode"),
            (124..136, "a size"),
            (136..148, "a time"),
            (329..337, "a device"),
            (337..345, "a device"),
        ] {
            parse_number(&block[field]).ok_or_else(|| corrupt_tar_error(what))?;
        }

        let name = join_name(block)?;
        // In version 7, which has no folders, a folder was a file with such a name. Where a header in front gives it
        // another name, some readers still take it for a folder.
        if block[156] == 0 && name.ends_with(b"/") {
            let shown = escape_name(&String::from_utf8_lossy(&name));
            return Err(ProofError::new(
                Code::ARCHIVE_HEADER_MISMATCH,
                format!("{shown} is a file by its type and a directory by its name"),
            ));
        }

        Ok(Self {
            name,
            kind: parse_kind(block[156]),
            size: parse_number(&block[124..136]).unwrap_or_default(),
            mode: parse_number(&block[100..108]).unwrap_or_default(),
            has_target: block[157] != 0,
        })
    }
}

fn parse_kind(flag: u8) -> EntryKind {
    match flag {
        b'0' | 0 => EntryKind::File,
        b'5' => EntryKind::Directory,
        b'1' | b'2' => EntryKind::Link,
        b'S' => EntryKind::Sparse,
        b'L' => EntryKind::LongName,
        b'K' => EntryKind::LongLink,
        b'x' => EntryKind::Records,
        b'g' => EntryKind::GlobalRecords,
        _ => EntryKind::Other,
    }
}

/// Octal digits, then blanks or NULs, at least one; all NUL is zero.
fn parse_number(field: &[u8]) -> Option<u64> {
    let end = field.iter().position(|byte| matches!(byte, 0 | b' '))?;
    let (digits, rest) = field.split_at(end);
    if digits.is_empty() {
        return rest.iter().all(|byte| *byte == 0).then_some(0);
    }
    let is_number = digits.iter().all(|byte| matches!(byte, b'0'..=b'7'))
        && rest.iter().all(|byte| matches!(byte, 0 | b' '));
    if !is_number {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(digits, 8).ok()
}

/// The text of a field up to its first NUL, behind which there are only more.
fn read_text(field: &[u8]) -> Result<&[u8], ProofError> {
    let end = field
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(field.len());
    let (text, rest) = field.split_at(end);
    if rest.iter().any(|byte| *byte != 0) {
        return Err(corrupt_tar_error("bytes behind the end of a name"));
    }
    Ok(text)
}

fn join_name(block: &[u8; BLOCK]) -> Result<Vec<u8>, ProofError> {
    let name = read_text(&block[..100])?;
    let zeros_from = match &block[257..265] {
        b"ustar\x0000" => 500,
        b"ustar  \0" => 345,
        magic if magic.iter().all(|byte| *byte == 0) => 265,
        _ => {
            return Err(ProofError::new(
                Code::ARCHIVE_AMBIGUOUS,
                "a tar header is neither of ustar nor of GNU nor of version 7",
            ));
        }
    };
    if block[zeros_from..].iter().any(|byte| *byte != 0) {
        return Err(ProofError::new(
            Code::ARCHIVE_AMBIGUOUS,
            "a tar header has bytes where its format has no field",
        ));
    }

    let prefix = if zeros_from == 500 {
        read_text(&block[345..500])?
    } else {
        b""
    };
    if prefix.is_empty() {
        return Ok(name.to_vec());
    }
    if name.is_empty() {
        return Err(corrupt_tar_error("a prefix without a name"));
    }
    Ok([prefix, b"/", name].concat())
}
