//! Reads members of archives without unpacking them. Archives that readers could interpret differently are refused.
//!
//! One hostile entry refuses the whole archive. This module writes nothing; the caller may use the bytes that
//! `visit` received only after [`read_members`] returned, because checksums, duplicates and trailing bytes are
//! checked at the end.

mod glob;
mod names;
mod read;
mod targz;
mod wanted;
mod zip;

use std::io::{Read, Seek, SeekFrom};

use super::ProofError;
use crate::base::code::Code;
use crate::windows::resource::ArchiveFormat;

pub use glob::matches_glob;
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
pub fn unreadable_error(entry: &Entry, error: &std::io::Error) -> ProofError {
    ProofError::new(
        Code::ARCHIVE_UNREADABLE,
        format!("`{}` cannot be read: {error}", entry.name),
    )
}

/// Reads the wanted members in the archive's order; what `visit` leaves unread is read after it.
///
/// # Errors
/// The archive is damaged, ambiguous, hostile or beyond a limit, a wanted member is not there, or
/// whatever `visit` says.
pub fn read_members<R: Read + Seek>(
    reader: R,
    format: ArchiveFormat,
    wanted: &WantedMembers,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Vec<MemberDigest>, ProofError> {
    Ok(walk_archive(reader, format, wanted, limits, visit)?.digests)
}

/// The same for a zip that this program wrote: one that has what its writer never makes is refused.
///
/// # Errors
/// As [`read_members`].
pub fn read_own_members<R: Read + Seek>(
    mut reader: R,
    wanted: &WantedMembers,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Vec<MemberDigest>, ProofError> {
    require_format(&mut reader, ArchiveFormat::Zip)?;
    Ok(zip::walk_own_zip(reader, wanted, limits, visit)?.digests)
}

/// Every entry, with the same demands on the archive as [`read_members`].
///
/// # Errors
/// The archive is damaged, ambiguous, hostile or beyond a limit.
pub fn list_entries<R: Read + Seek>(
    reader: R,
    format: ArchiveFormat,
    limits: &Limits,
) -> Result<Vec<Entry>, ProofError> {
    Ok(walk_archive(
        reader,
        format,
        &WantedMembers::default(),
        limits,
        &mut |_, _| Ok(()),
    )?
    .entries)
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

struct Walked {
    entries: Vec<Entry>,
    digests: Vec<MemberDigest>,
}

fn walk_archive<R: Read + Seek>(
    mut reader: R,
    format: ArchiveFormat,
    wanted: &WantedMembers,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Walked, ProofError> {
    require_format(&mut reader, format)?;
    match format {
        ArchiveFormat::Zip => zip::walk_zip(reader, wanted, limits, visit),
        ArchiveFormat::TarGz => targz::walk_tar(reader, wanted, limits, visit),
    }
}

fn require_format<R: Read + Seek>(reader: &mut R, format: ArchiveFormat) -> Result<(), ProofError> {
    let mut magic = Vec::new();
    reader
        .seek(SeekFrom::Start(0))
        .map_err(|error| read::to_proof_error(&error))?;
    reader
        .by_ref()
        .take(4)
        .read_to_end(&mut magic)
        .map_err(|error| read::to_proof_error(&error))?;
    reader
        .seek(SeekFrom::Start(0))
        .map_err(|error| read::to_proof_error(&error))?;
    let (own, other, said) = match format {
        ArchiveFormat::Zip => (
            &b"PK"[..],
            &b"\x1f\x8b"[..],
            "expected a zip archive, found a gzip file",
        ),
        ArchiveFormat::TarGz => (
            &b"\x1f\x8b"[..],
            &b"PK"[..],
            "expected a tar.gz archive, found a zip file",
        ),
    };
    if magic.starts_with(other) {
        return Err(ProofError::new(Code::ARCHIVE_FORMAT, said));
    }
    if !magic.starts_with(own) {
        let said = if magic.is_empty() {
            "the archive is empty"
        } else {
            "the file is not an archive of the expected format"
        };
        return Err(ProofError::new(Code::ARCHIVE_FORMAT, said));
    }
    Ok(())
}
