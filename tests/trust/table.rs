//! The table of attacks, `attacks.json`: each with its exit code and what is said, run here or covered by a test that
//! the row names. A test that goes, or a row of a test that goes, fails here.

use std::collections::BTreeMap;

use imagegen::base::digest::{encode_hex, sha256_hex};
use serde::Deserialize;

use crate::support::{Test, exit_codes, files, root};

const TABLE: &str = include_str!("attacks.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    group: String,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    attack: String,
    exit: Option<i32>,
    /// Code of the finding or error.
    code: Option<String>,
    /// What is said where there is no code, or `ok`.
    said: Option<String>,
    /// Test function that covers it, by its path.
    test: Option<String>,
    /// The row of that test's own table.
    #[serde(rename = "row")]
    case: Option<String>,
    /// Command line that is run here.
    run: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Why it is no attack on this program.
    why: Option<String>,
}

impl Row {
    fn expected(&self) -> &str {
        self.code
            .as_deref()
            .or(self.said.as_deref())
            .unwrap_or_default()
    }
}

fn read_table() -> Vec<Group> {
    serde_json::from_str(TABLE).expect("attacks.json")
}

const PROGRAM: &[u8] = b"MZ of the test";
const KEY: &str = include_str!("../fixtures/sigstore/by-key.pub");

/// Digests of the files that every run has.
fn fill(text: &str) -> String {
    let sha512 =
        encode_hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, PROGRAM).as_ref());
    let ours = sha256_hex(PROGRAM);
    text.replace("{sha256:kubelet.exe}", &ours)
        .replace("{sha256:kubelet.exe:63}", &ours[1..])
        .replace("{SHA256:kubelet.exe}", &ours.to_uppercase())
        .replace("{sha256:other}", &sha256_hex(b"other"))
        .replace("{sha512:kubelet.exe}", &sha512)
        .replace("{key}", KEY)
}

fn run_row(row: &Row, line: &str) -> Result<(), String> {
    let mut test = Test::new().bytes("kubelet.exe", PROGRAM).line(&fill(line));
    for (name, content) in &row.files {
        test = test.file(name, &fill(content));
    }
    if line.contains("--manifests c") {
        let export = Test::new().line("catalog export --out c");
        export.succeeds();
        std::fs::rename(export.folder.join("c"), test.folder.join("c")).expect("catalog");
    }
    let ran = test.run();
    let said = ran.stdout + &ran.stderr;
    let expected = match &row.code {
        Some(code) => format!("[{code}]"),
        None => row.said.clone().unwrap_or_default(),
    };
    if ran.code == row.exit
        && (expected == "ok" || said.contains(&expected))
        && !said.contains("panicked")
    {
        return Ok(());
    }
    Err(format!(
        "{}: exit {:?} instead of {:?} with `{expected}`: {said}",
        row.attack, ran.code, row.exit
    ))
}

#[test]
fn attacks_end_as_the_table_says() {
    let groups = read_table();
    let rows: Vec<&Row> = groups.iter().flat_map(|group| &group.rows).collect();
    let runs = rows
        .iter()
        .filter_map(|row| Some((row, row.run.as_deref()?)));
    let wrong: Vec<String> = runs
        .filter_map(|(row, line)| run_row(row, line).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The source file of a test with the modules below it: `fetch::tls::x` is in tests/fetch/tls.rs,
/// `src::io::fs::write::x` in src/io/fs/write.rs.
fn read_source(path: &str) -> Option<(String, String)> {
    let (modules, function) = path.rsplit_once("::")?;
    let modules = modules.replace("::", "/");
    let file = match modules.strip_prefix("src/") {
        Some(own) => format!("src/{own}"),
        None => format!("tests/{modules}"),
    };
    let mut source = std::fs::read_to_string(root().join(format!("{file}.rs"))).ok()?;
    let folder = root().join(file);
    if folder.is_dir() {
        for below in files(&folder).into_values() {
            source += &String::from_utf8_lossy(&below);
        }
    }
    Some((source, function.to_owned()))
}

/// Whether a path names a test: its source.
pub(super) fn check_test(path: &str) -> Result<String, String> {
    let (source, function) = read_source(path).ok_or_else(|| format!("there is no {path}"))?;
    let at = source
        .find(&format!("fn {function}("))
        .ok_or_else(|| format!("{path} is gone"))?;
    if source[..at]
        .rsplit("#[test]")
        .next()
        .is_none_or(|between| between.len() > 400)
    {
        return Err(format!("{path} is no test"));
    }
    Ok(source)
}

fn check_reference(row: &Row, path: &str) -> Result<(), String> {
    let source = check_test(path)?;
    for part in row
        .case
        .iter()
        .map(String::as_str)
        .chain([row.expected()])
        .filter(|part| *part != "ok")
    {
        if !source.contains(part) {
            return Err(format!("{path} does not say `{part}`"));
        }
    }
    Ok(())
}

fn check_row(row: &Row) -> Result<(), String> {
    match (&row.test, &row.run, &row.why) {
        (Some(path), None, None) => check_reference(row, path)?,
        (None, Some(_), None) => {}
        (None, None, Some(why)) if why.len() > 20 && row.exit.is_none() => return Ok(()),
        _ => return Err("one of `test`, `run` and `why`".to_owned()),
    }
    let exit = row.exit.ok_or("an exit code is missing")?;
    if row.expected().is_empty() || (exit == 0) != (row.expected() == "ok") {
        return Err("what is said is missing, or `ok` with exit code 0".to_owned());
    }
    match &row.code {
        Some(code) if !exit_codes(code).contains(&exit) => Err(format!(
            "{code} ends with {:?}, not with {exit}",
            exit_codes(code)
        )),
        _ => Ok(()),
    }
}

/// A row names a test that is there, with a row of its own and the code, and the exit code that the code has.
#[test]
fn every_attack_has_a_test() {
    let groups = read_table();
    let mut wrong = Vec::new();
    for group in &groups {
        for row in &group.rows {
            if let Err(reason) = check_row(row) {
                wrong.push(format!("{}: {}: {reason}", group.group, row.attack));
            }
        }
        let names: std::collections::BTreeSet<&str> =
            group.rows.iter().map(|row| row.attack.as_str()).collect();
        assert_eq!(
            names.len(),
            group.rows.len(),
            "{}: two rows have one name",
            group.group
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let roads = groups
        .iter()
        .filter(|group| group.group.starts_with("Roads: "));
    assert_eq!(roads.count(), 12);
    assert!(groups.iter().map(|group| group.rows.len()).sum::<usize>() >= 340);
}
