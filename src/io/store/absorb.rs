//! Files that come neither from the network nor from the disk: out of a bundle.

use std::io;

use super::{Object, Store};
use crate::io::fs::{DigestSet, FileError, file_error};
use crate::io::interrupt::Cleanup;

impl Store {
    /// Puts what a reader gives into the store, if its digest is the one that is expected.
    ///
    /// # Errors
    /// The store cannot be written, or the reader fails.
    pub fn insert_stream(
        &self,
        reader: &mut dyn io::Read,
        expected: &str,
    ) -> Result<Option<Object>, FileError> {
        if let Some(object) = self.find_sha256(expected)
            && self.digest_object(&object, DigestSet::Sha256)?.is_some()
        {
            return Ok(Some(object));
        }
        let _cleanup = Cleanup::start().map_err(file_error("writing", self.root()))?;
        let (copy, found) = self.copy_stream(reader, file_error("writing", self.root()))?;
        if found.sha256 != expected {
            return Ok(None);
        }
        self.place_object(&copy.into_temp_path(), &found).map(Some)
    }
}
