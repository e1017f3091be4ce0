//! Records of other machines: no text of theirs becomes a command, a line or an escape of a terminal.

use serde_json::{Value, json};

use super::Build;
use crate::support::Test;

/// A text of a record, by its JSON pointer, and what the error says.
const TEXTS: [(&str, &str, &str); 9] = [
    (
        "/imageVersion",
        "20260101-000000\ntouch PWNED #",
        "an image version",
    ),
    ("/imageVersion", "--help", "an image version"),
    (
        "/imageVersion",
        "1},{Key=Name,Value=other",
        "an image version",
    ),
    (
        "/artifacts/0/id",
        "a\rb",
        "`id` has the control character U+000D",
    ),
    ("/target", "aws\nreboot", "`target`"),
    ("/lock", "0\u{1b}[2J", "`lock`"),
    ("/finished", "2020-01-01\n", "`finished`"),
    ("/runUrl", "https://example.com\u{202e}", "`runUrl`"),
    ("/baseImage/variables/name", "a\tb", "`name`"),
];

fn hostile(pointer: &str, text: &str) -> Value {
    let mut record = Build::default().record();
    record["runUrl"] = json!("");
    record["baseImage"] = json!({"variables": {"name": ""}});
    *record.pointer_mut(pointer).expect("a text") = json!(text);
    record
}

#[test]
fn a_text_with_control_characters_is_no_record() {
    for (pointer, text, expected) in TEXTS {
        let record = hostile(pointer, text);
        let history = json!({"schema": "imagegen.dev/history/v1", "builds": [{"place": "a", "record": record}]});
        let test = Test::new()
            .file("image.json", &record.to_string())
            .file("history.json", &history.to_string())
            .file("imagegen-out/node/builds/1/image.json", &record.to_string());
        for line in [
            "promote image.json",
            "test-clone image.json --var flavor=a",
            "retire --older-than 1 --from history.json",
        ] {
            let ran = test.bare().run(line);
            assert_eq!(ran.code, Some(3), "{line} {pointer}: {}", ran.stdout);
            assert!(ran.stderr.contains(expected), "{pointer}: {}", ran.stderr);
            assert!(ran.stderr.contains("unchanged copy"), "{}", ran.stderr);
        }
        // One record does not hide the others of a folder.
        let ran = test.bare().run("history");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("not listed: "), "{}", ran.stderr);
    }
}

#[test]
fn a_place_is_one_line() {
    let entry = json!({"place": "a\nb", "record": Build::default().record()});
    let history = json!({"schema": "imagegen.dev/history/v1", "builds": [entry]});
    let test = Test::new().file("history.json", &history.to_string());
    let ran = test.bare().run("history --from history.json");
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    assert!(ran.stderr.contains("`place`"), "{}", ran.stderr);
}

/// The error of a build repeats lines of programs, and older records have no version.
#[test]
fn errors_have_lines_and_versions_may_be_absent() {
    let mut record = Build::default().record();
    record["artifacts"] = json!([]);
    record["error"] = json!({"schema": "imagegen.dev/error/v1", "code": "packer-failed", "class": "packer", "exitCode": 7, "message": "one\ntwo", "subject": "", "location": null, "remedy": "", "source": ""});
    let test = Test::new().file("o/image.json", &record.to_string());
    let printed = test.prints("history --from o");
    assert!(printed.contains("packer-failed: one\n"), "{printed}");

    let mut record = Build::default().record();
    record["imageVersion"] = json!("");
    let test = Test::new().file("image.json", &record.to_string());
    assert!(
        test.prints("promote image.json")
            .starts_with("#  openstack ")
    );
}
