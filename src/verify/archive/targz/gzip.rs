//! gzip of one member, with bounds on what comes out.

use std::io::{self, BufRead as _, BufReader, Read};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::super::read::{fill_buffer, into_io_error};
use super::super::{Limits, ProofError};
use crate::base::code::Code;

/// The content of a gzip file that is one member and nothing else.
pub(super) struct Gzip<R: Read> {
    inner: DeflateDecoder<BufReader<Counted<R>>>,
    crc: Crc,
    produced: u64,
    total: u64,
    ratio: u64,
    ended: bool,
}

impl<R: Read> Gzip<R> {
    pub(super) fn open(reader: R, limits: &Limits) -> io::Result<Self> {
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
        // With a checksum of the header (flag 2) some readers would refuse what others take.
        if head[2] != 8 || flags & 0xe2 != 0 {
            return Err(into_io_error(ProofError::new(
                Code::ARCHIVE_METHOD,
                "the gzip file uses an unknown compression method or flag",
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
                        Code::ARCHIVE_CORRUPT,
                        "the gzip header is truncated",
                    )));
                }
            }
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
                Code::ARCHIVE_CHECKSUM,
                "the gzip file's checksum is wrong",
            )));
        }
        let behind = reader.fill_buf()?;
        if behind.starts_with(b"\x1f\x8b") {
            return Err(into_io_error(ProofError::new(
                Code::ARCHIVE_GZIP_MEMBERS,
                "another gzip member follows the first",
            )));
        }
        if !behind.is_empty() {
            return Err(into_io_error(ProofError::new(
                Code::ARCHIVE_TRAILING_DATA,
                "bytes follow the end of the gzip file",
            )));
        }
        Ok(())
    }

    /// Behind the tar's end only zeros may follow.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let mut rest = [0; 4096];
        loop {
            let count = fill_buffer(&mut self, &mut rest)?;
            if rest[..count].iter().any(|byte| *byte != 0) {
                return Err(into_io_error(ProofError::new(
                    Code::ARCHIVE_TRAILING_DATA,
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
                Code::ARCHIVE_SIZE,
                format!("more than {} bytes in all", self.total),
            )));
        }
        let compressed = self.inner.get_ref().get_ref().count;
        if self.produced > 1 << 20 && self.produced / compressed.max(1) > self.ratio {
            let message = format!(
                "{compressed} bytes unpack to more than {} times as many",
                self.ratio
            );
            return Err(into_io_error(ProofError::new(Code::ARCHIVE_RATIO, message)));
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
