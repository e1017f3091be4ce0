//! The version resource of a PE image: VS_VERSIONINFO (Windows' "Version Information Structures").

use super::image::{ProgramImage, u16_at, u32_at};
use super::{keep_versions, read_at};
use crate::verify::authenticode::ReadSeek;

/// RT_VERSION, the type of the resource (Windows' "Resource Types").
const VERSION_TYPE: u32 = 16;
/// VS_FIXEDFILEINFO begins with it.
const FIXED_SIGNATURE: u32 = 0xfeef_04bd;
/// Names and languages that are looked at, and bytes of one resource: real ones have one of 2 KiB.
const MOST_ENTRIES: usize = 16;
const LARGEST: u64 = 1 << 16;

type NamesAndVersions = (Vec<String>, Vec<String>);

/// Names and versions; empty where there is no such resource.
pub(super) fn read_version_resource(
    source: &mut dyn ReadSeek,
    image: &ProgramImage,
) -> std::io::Result<NamesAndVersions> {
    let (mut names, mut versions) = NamesAndVersions::default();
    for (address, size) in find_resources(source, image)? {
        let Some(place) = image.locate(address) else {
            continue;
        };
        let bytes = read_at(source, place, size.min(LARGEST))?;
        collect_strings(&bytes, &mut names, &mut versions);
    }
    names.dedup();
    Ok((names, keep_versions(versions)))
}

/// Address and size of each version resource: type, name and language are three levels of directories.
fn find_resources(
    source: &mut dyn ReadSeek,
    image: &ProgramImage,
) -> std::io::Result<Vec<(u64, u64)>> {
    let Some(root) = image.resources.and_then(|address| image.locate(address)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (kind, names) in read_directory(source, root, 0)? {
        if kind != VERSION_TYPE {
            continue;
        }
        for (_, languages) in read_directory(source, root, names)? {
            for (_, leaf) in read_directory(source, root, languages)? {
                let entry = read_at(source, root + u64::from(leaf), 8)?;
                if let (Some(address), Some(size)) = (u32_at(&entry, 0), u32_at(&entry, 4)) {
                    found.push((address.into(), size.into()));
                }
            }
        }
    }
    found.truncate(MOST_ENTRIES);
    Ok(found)
}

/// Id and offset of each entry; the highest bit of an offset tells a directory from a leaf.
fn read_directory(
    source: &mut dyn ReadSeek,
    root: u64,
    offset: u32,
) -> std::io::Result<Vec<(u32, u32)>> {
    let start = root + u64::from(offset);
    let header = read_at(source, start, 16)?;
    let (Some(named), Some(numbered)) = (u16_at(&header, 12), u16_at(&header, 14)) else {
        return Ok(Vec::new());
    };
    let count = (usize::from(named) + usize::from(numbered)).min(256);
    let table = read_at(source, start + 16, count as u64 * 8)?;
    let mut entries = Vec::new();
    for row in table.chunks_exact(8) {
        if let (Some(id), Some(offset)) = (u32_at(row, 0), u32_at(row, 4)) {
            entries.push((id, offset & 0x7fff_ffff));
        }
    }
    // Types have many entries, names and languages few.
    if offset != 0 {
        entries.truncate(MOST_ENTRIES);
    }
    Ok(entries)
}

/// Walks the blocks: each has its length, its value's length, a key in UTF-16, its value and further blocks.
fn collect_strings(bytes: &[u8], names: &mut Vec<String>, versions: &mut Vec<String>) {
    let Some(root) = Block::parse(bytes) else {
        return;
    };
    if root.key != "VS_VERSION_INFO" {
        return;
    }
    for table in root
        .children()
        .iter()
        .filter(|it| it.key == "StringFileInfo")
    {
        for language in table.children() {
            for string in language.children() {
                let list = match string.key.as_str() {
                    "OriginalFilename" | "InternalName" => &mut *names,
                    "FileVersion" | "ProductVersion" => &mut *versions,
                    _ => continue,
                };
                let text = decode_text(string.rest);
                if !text.is_empty() {
                    list.push(text);
                }
            }
        }
    }
    versions.extend(read_fixed(root.rest));
}

/// The two versions of VS_FIXEDFILEINFO.
fn read_fixed(value: &[u8]) -> Vec<String> {
    if u32_at(value, 0) != Some(FIXED_SIGNATURE) {
        return Vec::new();
    }
    let version = |at: usize| {
        let (high, low) = (u32_at(value, at)?, u32_at(value, at + 4)?);
        let [a, b, c, d] = [high >> 16, high & 0xffff, low >> 16, low & 0xffff];
        Some(format!("{a}.{b}.{c}.{d}"))
    };
    [version(8), version(16)].into_iter().flatten().collect()
}

struct Block<'a> {
    key: String,
    /// Bytes of the value.
    value: usize,
    /// From the value on.
    rest: &'a [u8],
}

impl<'a> Block<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let length = usize::from(u16_at(bytes, 0)?);
        let whole = bytes.get(..length)?;
        let value = usize::from(u16_at(whole, 2)?);
        let is_text = u16_at(whole, 4)? == 1;
        let key = decode_text(whole.get(6..)?);
        let start = align(6 + (key.encode_utf16().count() + 1) * 2);
        Some(Self {
            // Lengths of texts count characters.
            value: if is_text { value * 2 } else { value },
            rest: whole.get(start..)?,
            key,
        })
    }

    fn children(&self) -> Vec<Self> {
        let mut children = Vec::new();
        let mut rest = self.rest.get(align(self.value)..).unwrap_or_default();
        while let Some(child) = Self::parse(rest) {
            let length = usize::from(u16_at(rest, 0).unwrap_or_default());
            if length == 0 {
                break;
            }
            children.push(child);
            rest = rest.get(align(length)..).unwrap_or_default();
        }
        children
    }
}

fn align(offset: usize) -> usize {
    offset.div_ceil(4) * 4
}

/// UTF-16 up to the NUL.
fn decode_text(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2);
    let units = units.map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let text: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    String::from_utf16_lossy(&text).trim().to_owned()
}
