//! Every command of the README files and of each verb's help runs: the commands are read from the texts.
//!
//! There is no network here: what needs it ends with exit code 4, after everything else was right. Programs of
//! others, such as kubectl, are stand-ins.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{Test, files, root};

/// Files with commands.
const TEXTS: &[&str] = &[
    "README.md",
    "CONTRIBUTING.md",
    "manifests/README.md",
    "manifests/cluster/README.md",
    "manifests/policy/README.md",
    "manifests/trust/README.md",
    "packer/README.md",
    "provisioners/README.md",
    "provisioners/steps/README.md",
    "provisioners/node/README.md",
];

/// Programs that do nothing here. `kubeadm` prints a token.
const PROGRAMS: &[&str] = &["kubectl", "packer", "git", "kubeadm", "pwsh", "az"];

/// Beginnings of commands that are no commands of imagegen: they build the program itself, run its
/// tests, or are in an archive that a build writes.
const SKIPPED: &[&str] = &[
    "git clone",
    "cargo ",
    "ci/check",
    "ci/first-hour",
    "ci/measure/measure",
    "UPDATE_GOLDEN",
    "rustup ",
    "imagegen build new",
    "bash make-disc.sh",
    // Two versions of a lockfile, a repository and an image; tests/evidence has them.
    "imagegen diff",
    "imagegen sbom",
    "imagegen attest",
    "imagegen history",
    // Records of builds; tests/publish has them.
    "imagegen test-clone",
    "imagegen promote",
    "imagegen retire",
    "imagegen report",
    "imagegen verify imagegen-out",
];

/// Exit codes that a command of this beginning may have beside 0, and why.
const EXCEPTIONS: &[(&str, i32, &str)] = &[
    ("imagegen build", 4, "artifacts come from the network"),
    ("imagegen lock", 4, "proofs come from the network"),
    ("imagegen fetch", 4, "artifacts come from the network"),
    (
        "imagegen outdated",
        4,
        "release lists come from the network",
    ),
    (
        "imagegen bundle create",
        4,
        "artifacts come from the network",
    ),
    (
        "imagegen pin",
        4,
        "the publisher's file comes from the network",
    ),
    (
        "imagegen verify",
        5,
        "the files are stand-ins and carry no such proof",
    ),
    (
        "imagegen verify imagegen.lock.json",
        2,
        "the text says that a lockfile alone proves nothing",
    ),
    (
        "imagegen verify imagegen.lock.json --proofs",
        3,
        "the folder has no proofs",
    ),
    (
        "imagegen init",
        3,
        "there is no terminal for its questions, or the file is there",
    ),
    ("imagegen doctor", 3, "a variable is missing"),
    ("imagegen bundle verify", 5, "the bundle is a stand-in"),
    ("imagegen bundle extract", 5, "the bundle is a stand-in"),
];

/// The commands of fenced `sh` blocks, and of code spans that begin with `imagegen`.
fn commands_of_markdown(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, "```sh") => block = Some(String::new()),
            (Some(content), "```") => {
                commands.extend(join_lines(content));
                block = None;
            }
            (Some(content), line) => content.extend([line, "\n"]),
            (None, line) => {
                let spans = line
                    .split('`')
                    .skip(1)
                    .step_by(2)
                    .filter(|span| span.starts_with("imagegen "));
                commands.extend(spans.filter(|span| is_concrete(span)).map(str::to_owned));
            }
        }
    }
    commands
}

/// A span with a placeholder is a form, not a command.
fn is_concrete(span: &str) -> bool {
    let is_placeholder = |word: &str| {
        let word = word.trim_matches(|c: char| "[]=".contains(c));
        word.len() > 1
            && word
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let words: Vec<&str> = span.split([' ', '=']).collect();
    words.len() > 2 && !span.contains('…') && !words.into_iter().any(is_placeholder)
}

/// Lines with their continuations and without comments.
fn join_lines(block: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut open = String::new();
    for line in block.lines() {
        let line = line.split(" # ").next().unwrap_or_default().trim();
        match line.strip_suffix('\\') {
            Some(part) => open += part,
            None => commands.push(std::mem::take(&mut open) + line),
        }
    }
    commands.retain(|command| !command.is_empty() && !command.starts_with('#'));
    commands
}

/// The examples at the end of a help text; explanations stand behind three blanks.
fn commands_of_help(text: &str) -> Vec<String> {
    let Some((_, examples)) = text
        .split_once("Examples:\n")
        .or_else(|| text.split_once("Example:\n"))
    else {
        return Vec::new();
    };
    let examples = examples.split("\n\n").next().unwrap_or_default();
    let mut block = String::new();
    for line in examples.lines() {
        let continues = block.ends_with("\\\n");
        if continues || line.starts_with("  ") && !line.starts_with("   ") {
            let line = line.trim();
            let _ = writeln!(block, "{}", line.split("   ").next().unwrap_or(line));
        }
    }
    join_lines(&block)
}

/// What the texts take for granted: definitions, a lockfile, keys, a CA, a token, files to verify, programs.
fn prepare_folder() -> Test {
    static MADE: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    let mut test = Test::new();
    for (name, bytes) in MADE.get_or_init(|| files(&write_inputs().folder)) {
        test = test.bytes(name, bytes);
    }
    write_programs(&test.folder.join("bin"));
    test
}

fn write_inputs() -> Test {
    let definition = r#"{"target": "azure", "kubernetes": "1.36.0", "variables": {"location": "westeurope",
        "managed_image_resource_group_name": "images"}}"#;
    let hash =
        fs::read_to_string(root().join("tests/fixtures/cluster-ca.sha256")).expect("fixture");
    let hash = format!("sha256:{}", hash.trim());
    let cluster =
        serde_json::json!({"endpoint": "api.example.com:6443", "caCertHashes": [hash]}).to_string();
    let digest = imagegen::base::digest::sha256_hex(b"stand-in");
    let test = Test::new()
        .file("image.json", definition)
        .file(
            "imagegen.json",
            r#"{"target": "host", "kubernetes": "1.36.0"}"#,
        )
        .file("policy.json", r#"{"name": "ours"}"#)
        .file("cluster.json", &cluster)
        .file("kubelet.exe", "stand-in")
        .file("kubelet.exe.sha256", &format!("{digest}  kubelet.exe\n"))
        .file("kubelet.exe.sig", "AAAA")
        .file("kube-log-runner.exe", "stand-in")
        .file("setup.msi", "stand-in")
        .file("tools.zip", "stand-in")
        .file("node.zip", "PK\u{3}\u{4}stand-in")
        .file("win.iso", "stand-in")
        .file("windows.iso", "stand-in")
        .file("token", "abcdef.0123456789abcdef\n");
    for (name, source) in [
        ("ca.crt", "cluster-ca.pem"),
        ("cosign.pub", "cluster-ca.pem"),
    ] {
        let path = root().join("tests/fixtures").join(source);
        fs::copy(path, test.folder.join(name)).expect("fixture");
    }
    let line = "req -x509 -newkey rsa:2048 -nodes -keyout signer.key -out signer.pem -subj";
    let key = Command::new("openssl")
        .args(line.split(' '))
        .arg("/O=Example Provider/CN=Example Provider")
        .current_dir(&test.folder)
        .output();
    assert!(
        key.is_ok_and(|it| it.status.success()),
        "openssl makes a key"
    );
    test.prints("lock --config image.json");
    test.prints("lock --config imagegen.json --lock host.lock.json");
    test
}

fn write_programs(folder: &Path) {
    fs::create_dir_all(folder).expect("folder");
    for name in PROGRAMS {
        let text = "#!/bin/sh\necho abcdef.0123456789abcdef\n";
        let path = folder.join(name);
        fs::write(&path, text).expect("program");
        make_executable(&path);
    }
    // Without network, a verb that downloads ends at once instead of trying again.
    let text = format!(
        "#!/bin/sh\ncase \" $* \" in *' --offline '* | *' --help '*) ;; *) case \"$1 $2\" in\n\
         build* | lock* | fetch* | outdated* | pin* | 'bundle create') set -- \"$@\" --offline ;;\n\
         esac ;; esac\nexec {} \"$@\"\n",
        env!("CARGO_BIN_EXE_imagegen")
    );
    let path = folder.join("imagegen");
    fs::write(&path, text).expect("program");
    make_executable(&path);
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("mode");
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

/// Runs a command as a shell does; its exit code and what it said.
fn run_command(test: &Test, command: &str) -> (i32, String) {
    let path = format!("{}:/usr/bin:/bin", test.folder.join("bin").display());
    let variables = "--var location=westeurope --var managed_image_resource_group_name=images";
    // `…` stands for what the reader fills in: the variables of the target, or a secret.
    let command = match command.strip_suffix(" …") {
        Some(start) if start.contains("--target azure") => format!("{start} {variables}"),
        Some(start) => start.to_owned(),
        None => command.replace("JOIN_TOKEN=…", "JOIN_TOKEN=abcdef.0123456789abcdef"),
    };
    let digest = imagegen::base::digest::sha256_hex(b"stand-in");
    let command = command
        .replace(
            "windows_iso_sha256=…",
            &format!("windows_iso_sha256={digest}"),
        )
        .replace("PKR_VAR_username=…", "PKR_VAR_username=builder")
        .replace("PKR_VAR_password=…", "PKR_VAR_password=stand-in");
    let command = command
        .replace("/srv/mirror", "mirror")
        .replace("/var/cache/imagegen", "store");
    let output = Command::new("sh")
        .args(["-c", &command])
        .current_dir(&test.folder)
        .env_clear()
        .env("PATH", path)
        .env("HOME", &test.folder)
        .env("IMAGEGEN_STORE", test.folder.join("store"))
        .env("IMAGEGEN_FOR", "none")
        .env("PROFILE", test.folder.join("profile.ps1"))
        .output()
        .expect("sh starts");
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn is_expected(command: &str, code: i32) -> bool {
    let mut parts = command
        .split(" && ")
        .map(|part| part.find("imagegen ").map_or(part, |at| &part[at..]));
    let is_exception = |part: &str| {
        EXCEPTIONS
            .iter()
            .any(|(begin, other, _)| *other == code && part.starts_with(begin))
    };
    code == 0 || parts.any(is_exception)
}

fn check_commands(texts: &BTreeMap<String, Vec<String>>, least: usize) {
    check_commands_with(texts, least, |_, test| test);
}

/// As [`check_commands`], with what a text adds to its folder.
fn check_commands_with(
    texts: &BTreeMap<String, Vec<String>>,
    least: usize,
    add: impl Fn(&str, Test) -> Test,
) {
    let mut count = 0;
    let mut wrong = String::new();
    for (name, commands) in texts {
        let test = add(name, prepare_folder());
        for command in commands
            .iter()
            .filter(|it| !SKIPPED.iter().any(|begin| it.starts_with(begin)))
        {
            count += 1;
            let lock = test.folder.join("imagegen.lock.json");
            if command.contains("lock.json")
                || command.contains("--locked")
                || command.contains("bundle create")
            {
                fs::copy(test.folder.join("host.lock.json"), &lock).expect("lockfile");
            }
            let (code, said) = run_command(&test, command);
            let _ = fs::remove_file(lock);
            if !is_expected(command, code) {
                let _ = writeln!(wrong, "{name}: $ {command}\n{said}exit code {code}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= least, "only {count} commands were found");
}

#[cfg(unix)]
#[test]
fn commands_of_the_readme_files_run() {
    let read = |name: &&str| fs::read_to_string(root().join(name)).unwrap_or_default();
    let texts = TEXTS
        .iter()
        .map(|name| ((*name).to_owned(), commands_of_markdown(&read(name))));
    check_commands(&texts.collect(), 20);
}

/// A topic shows files that its commands use: a definition, or a step.
fn write_shown_files(name: &str, test: Test) -> Test {
    let text = fs::read_to_string(root().join("help").join(name)).expect("topic");
    let mut test = test;
    for block in text.split("```json\n").skip(1) {
        let file = block.split("```").next().expect("a block");
        let value: serde_json::Value = serde_json::from_str(file).expect("JSON");
        let path = match value["id"].as_str() {
            Some(id) => format!("steps/910-{id}.json"),
            None => "imagegen.json".to_owned(),
        };
        test = test.file(&path, file);
    }
    test
}

/// The program prints each topic as its file has it, and what the topic shows works.
#[cfg(unix)]
#[test]
fn commands_of_the_help_topics_run() {
    let mut texts = BTreeMap::new();
    for (name, text) in crate::support::files(&root().join("help")) {
        let text = String::from_utf8(text).expect("UTF-8");
        let topic = name.strip_suffix(".md").expect("Markdown");
        let printed = Test::new().prints(&format!("help {topic}"));
        assert_eq!(printed.trim_end(), text.trim_end());
        texts.insert(name, commands_of_markdown(&text));
    }
    check_commands_with(&texts, 25, write_shown_files);
}

#[test]
fn topics_are_listed_and_the_nearest_is_suggested() {
    let topics = imagegen::cli::list_topics();
    assert!(topics.len() >= 5, "{topics:?}");
    let listed = format!("TOPIC`: {}.", topics.join(", "));
    for line in ["help", "--help"] {
        let printed = Test::new().prints(line);
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(&listed), "{line}: {printed}");
    }
    assert!(Test::new().prints("help air gap").starts_with("# Air gap"));
    assert!(Test::new().prints("help Trust").starts_with("# Trust"));
    // A verb is a verb, and a topic no verb.
    assert!(
        Test::new()
            .prints("help build")
            .contains("Usage: imagegen build")
    );
    for (line, part) in [
        ("help trsut", "trust"),
        ("help own-contents", "own-content"),
        ("help nothing-like-this", "the topics are air-gap"),
        ("help biuld", "build"),
    ] {
        let ran = Test::new().line(line).run();
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.stdout);
        assert!(ran.stderr.contains(part), "{line}: {}", ran.stderr);
    }
    assert_eq!(Test::new().line("trust").run().code, Some(2));
}

#[cfg(unix)]
#[test]
fn commands_of_each_help_run() {
    let files = crate::support::files(&root().join("tests/golden/help"));
    let texts = files.into_iter().map(|(name, text)| {
        let commands = commands_of_help(&String::from_utf8_lossy(&text));
        (name, commands)
    });
    check_commands(&texts.collect(), 35);
}

#[test]
fn commands_are_found_in_their_texts() {
    let markdown = "Run `imagegen list targets`, or `imagegen explain NAME`.\n```sh\nimagegen plan \\\n    --k8s 1.36   # why\n# no\n```\n";
    assert_eq!(
        commands_of_markdown(markdown),
        ["imagegen list targets", "imagegen plan --k8s 1.36"]
    );
    let help = "Options:\n\nExamples:\n  imagegen schema                list them\n  imagegen plan \\\n      --k8s 1.36\n";
    assert_eq!(
        commands_of_help(help),
        ["imagegen schema", "imagegen plan --k8s 1.36"]
    );
}

/// File and name of the test that a sentence ends with: ``(`tests/x.rs`: `name`)``.
fn parse_test(sentence: &str) -> Option<(&str, &str)> {
    let (text, named) = sentence.rsplit_once(" (`")?;
    let (file, name) = named.strip_suffix("`)")?.split_once("`: `")?;
    text.ends_with('.').then_some((file, name))
}

/// Each sentence about a party is a test: a sentence without one, or with one that is gone, is no promise.
#[test]
fn each_sentence_about_a_party_names_its_test() {
    let text = fs::read_to_string(root().join("SECURITY.md")).expect("SECURITY.md");
    let (_, section) = text
        .split_once("## What each party can do at most\n")
        .expect("the section");
    let section = section.split("\n## ").next().expect("a section");
    let sentences: Vec<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("* "))
        .collect();
    assert!(sentences.len() >= 20, "{}", sentences.len());
    assert_eq!(section.matches("\n**").count(), 7, "parties");
    let mut named = std::collections::BTreeSet::new();
    for sentence in sentences {
        let (file, name) = parse_test(sentence).unwrap_or_else(|| panic!("no test: {sentence}"));
        assert!(named.insert(name), "{name} proves one sentence");
        let code = fs::read_to_string(root().join(file)).unwrap_or_else(|_| panic!("{file}"));
        let place = code.find(&format!("fn {name}()"));
        let before = &code[..place.unwrap_or_else(|| panic!("{file} has no test {name}"))];
        let marked = before.rfind("#[test]").expect("a test");
        assert!(
            !before[marked..].contains("\nfn "),
            "{name} of {file} is no test"
        );
    }
}
