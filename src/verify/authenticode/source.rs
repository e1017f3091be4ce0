//! Bytes that are read in pieces: memory stays flat whatever the file's size.

use std::io::{Read, Seek, SeekFrom};

use aws_lc_rs::digest::Context;

use super::fault::Fault;
use crate::base::code::Code;
use crate::base::stream::{EachPiece, copy_pieces};

/// A file, or bytes in memory.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Largest content that is held in memory as a whole: a signature, a script, a catalog. Real ones are far below.
pub(crate) const LIMIT: u64 = 32 << 20;

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Code::UNREADABLE.with_message(format!("the file cannot be read: {error}"))
    }
}

pub(crate) fn measure_length(source: &mut dyn ReadSeek) -> Result<u64, Fault> {
    Ok(source.seek(SeekFrom::End(0))?)
}

/// Bytes at a place; fewer where the file ends.
pub(crate) fn read_at(source: &mut dyn ReadSeek, start: u64, count: u64) -> Result<Vec<u8>, Fault> {
    if count > LIMIT {
        return Err(Code::TOO_LARGE.with_message(format!(
            "a part of {count} bytes is larger than the limit of {LIMIT}"
        )));
    }
    source.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    source.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn read_all(source: &mut dyn ReadSeek) -> Result<Vec<u8>, Fault> {
    let length = measure_length(source)?;
    read_at(source, 0, length)
}

/// Adds the bytes from `start` up to `end`.
pub(crate) fn hash_range(
    source: &mut dyn ReadSeek,
    context: &mut Context,
    start: u64,
    end: u64,
) -> Result<(), Fault> {
    source.seek(SeekFrom::Start(start))?;
    let wanted = end.saturating_sub(start);
    let mut pieces = EachPiece(|piece: &[u8]| context.update(piece));
    if copy_pieces(source.take(wanted), &mut pieces)? < wanted {
        return Err(Code::UNREADABLE.with_message("the file ends early"));
    }
    Ok(())
}

pub(crate) fn encode_utf16_le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(
        bytes.get(at..at.checked_add(2)?)?.try_into().ok()?,
    ))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}
