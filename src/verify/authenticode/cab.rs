//! Cabinets. The reserved part of the header contains the offset of the signature.
//!
//! The digest omits the first reserved word, the cabinet's number in a set, and the reserved part up to its last
//! word; each must have the value of a signed cabinet. Microsoft does not document the layout; it was taken from
//! signed cabinets.

use super::digest::Algorithm;
use super::fault::Fault;
use super::pe::{check_padding, cut_signature};
use super::source::{self, ReadSeek, u16_at, u32_at};
use crate::base::code::Code;

#[derive(Debug, Clone)]
pub(crate) struct Cabinet {
    header: Vec<u8>,
    end: u64,
    pub signature: Vec<u8>,
}

const HEADER: usize = 60;
const PREVIOUS: u16 = 1;
const NEXT: u16 = 2;
const RESERVED: u16 = 4;

pub(crate) fn read_cabinet(source: &mut dyn ReadSeek) -> Result<Cabinet, Fault> {
    let length = source::measure_length(source)?;
    let header = source::read_at(source, 0, HEADER as u64)?;
    let flags = u16_at(&header, 30).filter(|_| header.starts_with(b"MSCF"));
    let flags = flags.ok_or_else(|| {
        Code::FILE_MALFORMED.with_message("not a cabinet: it does not start with the header")
    })?;
    if flags & (PREVIOUS | NEXT) != 0 {
        return Err(
            Code::FILE_MALFORMED.with_message("a cabinet of a set cannot be verified alone")
        );
    }
    // Size of the reserved part of the header, then of that in each folder and each block.
    if flags & RESERVED == 0 || u32_at(&header, 36) != Some(20) {
        return Err(unsigned_fault());
    }
    let (start, size) = (read_number(&header, 44)?, read_number(&header, 48)?);
    if (start, size) == (0, 0) {
        return Err(unsigned_fault());
    }
    if read_number(&header, 4)? != 0
        || read_number(&header, 40)? != 0x0010_0000
        || read_number(&header, 52)? != 0
        || u16_at(&header, 34) != Some(0)
    {
        return Err(header_fault(
            "a part that the signature does not cover is not empty",
        ));
    }
    if read_number(&header, 56)? != 0 {
        return Err(header_fault("its last word is not empty"));
    }
    if start < HEADER as u64 || start + size > length {
        return Err(header_fault(&format!(
            "the signature has the offset {start} and {size} bytes in a file of {length} bytes"
        )));
    }
    if start + size < length {
        let count = length - start - size;
        return Err(header_fault(&format!(
            "{count} bytes follow the signature, which it does not cover"
        )));
    }
    if read_number(&header, 8)? != start {
        return Err(header_fault("the signature does not follow the cabinet"));
    }
    let bytes = source::read_at(source, start, size)?;
    let found = cut_signature(&bytes)?;
    check_padding(&bytes[found.len()..])?;
    let signature = found.to_vec();
    Ok(Cabinet {
        header,
        end: start,
        signature,
    })
}

impl Cabinet {
    pub(crate) fn digest(
        &self,
        source: &mut dyn ReadSeek,
        algorithm: Algorithm,
    ) -> Result<Vec<u8>, Fault> {
        let mut context = algorithm.new_context();
        for part in [0..4, 8..34, 56..HEADER] {
            context.update(&self.header[part]);
        }
        source::hash_range(source, &mut context, HEADER as u64, self.end)?;
        Ok(context.finish().as_ref().to_vec())
    }
}

fn header_fault(why: &str) -> Fault {
    Code::CERTIFICATE_TABLE.with_message(format!("the cabinet's reserved header is wrong: {why}"))
}

fn read_number(header: &[u8], at: usize) -> Result<u64, Fault> {
    match u32_at(header, at) {
        Some(number) => Ok(number.into()),
        None => Err(header_fault("the file ends inside it")),
    }
}

fn unsigned_fault() -> Fault {
    Code::UNSIGNED.with_message("no embedded signature")
}
