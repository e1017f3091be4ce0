//! `imagegen doctor`.

use crate::support::Test;

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
