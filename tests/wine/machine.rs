//! One Wine prefix for all cases, with the program of `native.c` on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::root;

/// The tools that the cases need.
const TOOLS: [&str; 3] = ["wine", "x86_64-w64-mingw32-gcc", "msibuild"];
const POWERSHELL: &str = r"C:\windows\system32\WindowsPowerShell\v1.0\powershell.exe";

pub(super) struct Machine {
    prefix: TempDir,
    /// Wine ends its services with the last program, so one program waits for the end of the test.
    waiting: Option<Child>,
}

/// Exit code and text of a program. An exit code has the lower eight bits alone.
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) text: String,
}

/// Whether every tool is there; one that is missing is printed.
pub(super) fn has_tools() -> bool {
    let missing = TOOLS.into_iter().find(|tool| !has_tool(tool));
    if let Some(tool) = missing {
        println!("skipped: needs wine and its tools ({tool})");
    }
    missing.is_none()
}

/// Wine's own words.
pub(super) fn read_version() -> Vec<u8> {
    let output = Command::new("wine").arg("--version").output();
    output.expect("wine").stdout
}

impl Machine {
    pub(super) fn start() -> Self {
        let mut machine = Self {
            prefix: TempDir::new().expect("a folder"),
            waiting: None,
        };
        fs::create_dir_all(machine.prefix.path().join("drive_c")).expect("a drive");
        let ran = machine.run("cmd", &["/c", "ver"]);
        assert_eq!(ran.code, 0, "a prefix: {}", ran.text);
        machine.install_programs();
        let child = machine
            .command("wine")
            .args([r"C:\native.exe", "wait"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        machine.waiting = Some(child.expect("wine"));
        machine
    }

    fn install_programs(&self) {
        let native = self.path(r"C:\native.exe");
        let compiled = Command::new("x86_64-w64-mingw32-gcc")
            .args(["-Wall", "-Wextra", "-Werror", "-O1", "-s", "-o"])
            .arg(&native)
            .arg(root().join("tests/wine/native.c"))
            .output()
            .expect("a compiler");
        assert!(
            compiled.status.success(),
            "{}",
            String::from_utf8_lossy(&compiled.stderr)
        );

        let powershell = self.path(POWERSHELL);
        fs::create_dir_all(powershell.parent().expect("a folder")).expect("a folder");
        // A copy through the link of a prefix would write to Wine itself; there may be none.
        let _ = fs::remove_file(&powershell);
        fs::copy(native, powershell).expect("a copy");
    }

    /// A path of drive C: as the host has it.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        let inner = path.strip_prefix(r"C:\").expect("a path of drive C:");
        let drive = self.prefix.path().join("drive_c");
        inner
            .split('\\')
            .fold(drive, |folder, part| folder.join(part))
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(path), content).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", "120", program])
            .current_dir(self.prefix.path().join("drive_c"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.prefix.path())
            .env("WINEPREFIX", self.prefix.path())
            .env("WINEDEBUG", "-all")
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=;powershell.exe=n");
        command
    }

    /// A program of Wine, or one of drive C:.
    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> Ran {
        // A service that a program starts would hold a pipe open: the text goes to a file.
        let path = self.prefix.path().join("text");
        let file = fs::File::create(&path).expect("a file");
        let status = self
            .command("wine")
            .arg(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a file"))
            .stderr(file)
            .status()
            .expect("wine");
        let bytes = fs::read(&path).expect("a text");
        Ran {
            code: status.code().expect("an exit code"),
            text: String::from_utf8_lossy(&bytes).replace('\r', ""),
        }
    }

    /// The line that a call of `native.c` prints.
    pub(super) fn call(&self, words: &[&str]) -> String {
        let ran = self.run(r"C:\native.exe", words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.text);
        ran.text.trim_end_matches('\n').to_owned()
    }

    /// A whole command line, as .NET hands it to Windows.
    pub(super) fn run_line(&self, line: &str) -> Ran {
        self.write(r"C:\line.txt", line);
        self.run(r"C:\native.exe", &["run", r"C:\line.txt"])
    }

    /// A script of cmd.
    pub(super) fn run_script(&self, text: &str) -> Ran {
        self.write(r"C:\script.cmd", text.replace('\n', "\r\n"));
        self.run("cmd", &["/c", r"C:\script.cmd"])
    }

    /// Asks a service for its state until it has it: starting and stopping go on after the call. Of many calls on a
    /// busy machine Wine may fail to start one, which says nothing of the service.
    pub(super) fn wait_for(&self, service: &str, state: &str) {
        for _ in 0..100 {
            let ran = self.run(r"C:\native.exe", &["query-service", service]);
            if ran.code == 0 && ran.text.trim_end() == state {
                return;
            }
        }
        panic!("{service}: {}", self.call(&["query-service", service]));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The program may have ended by itself, and there may be no server.
        if let Some(child) = &mut self.waiting {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = self.command("wineserver").arg("-k").status();
        let _ = self.command("wineserver").arg("-w").status();
    }
}

fn has_tool(name: &str) -> bool {
    let folders = ["/usr/bin", "/bin", "/usr/local/bin"];
    folders.iter().any(|it| Path::new(it).join(name).exists())
}
