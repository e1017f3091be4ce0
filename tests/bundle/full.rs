//! A disk that is full, at every part of a bundle.

use serde_json::Value;

use super::{Registry, create_bundle, lock, noise};

/// Of a full disk the file is named that does not fit, whatever part of it: Linux refuses files beyond a limit alike.
#[test]
fn a_bundle_that_does_not_fit_is_named() {
    let server = Registry::start();
    let lock = lock(&server, &noise(30_000));
    let test = create_bundle(&lock);
    test.succeeds();
    let blocks = test.read("node.zip").len() / 512;
    std::fs::remove_file(test.folder.join("node.zip")).expect("bundle");

    // In the index, in an artifact, among the scripts, and in the directory at the end.
    let script = r#"trap '' XFSZ; ulimit -f "$1"; shift; exec "$@""#;
    for limit in [1, 40, blocks / 2, blocks - 1] {
        let output = test
            .started_by("/bin/sh", ["-c", script, "sh", &limit.to_string()])
            .args(["--format", "json"])
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{limit}: {stderr}");
        let mut told = Vec::new();
        for line in stderr.lines() {
            let line: Value = serde_json::from_str(line).expect(line);
            told.extend(Some(line).filter(|line| line["code"].is_string()));
        }
        let [error] = told.as_slice() else {
            panic!("{limit}: {stderr}");
        };
        assert_eq!(error["code"], "file", "{limit}");
        let message = error["message"].as_str().expect("message");
        assert!(message.starts_with("writing node.zip: "), "{message}");
        let left = std::fs::read_dir(&test.folder).expect("folder");
        let names = left.map(|it| it.expect("entry").file_name());
        assert!(
            !names
                .into_iter()
                .any(|name| name.to_string_lossy().contains("node.zip"))
        );
    }
}
