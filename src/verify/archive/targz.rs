//! tar inside one gzip member: ustar, PAX and GNU long names; regular files and directories.

use std::io::{self, BufRead as _, BufReader, Read};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use tar::{EntryType, Header};

use super::names::{self, escape_name, refuse_entry};
use super::read::{fill_buffer, into_io_error, to_proof_error, visit_member};
use super::{Entry, Limits, ProofError, Visit, Walked, Wanted};

const BLOCK: usize = 512;

pub(super) fn walk_tar<R: Read>(
    reader: R,
    wanted: &Wanted,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<Walked, ProofError> {
    let mut gzip = Gzip::open(reader, limits).map_err(|error| to_proof_error(&error))?;
    let mut walked = Walked {
        entries: Vec::new(),
        digests: Vec::new(),
    };
    let mut extended = Extended::default();
    let mut headers = 0;
    while let Some(header) = read_header(&mut gzip)? {
        headers += 1;
        // Headers that only describe the next one are work, too.
        if headers > limits.entries.saturating_mul(3)
            || walked.entries.len() as u64 >= limits.entries
        {
            return Err(ProofError::new(
                "archive-entries",
                format!("more than {} entries", limits.entries),
            ));
        }
        let size = header
            .entry_size()
            .map_err(|_| corrupt_tar_error("a size"))?;
        if extended.read_extension(&mut gzip, &header, size)? {
            continue;
        }
        let entry = build_entry(&header, size, &mut extended, limits)?;
        if wanted.includes_entry(&entry)? {
            let (digest, _) = visit_member(&entry, gzip.by_ref().take(size), None, visit)?;
            walked.digests.push(digest);
        } else {
            skip_bytes(&mut gzip, size)?;
        }
        skip_bytes(&mut gzip, compute_padding(size))?;
        walked.entries.push(entry);
    }
    if !extended.is_empty() {
        return Err(corrupt_tar_error("no entry follows a long name"));
    }
    gzip.finish().map_err(|error| to_proof_error(&error))?;
    names::check_collisions(&walked.entries)?;
    walked.entries.retain(|entry| !entry.name.is_empty());
    wanted.check_complete(&walked.entries)?;
    Ok(walked)
}

fn corrupt_tar_error(what: &str) -> ProofError {
    ProofError::new("archive-corrupt", format!("the tar is damaged: {what}"))
}

fn compute_padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK as u64) - size
}

fn skip_bytes<R: Read>(reader: &mut R, size: u64) -> Result<(), ProofError> {
    let copied = io::copy(&mut reader.take(size), &mut io::sink())
        .map_err(|error| to_proof_error(&error))?;
    if copied == size {
        Ok(())
    } else {
        Err(ProofError::new(
            "archive-truncated",
            "the tar ends within an entry",
        ))
    }
}

/// The next header; none at the end, which two blocks of zeros mark.
fn read_header(gzip: &mut impl Read) -> Result<Option<Header>, ProofError> {
    let mut block = [0; BLOCK];
    let mut zeros = 0;
    loop {
        if fill_buffer(gzip, &mut block).map_err(|error| to_proof_error(&error))? < BLOCK {
            return Err(ProofError::new(
                "archive-truncated",
                "the tar has no end marker",
            ));
        }
        if block.iter().any(|byte| *byte != 0) {
            break;
        }
        zeros += 1;
        if zeros == 2 {
            return Ok(None);
        }
    }
    if zeros > 0 {
        return Err(ProofError::new(
            "archive-trailing-data",
            "entries follow the tar's end marker",
        ));
    }
    let header = Header::from_byte_slice(&block).clone();
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| {
            if (148..156).contains(&at) {
                u32::from(b' ')
            } else {
                u32::from(*byte)
            }
        })
        .sum();
    if header.cksum().ok() != Some(sum) {
        return Err(ProofError::new(
            "archive-checksum",
            "a tar header's checksum is wrong",
        ));
    }
    Ok(Some(header))
}

fn build_entry(
    header: &Header,
    size: u64,
    extended: &mut Extended,
    limits: &Limits,
) -> Result<Entry, ProofError> {
    let raw = extended
        .name
        .take()
        .unwrap_or_else(|| header.path_bytes().into_owned());
    let declared = std::mem::take(&mut extended.size);
    extended.link = false;
    let name = names::normalize_name(&raw, limits)?;
    let kind = header.entry_type();
    match kind {
        EntryType::Regular | EntryType::Directory => {}
        EntryType::Link | EntryType::Symlink => {
            return refuse_entry("archive-link", &name, "is a link");
        }
        EntryType::GNUSparse => return refuse_entry("archive-sparse", &name, "is a sparse file"),
        _ => return refuse_entry("archive-special", &name, "is neither file nor directory"),
    }
    if declared.is_some_and(|declared| declared != size) {
        return refuse_entry("archive-header-mismatch", &name, "has two sizes");
    }
    let directory = kind.is_dir() || raw.ends_with(b"/");
    if name.is_empty() && !directory {
        return refuse_entry(
            "archive-name-traversal",
            &String::from_utf8_lossy(&raw),
            "is not a file name",
        );
    }
    if directory && size > 0 {
        return refuse_entry(
            "archive-header-mismatch",
            &name,
            "is a directory with bytes",
        );
    }
    if size > limits.entry {
        return refuse_entry(
            "archive-size",
            &name,
            &format!("has {size} bytes, more than {}", limits.entry),
        );
    }
    let mode = header.mode().map_err(|_| corrupt_tar_error("a mode"))?;
    if !directory && mode & 0o6000 != 0 {
        return refuse_entry("archive-setuid", &name, "is setuid or setgid");
    }
    Ok(Entry {
        name,
        size,
        directory,
    })
}

/// What headers of their own say of the next entry.
#[derive(Default)]
struct Extended {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    link: bool,
}

/// Bytes of a long name or of PAX records.
const EXTENDED: u64 = 64 * 1024;

impl Extended {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.size.is_none() && !self.link
    }

    /// Whether the header is of that kind; then its content is taken in.
    fn read_extension(
        &mut self,
        gzip: &mut impl Read,
        header: &Header,
        size: u64,
    ) -> Result<bool, ProofError> {
        let kind = header.entry_type();
        let global = kind.is_pax_global_extensions();
        if !(kind.is_gnu_longname()
            || kind.is_gnu_longlink()
            || kind.is_pax_local_extensions()
            || global)
        {
            return Ok(false);
        }
        if size > EXTENDED {
            let message = format!("the name or the records of an entry have {size} bytes");
            return Err(ProofError::new("archive-name-length", message));
        }
        let mut content = Vec::new();
        gzip.take(size)
            .read_to_end(&mut content)
            .map_err(|error| to_proof_error(&error))?;
        if content.len() as u64 != size {
            return Err(ProofError::new(
                "archive-truncated",
                "the tar ends within a name",
            ));
        }
        skip_bytes(gzip, compute_padding(size))?;
        if kind.is_gnu_longlink() {
            self.link = true;
        } else if kind.is_gnu_longname() {
            let end = content
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(content.len());
            content.truncate(end);
            self.set_name(content)?;
        } else {
            self.parse_records(&content, global)?;
        }
        Ok(true)
    }

    fn set_name(&mut self, name: Vec<u8>) -> Result<(), ProofError> {
        if self.name.replace(name).is_some() {
            return Err(ProofError::new(
                "archive-header-mismatch",
                "an entry has two long names",
            ));
        }
        Ok(())
    }

    /// `LENGTH KEY=VALUE\n`, LENGTH counting all of it.
    fn parse_records(&mut self, content: &[u8], global: bool) -> Result<(), ProofError> {
        let mut rest = content;
        while !rest.is_empty() {
            let (record, behind) =
                split_record(rest).ok_or_else(|| corrupt_tar_error("PAX records"))?;
            rest = behind;
            let equals = record
                .iter()
                .position(|byte| *byte == b'=')
                .ok_or_else(|| corrupt_tar_error("PAX records"))?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            if key.starts_with(b"GNU.sparse.") {
                return Err(ProofError::new(
                    "archive-sparse",
                    "an entry is a sparse file",
                ));
            }
            // star's size of what is unpacked: other readers go by the size in the header.
            if key == b"SCHILY.realsize" {
                return Err(ProofError::new(
                    "archive-ambiguous",
                    "an entry has a second size",
                ));
            }
            if global && matches!(key, b"path" | b"size" | b"linkpath") {
                let key = escape_name(&String::from_utf8_lossy(key));
                let message = format!("a global record sets `{key}` of all entries");
                return Err(ProofError::new("archive-header-mismatch", message));
            }
            match key {
                b"path" => self.set_name(value.to_vec())?,
                b"linkpath" => self.link = true,
                b"size" => {
                    let size = std::str::from_utf8(value)
                        .ok()
                        .and_then(|text| text.parse().ok());
                    let size = size.ok_or_else(|| corrupt_tar_error("a size"))?;
                    if self.size.replace(size).is_some() {
                        return Err(ProofError::new(
                            "archive-header-mismatch",
                            "an entry has two sizes",
                        ));
                    }
                }
                // Times, owners and comments.
                _ => {}
            }
        }
        Ok(())
    }
}

fn split_record(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let blank = content.iter().take(8).position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&content[..blank]).ok()?.parse().ok()?;
    let record = content.get(blank + 1..length)?;
    Some((record.strip_suffix(b"\n")?, &content[length..]))
}

/// The content of a gzip file that is one member and nothing else.
struct Gzip<R: Read> {
    inner: DeflateDecoder<BufReader<Counted<R>>>,
    crc: Crc,
    produced: u64,
    total: u64,
    ratio: u64,
    ended: bool,
}

impl<R: Read> Gzip<R> {
    fn open(reader: R, limits: &Limits) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(
            64 * 1024,
            Counted {
                inner: reader,
                count: 0,
            },
        );
        let mut head = [0; 10];
        reader.read_exact(&mut head)?;
        let flags = head[3];
        if head[2] != 8 || flags & 0xe0 != 0 {
            return Err(into_io_error(ProofError::new(
                "archive-method",
                "the gzip file uses an unknown compression method",
            )));
        }
        if flags & 4 != 0 {
            let mut length = [0; 2];
            reader.read_exact(&mut length)?;
            reader.read_exact(&mut vec![0; usize::from(u16::from_le_bytes(length))])?;
        }
        // Name and comment.
        for flag in [8, 16] {
            if flags & flag != 0 {
                let mut text = Vec::new();
                reader.by_ref().take(4096).read_until(0, &mut text)?;
                if text.last() != Some(&0) {
                    return Err(into_io_error(ProofError::new(
                        "archive-corrupt",
                        "the gzip header is truncated",
                    )));
                }
            }
        }
        if flags & 2 != 0 {
            reader.read_exact(&mut [0; 2])?;
        }
        Ok(Self {
            inner: DeflateDecoder::new(reader),
            crc: Crc::new(),
            produced: 0,
            total: limits.total,
            ratio: limits.ratio,
            ended: false,
        })
    }

    fn read_trailer(&mut self) -> io::Result<()> {
        self.ended = true;
        let reader = self.inner.get_mut();
        let mut trailer = [0; 8];
        reader.read_exact(&mut trailer)?;
        let (crc, length) = trailer.split_at(4);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "gzip keeps the size modulo 2^32"
        )]
        let size = self.produced as u32;
        if crc != self.crc.sum().to_le_bytes() || length != size.to_le_bytes() {
            return Err(into_io_error(ProofError::new(
                "archive-checksum",
                "the gzip file's checksum is wrong",
            )));
        }
        let behind = reader.fill_buf()?;
        if behind.starts_with(b"\x1f\x8b") {
            return Err(into_io_error(ProofError::new(
                "archive-gzip-members",
                "another gzip member follows the first",
            )));
        }
        if !behind.is_empty() {
            return Err(into_io_error(ProofError::new(
                "archive-trailing-data",
                "bytes follow the end of the gzip file",
            )));
        }
        Ok(())
    }

    /// Behind the tar's end only zeros may follow.
    fn finish(mut self) -> io::Result<()> {
        let mut rest = [0; 4096];
        loop {
            let count = fill_buffer(&mut self, &mut rest)?;
            if rest[..count].iter().any(|byte| *byte != 0) {
                return Err(into_io_error(ProofError::new(
                    "archive-trailing-data",
                    "bytes follow the end of the tar",
                )));
            }
            if count < rest.len() {
                return Ok(());
            }
        }
    }
}

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        let count = self.inner.read(buffer)?;
        self.crc.update(&buffer[..count]);
        self.produced += count as u64;
        if count == 0 {
            self.read_trailer()?;
        }
        if self.produced > self.total {
            return Err(into_io_error(ProofError::new(
                "archive-size",
                format!("more than {} bytes in all", self.total),
            )));
        }
        let compressed = self.inner.get_ref().get_ref().count;
        if self.produced > 1 << 20 && self.produced / compressed.max(1) > self.ratio {
            let message = format!(
                "{compressed} bytes unpack to more than {} times as many",
                self.ratio
            );
            return Err(into_io_error(ProofError::new("archive-ratio", message)));
        }
        Ok(count)
    }
}

struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}
