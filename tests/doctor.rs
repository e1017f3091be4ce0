//! `imagegen doctor`.

use std::process::Output;

use crate::bake::with_program;
use crate::support::{Test, program};

const AZURE: &str = "--target azure --k8s 1.36.4";

fn doctor() -> Test {
    Test::new().line("doctor").line(AZURE)
}

#[test]
fn a_fresh_machine_misses_variables_and_nothing_is_made() {
    let test = doctor().line("--store store");
    let ran = test.fails(3, &["a build would miss", "hint:"]);
    assert!(ran.stdout.contains("will be downloaded"), "{}", ran.stdout);
    assert!(!test.exists("store"));
}

#[test]
fn a_target_without_packer_is_ready_when_the_store_is_stocked() {
    let line = "plan --target host --k8s 1.36.4";
    let test = Test::new()
        .line("doctor --target host --k8s 1.36.4")
        .stocked(line);
    let ran = test.succeeds();
    assert!(
        ran.stdout.contains("not needed for this target"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("missing"), "{}", ran.stdout);
}

#[test]
fn offline_names_what_the_store_lacks() {
    let ran = doctor()
        .line("--store store --offline")
        .fails(3, &["packer", "artifacts"]);
    assert!(ran.stdout.contains("0 of "), "{}", ran.stdout);
}

#[test]
fn no_secret_is_shown() {
    let test = doctor()
        .line("--store store --var auth=client_secret --format json")
        .env("ARM_CLIENT_SECRET", "hunter2-secret")
        .env(
            "HTTPS_PROXY",
            "http://user:hunter2/?#@x@proxy.example.com:3128/path",
        );
    let ran = test.run();
    assert!(
        ran.stdout.contains("ARM_CLIENT_SECRET is set"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("\"proxy.example.com:3128\""),
        "{}",
        ran.stdout
    );
    assert!(
        !format!("{}{}", ran.stdout, ran.stderr).contains("hunter2"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_store_that_cannot_be_written_is_missing() {
    // Below a file: that holds for root, too.
    let ran = doctor()
        .file("file", "")
        .line("--store file/store")
        .fails(3, &["store"]);
    assert!(ran.stdout.contains("cannot be written"), "{}", ran.stdout);
    for store in ["file", "file/store"] {
        let test = Test::new().file("file", "");
        let line = format!("doctor --target host --k8s 1.36.0 --store {store}");
        test.line(&line).fails(3, &["a build would miss: store"]);
    }
}

/// The same check as that of the verbs that use the store.
#[cfg(unix)]
#[test]
fn a_store_that_others_can_write_to_is_missing() {
    use std::os::unix::fs::PermissionsExt;
    let store = |verb: &str| {
        let test = Test::new().line(verb);
        let test = test.line("--target host --k8s 1.36.0 --offline --store shared");
        let folder = test.folder.join("shared");
        std::fs::create_dir(&folder).expect("folder");
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o775)).expect("mode");
        test
    };
    let reason = "other users can write to the store";
    let ran = store("doctor").fails(1, &["store"]);
    assert!(ran.stdout.contains(reason), "{}", ran.stdout);
    store("fetch").fails(1, &[reason]);
}

/// Without network, a store that has every file is only read; a bake has its folder there.
#[test]
fn a_store_that_is_only_read_is_enough_without_network() {
    for (line, code) in [
        ("--target host --k8s 1.36.0", 0),
        ("--target oci --k8s 1.36.0", 3),
    ] {
        for verb in ["doctor", "fetch"] {
            let code = if verb == "doctor" { code } else { 0 };
            let test = Test::new()
                .line(&format!("{verb} {line}"))
                .stocked(&format!("plan {line}"));
            let Some(output) = run_with_read_only_store(&test) else {
                return;
            };
            let stdout = String::from_utf8_lossy(&output.stdout);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{verb}: {stdout}{stderr}");
            let is_named = stdout.contains("cannot be written");
            assert_eq!(is_named, verb == "doctor", "{verb}: {stdout}{stderr}");
        }
    }
}

/// Runs a command while `store` is mounted read-only, which holds for root, too.
fn run_with_read_only_store(test: &Test) -> Option<Output> {
    let unshare = program("unshare")?;
    for folder in ["sha512", "urls", "partial"] {
        std::fs::create_dir_all(test.folder.join("store").join(folder)).expect("folder");
    }
    let script =
        "mount --bind store store && mount -o remount,bind,ro store || exit 99\nexec \"$0\" \"$@\"";
    let output = test
        .started_by(
            unshare,
            ["--user", "--map-root-user", "--mount", "sh", "-c", script],
        )
        .output()
        .expect("unshare");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(99) || stderr.contains("unshare failed") {
        println!("skipped: needs unshare with a file system of its own");
        return None;
    }
    Some(output)
}

#[test]
fn a_lock_of_another_selection_is_stale() {
    let test = doctor().file("imagegen.lock.json", r#"{"schema":"imagegen.dev/lock/v0"}"#);
    let ran = test.fails(3, &["lockfile"]);
    assert!(
        ran.stdout.contains("imagegen.dev/lock/v0"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_narrow_terminal_gets_two_lines_for_each() {
    let ran = doctor().env("COLUMNS", "40").env("NO_COLOR", "1").run();
    assert!(
        ran.stdout.contains("ok      clock\n        not before"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));
}

/// What a bake starts beside Packer, by the chosen selectors and variables.
#[cfg(unix)]
#[test]
fn programs_that_a_bake_needs_are_named() {
    for (line, name, found) in [
        ("azure", "az", true),
        ("azure", "az", false),
        ("gcp --var network=iap", "gcloud", false),
        ("qemu", "qemu-system-x86_64", false),
        (
            "qemu --var qemu_binary=/nowhere/qemu",
            "/nowhere/qemu",
            false,
        ),
        ("qemu --var firmware=uefi --var tpm=v2_0", "swtpm", false),
        ("vsphere", "mkisofs", true),
        ("vsphere", "xorriso or mkisofs or hdiutil or oscdimg", false),
        (
            "vsphere --var start=template --delivery media",
            "xorriso or",
            false,
        ),
        ("vsphere --var output=ova", "ovftool", false),
    ] {
        let test = Test::new().line("doctor --k8s 1.36.4 --target").line(line);
        let path = test.folder.join("bin").display().to_string();
        let there = if found { name } else { "other" };
        let ran = with_program(test, there, "#!/bin/sh\n")
            .env("PATH", &path)
            .run();
        let state = if found { "ok       " } else { "missing  " };
        let expected = format!("{state}{name}");
        assert!(ran.stdout.contains(&expected), "{line}: {}", ran.stdout);
        assert_eq!(
            ran.stderr.contains(&format!("hint: install {name}")),
            !found,
            "{line}: {}",
            ran.stderr
        );
    }
    for line in [
        "azure --var auth=client_secret",
        "gcp",
        "vsphere --var start=template",
    ] {
        let test = Test::new().line("doctor --k8s 1.36.4 --target").line(line);
        let ran = test.env("PATH", "/nowhere").run();
        assert!(
            !ran.stderr.contains("hint: install"),
            "{line}: {}",
            ran.stderr
        );
    }
}
