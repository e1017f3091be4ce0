//! Zip archives. Local headers must agree with the directory, which is all that `ZipArchive` of .NET reads in the guest.

use std::io::{Read, Seek};

use ::zip::read::ZipArchive;
use ::zip::result::ZipError;

use super::names::{refuse_entry, require_exact_name};
use super::{Entry, ProofError, Walk, corrupt_error, to_proof_error};
use crate::base::code::Code;

pub(super) fn walk_zip<R: Read + Seek>(
    reader: R,
    walk: &mut Walk<'_, '_>,
) -> Result<(), ProofError> {
    let mut archive = ZipArchive::new(reader).map_err(convert_error)?;
    if archive.has_duplicate_names() {
        let message = "the archive has an entry twice";
        return Err(ProofError::new(Code::ARCHIVE_DUPLICATE, message));
    }
    archive
        .validate_header_consistency()
        .map_err(convert_error)?;
    if archive.offset() > 0 {
        return Err(corrupt_error(&"bytes in front of its first entry"));
    }

    for index in 0..archive.len() {
        let record = archive.by_index_data(index).map_err(convert_error)?;
        let entry = Entry {
            name: require_exact_name(record.name_raw())?,
            size: record.size(),
            directory: record.is_dir(),
        };
        let (mode, compressed) = (
            record.unix_mode().unwrap_or_default(),
            record.compressed_size(),
        );
        match mode & 0o170_000 {
            0 | 0o100_000 | 0o040_000 => {}
            0o120_000 => return refuse_entry(Code::ARCHIVE_LINK, &entry.name, "is a link"),
            _ => return refuse_entry(Code::ARCHIVE_SPECIAL, &entry.name, "is a special file"),
        }
        if !walk.add_entry(&entry)? {
            continue;
        }
        if entry.size > 1 << 20 && entry.size / walk.limits.ratio > compressed {
            let why = "expands far beyond its compressed size";
            return refuse_entry(Code::ARCHIVE_RATIO, &entry.name, why);
        }
        let mut file = archive.by_index(index).map_err(convert_error)?;
        walk.read_member(&entry, &mut file)?;
    }
    Ok(())
}

pub(super) fn convert_error(error: ZipError) -> ProofError {
    match error {
        ZipError::Io(error) => to_proof_error(&error),
        error => corrupt_error(&error),
    }
}
