//! Wine's own programs and calls as a second opinion on what the guest's abilities ask of Windows.
//!
//! `tests/guest/laws.json` names these cases. A case that begins with `differs: ` shows something that Wine is known
//! to do otherwise than Windows, so that the list of differences stays true.

mod launcher;
mod machine;
mod package;
mod services;

use std::panic::{AssertUnwindSafe, catch_unwind};

use imagegen::windows::command_line::join_words;
use launcher::launch_with_file;
use machine::{Machine, has_tools, read_version};
use package::make_package;
use regex_lite::{Captures, Regex};
use services::SERVICES;

use crate::support::passed::Inputs;
use crate::support::root;

type Case = (&'static str, fn(&Machine));

/// Everything but services. All run on one machine, one after the other, because a prefix takes seconds to make.
const CASES: &[Case] = &[
    (
        "words of a command line come back as they were",
        split_words,
    ),
    ("cmd hands words on as they were", hand_words_to_cmd),
    ("a negative exit code is not at least 1", end_below_zero),
    (
        "differs: what follows || runs after a success, too",
        go_on_after_success,
    ),
    (
        "setup-complete.cmd starts nothing after a first boot that failed",
        complete_setup,
    ),
    (
        "the disc trusts its signer and starts its scripts as they are signed",
        complete_disc,
    ),
    ("differs: IF takes /id for its option /i", read_option_of_if),
    (
        "differs: percent signs of a value are expanded again",
        expand_twice,
    ),
    (
        "the launcher hands on the arguments of the file",
        launch_with_file,
    ),
    ("a copy is read-only like its source", copy_read_only),
    ("a read-only file is not deleted", delete_read_only),
    (
        "differs: a read-only file is replaced and written",
        replace_read_only,
    ),
    (
        "a package gets its properties and leaves a log",
        install_package,
    ),
    ("a package that is not there fails", install_absent_package),
    ("a task without encoding is taken", create_plain_task),
    (
        "a task that is not there cannot be removed by schtasks",
        delete_absent_task,
    ),
    (
        "differs: a task whose XML says UTF-8 is taken",
        create_utf8_task,
    ),
    (
        "differs: icacls, netsh, secedit and shutdown do nothing",
        call_stubs,
    ),
];

/// Names of all cases here, which `laws.json` points to. `tests/wine/guest` has others, which scripts of the guest show by
/// themselves.
pub fn list_cases() -> Vec<&'static str> {
    let all = CASES.iter().chain(SERVICES);
    all.map(|(name, _)| *name).collect()
}

#[test]
fn abilities_do_under_wine_what_the_laws_say() {
    if !has_tools() {
        return;
    }
    let mut inputs = Inputs::new("abilities of Windows");
    inputs.add_sources(&["wine", "wine.rs", "join", "join.rs", "support"]);
    inputs.add_files(&root().join("provisioners"));
    inputs.add_files(&root().join("src/windows"));
    inputs.add("wine", &read_version());
    inputs.judge(|| check_abilities(&Machine::start()));
}

fn check_abilities(machine: &Machine) {
    let mut failed = Vec::new();
    for (name, case) in CASES.iter().chain(SERVICES) {
        if catch_unwind(AssertUnwindSafe(|| case(machine))).is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn guest_script(name: &str) -> String {
    let path = root().join("provisioners").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `Join-Argument` with the patterns that stand in the script.
fn join_arguments(words: &[&str]) -> String {
    let script = guest_script("engine/Native.ps1");
    let body = script.split("function Join-Argument {").nth(1).unwrap();
    let body = body.split("\n}\n").next().unwrap();
    let quoted = Regex::new(r"-notmatch '([^']+)'").unwrap();
    let quoted = Regex::new(&quoted.captures(body).unwrap()[1]).unwrap();
    let steps: Vec<(Regex, String)> = Regex::new(r"-replace '([^']+)', '([^']+)'")
        .unwrap()
        .captures_iter(body)
        .map(|found| (Regex::new(&found[1]).unwrap(), found[2].to_owned()))
        .collect();
    assert_eq!(steps.len(), 2);

    let mut line = Vec::new();
    for word in words {
        let mut text = (*word).to_owned();
        if text.is_empty() || quoted.is_match(&text) {
            for (pattern, replacement) in &steps {
                text = pattern.replace_all(&text, replacement).into_owned();
            }
            text = format!("\"{text}\"");
        }
        line.push(text);
    }
    line.join(" ")
}

const WORDS: [&str; 12] = [
    "plain",
    "",
    "a b",
    r"C:\Program Files\x\",
    r"C:\x\",
    r#"say "hello""#,
    r#"\" \\" \\\"#,
    r"\\server\share a\",
    "--taints=key=value:NoSchedule,other=:NoExecute",
    "tab\there",
    "caf\u{e9} \u{4e2d}",
    "%PATH% & | < > ^",
];

fn split_words(machine: &Machine) {
    let owned: Vec<String> = WORDS.iter().map(|word| (*word).to_owned()).collect();
    let lines = [
        format!("x.exe {}", join_arguments(&WORDS)),
        join_words("x.exe", &owned),
    ];
    machine.write(r"C:\lines.txt", lines.join("\n"));
    let expected = WORDS.join("\u{1}");
    let text = machine.call(&["split", r"C:\lines.txt"]);
    assert_eq!(text, format!("{expected}\n{expected}"));
}

fn hand_words_to_cmd(machine: &Machine) {
    // Inside of quotes cmd changes nothing but variables.
    let words = ["a b", "c & d", "", r"e f\"];
    let line = format!(
        r"cmd.exe /s /c C:\native.exe words {}",
        join_arguments(&words)
    );
    let ran = machine.run_line(&line);
    assert_eq!(
        (ran.code, ran.text.trim_end()),
        (0, words.join("\u{1}").as_str())
    );
}

fn end_below_zero(machine: &Machine) {
    let script = "@echo off\nC:\\native.exe exit -196608\nif errorlevel 1 echo at least 1\n\
                  if not %errorlevel%==0 echo not 0\n";
    assert_eq!(machine.run_script(script).text, "not 0\n");
}

fn go_on_after_success(machine: &Machine) {
    for code in ["0", "8"] {
        let script = format!("@echo off\nC:\\native.exe exit {code} || exit /b 1\necho went on\n");
        assert_eq!(machine.run_script(&script).text, "");
    }
}

/// The template with folders of the machine, without the words that Wine's `if` takes for its own.
fn format_setup_complete() -> String {
    let template = guest_script("templates/setup-complete.cmd");
    let tags = Regex::new(r"\{\{ ([a-z]+)\.[A-Za-z]+ \}\}").unwrap();
    let text = tags.replace_all(&template, |found: &Captures| {
        if &found[1] == "paths" {
            r"C:\state"
        } else {
            "1"
        }
        .to_owned()
    });
    assert!(!text.contains("{{"), "{text}");
    text.replace(" /id 1", "")
}

fn complete_setup(machine: &Machine) {
    let text = format_setup_complete();
    let start = "sc.exe start cloudbase-init";
    assert!(text.contains(start));
    let text = text.replace(start, "echo cloudbase-init is started");
    std::fs::create_dir_all(machine.path(r"C:\state")).unwrap();

    for (code, goes_on) in [("0", true), ("8", false), ("-196608", false)] {
        machine.write(r"C:\exit-code.txt", code);
        machine.write(r"C:\state\firstboot.log", "");
        machine.run_script(&text);
        let log = machine.read(r"C:\state\firstboot.log");
        assert_eq!(log.contains("is started"), goes_on, "{code}: {log}");
    }
}

/// Programs that Wine lacks write their words in the script's log, and in the place of the task's.
fn complete_disc(machine: &Machine) {
    let disc = root().join("packer/targets/media");
    let read = |name: &str| std::fs::read_to_string(disc.join(name)).expect(name);
    let programs = ["icacls.exe", "certutil.exe", "schtasks.exe"];
    let script = programs
        .iter()
        .fold(read("SetupComplete.cmd"), |text, name| {
            text.replace(name, &format!("C:\\native.exe words {name}"))
        });
    let task = read("install-task.xml");
    let (_, line) = task.split_once("<Arguments>").expect("arguments");
    let (line, _) = line.split_once("</Arguments>").expect("arguments");
    let line = line.replace(
        r"%SystemRoot%\System32\WindowsPowerShell\v1.0\powershell.exe",
        r"C:\native.exe words",
    );
    std::fs::create_dir_all(machine.path(r"C:\imagegen-disc")).unwrap();

    for (certificates, policy) in [(false, "Bypass"), (true, "AllSigned")] {
        if certificates {
            std::fs::create_dir(machine.path(r"C:\imagegen-disc\certificates")).unwrap();
            for store in ["Root", "TrustedPublisher"] {
                let path = format!(r"C:\imagegen-disc\certificates\{store}-0123456789abcdef.cer");
                machine.write(&path, "");
            }
        }
        machine.write(r"C:\windows\temp\imagegen-disc.log", "");
        machine.run_script(&script.replace('\r', ""));
        let log = machine.read(r"C:\windows\temp\imagegen-disc.log");
        for store in ["Root", "TrustedPublisher"] {
            let words = ["certutil.exe", "-f", "-addstore", store].join("\u{1}");
            assert_eq!(log.contains(&words), certificates, "{log}");
        }
        assert!(log.contains("schtasks.exe\u{1}/create"), "{log}");
        let ran = machine.run_line(&format!("cmd.exe {line}"));
        let words = [
            "-NoProfile",
            "-NonInteractive",
            "-ExecutionPolicy",
            policy,
            "-File",
        ];
        assert!(ran.text.starts_with(&words.join("\u{1}")), "{}", ran.text);
    }
}

fn read_option_of_if(machine: &Machine) {
    let ran = machine.run_script("@echo off\nif not 1==0 C:\\native.exe words /id & exit /b 1\n");
    assert!(ran.text.contains("Syntax error"), "{}", ran.text);
}

/// Windows expands a line once: there the value keeps its percent signs.
fn expand_twice(machine: &Machine) {
    machine.write(r"C:\value.txt", "NAME=50%\r\n");
    let script = "@echo off\nfor /f \"usebackq tokens=1* delims==\" %%a in (\"C:\\value.txt\") do set \"more=%%b\"\n\
                  C:\\native.exe words \"%more%\" \"x%\"\n";
    let ran = machine.run_script(script);
    assert!(!ran.text.contains("50%"), "{}", ran.text);
}

/// A file with the attribute read-only.
fn write_read_only(machine: &Machine, path: &str) {
    machine.write(path, "old");
    assert_eq!(machine.run("attrib", &["+r", path]).code, 0);
}

fn copy_read_only(machine: &Machine) {
    write_read_only(machine, r"C:\source.txt");
    let copied = machine.call(&["copy", r"C:\source.txt", r"C:\copied.txt"]);
    assert_eq!(copied, "0");
    let attributes = machine.call(&["attributes", r"C:\copied.txt"]);
    assert_eq!(attributes.parse::<u32>().unwrap() & 1, 1);
}

fn delete_read_only(machine: &Machine) {
    write_read_only(machine, r"C:\kept.txt");
    assert_eq!(machine.call(&["delete", r"C:\kept.txt"]), "5");
}

fn replace_read_only(machine: &Machine) {
    write_read_only(machine, r"C:\written.txt");
    machine.write(r"C:\written.txt.partial", "new");
    // Of a root user: anybody else is refused.
    if machine.call(&["write", r"C:\written.txt"]) == "0" {
        let words = ["move", r"C:\written.txt.partial", r"C:\written.txt"];
        assert_eq!(machine.call(&words), "0");
    }
}

fn install_package(machine: &Machine) {
    let package = machine.path(r"C:\said.msi");
    make_package(&package);
    // The line of Install-Msi, whose pattern quotes the value and not the whole word.
    let script = guest_abilities();
    assert!(script.contains("/i `\"$Package`\" /qn /norestart /l*v `\"$Log`\""));
    assert!(script.contains(r#"-replace '^([^=]+)=(.*\s.*)$', '$1="$2"'"#));
    let line = r#"msiexec.exe /i "C:\said.msi" /qn /norestart /l*v "C:\said.log" SAID="a value""#;
    assert_eq!(machine.run_line(line).code, 0);
    let found = machine.run(
        "reg",
        &["query", r"HKLM\Software\imagegen-msi", "/v", "said"],
    );
    assert!(found.text.contains("REG_SZ    a value"), "{}", found.text);
    assert!(machine.path(r"C:\said.log").exists());
}

/// All scripts of the platform as one text.
fn guest_abilities() -> String {
    let folder = root().join("provisioners/engine");
    let files = walkdir::WalkDir::new(folder).sort_by_file_name();
    let mut text = String::new();
    for file in files {
        let file = file.unwrap();
        if file.file_type().is_file() {
            text += &std::fs::read_to_string(file.path()).unwrap();
        }
    }
    text
}

fn install_absent_package(machine: &Machine) {
    let ran = machine.run_line(r#"msiexec.exe /i "C:\none.msi" /qn /norestart"#);
    assert_ne!(ran.code, 0);
}

/// A task in XML with the first line that is given.
fn create_task(machine: &Machine, declaration: &str) -> i32 {
    let task = format!(
        "{declaration}\r\n<Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">\
         <Triggers><BootTrigger><Enabled>true</Enabled></BootTrigger></Triggers><Actions><Exec>\
         <Command>C:\\native.exe</Command></Exec></Actions></Task>"
    );
    machine.write(r"C:\task.xml", task);
    let words = ["/create", "/tn", "imagegen", "/xml", r"C:\task.xml", "/f"];
    machine.run("schtasks", &words).code
}

fn create_plain_task(machine: &Machine) {
    assert_eq!(create_task(machine, "<?xml version=\"1.0\"?>"), 0);
    assert_ne!(create_task(machine, "<?xml version="), 0);
}

fn delete_absent_task(machine: &Machine) {
    let words = ["/delete", "/tn", "none", "/f"];
    assert_eq!(machine.run("schtasks", &words).code, 1);
}

fn create_utf8_task(machine: &Machine) {
    let declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    assert_eq!(create_task(machine, declaration), 0);
}

fn call_stubs(machine: &Machine) {
    let nonsense = ["icacls", "netsh", "secedit", "shutdown"];
    for program in nonsense {
        let ran = machine.run(program, &["/no-such-option"]);
        assert_eq!(ran.code, 0, "{program}: {}", ran.text);
    }
}
