//! Verdicts of other people's programs on bytes that we make: the same programs say the same of the same bytes. CI keeps
//! what passed by the digest of everything that goes in, so that a change elsewhere does not ask them again. Without
//! `IMAGEGEN_TEST_PASSED`, the folder of what passed, each test asks them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use imagegen::base::digest::Digester;
use imagegen::base::value::PinAlgorithm;

use super::{files, root};

/// Everything that a verdict depends on.
pub struct Inputs {
    name: String,
    digester: Digester,
}

impl Inputs {
    pub fn new(name: &str) -> Self {
        let mut inputs = Self {
            name: name.to_owned(),
            digester: Digester::new(PinAlgorithm::Sha256),
        };
        inputs.add("name", name.as_bytes());
        inputs
    }

    /// The lengths keep one entry from another.
    pub fn add(&mut self, label: &str, bytes: &[u8]) {
        writeln!(self.digester, "{label} {}", bytes.len()).expect("a digest takes everything");
        self.digester.add(bytes);
    }

    pub fn add_files(&mut self, folder: &Path) {
        for (name, bytes) in files(folder) {
            self.add(&name, &bytes);
        }
    }

    /// What the test itself does: files and folders below `tests`, without what only people read.
    pub fn add_sources(&mut self, names: &[&str]) {
        for name in names {
            let path = root().join("tests").join(name);
            if path.is_dir() {
                for (name, bytes) in files(&path) {
                    if !name.ends_with("README.md") {
                        self.add(&name, &bytes);
                    }
                }
            } else {
                self.add(name, &fs::read(&path).expect("source of a test"));
            }
        }
    }

    /// A program, or the folder of some: by path, names and sizes, because the folder's own name says what it was built
    /// of.
    pub fn add_programs(&mut self, path: &Path) {
        self.add("path", path.as_os_str().as_encoded_bytes());
        for entry in walkdir::WalkDir::new(path).sort_by_file_name() {
            let entry = entry.expect("entry");
            let size = entry.metadata().expect("metadata").len();
            if entry.file_type().is_file() {
                let name = entry.path().as_os_str().as_encoded_bytes();
                self.add(&format!("size {size}"), name);
            }
        }
    }

    /// Runs the test, which panics if the verdict is not as it should be, unless it passed with the same inputs.
    pub fn judge(self, test: impl FnOnce()) {
        let kept = std::env::var_os("IMAGEGEN_TEST_PASSED").map(PathBuf::from);
        let Some(folder) = kept.filter(|folder| !folder.as_os_str().is_empty()) else {
            return test();
        };
        let digest = self.digester.finish();
        let path = folder.join(digest);
        if path.exists() {
            println!("passed before: {}", self.name);
            return;
        }

        test();
        fs::create_dir_all(&folder).expect("folder of what passed");
        fs::write(path, self.name + "\n").expect("note of what passed");
    }
}
