//! Folders of files of ours: replaced whole, and never over what is not ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use imagegen::io::fs::{PlaceError, place_directory};

fn files(content: &str) -> BTreeMap<String, Vec<u8>> {
    [
        ("a/b".to_owned(), content.as_bytes().to_vec()),
        ("c".to_owned(), b"c".to_vec()),
    ]
    .into()
}

fn names(path: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(path)
        .min_depth(1)
        .sort_by_file_name()
        .into_iter();
    entries
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .strip_prefix(path)
                .unwrap()
                .display()
                .to_string()
        })
        .collect()
}

#[test]
fn what_was_written_is_replaced_and_values_of_the_user_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    place_directory(&path, &files("1"), &["log"], &["result"], false).unwrap();
    fs::write(path.join(".imagegen.2147483600-x.partial"), "left").unwrap();
    fs::write(path.join("own.auto.pkrvars.json"), "{}").unwrap();
    fs::write(path.join("log"), "").unwrap();
    place_directory(&path, &files("2"), &["log"], &["result"], false).unwrap();
    assert_eq!(fs::read(path.join("a/b")).unwrap(), b"2");
    assert_eq!(
        names(&path),
        [".imagegen.sha256", "a", "a/b", "c", "own.auto.pkrvars.json"]
    );
    assert_eq!(
        names(folder.path())
            .iter()
            .filter(|name| !name.contains('/'))
            .count(),
        1
    );
    fs::write(path.join("result"), "").unwrap();
    assert!(matches!(
        place_directory(&path, &files("3"), &["log"], &["result"], false),
        Err(PlaceError::Result { .. })
    ));
    place_directory(&path, &files("3"), &["log"], &["result"], true).unwrap();
    assert!(!path.join("result").exists());
    // What this call does not write any more goes too.
    place_directory(
        &path,
        &[("c".to_owned(), b"d".to_vec())].into(),
        &[],
        &[],
        false,
    )
    .unwrap();
    assert_eq!(
        names(&path),
        [".imagegen.sha256", "c", "own.auto.pkrvars.json"]
    );
}

#[test]
fn what_others_wrote_or_changed_is_refused_even_by_force() {
    type Change = fn(&Path);
    let changes: &[(&str, Change)] = &[
        ("a file below a folder of ours", |path| {
            fs::write(path.join("a/mine"), "").unwrap();
        }),
        ("a file of ours that was edited", |path| {
            fs::write(path.join("a/b"), "edited").unwrap();
        }),
        ("a repository", |path| {
            fs::create_dir(path.join(".git")).unwrap();
        }),
        ("values in a folder", |path| {
            fs::write(path.join("a/x.auto.pkrvars.json"), "").unwrap();
        }),
        ("a folder in the place of a file", |path| {
            fs::remove_file(path.join("c")).unwrap();
            fs::create_dir(path.join("c")).unwrap();
        }),
        ("no list", |path| {
            fs::remove_file(path.join(".imagegen.sha256")).unwrap();
        }),
    ];
    for (title, change) in changes {
        for force in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("out");
            place_directory(&path, &files("1"), &[], &[], false).unwrap();
            change(&path);
            let before = names(&path);
            assert!(
                place_directory(&path, &files("2"), &[], &[], force).is_err(),
                "{title}, {force}"
            );
            assert_eq!(names(&path), before, "{title}, {force}");
        }
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("out"), folder.path().join("other"));
    place_directory(&other, &files("1"), &[], &[], false).unwrap();
    symlink(&other, &path).unwrap();
    assert!(matches!(
        place_directory(&path, &files("2"), &[], &[], true),
        Err(PlaceError::NotADirectory { .. })
    ));
    symlink("/etc/passwd", other.join("x.auto.pkrvars.json")).unwrap();
    assert!(place_directory(&other, &files("2"), &[], &[], true).is_err());
}
