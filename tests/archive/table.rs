//! The bad inputs, one row each: what it is, the bytes, what is wanted, the code.

use imagegen::verify::archive::Limits;
use imagegen::windows::resource::ArchiveFormat::{self, TarGz, Zip};

use super::forge::{Part, edit, gzip, patch, tar, tar_gz, zip};
use super::take;
use crate::support::Test;

type Row = (
    &'static str,
    Vec<u8>,
    ArchiveFormat,
    &'static [&'static str],
    &'static str,
);

const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const END: &[u8] = b"PK\x05\x06";

fn good() -> Vec<Part> {
    vec![
        Part::new("bin/a.exe", b"first content"),
        Part::new("bin/b.exe", b"second content"),
    ]
}

fn with(part: Part) -> Vec<Part> {
    let mut parts = good();
    parts.push(part);
    parts
}

fn check(rows: Vec<Row>, limits: &Limits) {
    for (what, bytes, format, wanted, code) in rows {
        match take(&bytes, format, wanted, limits) {
            Ok(found) => panic!("{what}: read {found:?}"),
            Err(error) => assert_eq!(error.code.as_str(), code, "{what}: {}", error.message),
        }
        if limits.total == Limits::default().total {
            check_program(what, &bytes, format, wanted, code);
        }
    }
}

/// The program ends with the exit code of a failed proof, and names the same finding.
fn check_program(what: &str, bytes: &[u8], format: ArchiveFormat, wanted: &[&str], code: &str) {
    let name = if format == Zip { "x.zip" } else { "x.tar.gz" };
    let ran = Test::new()
        .bytes(name, bytes)
        .args([
            "verify",
            name,
            "--authenticode",
            "--member",
            wanted.first().unwrap_or(&"**"),
        ])
        .run();
    let said = ran.stdout + &ran.stderr;
    assert_eq!(ran.code, Some(5), "{what}: {said}");
    // `verify` tells the format by the content, and finds members by patterns.
    let other = ["archive-format", "archive-member-not-file"].contains(&code);
    assert!(other || said.contains(code), "{what}: {said}");
}

#[test]
fn the_forged_archives_are_good_until_they_are_spoiled() {
    for (bytes, format) in [(zip(&good()), Zip), (tar_gz(&good()), TarGz)] {
        take(
            &bytes,
            format,
            &["bin/a.exe", "bin/b.exe"],
            &Limits::default(),
        )
        .expect("good");
    }
}

#[test]
fn hostile_names() {
    let deep = "d/".repeat(130) + "file";
    let long = "x".repeat(256);
    for (what, name, code) in [
        ("parent", "../x.exe", "archive-name-traversal"),
        ("parent inside", "bin/../../x", "archive-name-traversal"),
        ("dot inside", "bin/./x", "archive-name-traversal"),
        ("empty part", "bin//x", "archive-name-traversal"),
        ("absolute", "/etc/passwd", "archive-name-absolute"),
        (
            "UNC by slashes",
            "//server/share/x",
            "archive-name-absolute",
        ),
        ("drive", "C:/Windows/x.dll", "archive-name-colon"),
        ("drive, relative", "C:x.dll", "archive-name-colon"),
        ("stream", "bin/a.exe:hidden", "archive-name-colon"),
        ("UNC", "\\\\server\\share\\x", "archive-name-backslash"),
        ("backslash", "bin\\..\\x", "archive-name-backslash"),
        ("CON", "CON", "archive-name-reserved"),
        ("prn", "bin/prn", "archive-name-reserved"),
        ("AUX below", "aux/x", "archive-name-reserved"),
        ("nul.txt", "nul.txt", "archive-name-reserved"),
        ("NUL .txt", "NUL .txt", "archive-name-reserved"),
        ("nul.tar.gz", "nul.tar.gz", "archive-name-reserved"),
        ("COM1", "COM1", "archive-name-reserved"),
        ("lpt9.log", "lpt9.log", "archive-name-reserved"),
        ("superscript", "COM\u{b9}", "archive-name-reserved"),
        (
            "superscript, extension",
            "bin/lpt\u{b3}.txt",
            "archive-name-reserved",
        ),
        ("CONIN$", "conin$", "archive-name-reserved"),
        ("CLOCK$", "clock$.txt", "archive-name-reserved"),
        ("COM1 and blanks", "com1  .x", "archive-name-reserved"),
        ("short form", "bin/LONGNA~1.EXE", "archive-name-short"),
        ("short form of a folder", "progra~2/x", "archive-name-short"),
        ("sharp s", "bin/\u{df}.exe", "archive-name-encoding"),
        ("composed", "bin/\u{e9}.exe", "archive-name-encoding"),
        ("decomposed", "bin/e\u{301}.exe", "archive-name-encoding"),
        ("Kelvin sign", "bin/\u{212a}.exe", "archive-name-encoding"),
        (
            "full-width slash",
            "bin\u{ff0f}x.exe",
            "archive-name-encoding",
        ),
        ("dot leaders", "\u{2025}/x.exe", "archive-name-encoding"),
        ("trailing dot", "bin/x.", "archive-name-trailing"),
        ("trailing blank", "bin/x ", "archive-name-trailing"),
        ("folder with a dot", "bin./x", "archive-name-trailing"),
        ("line end", "bin/x\ny", "archive-name-characters"),
        ("escape", "bin/\u{1b}[2Jx", "archive-name-characters"),
        ("delete", "bin/x\u{7f}", "archive-name-characters"),
        ("wildcard", "bin/*.exe", "archive-name-characters"),
        ("quote", "bin/\"x\"", "archive-name-characters"),
        (
            "bidi override",
            "bin/\u{202e}exe.txt",
            "archive-name-invisible",
        ),
        ("bidi isolate", "bin/x\u{2066}y", "archive-name-invisible"),
        ("zero width", "bin/a\u{200b}.exe", "archive-name-invisible"),
        ("part of 256", long.as_str(), "archive-name-length"),
        ("path of 264", deep.as_str(), "archive-name-length"),
    ] {
        let row = |bytes, format| -> Row { (what, bytes, format, &["bin/a.exe"], code) };
        let mut rows = vec![row(zip(&with(Part::new(name, b"x"))), Zip)];
        if name.len() <= 100 {
            rows.push(row(tar_gz(&with(Part::new(name, b"x"))), TarGz));
        }
        let mut named = format!("{name}\0").into_bytes();
        let gnu = Part {
            kind: b'L',
            ..Part::new("././@LongLink", &named)
        };
        rows.push(row(
            tar_gz(
                &with(gnu.clone())
                    .into_iter()
                    .chain([Part::new("n", b"x")])
                    .collect::<Vec<_>>(),
            ),
            TarGz,
        ));
        named.pop();
        let record = [b" path=", named.as_slice(), b"\n"].concat();
        let length = (1..9)
            .map(|digits| record.len() + digits)
            .find(|all| all.to_string().len() + record.len() == *all);
        let content = [length.expect("length").to_string().into_bytes(), record].concat();
        let pax = Part {
            kind: b'x',
            ..Part::new("PaxHeaders/n", &content)
        };
        rows.push(row(
            tar_gz(&[good(), vec![pax, Part::new("n", b"x")]].concat()),
            TarGz,
        ));
        check(rows, &Limits::default());
    }
    let wrong: &[u8] = b"bin/\xff\xfe.exe";
    check(
        vec![
            (
                "not UTF-8",
                zip(&with(Part::new(wrong, b"x"))),
                Zip,
                &["bin/a.exe"],
                "archive-name-encoding",
            ),
            (
                "not UTF-8",
                tar_gz(&with(Part::new(wrong, b"x"))),
                TarGz,
                &["bin/a.exe"],
                "archive-name-encoding",
            ),
            (
                "no encoding said",
                zip(&with(Part {
                    flags: 0,
                    ..Part::new("bin/\u{e4}.exe", b"x")
                })),
                Zip,
                &["bin/a.exe"],
                "archive-name-encoding",
            ),
            (
                "another name in an extra field",
                zip(&with(Part {
                    extra: b"up\x09\x00\x01\0\0\0\0evil".to_vec(),
                    ..Part::new("good", b"x")
                })),
                Zip,
                &["bin/a.exe"],
                "archive-ambiguous",
            ),
        ],
        &Limits::default(),
    );
}

#[test]
fn links_devices_and_names_that_meet() {
    let mut rows: Vec<Row> = Vec::new();
    let both: Vec<(&'static str, Vec<Part>, &'static str)> = vec![
        (
            "link",
            with(Part::link("bin/l", "../../etc")),
            "archive-link",
        ),
        (
            "link and a file through it",
            [
                vec![Part::link("l", "/tmp"), Part::new("l/x", b"x")],
                good(),
            ]
            .concat(),
            "archive-link",
        ),
        (
            "chain of links",
            [vec![Part::link("a", "b"), Part::link("b", "..")], good()].concat(),
            "archive-link",
        ),
        (
            "duplicate",
            with(Part::new("bin/a.exe", b"other")),
            "archive-duplicate",
        ),
        (
            "duplicate of the same bytes",
            with(Part::new("bin/a.exe", b"first content")),
            "archive-duplicate",
        ),
        (
            "duplicate by ./",
            with(Part::new("./bin/a.exe", b"other")),
            "archive-duplicate",
        ),
        (
            "case",
            with(Part::new("BIN/A.exe", b"other")),
            "archive-collision",
        ),
        (
            "case beyond ASCII",
            [
                vec![Part::new("\u{e4}", b"1"), Part::new("\u{c4}", b"2")],
                good(),
            ]
            .concat(),
            "archive-name-encoding",
        ),
        (
            "file for a folder",
            with(Part::new("bin", b"x")),
            "archive-collision",
        ),
        (
            "file for a folder, other case",
            with(Part::new("Bin", b"x")),
            "archive-collision",
        ),
        (
            "setuid",
            with(Part {
                mode: 0o104_755,
                ..Part::new("bin/s", b"x")
            }),
            "archive-setuid",
        ),
        (
            "folder with bytes",
            with(Part {
                content: b"x".to_vec(),
                ..Part::folder("sub/")
            }),
            "archive-header-mismatch",
        ),
    ];
    for (what, parts, code) in both {
        rows.push((what, zip(&parts), Zip, &["bin/a.exe"], code));
        rows.push((what, tar_gz(&parts), TarGz, &["bin/a.exe"], code));
    }
    for (what, kind, code) in [
        ("hard link", b'1', "archive-link"),
        ("character device", b'3', "archive-special"),
        ("block device", b'4', "archive-special"),
        ("fifo", b'6', "archive-special"),
        ("contiguous", b'7', "archive-special"),
        ("sparse", b'S', "archive-sparse"),
        ("unknown type", b'Z', "archive-special"),
    ] {
        rows.push((
            what,
            tar_gz(&with(Part {
                kind,
                ..Part::new("bin/s", b"")
            })),
            TarGz,
            &["bin/a.exe"],
            code,
        ));
    }
    for (what, mode) in [
        ("character device", 0o020_644),
        ("fifo", 0o010_644),
        ("socket", 0o140_644),
    ] {
        let parts = with(Part {
            mode,
            ..Part::new("bin/s", b"")
        });
        rows.push((what, zip(&parts), Zip, &["bin/a.exe"], "archive-special"));
    }
    let folder = with(Part {
        mode: 0o040_755,
        ..Part::new("sub", b"")
    });
    rows.push((
        "folder by mode alone",
        zip(&folder),
        Zip,
        &["bin/a.exe"],
        "archive-header-mismatch",
    ));
    check(rows, &Limits::default());
}

#[test]
fn wanted_members_that_are_not_as_wanted() {
    let mut rows: Vec<Row> = Vec::new();
    let top = vec![
        Part::folder("release/"),
        Part::new("release/bin/a.exe", b"x"),
    ];
    let folder = vec![Part::folder("bin/"), Part::folder("bin/a.exe/")];
    let implied = vec![Part::new("bin/a.exe/x", b"x")];
    for (what, parts, code) in [
        (
            "absent",
            vec![Part::new("other", b"x")],
            "archive-member-absent",
        ),
        (
            "other case",
            vec![Part::new("bin/A.EXE", b"x")],
            "archive-member-absent",
        ),
        ("other top-level folder", top, "archive-member-absent"),
        ("a folder", folder, "archive-member-not-file"),
        (
            "a folder of other entries",
            implied,
            "archive-member-not-file",
        ),
        ("no entries", vec![], "archive-member-absent"),
    ] {
        rows.push((what, zip(&parts), Zip, &["bin/a.exe"], code));
        rows.push((what, tar_gz(&parts), TarGz, &["bin/a.exe"], code));
    }
    check(rows, &Limits::default());
    let top = zip(&[Part::new("release/bin/a.exe", b"x")]);
    let said = take(&top, Zip, &["bin/a.exe"], &Limits::default())
        .expect_err("absent")
        .message;
    assert_eq!(
        said,
        "the archive has no member `bin/a.exe`; it has `release/bin/a.exe`"
    );
}

/// Bytes that do not get smaller.
fn noise(length: u32) -> Vec<u8> {
    (0..length)
        .map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[1])
        .collect()
}

#[test]
fn bombs() {
    let zeros = vec![0; 8 << 20];
    let bomb = |method| {
        vec![Part {
            method,
            ..Part::new("bin/a.exe", &zeros)
        }]
    };
    let nested = zip(&[Part {
        method: 8,
        ..Part::new("inner.zip", &zip(&bomb(8)))
    }]);
    check(
        vec![
            (
                "zip bomb",
                zip(&bomb(8)),
                Zip,
                &["bin/a.exe"],
                "archive-ratio",
            ),
            (
                "gzip bomb",
                tar_gz(&bomb(0)),
                TarGz,
                &["bin/a.exe"],
                "archive-ratio",
            ),
            (
                "gzip bomb behind",
                gzip(&[tar(&good()), zeros.clone()].concat()),
                TarGz,
                &["bin/a.exe"],
                "archive-ratio",
            ),
            (
                "gzip bomb that is no tar",
                gzip(&zeros),
                TarGz,
                &["bin/a.exe"],
                "archive-ratio",
            ),
        ],
        &Limits::default(),
    );
    let many: Vec<Part> = (0..4).map(|at| Part::new(format!("f{at}"), b"x")).collect();
    let two = vec![Part::new("a", &[1; 900]), Part::new("b", &[2; 900])];
    let lies = Part {
        size: Some(10),
        method: 8,
        ..Part::new("a", &[3; 900])
    };
    // A tar's headers and padding count, too.
    let small = Limits {
        entries: 3,
        entry: 1000,
        total: 1500,
        ratio: 250,
        path: 259,
    };
    let roomy = Limits {
        total: 2 << 20,
        ..small
    };
    check(
        vec![
            ("total", zip(&two), Zip, &["a", "b"], "archive-size"),
            ("total", tar_gz(&two), TarGz, &["a", "b"], "archive-size"),
        ],
        &small,
    );
    let name = Part {
        kind: b'L',
        ..Part::new("l", &noise(1 << 20))
    };
    check(
        vec![
            (
                "entry",
                zip(&[Part::new("a", &[1; 1001])]),
                Zip,
                &["a"],
                "archive-size",
            ),
            (
                "entry",
                tar_gz(&[Part::new("a", &[1; 1001])]),
                TarGz,
                &["a"],
                "archive-size",
            ),
            ("entries", zip(&many), Zip, &["f0"], "archive-entries"),
            ("entries", tar_gz(&many), TarGz, &["f0"], "archive-entries"),
            (
                "larger than declared",
                zip(&[lies]),
                Zip,
                &["a"],
                "archive-size",
            ),
            (
                "name of a megabyte",
                tar_gz(&[name]),
                TarGz,
                &["a"],
                "archive-name-length",
            ),
        ],
        &roomy,
    );
    // Nobody opens an archive inside of an archive: it is a file like any other.
    take(&nested, Zip, &["inner.zip"], &Limits::default()).expect("a file");
}

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
            ("empty", Vec::new(), Zip, wanted, "archive-format"),
            (
                "text",
                b"<html>log in</html>".to_vec(),
                Zip,
                wanted,
                "archive-format",
            ),
            (
                "tar.gz named zip",
                tar_gz(&good()),
                Zip,
                wanted,
                "archive-format",
            ),
            (
                "truncated",
                bytes[..bytes.len() - 30].to_vec(),
                Zip,
                wanted,
                "archive-truncated",
            ),
            (
                "end cut",
                bytes[..bytes.len() - 1].to_vec(),
                Zip,
                wanted,
                "archive-truncated",
            ),
            (
                "trailing garbage",
                [&bytes[..], b"x"].concat(),
                Zip,
                wanted,
                "archive-trailing-data",
            ),
            (
                "two zips",
                [&bytes[..], &bytes].concat(),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            ("stub in front", shifted, Zip, wanted, "archive-format"),
            (
                "bytes no entry owns",
                hole,
                Zip,
                wanted,
                "archive-hidden-data",
            ),
            (
                "wrong CRC",
                edit(&bytes, b"first content", b"First content"),
                Zip,
                wanted,
                "archive-checksum",
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
                "archive-encrypted",
            ),
            (
                "AES",
                zip(&[Part {
                    method: 99,
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-encrypted",
            ),
            (
                "bzip2",
                zip(&[Part {
                    method: 12,
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-method",
            ),
            ("overlapping", overlapping, Zip, wanted, "archive-overlap"),
            (
                "other name in front",
                edit(&bytes, b"bin/a.exe", b"bin/z.exe"),
                Zip,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "other method in front",
                patch(&bytes, LOCAL, 8, &[8]),
                Zip,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "other CRC in front",
                patch(&bytes, LOCAL, 14, &[1, 2, 3, 4]),
                Zip,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "other size in front",
                patch(&bytes, LOCAL, 22, &[1]),
                Zip,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "encryption in front alone",
                patch(&bytes, LOCAL, 6, &[1]),
                Zip,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "stored with two sizes",
                patch(&bytes, CENTRAL, 24, &[1]),
                Zip,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "stored with its size behind it",
                patch(&patch(&bytes, LOCAL, 6, &[8]), CENTRAL, 8, &[8]),
                Zip,
                wanted,
                "archive-ambiguous",
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
                "archive-truncated",
            ),
            (
                "more entries than said",
                patch(&bytes, END, 8, &[1, 0, 1, 0]),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "one part of many",
                patch(&bytes, END, 4, &[1]),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "disk of an entry",
                patch(&bytes, CENTRAL, 34, &[1]),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "disk of the directory",
                patch(&bytes, END, 6, &[255, 255]),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "another size in a zip64 field that is not asked for",
                zip(&[Part {
                    extra: vec![1, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0],
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-zip64",
            ),
            (
                "a comment that is no text",
                [&bytes[..bytes.len() - 2], &[1, 0, 0]].concat(),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "a type in an extra field",
                zip(&[Part {
                    extra: vec![0x6e, 0x75, 0, 0],
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "version 25.5 of the format",
                patch(&bytes, CENTRAL, 6, &[255]),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "zip64 promised",
                patch(&bytes, END, 16, &[255; 4]),
                Zip,
                wanted,
                "archive-zip64",
            ),
            (
                "zip64 size promised",
                patch(&bytes, CENTRAL, 24, &[255; 4]),
                Zip,
                wanted,
                "archive-zip64",
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
                "archive-header-mismatch",
            ),
            (
                "a second name in an extra field",
                zip(&[Part {
                    extra: second_name(b"bin/a.exe"),
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "another second name in an extra field",
                zip(&[Part {
                    extra: second_name(b"bin/b.exe"),
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-ambiguous",
            ),
            (
                "extra field too long",
                zip(&[Part {
                    extra: vec![1, 0, 9, 0, 1],
                    ..Part::new("bin/a.exe", b"x")
                }]),
                Zip,
                wanted,
                "archive-corrupt",
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
        vec![("two end records", two, Zip, wanted, "archive-ambiguous")],
        &Limits::default(),
    );
}

/// Info-ZIP's Unicode path: version, checksum of the other name, name.
fn second_name(name: &[u8]) -> Vec<u8> {
    let length = u8::try_from(5 + name.len()).expect("short");
    [&[0x75, 0x70, length, 0, 1, 0, 0, 0, 0], name].concat()
}

/// A program that unpacks takes members by their names.
#[test]
fn members_that_read_as_options_or_patterns_are_refused() {
    for (name, code) in [
        ("-C", "archive-name-option"),
        ("--checkpoint-action=exec", "archive-name-option"),
        ("@list", "archive-name-option"),
        ("bin/[ab].exe", "archive-name-wildcard"),
    ] {
        let parts = with(Part::new(name, b"x"));
        for (bytes, format) in [(zip(&parts), Zip), (tar_gz(&parts), TarGz)] {
            let error = take(&bytes, format, &[name], &Limits::default()).expect_err(name);
            assert_eq!(error.code.as_str(), code, "{name}: {}", error.message);
            // Where it is not used it does no harm.
            take(&bytes, format, &["bin/a.exe"], &Limits::default()).expect(name);
        }
    }
}

#[test]
fn damaged_and_ambiguous_tars() {
    let plain = tar(&good());
    let bytes = gzip(&plain);
    let half = plain.len() - 1024;
    let wanted: &[&str] = &["bin/a.exe"];
    let mut wrong_crc = bytes.clone();
    let at = wrong_crc.len() - 8;
    wrong_crc[at] ^= 1;
    let mut wrong_size = bytes.clone();
    let at = wrong_size.len() - 1;
    wrong_size[at] ^= 1;
    let mut wrong_method = bytes.clone();
    wrong_method[2] = 7;
    let pax = |content: &[u8]| {
        [
            good(),
            vec![
                Part {
                    kind: b'x',
                    ..Part::new("p", content)
                },
                Part::new("n", b"x"),
            ],
        ]
        .concat()
    };
    let global = with(Part {
        kind: b'g',
        ..Part::new("p", b"12 path=abc\n")
    });
    check(
        vec![
            (
                "zip named tgz",
                zip(&good()),
                TarGz,
                wanted,
                "archive-format",
            ),
            (
                "plain tar named tgz",
                plain.clone(),
                TarGz,
                wanted,
                "archive-format",
            ),
            (
                "truncated gzip",
                bytes[..bytes.len() / 2].to_vec(),
                TarGz,
                wanted,
                "archive-truncated",
            ),
            (
                "trailer cut",
                bytes[..bytes.len() - 3].to_vec(),
                TarGz,
                wanted,
                "archive-truncated",
            ),
            (
                "header cut",
                bytes[..7].to_vec(),
                TarGz,
                wanted,
                "archive-truncated",
            ),
            (
                "tar without end",
                gzip(&plain[..half]),
                TarGz,
                wanted,
                "archive-truncated",
            ),
            (
                "tar cut in an entry",
                gzip(&plain[..600]),
                TarGz,
                wanted,
                "archive-truncated",
            ),
            ("wrong CRC", wrong_crc, TarGz, wanted, "archive-checksum"),
            (
                "wrong length",
                wrong_size,
                TarGz,
                wanted,
                "archive-checksum",
            ),
            (
                "unknown method",
                wrong_method,
                TarGz,
                wanted,
                "archive-method",
            ),
            (
                "trailing garbage",
                [&bytes[..], b"x"].concat(),
                TarGz,
                wanted,
                "archive-trailing-data",
            ),
            (
                "concatenated",
                [&bytes[..], &gzip(b"more")].concat(),
                TarGz,
                wanted,
                "archive-gzip-members",
            ),
            (
                "bytes behind the tar",
                gzip(&[&plain[..], b"x"].concat()),
                TarGz,
                wanted,
                "archive-trailing-data",
            ),
            (
                "two tars",
                gzip(&[&plain[..], &plain].concat()),
                TarGz,
                wanted,
                "archive-trailing-data",
            ),
            (
                "entry behind one zero block",
                gzip(&[&plain[..half], &[0; 512], &plain].concat()),
                TarGz,
                wanted,
                "archive-trailing-data",
            ),
            (
                "header checksum",
                gzip(&edit(&plain, b"bin/b.exe", b"bin/c.exe")),
                TarGz,
                wanted,
                "archive-checksum",
            ),
            (
                "no tar",
                gzip(&[b'x'; 2048]),
                TarGz,
                wanted,
                "archive-checksum",
            ),
            (
                "sparse by PAX",
                tar_gz(&pax(b"22 GNU.sparse.major=1\n")),
                TarGz,
                wanted,
                "archive-sparse",
            ),
            (
                "star's second size",
                tar_gz(&pax(b"21 SCHILY.realsize=1\n")),
                TarGz,
                wanted,
                "archive-ambiguous",
            ),
            (
                "two sizes",
                tar_gz(&pax(b"10 size=9\n")),
                TarGz,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "size twice",
                tar_gz(&pax(b"10 size=1\n10 size=1\n")),
                TarGz,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "records damaged",
                tar_gz(&pax(b"99 path=x\n")),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "records without key",
                tar_gz(&pax(b"7 path\n")),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "global path",
                tar_gz(&global),
                TarGz,
                wanted,
                "archive-header-mismatch",
            ),
            (
                "name of nothing",
                tar_gz(&with(Part {
                    kind: b'L',
                    ..Part::new("l", b"name\0")
                })),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
        ],
        &Limits::default(),
    );
}
