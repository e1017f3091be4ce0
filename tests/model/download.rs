//! Sizes of downloads.

use imagegen::base::download::DownloadSize;

#[test]
fn an_unknown_size_is_never_nothing() {
    for (sizes, expected) in [
        (vec![], "nothing"),
        (vec![None], "1 file of unknown size"),
        (vec![Some(0)], "1 file, 0.0 MB"),
        (vec![Some(1), Some(2_000_000)], "2 files, 2.1 MB"),
        (
            vec![None, Some(5_000_000), None],
            "1 file, 5.0 MB; 2 files of unknown size",
        ),
    ] {
        assert_eq!(DownloadSize::sum(sizes.into_iter()).to_string(), expected);
    }
}
