//! The bad inputs, one row each: what it is, the bytes, what is wanted, the code.

mod bombs;
mod tars;
mod zips;

use imagegen::verify::archive::Limits;
use imagegen::windows::resource::ArchiveFormat::{self, TarGz, Zip};

use super::forge::{Part, tar_gz, zip};
use super::take;
use crate::support::Test;

type Row = (
    &'static str,
    Vec<u8>,
    ArchiveFormat,
    &'static [&'static str],
    &'static str,
);

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

/// Code of archives that are read: what another reader makes of a member is refused in the guest, by its digest.
const GUEST: &str = "the guest compares digests";

fn check(rows: Vec<Row>, limits: &Limits) {
    let mut wrong = Vec::new();
    for (what, bytes, format, wanted, code) in rows {
        let found = match take(&bytes, format, wanted, limits) {
            Ok(found) => {
                assert_eq!(found.len(), wanted.len(), "{what}");
                GUEST
            }
            Err(error) => error.code.as_str(),
        };
        if found != code {
            wrong.push(format!("{what}: {found}, expected {code}"));
        } else if code != GUEST && limits.total == Limits::default().total {
            check_program(what, &bytes, format, wanted, code);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
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
    let other = ["archive-corrupt", "archive-member-not-file"].contains(&code);
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
        // The crate takes a line end for the end of a record.
        if !name.contains('\n') {
            rows.push(row(
                tar_gz(&[good(), vec![pax, Part::new("n", b"x")]].concat()),
                TarGz,
            ));
        }
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
                "archive-corrupt",
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
            GUEST,
        ),
        (
            "folder with bytes",
            with(Part {
                content: b"x".to_vec(),
                ..Part::folder("sub/")
            }),
            GUEST,
        ),
    ];
    let (what, dotted) = ("duplicate by ./", with(Part::new("./bin/a.exe", b"other")));
    rows.push((
        what,
        zip(&dotted),
        Zip,
        &["bin/a.exe"],
        "archive-name-traversal",
    ));
    rows.push((
        what,
        tar_gz(&dotted),
        TarGz,
        &["bin/a.exe"],
        "archive-duplicate",
    ));
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
        ("sparse", b'S', "archive-corrupt"),
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
        GUEST,
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
