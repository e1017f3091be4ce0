//! Whether a compound file is laid out as [MS-CFB] demands, where readers could see different files otherwise: counts
//! of the header, the root's entry, names and times of entries. The digest is over contents; which contents a reader
//! finds is decided here.
//!
//! [MS-CFB]: https://learn.microsoft.com/openspecs/windows_protocols/ms-cfb/

use super::super::fault::Fault;
use super::super::source::{ReadSeek, measure_length, read_at, u16_at, u32_at};
use super::{LIMIT, compound_fault};
use crate::base::code::Code;

/// Sector numbers of [MS-CFB] 2.1.
const LAST_REGULAR: u32 = 0xffff_fffa;
const END_OF_CHAIN: u32 = 0xffff_fffe;
const FREE: u32 = 0xffff_ffff;

/// Places in the header, [MS-CFB] 2.2.
const VERSION: usize = 0x1a;
const DIRECTORY_SECTORS: usize = 0x28;
const FAT_SECTORS: usize = 0x2c;
const FIRST_DIRECTORY: usize = 0x30;
const FIRST_MINI_FAT: usize = 0x3c;
const MINI_FAT_SECTORS: usize = 0x40;
const FIRST_DIFAT: usize = 0x44;
const DIFAT_SECTORS: usize = 0x48;
const DIFAT: usize = 0x4c;

/// Bytes of a directory entry, [MS-CFB] 2.6.1.
const ENTRY: usize = 128;

struct MsiLayout<'a> {
    source: &'a mut dyn ReadSeek,
    header: Vec<u8>,
    sector: u64,
    fat: Vec<u32>,
}

/// # Errors
/// The file contradicts itself, or has what [MS-CFB] forbids.
pub(super) fn check_layout(source: &mut dyn ReadSeek) -> Result<(), Fault> {
    let header = read_at(source, 0, 512)?;
    if header.len() < 512 {
        return Err(compound_fault("its header is truncated"));
    }
    let sector = if u16_at(&header, VERSION) == Some(4) {
        4096
    } else {
        512
    };
    let mut layout = MsiLayout {
        source,
        header,
        sector,
        fat: Vec::new(),
    };
    layout.check_header()?;
    layout.read_fat()?;
    layout.check_end()?;
    let directory = layout.follow_chain(layout.word(FIRST_DIRECTORY))?;
    let expected = if sector == 512 { 0 } else { directory.len() };
    layout.check_count(DIRECTORY_SECTORS, expected, "directory")?;
    let mini = layout.follow_chain(layout.word(FIRST_MINI_FAT))?;
    layout.check_count(MINI_FAT_SECTORS, mini.len(), "mini FAT")?;
    for (index, number) in directory.iter().enumerate() {
        let entries = layout.read_sector(*number)?;
        for (at, entry) in entries.chunks_exact(ENTRY).enumerate() {
            layout.check_entry(entry, index == 0 && at == 0)?;
        }
    }
    Ok(())
}

impl MsiLayout<'_> {
    fn word(&self, at: usize) -> u32 {
        u32_at(&self.header, at).unwrap_or(FREE)
    }

    fn check_header(&self) -> Result<(), Fault> {
        // The class id and the reserved bytes "MUST be set to all zeroes".
        if self.header[8..24]
            .iter()
            .chain(&self.header[0x22..0x28])
            .any(|byte| *byte != 0)
        {
            return Err(compound_fault("reserved bytes of its header are used"));
        }
        Ok(())
    }

    fn check_count(&self, at: usize, found: usize, what: &str) -> Result<(), Fault> {
        if usize::try_from(self.word(at)).is_ok_and(|stated| stated == found) {
            return Ok(());
        }
        Err(compound_fault(&format!(
            "its header states {} sectors of {what}, found {found}",
            self.word(at)
        )))
    }

    fn read_sector(&mut self, number: u32) -> Result<Vec<u8>, Fault> {
        let bytes = read_at(
            self.source,
            (u64::from(number) + 1) * self.sector,
            self.sector,
        )?;
        // The last sector of a file may be cut.
        if bytes.is_empty() {
            Err(compound_fault("a sector is beyond its end"))
        } else {
            Ok(bytes)
        }
    }

    /// The FAT's sectors stand in the header, then in a chain of their own.
    fn read_fat(&mut self) -> Result<(), Fault> {
        let mut numbers = words(&self.header[DIFAT..]);
        let (mut next, mut sectors) = (self.word(FIRST_DIFAT), 0);
        while next <= LAST_REGULAR {
            let mut more = words(&self.read_sector(next)?);
            next = more.pop().unwrap_or(END_OF_CHAIN);
            numbers.extend(more);
            sectors += 1;
            self.check_size(numbers.len())?;
        }
        self.check_count(DIFAT_SECTORS, sectors, "DIFAT")?;
        let used = numbers
            .iter()
            .take_while(|number| **number <= LAST_REGULAR)
            .count();
        if numbers[used..].iter().any(|number| *number != FREE) {
            return Err(compound_fault("its list of FAT sectors has gaps"));
        }
        self.check_count(FAT_SECTORS, used, "FAT")?;
        for number in &numbers[..used] {
            let sector = self.read_sector(*number)?;
            self.fat.extend(words(&sector));
        }
        Ok(())
    }

    /// The file ends with a sector in use: behind it, readers of other formats look for theirs (CVE-2020-1464).
    fn check_end(&mut self) -> Result<(), Fault> {
        let sectors = measure_length(self.source)?.div_ceil(self.sector) - 1;
        let used = self.fat.iter().rposition(|next| *next != FREE);
        if used.is_some_and(|last| last as u64 + 1 == sectors) {
            return Ok(());
        }
        Err(compound_fault(
            "bytes follow its last sector, or its last sector is absent",
        ))
    }

    fn check_size(&self, sectors: usize) -> Result<(), Fault> {
        if sectors as u64 * self.sector <= LIMIT {
            return Ok(());
        }
        Err(Code::TOO_LARGE.with_message("the file's tables are larger than the limit"))
    }

    fn follow_chain(&self, first: u32) -> Result<Vec<u32>, Fault> {
        let mut chain = Vec::new();
        let mut next = first;
        while next <= LAST_REGULAR {
            if chain.len() >= self.fat.len() {
                return Err(compound_fault("a chain of sectors is a loop"));
            }
            chain.push(next);
            self.check_size(chain.len())?;
            let following = usize::try_from(next).ok().and_then(|at| self.fat.get(at));
            next = *following.ok_or_else(|| compound_fault("a chain of sectors leaves the FAT"))?;
        }
        if next == END_OF_CHAIN {
            Ok(chain)
        } else {
            Err(compound_fault("a chain of sectors has no end"))
        }
    }

    fn check_entry(&self, entry: &[u8], is_first: bool) -> Result<(), Fault> {
        let kind = entry[0x42];
        if is_first != (kind == 5) {
            return Err(compound_fault(
                "its first entry, and no other, must be the root",
            ));
        }
        // Unallocated.
        if kind == 0 {
            return Ok(());
        }
        let length = usize::from(u16_at(entry, 0x40).unwrap_or_default());
        if !(2..=64).contains(&length) || length % 2 != 0 || entry[length - 2..length] != [0, 0] {
            return Err(compound_fault("the name of an entry is not terminated"));
        }
        let root: Vec<u8> = "Root Entry\0"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        if is_first && entry[..length] != root[..] {
            return Err(compound_fault(
                "its root does not have the name `Root Entry`",
            ));
        }
        // Creation time of a root; both times of a stream.
        let times = if kind == 2 { 0x64..0x74 } else { 0x64..0x6c };
        if kind != 1 && entry[times].iter().any(|byte| *byte != 0) {
            return Err(compound_fault(
                "a stream or the root has a time, which the format forbids",
            ));
        }
        if is_first {
            self.check_mini_stream(entry)
        } else {
            Ok(())
        }
    }

    /// The root's stream holds the small streams: its chain has its size.
    fn check_mini_stream(&self, root: &[u8]) -> Result<(), Fault> {
        let size = u64::from(u32_at(root, 0x78).unwrap_or_default());
        let first = u32_at(root, 0x74).unwrap_or(END_OF_CHAIN);
        let chain = if size == 0 && first == 0 {
            Vec::new()
        } else {
            self.follow_chain(first)?
        };
        if size.div_ceil(self.sector) == chain.len() as u64 && size.is_multiple_of(64) {
            return Ok(());
        }
        Err(compound_fault(
            "the stream of small streams has another size than its sectors",
        ))
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect()
}
