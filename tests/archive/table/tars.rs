//! Damaged and ambiguous tar archives.

use imagegen::verify::archive::Limits;
use imagegen::windows::resource::ArchiveFormat::TarGz;

use super::{GUEST, check, good, with};
use crate::archive::forge::{Part, edit, gzip, tar, tar_gz, zip};

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
    let renamed = [
        good(),
        vec![
            Part {
                kind: b'x',
                ..Part::new("p", b"9 path=c\n")
            },
            Part {
                kind: 0,
                ..Part::new("s/", b"")
            },
        ],
    ]
    .concat();
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
                "archive-corrupt",
            ),
            (
                "plain tar named tgz",
                plain.clone(),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "truncated gzip",
                bytes[..bytes.len() / 2].to_vec(),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "trailer cut",
                bytes[..bytes.len() - 3].to_vec(),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "header cut",
                bytes[..7].to_vec(),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "tar without end",
                gzip(&plain[..half]),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "tar cut in an entry",
                gzip(&plain[..600]),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            ("wrong CRC", wrong_crc, TarGz, wanted, "archive-corrupt"),
            ("wrong length", wrong_size, TarGz, wanted, "archive-corrupt"),
            (
                "unknown method",
                wrong_method,
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "trailing garbage",
                [&bytes[..], b"x"].concat(),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "concatenated",
                [&bytes[..], &gzip(b"more")].concat(),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "bytes behind the tar",
                gzip(&[&plain[..], b"x"].concat()),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "two tars",
                gzip(&[&plain[..], &plain].concat()),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "entry behind one zero block",
                gzip(&[&plain[..half], &[0; 512], &plain].concat()),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "header checksum",
                gzip(&edit(&plain, b"bin/b.exe", b"bin/c.exe")),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "no tar",
                gzip(&[b'x'; 2048]),
                TarGz,
                wanted,
                "archive-corrupt",
            ),
            (
                "sparse by PAX",
                tar_gz(&pax(b"22 GNU.sparse.major=1\n")),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "star's second size",
                tar_gz(&pax(b"21 SCHILY.realsize=1\n")),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "two sizes",
                tar_gz(&pax(b"10 size=9\n")),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "size twice",
                tar_gz(&pax(b"10 size=1\n10 size=1\n")),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "records damaged",
                tar_gz(&pax(b"99 path=x\n")),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "records without key",
                tar_gz(&pax(b"7 path\n")),
                TarGz,
                wanted,
                GUEST,
            ),
            (
                "old folder behind another name",
                tar_gz(&renamed),
                TarGz,
                wanted,
                GUEST,
            ),
            ("global path", tar_gz(&global), TarGz, wanted, GUEST),
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
