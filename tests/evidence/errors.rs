//! Errors, warnings and progress for programs: JSON lines, annotations of pipelines, and schemas of every output.

use std::fs;

use serde_json::Value;

use crate::bake::{MANIFEST, REPORT, with_packer};
use crate::support::{Ran, Test};

use super::attest;

/// The lines of stderr, each of which is JSON.
fn read_lines(ran: &Ran) -> Vec<Value> {
    ran.stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect()
}

/// The error that the last line is.
fn read_error(ran: &Ran) -> Value {
    let lines = read_lines(ran);
    let error = lines.last().expect("an error").clone();
    assert_eq!(error["schema"], "imagegen.dev/error/v1", "{error:#}");
    error
}

const FAILURES: &[(&str, i32, &str, &str)] = &[
    ("plan --no-such-flag", 2, "usage", "usage"),
    ("bake", 2, "usage", "usage"),
    (
        "plan --target azur --k8s 1.36.4",
        3,
        "unknown-name",
        "value",
    ),
    (
        "plan --target azure --k8s 1.36.4 --runtime containrd",
        3,
        "value",
        "value",
    ),
    (
        "plan --target azure --k8s 1.36.4 --locked",
        3,
        "lock-absent",
        "value",
    ),
    ("plan --config bad.json", 3, "json", "value"),
    ("explain containrd --k8s 1.36.4", 3, "unknown-name", "value"),
    (
        "plan --target azure --k8s 1.36.4 --component containerd=1.4.0",
        3,
        "containerd-cri-v1",
        "value",
    ),
    (
        "build --target azure --k8s 1.36.4",
        3,
        "missing-variable",
        "value",
    ),
    (
        "fetch --target host --k8s 1.36.4 --offline",
        4,
        "offline",
        "download",
    ),
    (
        "verify bad.json --sha256 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        5,
        "not-proven",
        "verification",
    ),
    (
        "render --target host --k8s 1.36.4 --out taken",
        6,
        "workspace-foreign",
        "render",
    ),
];

#[test]
fn the_last_line_is_the_error() {
    let test = Test::new()
        .file("bad.json", "{\n  \"target\": 7\n}\n")
        .file("taken/mine", "mine");
    let rules = test.prints("list rules --format json");
    let rules: Value = serde_json::from_str(&rules).expect("JSON");
    let codes: Vec<&str> = rules["items"]
        .as_array()
        .expect("rules")
        .iter()
        .filter_map(|rule| rule["name"].as_str())
        .collect();
    for (line, exit, code, class) in FAILURES {
        let ran = test.run_with(&format!("{line} --format json"));
        assert_eq!(ran.code, Some(*exit), "{line}: {}", ran.stderr);
        assert_eq!(
            ran.stdout.trim().is_empty() || !line.starts_with("verify"),
            !line.starts_with("verify"),
            "{line}"
        );
        let error = read_error(&ran);
        assert_eq!(
            (&error["code"], &error["class"]),
            (&Value::from(*code), &Value::from(*class)),
            "{line}: {error:#}"
        );
        assert_eq!(error["exitCode"], *exit, "{line}");
        assert!(codes.contains(code), "`{code}` is not in `list rules`");
        for key in ["message", "subject", "location", "remedy", "source"] {
            assert!(error.get(key).is_some(), "{line}: no {key}");
        }
        assert!(
            !error["message"].as_str().expect("text").is_empty(),
            "{line}"
        );
        fs::write(test.folder.join("error.json"), error.to_string()).expect("file");
    }
    test.bare().prints("schema error");
}

#[test]
fn an_error_in_a_file_names_line_and_pointer() {
    let definition = |name: &str| {
        format!(
            "{{\n  \"images\": {{\n    \"{name}\": {{ \"target\": \"azure\",\n      \"updates\": {{ \"kbs\": [\"KB5058411\", 7] }} }}\n  }}\n}}\n"
        )
    };
    // In a pointer, a slash of a key is `~1`.
    for (name, line, pointer) in [
        ("node", 4, "/images/node/updates/kbs/1"),
        ("a/b", 3, "/images/a~1b"),
    ] {
        let test = Test::new().file("bad.json", &definition(name));
        let error = read_error(&test.run_with("plan --config bad.json --format json"));
        let location = &error["location"];
        assert_eq!(location["file"], "bad.json", "{error:#}");
        assert_eq!(location["line"], line, "{error:#}");
        assert_eq!(location["pointer"], pointer, "{error:#}");
        assert_eq!(error["subject"], "bad.json");
    }
}

#[test]
fn warnings_notes_and_progress_are_lines_of_json() {
    let test = with_packer(&format!(
        "echo '==> x.y: started'; [ \"$1\" = build ] || exit 0\n{MANIFEST}\n{REPORT}"
    ));
    let ran = test.run_with("--format json");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = read_lines(&ran);
    for kind in ["note", "progress"] {
        assert!(
            lines.iter().any(|line| line["kind"] == kind),
            "{kind}: {}",
            ran.stderr
        );
    }
    assert!(
        lines
            .iter()
            .all(|line| line["schema"] == "imagegen.dev/event/v1")
    );
    let image: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(image["schema"], "imagegen.dev/image/v1");
    // A release with a known flaw is warned of.
    let ran = Test::new().run_with("render --target host --k8s 1.28.3 --out o --format json");
    let lines = read_lines(&ran);
    assert!(
        lines.iter().any(|line| line["kind"] == "warning"),
        "{}",
        ran.stderr
    );
}

#[test]
fn secrets_are_in_no_line() {
    let test = with_packer("echo \"secret is $PKR_VAR_client_secret\"; exit 1")
        .env("ARM_CLIENT_SECRET", "s3cret-of-the-test")
        .env("ARM_CLIENT_ID", "00000000-0000-0000-0000-000000000001")
        .env(
            "ARM_SUBSCRIPTION_ID",
            "00000000-0000-0000-0000-000000000002",
        );
    let ran = test.run_with("--format json");
    assert_eq!(read_error(&ran)["code"], "packer-failed");
    assert!(!ran.stderr.contains("s3cret-of-the-test"), "{}", ran.stderr);
    for (name, bytes) in crate::support::files(&test.folder) {
        assert!(
            !String::from_utf8_lossy(&bytes).contains("s3cret-of-the-test"),
            "{name}"
        );
    }
}

#[test]
fn pipelines_get_annotations() {
    let test = || Test::new().file("bad.json", "{\n  \"target\": 7\n}\n");
    let ran = test()
        .env("GITHUB_ACTIONS", "true")
        .run_with("plan --config bad.json");
    let first = ran.stderr.lines().next().expect("a line");
    assert!(
        first.starts_with("::error file=bad.json,line=2,col=")
            && first.contains(",title=imagegen json::"),
        "{first}"
    );
    // In JSON the annotation comes before the last line, which stays JSON.
    let ran = test()
        .env("GITHUB_ACTIONS", "true")
        .run_with("plan --config bad.json --format json");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        lines[0].starts_with("::error ") && lines.len() == 2,
        "{}",
        ran.stderr
    );
    serde_json::from_str::<Value>(lines[1]).expect("JSON");
    // A line end in the text ends no annotation.
    assert!(!lines[0].contains('\n') && lines[0].contains("expected"));
    let ran = test()
        .env("TF_BUILD", "True")
        .run_with("plan --config bad.json");
    assert!(
        ran.stderr
            .starts_with("##vso[task.logissue type=error;sourcepath=bad.json;linenumber=2;"),
        "{}",
        ran.stderr
    );
    let test = test().env("IMAGEGEN_CODE_QUALITY", "quality.json");
    test.run_with("plan --config bad.json");
    let report: Value = serde_json::from_str(&test.text("quality.json")).expect("JSON");
    let entry = &report[0];
    assert_eq!(
        (&entry["check_name"], &entry["location"]["path"]),
        (&"json".into(), &"bad.json".into())
    );
    assert_eq!(entry["location"]["lines"]["begin"], 2);
    test.run_with("plan --target host --k8s 1.36.4");
    assert_eq!(test.text("quality.json"), "[]\n");
}

#[test]
fn a_path_that_describes_no_image_is_named() {
    let test = Test::new().file("folder/notes.txt", "");
    test.prints("render --target host --k8s 1.36.4 --out w");
    for verb in ["sbom", "report", "diff w"] {
        for (path, said) in [
            ("nothere", "nothere does not exist"),
            ("folder", "folder describes no image"),
        ] {
            let ran = test.run_with(&format!("{verb} {path} --format json"));
            let error = read_error(&ran);
            assert_eq!(ran.code, Some(3), "{verb}: {}", ran.stderr);
            let remedy = error["remedy"].as_str().expect("a remedy");
            assert!(error["message"] == said, "{verb}: {error:#}");
            assert!(remedy.contains("a lockfile, a workspace"), "{error:#}");
        }
    }
}

#[test]
fn a_builder_has_no_part_that_may_be_a_secret() {
    let Some(test) = attest::baked() else { return };
    for id in [
        "https://user:secret9f2c@ci.example/x",
        "https://ci.example/x?token=secret9f2c",
        "https://ci.example/x#secret9f2c",
        "secret9f2c",
    ] {
        let ran = test
            .bare()
            .run(&format!("attest o --key own.pem --builder-id {id}"));
        assert_eq!(ran.code, Some(3), "{id}: {}", ran.stderr);
        assert!(!ran.stderr.contains("secret9f2c"), "{}", ran.stderr);
    }
    assert!(!test.exists("o/attestations"));
    test.bare()
        .prints("attest o --key own.pem --builder-id https://ci.example/runners@refs/tags/v1");
    let provenance = attest::read_statement(&test, "provenance");
    assert_eq!(
        provenance["predicate"]["runDetails"]["builder"]["id"],
        "https://ci.example/runners@refs/tags/v1"
    );
}
