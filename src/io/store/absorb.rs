//! Files that come neither from the network nor from the disk: out of a bundle.

#![expect(clippy::disallowed_methods, reason = "an owner of file access: objects appear whole")]

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{Object, Store};
use crate::io::fs::{FileError, at, digests};
use crate::model::resource::PinAlgorithm;

impl Store {
    /// Puts what a reader gives into the store, if its digest is the one that is expected.
    ///
    /// # Errors
    /// The store cannot be written, or the reader fails.
    pub fn absorb(&self, reader: &mut dyn io::Read, expected: &str) -> Result<Option<Object>, FileError> {
        if let Some(object) = self.find(PinAlgorithm::Sha256, expected)
            && self.digests(&object)?.is_some()
        {
            return Ok(Some(object));
        }
        let copy = self.root.join("partial").join(format!("{expected}.{}.copy", std::process::id()));
        let outcome = self.absorb_by(reader, expected, &copy);
        if !matches!(outcome, Ok(Some(_))) {
            let _ = fs::remove_file(&copy);
        }
        outcome
    }

    fn absorb_by(
        &self,
        reader: &mut dyn io::Read,
        expected: &str,
        copy: &Path,
    ) -> Result<Option<Object>, FileError> {
        let mut file = File::create(copy).map_err(at("writing", copy))?;
        io::copy(reader, &mut file).map_err(at("writing", copy))?;
        let found = digests(copy)?;
        if found.sha256 != expected {
            return Ok(None);
        }
        self.place(copy, &found).map(Some)
    }
}
