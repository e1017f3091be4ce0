//! End record, central directory and local headers, each held against the others.

use std::io::{BufReader, Read, Seek, SeekFrom};

use super::super::names::{self, refuse_entry};
use super::super::read::to_proof_error;
use super::super::{Entry, Limits, ProofError};
use super::fields::{
    SATURATED, find_extra_field, u16_at, u32_at, u64_at, widen_sizes, zip64_error,
};

/// An entry whose local header says the same as the directory.
pub(super) struct Record {
    pub entry: Entry,
    pub method: u16,
    pub crc: u32,
    pub compressed: u64,
    /// Where its bytes begin.
    pub data: u64,
    header: u64,
    flags: u16,
    raw: Vec<u8>,
}

const ENCRYPTED: u16 = 1 | (1 << 6) | (1 << 13);
const DESCRIPTOR: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;

pub(super) fn read_directory<R: Read + Seek>(
    reader: &mut R,
    limits: &Limits,
) -> Result<Vec<Record>, ProofError> {
    let end = read_end_record(reader)?;
    if end.entries > limits.entries {
        let message = format!("{} entries, more than {}", end.entries, limits.entries);
        return Err(ProofError::new("archive-entries", message));
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
    Ok(records)
}

fn hidden_data_error(what: &str) -> ProofError {
    ProofError::new("archive-hidden-data", format!("the zip has {what}"))
}

fn refuse_mismatch<T>(name: &str, what: &str) -> Result<T, ProofError> {
    refuse_entry(
        "archive-header-mismatch",
        name,
        &format!("has two different {what}: in the directory and in front of it"),
    )
}

struct End {
    entries: u64,
    directory: u64,
    size: u64,
}

fn read_at<R: Read + Seek>(reader: &mut R, at: u64, length: usize) -> Result<Vec<u8>, ProofError> {
    let mut bytes = vec![0; length];
    reader
        .seek(SeekFrom::Start(at))
        .map_err(|error| to_proof_error(&error))?;
    reader
        .read_exact(&mut bytes)
        .map_err(|error| to_proof_error(&error))?;
    Ok(bytes)
}

fn read_end_record<R: Read + Seek>(reader: &mut R) -> Result<End, ProofError> {
    let length = reader
        .seek(SeekFrom::End(0))
        .map_err(|error| to_proof_error(&error))?;
    let tail_length = usize::try_from(length.min(22 + 0xffff)).unwrap_or(22 + 0xffff);
    let tail_start = length - tail_length as u64;
    let tail = read_at(reader, tail_start, tail_length)?;
    let candidates: Vec<(usize, usize)> = (0..tail.len().saturating_sub(21))
        .filter(|at| tail[*at..].starts_with(b"PK\x05\x06"))
        .map(|at| (at, at + 22 + usize::from(u16_at(&tail, at + 20))))
        .collect();
    let fitting: Vec<usize> = candidates
        .iter()
        .filter(|(_, end)| *end == tail.len())
        .map(|(at, _)| *at)
        .collect();
    let at = match (fitting.as_slice(), candidates.as_slice()) {
        ([at], _) => *at,
        ([], candidates) if candidates.iter().any(|(_, end)| *end < tail.len()) => {
            return Err(ProofError::new(
                "archive-trailing-data",
                "bytes follow the end of the zip",
            ));
        }
        ([], _) => {
            return Err(ProofError::new(
                "archive-truncated",
                "the zip has no end record",
            ));
        }
        _ => {
            return Err(ProofError::new(
                "archive-ambiguous",
                "the zip has two end records",
            ));
        }
    };
    let record = &tail[at..];
    let position = tail_start + at as u64;
    let narrow = [
        u64::from(u16_at(record, 8)),
        u64::from(u16_at(record, 10)),
        u64::from(u32_at(record, 12)),
        u64::from(u32_at(record, 16)),
    ];
    let disks = u16_at(record, 4) | u16_at(record, 6);
    if disks != 0 && disks != 0xffff {
        return Err(ProofError::new(
            "archive-ambiguous",
            "the zip is a part of a split archive",
        ));
    }
    let (values, position) = match read_zip64_end(reader, position, narrow)? {
        Some(wide) => wide,
        None => (narrow, position),
    };
    let [here, entries, size, directory] = values;
    if here != entries {
        return Err(ProofError::new(
            "archive-ambiguous",
            "the zip is a part of a split archive",
        ));
    }
    match directory.checked_add(size) {
        Some(found) if found == position => Ok(End {
            entries,
            directory,
            size,
        }),
        Some(found) if found < position => Err(hidden_data_error("bytes behind the directory")),
        _ => Err(ProofError::new(
            "archive-truncated",
            "the zip's directory reaches beyond its end",
        )),
    }
}

type Wide = ([u64; 4], u64);

/// The zip64 end record, where there is one; it must not contradict the plain one.
fn read_zip64_end<R: Read + Seek>(
    reader: &mut R,
    position: u64,
    narrow: [u64; 4],
) -> Result<Option<Wide>, ProofError> {
    let [_, entries, size, directory] = narrow;
    let saturated = entries == 0xffff || size == SATURATED || directory == SATURATED;
    let locator = match position.checked_sub(20) {
        Some(at) => read_at(reader, at, 20)?,
        None => Vec::new(),
    };
    if !locator.starts_with(b"PK\x06\x07") {
        return if saturated {
            Err(zip64_error("the zip64 end record is missing"))
        } else {
            Ok(None)
        };
    }
    let at = u64_at(&locator, 8);
    if at.checked_add(56).is_none_or(|end| end > position - 20) {
        return Err(zip64_error("the zip64 end record lies beyond the end"));
    }
    let record = read_at(reader, at, 56)?;
    let fits = u64_at(&record, 4).checked_add(at + 12) == Some(position - 20);
    if !record.starts_with(b"PK\x06\x06") || !fits || u32_at(&record, 16) | u32_at(&record, 20) != 0
    {
        return Err(zip64_error("the zip64 end record is damaged"));
    }
    let wide = [
        u64_at(&record, 24),
        u64_at(&record, 32),
        u64_at(&record, 40),
        u64_at(&record, 48),
    ];
    let rooms = [0xffff, 0xffff, SATURATED, SATURATED];
    for ((wide, narrow), room) in wide.iter().zip(narrow).zip(rooms) {
        if narrow != room && narrow != *wide {
            return Err(zip64_error("the two end records contradict each other"));
        }
    }
    Ok(Some((wide, at)))
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
            "archive-ambiguous",
            "the zip's directory has more entries than its header states",
        )),
        Err(error) => Err(to_proof_error(&error)),
    }
}

fn read_central_header(reader: &mut impl Read, limits: &Limits) -> Result<Record, ProofError> {
    let mut head = [0; 46];
    let mut take = |bytes: &mut [u8]| {
        reader
            .read_exact(bytes)
            .map_err(|error| to_proof_error(&error))
    };
    take(&mut head)?;
    if !head.starts_with(b"PK\x01\x02") {
        return Err(ProofError::new(
            "archive-corrupt",
            "the zip's directory is damaged",
        ));
    }
    let mut raw = vec![0; usize::from(u16_at(&head, 28))];
    let mut extra = vec![0; usize::from(u16_at(&head, 30))];
    let mut comment = vec![0; usize::from(u16_at(&head, 32))];
    take(&mut raw)?;
    take(&mut extra)?;
    take(&mut comment)?;
    let mut size = u64::from(u32_at(&head, 24));
    let mut compressed = u64::from(u32_at(&head, 20));
    let mut header = u64::from(u32_at(&head, 42));
    widen_sizes(&extra, &mut [&mut size, &mut compressed, &mut header])?;
    let (flags, method) = (u16_at(&head, 8), u16_at(&head, 10));
    let name = parse_name(&raw, flags, &extra, limits)?;
    let directory = raw.ends_with(b"/");
    check_attributes(&name, u16_at(&head, 4), u32_at(&head, 38), directory)?;
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
        raw,
    };
    check_limits(&record, limits)?;
    Ok(record)
}

fn parse_name(raw: &[u8], flags: u16, extra: &[u8], limits: &Limits) -> Result<String, ProofError> {
    let name = names::normalize_name(raw, limits)?;
    // Without the flag a name is in code page 437, or in whatever its writer used.
    if flags & UTF8 == 0 && !raw.is_ascii() {
        return refuse_entry(
            "archive-name-encoding",
            &name,
            "does not state its encoding",
        );
    }
    check_second_name(extra, &name)?;
    if name.is_empty() && !raw.ends_with(b"/") {
        return refuse_entry("archive-name-traversal", &name, "is not a file name");
    }
    Ok(name)
}

/// Info-ZIP's second name (APPNOTE 4.6.9), which some readers use and others do not.
fn check_second_name(extra: &[u8], name: &str) -> Result<(), ProofError> {
    match find_extra_field(extra, 0x7075)? {
        Some(_) => refuse_entry(
            "archive-ambiguous",
            name,
            "has a second name in an extra field",
        ),
        None => Ok(()),
    }
}

/// What Unix and DOS attributes say, held against the name.
fn check_attributes(
    name: &str,
    made_by: u16,
    attributes: u32,
    directory: bool,
) -> Result<(), ProofError> {
    // 3 is Unix, 19 macOS.
    if matches!(made_by >> 8, 3 | 19) {
        let mode = attributes >> 16;
        match mode & 0o170_000 {
            0o120_000 => return refuse_entry("archive-link", name, "is a link"),
            0 | 0o100_000 | 0o040_000 => {}
            _ => return refuse_entry("archive-special", name, "is neither file nor directory"),
        }
        if mode & 0o170_000 == 0o040_000 && !directory {
            return refuse_entry(
                "archive-header-mismatch",
                name,
                "is a directory by its mode and a file by its name",
            );
        }
        if !directory && mode & 0o6000 != 0 {
            return refuse_entry("archive-setuid", name, "is setuid or setgid");
        }
    }
    // 0x400: a reparse point of Windows.
    if attributes & 0x400 != 0 && matches!(made_by >> 8, 0 | 10) {
        return refuse_entry("archive-link", name, "is a link");
    }
    if attributes & 0x10 != 0 && !directory {
        return refuse_entry(
            "archive-header-mismatch",
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
        return refuse_entry("archive-encrypted", name, "is encrypted");
    }
    if *directory && *size > 0 {
        return refuse_entry("archive-header-mismatch", name, "is a directory with bytes");
    }
    if record.method == 0 && size != compressed {
        return refuse_entry(
            "archive-header-mismatch",
            name,
            "is stored and has two sizes",
        );
    }
    if *size > limits.entry {
        return refuse_entry(
            "archive-size",
            name,
            &format!("has {size} bytes, more than {}", limits.entry),
        );
    }
    if *size > 1 << 20 && size / (*compressed).max(1) > limits.ratio {
        return refuse_entry(
            "archive-ratio",
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
        return refuse_entry("archive-overlap", &name, "overlaps another entry");
    }
    let head = read_at(reader, record.header, 30)?;
    if !head.starts_with(b"PK\x03\x04") {
        return refuse_entry("archive-corrupt", &name, "has no local header");
    }
    let (name_length, extra_length) = (u16_at(&head, 26), u16_at(&head, 28));
    record.data = record.header + 30 + u64::from(name_length) + u64::from(extra_length);
    let behind = record
        .data
        .checked_add(record.compressed)
        .filter(|end| *end <= next);
    let Some(behind) = behind else {
        return refuse_entry("archive-overlap", &name, "overlaps another entry");
    };
    let mut raw = vec![0; usize::from(name_length)];
    let mut extra = vec![0; usize::from(extra_length)];
    reader
        .read_exact(&mut raw)
        .map_err(|error| to_proof_error(&error))?;
    reader
        .read_exact(&mut extra)
        .map_err(|error| to_proof_error(&error))?;
    if raw != record.raw {
        return refuse_mismatch(&name, "names");
    }
    if u16_at(&head, 8) != record.method {
        return refuse_mismatch(&name, "methods");
    }
    if (u16_at(&head, 6) ^ record.flags) & (ENCRYPTED | DESCRIPTOR | UTF8) != 0 {
        return refuse_mismatch(&name, "flags");
    }
    let crc = u32_at(&head, 14);
    let mut size = u64::from(u32_at(&head, 22));
    let mut compressed = u64::from(u32_at(&head, 18));
    widen_sizes(&extra, &mut [&mut size, &mut compressed])?;
    check_second_name(&extra, &name)?;
    let described = record.flags & DESCRIPTOR != 0;
    // A reader from the front cannot tell where such bytes end.
    if described && record.method == 0 && !record.entry.directory {
        return refuse_entry(
            "archive-ambiguous",
            &name,
            "is stored with its size after its data",
        );
    }
    let same = |local: u64, central: u64| local == central || (described && local == 0);
    if !same(u64::from(crc), u64::from(record.crc)) {
        return refuse_mismatch(&name, "checksums");
    }
    if !same(size, record.entry.size) || !same(compressed, record.compressed) {
        return refuse_mismatch(&name, "sizes");
    }
    if described {
        check_data_descriptor(reader, record, behind, next)
    } else if behind == next {
        Ok(())
    } else {
        Err(hidden_data_error("bytes between two entries"))
    }
}

fn check_data_descriptor<R: Read + Seek>(
    reader: &mut R,
    record: &Record,
    at: u64,
    next: u64,
) -> Result<(), ProofError> {
    let length = next - at;
    if !matches!(length, 12 | 16 | 20 | 24) {
        return Err(hidden_data_error("bytes between two entries"));
    }
    let bytes = read_at(reader, at, usize::try_from(length).unwrap_or(24))?;
    // The signature in front is optional.
    let values = if length.is_multiple_of(8) {
        bytes.strip_prefix(b"PK\x07\x08")
    } else {
        Some(bytes.as_slice())
    };
    let found = values.map(|values| match values.len() {
        12 => (
            u32_at(values, 0),
            u64::from(u32_at(values, 4)),
            u64::from(u32_at(values, 8)),
        ),
        _ => (u32_at(values, 0), u64_at(values, 4), u64_at(values, 12)),
    });
    if found == Some((record.crc, record.compressed, record.entry.size)) {
        return Ok(());
    }
    refuse_entry(
        "archive-header-mismatch",
        &record.entry.name,
        "has other sizes or another checksum after its data",
    )
}
