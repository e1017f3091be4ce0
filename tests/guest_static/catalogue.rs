//! Laws of Windows by ability (`tests/guest/laws.json`). Each has a source and says where it is shown: on the
//! simulated Windows, under Wine, on a real one. A cell that shows nothing says why.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;
use serde::Deserialize;

use super::assert_none;
use super::resources::list_functions;
use super::results::{Outcome, read_results};
use crate::support::root;
use crate::wine::list_cases;

/// What a cell begins with where nothing shows the law.
const NONE: &str = "none: ";
/// The source of a law that nobody was found to have seen.
const UNSEEN: &str = "no source found: to be seen on a runner";
const FILE: &str = "tests/guest/laws.json";
const TABLE: &str = "tests/guest/README.md";

/// A change of a good law, and what the check then says.
type Break = (fn(&mut Law), &'static str);

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Law {
    id: String,
    abilities: Vec<String>,
    #[serde(rename = "law")]
    statement: String,
    source: String,
    simulated: String,
    wine: String,
    runner: String,
}

fn read_laws() -> Vec<Law> {
    let text = std::fs::read_to_string(root().join(FILE)).expect(FILE);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{FILE}: {error}"))
}

/// Functions of `engine/windows`, the abilities of the guest.
fn list_abilities() -> BTreeSet<String> {
    let functions = list_functions("provisioners/engine/windows");
    functions.into_iter().map(|it| it.name).collect()
}

/// What shows laws: results of the simulation where it ran, cases of Wine, and the text of each suite of `real.ps1`.
struct Shown {
    simulation: Option<&'static [Outcome]>,
    wine: Vec<String>,
    suites: BTreeMap<String, String>,
}

impl Shown {
    /// Whether one test of that name passed. Where nothing ran, nothing is known.
    fn is_simulated(&self, law: &str) -> bool {
        let Some(results) = self.simulation else {
            return !law.is_empty();
        };
        let end = format!(".{law}");
        let tests = results.iter().filter(|it| it.name.ends_with(&end));
        let passed: Vec<bool> = tests.map(|it| it.passed).collect();
        passed == [true]
    }
}

/// Cases of `tests/wine`, and those of the guest's own scripts on Wine.
fn list_wine_cases() -> Vec<String> {
    let path = root().join("tests/wine/guest/abilities.ps1");
    let text = std::fs::read_to_string(path).expect("cases");
    let name = Regex::new(r"(?:-Name |@\()'(an? [^']+|the [^']+|names [^']+)'").unwrap();
    let own = list_cases().into_iter().map(str::to_owned);
    own.chain(name.captures_iter(&text).map(|it| it[1].to_owned()))
        .collect()
}

fn read_shown() -> Shown {
    let functions = list_functions("tests/guest/real").into_iter();
    let suites = functions.map(|it| (it.name, it.text)).collect();
    Shown {
        simulation: read_results(),
        wine: list_wine_cases(),
        suites,
    }
}

fn is_source(source: &str) -> bool {
    let forms =
        r"^(https://[^ ]+( \(.+\))?|[\w.-]+/[\w.-]+@[\w.]+ [^ ]+( \(.+\))?|derived: .{20,})$";
    let form = Regex::new(forms).unwrap();
    let separator = Regex::new(r"\s*;\s+").unwrap();
    source == UNSEEN || separator.split(source).all(|part| form.is_match(part))
}

fn check_law(law: &Law, shown: &Shown) -> Vec<String> {
    let mut findings = Vec::new();
    if !is_source(&law.source) {
        findings.push(format!("{}: no source: {}", law.id, law.source));
    }
    if law.source == UNSEEN && law.runner.starts_with(NONE) {
        findings.push(format!("{}: neither a source nor a runner", law.id));
    }
    if law.abilities.is_empty() || law.statement.len() < 20 {
        findings.push(format!("{}: no abilities or no law", law.id));
    }

    let quoted = format!("'{}'", law.id);
    let suite = shown.suites.get(&law.runner);
    let cells = [
        (
            &law.simulated,
            shown.is_simulated(&law.simulated),
            "simulated",
        ),
        (&law.wine, shown.wine.contains(&law.wine), "wine"),
        (
            &law.runner,
            suite.is_some_and(|text| text.contains(&quoted)),
            "runner",
        ),
    ];
    for (cell, is_there, place) in cells {
        let is_reason = cell.strip_prefix(NONE).is_some_and(|why| why.len() > 10);
        if !is_there && !is_reason {
            findings.push(format!("{}: {place}: no case `{cell}`", law.id));
        }
    }
    findings
}

fn check_laws(laws: &[Law], shown: &Shown) -> Vec<String> {
    let abilities = list_abilities();
    let mut findings = Vec::new();
    let mut ids = BTreeSet::new();
    let mut named = BTreeSet::new();
    for law in laws {
        if !ids.insert(&law.id) {
            findings.push(format!("{}: twice", law.id));
        }
        named.extend(law.abilities.iter().cloned());
        findings.extend(check_law(law, shown));
    }
    for ability in abilities.difference(&named) {
        findings.push(format!("{ability}: no law in {FILE}"));
    }
    for ability in named.difference(&abilities) {
        findings.push(format!("{ability}: no ability of engine/windows"));
    }
    findings
}

#[test]
fn every_ability_has_laws_that_are_shown() {
    let laws = read_laws();
    assert_none(&check_laws(&laws, &read_shown()));
    assert!(laws.len() > 100, "{}", laws.len());
}

/// What a suite of the real Windows or a case of Wine shows is in the list, so that a report can be read by it.
#[test]
fn everything_that_is_shown_is_a_law() {
    let laws = read_laws();
    let shown = read_shown();
    let confirmed = Regex::new(r"Confirm-(?:Law|Refusal) -Law '([^']+)'").unwrap();
    let ids: BTreeSet<&str> = laws.iter().map(|law| law.id.as_str()).collect();
    let mut findings = Vec::new();
    for (suite, text) in &shown.suites {
        for found in confirmed.captures_iter(text) {
            let id = found.get(1).unwrap().as_str();
            if !ids.contains(id) {
                findings.push(format!("{suite}: {id} is no law"));
            }
        }
    }
    for case in list_cases() {
        if !laws.iter().any(|law| law.wine == case) {
            findings.push(format!("wine: no law names `{case}`"));
        }
    }
    assert_none(&findings);
}

#[test]
fn each_defect_of_a_law_is_found() {
    let shown = read_shown();
    let laws = read_laws();
    let good = laws.iter().find(|law| law.id == "service.never-started");
    let good = good.unwrap();
    assert_none(&check_law(good, &shown));
    let breaks: [Break; 7] = [
        (
            |law| law.source = "somebody said so".to_owned(),
            "no source",
        ),
        (
            |law| {
                law.source = UNSEEN.to_owned();
                law.runner = "none: it takes too long".to_owned();
            },
            "neither a source nor a runner",
        ),
        (|law| law.abilities.clear(), "no abilities"),
        (|law| law.simulated = String::new(), "simulated: no case"),
        (|law| law.wine = NONE.to_owned(), "wine: no case"),
        (|law| law.runner = "Test-None".to_owned(), "runner: no case"),
        (|law| law.id = "service.other".to_owned(), "runner: no case"),
    ];
    for (change, expected) in breaks {
        let mut law = good.clone();
        change(&mut law);
        let found = check_law(&law, &shown).join("\n");
        assert!(found.contains(expected), "{expected}: {found}");
    }
    let without: Vec<Law> = laws
        .into_iter()
        .filter(|law| !law.abilities.contains(&"Write-SerialLine".to_owned()))
        .collect();
    let found = check_laws(&without, &shown).join("\n");
    assert!(found.contains("Write-SerialLine: no law"), "{found}");
}

/// A cell of the table: what shows the law, or why nothing does.
fn format_cell(cell: &str) -> String {
    match cell.strip_prefix(NONE) {
        Some(reason) => format!("– ({reason})"),
        None => cell.to_owned(),
    }
}

fn format_table(laws: &[Law]) -> String {
    let mut lines = vec![
        "| law | abilities | what Windows does | source | simulated | Wine | runner |".to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    for law in laws {
        let abilities: Vec<String> = law.abilities.iter().map(|it| format!("`{it}`")).collect();
        let cells = [
            format!("`{}`", law.id),
            abilities.join(" "),
            law.statement.clone(),
            law.source.clone(),
            format_cell(&law.simulated),
            format_cell(&law.wine),
            format_cell(&law.runner),
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.join("\n") + "\n"
}

/// The table of the README is what `laws.json` says; `UPDATE_GOLDEN=1` writes it.
#[test]
fn the_table_of_laws_is_that_of_the_data() {
    check_table("laws", &format_table(&read_laws()));
}

/// The part of the README between the marks of a name.
fn check_table(name: &str, wanted: &str) {
    let path = root().join(TABLE);
    let text = std::fs::read_to_string(&path).expect(TABLE);
    let (begin, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->\n"),
    );
    let (before, rest) = text.split_once(&begin).expect("a mark");
    let (table, after) = rest.split_once(&end).expect("a mark");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{before}{begin}{wanted}{end}{after}")).expect(TABLE);
        return;
    }
    assert_eq!(table, wanted, "UPDATE_GOLDEN=1 writes the table anew");
}

/// Cases by file, with the first sentence of each file.
fn format_cases(results: &[Outcome]) -> String {
    let mut files = BTreeMap::<&str, Vec<&str>>::new();
    for outcome in results {
        let cases = files.entry(&outcome.file).or_default();
        if !cases.contains(&outcome.case()) {
            cases.push(outcome.case());
        }
    }
    let mut lines = vec![
        "| file | what | cases |".to_owned(),
        "|---|---|---|".to_owned(),
    ];
    for (file, cases) in files {
        let text = std::fs::read_to_string(root().join("tests/guest").join(file)).expect(file);
        let head = text.lines().take_while(|line| line.starts_with('#'));
        let head: Vec<&str> = head
            .map(|line| line.trim_start_matches(['#', ' ']))
            .collect();
        let what = head.join(" ");
        let what = what
            .split(". ")
            .next()
            .unwrap_or_default()
            .trim_end_matches('.');
        lines.push(format!("| `{file}` | {what} | {} |", cases.join(", ")));
    }
    lines.join("\n") + "\n"
}

/// What the README says of the cases is what ran.
#[test]
fn the_table_of_cases_is_that_of_the_results() {
    let Some(results) = read_results() else {
        return;
    };
    check_table("cases", &format_cases(results));
}
