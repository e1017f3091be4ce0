//! Tar archives inside of one gzip member.

use std::cell::Cell;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::rc::Rc;

use ::tar::{Archive, EntryType};
use flate2::bufread::GzDecoder;

use super::names::{normalize_tar_name, refuse_entry};
use super::{Entry, ProofError, Walk, corrupt_error, to_proof_error};
use crate::base::code::Code;
use crate::base::stream::copy_pieces;

/// Bytes of headers that describe one entry. The crate keeps a long name in memory, whatever its length.
const LARGEST_HEADERS: u64 = 1 << 20;

pub(super) fn walk_tar<R: Read + Seek>(
    mut reader: R,
    walk: &mut Walk<'_, '_>,
) -> Result<(), ProofError> {
    let length = reader.seek(SeekFrom::End(0));
    let length = length.and_then(|length| reader.rewind().map(|()| length));
    let length = length.map_err(|error| to_proof_error(&error))?;
    let limits = walk.limits;
    let inflated = length.saturating_mul(limits.ratio).max(1 << 20);
    let open = Rc::new(Cell::new(0));
    let mut archive = Archive::new(Inflated {
        gzip: GzDecoder::new(BufReader::with_capacity(64 * 1024, reader)),
        open: Rc::clone(&open),
        rest: inflated.min(limits.total),
        beyond: if inflated < limits.total {
            Code::ARCHIVE_RATIO
        } else {
            Code::ARCHIVE_SIZE
        },
    });

    let mut entries = archive.entries().map_err(|error| to_proof_error(&error))?;
    loop {
        open.set(LARGEST_HEADERS);
        let Some(found) = entries.next() else {
            break;
        };
        let mut found = found.map_err(|error| to_proof_error(&error))?;
        open.set(u64::MAX);
        walk_entry(&mut found, walk)?;
    }

    // A download that was cut off, or has something behind it.
    open.set(u64::MAX);
    let mut inflated = archive.into_inner();
    let mut behind = [0];
    let rest = copy_pieces(&mut inflated, &mut io::sink())
        .and_then(|_| inflated.gzip.into_inner().read(&mut behind));
    match rest.map_err(|error| to_proof_error(&error))? {
        0 => Ok(()),
        _ => Err(corrupt_error(&"bytes follow its end")),
    }
}

/// Reads an entry to its end, so that the crate reads headers alone.
fn walk_entry<R: Read>(
    found: &mut ::tar::Entry<'_, R>,
    walk: &mut Walk<'_, '_>,
) -> Result<(), ProofError> {
    let name = found.path_bytes().into_owned();
    let (kind, is_folder) = (found.header().entry_type(), name.ends_with(b"/"));
    let name = normalize_tar_name(&name)?;
    let directory = match kind {
        EntryType::XGlobalHeader => return Ok(()),
        EntryType::Directory => true,
        EntryType::Regular => is_folder,
        EntryType::Link | EntryType::Symlink => {
            return refuse_entry(Code::ARCHIVE_LINK, &name, "is a link");
        }
        _ => return refuse_entry(Code::ARCHIVE_SPECIAL, &name, "is a special file"),
    };
    let entry = Entry {
        name,
        size: found.size(),
        directory,
    };
    if walk.add_entry(&entry)? {
        return walk.read_member(&entry, found);
    }
    let skipped = copy_pieces(found, &mut io::sink());
    skipped.map(drop).map_err(|error| to_proof_error(&error))
}

/// The content of a gzip member, with bounds.
struct Inflated<R> {
    gzip: GzDecoder<R>,
    /// Bytes that may be read until the next entry.
    open: Rc<Cell<u64>>,
    /// Bytes that may be read at all.
    rest: u64,
    beyond: Code,
}

impl<R: io::BufRead> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.gzip.read(buffer)?;
        let taken = count as u64;
        let (Some(open), Some(rest)) = (
            self.open.get().checked_sub(taken),
            self.rest.checked_sub(taken),
        ) else {
            let message = "the archive unpacks to more than its limits";
            return Err(io::Error::other(ProofError::new(self.beyond, message)));
        };
        self.open.set(open);
        self.rest = rest;
        Ok(count)
    }
}
