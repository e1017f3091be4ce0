//! A folder to work in, and the programs that sign.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);

pub struct Bench {
    pub folder: PathBuf,
}

/// None where a program is absent, which is said; in continuous integration that is a failure.
pub fn bench(programs: &[&str]) -> Option<Bench> {
    for program in programs {
        if Command::new(program).arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI installs {program}");
            println!("skipped: needs {program}");
            return None;
        }
    }
    // Short, because the sockets of GnuPG's agent live below it.
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("imagegen-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    Some(Bench { folder })
}

impl Bench {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a program to its good end; what it printed.
    #[track_caller]
    pub fn run<'a>(&self, program: &str, arguments: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
        self.fed(program, arguments, b"")
    }

    #[track_caller]
    pub fn fed<'a>(
        &self,
        program: &str,
        arguments: impl IntoIterator<Item = &'a str>,
        input: &[u8],
    ) -> Vec<u8> {
        self.write("input", input);
        let output = Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .env("GNUPGHOME", self.path("gnupg"))
            .env("HOME", &self.folder)
            .env("LC_ALL", "C.UTF-8")
            .stdin(fs::File::open(self.path("input")).unwrap())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.path("gnupg").exists() {
            stop_agent(&self.path("gnupg"));
        }
        // A folder that stays behind harms nothing.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn stop_agent(home: &Path) {
    let _ = Command::new("gpgconf")
        .args(["--kill", "all"])
        .env("GNUPGHOME", home)
        .output();
}
