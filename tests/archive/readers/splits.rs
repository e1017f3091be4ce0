//! Archives of which is known that readers differ.

use imagegen::windows::resource::ArchiveFormat::{self, TarGz, Zip};

use super::super::forge::{DESCRIBED, Part, zip};
use super::corpus::{Change, Draft, Place, build_draft, put_bytes};

pub fn list_splits() -> Vec<(Draft, ArchiveFormat)> {
    let draft = |format, title: &str, changes: &[Change]| {
        let bytes = build_draft(format, changes).bytes;
        let title = title.to_owned();
        (Draft { title, bytes }, format)
    };
    let field = |offset, new| Change::Field(Place::Tar, offset, new);
    let mut splits = vec![
        draft(
            TarGz,
            "a prefix of GNU",
            &[field(257, b"ustar  \0"), field(345, b"p")],
        ),
        draft(TarGz, "a size with a sign", &[field(124, b"+7\0")]),
        draft(
            TarGz,
            "global records between a header and its entry",
            &[
                Change::Record(b'x', "path", "c"),
                Change::Record(b'g', "comment", "x"),
            ],
        ),
        draft(TarGz, "a file with a slash", &[Change::Name("b/")]),
        draft(
            Zip,
            "a second name in an extra field",
            &[Change::Extra(b"\x75\x70\x06\0\x01\x85\x15\x76\x41\x63")],
        ),
    ];
    let hidden = Part::new("bin/a.exe", b"other content");
    let unsigned = Part {
        flags: DESCRIBED,
        mark: b"",
        ..Part::folder("doc/")
    };
    let marked = Part::new("notes", b"PK\x07\x08 and what follows it");
    for (title, parts) in [
        (
            "an entry inside of a file",
            vec![Part::new("README", b"read me").hiding(&hidden)],
        ),
        (
            "an entry inside of a folder",
            vec![Part::folder("doc/").hiding(&hidden)],
        ),
        (
            "a stored folder with sizes without signature",
            vec![unsigned, marked],
        ),
    ] {
        let title = title.to_owned();
        let bytes = zip(&parts);
        splits.push((Draft { title, bytes }, Zip));
    }
    // Another zip in the comment of the first.
    let (one, other) = (
        zip(&[Part::new("one", b"1")]),
        zip(&[Part::new("other", b"22")]),
    );
    let mut two = one.clone();
    let length = u16::try_from(other.len()).expect("short");
    put_bytes(&mut two, one.len() - 2, &length.to_le_bytes());
    two.extend(&other);
    splits.push((
        Draft {
            title: "a zip in the comment of another".to_owned(),
            bytes: two,
        },
        Zip,
    ));
    splits
}
