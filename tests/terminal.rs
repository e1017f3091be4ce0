//! What a user sees on a terminal: no line is wider than it, and `-v` shows more.

use std::ffi::OsStr;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Test, golden, program, root};

/// Runs a command on the terminal that a script of `tests/support` makes, whose own argument comes first.
fn run_by_script(test: &Test, script: &str, argument: &str) -> Option<Output> {
    run_with_terminal(test, script, argument, Some("xterm"))
}

/// As [`run_by_script`], with the variable `TERM` as it is given.
fn run_with_terminal(
    test: &Test,
    script: &str,
    argument: &str,
    terminal: Option<&str>,
) -> Option<Output> {
    let python = program("python3")?;
    let script = root().join("tests/support").join(script);
    let output = test
        .started_by(python, [script.as_os_str(), OsStr::new(argument)])
        .envs(terminal.map(|terminal| ("TERM", terminal)))
        .output()
        .expect("python3 starts");
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(output)
}

/// What stands on the screen of a terminal of this size and scrolled off it. Each line that is wider than the terminal
/// begins with `WIDE`.
fn run_on_terminal(test: &Test, columns: usize) -> Option<String> {
    let output = run_by_script(test, "terminal.py", &columns.to_string())?;
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

/// On a terminal without cursor movement, progress is lines as in a pipe.
#[test]
fn a_dumb_terminal_shows_lines() {
    let line = "--target host --k8s 1.36.0";
    let test = Test::new()
        .line(&format!("fetch -v {line}"))
        .stocked(&format!("plan {line}"));
    for terminal in [Some("xterm"), Some("dumb"), None] {
        let Some(output) = run_with_terminal(&test, "terminal.py", "80", terminal) else {
            return;
        };
        let screen = String::from_utf8_lossy(&output.stdout);
        assert!(screen.contains(": in the store"), "{terminal:?}: {screen}");
    }
}

#[test]
fn errors_and_tables_on_terminals_are_as_looked_at() {
    for columns in [80, 50] {
        for (name, line) in [
            ("error", "plan --target azure --k8s 1.36 --runtime docker"),
            (
                "doctor",
                "doctor --target host --k8s 1.36.4 --store store --offline",
            ),
            ("plan", "plan --target host --k8s 1.36.4"),
        ] {
            let Some(screen) = run_on_terminal(&Test::new().line(line), columns) else {
                return;
            };
            let screen = mask_changes(&screen);
            golden(&format!("terminal/{name}-{columns}.txt"), &screen);
            if name == "doctor" && columns == 80 {
                assert!(!screen.contains("WIDE"), "{screen}");
            }
        }
    }
}

/// Each image is named where its output begins, and the failure stands at the end again.
#[test]
fn a_failure_among_images_on_terminals_is_as_looked_at() {
    let definition = r#"{"target": "host", "kubernetes": "1.36.0", "images": {
        "new": {"windows": "2025"}, "old": {"windows": "2019"}, "stable": {"windows": "2022"}
    }}"#;
    for columns in [80, 50] {
        let test = Test::new().file("imagegen.json", definition);
        let Some(screen) = run_on_terminal(&test.line("lock --all --jobs 2"), columns) else {
            return;
        };
        golden(&format!("terminal/all-{columns}.txt"), &screen);
    }
}

/// Runs a command on a terminal, where each question gets the next answer.
fn answer_questions(test: &Test, answers: &[&str]) -> Option<(i32, String)> {
    let output = run_by_script(test, "answers.py", &answers.join("|"))?;
    Some((
        output.status.code().expect("code"),
        String::from_utf8(output.stdout).expect("UTF-8"),
    ))
}

#[test]
fn init_asks_on_a_terminal_and_writes_what_was_answered() {
    for (answers, expected) in [
        (
            &["host", "1.35", "2022", "flannel-hostgw"][..],
            ["host", "1.35", "2022", "flannel-hostgw"],
        ),
        // An empty answer is the default; a name that is not known is asked for again.
        (
            &["hots", "host", "1.34", "", ""],
            ["host", "1.34", "2022", "flannel-overlay"],
        ),
    ] {
        let test = Test::new().line("init");
        let Some((code, screen)) = answer_questions(&test, answers) else {
            return;
        };
        assert_eq!(code, 0, "{screen}");
        for question in [
            "target [",
            "Kubernetes version [stable]: ",
            "Windows release [",
            "pod network [",
        ] {
            assert!(screen.contains(question), "{question}: {screen}");
        }
        assert_eq!(
            screen.contains("did you mean `host`?"),
            answers[0] == "hots",
            "{screen}"
        );
        let written: Value = serde_json::from_str(&test.text("imagegen.json")).expect("JSON");
        for (field, answer) in ["target", "kubernetes", "windows", "cni"]
            .into_iter()
            .zip(expected)
        {
            assert_eq!(written[field], answer, "{field}: {screen}");
        }
        Test::new()
            .file("imagegen.json", &test.text("imagegen.json"))
            .prints("plan");
    }
    // An answer that makes no image is refused with its reason, and nothing is written.
    let test = Test::new().line("init");
    let Some((code, screen)) = answer_questions(&test, &["host", "1.36", "2019", ""]) else {
        return;
    };
    assert_eq!(code, 3, "{screen}");
    assert!(
        screen.contains("does not support Windows 2019") && !test.exists("imagegen.json"),
        "{screen}"
    );
}

/// Nobody who stops answering, or whose answer is no text, gets the defaults.
#[test]
fn init_writes_nothing_without_answers() {
    for (answers, code, said) in [
        (&["^C"][..], 130, "interrupted"),
        (&["^D"], 3, "the input ended at the question: target ["),
        (
            &["host", "^D"],
            3,
            "the input ended at the question: Kubern",
        ),
        (&["\\xff"], 3, "the answer is not UTF-8"),
    ] {
        let test = Test::new().line("init");
        let started = Instant::now();
        let Some((found, screen)) = answer_questions(&test, answers) else {
            return;
        };
        assert_eq!(found, code, "{answers:?}: {screen}");
        assert!(screen.contains(said), "{answers:?}: {screen}");
        assert!(!test.exists("imagegen.json"), "{answers:?}");
        // The last words wait for a lock no longer than a second.
        assert!(started.elapsed() < Duration::from_secs(9), "{answers:?}");
    }
}

/// No word of a topic is broken, and no code.
#[test]
fn topics_are_wrapped_on_a_terminal() {
    for line in ["help air-gap", "help trust", "help own-content"] {
        let Some(screen) = run_on_terminal(&Test::new().line(line), 80) else {
            return;
        };
        let is_prose = |line: &&str| line.starts_with("WIDE") && !line.contains('|');
        let wide: Vec<&str> = screen.lines().filter(is_prose).collect();
        let text = Test::new().prints(line);
        for line in &wide {
            let line = line.trim_start_matches("WIDE").trim();
            assert!(text.lines().any(|whole| whole.trim() == line), "{line}");
        }
        assert!(screen.lines().count() > text.lines().count(), "{screen}");
    }
}

/// An answer that is refused is asked for again, an empty one leaves the variable out, and secrets are not asked for.
#[test]
fn init_asks_for_what_a_build_of_the_target_needs() {
    let answers = [
        "azure",
        "1.36",
        "2022",
        "none",
        "westeurope",
        "{{",
        "images",
    ];
    let test = Test::new().line("init");
    let Some((code, screen)) = answer_questions(&test, &answers) else {
        return;
    };
    assert_eq!(code, 0, "{screen}");
    assert_eq!(screen.matches("[leave out]: ").count(), 3, "{screen}");
    let written: Value = serde_json::from_str(&test.text("imagegen.json")).expect("JSON");
    let expected = serde_json::json!({
        "location": "westeurope", "managed_image_resource_group_name": "images",
    });
    assert_eq!(written["variables"], expected, "{screen}");
    assert!(!screen.contains("a bake needs"), "{screen}");

    let test = Test::new().line("init --target azure --k8s 1.36 --windows 2022 --cni none");
    let given = test.line("--var location=westeurope");
    let Some((code, screen)) = answer_questions(&given, &[""]) else {
        return;
    };
    assert_eq!(code, 0, "{screen}");
    let written: Value = serde_json::from_str(&given.text("imagegen.json")).expect("JSON");
    assert_eq!(
        written["variables"],
        serde_json::json!({"location": "westeurope"})
    );
    assert!(
        screen.contains("a bake needs managed_image_resource_group_name"),
        "{screen}"
    );
}

/// Without free space and paths, which differ by machine.
fn mask_changes(screen: &str) -> String {
    let mut kept = String::new();
    let mut is_masked = false;
    for line in screen.lines() {
        if !line.starts_with(' ') {
            is_masked = line.contains("disk");
        }
        if !is_masked && !line.contains("/store") {
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
    }
    kept
}

/// Arguments that make each verb succeed without network.
const VERBS: &[&str] = &[
    "build --target host --k8s 1.36.0",
    "render --target azure --k8s 1.36.4 --out o",
    "plan --target azure --k8s 1.36.4",
    "lock --target host --k8s 1.36.0",
    "doctor --target host --k8s 1.36.0 --store store",
    "explain containerd",
    "list targets",
    "schema lock",
    "catalog lint",
    "catalog export --out c",
    "conformance --k8s 1.36.4",
    "store --store store path",
    "scripts export --out s",
    "verify file.txt --sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
];

#[test]
fn each_verb_says_more_with_v_and_nothing_more_on_stdout_as_json() {
    for line in VERBS {
        let plain = Test::new().file("file.txt", "abc").line(line).succeeds();
        let verbose = Test::new()
            .file("file.txt", "abc")
            .line(line)
            .line("-v")
            .succeeds();
        for said in [
            "imagegen 0.",
            "catalog: built-in, sha256:",
            "finished after ",
        ] {
            assert!(
                verbose.stderr.contains(said),
                "{line}: no `{said}` in {}",
                verbose.stderr
            );
            assert!(!plain.stderr.contains(said), "{line}: {}", plain.stderr);
        }
    }
    let test = Test::new()
        .file("imagegen.json", "{\"target\": \"host\"}")
        .line("plan --k8s 1.36.4 -v");
    let ran = test.succeeds();
    assert!(
        ran.stderr.contains("image definition: imagegen.json"),
        "{}",
        ran.stderr
    );
    for said in [
        "https://dl.k8s.io/release/v1.36.4/",
        "Resources",
        "  directories/etc\n    source: ",
    ] {
        assert!(ran.stdout.contains(said), "{said}");
    }
    let plain = Test::new()
        .line("plan --target host --k8s 1.36.4 --format json")
        .succeeds()
        .stdout;
    let verbose = Test::new()
        .line("plan --target host --k8s 1.36.4 --format json -v")
        .succeeds()
        .stdout;
    assert_eq!(plain, verbose);
    serde_json::from_str::<Value>(&verbose).expect("JSON");
}

#[test]
fn the_version_names_program_system_and_catalog() {
    let said = Test::new().line("--version").succeeds().stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], format!("imagegen {}", env!("CARGO_PKG_VERSION")));
    assert!(
        lines.iter().any(|line| line.starts_with("commit:  ")),
        "{said}"
    );
    assert!(
        lines.iter().any(|line| line.starts_with("system:  ")),
        "{said}"
    );
    let catalog = lines
        .last()
        .expect("catalog")
        .strip_prefix("catalog: sha256:")
        .expect("digest");
    // The digest can be computed from the files.
    let files = crate::support::files(&root().join("manifests"))
        .into_iter()
        .filter(|(path, _)| !path.ends_with("README.md") && !path.starts_with("schema/"));
    let lines = files
        .map(|(path, bytes)| format!("{}  {path}\n", imagegen::base::digest::sha256_hex(&bytes)));
    let text: String = lines.collect();
    assert_eq!(catalog, imagegen::base::digest::sha256_hex(text.as_bytes()));
}
