//! Programs that run until the test ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct Daemons {
    folder: PathBuf,
    children: Vec<Child>,
}

impl Daemons {
    /// They run in this folder and write their logs there.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            children: Vec::new(),
        }
    }

    pub fn start(&mut self, program: &Path, arguments: &str) {
        let name = program.file_name().unwrap().to_str().unwrap();
        let log = fs::File::create(self.folder.join(format!("{name}.log"))).unwrap();
        let child = Command::new(program)
            .args(arguments.split_whitespace())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.children.push(child);
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
