//! Reads members of archives without unpacking them, by the crates `zip` and `tar`.
//!
//! Another reader may see other bytes in an archive that was made for it. That is refused where it unpacks: the
//! lockfile names the digest of each member that is used, and the guest compares it. Here an archive is refused that
//! is damaged, has links, special files, names that Windows does not keep apart, more than its limits, or not what is
//! asked for. The caller may use the bytes that `visit` received only after [`read_members`] returned.

mod glob;
mod names;
mod own;
mod tar;
mod wanted;
mod zip;

use std::io::{self, Read, Seek};

use super::ProofError;
use crate::base::code::Code;
use crate::base::digest::Digester;
use crate::base::stream::copy_pieces;
use crate::base::text::escape_line;
use crate::base::value::PinAlgorithm;
use crate::windows::resource::ArchiveFormat;

pub use glob::matches_glob;
pub use own::{own_options, read_own_members};
pub use wanted::WantedMembers;

/// Bounds that a hostile archive runs into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub entries: u64,
    /// Bytes of one entry.
    pub entry: u64,
    /// Bytes of all entries.
    pub total: u64,
    /// Bytes for each compressed byte, once there is more than a mebibyte.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 20_000,
            entry: 4 << 30,
            total: 8 << 30,
            ratio: 250,
        }
    }
}

/// An entry, as the archive declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// With `/` between the parts, without `/` behind. Of a zip the name of the central directory, of a tar the name
    /// without `./` in front.
    pub name: String,
    pub size: u64,
    pub directory: bool,
}

/// A member that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberDigest {
    pub name: String,
    pub size: u64,
    pub sha256: String,
}

/// Takes the bytes of a member.
pub type Visit<'a> = dyn FnMut(&Entry, &mut dyn Read) -> Result<(), ProofError> + 'a;

/// All bytes of a member, for visitors that need them at once.
///
/// # Errors
/// The member cannot be read.
pub fn read_member_bytes(entry: &Entry, content: &mut dyn Read) -> Result<Vec<u8>, ProofError> {
    let mut bytes = Vec::new();
    content
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable_error(entry, &error))?;
    Ok(bytes)
}

/// A member that cannot be read, or not be kept.
#[must_use]
pub fn unreadable_error(entry: &Entry, error: &io::Error) -> ProofError {
    ProofError::new(
        Code::ARCHIVE_UNREADABLE,
        format!("`{}` cannot be read: {error}", entry.name),
    )
}

/// Reads the wanted members in the archive's order; what `visit` leaves unread is read after it.
///
/// # Errors
/// The archive is damaged, hostile or beyond a limit, a wanted member is not there, or whatever `visit` says.
pub fn read_members<R: Read + Seek>(
    reader: R,
    format: ArchiveFormat,
    wanted: &WantedMembers,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Vec<MemberDigest>, ProofError> {
    let mut walk = Walk {
        wanted,
        limits,
        visit,
        entries: Vec::new(),
        digests: Vec::new(),
        total: 0,
    };
    match format {
        ArchiveFormat::Zip => zip::walk_zip(reader, &mut walk)?,
        ArchiveFormat::TarGz => tar::walk_tar(reader, &mut walk)?,
    }
    // The folder that is packed has no name of its own.
    walk.entries.retain(|entry| !entry.name.is_empty());
    names::check_collisions(&walk.entries)?;
    wanted.check_complete(&walk.entries)?;
    Ok(walk.digests)
}

/// Refuses paths that no file can have on every system, and those that would be one file.
///
/// # Errors
/// The first that is refused.
pub fn check_names<'a>(paths: impl IntoIterator<Item = &'a str>) -> Result<(), ProofError> {
    let mut entries = Vec::new();
    for path in paths {
        names::check_name(path)?;
        entries.push(Entry {
            name: path.to_owned(),
            size: 0,
            directory: false,
        });
    }
    names::check_collisions(&entries)
}

/// Entries that were met, and the members among them that were read.
struct Walk<'a, 'b> {
    wanted: &'a WantedMembers,
    limits: &'a Limits,
    visit: &'a mut Visit<'b>,
    entries: Vec<Entry>,
    digests: Vec<MemberDigest>,
    total: u64,
}

impl Walk<'_, '_> {
    /// Whether the entry is asked for.
    fn add_entry(&mut self, entry: &Entry) -> Result<bool, ProofError> {
        let limits = self.limits;
        if self.entries.len() as u64 >= limits.entries {
            let message = format!("more than {} entries", limits.entries);
            return Err(ProofError::new(Code::ARCHIVE_ENTRIES, message));
        }
        let is_wanted = self.wanted.includes_entry(entry)?;
        if is_wanted {
            self.total = self.total.saturating_add(entry.size);
        }
        if entry.size > limits.entry || self.total > limits.total {
            let why = format!("has {} bytes, and that is too many", entry.size);
            return names::refuse_entry(Code::ARCHIVE_SIZE, &entry.name, &why);
        }
        self.entries.push(entry.clone());
        Ok(is_wanted)
    }

    /// Hands a member out and reads what is left of it.
    fn read_member(&mut self, entry: &Entry, content: &mut dyn Read) -> Result<(), ProofError> {
        let mut reader = MemberReader {
            content,
            hash: Digester::new(PinAlgorithm::Sha256),
            failure: None,
        };
        let visited = (self.visit)(entry, &mut reader);
        let rest = copy_pieces(&mut reader, &mut io::sink());
        if let Some(error) = reader.failure {
            return Err(error);
        }
        visited?;
        rest.map_err(|error| to_proof_error(&error))?;

        let (name, size) = (entry.name.clone(), reader.hash.size());
        if size != entry.size {
            let why = format!("has {size} bytes, and its header states {}", entry.size);
            return names::refuse_entry(Code::ARCHIVE_CORRUPT, &name, &why);
        }
        let sha256 = reader.hash.finish();
        self.digests.push(MemberDigest { name, size, sha256 });
        Ok(())
    }
}

/// A member while it is read. A visitor that swallows an error does not make the archive good.
struct MemberReader<'a> {
    content: &'a mut dyn Read,
    hash: Digester,
    failure: Option<ProofError>,
}

impl Read for MemberReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = &self.failure {
            return Err(io::Error::other(error.clone()));
        }
        let read = self.content.read(buffer);
        match &read {
            Ok(count) => self.hash.add(&buffer[..*count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => self.failure = Some(to_proof_error(error)),
        }
        read
    }
}

/// An error of the crates, or one of ours that came through them.
fn to_proof_error(error: &io::Error) -> ProofError {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref());
    if let Some(own) = own {
        return ProofError::clone(own);
    }
    // What the system says has its number.
    if error.raw_os_error().is_some() {
        let message = format!("the archive cannot be read: {error}");
        return ProofError::new(Code::ARCHIVE_UNREADABLE, message);
    }
    corrupt_error(error)
}

/// Error of an archive that a crate cannot read. Its message may contain bytes of the archive.
fn corrupt_error(error: &dyn std::fmt::Display) -> ProofError {
    let message = format!("the archive is damaged: {error}");
    ProofError::new(Code::ARCHIVE_CORRUPT, escape_line(&message))
}
