//! Copies of the prefix that `ci/programs/join/build` made.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use walkdir::{DirEntry, WalkDir};

use crate::support::link_file;

/// Makes a prefix like the template. Its folder of Windows is 700 MB, nearly all of it programs and libraries, which
/// nothing writes into: these are hard links.
pub fn copy_prefix(template: &Path, prefix: &Path) {
    let template = fs::canonicalize(template).expect("a prefix of Wine");
    for entry in WalkDir::new(&template) {
        let entry = entry.expect("an entry");
        let copy = prefix.join(entry.path().strip_prefix(&template).expect("below"));
        let kind = entry.file_type();
        if kind.is_dir() {
            fs::create_dir_all(copy).expect("a folder");
        } else if kind.is_symlink() {
            copy_link(&entry, &copy, prefix);
        } else if is_program(&entry) {
            link_file(entry.path(), &copy);
        } else {
            fs::copy(entry.path(), copy).expect("a copy");
        }
    }
}

fn is_program(entry: &DirEntry) -> bool {
    let end = entry.path().extension();
    end.is_some_and(|end| end == "dll" || end == "exe")
}

/// The folders of a user lead to the home of who made the prefix, which is the prefix itself.
fn copy_link(entry: &DirEntry, copy: &Path, prefix: &Path) {
    let is_home = entry
        .path()
        .components()
        .any(|part| part.as_os_str() == "users");
    let target = if is_home {
        prefix.to_owned()
    } else {
        fs::read_link(entry.path()).expect("a link")
    };
    symlink(target, copy).expect("a link");
}
