//! What Windows' own programs get as arguments: held against their documented grammar, and run with the real
//! program where this system has it under another name.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use regex_lite::Regex;
use serde_json::Value;

use super::assert_none;
use super::script::{Script, functions, root, scripts_below};
use crate::support::program;
use crate::support::server::{Server, status, whole};

/// A command line of a script: variables are `{name}`.
#[derive(Debug)]
struct Line {
    function: String,
    program: String,
    words: Vec<String>,
}

impl Line {
    /// With `{}` in place of every variable.
    fn form(&self) -> String {
        Regex::new(r"\{[^{}]*\}")
            .unwrap()
            .replace_all(&self.words.join(" "), "{}")
            .into_owned()
    }
}

/// Text between double quotes with its variables as `{name}`.
fn expandable(text: &str) -> String {
    let inner = text.strip_prefix('"').unwrap_or(text);
    let inner = inner
        .strip_suffix('"')
        .unwrap_or(inner)
        .replace("`\"", "\"")
        .replace("`$", "$");
    let variable = Regex::new(r"\$\([^()]*(?:\([^()]*\)[^()]*)*\)|\$[A-Za-z_:]+").unwrap();
    variable
        .replace_all(&inner, |found: &regex_lite::Captures| {
            let name = found[0].trim_start_matches('$');
            format!(
                "{{{}}}",
                if name.starts_with('(') {
                    "expression"
                } else {
                    name
                }
            )
        })
        .into_owned()
}

/// The words of `@('a', $b) + $c`; what a variable holds is put in its place.
fn words(text: &str, known: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let token =
        Regex::new(r#"'[^']*'|"(?:[^"`]|`.)*"|\((?:[^()]|\([^()]*\))*-join[^()]*\)|\$[A-Za-z_]+"#)
            .unwrap();
    let mut found = Vec::new();
    for token in token.find_iter(text).map(|token| token.as_str()) {
        if let Some(name) = token.strip_prefix('$') {
            found.extend(
                known
                    .get(name)
                    .cloned()
                    .unwrap_or_else(|| vec![format!("{{{name}}}")]),
            );
        } else if token.starts_with('(') {
            found.push("{expression}".to_owned());
        } else if token.starts_with('\'') {
            found.push(token.trim_matches('\'').to_owned());
        } else {
            found.push(expandable(token));
        }
    }
    found
}

/// The command lines of a function, out of its assignments to lists and texts.
fn lines_of(function: &str, text: &str) -> Vec<Line> {
    let assignment = Regex::new(r#"^\$([A-Za-z]+) (\+?)= ((?:@\(|["']).*)$"#).unwrap();
    let executable = Regex::new(r#""[^"]*\\([A-Za-z]+\.exe)""#).unwrap();
    let passed =
        Regex::new(r"(?:-Arguments|-ArgumentLine|arguments =) (@\([^)]*\)|\$[A-Za-z]+)").unwrap();
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut waiting, mut found): (Option<String>, _) = (None, Vec::new());
    let line = |program: &str, words: Vec<String>| Line {
        function: function.to_owned(),
        program: program.to_owned(),
        words,
    };
    for statement in text.lines().map(str::trim) {
        let named = executable
            .captures(statement)
            .map(|found| found[1].to_owned());
        if let Some(parts) = assignment
            .captures(statement)
            .filter(|parts| !parts[3].contains(".exe"))
        {
            let mut value = words(&parts[3], &known);
            if &parts[2] == "+" {
                value = [known.get(&parts[1]).cloned().unwrap_or_default(), value].concat();
            }
            if let Some(program) = waiting.take() {
                found.push(line(&program, value.clone()));
            }
            known.insert(parts[1].to_owned(), value);
        } else if let (Some(program), Some(given)) = (&named, passed.captures(statement)) {
            found.push(line(program, words(&given[1], &known)));
        } else if statement.starts_with("$program = ") {
            waiting = named;
        }
    }
    found
}

fn platform_lines() -> Vec<Line> {
    let scripts = scripts_below("provisioners");
    let windows = scripts.iter().filter(|script| script.is_platform());
    windows.flat_map(lines_of_script).collect()
}

fn lines_of_script(script: &Script) -> Vec<Line> {
    functions(script)
        .into_iter()
        .flat_map(|(name, node)| lines_of(&name, script.of(node)))
        .collect()
}

/// `& "…\program.exe" word word` in the texts of the steps.
fn step_lines(texts: &[(String, String)]) -> Vec<Line> {
    let call = Regex::new(r#"& "[^"]*\\([A-Za-z]+\.exe)" ([^\n)]*)"#).unwrap();
    let list = Regex::new(r#"\$set \+?= (?:@\()?"([^"]*)"\)?"#).unwrap();
    let mut found = Vec::new();
    for (name, text) in texts {
        let more: Vec<String> = list
            .captures_iter(text)
            .map(|word| expandable(&word[1]))
            .collect();
        for parts in call.captures_iter(text) {
            let words = parts[2]
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>();
            let words = words.into_iter().flat_map(|word| {
                if word == "@set" {
                    more.clone()
                } else {
                    vec![word]
                }
            });
            let line = Line {
                function: name.clone(),
                program: parts[1].to_owned(),
                words: words.collect(),
            };
            found.push(line);
        }
    }
    found
}

/// Lines that no documented form of their program allows.
fn unknown_lines(lines: &[Line], grammar: &Value) -> Vec<String> {
    let allowed = |line: &Line| {
        let forms = grammar[&line.program]["lines"].as_array();
        let (given, literal) = (line.form(), line.words.join(" "));
        forms
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .any(|form| {
                let pattern = format!(
                    "^{}$",
                    regex_lite::escape(form).replace(r"\{\}", r"(?:\{\}|[A-Za-z0-9.]+)")
                );
                given == form || Regex::new(&pattern).unwrap().is_match(&literal)
            })
    };
    let unknown = lines.iter().filter(|line| !allowed(line));
    unknown
        .map(|line| format!("{}: {} {}", line.function, line.program, line.form()))
        .collect()
}

fn grammar() -> Value {
    serde_json::from_str(
        &std::fs::read_to_string(root().join("tests/guest/programs.json")).unwrap(),
    )
    .unwrap()
}

#[test]
fn programs_of_windows_get_arguments_that_they_document() {
    let mut lines = platform_lines();
    lines.extend(step_lines(&super::texts::steps()));
    assert!(lines.len() >= 18, "{lines:#?}");
    assert_none(&unknown_lines(&lines, &grammar()));
    for program in grammar().as_object().unwrap().keys() {
        assert!(
            lines.iter().any(|line| line.program == *program),
            "no script runs {program}"
        );
    }
}

#[test]
fn a_misspelt_argument_is_found() {
    let platform = scripts_below("provisioners/engine/windows");
    for (right, wrong) in [
        ("'start=', $mode", "'start=$mode'"),
        ("'--connect-timeout'", "'--conect-timeout'"),
        ("store=persistent", "store=persistant"),
        ("/norestart /l*v", "/norestrat /l*v"),
        ("'/setactive'", "'/setactiv'"),
        ("/PackagePath:", "/PackagePth:"),
    ] {
        let holder = platform.iter().find(|script| script.text.contains(right));
        let text = holder.expect(right).text.replacen(right, wrong, 1);
        let lines = lines_of_script(&Script::new("misspelt.ps1", text));
        assert!(!unknown_lines(&lines, &grammar()).is_empty(), "{wrong}");
    }
}

/// The arguments of a function of the platform, with values for its variables.
pub(super) fn filled(function: &str, values: &[(&str, &str)]) -> Vec<String> {
    let lines = platform_lines();
    let line = lines.iter().find(|line| line.function == function).unwrap();
    let fill = |word: &String| {
        values.iter().fold(word.clone(), |word, (name, value)| {
            word.replace(&format!("{{{name}}}"), value)
        })
    };
    line.words.iter().map(fill).collect()
}

/// Exit code, standard output and errors.
pub(super) fn capture_program(name: &str, arguments: &[String]) -> Option<(i32, String, String)> {
    let output = Command::new(program(name)?)
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    ))
}

fn run_program(name: &str, arguments: &[String]) -> Option<(i32, String)> {
    capture_program(name, arguments).map(|(code, _, errors)| (code, errors))
}

pub(super) fn download_arguments(url: &str, protocol: &str, path: &Path) -> Vec<String> {
    let path = path.to_str().unwrap();
    filled(
        "Get-DownloadCommand",
        &[("protocol", protocol), ("Path", path), ("Url", url)],
    )
}

/// The protocols that `Get-DownloadCommand` allows for a scheme.
pub(super) fn protocol(scheme: &str) -> String {
    let path = root().join("provisioners/engine/windows/files.ps1");
    let text = std::fs::read_to_string(path).unwrap();
    let found = Regex::new(&format!(r"[{{;] {scheme} = '([^']*)'")).unwrap();
    found.captures(&text).unwrap()[1].to_owned()
}

#[test]
fn curl_downloads_with_the_arguments_of_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let (target, source) = (folder.path().join("target"), folder.path().join("source"));
    std::fs::write(&source, b"from a file").unwrap();
    let local = format!("file://{}", source.display());
    let server = Server::new(move |asked| match asked.path.as_str() {
        "/there" => whole(b"bytes", &[]),
        _ => status("404 Not Found", &[]),
    });
    let table = [
        (server.url("/there"), "http", 0, Some("bytes")),
        (server.url("/missing"), "http", 22, None),
        (server.url("/there"), "https", 1, None),
        (local, "file", 0, Some("from a file")),
    ];
    for (url, scheme, code, content) in table {
        drop(std::fs::remove_file(&target));
        let arguments = download_arguments(&url, &protocol(scheme), &target);
        let Some((found, said)) = run_program("curl", &arguments) else {
            return;
        };
        assert_eq!(found, code, "{url}: {said}");
        assert_eq!(
            std::fs::read_to_string(&target)
                .ok()
                .filter(|text| !text.is_empty())
                .as_deref(),
            content,
            "{url}"
        );
    }
    let page = filled("Get-UrlText", &[("Url", &server.url("/there"))]);
    assert_eq!(run_program("curl", &page).map(|(code, _)| code), Some(0));
}

/// 2 is curl's code for options that it does not know.
#[test]
fn curl_refuses_options_that_are_misspelt() {
    let values = [
        ("protocol", "=file"),
        ("Path", "/dev/null"),
        ("Url", "file:///dev/null"),
    ];
    let right = filled("Get-DownloadCommand", &values);
    let options: Vec<usize> = (0..right.len())
        .filter(|at| right[*at].starts_with("--"))
        .collect();
    assert!(options.len() >= 9, "{right:?}");
    for at in options {
        let mut wrong = right.clone();
        wrong[at].insert(3, 'q');
        let Some((code, said)) = run_program("curl", &wrong) else {
            return;
        };
        assert_eq!(code, 2, "{wrong:?}: {said}");
    }
}

/// Server 2019 has 7.55.1. Versions: `Added:` in curl's docs/cmdline-opts.
#[test]
fn curl_of_server_2019_knows_every_option() {
    let added = BTreeMap::from([
        ("--disable", "7.50.0"),
        ("--globoff", "7.6"),
        ("--fail", "4.0"),
        ("--silent", "4.0"),
        ("--show-error", "5.9"),
        ("--proto", "7.20.2"),
        // Of its variable `redirect_url`.
        ("--write-out", "7.18.2"),
        ("--retry", "7.12.3"),
        ("--connect-timeout", "7.7"),
        ("--speed-time", "4.7"),
        ("--speed-limit", "4.7"),
        ("--output", "4.0"),
        ("--max-time", "4.0"),
        ("--noproxy", "7.19.4"),
    ]);
    let parts = |version: &str| {
        version
            .split('.')
            .map(|part| part.parse().unwrap())
            .collect::<Vec<u32>>()
    };
    for line in platform_lines()
        .iter()
        .filter(|line| line.program == "curl.exe")
    {
        for option in line.words.iter().filter(|word| word.starts_with("--")) {
            let version = added
                .get(option.as_str())
                .unwrap_or_else(|| panic!("{option}: since which version?"));
            assert!(parts(version) <= parts("7.55.1"), "{option}");
        }
    }
}

#[test]
fn tar_takes_members_out_with_the_arguments_of_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir_all(path("in/bin")).unwrap();
    std::fs::create_dir_all(path("out")).unwrap();
    for name in [
        "in/bin/containerd.exe",
        "in/bin/ctr.exe",
        "in/flannel.exe",
        "in/--version",
    ] {
        std::fs::write(path(name), name).unwrap();
    }
    let archive = path("a.tar.gz");
    let make = [
        "-czf",
        &archive,
        "-C",
        &path("in"),
        "--",
        "bin/containerd.exe",
        "bin/ctr.exe",
        "./flannel.exe",
        "--version",
    ]
    .map(str::to_owned);
    if run_program("bsdtar", &make).is_none() {
        return;
    }
    let take = |member: &str| {
        let destination = path("out");
        let values = [
            ("Archive", archive.as_str()),
            ("Destination", &destination),
            ("Members", member),
        ];
        run_program("bsdtar", &filled("Expand-TarMember", &values))
            .unwrap()
            .0
    };
    assert_eq!(take("bin/ctr.exe"), 0);
    assert_eq!(
        std::fs::read_to_string(path("out/bin/ctr.exe")).unwrap(),
        "in/bin/ctr.exe"
    );
    assert!(!Path::new(&path("out/bin/containerd.exe")).exists());
    assert_ne!(take("bin/missing.exe"), 0);
    // The archive has it as `./flannel.exe`; names of members are without that.
    assert_eq!(take("flannel.exe"), 0);
    assert!(Path::new(&path("out/flannel.exe")).exists());
    assert_eq!(take("--version"), 0);
    assert!(
        Path::new(&path("out/--version")).exists(),
        "a member is no option"
    );
}
