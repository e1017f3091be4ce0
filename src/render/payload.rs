//! `payload.zip`: engine, resource scripts and the guest plan; the same bytes for the same plan.

use std::io::{Cursor, Write as _};

use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::embedded::Tree;
use crate::guest::script_files;

pub(super) fn payload(guest_plan: &str, provisioners: &Tree) -> ZipResult<Vec<u8>> {
    let mut files = script_files(provisioners);
    files.insert("guest-plan.json".to_owned(), guest_plan.as_bytes());
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
