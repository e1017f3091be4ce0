//! Completions in the shells themselves: the script is sourced as a user does, and a line is completed.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::powershell::judge_powershell;
use crate::support::{Test, program, root};

/// Sources the script and asks the registered function for the words that fit.
const BASH: &str = r#"
eval "$(imagegen completions bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
function=$(complete -p imagegen | sed 's/.*-F \([^ ]*\).*/\1/')
"$function" imagegen "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// `complete -C` is what fish does when the key is pressed.
const FISH: &str = r#"
imagegen completions fish | source
complete -C "$argv"
"#;

/// The registered function, with the words of the line in the place of those that zsh sets, and the answer on standard
/// output in the place of the menu.
const ZSH: &str = r#"
compdef() { :; }
_describe() { local list=$argv[3]; [[ $1 == -V ]] || list=$argv[2]; print -rl -- "${(@P)list}"; }
eval "$(imagegen completions zsh)"
words=("$@"); CURRENT=$#
_clap_dynamic_completer_imagegen || true
"#;

fn ask_shell(test: &Test, shell: &str, script: &str, words: &[&str]) -> Vec<String> {
    let folder = Path::new(env!("CARGO_BIN_EXE_imagegen")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    command.args(["-c", script]);
    // The first word after the script is its name.
    if shell != "fish" {
        command.arg(shell);
    }

    let output = command
        .args(words)
        .current_dir(test.command().get_current_dir().unwrap())
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let first_word = |line: &str| {
        line.split('\t')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    text.lines().map(first_word).collect()
}

fn ask_bash(test: &Test, words: &[&str]) -> Vec<String> {
    ask_shell(test, "bash", BASH, words)
}

#[test]
fn bash_completes_names_of_the_catalog() {
    let test = Test::new();
    let targets = ask_bash(&test, &["imagegen", "plan", "--target", "a"]);
    assert_eq!(targets, ["aws", "azure"]);

    let releases = ask_bash(&test, &["imagegen", "plan", "--windows", "20"]);
    assert!(releases.contains(&"2022".to_owned()), "{releases:?}");

    let networks = ask_bash(&test, &["imagegen", "build", "--cni", "flannel-"]);
    assert!(networks.len() > 1, "{networks:?}");

    let components = ask_bash(&test, &["imagegen", "explain", "contain"]);
    assert!(
        components.contains(&"containerd".to_owned()),
        "{components:?}"
    );
}

/// Types each line and a tab into an interactive bash; the lines as they stand then.
fn type_into_bash(test: &Test, lines: &[&str]) -> Option<Vec<String>> {
    let python = program("python3")?;
    let folder = Path::new(env!("CARGO_BIN_EXE_imagegen")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let output = Command::new(python)
        .arg(root().join("tests/support/complete.py"))
        .arg(r#"eval "$(imagegen completions bash)""#)
        .args(lines)
        .current_dir(&test.folder)
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

/// Readline divides the line at `=` and puts candidates in the place of the last piece.
#[test]
fn bash_completes_values_behind_an_equals_sign() {
    let test = Test::new().file("node.json", "{}");
    let (typed, expected): (Vec<&str>, Vec<&str>) = [
        ("imagegen plan --target=az", "imagegen plan --target=azure"),
        ("imagegen plan --format=j", "imagegen plan --format=json"),
        (
            "imagegen plan --config=no",
            "imagegen plan --config=node.json",
        ),
        (
            "imagegen plan --target aws --var auth",
            "imagegen plan --target aws --var auth=",
        ),
        (
            "imagegen plan --target aws --var auth=acc",
            "imagegen plan --target aws --var auth=access_key",
        ),
        (
            "imagegen plan --target=aws --var=auth=acc",
            "imagegen plan --target=aws --var=auth=access_key",
        ),
        ("imagegen plan --target az", "imagegen plan --target azure"),
        (
            "imagegen explain image_source=marketp",
            "imagegen explain image_source=marketplace",
        ),
    ]
    .into_iter()
    .unzip();
    let Some(completed) = type_into_bash(&test, &typed) else {
        return;
    };
    assert_eq!(completed, expected);
}

/// Bash writes what it is given: a file with a blank in its name would be two words.
#[test]
fn bash_completes_files_that_need_quotes() {
    let mut test = Test::new();
    for file in [
        "my node.json",
        "my other.json",
        "do$lar.json",
        "ein haus/a.json",
    ] {
        test = test.file(file, "{}");
    }
    let (typed, expected): (Vec<&str>, Vec<&str>) = [
        (
            "imagegen plan --config do",
            "imagegen plan --config do$lar.json",
        ),
        (
            r"imagegen plan --config my\ n",
            "imagegen plan --config my node.json",
        ),
        (
            r"imagegen plan --config=my\ o",
            "imagegen plan --config=my other.json",
        ),
        (
            "imagegen plan --config \"my o",
            "imagegen plan --config my other.json",
        ),
        (
            "imagegen plan --config ein",
            "imagegen plan --config ein haus/",
        ),
        (
            r"imagegen plan --config ein\ haus/",
            "imagegen plan --config ein haus/a.json",
        ),
        (r"imagegen plan --config=my", "imagegen plan --config=my "),
    ]
    .into_iter()
    .unzip();
    let Some(completed) = type_into_bash(&test, &typed) else {
        return;
    };
    assert_eq!(completed, expected);
}

#[test]
fn variables_are_those_of_the_chosen_target() {
    let test = Test::new();
    let line = ["imagegen", "build", "--target", "aws", "--var", "a"];
    let found = ask_bash(&test, &line);
    assert!(found.contains(&"ami_name=".to_owned()), "{found:?}");
    assert!(found.contains(&"auth=access_key".to_owned()), "{found:?}");

    let line = ["imagegen", "build", "--target", "azure", "--var", "ami"];
    assert_eq!(ask_bash(&test, &line), [""]);
}

#[test]
fn a_secret_is_not_offered_for_the_command_line() {
    let test = Test::new();
    let line = ["imagegen", "build", "--target", "azure", "--var", "client_"];
    let found = ask_bash(&test, &line);
    assert!(found.contains(&"client_id=".to_owned()), "{found:?}");
    assert!(!found.contains(&"client_secret=".to_owned()), "{found:?}");
}

#[test]
fn images_and_the_target_are_those_of_the_definition() {
    let definition = r#"{ "target": "gcp", "images": { "edge": {}, "east": {}, "west": {} } }"#;
    let test = Test::new().file("imagegen.json", definition);
    assert_eq!(
        ask_bash(&test, &["imagegen", "plan", "e"]),
        ["east", "edge"]
    );

    let found = ask_bash(&test, &["imagegen", "plan", "--var", "project"]);
    assert_eq!(found, ["project_id="]);
}

/// Flags that take one of a few words, whatever the catalog has.
#[test]
fn words_of_closed_sets_are_completed() {
    let test = Test::new();
    for (line, words) in [
        ("sbom --as ", ["cyclonedx", "spdx"].as_slice()),
        ("join-data --as c", &["cloud-config", "capi"]),
        ("diff a b --only m", &["machine"]),
        ("plan --images ", &["agents", "workloads"]),
        ("fetch --for linux", &["linux/amd64", "linux/arm64"]),
        ("bundle create --for n", &["none"]),
    ] {
        let line: Vec<&str> = ["imagegen"].into_iter().chain(line.split(' ')).collect();
        assert_eq!(ask_bash(&test, &line), words, "{line:?}");
    }
}

#[test]
fn files_go_where_files_are_wanted() {
    let test = Test::new().file("node.json", "{}");
    assert_eq!(
        ask_bash(&test, &["imagegen", "plan", "--config", "no"]),
        ["node.json"]
    );
}

/// A broken definition gives no candidates and no error on the user's prompt.
#[test]
fn a_broken_definition_is_silent() {
    let test = Test::new().file("imagegen.json", "{");
    assert_eq!(
        ask_bash(&test, &["imagegen", "plan", "--target", "a"]),
        [""]
    );
}

#[test]
fn fish_completes_values() {
    if program("fish").is_none() {
        return;
    }
    let test = Test::new();
    let found = ask_shell(&test, "fish", FISH, &["imagegen plan --target a"]);
    assert_eq!(found, ["aws", "azure"]);
}

/// The words of a line have their backslashes and quotes.
#[test]
fn fish_completes_files_that_need_quotes() {
    if program("fish").is_none() {
        return;
    }
    let test = Test::new().file("my node.json", "{}");
    for line in [
        r"imagegen plan --config my\ n",
        r"imagegen plan --config=my\ n",
        "imagegen plan --config 'my n",
    ] {
        let found = ask_shell(&test, "fish", FISH, &[line]);
        assert!(
            found.len() == 1 && found[0].ends_with("node.json"),
            "{line}: {found:?}"
        );
    }
}

#[test]
fn zsh_completes_values() {
    if program("zsh").is_none() {
        return;
    }
    let test = Test::new();
    let ask = |words: &[&str]| -> Vec<String> {
        let found = ask_shell(&test, "zsh", ZSH, words);
        let values = found.iter().filter_map(|line| line.split(':').next());
        values.map(str::to_owned).collect()
    };
    assert_eq!(
        ask(&["imagegen", "plan", "--target", "a"]),
        ["aws", "azure"]
    );
    assert_eq!(ask(&["imagegen", "help", "air"]), ["air-gap"]);
}

/// As for fish; and zsh has a word of its own for an argument that is empty.
#[test]
fn zsh_completes_files_that_need_quotes() {
    if program("zsh").is_none() {
        return;
    }
    let test = Test::new()
        .file("my node.json", "{}")
        .file("a:b.json", "{}");
    for (words, expected) in [
        (["--config", r"my\ n"].as_slice(), "my node.json"),
        (&["--config", "'my n"], "my node.json"),
        (&[r"--config=my\ n"], "--config=my node.json"),
        (&["--config", r"a\:"], r"a\:b.json"),
    ] {
        let line: Vec<&str> = ["imagegen", "plan"].iter().chain(words).copied().collect();
        assert_eq!(ask_shell(&test, "zsh", ZSH, &line), [expected], "{words:?}");
    }
    let files = ask_shell(&test, "zsh", ZSH, &["imagegen", "plan", "--config", ""]);
    assert!(files.contains(&"my node.json".to_owned()), "{files:?}");
}

/// A workspace with two builds, and one elsewhere.
fn with_builds() -> Test {
    let mut test = Test::new();
    for (folder, version, day) in [
        ("imagegen-out/node", "20260101.1", "2026-01-01"),
        ("imagegen-out/node", "20260202.1", "2026-02-02"),
        ("published", "20250505.7", "2025-05-05"),
    ] {
        let time = format!("{day}T00:00:00Z");
        let record = json!({
            "schema": "imagegen.dev/image/v1", "imageVersion": version, "target": "aws", "windows": "2022",
            "kubernetes": "1.36.0", "lock": "0".repeat(64), "started": time, "finished": time,
            "builtBy": {"version": "0.1.0", "catalog": "0".repeat(64)},
            "artifacts": [{"builder": "b", "id": "ami-0"}], "checked": 7,
        });
        let path = format!("{folder}/builds/{version}/image.json");
        test = test.file(&path, &record.to_string());
    }
    let failed = json!({
        "schema": "imagegen.dev/image/v1", "imageVersion": "20260303.1", "target": "aws", "windows": "2022",
        "kubernetes": "1.36.0", "lock": "0".repeat(64), "started": "2026-03-03T00:00:00Z",
        "builtBy": {"version": "0.1.0", "catalog": "0".repeat(64)}, "artifacts": [], "checked": 0,
        "error": {"schema": "imagegen.dev/error/v1", "code": "packer-failed", "class": "packer", "exitCode": 7,
            "message": "no", "subject": "", "location": null, "remedy": "", "source": ""},
    });
    let path = "imagegen-out/node/builds/20260303.1/image.json";
    test.file("imagegen-out/bad/builds/1/image.json", "{")
        .file(path, &failed.to_string())
}

/// The newest comes first; a record that cannot be read says nothing on the prompt.
#[test]
fn versions_of_images_are_those_of_the_records() {
    let test = with_builds();
    let made = ["20260202.1", "20260101.1"].as_slice();
    for (verb, versions) in [
        (["promote"].as_slice(), made),
        (&["retire"], made),
        (&["test-clone"], made),
        // A build that failed has a record, and no image.
        (
            &["history", "show"],
            &["20260303.1", "20260202.1", "20260101.1"],
        ),
    ] {
        let line = [&["imagegen"], verb, &["2026"]].concat();
        assert_eq!(ask_bash(&test, &line), versions, "{verb:?}");
    }
    // Steps that cannot be read together leave the targets.
    let test = test.file("imagegen.json", r#"{"steps": ["nope"]}"#);
    let line = ["imagegen", "plan", "--target", "az"];
    assert_eq!(ask_bash(&test, &line), ["azure"]);
    let line = ["imagegen", "promote", "--from", "published", "2"];
    assert_eq!(ask_bash(&test, &line), ["20250505.7"]);
    // A path names a build, too.
    let line = ["imagegen", "retire", "publ"];
    assert_eq!(ask_bash(&test, &line), ["published/"]);

    if program("fish").is_some() {
        let found = ask_shell(&test, "fish", FISH, &["imagegen promote 2026"]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}

#[test]
fn topics_of_help_are_completed_beside_the_verbs() {
    let test = Test::new();
    assert_eq!(ask_bash(&test, &["imagegen", "help", "air"]), ["air-gap"]);
    assert_eq!(
        ask_bash(&test, &["imagegen", "help", "f"]),
        ["fetch", "fleet"]
    );
    assert_eq!(ask_bash(&test, &["imagegen", "help", "store", "g"]), ["gc"]);
    assert_eq!(ask_bash(&test, &["imagegen", "he"]), ["help"]);
}

#[test]
fn powershell_gets_words_with_blanks_in_quotes() {
    let script = Test::new().prints("completions powershell");
    judge_powershell(&[&script]);
    for part in [
        r#"{ " '`"`"'" } else { " ''" }"#,
        r#"{ "'" + $cmd.Replace("'", "''") + "'" }"#,
        "CompletionResult]::new($text, $cmd, 'ParameterValue', $help)",
    ] {
        assert!(script.contains(part), "{part}: {script}");
    }
}

#[test]
fn every_shell_gets_a_script_that_asks_the_program() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = Test::new().prints(&format!("completions {shell}"));
        assert!(script.contains("IMAGEGEN_COMPLETE"), "{shell}: {script}");
    }
}
