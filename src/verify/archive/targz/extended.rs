//! Headers that describe the next one: GNU's long names and PAX records.

use std::io::Read;

use super::super::names::{escape_name, refuse_entry};
use super::super::read::to_proof_error;
use super::super::{Entry, Limits, ProofError, names};
use super::header::{EntryKind, Header};
use super::{compute_padding, corrupt_tar_error, skip_bytes};
use crate::base::code::Code;

/// Bytes of a long name or of PAX records.
const EXTENDED: u64 = 64 * 1024;

/// PAX keys that describe no content: those of POSIX.1-2001, and those of writers for attributes and times.
const HARMLESS: &[&[u8]] = &[
    b"atime",
    b"comment",
    b"ctime",
    b"gid",
    b"gname",
    b"mtime",
    b"uid",
    b"uname",
    b"LIBARCHIVE.creationtime",
    b"SCHILY.dev",
    b"SCHILY.fflags",
    b"SCHILY.ino",
    b"SCHILY.nlink",
    b"RHT.security.selinux",
];

/// The same, by what they begin with.
const HARMLESS_GROUPS: &[&[u8]] = &[
    b"LIBARCHIVE.xattr.",
    b"SCHILY.acl.",
    b"SCHILY.xattr.",
    b"MSWINDOWS.",
];

/// Headers in front of an entry, and their names and sizes for it.
#[derive(Default)]
pub(super) struct Extended {
    kinds: Vec<EntryKind>,
    name: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Extended {
    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Whether the header is of that kind; then its content is taken in.
    pub(super) fn read_extension(
        &mut self,
        gzip: &mut impl Read,
        header: &Header,
    ) -> Result<bool, ProofError> {
        let kind = header.kind;
        if !matches!(
            kind,
            EntryKind::LongName
                | EntryKind::LongLink
                | EntryKind::Records
                | EntryKind::GlobalRecords
        ) {
            return Ok(false);
        }
        self.check_order(kind)?;
        let content = read_content(gzip, header.size)?;
        match kind {
            EntryKind::LongName => self.set_long_name(header, content)?,
            EntryKind::LongLink => return refuse_link(&String::from_utf8_lossy(&content)),
            _ => self.parse_records(&content, kind)?,
        }
        if kind != EntryKind::GlobalRecords {
            self.kinds.push(kind);
        }
        Ok(true)
    }

    /// Readers differ in what a second header of a kind, or one of another family, does to the first.
    fn check_order(&self, kind: EntryKind) -> Result<(), ProofError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(ProofError::new(
            Code::ARCHIVE_HEADER_MISMATCH,
            match kind {
                EntryKind::GlobalRecords => "global records stand between a header and its entry",
                _ if self.name.is_some() => "an entry has two long names",
                _ => "an entry has two headers of records",
            },
        ))
    }

    fn set_long_name(&mut self, header: &Header, content: Vec<u8>) -> Result<(), ProofError> {
        // 7-Zip tells a long name by the name of its header.
        if header.name != b"././@LongLink" {
            return Err(corrupt_tar_error("a long name under another name"));
        }
        let mut name = content;
        if name.last() == Some(&0) {
            name.pop();
        }
        self.name = Some(name);
        Ok(())
    }

    /// `LENGTH KEY=VALUE\n`, LENGTH counting all of it.
    fn parse_records(&mut self, content: &[u8], kind: EntryKind) -> Result<(), ProofError> {
        let mut rest = content;
        while !rest.is_empty() {
            let (record, behind) =
                split_record(rest).ok_or_else(|| corrupt_tar_error("PAX records"))?;
            rest = behind;
            let equals = record
                .iter()
                .position(|byte| *byte == b'=')
                .ok_or_else(|| corrupt_tar_error("PAX records"))?;
            self.take_record(&record[..equals], &record[equals + 1..], kind)?;
        }
        Ok(())
    }

    fn take_record(&mut self, key: &[u8], value: &[u8], kind: EntryKind) -> Result<(), ProofError> {
        let mut groups = HARMLESS_GROUPS.iter();
        if HARMLESS.contains(&key) || groups.any(|group| key.starts_with(group)) {
            return Ok(());
        }
        if key.starts_with(b"GNU.sparse.") || key == b"SUN.holesdata" {
            let message = "an entry is a sparse file";
            return Err(ProofError::new(Code::ARCHIVE_SPARSE, message));
        }
        let shown = escape_name(&String::from_utf8_lossy(key));
        if kind == EntryKind::GlobalRecords && matches!(key, b"path" | b"size" | b"linkpath") {
            let message = format!("a global record sets `{shown}` of all entries");
            return Err(ProofError::new(Code::ARCHIVE_HEADER_MISMATCH, message));
        }
        match key {
            b"path" if value.is_empty() || self.name.replace(value.to_vec()).is_some() => Err(
                ProofError::new(Code::ARCHIVE_HEADER_MISMATCH, "an entry has two long names"),
            ),
            b"path" => Ok(()),
            b"linkpath" => refuse_link(&String::from_utf8_lossy(value)),
            b"size" => self.set_size(value),
            // Another size, character set or type, or one that only some readers know.
            _ => Err(ProofError::new(
                Code::ARCHIVE_AMBIGUOUS,
                format!("a PAX record `{shown}` has no one meaning"),
            )),
        }
    }

    fn set_size(&mut self, value: &[u8]) -> Result<(), ProofError> {
        let size = parse_decimal(value).ok_or_else(|| corrupt_tar_error("a size"))?;
        if self.size.replace(size).is_some() {
            return Err(ProofError::new(
                Code::ARCHIVE_HEADER_MISMATCH,
                "an entry has two sizes",
            ));
        }
        Ok(())
    }

    /// The entry that a header and those in front of it describe.
    pub(super) fn build_entry(
        &mut self,
        header: &Header,
        limits: &Limits,
    ) -> Result<Entry, ProofError> {
        let extended = std::mem::take(self);
        let raw = extended.name.unwrap_or_else(|| header.name.clone());
        let name = names::normalize_tar_name(&raw)?;
        let directory = header.kind == EntryKind::Directory;
        match header.kind {
            EntryKind::File | EntryKind::Directory => {}
            EntryKind::Link => return refuse_entry(Code::ARCHIVE_LINK, &name, "is a link"),
            EntryKind::Sparse => {
                return refuse_entry(Code::ARCHIVE_SPARSE, &name, "is a sparse file");
            }
            _ => {
                return refuse_entry(
                    Code::ARCHIVE_SPECIAL,
                    &name,
                    "is neither file nor directory",
                );
            }
        }
        if header.has_target {
            return refuse_entry(Code::ARCHIVE_LINK, &name, "has the target of a link");
        }
        // Some readers take such a file for a folder.
        if !directory && raw.ends_with(b"/") {
            return refuse_entry(
                Code::ARCHIVE_HEADER_MISMATCH,
                &name,
                "is a file by its type and a directory by its name",
            );
        }

        let size = header.size;
        if extended.size.is_some_and(|declared| declared != size) {
            return refuse_entry(Code::ARCHIVE_HEADER_MISMATCH, &name, "has two sizes");
        }
        if name.is_empty() && !directory {
            let raw = String::from_utf8_lossy(&raw);
            return refuse_entry(Code::ARCHIVE_NAME_TRAVERSAL, &raw, "is not a file name");
        }
        if directory && size > 0 {
            let why = "is a directory with bytes";
            return refuse_entry(Code::ARCHIVE_HEADER_MISMATCH, &name, why);
        }
        if size > limits.entry {
            let why = format!("has {size} bytes, more than {}", limits.entry);
            return refuse_entry(Code::ARCHIVE_SIZE, &name, &why);
        }
        if !directory && header.mode & 0o6000 != 0 {
            return refuse_entry(Code::ARCHIVE_SETUID, &name, "is setuid or setgid");
        }
        Ok(Entry {
            name,
            size,
            directory,
        })
    }
}

fn refuse_link<T>(target: &str) -> Result<T, ProofError> {
    let message = format!("an entry is a link to `{}`", escape_name(target));
    Err(ProofError::new(Code::ARCHIVE_LINK, message))
}

fn read_content(gzip: &mut impl Read, size: u64) -> Result<Vec<u8>, ProofError> {
    if size > EXTENDED {
        let message = format!("the name or the records of an entry have {size} bytes");
        return Err(ProofError::new(Code::ARCHIVE_NAME_LENGTH, message));
    }
    let mut content = Vec::new();
    gzip.take(size)
        .read_to_end(&mut content)
        .map_err(|error| to_proof_error(&error))?;
    if content.len() as u64 != size {
        return Err(ProofError::new(
            Code::ARCHIVE_TRUNCATED,
            "the tar ends within a name",
        ));
    }
    skip_bytes(gzip, compute_padding(size))?;
    Ok(content)
}

fn split_record(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let blank = content.iter().take(8).position(|byte| *byte == b' ')?;
    let length = usize::try_from(parse_decimal(&content[..blank])?).ok()?;
    let record = content.get(blank + 1..length)?;
    Some((record.strip_suffix(b"\n")?, &content[length..]))
}

/// Digits alone, without a sign or zeros in front.
fn parse_decimal(text: &[u8]) -> Option<u64> {
    let is_plain = text.iter().all(u8::is_ascii_digit) && (text == b"0" || !text.starts_with(b"0"));
    let text = std::str::from_utf8(text).ok().filter(|_| is_plain)?;
    text.parse().ok()
}
