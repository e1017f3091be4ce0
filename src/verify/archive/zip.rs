//! Strict zip reader: the central directory and the local headers must agree, and entries must be contiguous, so that
//! readers of either see the same files. The format is that of APPNOTE.TXT 6.3.10.

mod directory;
mod end;
mod fields;
mod own;

use std::io::{BufReader, Read, Seek, SeekFrom};

use flate2::bufread::DeflateDecoder;

use super::names;
use super::read::{to_proof_error, visit_member};
use super::{Limits, ProofError, Visit, Walked, WantedMembers};
use crate::base::code::Code;
use directory::{CentralDirectory, Record, read_directory};

pub(super) fn walk_zip<R: Read + Seek>(
    mut reader: R,
    wanted: &WantedMembers,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Walked, ProofError> {
    let directory = read_directory(&mut reader, limits)?;
    walk_directory(reader, &directory, wanted, limits, visit)
}

/// The same for a zip of this program.
pub(super) fn walk_own_zip<R: Read + Seek>(
    mut reader: R,
    wanted: &WantedMembers,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Walked, ProofError> {
    let directory = read_directory(&mut reader, limits)?;
    own::require_own_form(&directory)?;
    walk_directory(reader, &directory, wanted, limits, visit)
}

fn walk_directory<R: Read + Seek>(
    mut reader: R,
    directory: &CentralDirectory,
    wanted: &WantedMembers,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Walked, ProofError> {
    let records = &directory.records;
    let mut walked = Walked {
        entries: Vec::new(),
        digests: Vec::new(),
    };
    walked.entries = records.iter().map(|record| record.entry.clone()).collect();
    names::check_collisions(&walked.entries)?;
    wanted.check_complete(&walked.entries)?;
    let mut total = 0_u64;
    for record in records {
        let is_wanted = wanted.includes_entry(&record.entry)?;
        if !is_wanted && !record.is_stream() {
            continue;
        }
        total = total.saturating_add(record.entry.size);
        if total > limits.total {
            let message = format!("more than {} bytes in all", limits.total);
            return Err(ProofError::new(Code::ARCHIVE_SIZE, message));
        }

        if is_wanted {
            walked
                .digests
                .push(read_record(&mut reader, record, visit)?);
        } else {
            // A reader from the front goes on where the stream ends, wherever the directory says that its entry does.
            read_record(&mut reader, record, &mut |_, _| Ok(()))?;
        }
    }
    Ok(walked)
}

fn read_record<R: Read + Seek>(
    reader: &mut R,
    record: &Record,
    visit: &mut Visit<'_>,
) -> Result<super::MemberDigest, ProofError> {
    reader
        .seek(SeekFrom::Start(record.data))
        .map_err(|error| to_proof_error(&error))?;
    let data = BufReader::with_capacity(64 * 1024, reader.take(record.compressed));
    match record.method {
        0 => Ok(visit_member(&record.entry, data, Some(record.crc), visit)?.0),
        8 => {
            let (digest, decoder) = visit_member(
                &record.entry,
                DeflateDecoder::new(data),
                Some(record.crc),
                visit,
            )?;
            if decoder.total_in() == record.compressed {
                return Ok(digest);
            }
            names::refuse_entry(
                Code::ARCHIVE_HIDDEN_DATA,
                &record.entry.name,
                "has bytes after its compressed content",
            )
        }
        method => names::refuse_entry(
            Code::ARCHIVE_METHOD,
            &record.entry.name,
            &format!("is compressed by method {method}; only stored and deflated ones are read"),
        ),
    }
}
