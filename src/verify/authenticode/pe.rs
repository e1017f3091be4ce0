//! PE images: exe, dll, sys, pyd.
//!
//! This module reads the attribute certificate table itself, because image parsers tolerate bytes after the DER
//! (CVE-2013-3900), a table in the middle of the file, and a second entry. The digest covers the whole file except
//! the checksum, the table's directory entry and the table, which must be at the end of the file.

use super::digest::Algorithm;
use super::fault::Fault;
use super::source::{self, ReadSeek, u16_at, u32_at};
use super::tlv;
use crate::base::code::Code;

/// Where the parts are that the digest leaves out.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    checksum: u64,
    directory: u64,
    table: u64,
    pub signature: Vec<u8>,
}

/// Entry of the attribute certificate table in the data directory.
const CERTIFICATES: u64 = 4;
/// WIN_CERTIFICATE: length, revision 2.0, type PKCS_SIGNED_DATA.
const ENTRY_HEADER: usize = 8;
const REVISION: u16 = 0x0200;
const SIGNED_DATA: u16 = 2;

pub(crate) fn read_image(source: &mut dyn ReadSeek) -> Result<Image, Fault> {
    let length = source::measure_length(source)?;
    let (checksum, directory) = locate_fields(source)?;
    let Some(directory) = directory else {
        return Err(unsigned_fault());
    };
    let entry = source::read_at(source, directory, 8)?;
    let (Some(table), Some(size)) = (u32_at(&entry, 0), u32_at(&entry, 4)) else {
        return Err(image_fault("it ends inside its headers"));
    };
    let (table, size) = (u64::from(table), u64::from(size));
    if (table, size) == (0, 0) {
        return Err(unsigned_fault());
    }
    let end = table + size;
    if table < directory + 8 || size < ENTRY_HEADER as u64 || end > length {
        return Err(table_fault(&format!(
            "it has the offset {table} and {size} bytes in a file of {length} bytes"
        )));
    }
    if end < length {
        return Err(table_fault(&format!(
            "{} bytes follow it that no signature covers",
            length - end
        )));
    }
    let bytes = source::read_at(source, table, size)?;
    Ok(Image {
        checksum,
        directory,
        table,
        signature: parse_table(&bytes)?,
    })
}

impl Image {
    pub(crate) fn digest(
        &self,
        source: &mut dyn ReadSeek,
        algorithm: Algorithm,
    ) -> Result<Vec<u8>, Fault> {
        let mut context = algorithm.new_context();
        source::hash_range(source, &mut context, 0, self.checksum)?;
        source::hash_range(source, &mut context, self.checksum + 4, self.directory)?;
        source::hash_range(source, &mut context, self.directory + 8, self.table)?;
        Ok(context.finish().as_ref().to_vec())
    }
}

/// The places of the checksum and of the table's directory entry, where there is one.
fn locate_fields(source: &mut dyn ReadSeek) -> Result<(u64, Option<u64>), Fault> {
    let dos = source::read_at(source, 0, 64)?;
    if !dos.starts_with(b"MZ") {
        return Err(image_fault("it does not start with MZ"));
    }
    let start =
        u64::from(u32_at(&dos, 0x3c).ok_or_else(|| image_fault("it ends inside its headers"))?);
    let header = source::read_at(source, start, 4 + 20 + 112)?;
    if !header.starts_with(b"PE\0\0") {
        return Err(image_fault("it has no PE header"));
    }
    let optional = start + 24;
    let (Some(optional_size), Some(magic)) = (u16_at(&header, 20), u16_at(&header, 24)) else {
        return Err(image_fault("it ends inside its headers"));
    };
    let before = match magic {
        0x10b => 96,
        0x20b => 112,
        other => {
            return Err(image_fault(&format!(
                "its optional header is of type {other:#x}"
            )));
        }
    };
    // The count of directories stands right before them.
    let count = u32_at(&header, 24 + before - 4)
        .ok_or_else(|| image_fault("it ends inside its headers"))?;
    let entry = before as u64 + CERTIFICATES * 8;
    let there = u64::from(count) > CERTIFICATES && u64::from(optional_size) >= entry + 8;
    Ok((optional + 64, there.then_some(optional + entry)))
}

/// The DER inside a table with one entry and nothing but padding.
fn parse_table(table: &[u8]) -> Result<Vec<u8>, Fault> {
    let header = (u32_at(table, 0), u16_at(table, 4), u16_at(table, 6));
    let (Some(length), Some(revision), Some(kind)) = header else {
        return Err(table_fault("its entry has no header"));
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length <= ENTRY_HEADER || length > table.len() {
        return Err(table_fault(&format!(
            "its entry has {length} bytes, of {} that are there",
            table.len()
        )));
    }
    if (revision, kind) != (REVISION, SIGNED_DATA) {
        return Err(table_fault(&format!(
            "its entry has revision {revision:#06x} and type {kind}"
        )));
    }
    // Entries start at multiples of eight.
    let next = length.div_ceil(8) * 8;
    if table.len() >= next + ENTRY_HEADER {
        return Err(Code::SEVERAL_SIGNATURES
            .with_message("the attribute certificate table has a second entry"));
    }
    let inner = &table[ENTRY_HEADER..length];
    let signature = cut_signature(inner)?;
    check_padding(&table[ENTRY_HEADER + signature.len()..])?;
    Ok(signature.to_vec())
}

/// The DER at the start of a place that may be longer.
pub(super) fn cut_signature(bytes: &[u8]) -> Result<&[u8], Fault> {
    match tlv::parse_first(bytes) {
        Some(element) if element.tag == tlv::SEQUENCE => Ok(element.whole),
        _ => Err(Code::CMS_MALFORMED.with_message("the signature is not DER, or is truncated")),
    }
}

/// At most seven zeros: whatever else stands there was put there unsigned.
pub(super) fn check_padding(bytes: &[u8]) -> Result<(), Fault> {
    if bytes.len() > 7 {
        let count = bytes.len();
        return Err(
            Code::PADDING.with_message(format!("{count} unsigned bytes follow the signature"))
        );
    }
    if bytes.iter().any(|byte| *byte != 0) {
        return Err(Code::PADDING.with_message("the padding after the signature is not zero"));
    }
    Ok(())
}

fn unsigned_fault() -> Fault {
    Code::UNSIGNED.with_message("no embedded signature (security catalogs are not searched)")
}

fn image_fault(why: &str) -> Fault {
    Code::FILE_MALFORMED.with_message(format!("not a PE image: {why}"))
}

fn table_fault(why: &str) -> Fault {
    Code::CERTIFICATE_TABLE.with_message(format!("the attribute certificate table is wrong: {why}"))
}
