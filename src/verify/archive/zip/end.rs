//! The end record: one, at the very end, of one disk, and of one mind with its zip64 form (APPNOTE 4.3.14 to 4.3.16).

use std::io::{Read, Seek, SeekFrom};

use super::super::ProofError;
use super::super::read::to_proof_error;
use super::directory::{hidden_data_error, read_at};
use super::fields::{SATURATED, u16_at, u32_at, u64_at, zip64_error};
use crate::base::code::Code;

const END: &[u8] = b"PK\x05\x06";

pub(super) struct End {
    pub has_comment: bool,
    pub entries: u64,
    pub directory: u64,
    pub size: u64,
}

fn ambiguous_error(message: &str) -> ProofError {
    ProofError::new(Code::ARCHIVE_AMBIGUOUS, message)
}

pub(super) fn read_end_record<R: Read + Seek>(reader: &mut R) -> Result<End, ProofError> {
    let length = reader
        .seek(SeekFrom::End(0))
        .map_err(|error| to_proof_error(&error))?;
    let tail_length = usize::try_from(length.min(22 + 0xffff)).unwrap_or(22 + 0xffff);
    let tail_start = length - tail_length as u64;
    let tail = read_at(reader, tail_start, tail_length)?;
    let at = find_end_record(&tail)?;
    let record = &tail[at..];
    let position = tail_start + at as u64;

    if u16_at(record, 4) != 0 || u16_at(record, 6) != 0 {
        return Err(ambiguous_error("the zip is a part of a split archive"));
    }
    let narrow = [
        u64::from(u16_at(record, 8)),
        u64::from(u16_at(record, 10)),
        u64::from(u32_at(record, 12)),
        u64::from(u32_at(record, 16)),
    ];
    let (values, position) =
        read_zip64_end(reader, position, narrow)?.unwrap_or((narrow, position));
    let [here, entries, size, directory] = values;
    if here != entries {
        return Err(ambiguous_error("the zip is a part of a split archive"));
    }

    // In a comment of the directory, too, a reader that searches would find it.
    let directory_at = usize::try_from(directory.saturating_sub(tail_start)).unwrap_or(at);
    let before = tail.get(directory_at..at).unwrap_or_default();
    if before.windows(END.len()).any(|window| window == END) {
        return Err(ambiguous_error("the zip has two end records"));
    }
    match directory.checked_add(size) {
        Some(found) if found == position => Ok(End {
            has_comment: record.len() > 22,
            entries,
            directory,
            size,
        }),
        Some(found) if found < position => Err(hidden_data_error("bytes behind the directory")),
        _ => Err(ProofError::new(
            Code::ARCHIVE_TRUNCATED,
            "the zip's directory reaches beyond its end",
        )),
    }
}

/// The last record. Readers search for it backwards from the end of the file: some take the first signature that
/// they meet, others the first whose comment fits, so there may be one in the comment of another for neither.
fn find_end_record(tail: &[u8]) -> Result<usize, ProofError> {
    let last = tail
        .windows(END.len())
        .rposition(|window| window == END)
        .filter(|at| at + 22 <= tail.len());
    let Some(at) = last else {
        return Err(ProofError::new(
            Code::ARCHIVE_TRUNCATED,
            "the zip has no end record",
        ));
    };
    let comment = &tail[at + 22..];
    let declared = usize::from(u16_at(tail, at + 20));

    if declared < comment.len() {
        return Err(ProofError::new(
            Code::ARCHIVE_TRAILING_DATA,
            "bytes follow the end of the zip",
        ));
    }
    let has_other = (0..at).any(|other| {
        tail[other..].starts_with(END)
            && other + 22 + usize::from(u16_at(tail, other + 20)) == tail.len()
    });
    if has_other {
        return Err(ambiguous_error("the zip has two end records"));
    }
    if declared > comment.len() {
        return Err(ProofError::new(
            Code::ARCHIVE_TRUNCATED,
            "the zip's end record is cut off",
        ));
    }
    // The commit that GitHub writes there is text; anything else may be a record for some reader.
    let is_text = comment.iter().all(|byte| matches!(byte, b' '..=b'~'));
    if !is_text || comment.windows(2).any(|window| window == b"PK") {
        return Err(ambiguous_error(
            "the comment behind the zip is more than text",
        ));
    }
    Ok(at)
}

type Wide = ([u64; 4], u64);

/// The zip64 end record, where there is one; it must not contradict the plain one.
fn read_zip64_end<R: Read + Seek>(
    reader: &mut R,
    position: u64,
    narrow: [u64; 4],
) -> Result<Option<Wide>, ProofError> {
    let rooms = [0xffff, 0xffff, SATURATED, SATURATED];
    let is_saturated = narrow.iter().zip(rooms).any(|(value, room)| *value == room);
    let locator = match position.checked_sub(20) {
        Some(at) => read_at(reader, at, 20)?,
        None => Vec::new(),
    };
    if !locator.starts_with(b"PK\x06\x07") {
        return if is_saturated {
            Err(zip64_error("the zip64 end record is missing"))
        } else {
            Ok(None)
        };
    }
    if u32_at(&locator, 4) != 0 || u32_at(&locator, 16) != 1 {
        return Err(ambiguous_error("the zip is a part of a split archive"));
    }

    // With the data of a later version of the format it would be longer.
    let at = u64_at(&locator, 8);
    if at.checked_add(56) != Some(position - 20) {
        return Err(zip64_error(
            "the zip64 end record is not in front of its locator",
        ));
    }
    let record = read_at(reader, at, 56)?;
    if !record.starts_with(b"PK\x06\x06") || u64_at(&record, 4) != 44 {
        return Err(zip64_error("the zip64 end record is damaged"));
    }
    if u32_at(&record, 16) != 0 || u32_at(&record, 20) != 0 {
        return Err(ambiguous_error("the zip is a part of a split archive"));
    }

    let wide = [
        u64_at(&record, 24),
        u64_at(&record, 32),
        u64_at(&record, 40),
        u64_at(&record, 48),
    ];
    for ((wide, narrow), room) in wide.iter().zip(narrow).zip(rooms) {
        if narrow != room && narrow != *wide {
            return Err(zip64_error("the two end records contradict each other"));
        }
    }
    Ok(Some((wide, at)))
}
