//! Zips that this program writes. One that differs from what its writer makes of the same members is somebody else's.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom, Write};

use ::zip::write::SimpleFileOptions;
use ::zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::zip::convert_error;
use super::{Limits, MemberDigest, Visit, WantedMembers, read_members, to_proof_error};
use crate::base::code::Code;
use crate::base::stream::{TeeReader, copy_pieces};
use crate::verify::ProofError;
use crate::windows::resource::ArchiveFormat;

/// Form of each member: not compressed, as other releases and processors compress otherwise, and without a time.
pub fn own_options(size: u64) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .system(System::Unix)
        .large_file(size >= u64::from(u32::MAX))
}

/// All members of a zip that this program wrote, as [`read_members`] reads them, with [`own_options`].
///
/// # Errors
/// As [`read_members`]; somebody else wrote it.
pub fn read_own_members<R: Read + Seek>(
    reader: R,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Vec<MemberDigest>, ProofError> {
    let shared = RefCell::new(reader);
    let mut copy = ZipWriter::new(Comparison::new(&shared));
    let source = Place {
        file: &shared,
        at: 0,
    };
    let wanted = WantedMembers::all_files();
    let read = read_members(
        source,
        ArchiveFormat::Zip,
        &wanted,
        limits,
        &mut |entry, content| {
            copy.start_file(entry.name.as_str(), own_options(entry.size))
                .map_err(convert_error)?;
            let mut content = TeeReader(content, &mut copy);
            visit(entry, &mut content)?;
            copy_pieces(content, &mut io::sink())
                .map(drop)
                .map_err(|error| to_proof_error(&error))
        },
    )?;
    let comparison = copy.finish().map_err(convert_error)?;
    if comparison.is_same() {
        return Ok(read);
    }
    let message = "the zip differs from what imagegen writes of the same members";
    Err(ProofError::new(Code::ARCHIVE_FOREIGN, message))
}

/// A place in a file that others read at their own places.
struct Place<'a, R> {
    file: &'a RefCell<R>,
    at: u64,
}

impl<R: Read + Seek> Read for Place<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: Read + Seek> Seek for Place<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Current(distance) => SeekFrom::Start(self.at.saturating_add_signed(distance)),
            to => to,
        };
        self.at = self.file.borrow_mut().seek(to)?;
        Ok(self.at)
    }
}

/// Output that is compared with a file. The writer goes back to a header when it knows checksum and sizes, so a byte may
/// be wrong at first.
struct Comparison<'a, R> {
    file: &'a RefCell<R>,
    at: u64,
    end: u64,
    wrong: BTreeSet<u64>,
    is_foreign: bool,
}

impl<'a, R: Read + Seek> Comparison<'a, R> {
    /// Bytes of a header that are written later: checksum and sizes, with zip64.
    const OPEN: usize = 28;

    fn new(file: &'a RefCell<R>) -> Self {
        Self {
            file,
            at: 0,
            end: 0,
            wrong: BTreeSet::new(),
            is_foreign: false,
        }
    }

    fn compare(&mut self, piece: &[u8]) -> io::Result<()> {
        let mut found = vec![0; piece.len()];
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(self.at))?;
        file.read_exact(&mut found)?;
        if self.wrong.is_empty() && found == piece {
            return Ok(());
        }
        for (at, (own, found)) in (self.at..).zip(piece.iter().zip(found)) {
            if *own == found {
                self.wrong.remove(&at);
            } else if self.wrong.len() < Self::OPEN {
                self.wrong.insert(at);
            } else {
                self.is_foreign = true;
            }
        }
        Ok(())
    }

    fn is_same(&self) -> bool {
        let length = self.file.borrow_mut().seek(SeekFrom::End(0));
        let is_whole = length.is_ok_and(|length| length == self.end);
        is_whole && self.wrong.is_empty() && !self.is_foreign
    }
}

impl<R: Read + Seek> Write for Comparison<'_, R> {
    /// Never fails, as a `ZipWriter` prints what its output refuses.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if !self.is_foreign {
            self.is_foreign = self.compare(piece).is_err();
        }
        self.at += piece.len() as u64;
        self.end = self.end.max(self.at);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R: Read + Seek> Seek for Comparison<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(distance) => self.at.checked_add_signed(distance),
            SeekFrom::End(distance) => self.end.checked_add_signed(distance),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
