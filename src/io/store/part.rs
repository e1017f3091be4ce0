//! A file that is being downloaded: bytes, and whose they are.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::sweep::{files_below, is_older};
use super::{Object, Store, replace_file};
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::json::parse_foreign;
use crate::base::stream::copy_pieces;
use crate::base::url::strip_secrets;
use crate::base::value::is_digest;
use crate::io::fs::{
    Digests, FileError, create_private, file_error, lacks_locks, lock_file, remove_if_exists,
};
use crate::io::random::create_random;

/// Recorded state of a part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    url: String,
    /// Strong entity tag of the file that the part is of.
    etag: Option<String>,
    /// Bytes from the beginning that are there, where there are gaps behind them.
    whole: Option<u64>,
}

/// A part that this process alone writes. Its lock goes with it.
#[derive(Debug)]
pub struct PartialFile {
    store: Store,
    url: String,
    path: PathBuf,
    state_path: PathBuf,
    state: State,
    file: Arc<File>,
}

impl Store {
    /// The part of what `url` publishes, for this process alone; none while another holds it. On a file system without
    /// locks, it has a name of its own and is not continued later.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn open_part(&self, url: &str) -> Result<Option<PartialFile>, FileError> {
        let mut path = self.part_path(url.as_bytes());
        let locked = match lock_file(&path, true) {
            Err(error) if lacks_locks(&error) => {
                let random: [u8; 32] = create_random().map_err(file_error("creating", &path))?;
                path = self.part_path(&random);
                Some(create_private(&path).map_err(file_error("creating", &path))?)
            }
            locked => locked?,
        };
        let Some(file) = locked else {
            return Ok(None);
        };
        let state_path = path.with_extension("json");
        let known = fs::read(&state_path)
            .ok()
            .and_then(|bytes| parse_foreign::<State>(&bytes).ok());
        let state = known.clone().unwrap_or_else(|| State {
            url: strip_secrets(url),
            ..State::default()
        });
        let mut part = PartialFile {
            store: self.clone(),
            url: url.to_owned(),
            path,
            state_path,
            state,
            file: Arc::new(file),
        };
        match known {
            None => part.clear()?,
            Some(State {
                whole: Some(whole), ..
            }) => part.truncate(whole)?,
            Some(_) => {}
        }
        Ok(Some(part))
    }

    fn part_path(&self, seed: &[u8]) -> PathBuf {
        let name = format!("{}.part", sha256_hex(seed));
        self.root.join("partial").join(name)
    }

    /// Removes parts that nobody has touched for `age`.
    pub(super) fn collect_parts(&self, age: Duration) -> Result<Vec<PathBuf>, FileError> {
        let mut removed = Vec::new();
        for path in files_below(&self.root.join("partial"))? {
            let stem = path.file_stem().unwrap_or_default();
            if !is_digest(&stem.to_string_lossy(), 64) || !is_older(&path, age) {
                continue;
            }
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("part") => {
                    // Who waits for the lock sees that the file has lost its name.
                    let _lock = match lock_file(&path, false) {
                        Ok(None) => continue,
                        Err(error) if lacks_locks(&error) => None,
                        locked => locked?,
                    };
                    remove_if_exists(&path.with_extension("json"))?;
                    remove_if_exists(&path)?;
                    removed.push(path);
                }
                Some("json") if !path.with_extension("part").exists() => {
                    remove_if_exists(&path)?;
                }
                _ => {}
            }
        }
        Ok(removed)
    }
}

impl PartialFile {
    /// Bytes that are there.
    ///
    /// # Errors
    /// The part cannot be read.
    pub fn len(&self) -> Result<u64, FileError> {
        Ok(self
            .file
            .metadata()
            .map_err(file_error("reading", &self.path))?
            .len())
    }

    /// # Errors
    /// The part cannot be read.
    pub fn is_empty(&self) -> Result<bool, FileError> {
        Ok(self.len()? == 0)
    }

    /// The entity tag of the file that the part is of.
    pub fn etag(&self) -> Option<&str> {
        self.state.etag.as_deref()
    }

    /// Begins anew.
    ///
    /// # Errors
    /// The part cannot be written.
    pub fn clear(&mut self) -> Result<(), FileError> {
        self.file
            .set_len(0)
            .map_err(file_error("writing", &self.path))?;
        self.record_etag(None)
    }

    /// Drops everything behind the first `length` bytes.
    ///
    /// # Errors
    /// The part cannot be written.
    pub fn truncate(&mut self, length: u64) -> Result<(), FileError> {
        if self.len()? > length {
            self.file
                .set_len(length)
                .map_err(file_error("writing", &self.path))?;
        }
        self.save_state(State {
            whole: None,
            ..self.state.clone()
        })
    }

    /// Remembers which file the part is of.
    ///
    /// # Errors
    /// The part cannot be written.
    pub fn record_etag(&mut self, etag: Option<&str>) -> Result<(), FileError> {
        self.save_state(State {
            etag: etag.map(str::to_owned),
            whole: None,
            ..self.state.clone()
        })
    }

    /// Remembers that behind the first `length` bytes there are gaps.
    ///
    /// # Errors
    /// The part cannot be written.
    pub fn record_prefix(&mut self, length: u64) -> Result<(), FileError> {
        self.save_state(State {
            whole: Some(length),
            ..self.state.clone()
        })
    }

    fn save_state(&mut self, state: State) -> Result<(), FileError> {
        if self.state != state || !self.state_path.exists() {
            self.state = state;
            replace_file(&self.state_path, json::format_json(&self.state).as_bytes())?;
        }
        Ok(())
    }

    /// Writes at the end.
    ///
    /// # Errors
    /// As the system says, mostly that the disk is full.
    pub fn append(&mut self, piece: &[u8]) -> Result<(), FileError> {
        (&*self.file)
            .write_all(piece)
            .map_err(file_error("writing", &self.path))
    }

    /// Goes to the end, where [`PartialFile::append`] writes.
    ///
    /// # Errors
    /// The part cannot be read.
    pub fn seek_end(&mut self) -> Result<(), FileError> {
        (&*self.file)
            .seek(SeekFrom::End(0))
            .map_err(file_error("reading", &self.path))?;
        Ok(())
    }

    /// Copies these bytes. They are read through the locked handle, because some systems lock others out of reading
    /// too.
    ///
    /// # Errors
    /// The part cannot be read, or the output not written.
    pub fn copy_range(
        &self,
        first: u64,
        length: u64,
        output: &mut dyn Write,
    ) -> Result<(), FileError> {
        (&*self.file)
            .seek(SeekFrom::Start(first))
            .map_err(file_error("reading", &self.path))?;
        let copied = copy_pieces((&*self.file).take(length), output);
        copied.map(drop).map_err(file_error("reading", &self.path))
    }

    /// Writer to any place in the part, from any thread.
    pub fn share_writer(&self) -> PartWriter {
        PartWriter {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
        }
    }

    /// The part as a whole file of the store.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn commit(self, found: &Digests) -> Result<Object, FileError> {
        let object = self.store.place_object(&self.path, found)?;
        remove_if_exists(&self.state_path)?;
        self.store.record_origin(&self.url, &object.sha256)?;
        Ok(object)
    }

    /// Removes it.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), FileError> {
        remove_if_exists(&self.state_path)?;
        remove_if_exists(&self.path)
    }
}

/// Writes anywhere in a part.
#[derive(Debug, Clone)]
pub struct PartWriter {
    file: Arc<File>,
    path: PathBuf,
}

impl PartWriter {
    /// # Errors
    /// As the system says, mostly that the disk is full.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), FileError> {
        write_at(&self.file, bytes, offset).map_err(file_error("writing", &self.path))
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> std::io::Result<()> {
    use std::os::windows::fs::FileExt as _;
    while !bytes.is_empty() {
        let written = file.seek_write(bytes, offset)?;
        if written == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
        offset += written as u64;
    }
    Ok(())
}
