//! The form of the zips that this program writes: files that are stored or deflated, one behind the other as the
//! directory has them, and no field that its writer leaves empty. A zip of another form is somebody else's.

use super::super::ProofError;
use super::super::names::refuse_entry;
use super::directory::{CentralDirectory, Record};
use crate::base::code::Code;

pub(super) fn require_own_form(directory: &CentralDirectory) -> Result<(), ProofError> {
    if directory.has_comment {
        let message = "the zip has a comment; imagegen writes no such zip";
        return Err(ProofError::new(Code::ARCHIVE_FOREIGN, message));
    }
    let mut behind = 0;
    for record in &directory.records {
        if let Some(fault) = find_fault(record, behind) {
            let why = format!("{fault}; imagegen writes no such zip");
            return refuse_entry(Code::ARCHIVE_FOREIGN, &record.entry.name, &why);
        }
        behind = record.data;
    }
    Ok(())
}

fn find_fault(record: &Record, behind: u64) -> Option<&'static str> {
    if record.entry.directory {
        Some("is a folder")
    } else if record.flags != 0 {
        Some("has flags")
    } else if !matches!(record.method, 0 | 8) {
        Some("is neither stored nor deflated")
    } else if record.has_notes {
        Some("has a comment or an extra field")
    } else if record.header < behind {
        Some("lies in front of entries that the directory has before it")
    } else {
        None
    }
}
