//! Bakes that fail or are interrupted.

use std::io::Read as _;
use std::process::{Child, Stdio};

use super::media::{DRIVERS, WINDOWS, build_with_media};
use super::{REPORT, with_packer, with_program};
use crate::support::{Test, send_signal};

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

/// Where a machine runs already when the builder starts it, nothing is downloaded or written; of others Packer tells.
#[test]
fn programs_that_the_builder_starts_are_looked_for_first() {
    let absent = "program not found: az, which gives Packer the login of `az login`; install az";
    let test = with_packer("exit 1").env("PATH", "/nowhere");
    test.fails(7, &[absent, "packer "]);
    assert!(test.exists("o"));

    let test = Test::new()
        .env("PATH", "/nowhere")
        .line("build --out o --target gcp --k8s 1.36.4 --var project_id=example-project --var zone=europe-west3-a")
        .line("--var network=iap");
    test.fails(7, &["program not found: gcloud, which", "install gcloud"]);
    assert!(!test.exists("o"));
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

/// What is left on the platform is said: nothing where Packer had the time to clean up.
#[test]
fn an_interrupt_lets_packer_clean_up() {
    let cleans = "trap 'echo cleaned > \"$OUT/cleaned\"; exit 1' INT";
    // Lines of the builders for Amazon and Azure.
    let stays = "trap 'echo cleaned > \"$OUT/cleaned\"; \
        echo \"==> x.y: Error terminating instance, may still be around: denied\"; exit 1' INT";
    let keeps = "trap 'echo cleaned > \"$OUT/cleaned\"; \
        echo \"==> x.y: Error deleting resource.  Please delete manually.\"; exit 1' INT";
    let hangs = "trap 'echo again > \"$OUT/again\"' INT";
    for (options, packer, said) in [
        ("", cleans, "interrupted; Packer has cleaned up"),
        (
            "--on-error abort",
            cleans,
            "what Packer made stays, as `--on-error abort` says",
        ),
        ("", stays, "Packer may not have removed all that it made"),
        ("", keeps, "Packer may not have removed all that it made"),
        ("", hangs, "Packer was killed"),
    ] {
        let test = with_packer(&format!(
            "[ $1 = build ] || exit 0\n{packer}\necho started > \"$OUT/started\"\nwhile :; do sleep 0.1; done",
        ))
        .line(options);
        let mut child = start(&test);
        wait_for_file(&test, "o/started", &mut child);
        send_signal(&child, "-INT");
        if packer == hangs {
            wait_for_file(&test, "o/again", &mut child);
            send_signal(&child, "-INT");
        }
        let output = child.wait_with_output().expect("end");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
        let names_log = stderr.contains("packer.log names");
        assert_eq!(names_log, !said.ends_with("cleaned up"), "{stderr}");
        assert_eq!(test.exists("o/cleaned"), packer != hangs);
    }
}

#[test]
fn an_interrupt_of_the_conversion_is_no_failure_of_it() {
    let selection = "--target qemu --k8s 1.36.4 --windows 2022 --var further=vhd";
    let media = [("windows", WINDOWS), ("drivers", DRIVERS)];
    let mut test = build_with_media("qemu", selection, &media).line("--var accelerator=tcg");
    let manifest = r#"{"builds": [{"builder_type": "qemu", "artifact_id": "d", "packer_run_uuid": "1",
        "files": [{"name": "d.qcow2", "size": 5}]}], "last_run_uuid": "1"}"#;
    let packer = format!(
        "[ $1 = build ] || exit 0\nmkdir -p image\necho disk > image/d.qcow2\n{REPORT}\n\
         cat > packer-manifest.json <<'M'\n{manifest}\nM"
    );
    let started = test.folder.join("started").display().to_string();
    let converter = format!("trap 'exit 1' INT\n: > '{started}'\nwhile :; do sleep 0.1; done");
    for (name, script) in [("packer", packer), ("qemu-img", converter)] {
        test = with_program(test, name, &format!("#!/bin/sh\n{script}\n"));
    }
    let program = test.folder.join("bin/packer").display().to_string();
    let test = test.args(["--packer", &program]);
    let mut child = start(&test);
    wait_for_file(&test, "started", &mut child);
    send_signal(&child, "-INT");
    let output = child.wait_with_output().expect("end");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let said = "interrupted while qemu-img converted the disk of the image";
    assert!(stderr.contains(said), "{stderr}");
}

/// A bake that goes on beside the test.
fn start(test: &Test) -> Child {
    let mut command = test.command();
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("start")
}

fn wait_for_file(test: &Test, file: &str, child: &mut Child) {
    while !test.exists(file) {
        if let Some(status) = child.try_wait().expect("status") {
            let mut said = String::new();
            let mut stderr = child.stderr.take().expect("a pipe");
            stderr.read_to_string(&mut said).expect("UTF-8");
            panic!("it ended early ({status}): {said}");
        }
        std::thread::yield_now();
    }
}
