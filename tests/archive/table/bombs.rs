//! Archives that are larger than they look.

use imagegen::verify::archive::Limits;
use imagegen::windows::resource::ArchiveFormat::{TarGz, Zip};

use super::{check, good};
use crate::archive::forge::{Part, gzip, tar, tar_gz, zip};
use crate::archive::take;
use crate::support::noise;

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
                "archive-corrupt",
            ),
            (
                "name of a megabyte",
                tar_gz(&[name]),
                TarGz,
                &["a"],
                "archive-size",
            ),
        ],
        &roomy,
    );
    // Nobody opens an archive inside of an archive: it is a file like any other.
    take(&nested, Zip, &["inner.zip"], &Limits::default()).expect("a file");
}
