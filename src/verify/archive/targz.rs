//! tar inside one gzip member: ustar, PAX and GNU long names; regular files and directories.

mod extended;
mod gzip;
mod header;

use std::io::{self, Read};

use super::names;
use super::read::{fill_buffer, to_proof_error, visit_member};
use super::{Limits, ProofError, Visit, Walked, WantedMembers};
use crate::base::code::Code;
use crate::base::stream::copy_pieces;
use extended::Extended;
use gzip::Gzip;
use header::{BLOCK, Header};

pub(super) fn walk_tar<R: Read>(
    reader: R,
    wanted: &WantedMembers,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Walked, ProofError> {
    let mut gzip = Gzip::open(reader, limits).map_err(|error| to_proof_error(&error))?;
    let mut walked = Walked {
        entries: Vec::new(),
        digests: Vec::new(),
    };
    let mut extended = Extended::default();
    let mut headers = 0;
    while let Some(header) = read_header(&mut gzip)? {
        headers += 1;
        // Headers that only describe the next one are work, too.
        if headers > limits.entries.saturating_mul(3)
            || walked.entries.len() as u64 >= limits.entries
        {
            return Err(ProofError::new(
                Code::ARCHIVE_ENTRIES,
                format!("more than {} entries", limits.entries),
            ));
        }
        if extended.read_extension(&mut gzip, &header)? {
            continue;
        }
        let entry = extended.build_entry(&header, limits)?;
        let size = entry.size;
        if wanted.includes_entry(&entry)? {
            let (digest, _) = visit_member(&entry, gzip.by_ref().take(size), None, visit)?;
            walked.digests.push(digest);
        } else {
            skip_bytes(&mut gzip, size)?;
        }
        skip_bytes(&mut gzip, compute_padding(size))?;
        walked.entries.push(entry);
    }
    if !extended.is_empty() {
        return Err(corrupt_tar_error("no entry follows a long name"));
    }
    gzip.finish().map_err(|error| to_proof_error(&error))?;
    names::check_collisions(&walked.entries)?;
    walked.entries.retain(|entry| !entry.name.is_empty());
    wanted.check_complete(&walked.entries)?;
    Ok(walked)
}

fn corrupt_tar_error(what: &str) -> ProofError {
    ProofError::new(Code::ARCHIVE_CORRUPT, format!("the tar is damaged: {what}"))
}

fn compute_padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK as u64) - size
}

fn skip_bytes<R: Read>(reader: &mut R, size: u64) -> Result<(), ProofError> {
    let copied =
        copy_pieces(reader.take(size), &mut io::sink()).map_err(|error| to_proof_error(&error))?;
    if copied == size {
        Ok(())
    } else {
        Err(ProofError::new(
            Code::ARCHIVE_TRUNCATED,
            "the tar ends within an entry",
        ))
    }
}

/// The next header; none at the end, which two blocks of zeros mark.
fn read_header(gzip: &mut impl Read) -> Result<Option<Header>, ProofError> {
    let mut block = [0; BLOCK];
    let mut zeros = 0;
    loop {
        if fill_buffer(gzip, &mut block).map_err(|error| to_proof_error(&error))? < BLOCK {
            return Err(ProofError::new(
                Code::ARCHIVE_TRUNCATED,
                "the tar has no end marker",
            ));
        }
        if block.iter().any(|byte| *byte != 0) {
            break;
        }
        zeros += 1;
        if zeros == 2 {
            return Ok(None);
        }
    }
    if zeros > 0 {
        return Err(ProofError::new(
            Code::ARCHIVE_TRAILING_DATA,
            "entries follow the tar's end marker",
        ));
    }
    Header::parse(&block).map(Some)
}
