//! Archives made by structure: a good one, and changes to its fields, records, names and ends. Checksums of headers
//! fit again after a change, so that a reader sees the change and not the damage.

use imagegen::windows::resource::ArchiveFormat::{self, TarGz, Zip};

use super::super::forge::{DESCRIBED, Part, gzip, tar, zip};

pub struct Draft {
    pub title: String,
    pub bytes: Vec<u8>,
}

/// Numbers by xorshift, the same in each run.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("small") % limit
    }

    pub fn choose_some(&mut self, changes: &[Change]) -> Vec<Change> {
        (0..2 + self.below(3))
            .map(|_| changes[self.below(changes.len())])
            .collect()
    }
}

/// A change of an archive's structure.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// The name of the second entry.
    Name(&'static str),
    /// Bytes of a field: which record, offset, bytes.
    Field(Place, usize, &'static [u8]),
    /// A record of PAX in front of the second entry: type, key and value.
    Record(u8, &'static str, &'static str),
    /// A whole entry of tar in front of the second: type, name, content.
    Header(u8, &'static str, &'static [u8]),
    /// An extra field of the second entry of a zip.
    Extra(&'static [u8]),
    Deflate,
    /// Sizes behind the bytes of the first entry of a zip, with this in front of them.
    Describe(&'static [u8]),
    Folder,
    /// A folder of a zip, with a method, flags and bytes.
    Stream(u16, u16, &'static [u8]),
    /// The comment behind a zip.
    Comment(&'static [u8]),
    /// Bytes behind everything.
    Behind(&'static [u8]),
    /// Blocks of zeros, by the entry that follows.
    Zeros(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Local,
    Central,
    End,
    Both,
    Tar,
    Gzip,
}

const NAMES: &[&str] = &[
    "bin/b.exe",
    "./bin/b.exe",
    "././b",
    "bin/./b",
    "bin//b",
    "b/../c",
    "/b",
    "b/",
    "BIN/A.EXE",
    "bin/a.exe",
    "bin",
    "b.",
    "b ",
    " b",
    ".b",
    "nul",
    "Com1.txt",
    "LONGNA~1.EXE",
    "b~1",
    "b\\c",
    "b:c",
    "b\0c",
    "b\u{e9}",
    "be\u{301}",
    "\u{df}",
    "\u{212a}",
    "b;c",
    "b c",
    "b%20c",
    "b+c",
    "{b}",
    "b,c=d",
];

const NUMBERS: &[&[u8]] = &[
    b"\0",
    b" ",
    b"+",
    b"-1",
    b"0000005",
    b"5\0",
    b"5 \0",
    b" 5\0",
    b"  5 ",
    b"05 \0",
    b"0x5\0",
    b"5\0\0x",
    b"\x80\0\0\0\0\0\0\x05",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"9\0",
    b"777777777777",
    b"000000000005",
    b"00000000005\0",
];

const VALUES: &[&[u8]] = &[
    b"\0",
    b"\x01",
    b"\x08",
    b"\0\x08",
    b"\x02",
    b"\x14",
    b"\x2d",
    b"\x3f\x03",
    b"\x14\0",
    b"\x14\x0a",
    b"\xff",
    b"\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x20\0\0\0",
    b"\x10\0\0\0",
    b"\0\0\xff\xa1",
    b"\0\0\xed\x81",
    b"\0\0\xed\x41",
];

const EXTRAS: &[&[u8]] = &[
    b"\x55\x54\x05\0\x01\0\0\0\0",
    b"\x01\0\x08\0\x07\0\0\0\0\0\0\0",
    b"\x01\0\x10\0\x07\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0",
    b"\x01\0\0\0",
    b"\x01\0\x04\0\0\0\0\0",
    b"\x75\x70\x06\0\x01\0\0\0\0c",
    b"\x6e\x75\x0e\0\0\0\0\0\xff\xa1\0\0\0\0\0\0\0\0",
    b"\x0d\0\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0",
    b"\x78\x6c\x01\0\x07",
    b"\x99\x99\x02\0\0\0",
    b"\0\0\0",
    b"\x99\x99\xff\xff",
];

const RECORDS: &[(&str, &str)] = &[
    ("path", "c"),
    ("path", "c/"),
    ("path", ""),
    ("path", "c\0d"),
    ("path", "./c"),
    ("size", "7"),
    ("size", "07"),
    ("size", "+7"),
    ("size", "8"),
    ("size", ""),
    ("linkpath", "c"),
    ("mtime", "1.5"),
    ("mtime", "-1"),
    ("uid", "3000000"),
    ("uname", "\u{e9}"),
    ("comment", "c"),
    ("hdrcharset", "BINARY"),
    ("charset", "ISO-IR 10646 2000 UTF-8"),
    ("GNU.sparse.size", "9"),
    ("GNU.sparse.name", "c"),
    ("GNU.sparse.major", "1"),
    ("SCHILY.realsize", "9"),
    ("SCHILY.filetype", "directory"),
    ("SUN.holesdata", " 0 7"),
    ("LIBARCHIVE.symlinktype", "dir"),
    ("LIBARCHIVE.creationtime", "1"),
    ("SCHILY.xattr.user.a", "b"),
    ("VENDOR.key", "1"),
];

const HEADERS: &[(u8, &str, &[u8])] = &[
    (b'L', "././@LongLink", b"c\0"),
    (b'L', "././@LongLink", b"c"),
    (b'L', "././@LongLink", b"c\0d\0"),
    (b'L', "././@LongLink", b"c/\0"),
    (b'L', "long", b"c\0"),
    (b'K', "././@LongLink", b"c\0"),
    (b'x', "PaxHeaders", b""),
    (b'g', "pax_global_header", b""),
    (b'g', "pax_global_header", b"13 comment=x\n"),
    (b'x', "p", b"9 path=c\n"),
    (b'x', "p", b"09 path=c\n"),
    (b'x', "p", b"9 path=c\n\0"),
    (b'x', "p", b" 9 path=c"),
    (b'X', "p", b"9 path=c\n"),
    (b'S', "s", b""),
    (b'7', "s", b"1234"),
    (b'5', "s", b""),
    (b'5', "s/", b""),
    (b'D', "s", b""),
    (b'V', "s", b""),
    (b'A', "s", b"1"),
    (0, "s/", b""),
    (0, "s", b"1"),
];

/// Every change that there is for a format.
pub fn list_changes(format: ArchiveFormat) -> Vec<Change> {
    let mut changes: Vec<Change> = NAMES.iter().copied().map(Change::Name).collect();
    if format == TarGz {
        for offset in [100, 108, 116, 124, 136, 329, 337] {
            changes.extend(
                NUMBERS
                    .iter()
                    .map(|number| Change::Field(Place::Tar, offset, number)),
            );
        }
        // Type, target, magic, version, prefix, what follows it.
        for (offset, bytes) in [
            (90, &b"x"[..]),
            (156, b"\0"),
            (156, b"7"),
            (156, b"5"),
            (157, b"c"),
            (257, b"ustar \0"),
            (257, b"ustar  \0"),
            (257, b"USTAR"),
            (257, b"\0\0\0\0\0\0\0\0"),
            (263, b"01"),
            (263, b"  "),
            (263, b" \0"),
            (265, b"root"),
            (345, b"p"),
            (345, b"p/"),
            (345, b"p\0q"),
            (476, b"00000000000 "),
            (500, b"x"),
            (508, b"tar\0"),
        ] {
            changes.push(Change::Field(Place::Tar, offset, bytes));
        }
        for kind in [b'x', b'g'] {
            let records = RECORDS.iter();
            changes.extend(records.map(|(key, value)| Change::Record(kind, key, value)));
        }
        let headers = HEADERS.iter();
        changes.extend(headers.map(|(kind, name, content)| Change::Header(*kind, name, content)));
        changes.extend([0, 1, 2, 3].map(Change::Zeros));
        for (offset, bytes) in [
            (3, &b"\x02"[..]),
            (3, b"\x20"),
            (4, b"\xff"),
            (8, b"\x02"),
            (9, b"\x0b"),
        ] {
            changes.push(Change::Field(Place::Gzip, offset, bytes));
        }
    } else {
        changes.extend(list_streams());
        for (place, offsets) in [
            (Place::Local, 4..30),
            (Place::Central, 4..46),
            (Place::End, 4..22),
            (Place::Both, 0..6),
        ] {
            for offset in offsets.step_by(2) {
                changes.extend(
                    VALUES
                        .iter()
                        .map(|value| Change::Field(place, offset, value)),
                );
            }
        }
        changes.extend(EXTRAS.iter().map(|extra| Change::Extra(extra)));
        for comment in [
            &b"0123456789abcdef"[..],
            b"\0",
            b"PK",
            b"PK\x05\x06",
            b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            b"PK\x06\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0",
        ] {
            changes.push(Change::Comment(comment));
        }
        changes.push(Change::Deflate);
    }
    changes.push(Change::Folder);
    for behind in [
        &b"\0"[..],
        b"x",
        &[0; 512],
        b"\x1f\x8b\x08\0",
        b"PK\x05\x06",
    ] {
        changes.push(Change::Behind(behind));
    }
    changes
}

/// Files and folders with their sizes behind their bytes, and folders with bytes.
fn list_streams() -> Vec<Change> {
    let mut changes = vec![Change::Describe(b"PK\x07\x08"), Change::Describe(b"")];
    for flags in [0, DESCRIBED] {
        for (method, raw) in [
            (0, &b""[..]),
            (8, b""),
            (8, b"\x03\0"),
            (8, b"\x01\0\0\xff\xff"),
            (8, b"\0\0\0\xff\xff\x03\0"),
            (8, b"\x03\0\x03\0"),
        ] {
            changes.push(Change::Stream(method, flags, raw));
        }
    }
    changes
}

/// The good archive with changes.
pub fn build_draft(format: ArchiveFormat, changes: &[Change]) -> Draft {
    let mut first = Part::new("bin/a.exe", b"first content");
    let mut second = Part::new("bin/b.exe", b"7 bytes");
    let mut parts = Vec::new();
    for change in changes {
        match change {
            Change::Name(name) => second.name = name.as_bytes().to_vec(),
            Change::Extra(extra) => second.extra.extend(*extra),
            Change::Deflate => first.method = 8,
            Change::Describe(mark) => {
                (first.method, first.flags, first.mark) = (8, DESCRIBED, mark);
            }
            Change::Folder => parts.push(Part::folder("bin/")),
            Change::Stream(method, flags, raw) => parts.push(Part {
                method: *method,
                flags: *flags,
                raw: Some(raw.to_vec()),
                ..Part::folder("doc/")
            }),
            _ => {}
        }
    }
    parts.push(first);
    if format == TarGz {
        parts.extend(changes.iter().filter_map(build_header));
    }
    parts.push(second);

    let mut bytes = if format == Zip {
        change_zip(zip(&parts), changes)
    } else {
        change_tar(tar(&parts), parts.len() - 1, changes)
    };
    for change in changes {
        if let Change::Behind(behind) = change {
            bytes.extend(*behind);
        }
    }
    Draft {
        title: format!("{changes:?}"),
        bytes,
    }
}

fn build_header(change: &Change) -> Option<Part> {
    match change {
        Change::Header(kind, name, content) => Some(Part {
            kind: *kind,
            ..Part::new(name, content)
        }),
        Change::Record(kind, key, value) => {
            let rest = format!(" {key}={value}\n");
            let length =
                (rest.len()..rest.len() + 9).find(|all| all.to_string().len() + rest.len() == *all);
            let record = format!("{}{rest}", length.expect("some number"));
            Some(Part {
                kind: *kind,
                ..Part::new("PaxHeaders/b", record.as_bytes())
            })
        }
        _ => None,
    }
}

fn find_last(bytes: &[u8], mark: &[u8]) -> usize {
    bytes
        .windows(mark.len())
        .rposition(|window| window == mark)
        .expect("the mark")
}

pub(super) fn put_bytes(bytes: &mut [u8], at: usize, new: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + new.len()) {
        place.copy_from_slice(new);
    }
}

fn change_zip(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    let local = find_last(&bytes, b"PK\x03\x04");
    let central = find_last(&bytes, b"PK\x01\x02");
    let end = find_last(&bytes, b"PK\x05\x06");
    for change in changes {
        match change {
            Change::Field(Place::Local, at, new) => put_bytes(&mut bytes, local + at, new),
            Change::Field(Place::Central, at, new) => put_bytes(&mut bytes, central + at, new),
            Change::Field(Place::End, at, new) => put_bytes(&mut bytes, end + at, new),
            Change::Field(Place::Both, at, new) => {
                put_bytes(&mut bytes, local + 6 + at, new);
                put_bytes(&mut bytes, central + 8 + at, new);
            }
            Change::Comment(comment) => {
                let length = u16::try_from(comment.len()).expect("short");
                put_bytes(&mut bytes, end + 20, &length.to_le_bytes());
                bytes.extend(*comment);
            }
            _ => {}
        }
    }
    bytes
}

/// Changes the header of the entry with that number, counting headers that describe another.
fn change_tar(mut bytes: Vec<u8>, entry: usize, changes: &[Change]) -> Vec<u8> {
    let mut at = 0;
    for _ in 0..entry {
        let size = std::str::from_utf8(&bytes[at + 124..at + 135]).expect("octal");
        let size = usize::from_str_radix(size, 8).expect("octal");
        at += 512 + size.next_multiple_of(512);
    }
    for change in changes {
        if let Change::Field(Place::Tar, offset, new) = change {
            put_bytes(&mut bytes, at + offset, new);
        }
    }
    let sum: u32 = (0..512)
        .map(|byte| {
            if (148..156).contains(&byte) {
                32
            } else {
                u32::from(bytes[at + byte])
            }
        })
        .sum();
    put_bytes(&mut bytes, at + 148, format!("{sum:06o}\0 ").as_bytes());
    for change in changes {
        if let Change::Zeros(blocks) = change {
            bytes.splice(at..at, vec![0; 512 * blocks]);
        }
    }

    let mut packed = gzip(&bytes);
    for change in changes {
        if let Change::Field(Place::Gzip, offset, new) = change {
            put_bytes(&mut packed, *offset, new);
        }
    }
    packed
}
