//! What tests run: the real program in a folder of its own, with no environment but the test's.

pub mod archives;
pub mod passed;
pub mod planned;
pub mod powershell;
pub mod programs;
pub mod readme;
pub mod server;
pub mod targets;
pub mod verbs;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use imagegen::base::code::TABLES;
use serde_json::Value;

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A run of the program. Files are made first; the folder goes when the test ends.
#[must_use]
pub struct Test {
    pub folder: PathBuf,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

/// What a run said.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Test {
    pub fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("test folder");
        Self {
            folder,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
        }
    }

    pub fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(str::to_owned));
        self
    }

    /// A store that holds stand-ins for everything that `line` plans, with overrides that name them:
    /// then the run needs no network.
    pub fn stocked(mut self, line: &str) -> Self {
        let mut overrides = serde_json::Map::new();
        let mut waivers = Vec::new();
        for artifact in planned::list_artifacts(line).iter() {
            let component = artifact["component"].as_str().expect("component");
            let file = artifact["file"].as_str().expect("file");
            let content = archives::stand_in(artifact);
            let digest = imagegen::base::digest::sha256_hex(&content);
            self = self.bytes(
                &format!("store/objects/sha256/{}/{digest}", &digest[..2]),
                &content,
            );
            let url = format!("https://artifacts.example.com/{file}");
            overrides.insert(
                component.to_owned(),
                override_build(artifact, &url, &content),
            );
            waivers.extend(list_waivers(artifact));
        }
        self.env("IMAGEGEN_WAIVE", &waivers.join(","))
            .file(
                "overrides.json",
                &serde_json::Value::Object(overrides).to_string(),
            )
            .line("--offline --store store --overrides overrides.json")
    }

    /// Arguments split at blanks.
    pub fn line(self, line: &str) -> Self {
        self.args(line.split_whitespace())
    }

    pub fn file(self, name: &str, content: &str) -> Self {
        self.bytes(name, content.as_bytes())
    }

    pub fn bytes(self, name: &str, content: &[u8]) -> Self {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        fs::write(path, content).expect("file");
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Another run in the same folder, with its environment and other arguments. The folder goes with the first.
    pub fn bare(&self) -> Bare<'_> {
        Bare(self)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_imagegen"));
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .env("HOME", &self.folder)
            .env("PATH", "/usr/bin:/bin")
            // Few tests have Packer's publisher; those that have say so.
            .env("IMAGEGEN_FOR", "none")
            .envs(&self.environment);
        leave_waivers(&mut command);
        command
    }

    /// The program started by another one, behind these arguments of that one.
    pub fn started_by<S: AsRef<OsStr>>(
        &self,
        starter: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let inner = self.command();
        let environment = inner.get_envs();
        let mut command = Command::new(starter);
        command
            .args(arguments)
            .arg(inner.get_program())
            .args(inner.get_args())
            .current_dir(&self.folder)
            .env_clear()
            .envs(environment.filter_map(|(name, value)| Some((name, value?))));
        command
    }

    pub fn run(&self) -> Ran {
        self.run_with("")
    }

    /// The same run with more arguments, in the same folder.
    pub fn run_with(&self, line: &str) -> Ran {
        let mut command = self.command();
        command.args(line.split_whitespace());
        leave_waivers(&mut command);
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().expect("the program starts");
        Ran {
            code: status.code(),
            stdout: String::from_utf8(stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(stderr).expect("stderr is UTF-8"),
        }
    }

    #[track_caller]
    pub fn succeeds(&self) -> Ran {
        let ran = self.run();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran
    }

    /// Another run in the same folder, which succeeds, and what it prints.
    #[track_caller]
    pub fn prints(&self, line: &str) -> String {
        let mut command = self.command();
        command.args(line.split_whitespace());
        leave_waivers(&mut command);
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().expect("the program starts");
        assert!(
            status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&stderr)
        );
        String::from_utf8(stdout).expect("UTF-8")
    }

    /// The same, as JSON.
    #[track_caller]
    pub fn prints_json(&self, line: &str) -> Value {
        serde_json::from_str(&self.prints(line)).expect("JSON")
    }

    /// The run fails with this code and says each of these.
    #[track_caller]
    pub fn fails(&self, code: i32, said: &[&str]) -> Ran {
        let ran = self.run();
        assert_eq!(ran.code, Some(code), "{}\n{}", ran.stdout, ran.stderr);
        for part in said {
            assert!(ran.stderr.contains(part), "no `{part}` in:\n{}", ran.stderr);
        }
        ran
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("UTF-8")
    }

    pub fn exists(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }
}

/// See [`Test::bare`].
pub struct Bare<'a>(&'a Test);

impl Bare<'_> {
    pub fn run(&self, line: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_imagegen"));
        command
            .args(line.split_whitespace())
            .current_dir(&self.0.folder)
            .env_clear()
            .env("HOME", &self.0.folder)
            .env("PATH", "/usr/bin:/bin")
            .env("IMAGEGEN_FOR", "none")
            .envs(&self.0.environment);
        leave_waivers(&mut command);
        let output = command.output().expect("the program starts");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }

    /// It succeeds, and prints this.
    #[track_caller]
    pub fn prints(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        ran.stdout
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A folder that stays behind harms nothing.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A policy has waivers of its own, and those of the operator are an error beside it.
fn leave_waivers(command: &mut Command) {
    if command.get_args().any(|argument| argument == "--policy") {
        command.env_remove("IMAGEGEN_WAIVE");
    }
}

/// The override that takes a build of a provider's own: it states a digest for each that the catalog knows.
pub fn override_build(artifact: &Value, url: &str, bytes: &[u8]) -> Value {
    use imagegen::base::digest::{encode_hex, sha256_hex};
    let mut over = serde_json::json!({"url": url, "sha256": sha256_hex(bytes)});
    let known = artifact["digests"].as_array().into_iter().flatten();
    if { known }.any(|digest| digest["algorithm"] == "sha512") {
        let sha512 = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, bytes);
        over["sha512"] = encode_hex(sha512.as_ref()).into();
    }
    over
}

/// Values of `--waive` for what such an override drops.
pub fn list_waivers(artifact: &Value) -> Vec<String> {
    let proofs = list_proofs(artifact).into_iter();
    proofs
        .map(|(component, proof)| format!("{component}={proof}"))
        .collect()
}

/// Component and proof of each signature that an artifact of a plan declares.
fn list_proofs(artifact: &Value) -> Vec<(String, String)> {
    let component = artifact["component"].as_str().expect("component");
    let mut proofs = Vec::new();
    for signature in artifact["signatures"].as_array().into_iter().flatten() {
        let kind = signature["kind"].as_str().expect("kind");
        let kind = kind.trim_end_matches("-over-checksums");
        let kind = kind.replace("github-attestation", "attestation");
        proofs.push((component.to_owned(), kind));
    }
    if artifact["authenticode"].is_object() {
        proofs.push((component.to_owned(), "authenticode".to_owned()));
    }
    proofs
}

/// Waivers of a policy for all proofs that artifacts of a plan declare: stand-ins have none of them.
pub fn waive_proofs(plan: &str) -> Value {
    let artifacts = planned::list_artifacts(plan);
    artifacts
        .iter()
        .flat_map(list_proofs)
        .map(|(component, proof)| serde_json::json!({"component": component, "proof": proof}))
        .collect()
}

/// All files below a folder by relative path.
/// Without the list of what imagegen wrote there.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.expect("entry");
        if entry.file_type().is_file() && entry.file_name() != ".imagegen.sha256" {
            let name = entry
                .path()
                .strip_prefix(folder)
                .expect("below")
                .to_string_lossy()
                .replace('\\', "/");
            files.insert(name, fs::read(entry.path()).expect("file"));
        }
    }
    files
}

/// Sends a signal by its name, such as `-INT`.
pub fn send_signal(child: &Child, name: &str) {
    let mut kill = Command::new("kill");
    let sent = kill.args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// Bytes that do not get smaller.
pub fn noise(length: u32) -> Vec<u8> {
    (0..length)
        .map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[1])
        .collect()
}

/// One file under two names, or a copy on another file system.
pub fn link_file(from: &Path, to: &Path) {
    // A copy onto another name of the same file would empty it.
    assert!(!to.exists(), "{} is there", to.display());
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).expect("a copy");
    }
}

/// A script that is a program.
#[cfg(unix)]
pub fn write_program(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    fs::write(path, script).expect("program");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("mode");
}

/// The project's own folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The properties of each thing of a type that is on the machine of `plan --state --format json`.
pub fn present<'a>(machine: &'a Value, kind: &str) -> Vec<&'a Value> {
    let resources = machine["resources"].as_array().expect("resources").iter();
    let of_type = resources
        .filter(|it| it["type"] == kind)
        .map(|it| &it["properties"]);
    of_type
        .filter(|properties| properties["ensure"] != "absent")
        .collect()
}

/// Compares a text with its golden file; `UPDATE_GOLDEN=1` writes it.
#[track_caller]
pub fn golden(name: &str, actual: &str) {
    let path = root().join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        fs::write(&path, actual).expect("golden");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if expected != actual {
        let line = expected
            .lines()
            .zip(actual.lines())
            .position(|(a, b)| a != b);
        let at = line.unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
        panic!(
            "tests/golden/{name} differs from line {}:\n- {}\n+ {}\n(UPDATE_GOLDEN=1 writes it anew)",
            at + 1,
            expected.lines().nth(at).unwrap_or("(end)"),
            actual.lines().nth(at).unwrap_or("(end)")
        );
    }
}

/// A program that only some machines have. In CI its absence is a failure.
#[track_caller]
pub fn needs(variable: &str, what: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(path));
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI installs {what}; {variable} does not name it"
    );
    println!("skipped: needs {what} ({variable})");
    None
}

/// A program on the PATH. In CI its absence is a failure.
#[track_caller]
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI installs {name}");
        println!("skipped: needs {name}");
    }
    found
}

/// Runs openssl in a folder to its good end, with arguments that hold no blanks; what it printed.
#[track_caller]
pub fn openssl(folder: &Path, line: &str) -> String {
    let output = Command::new("openssl")
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("openssl starts");
    assert!(
        output.status.success(),
        "openssl {line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Exit codes with which an error or finding of this code can end.
pub fn exit_codes(code: &str) -> Vec<i32> {
    let rows = TABLES.iter().flat_map(|table| table.rows);
    let known = rows.filter(|(known, _)| known.as_str() == code);
    let mut codes: Vec<i32> = known
        .map(|(known, _)| known.class().exit_code().into())
        .collect();
    // The plan refuses such a URL before anything is downloaded.
    if code == "plain-http" {
        codes.push(3);
    }
    codes
}
