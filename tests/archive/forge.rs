//! Archives as nobody else writes them.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use super::{crc, deflated};

/// An entry, for either format.
#[derive(Clone)]
pub(crate) struct Part {
    pub name: Vec<u8>,
    pub content: Vec<u8>,
    /// tar's type.
    pub kind: u8,
    pub mode: u32,
    /// tar's target of a link.
    pub target: Vec<u8>,
    /// zip's method, flags, and size where it lies.
    pub method: u16,
    pub flags: u16,
    pub size: Option<u32>,
    pub extra: Vec<u8>,
    /// zip's bytes as they lie, in place of the content by its method.
    pub raw: Option<Vec<u8>>,
    /// What begins the sizes behind the bytes, which flag 3 asks for.
    pub mark: &'static [u8],
}

/// Sizes behind the bytes.
pub(crate) const DESCRIBED: u16 = 1 << 3 | 1 << 11;

/// The signature in front of them.
const MARK: &[u8] = b"PK\x07\x08";

impl Part {
    pub(crate) fn new(name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            content: content.to_vec(),
            kind: b'0',
            mode: 0o100_644,
            target: Vec::new(),
            method: 0,
            flags: 1 << 11,
            size: None,
            extra: Vec::new(),
            raw: None,
            mark: MARK,
        }
    }

    /// A deflated entry with its sizes behind its bytes: as its directory has it, it goes on behind the end of its
    /// content, with those sizes and another entry.
    pub(crate) fn hiding(self, hidden: &Self) -> Self {
        let stream = deflated(&self.content);
        let sizes = describe(&self.content, &stream);
        let whole = zip(std::slice::from_ref(hidden));
        let end = whole.windows(4).position(|it| it == b"PK\x01\x02");
        let raw = [&stream, MARK, &sizes, &whole[..end.expect("directory")]].concat();
        Self {
            method: 8,
            flags: DESCRIBED,
            raw: Some(raw),
            ..self
        }
    }

    fn store(&self) -> Vec<u8> {
        match &self.raw {
            Some(raw) => raw.clone(),
            None if self.method == 8 => deflated(&self.content),
            None => self.content.clone(),
        }
    }

    pub(crate) fn folder(name: &str) -> Self {
        Self {
            kind: b'5',
            mode: 0o040_755,
            ..Self::new(name, b"")
        }
    }

    pub(crate) fn link(name: &str, target: &str) -> Self {
        Self {
            kind: b'2',
            mode: 0o120_777,
            target: target.into(),
            ..Self::new(name, b"")
        }
    }

    fn header(&self, stored: &[u8]) -> Vec<u8> {
        let size = self
            .size
            .unwrap_or(u32::try_from(self.content.len()).expect("small"));
        let mut head = Vec::new();
        head.extend(20_u16.to_le_bytes());
        head.extend(self.flags.to_le_bytes());
        head.extend(self.method.to_le_bytes());
        head.extend([0; 4]);
        head.extend(crc(&self.content).to_le_bytes());
        head.extend(u32::try_from(stored.len()).expect("small").to_le_bytes());
        head.extend(size.to_le_bytes());
        head.extend(u16::try_from(self.name.len()).expect("short").to_le_bytes());
        head.extend(
            u16::try_from(self.extra.len())
                .expect("short")
                .to_le_bytes(),
        );
        head
    }
}

/// Checksum and sizes.
fn describe(content: &[u8], stored: &[u8]) -> Vec<u8> {
    let mut bytes = crc(content).to_le_bytes().to_vec();
    bytes.extend(u32::try_from(stored.len()).expect("small").to_le_bytes());
    bytes.extend(u32::try_from(content.len()).expect("small").to_le_bytes());
    bytes
}

pub(crate) fn zip(parts: &[Part]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for part in parts {
        let stored = part.store();
        let mut head = part.header(&stored);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&head);
        directory.extend([0; 6]);
        directory.extend((part.mode << 16).to_le_bytes());
        directory.extend(u32::try_from(bytes.len()).expect("small").to_le_bytes());
        directory.extend(&part.name);
        directory.extend(&part.extra);
        let is_described = part.flags & 8 != 0;
        if is_described {
            head[10..22].fill(0);
        }
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&head);
        bytes.extend(&part.name);
        bytes.extend(&part.extra);
        bytes.extend(&stored);
        if is_described {
            bytes.extend(part.mark);
            bytes.extend(describe(&part.content, &stored));
        }
    }
    let count = u16::try_from(parts.len()).expect("few").to_le_bytes();
    let start = u32::try_from(bytes.len()).expect("small").to_le_bytes();
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(u32::try_from(directory.len()).expect("small").to_le_bytes());
    bytes.extend(start);
    bytes.extend([0; 2]);
    bytes
}

pub(crate) fn tar(parts: &[Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        let mut header = ::tar::Header::new_ustar();
        let fields = header.as_old_mut();
        fields.name[..part.name.len()].copy_from_slice(&part.name);
        fields.linkname[..part.target.len()].copy_from_slice(&part.target);
        fields.linkflag = [part.kind];
        header.set_mode(part.mode & 0o7777);
        header.set_size(part.size.map_or(part.content.len() as u64, u64::from));
        header.set_cksum();
        bytes.extend(header.as_bytes());
        bytes.extend(&part.content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("gzip");
    encoder.finish().expect("gzip")
}

pub(crate) fn tar_gz(parts: &[Part]) -> Vec<u8> {
    gzip(&tar(parts))
}

/// Replaces the first place of `old`, which is there.
pub(crate) fn edit(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = bytes
        .windows(old.len())
        .position(|window| window == old)
        .expect("the bytes to edit");
    [&bytes[..at], new, &bytes[at + old.len()..]].concat()
}

/// Changes bytes at an offset from the first place of `mark`.
pub(crate) fn patch(bytes: &[u8], mark: &[u8], offset: usize, new: &[u8]) -> Vec<u8> {
    let at = bytes
        .windows(mark.len())
        .position(|window| window == mark)
        .expect("the mark")
        + offset;
    [&bytes[..at], new, &bytes[at + new.len()..]].concat()
}
