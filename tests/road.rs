//! The road of who chooses nothing: few warnings, each with a remedy, and the next command as the last line.

use std::process::Command;

use clap::Parser as _;
use imagegen::cli::Cli;
use imagegen::embedded::Tree;

use crate::support::readme::{read_readme, read_road};
use crate::support::{Ran, Test, root};

/// 2026-11-22
const TODAY: &str = "1795316081";

/// The words of a line, as a shell splits them, after the name of the program.
fn split_line(line: &str) -> Vec<String> {
    let script = format!("printf '%s\\n' {line}");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut words = text.lines().map(str::to_owned);
    assert_eq!(words.next().as_deref(), Some("imagegen"), "{line}");
    words.collect()
}

/// The last line of a run, which the program takes, and its words.
fn read_next(ran: &Ran) -> Vec<String> {
    let line = ran.stderr.lines().last().unwrap_or_default();
    let words = split_line(line);
    let line = std::iter::once("imagegen").chain(words.iter().map(String::as_str));
    Cli::try_parse_from(line).unwrap_or_else(|error| panic!("{error}"));
    words
}

fn run(test: &Test, words: &[String]) -> Ran {
    let output = test.command().args(words).output().unwrap();
    let ran = Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
    ran
}

/// Without the sizes of files, which each change of the guest's scripts changes.
fn leave_sizes_out(printed: &str) -> String {
    let lines = printed.lines().map(|line| {
        let size = line.strip_suffix(" bytes");
        size.map_or(line, |line| {
            line.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ')
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `UPDATE_GOLDEN=1` writes it anew.
#[test]
fn the_readme_shows_what_its_first_command_prints() {
    let road = read_road();
    let [command, shown, ..] = road.as_slice() else {
        panic!("{road:?}");
    };
    assert_eq!(shown.language, "text");
    let line = command.text.trim_end();
    assert_eq!(line, "imagegen build --target azure --k8s 1.20.0 --no-bake");
    let ran = run(
        &Test::new().env("SOURCE_DATE_EPOCH", TODAY),
        &split_line(line),
    );
    let printed = ran.stdout + &ran.stderr;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let before = format!("{}```\n\n```text\n{}```", command.text, shown.text);
        let after = format!("{}```\n\n```text\n{printed}```", command.text);
        let text = read_readme().replacen(&before, &after, 1);
        std::fs::write(root().join("README.md"), text).expect("README.md");
    } else {
        assert_eq!(leave_sizes_out(&printed), leave_sizes_out(&shown.text));
    }
}

#[test]
fn help_shows_the_road_of_the_readme() {
    let blocks = read_road();
    let shown = blocks.iter().filter(|block| block.language == "sh");
    let road: String = shown.map(|block| block.text.as_str()).collect();
    let help = Test::new().prints("help joining");
    assert!(help.contains(&format!("```sh\n{road}```\n")), "{road}");
}

fn list_lines() -> Vec<String> {
    let files = Tree::embedded_manifests().list_files("kubernetes/lines");
    let names = files.iter().filter_map(|file| file.strip_suffix(".json"));
    names
        .map(|name| name.rsplit('/').next().unwrap().to_owned())
        .collect()
}

/// Each command of the road is the last line of the one before it.
#[test]
fn the_last_line_of_each_verb_runs_as_the_next() {
    let test = Test::new()
        .env("SOURCE_DATE_EPOCH", TODAY)
        .file("ca.crt", include_str!("fixtures/cluster-ca.pem"))
        .file("token", "abcdef.0123456789abcdef\n");
    let flags = "--target host --k8s 1.36.0 --cni flannel-overlay --host-access services";
    let mut words = split_line(&format!("imagegen plan {flags}"));
    for verb in ["plan", "lock", "build", "cluster-manifests"] {
        assert_eq!(words[0], verb);
        let ran = run(&test, &words);
        words = read_next(&ran);
        // What was chosen is in the lockfile that an image was built of.
        let told: &[&str] = match verb {
            "plan" | "lock" => &["1.36.0", "flannel-overlay", "services"],
            _ => &["--config", "imagegen.lock.json"],
        };
        for word in told {
            assert!(words.contains(&(*word).to_owned()), "{words:?}");
        }
    }
    assert_eq!(words[0], "join-data");
    let last = run(&test, &words).stderr;
    let script = last.lines().last().unwrap();
    let state = test.prints(&format!("plan {flags} --state"));
    let (folder, name) = script.rsplit_once('\\').unwrap();
    assert!(state.lines().any(|line| line.trim() == folder), "{script}");
    let path = format!("node/{name}");
    assert!(Tree::embedded_provisioners().get(&path).is_some(), "{path}");
}

#[test]
fn the_next_command_has_the_flags_of_the_run_and_no_others() {
    let test = Test::new().env("IMAGEGEN_MIRROR", "https://mirror.example.com");
    for (line, next) in [
        (
            "plan --target azure --k8s 1.36 --var 'location=a$b' --var location='it''s' --state --jobs 2",
            "imagegen lock --target azure --k8s 1.36 --var 'location=a$b' --var location=its --jobs 2",
        ),
        (
            "build --target azure --k8s 1.36 --out 'my folder' --no-bake --image docker.io/library/a:1",
            "imagegen lock --target azure --k8s 1.36 --image docker.io/library/a:1",
        ),
        (
            "plan --target azure --k8s 1.36 -v --format text",
            "imagegen lock --target azure --k8s 1.36",
        ),
    ] {
        let ran = run(&test, &split_line(&format!("imagegen {line}")));
        assert_eq!(ran.stderr.lines().last(), Some(next), "{line}");
        read_next(&ran);
    }
    let built = run(
        &Test::new(),
        &split_line("imagegen build --target host --k8s 1.36.0 --host-access services"),
    );
    let next = "imagegen cluster-manifests --k8s 1.36.0 --host-access services --endpoint api.example.com:6443 --out cluster";
    assert_eq!(built.stderr.lines().last(), Some(next));

    let quiet = test.run_with("plan --target azure --k8s 1.36 -q");
    assert!(
        !quiet.stderr.contains("imagegen lock --target"),
        "{}",
        quiet.stderr
    );
    let json = test.run_with("plan --target azure --k8s 1.36 --format json");
    assert!(
        !json.stderr.contains("imagegen lock --target"),
        "{}",
        json.stderr
    );
}

#[test]
fn a_preview_with_a_lockfile_is_followed_by_the_bake() {
    let flags = "--target azure --k8s 1.36.0 --host-access services";
    let test = Test::new().env("SOURCE_DATE_EPOCH", TODAY);
    test.prints(&format!("lock {flags}"));
    let ran = run(
        &test,
        &split_line(&format!(
            "imagegen build {flags} --locked --out w --no-bake"
        )),
    );
    let words = read_next(&ran);
    let expected = format!("build {flags} --locked --out w");
    let mut expected: Vec<&str> = expected.split(' ').collect();
    let mut found: Vec<&str> = words.iter().map(String::as_str).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

/// One of several images is followed by a verb that takes one.
#[test]
fn an_image_of_several_keeps_its_name_on_the_road() {
    let images = r#"{"a": {"kubernetes": "1.36.0"}, "b": {"kubernetes": "1.35.0"}}"#;
    let definition =
        format!(r#"{{"target": "host", "hostAccess": "services", "images": {images}}}"#);
    let test = Test::new().file("imagegen.json", &definition);
    let next = |line: &str| run(&test, &split_line(line)).stderr;
    assert!(next("imagegen plan a").ends_with("\nimagegen lock a\n"));
    assert!(next("imagegen plan --all").ends_with("\nimagegen lock --all\n"));
    let built = next("imagegen build a");
    assert!(
        built.contains("imagegen cluster-manifests --config 'imagegen.json#a' "),
        "{built}"
    );
    assert!(!next("imagegen build --all").contains("imagegen cluster-manifests"));
}

/// Warnings of a run: at most two, and each names a flag or a command.
fn check_warnings(line: &str, warnings: &[&str]) {
    assert!(warnings.len() <= 2, "{line}: {warnings:#?}");
    for warning in warnings {
        let has_remedy = warning.contains("`--") || warning.contains("`imagegen ");
        assert!(has_remedy, "{line}: {warning}");
    }
}

#[test]
fn defaults_are_quiet_on_every_line() {
    let lines = list_lines();
    assert!(lines.len() >= 21, "{lines:?}");
    let test = Test::new().env("SOURCE_DATE_EPOCH", TODAY);
    for minor in lines {
        let flags = format!("--target azure --k8s {minor}");
        let plan = run(&test, &split_line(&format!("imagegen plan {flags}")));
        let said = plan
            .stdout
            .split_once("\nWarnings\n")
            .map_or("", |(_, said)| said);
        check_warnings(&flags, &said.lines().collect::<Vec<_>>());
        assert!(!plan.stdout.contains("CVE-"), "{}", plan.stdout);

        let build = run(
            &test,
            &split_line(&format!("imagegen build {flags} --no-bake")),
        );
        let said = build
            .stderr
            .lines()
            .filter(|line| line.starts_with("warning: "));
        check_warnings(&flags, &said.collect::<Vec<_>>());

        for ran in [plan, build] {
            let words = read_next(&ran);
            assert_eq!(words, split_line(&format!("imagegen lock {flags}")));
        }
    }
}

/// The end of support that is over is told, with what is forced beside it.
#[test]
fn an_old_line_says_that_nobody_mends_it() {
    let test = Test::new().env("SOURCE_DATE_EPOCH", TODAY);
    let old = test.prints("plan --target azure --k8s 1.20.0 --runtime containerd");
    for part in [
        "support has ended",
        "kubernetes 1.20 on 2022-02-28",
        "containerd 1.7 on 2026-09-30",
        "`--k8s`",
    ] {
        assert!(old.contains(part), "{part}: {old}");
    }
    let new = test.prints("plan --target azure --k8s 1.36.0 --component containerd=2.2.7");
    assert!(new.contains("containerd 2.2 on 2026-11-06; choose newer releases with `--component containerd=VERSION`"), "{new}");
    let supported = test.prints("plan --target azure --k8s 1.36.0");
    assert!(!supported.contains("support has ended"), "{supported}");
    assert!(supported.contains("supported until: kubernetes 1.36 2027-06-28, windows 2022 2031-10-14, containerd 2.3 2028-04-30"), "{supported}");
}

#[test]
fn a_policy_refuses_what_is_out_of_support_on_the_day() {
    let policy = r#"{"name": "p", "refuseUnsupported": true}"#;
    for (epoch, code) in [("1835740800", 3), ("1795316081", 0)] {
        let test = Test::new()
            .env("SOURCE_DATE_EPOCH", epoch)
            .file("p.json", policy)
            .line("plan --target azure --k8s 1.36.0 --policy p.json");
        let ran = test.run();
        assert_eq!(ran.code, Some(code), "{epoch}: {}", ran.stderr);
        let refusal =
            "kubernetes 1.36: its support ended on 2027-06-28 [policy-refuse-unsupported]";
        assert_eq!(ran.stderr.contains(refusal), code == 3, "{}", ran.stderr);
    }
}

/// Every line and release of the catalog has its date, so none is silent.
#[test]
fn everything_has_an_end_of_support() {
    let manifests = Tree::embedded_manifests();
    for folder in ["kubernetes/lines", "windows"] {
        let files = manifests.list_files(folder);
        assert!(files.len() >= 9, "{folder}");
        for file in files {
            let text = String::from_utf8_lossy(manifests.get(&file).unwrap());
            assert!(text.contains("\"endOfSupport\""), "{file}");
        }
    }
    let text = manifests.get("components/containerd.json").unwrap();
    let containerd: serde_json::Value = serde_json::from_slice(text).unwrap();
    let ranges: Vec<imagegen::base::version::VersionRange> = containerd["endOfSupport"]
        .as_array()
        .unwrap()
        .iter()
        .map(|end| end["versions"].as_str().unwrap().parse().unwrap())
        .collect();
    for choice in containerd["choices"].as_array().unwrap() {
        let version = choice["default"].as_str().unwrap().parse().unwrap();
        assert!(
            ranges.iter().any(|range| range.contains(&version)),
            "{version:?}"
        );
    }
}
