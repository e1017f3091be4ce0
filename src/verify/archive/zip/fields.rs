//! Little-endian fields, and the extra fields that may follow a header.

use super::super::ProofError;

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
    ProofError::new("archive-zip64", message)
}

/// Sizes and offset as the zip64 field gives them where the header has no room.
pub(super) fn widen_sizes(extra: &[u8], values: &mut [&mut u64]) -> Result<(), ProofError> {
    let mut field = find_extra_field(extra, 1)?;
    for value in values.iter_mut().filter(|value| ***value == SATURATED) {
        let Some(wide) = field.and_then(|field| field.get(..8)) else {
            return Err(zip64_error(
                "a size refers to a zip64 field that is missing",
            ));
        };
        **value = u64_at(wide, 0);
        field = field.map(|field| &field[8..]);
    }
    Ok(())
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
                "archive-corrupt",
                "an extra field is longer than its header",
            ));
        };
        if u16_at(rest, 0) == number && found.replace(content).is_some() {
            return Err(ProofError::new(
                "archive-header-mismatch",
                "an extra field is repeated",
            ));
        }
        rest = &rest[4 + length..];
    }
    Ok(found)
}
