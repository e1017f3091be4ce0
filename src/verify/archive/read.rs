//! Reading with bounds: a member is hashed while it is read, and what is wrong with it sticks.

use std::io::{self, Read};

use flate2::Crc;

use super::{Entry, MemberDigest, ProofError, Visit};
use crate::base::code::Code;
use crate::base::digest::Digester;
use crate::base::stream::copy_pieces;
use crate::base::value::PinAlgorithm;

/// An error of ours on its way through `Read`.
pub(super) fn into_io_error(error: ProofError) -> io::Error {
    io::Error::other(error)
}

/// An error that came out of `Read`, with our own unpacked.
pub(super) fn to_proof_error(error: &io::Error) -> ProofError {
    if let Some(own) = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<ProofError>())
    {
        return own.clone();
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            ProofError::new(Code::ARCHIVE_TRUNCATED, "the archive ends too early")
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => ProofError::new(
            Code::ARCHIVE_CORRUPT,
            format!("the archive is damaged: {error}"),
        ),
        _ => ProofError::new(
            Code::ARCHIVE_UNREADABLE,
            format!("the archive cannot be read: {error}"),
        ),
    }
}

/// As many bytes as there are, up to the buffer's length.
pub(super) fn fill_buffer(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A member while it is read.
pub(super) struct Checked<R> {
    inner: R,
    hash: Digester,
    crc: Option<Crc>,
    declared: u64,
    failure: Option<ProofError>,
}

impl<R: Read> Checked<R> {
    pub(super) fn new(inner: R, declared: u64, with_crc: bool) -> Self {
        let crc = with_crc.then(Crc::new);
        Self {
            inner,
            hash: Digester::new(PinAlgorithm::Sha256),
            crc,
            declared,
            failure: None,
        }
    }

    fn fail(&mut self, error: ProofError) -> io::Error {
        // Whoever swallows the error meets it again.
        self.failure = Some(error.clone());
        into_io_error(error)
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = &self.failure {
            return Err(into_io_error(error.clone()));
        }
        let count = match self.inner.read(buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => return Err(self.fail(to_proof_error(&error))),
        };
        if self.hash.size() + count as u64 > self.declared {
            let message = format!(
                "a member is larger than the {} bytes that its header states",
                self.declared
            );
            return Err(self.fail(ProofError::new(Code::ARCHIVE_SIZE, message)));
        }
        self.hash.add(&buffer[..count]);
        if let Some(crc) = &mut self.crc {
            crc.update(&buffer[..count]);
        }
        Ok(count)
    }
}

/// Hands a member out and reads what was left of it.
pub(super) fn visit_member<R: Read>(
    entry: &Entry,
    inner: R,
    crc: Option<u32>,
    visit: &mut Visit<'_>,
) -> Result<(MemberDigest, R), ProofError> {
    let mut reader = Checked::new(inner, entry.size, crc.is_some());
    let visited = visit(entry, &mut reader);
    if let Some(error) = reader.failure {
        return Err(error);
    }
    visited?;
    copy_pieces(&mut reader, &mut io::sink()).map_err(|error| to_proof_error(&error))?;
    let size = reader.hash.size();
    if size != entry.size {
        let message = format!(
            "`{}` has {} bytes, its header states {}",
            entry.name, size, entry.size
        );
        return Err(ProofError::new(Code::ARCHIVE_TRUNCATED, message));
    }
    if let (Some(found), Some(declared)) = (reader.crc.map(|crc| crc.sum()), crc)
        && found != declared
    {
        let message = format!(
            "`{}` has the CRC-32 {found:08x}, its header states {declared:08x}",
            entry.name
        );
        return Err(ProofError::new(Code::ARCHIVE_CHECKSUM, message));
    }
    Ok((
        MemberDigest {
            name: entry.name.clone(),
            size,
            sha256: reader.hash.finish(),
        },
        reader.inner,
    ))
}
