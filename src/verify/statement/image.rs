//! Sections and the resource directory of a PE image, as far as statements need them.

use super::read_at;
use crate::verify::authenticode::ReadSeek;

/// A section: where it lies in memory and in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageSection {
    address: u64,
    raw: u64,
    pub size: u64,
    flags: u32,
}

/// Sections and the resource directory's address.
#[derive(Debug)]
pub(super) struct ProgramImage {
    sections: Vec<ImageSection>,
    pub resources: Option<u64>,
}

/// PE format, "Section Flags": IMAGE_SCN_CNT_INITIALIZED_DATA, IMAGE_SCN_MEM_READ and IMAGE_SCN_MEM_WRITE.
const DATA: u32 = 0xc000_0040;
/// PE format, "Optional Header Data Directories": the resource table is the third.
const RESOURCES: usize = 2;
/// Windows loads no image with more sections (PE format, "COFF File Header").
const MOST_SECTIONS: usize = 96;

impl ProgramImage {
    /// None where the file is no PE image.
    pub(super) fn read(source: &mut dyn ReadSeek) -> std::io::Result<Option<Self>> {
        let dos = read_at(source, 0, 64)?;
        let Some(start) = u32_at(&dos, 0x3c).filter(|_| dos.starts_with(b"MZ")) else {
            return Ok(None);
        };
        let header = read_at(source, u64::from(start), 24 + 0x1000)?;
        Ok(parse_header(&header))
    }

    /// The place in the file of an address in memory.
    pub(super) fn locate(&self, address: u64) -> Option<u64> {
        self.sections.iter().find_map(|section| {
            let offset = address.checked_sub(section.address)?;
            (offset < section.size).then_some(section.raw + offset)
        })
    }

    /// Where initialised data begins in the file, and its size: the first section that may be written.
    pub(super) fn find_data(&self) -> Option<(u64, u64)> {
        let mut sections = self.sections.iter();
        let section = sections.find(|section| section.flags & DATA == DATA)?;
        Some((section.raw, section.size))
    }
}

/// From `PE\0\0` on.
fn parse_header(header: &[u8]) -> Option<ProgramImage> {
    if !header.starts_with(b"PE\0\0") {
        return None;
    }
    let count = usize::from(u16_at(header, 6)?).min(MOST_SECTIONS);
    let optional = usize::from(u16_at(header, 20)?);
    let directories = match u16_at(header, 24)? {
        0x10b => 24 + 96,
        0x20b => 24 + 112,
        _ => return None,
    };
    let entry = directories + RESOURCES * 8;
    let listed = u32_at(header, directories - 4)? as usize > RESOURCES;
    let resources = u32_at(header, entry)
        .filter(|address| *address != 0 && listed && optional + 24 >= entry + 8)
        .map(u64::from);
    let table = header.get(24 + optional..)?;
    let sections = table.chunks_exact(40).take(count).filter_map(parse_section);
    Some(ProgramImage {
        sections: sections.collect(),
        resources,
    })
}

fn parse_section(row: &[u8]) -> Option<ImageSection> {
    Some(ImageSection {
        address: u32_at(row, 12)?.into(),
        size: u32_at(row, 16)?.into(),
        raw: u32_at(row, 20)?.into(),
        flags: u32_at(row, 36)?,
    })
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let part = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(part.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let part = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(part.try_into().ok()?))
}
