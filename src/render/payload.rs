//! `payload.zip`: engine, scripts and the guest plan; the same bytes for the same plan.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};

use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::embedded::Tree;
use crate::guest::script_files;

/// What goes into a guest, by its path below `C:\imagegen`.
pub(super) fn files<'a>(guest_plan: &'a str, provisioners: &'a Tree) -> BTreeMap<String, &'a [u8]> {
    let mut files = script_files(provisioners);
    files.insert("guest-plan.json".to_owned(), guest_plan.as_bytes());
    files
}

/// An archive with the same bytes for the same files.
pub(super) fn archive(files: &BTreeMap<String, &[u8]>) -> ZipResult<Vec<u8>> {
    // No times, one mode: nothing of the machine that renders shows.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(6))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(name, options)?;
        zip.write_all(bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}
