//! Bakes that fail or are interrupted.

use std::process::Command;

use super::{REPORT, with_packer};

#[test]
fn a_packer_that_fails_is_told_apart() {
    for (script, code, said) in [
        (
            "echo 'Error: no such region'; exit 1".to_owned(),
            7,
            "packer init failed with exit code 1\n  Error: no such region",
        ),
        (
            "[ $1 = validate ] && { echo bad >&2; exit 3; }; exit 0".to_owned(),
            7,
            "packer validate failed with exit code 3\n  bad",
        ),
        (
            "[ $1 = build ] && { echo boom; exit 1; }; exit 0".to_owned(),
            7,
            "packer build failed with exit code 1\n  boom",
        ),
        (
            "[ $1 = build ] && kill -9 $$; exit 0".to_owned(),
            7,
            "packer build was killed",
        ),
        ("exit 0".to_owned(), 7, "the machine sent none"),
        (
            format!("[ $1 = build ] && {REPORT}; exit 0"),
            7,
            "its manifest has no image: there is no packer-manifest.json",
        ),
        (
            format!(
                "[ $1 = build ] && {{ {REPORT}; echo '{{}}' > packer-manifest.json; }}; exit 0"
            ),
            7,
            "no artifact of this run",
        ),
        (
            "[ $1 = build ] && : > check-report.json; exit 0".to_owned(),
            7,
            "the check report of the baked machine cannot be read",
        ),
    ] {
        let test = with_packer(&script);
        test.fails(code, &[said]);
        assert!(
            test.exists("o/packer.log") && !test.exists("o/image.json"),
            "{script}"
        );
        // What a failed bake leaves does not stand in the way of the next one.
        test.fails(code, &[said]);
    }
}

#[test]
fn failed_checks_have_their_own_exit_code() {
    let report = r#"{"schema": "imagegen.dev/check-report/v1", "passed": false, "checked": 2, "failed": 1, "resources": [
        {"name": "kubernetes/kubelet", "result": "drifted", "differences": [{"property": "startType", "expected": "manual", "actual": "disabled"}]},
        {"name": "checks/crictl", "result": "unchanged"}]}"#;
    let test = with_packer(&format!(
        "[ $1 = build ] || exit 0\ncat > check-report.json <<'R'\n{report}\nR\nexit 1"
    ));
    test.fails(
        8,
        &["drifted kubernetes/kubelet: startType is disabled, expected manual"],
    );
}

#[test]
fn an_interrupt_lets_packer_clean_up() {
    let test = with_packer(
        "[ $1 = build ] || exit 0\ntrap 'echo cleaned > \"$OUT/cleaned\"; exit 1' INT\necho started > \"$OUT/started\"\nwhile :; do read -t 1 x < fifo; done",
    );
    let mut child = test
        .command()
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("start");
    while !test.exists("o/started") {
        assert!(
            child.try_wait().expect("status").is_none(),
            "it ended early"
        );
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .expect("kill")
            .success()
    );
    let output = child.wait_with_output().expect("end");
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(test.exists("o/cleaned"));
}
