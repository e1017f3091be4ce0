//! Little-endian fields, and the extra fields that may follow a header.

use super::super::ProofError;
use crate::base::code::Code;

pub(super) const SATURATED: u64 = 0xffff_ffff;

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | (u64::from(u32_at(bytes, at + 4)) << 32)
}

pub(super) fn zip64_error(message: &str) -> ProofError {
    ProofError::new(Code::ARCHIVE_ZIP64, message)
}

/// Sizes and offset as the zip64 field gives them where the header has no room. The field holds those alone, in that
/// order (APPNOTE 4.5.3); some readers look up the others, too, so they may only repeat what the header says.
pub(super) fn widen_sizes(extra: &[u8], values: &mut [&mut u64]) -> Result<bool, ProofError> {
    let Some(field) = find_extra_field(extra, 1)? else {
        return if values.iter().any(|value| **value == SATURATED) {
            Err(zip64_error(
                "a size refers to a zip64 field that is missing",
            ))
        } else {
            Ok(false)
        };
    };
    let wide: Vec<u64> = field.chunks_exact(8).map(|wide| u64_at(wide, 0)).collect();
    let saturated = values.iter().filter(|value| ***value == SATURATED).count();

    if field.len() == 8 * saturated {
        let narrow = values.iter_mut().filter(|value| ***value == SATURATED);
        for (value, wide) in narrow.zip(wide) {
            **value = wide;
        }
        return Ok(true);
    }
    let repeats = wide
        .iter()
        .zip(values.iter())
        .all(|(wide, value)| *wide == **value);
    if saturated == 0 && field.len() <= 8 * values.len() && field.len() % 8 == 0 && repeats {
        return Ok(true);
    }
    Err(zip64_error(
        "a zip64 field has other values than its header asks for",
    ))
}

/// Fields that give an entry a second name, type or mode, which some readers believe and others skip.
pub(super) fn find_second_opinion(extra: &[u8]) -> Result<Option<&'static str>, ProofError> {
    for (number, what) in [
        // APPNOTE 4.6.9, 4.5.7 and 4.6.1 (0x756e); 0x6c78 is libarchive's (archive_read_support_format_zip.c).
        (0x7075, "a second name"),
        (0x000d, "a second type"),
        (0x756e, "a second type"),
        (0x6c78, "a second header"),
    ] {
        if find_extra_field(extra, number)?.is_some() {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// Whether there is no other extra field than that of zip64.
pub(super) fn is_zip64_alone(extra: &[u8]) -> bool {
    extra.is_empty()
        || extra.len() >= 4
            && u16_at(extra, 0) == 1
            && extra.len() == 4 + usize::from(u16_at(extra, 2))
}

/// An extra field by its number. Two of one number would be two answers to one question.
pub(super) fn find_extra_field(extra: &[u8], number: u16) -> Result<Option<&[u8]>, ProofError> {
    let mut found = None;
    let mut rest = extra;
    // Up to three bytes of padding are what some writers leave.
    while rest.len() >= 4 {
        let length = usize::from(u16_at(rest, 2));
        let Some(content) = rest.get(4..4 + length) else {
            return Err(ProofError::new(
                Code::ARCHIVE_CORRUPT,
                "an extra field is longer than its header",
            ));
        };
        if u16_at(rest, 0) == number && found.replace(content).is_some() {
            return Err(ProofError::new(
                Code::ARCHIVE_HEADER_MISMATCH,
                "an extra field is repeated",
            ));
        }
        rest = &rest[4 + length..];
    }
    Ok(found)
}
