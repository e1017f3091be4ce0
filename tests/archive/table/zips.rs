//! Damaged and ambiguous zip archives.

use imagegen::verify::archive::Limits;
use imagegen::windows::resource::ArchiveFormat::Zip;

use super::{GUEST, check, good, with};
use crate::archive::forge::{DESCRIBED, Part, edit, patch, tar_gz, zip};
use crate::archive::take;

const CENTRAL: &[u8] = b"PK\x01\x02";

const LOCAL: &[u8] = b"PK\x03\x04";

const END: &[u8] = b"PK\x05\x06";

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn damaged_and_ambiguous_zips() {
    let bytes = zip(&good());
    let deflated = zip(&[Part {
        method: 8,
        ..Part::new("bin/a.exe", &[b'x'; 500])
    }]);
    let one = zip(&[Part::new("bin/a.exe", b"first content")]);
    let overlapping = patch(&bytes, CENTRAL, 46 + 9 + 42, &0_u32.to_le_bytes());
    let shifted = [&b"MZ stub in front"[..], &bytes].concat();
    let mut hole = one.clone();
    let at = hole
        .windows(4)
        .position(|window| window == CENTRAL)
        .expect("directory");
    hole.splice(at..at, *b"hidden!!");
    let end = hole
        .windows(4)
        .position(|window| window == END)
        .expect("end");
    hole[end + 16..end + 20].copy_from_slice(&u32::try_from(at + 8).expect("small").to_le_bytes());
    let wanted: &[&str] = &["bin/a.exe"];
    let zip64 = [1, 0, 8, 0, 255, 255, 255, 255, 255, 255, 255, 127];
    check(
        vec![
            ("empty", Vec::new(), Zip, wanted, "archive-corrupt"),
            (
                "text",
                b"<html>log in</html>".to_vec(),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "tar.gz named zip",
                tar_gz(&good()),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "truncated",
                bytes[..bytes.len() - 30].to_vec(),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "end cut",
                bytes[..bytes.len() - 1].to_vec(),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "trailing garbage",
                [&bytes[..], b"x"].concat(),
                Zip,
                wanted,
                GUEST,
            ),
            (
                "two zips",
                [&bytes[..], &bytes].concat(),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            ("stub in front", shifted, Zip, wanted, "archive-corrupt"),
            ("bytes no entry owns", hole, Zip, wanted, GUEST),
            (
                "wrong CRC",
                edit(&bytes, b"first content", b"First content"),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "damaged deflate",
                patch(&deflated, LOCAL, 30 + 9, &[0xff; 4]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "encrypted",
                zip(&[Part {
                    flags: 1,
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "AES",
                zip(&[Part {
                    method: 99,
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "bzip2",
                zip(&[Part {
                    method: 12,
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            ("overlapping", overlapping, Zip, wanted, "archive-corrupt"),
            (
                "other name in front",
                edit(&bytes, b"bin/a.exe", b"bin/z.exe"),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "other method in front",
                patch(&bytes, LOCAL, 8, &[8]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "other CRC in front",
                patch(&bytes, LOCAL, 14, &[1, 2, 3, 4]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "other size in front",
                patch(&bytes, LOCAL, 22, &[1]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "encryption in front alone",
                patch(&bytes, LOCAL, 6, &[1]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "stored with two sizes",
                patch(&bytes, CENTRAL, 24, &[1]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "stored with its size behind it",
                patch(&patch(&bytes, LOCAL, 6, &[8]), CENTRAL, 8, &[8]),
                Zip,
                wanted,
                GUEST,
            ),
            (
                "directory damaged",
                patch(&bytes, CENTRAL, 0, b"XX"),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "fewer entries than said",
                patch(&bytes, END, 8, &[3, 0, 3, 0]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "more entries than said",
                patch(&bytes, END, 8, &[1, 0, 1, 0]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "one part of many",
                patch(&bytes, END, 4, &[1]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "disk of an entry",
                patch(&bytes, CENTRAL, 34, &[1]),
                Zip,
                wanted,
                GUEST,
            ),
            (
                "disk of the directory",
                patch(&bytes, END, 6, &[255, 255]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "another size in a zip64 field that is not asked for",
                zip(&[Part {
                    extra: vec![1, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0],
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                GUEST,
            ),
            (
                "a comment that is no text",
                [&bytes[..bytes.len() - 2], &[1, 0, 0]].concat(),
                Zip,
                wanted,
                GUEST,
            ),
            (
                "a type in an extra field",
                zip(&[Part {
                    extra: vec![0x6e, 0x75, 0, 0],
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                GUEST,
            ),
            (
                "version 25.5 of the format",
                patch(&bytes, CENTRAL, 6, &[255]),
                Zip,
                wanted,
                GUEST,
            ),
            (
                "zip64 promised",
                patch(&bytes, END, 16, &[255; 4]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "zip64 size promised",
                patch(&bytes, CENTRAL, 24, &[255; 4]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "zip64 size of exabytes",
                patch(
                    &zip(&[Part {
                        extra: zip64.to_vec(),
                        ..Part::new("bin/a.exe", b"x")
                    }]),
                    CENTRAL,
                    24,
                    &[255; 4],
                ),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "a second name in an extra field",
                zip(&[Part {
                    extra: second_name(b"bin/a.exe"),
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                GUEST,
            ),
            (
                "another second name in an extra field",
                zip(&[Part {
                    extra: second_name(b"bin/b.exe"),
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-corrupt",
            ),
            (
                "extra field too long",
                zip(&[Part {
                    extra: vec![1, 0, 9, 0, 1],
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                GUEST,
            ),
        ],
        &Limits::default(),
    );
    // An end record inside of the comment of another.
    let comment = [END, &[0; 18]].concat();
    let mut two = [&bytes[..], &comment].concat();
    let length = bytes.len();
    two[length - 2] = 22;
    check(
        vec![("two end records", two, Zip, wanted, "archive-corrupt")],
        &Limits::default(),
    );
}

/// Entries that a reader from the front sees end elsewhere than the directory says, and those that end where it does.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn entries_end_where_their_streams_do() {
    let wanted: &[&str] = &["bin/a.exe"];
    let hidden = Part::new("bin/a.exe", b"other content");
    let described = |part: Part| Part {
        method: 8,
        flags: DESCRIBED,
        ..part
    };
    let folder = || Part::folder("doc/");
    let read_me = || Part::new("README", b"read me");
    let rows = [
        (
            "a file that hides an entry",
            read_me().hiding(&hidden),
            GUEST,
        ),
        (
            "a folder that hides an entry",
            folder().hiding(&hidden),
            GUEST,
        ),
        (
            "a file that hides an entry and states its size in front",
            Part {
                flags: 0,
                ..read_me().hiding(&hidden)
            },
            GUEST,
        ),
        (
            "a folder that hides an entry and states its size in front",
            Part {
                flags: 0,
                ..folder().hiding(&hidden)
            },
            GUEST,
        ),
        (
            "a file whose stream goes on",
            Part {
                raw: Some(b"\0\x07\0\xf8\xffread me".to_vec()),
                ..described(read_me())
            },
            GUEST,
        ),
        (
            "a folder without a stream",
            Part {
                raw: Some(Vec::new()),
                ..described(folder())
            },
            GUEST,
        ),
        (
            "a folder with bytes of an unknown method",
            Part {
                method: 12,
                raw: Some(b"BZh9".to_vec()),
                ..folder()
            },
            GUEST,
        ),
        (
            "a file of an unknown method with its size behind it",
            Part {
                method: 12,
                ..described(read_me())
            },
            GUEST,
        ),
        (
            "a stored folder with sizes without signature",
            Part {
                method: 0,
                mark: b"",
                ..described(folder())
            },
            GUEST,
        ),
        (
            "a folder whose stream has content",
            Part {
                raw: read_me().hiding(&hidden).raw,
                ..described(folder())
            },
            GUEST,
        ),
    ];
    let rows = rows.map(|(what, part, code)| (what, zip(&with(part)), Zip, wanted, code));
    check(rows.into(), &Limits::default());

    let deflated = |part: Part| Part { method: 8, ..part };
    for part in [
        described(read_me()),
        Part {
            mark: b"",
            ..described(read_me())
        },
        described(folder()),
        Part {
            method: 0,
            ..described(folder())
        },
        deflated(folder()),
        Part {
            raw: Some(Vec::new()),
            ..deflated(folder())
        },
        Part {
            method: 12,
            ..read_me()
        },
    ] {
        let name = String::from_utf8_lossy(&part.name).into_owned();
        let bytes = zip(&with(part));
        take(&bytes, Zip, wanted, &Limits::default()).expect(&name);
    }
}

/// Info-ZIP's Unicode path: version, checksum of the other name, name.
fn second_name(name: &[u8]) -> Vec<u8> {
    let length = u8::try_from(5 + name.len()).expect("short");
    [&[0x75, 0x70, length, 0, 1, 0, 0, 0, 0], name].concat()
}
