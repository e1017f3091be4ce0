//! End record, central directory and local headers, each held against the others.

use std::io::{BufReader, Read, Seek, SeekFrom};

use super::super::names::{self, refuse_entry};
use super::super::read::to_proof_error;
use super::super::{Entry, Limits, ProofError};
use super::end::{End, read_end_record};
use super::fields::{find_second_opinion, is_zip64_alone, u16_at, u32_at, u64_at, widen_sizes};
use crate::base::code::Code;

/// An entry whose local header says the same as the directory.
pub(super) struct Record {
    pub entry: Entry,
    pub method: u16,
    pub crc: u32,
    pub compressed: u64,
    /// Where its bytes begin.
    pub data: u64,
    pub header: u64,
    pub flags: u16,
    /// Whether a header has a comment, or another extra field than that of zip64.
    pub has_notes: bool,
    raw: Vec<u8>,
}

/// The entries of a zip in the order of its directory.
pub(super) struct CentralDirectory {
    pub records: Vec<Record>,
    pub has_comment: bool,
}

impl Record {
    /// Whether only decoding it tells where its bytes end. An entry that states no bytes in front has none.
    pub fn is_stream(&self) -> bool {
        self.method == 8 && (self.compressed > 0 || self.is_described())
    }

    fn is_described(&self) -> bool {
        self.flags & DESCRIPTOR != 0
    }
}

const ENCRYPTED: u16 = 1 | (1 << 6) | (1 << 13);
const DESCRIPTOR: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;
const LEVEL: u16 = 3 << 1;
/// Version 6.3 of the format, in the low byte (APPNOTE 4.4.3).
const NEWEST: u16 = 63;

pub(super) fn read_directory<R: Read + Seek>(
    reader: &mut R,
    limits: &Limits,
) -> Result<CentralDirectory, ProofError> {
    let end = read_end_record(reader)?;
    if end.entries > limits.entries {
        let message = format!("{} entries, more than {}", end.entries, limits.entries);
        return Err(ProofError::new(Code::ARCHIVE_ENTRIES, message));
    }
    let mut records = read_central_directory(reader, &end, limits)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|at| records[*at].header);
    let mut free = 0;
    for (place, at) in order.iter().enumerate() {
        let next = order
            .get(place + 1)
            .map_or(end.directory, |next| records[*next].header);
        let record = &mut records[*at];
        if record.header != free {
            return Err(hidden_data_error("bytes that belong to no entry"));
        }
        check_local_header(reader, record, next)?;
        free = next;
    }
    if free != end.directory {
        return Err(hidden_data_error("bytes in front of the directory"));
    }
    Ok(CentralDirectory {
        records,
        has_comment: end.has_comment,
    })
}

pub(super) fn hidden_data_error(what: &str) -> ProofError {
    ProofError::new(Code::ARCHIVE_HIDDEN_DATA, format!("the zip has {what}"))
}

fn refuse_mismatch<T>(name: &str, what: &str) -> Result<T, ProofError> {
    refuse_entry(
        Code::ARCHIVE_HEADER_MISMATCH,
        name,
        &format!("has two different {what}: in the directory and in front of it"),
    )
}

pub(super) fn read_at<R: Read + Seek>(
    reader: &mut R,
    at: u64,
    length: usize,
) -> Result<Vec<u8>, ProofError> {
    let mut bytes = vec![0; length];
    reader
        .seek(SeekFrom::Start(at))
        .map_err(|error| to_proof_error(&error))?;
    reader
        .read_exact(&mut bytes)
        .map_err(|error| to_proof_error(&error))?;
    Ok(bytes)
}

fn read_central_directory<R: Read + Seek>(
    reader: &mut R,
    end: &End,
    limits: &Limits,
) -> Result<Vec<Record>, ProofError> {
    reader
        .seek(SeekFrom::Start(end.directory))
        .map_err(|error| to_proof_error(&error))?;
    let mut reader = BufReader::new(reader.take(end.size));
    let mut records = Vec::new();
    for _ in 0..end.entries {
        records.push(read_central_header(&mut reader, limits)?);
    }
    let mut rest = [0];
    match reader.read(&mut rest) {
        Ok(0) => Ok(records),
        Ok(_) => Err(ProofError::new(
            Code::ARCHIVE_AMBIGUOUS,
            "the zip's directory has more entries than its header states",
        )),
        Err(error) => Err(to_proof_error(&error)),
    }
}

fn read_central_header(reader: &mut impl Read, limits: &Limits) -> Result<Record, ProofError> {
    let mut head = [0; 46];
    read_exactly(reader, &mut head)?;
    if !head.starts_with(b"PK\x01\x02") {
        return Err(ProofError::new(
            Code::ARCHIVE_CORRUPT,
            "the zip's directory is damaged",
        ));
    }
    let mut raw = vec![0; usize::from(u16_at(&head, 28))];
    let mut extra = vec![0; usize::from(u16_at(&head, 30))];
    let mut comment = vec![0; usize::from(u16_at(&head, 32))];
    read_exactly(reader, &mut raw)?;
    read_exactly(reader, &mut extra)?;
    read_exactly(reader, &mut comment)?;
    let mut size = u64::from(u32_at(&head, 24));
    let mut compressed = u64::from(u32_at(&head, 20));
    let mut header = u64::from(u32_at(&head, 42));
    widen_sizes(&extra, &mut [&mut size, &mut compressed, &mut header])?;
    let (flags, method) = (u16_at(&head, 8), u16_at(&head, 10));
    let name = parse_name(&raw, flags, &extra)?;
    let directory = raw.ends_with(b"/");
    check_attributes(&name, u32_at(&head, 38), directory)?;
    if u16_at(&head, 34) != 0 {
        return refuse_entry(
            Code::ARCHIVE_AMBIGUOUS,
            &name,
            "lies in another part of a split archive",
        );
    }
    let record = Record {
        entry: Entry {
            name,
            size,
            directory,
        },
        method,
        crc: u32_at(&head, 16),
        compressed,
        data: 0,
        header,
        flags,
        has_notes: !comment.is_empty() || !is_zip64_alone(&extra),
        raw,
    };
    check_limits(&record, limits)?;
    if u16_at(&head, 6) & 0xff > NEWEST {
        return refuse_version(&record.entry.name);
    }
    if flags & !(ENCRYPTED | DESCRIPTOR | UTF8 | LEVEL) != 0 {
        return refuse_entry(
            Code::ARCHIVE_AMBIGUOUS,
            &record.entry.name,
            "has unknown flags",
        );
    }
    Ok(record)
}

fn refuse_version<T>(name: &str) -> Result<T, ProofError> {
    refuse_entry(
        Code::ARCHIVE_AMBIGUOUS,
        name,
        "asks for a version of zip that does not exist",
    )
}

fn parse_name(raw: &[u8], flags: u16, extra: &[u8]) -> Result<String, ProofError> {
    let name = names::require_exact_name(raw)?;
    // Without the flag a name is in code page 437, or in whatever its writer used.
    if flags & UTF8 == 0 && !raw.is_ascii() {
        return refuse_entry(
            Code::ARCHIVE_NAME_ENCODING,
            &name,
            "does not state its encoding",
        );
    }
    check_second_opinion(extra, &name)?;
    Ok(name)
}

fn check_second_opinion(extra: &[u8], name: &str) -> Result<(), ProofError> {
    match find_second_opinion(extra)? {
        Some(what) => refuse_entry(
            Code::ARCHIVE_AMBIGUOUS,
            name,
            &format!("has {what} in an extra field"),
        ),
        None => Ok(()),
    }
}

/// Unix and DOS attributes, held against the name. Readers differ in which of them they believe of which
/// system (APPNOTE 4.4.15), so both count, whatever made the entry.
fn check_attributes(name: &str, attributes: u32, directory: bool) -> Result<(), ProofError> {
    let mode = attributes >> 16;
    match mode & 0o170_000 {
        0o120_000 => return refuse_entry(Code::ARCHIVE_LINK, name, "is a link"),
        0 | 0o100_000 | 0o040_000 => {}
        _ => return refuse_entry(Code::ARCHIVE_SPECIAL, name, "is neither file nor directory"),
    }
    if !directory && mode & 0o6000 != 0 {
        return refuse_entry(Code::ARCHIVE_SETUID, name, "is setuid or setgid");
    }
    // A reparse point, a folder: FILE_ATTRIBUTE_REPARSE_POINT and FILE_ATTRIBUTE_DIRECTORY.
    if attributes & 0x400 != 0 {
        return refuse_entry(Code::ARCHIVE_LINK, name, "is a link");
    }
    let is_called_directory = mode & 0o170_000 == 0o040_000 || attributes & 0x10 != 0;
    if is_called_directory && !directory {
        return refuse_entry(
            Code::ARCHIVE_HEADER_MISMATCH,
            name,
            "is a directory by its attributes and a file by its name",
        );
    }
    Ok(())
}

fn check_limits(record: &Record, limits: &Limits) -> Result<(), ProofError> {
    let Record {
        entry: Entry {
            name,
            size,
            directory,
        },
        compressed,
        ..
    } = record;
    if record.flags & ENCRYPTED != 0 || record.method == 99 {
        return refuse_entry(Code::ARCHIVE_ENCRYPTED, name, "is encrypted");
    }
    // Some writers deflate nothing to two bytes; that they are no more shows when they are read.
    if *directory && (*size > 0 || *compressed > 0 && record.method != 8) {
        return refuse_entry(
            Code::ARCHIVE_HEADER_MISMATCH,
            name,
            "is a directory with bytes",
        );
    }
    if record.method == 0 && size != compressed {
        return refuse_entry(
            Code::ARCHIVE_HEADER_MISMATCH,
            name,
            "is stored and has two sizes",
        );
    }
    if *size > limits.entry {
        return refuse_entry(
            Code::ARCHIVE_SIZE,
            name,
            &format!("has {size} bytes, more than {}", limits.entry),
        );
    }
    if *size > 1 << 20 && size / (*compressed).max(1) > limits.ratio {
        return refuse_entry(
            Code::ARCHIVE_RATIO,
            name,
            &format!("unpacks to more than {} times its size", limits.ratio),
        );
    }
    Ok(())
}

/// Holds the local header, and the descriptor behind the data, against the directory.
fn check_local_header<R: Read + Seek>(
    reader: &mut R,
    record: &mut Record,
    next: u64,
) -> Result<(), ProofError> {
    let name = record.entry.name.clone();
    if record.header.checked_add(30).is_none_or(|end| end > next) {
        return refuse_entry(Code::ARCHIVE_OVERLAP, &name, "overlaps another entry");
    }
    let head = read_at(reader, record.header, 30)?;
    if !head.starts_with(b"PK\x03\x04") {
        return refuse_entry(Code::ARCHIVE_CORRUPT, &name, "has no local header");
    }
    let (name_length, extra_length) = (u16_at(&head, 26), u16_at(&head, 28));
    record.data = record.header + 30 + u64::from(name_length) + u64::from(extra_length);
    let behind = record
        .data
        .checked_add(record.compressed)
        .filter(|end| *end <= next);
    let Some(behind) = behind else {
        return refuse_entry(Code::ARCHIVE_OVERLAP, &name, "overlaps another entry");
    };
    let mut raw = vec![0; usize::from(name_length)];
    let mut extra = vec![0; usize::from(extra_length)];
    read_exactly(reader, &mut raw)?;
    read_exactly(reader, &mut extra)?;
    if raw != record.raw {
        return refuse_mismatch(&name, "names");
    }
    if u16_at(&head, 8) != record.method {
        return refuse_mismatch(&name, "methods");
    }
    // How well it is compressed may be said once.
    let levels = if record.method == 8 { LEVEL } else { 0 };
    if (u16_at(&head, 6) ^ record.flags) & !levels != 0 {
        return refuse_mismatch(&name, "flags");
    }
    if u16_at(&head, 4) & 0xff > NEWEST {
        return refuse_version(&name);
    }
    let crc = u32_at(&head, 14);
    let mut size = u64::from(u32_at(&head, 22));
    let mut compressed = u64::from(u32_at(&head, 18));
    let is_wide = widen_sizes(&extra, &mut [&mut size, &mut compressed])?;
    check_second_opinion(&extra, &name)?;
    record.has_notes |= !is_zip64_alone(&extra);
    let described = record.is_described();
    // A reader from the front cannot tell where such bytes end.
    if described && record.method != 8 && !record.entry.directory {
        return refuse_entry(
            Code::ARCHIVE_AMBIGUOUS,
            &name,
            "is not deflated and has its size after its data",
        );
    }
    // A header whose descriptor follows may leave them at zero.
    if crc != record.crc && !(described && crc == 0) {
        return refuse_mismatch(&name, "checksums");
    }
    if size != record.entry.size && !(described && size == 0)
        || compressed != record.compressed && !(described && compressed == 0)
    {
        return refuse_mismatch(&name, "sizes");
    }
    if described {
        check_data_descriptor(reader, record, behind..next, is_wide)
    } else if behind == next {
        Ok(())
    } else {
        Err(hidden_data_error("bytes between two entries"))
    }
}

/// The sizes behind the data, of eight bytes where the local header has a zip64 field (APPNOTE 4.3.9.2).
fn check_data_descriptor<R: Read + Seek>(
    reader: &mut R,
    record: &Record,
    place: std::ops::Range<u64>,
    is_wide: bool,
) -> Result<(), ProofError> {
    let (plain, crc) = (if is_wide { 20 } else { 12 }, record.crc);
    let length = place.end - place.start;
    let is_signed = length == plain + 4;
    if length != plain && !is_signed {
        return Err(hidden_data_error("bytes between two entries"));
    }
    // Of a directory that is not deflated, such a reader takes the next signature for the end.
    if record.method != 8 && !is_signed {
        return refuse_entry(
            Code::ARCHIVE_AMBIGUOUS,
            &record.entry.name,
            "has sizes without signature after its data",
        );
    }
    let bytes = read_at(reader, place.start, usize::try_from(length).unwrap_or(24))?;

    let values = if is_signed { &bytes[4..] } else { &bytes };
    let found = if is_wide {
        (u32_at(values, 0), u64_at(values, 4), u64_at(values, 12))
    } else {
        (
            u32_at(values, 0),
            u64::from(u32_at(values, 4)),
            u64::from(u32_at(values, 8)),
        )
    };
    // The signature in front is optional; a checksum that looks like it would be taken for it.
    let starts_signed = bytes.starts_with(b"PK\x07\x08");
    if is_signed == starts_signed && found == (crc, record.compressed, record.entry.size) {
        return Ok(());
    }
    refuse_entry(
        Code::ARCHIVE_HEADER_MISMATCH,
        &record.entry.name,
        "has other sizes or another checksum after its data",
    )
}

fn read_exactly(reader: &mut impl Read, bytes: &mut [u8]) -> Result<(), ProofError> {
    reader
        .read_exact(bytes)
        .map_err(|error| to_proof_error(&error))
}
