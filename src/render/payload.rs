//! `payload.zip`: engine, scripts and the guest plan; the same bytes for the same plan.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};

use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipArchive, ZipWriter};

use crate::base::digest::sha256_hex;
use crate::embedded::{SCRIPTS_DIGEST, SCRIPTS_ZIP, Tree};
use crate::guest::{GUEST_PLAN_FILE, list_script_files};

/// Files of a guest, by path below `C:\imagegen`.
pub(super) fn list_files<'a>(
    guest_plan: &'a str,
    provisioners: &'a Tree,
) -> BTreeMap<String, &'a [u8]> {
    let mut files = list_script_files(provisioners);
    files.insert(GUEST_PLAN_FILE.to_owned(), guest_plan.as_bytes());
    files
}

/// An archive with the same bytes for the same files: the scripts in order, then the guest plan.
pub(super) fn pack_archive(guest_plan: &str, provisioners: &Tree) -> ZipResult<Vec<u8>> {
    // No times, one mode, one system: nothing of the machine that renders shows.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(6))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .system(System::Unix);
    let room = SCRIPTS_ZIP.len() + guest_plan.len() / 4;
    let mut zip = ZipWriter::new(Cursor::new(Vec::with_capacity(room)));
    if provisioners.is_embedded() {
        zip.merge_archive(ZipArchive::new(Cursor::new(SCRIPTS_ZIP))?)?;
    } else {
        for (name, bytes) in list_script_files(provisioners) {
            zip.start_file(name, options)?;
            zip.write_all(bytes)?;
        }
    }
    // Of other bytes in each build: level 6 saves 2 KB and takes 5 % of a preview.
    zip.start_file(GUEST_PLAN_FILE, options.compression_level(Some(2)))?;
    zip.write_all(guest_plan.as_bytes())?;
    Ok(zip.finish()?.into_inner())
}

/// SHA-256 of an archive of [`pack_archive`]. Of the program's own scripts it was begun when the program was built:
/// without instructions of the processor for it, that is a tenth of a preview.
pub(super) fn digest_archive(archive: &[u8], provisioners: &Tree) -> String {
    if provisioners.is_embedded() {
        SCRIPTS_DIGEST.sha256_hex(archive)
    } else {
        sha256_hex(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_that_was_begun_in_advance_is_that_of_the_archive() {
        let embedded = Tree::embedded_provisioners();
        let archive = pack_archive("{}", &embedded).unwrap();
        assert!(archive.starts_with(&SCRIPTS_ZIP[..SCRIPTS_DIGEST.length]));
        assert_eq!(digest_archive(&archive, &embedded), sha256_hex(&archive));
        let other = Tree::from_files("loaded".to_owned(), embedded.files());
        assert_eq!(digest_archive(&archive, &other), sha256_hex(&archive));
        // The part before was not read again.
        let mut changed = archive.clone();
        changed[0] ^= 1;
        assert_eq!(digest_archive(&changed, &embedded), sha256_hex(&archive));
    }

    #[test]
    fn scripts_that_were_packed_in_advance_give_the_same_archive() {
        let embedded = Tree::embedded_provisioners();
        let loaded = Tree::from_files("loaded".to_owned(), embedded.files());
        // Not `assert_eq`: it would print them.
        assert!(pack_archive("{}", &embedded).unwrap() == pack_archive("{}", &loaded).unwrap());
    }
}
