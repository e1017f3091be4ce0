//! A Wine prefix as the machine that a plan is laid into.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use super::prefix::copy_prefix;
use super::registry::{Values, name_key, parse_value};

pub struct Wine {
    prefix: PathBuf,
    programs: PathBuf,
}

/// What Windows Server has and Wine lacks: its version, the identity of the machine, counters.
const WINDOWS: &str = r#"Windows Registry Editor Version 5.00

[HKEY_LOCAL_MACHINE\Software\Microsoft\Windows NT\CurrentVersion]
"ProductName"="Windows Server 2022 Datacenter"
"CurrentBuild"="20348"
"CurrentBuildNumber"="20348"
"CurrentVersion"="6.3"
"CurrentMajorVersionNumber"=dword:0000000a
"CurrentMinorVersionNumber"=dword:00000000
"UBR"=dword:00000971

[HKEY_LOCAL_MACHINE\System\HardwareConfig]
"LastConfig"="{5f9a3c1e-0000-4000-8000-000000000001}"

[HKEY_LOCAL_MACHINE\System\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters]
"BootId"=dword:00000001

[HKEY_CURRENT_USER\Software\Wine\DllOverrides]
"pdh"="native"
"powershell.exe"="native"
"wmic.exe"="native"
"#;

/// Windows' own programs and libraries that kubelet and kubeadm call.
const STAND_INS: &[(&str, &str)] = &[
    ("bcryptprimitives.dll", r"C:\windows\system32"),
    ("pdh.dll", r"C:\windows\system32"),
    ("vmcompute.dll", r"C:\windows\system32"),
    ("wmic.exe", r"C:\windows\system32\wbem"),
    (
        "powershell.exe",
        r"C:\windows\system32\WindowsPowerShell\v1.0",
    ),
];

/// A copy through a link would write to the prefix that all tests copy.
fn replace_file(from: &Path, to: &Path) {
    if to.symlink_metadata().is_ok() {
        fs::remove_file(to).unwrap();
    }
    fs::copy(from, to).unwrap();
}

impl Wine {
    pub fn new(prefix: &Path, programs: &Path) -> Self {
        copy_prefix(&programs.join("prefix"), prefix);
        let wine = Self {
            prefix: prefix.to_owned(),
            programs: programs.to_owned(),
        };
        for (name, folder) in STAND_INS {
            let folder = wine.path(folder);
            fs::create_dir_all(&folder).unwrap();
            replace_file(&programs.join(name), &folder.join(name));
        }
        wine.import(WINDOWS);
        // What Wine still does in the background is no work of the plan.
        wine.server("-w");
        wine
    }

    fn server(&self, option: &str) {
        // There may be none.
        let _ended = self.command(60, "wineserver").arg(option).status();
    }

    /// A path of Windows as the host has it, whatever its case.
    pub fn path(&self, path: &str) -> PathBuf {
        let relative = path
            .strip_prefix("C:\\")
            .or_else(|| path.strip_prefix("c:\\"))
            .unwrap_or(path);
        let mut folder = self.prefix.join("drive_c");
        for part in relative.split(['\\', '/']).filter(|part| !part.is_empty()) {
            let found = fs::read_dir(&folder).ok().and_then(|entries| {
                entries
                    .flatten()
                    .map(|entry| entry.file_name())
                    .find(|name| name.to_string_lossy().eq_ignore_ascii_case(part))
            });
            folder.push(found.unwrap_or_else(|| part.into()));
        }
        folder
    }

    /// A folder beside the drive, which goes when the value does.
    pub fn make_folder(&self) -> TempDir {
        TempDir::new_in(&self.prefix).expect("a folder")
    }

    /// A program of the test's own, on the machine.
    pub fn install(&self, name: &str, path: &str) {
        replace_file(&self.programs.join(name), &self.path(path));
    }

    pub fn command(&self, seconds: u32, program: &str) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", &seconds.to_string(), program])
            // kubeadm.exe writes to the current drive.
            .current_dir(self.prefix.join("drive_c"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.prefix)
            .env("WINEPREFIX", &self.prefix)
            .env("WINEDEBUG", "-all")
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=");
        command
    }

    pub fn run(&self, seconds: u32, arguments: &[&str]) -> Output {
        // Services that a program starts inherit its handles: a pipe would be open as long as they run.
        let said = self.prefix.join("said");
        let file = fs::File::create(&said).unwrap();
        let (program, arguments) = arguments.split_first().expect("a program");
        let status = self
            .command(seconds, "wine")
            .arg(find_program(program))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .status()
            .unwrap();
        Output {
            status,
            stdout: fs::read(said).unwrap(),
            stderr: Vec::new(),
        }
    }

    fn succeeds(&self, arguments: &[&str]) -> Output {
        let output = self.run(120, arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            super::text(&output)
        );
        output
    }

    /// A file of `reg.exe`.
    pub fn import(&self, text: &str) {
        let file = self.prefix.join("import.reg");
        let bytes: Vec<u8> = "\u{feff}"
            .chars()
            .chain(text.replace('\n', "\r\n").chars())
            .collect::<String>()
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        fs::write(&file, bytes).unwrap();
        self.succeeds(&[
            "reg",
            "import",
            &format!("Z:{}", file.to_str().unwrap().replace('/', "\\")),
        ]);
    }

    /// Values below a key by name, as `reg.exe` writes them: `TYPE DATA`.
    pub fn values(&self, key: &str) -> Values {
        let text = self.query(&name_key(key), &[]);
        text.lines().filter_map(parse_value).collect()
    }

    /// What `reg.exe` tells of a key; nothing where it fails, or tells no value. Wine's gives no answer now and then.
    pub fn query(&self, key: &str, options: &[&str]) -> String {
        for _ in 0..5 {
            let output = self.run(60, &[&["reg", "query", key], options].concat());
            let text = String::from_utf8_lossy(&output.stdout);
            if output.status.success() && text.lines().any(|line| parse_value(line).is_some()) {
                return text.into_owned();
            }
        }
        String::new()
    }

    /// Everything below C:\ in lower case, folders with a backslash at their end.
    pub fn snapshot(&self) -> Vec<String> {
        let drive = self.prefix.join("drive_c");
        let mut paths: Vec<String> = walkdir::WalkDir::new(&drive)
            .min_depth(1)
            .into_iter()
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry
                    .path()
                    .strip_prefix(&drive)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('/', "\\");
                let end = if entry.file_type().is_dir() { "\\" } else { "" };
                format!("c:\\{path}{end}").to_lowercase()
            })
            .collect();
        paths.sort();
        paths
    }

    /// Ends everything; the next program starts the services that start by themselves, the runtime's among them.
    pub fn reboot(&self, runtime: &str) {
        for option in ["-k", "-w"] {
            self.server(option);
        }
        for _ in 0..200 {
            let state = self.run(60, &["sc", "query", runtime]);
            if super::text(&state).contains("RUNNING") {
                return;
            }
        }
        panic!("{runtime} does not run:\n{}", super::logs(self));
    }

    /// Takes the first instance of a pipe, which Wine gives to the first client although nobody serves it.
    pub fn hold(&self, pipe: &str) -> Held {
        let program = self.programs.join("pipetest.exe");
        let mut child = self
            .command(600, "wine")
            .arg(program)
            .arg(pipe)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        assert!(line.starts_with("dial <nil>"), "{line}");
        Held(child)
    }
}

/// The path of a program that has a name alone. By the name Wine starts it through `start.exe`, which takes longer than
/// the program.
fn find_program(name: &str) -> String {
    if name.contains('\\') {
        name.to_owned()
    } else {
        format!(r"C:\windows\system32\{name}.exe")
    }
}

pub struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        self.server("-k");
    }
}
