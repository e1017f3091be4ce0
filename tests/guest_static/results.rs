//! Results of the guest's cases: `tests/guest/run.ps1` runs them once, and every test that asks reads its report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use regex_lite::Regex;
use serde_json::Value;

use super::resources::list_types;
use crate::support::{Test, root};

/// A test of a case, `CASE.TEST`, and how it ended.
pub(super) struct Outcome {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) passed: bool,
}

impl Outcome {
    pub(super) fn case(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

/// Everything that ran, `None` where no PowerShell runs it. What a run says of failures is for one test alone.
pub(super) fn read_results() -> Option<&'static [Outcome]> {
    let run = read_run();
    if run.is_none() {
        println!("skipped: needs pwsh");
        println!("no script was judged");
    }
    run.map(|run| run.outcomes.as_slice())
}

struct Run {
    outcomes: Vec<Outcome>,
    said: String,
}

fn read_run() -> Option<&'static Run> {
    static RUN: OnceLock<Option<Run>> = OnceLock::new();
    RUN.get_or_init(run_cases).as_ref()
}

fn run_cases() -> Option<Run> {
    Command::new("pwsh").arg("-Version").output().ok()?;
    let folder = tempfile::tempdir().unwrap();
    let plans = folder.path().join("plans");
    let report = folder.path().join("report.xml");
    write_plans(&plans);
    let output = Command::new("pwsh")
        .args(["-NoProfile", "-NonInteractive", "-File"])
        .arg(root().join("tests/guest/run.ps1"))
        .arg("-Plan")
        .arg(&plans)
        .arg("-Report")
        .arg(&report)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    let results = std::fs::read_to_string(&report).unwrap_or_default();
    Some(Run {
        outcomes: parse_report(&results),
        said: format!("{}: {}", output.status, said.concat()),
    })
}

fn parse_report(text: &str) -> Vec<Outcome> {
    let form =
        Regex::new(r#"<testcase name="([^"]*)" status="([^"]*)" classname="([^"]*)""#).unwrap();
    let found = form.captures_iter(text).map(|it| Outcome {
        file: it[3].rsplit("/tests/guest/").next().unwrap().to_owned(),
        name: unescape(&it[1]),
        passed: &it[2] == "Passed",
    });
    found.collect()
}

fn unescape(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    let text = text.replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

fn write_plans(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    for line in list_selections() {
        let test = Test::new().line("render --out workspace").line(&line);
        test.succeeds();
        let name = line.replace("--", "").replace(' ', "_");
        let plan = test.read("workspace/guest-plan.json");
        std::fs::write(folder.join(format!("{name}.json")), plan).unwrap();
    }
}

/// What `imagegen list` says of the kind.
fn list_items(kind: &str) -> Vec<Value> {
    let test = Test::new().line("list --format json").line(kind);
    let listed: Value = serde_json::from_str(&test.succeeds().stdout).unwrap();
    listed["items"].as_array().unwrap().clone()
}

fn texts(value: &Value) -> Vec<&str> {
    let list = value.as_array();
    list.map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// A selection for each Kubernetes line: targets, Windows releases and runtimes take turns.
fn list_selections() -> Vec<String> {
    let (lines, targets) = (list_items("kubernetes"), list_items("targets"));
    let mut selections = Vec::new();
    for (turn, line) in lines.iter().enumerate() {
        let target = &targets[turn % targets.len()];
        let runtimes = texts(&line["runtimes"]);
        let mut selection = format!(
            "--k8s {} --target {} --runtime {}",
            line["minor"].as_str().unwrap(),
            target["name"].as_str().unwrap(),
            runtimes[turn % runtimes.len()]
        );
        let offered = texts(&target["windows"]);
        let mut releases = texts(&line["windows"]);
        releases.retain(|release| offered.contains(release));
        if !releases.is_empty() {
            selection += " --windows ";
            selection += releases[turn % releases.len()];
        }
        selections.push(selection);
    }
    selections
}

/// Every line, target and runtime, and every Windows release that a target has.
#[test]
fn simulated_lives_are_those_of_every_line_and_target() {
    let all = list_selections().join(" ") + " ";
    let mut needed = BTreeSet::new();
    for target in list_items("targets") {
        needed.insert(format!("--target {} ", target["name"].as_str().unwrap()));
        let releases = texts(&target["windows"]).into_iter();
        needed.extend(releases.map(|it| format!("--windows {it} ")));
    }
    for line in list_items("kubernetes") {
        needed.insert(format!("--k8s {} ", line["minor"].as_str().unwrap()));
        let runtimes = texts(&line["runtimes"]).into_iter();
        needed.extend(runtimes.map(|it| format!("--runtime {it} ")));
    }
    assert!(needed.len() > 30, "{needed:?}");
    needed.retain(|one| !all.contains(one));
    assert!(needed.is_empty(), "{needed:?}: {all}");
}

/// All cases, and a life for each selection.
#[test]
fn the_engine_applies_plans_on_a_simulated_machine() {
    let Some(results) = read_results() else {
        return;
    };
    let said = &read_run().unwrap().said;
    println!("{said}");
    assert!(said.starts_with("exit status: 0"), "{said}");
    assert!(results.iter().all(|it| it.passed));
    let mut lives = BTreeMap::<&str, usize>::new();
    for outcome in results {
        *lives.entry(&outcome.name).or_default() += 1;
    }
    let wanted = 1 + list_selections().len();
    assert_eq!(lives.get("WholeLife.a clone is as planned"), Some(&wanted));
}

/// Faults that `ci/measure/faults/run.ps1` seeds: each applies, says what a user would see and which cases catch it.
#[test]
fn faults_apply_and_name_cases_that_are_there() {
    let (mut patched, mut faults) = (String::new(), 0);
    let results = read_results();
    for entry in std::fs::read_dir(root().join("ci/measure/faults")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|suffix| suffix != "patch") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        assert!(lines.next().unwrap().len() > 20, "{}", path.display());
        let cases = lines.next().unwrap().strip_prefix("cases: ").unwrap();
        for case in cases.split(", ") {
            let case = case.split('.').next().unwrap_or(case);
            let is_there = results.is_none_or(|all| all.iter().any(|it| it.case() == case));
            assert!(is_there, "{}: {case}", path.display());
        }
        let mut git = Command::new("git");
        git.current_dir(root())
            .args(["apply", "--check"])
            .arg(&path);
        let output = git.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        patched += &text;
        faults += 1;
    }
    assert!(faults >= 40, "{faults}");
    for kind in list_types().keys() {
        let file = format!("b/provisioners/resources/{kind}.ps1");
        assert!(patched.contains(&file), "{kind}");
    }
}
