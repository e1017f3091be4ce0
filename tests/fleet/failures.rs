//! Messages about images that fail: each has a reason, and says what to do.

use crate::support::Test;

/// Each line of the summary has a reason, also where an image has several.
#[test]
fn a_summary_says_what_is_wrong_with_an_image_of_several_problems() {
    let definition = r#"{"target": "host", "kubernetes": "1.36.0", "images": {
        "many": {"windows": "2019", "variables": {"x": "1", "y": "2"}}, "two": {"variables": {"x": "1", "y": "2"}}
    }}"#;
    let test = Test::new().file("imagegen.json", definition);
    let ran = test.bare().run("plan --all");
    for line in [
        "\n  many: the image cannot be built: Kubernetes 1.36.0 does not support Windows 2019",
        "\n  two: the image cannot be built: target host has no variable `x` [variable-unknown]",
    ] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("; and more\n").count(), 2);
}

/// Without a lockfile, verbs that read it by default say how it is made.
#[test]
fn a_missing_lockfile_is_named_with_what_writes_it() {
    let test = Test::new().file("imagegen.json", r#"{"target": "host"}"#);
    let ran = test.bare().run("sbom");
    assert!(
        ran.stderr.contains("hint: run `imagegen lock` first"),
        "{}",
        ran.stderr
    );
}
