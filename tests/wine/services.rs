//! The service manager: what starting, stopping and deleting answer.

use imagegen::windows::command_line::join_words;

use super::Case;
use super::machine::Machine;

pub(super) const SERVICES: &[Case] = &[
    (
        "a service that never started has exit code 1077",
        ask_new_service,
    ),
    (
        "a service gets its command line word by word",
        serve_command_line,
    ),
    ("a running service is started: 1056", start_running_service),
    ("a starting service is started: 1056", start_pending_service),
    (
        "differs: a starting service is stopped: 1052",
        stop_pending_service,
    ),
    ("a stopped service is stopped: 1062", stop_stopped_service),
    (
        "a service that is not there is started: 1060",
        start_absent_service,
    ),
    (
        "a disabled service is started: 1058",
        start_disabled_service,
    ),
    (
        "a service whose program is missing is started: 2",
        start_without_program,
    ),
    (
        "an exit code of a service's own comes with 1066",
        end_with_own_code,
    ),
    (
        "a deleted service that runs is there until it stops",
        delete_running_service,
    ),
    (
        "differs: a service with an empty Environment starts",
        start_with_empty_environment,
    ),
    (
        "differs: a service does not get its Environment",
        serve_environment,
    ),
    (
        "differs: a service starts without what it depends on",
        start_without_dependency,
    ),
    (
        "differs: sc.exe knows neither config nor failureflag",
        configure_by_sc,
    ),
];

/// Makes a service of `native.exe serve`, ready to be started.
fn make_service(machine: &Machine, name: &str, words: &str) {
    let line = format!(r"C:\native.exe serve C:\{name}.txt {words}");
    assert_eq!(machine.call(&["create-service", name, &line]), "0");
}

fn ask_new_service(machine: &Machine) {
    make_service(machine, "new", "run");
    assert_eq!(machine.call(&["query-service", "new"]), "1 1077 0");
}

fn serve_command_line(machine: &Machine) {
    let words = ["run".to_owned(), "a b".to_owned(), r"c d\".to_owned()];
    let line = join_words("x", &words);
    make_service(machine, "words", line.strip_prefix("x ").unwrap());
    assert_eq!(machine.call(&["start-service", "words"]), "0");
    machine.wait_for("words", "4 0 0");
    let given = machine.read(r"C:\words.txt");
    assert!(
        given.starts_with(&format!("{}\u{1}", words.join("\u{1}"))),
        "{given}"
    );
}

fn start_running_service(machine: &Machine) {
    make_service(machine, "running", "run");
    assert_eq!(machine.call(&["start-service", "running"]), "0");
    machine.wait_for("running", "4 0 0");
    assert_eq!(machine.call(&["start-service", "running"]), "1056");
}

fn start_pending_service(machine: &Machine) {
    make_service(machine, "pending", "pending");
    assert_eq!(machine.call(&["start-service", "pending"]), "0");
    machine.wait_for("pending", "2 0 0");
    assert_eq!(machine.call(&["start-service", "pending"]), "1056");
}

fn stop_pending_service(machine: &Machine) {
    make_service(machine, "starting", "pending");
    assert_eq!(machine.call(&["start-service", "starting"]), "0");
    machine.wait_for("starting", "2 0 0");
    assert_eq!(machine.call(&["stop-service", "starting"]), "1052");
}

fn stop_stopped_service(machine: &Machine) {
    make_service(machine, "stopped", "run");
    assert_eq!(machine.call(&["stop-service", "stopped"]), "1062");
}

fn start_absent_service(machine: &Machine) {
    assert_eq!(machine.call(&["start-service", "absent"]), "1060");
}

fn start_disabled_service(machine: &Machine) {
    make_service(machine, "disabled", "run");
    assert_eq!(machine.call(&["configure-service", "disabled", "4"]), "0");
    assert_eq!(machine.call(&["start-service", "disabled"]), "1058");
}

fn start_without_program(machine: &Machine) {
    let made = machine.call(&["create-service", "missing", r"C:\none\none.exe"]);
    assert_eq!(made, "0");
    assert_eq!(machine.call(&["start-service", "missing"]), "2");
}

fn end_with_own_code(machine: &Machine) {
    make_service(machine, "own", "fails");
    assert_eq!(machine.call(&["start-service", "own"]), "0");
    machine.wait_for("own", "1 1066 42");
}

fn delete_running_service(machine: &Machine) {
    make_service(machine, "deleted", "run");
    assert_eq!(machine.call(&["start-service", "deleted"]), "0");
    machine.wait_for("deleted", "4 0 0");
    assert_eq!(machine.call(&["delete-service", "deleted"]), "0");
    assert_eq!(machine.call(&["query-service", "deleted"]), "4 0 0");
    assert_eq!(machine.call(&["delete-service", "deleted"]), "1072");
    assert_eq!(machine.call(&["stop-service", "deleted"]), "0");
    machine.wait_for("deleted", "1060");
}

/// The key of a service below `HKLM`.
fn service_key(name: &str) -> String {
    format!(r"System\CurrentControlSet\Services\{name}")
}

fn start_with_empty_environment(machine: &Machine) {
    make_service(machine, "empty", "run");
    // What .NET and Go write for an empty list: one NUL character.
    let key = service_key("empty");
    let set = machine.call(&["set-value", &key, "Environment", "7", "0000"]);
    assert_eq!(set, "0");
    assert_eq!(machine.call(&["start-service", "empty"]), "0");
}

fn serve_environment(machine: &Machine) {
    make_service(machine, "environment", "run");
    let key = service_key("environment");
    let list = "41003d00310000000000";
    let set = machine.call(&["set-value", &key, "Environment", "7", list]);
    assert_eq!(set, "0");
    assert_eq!(machine.call(&["start-service", "environment"]), "0");
    machine.wait_for("environment", "4 0 0");
    assert_eq!(machine.read(r"C:\environment.txt"), "run\u{1}none");
}

fn start_without_dependency(machine: &Machine) {
    make_service(machine, "needed", "run");
    make_service(machine, "needing", "run");
    let configured = machine.call(&["configure-service", "needing", "3", "needed"]);
    assert_eq!(configured, "0");
    assert_eq!(machine.call(&["start-service", "needing"]), "0");
    machine.wait_for("needing", "4 0 0");
    assert_eq!(machine.call(&["query-service", "needed"]), "1 1077 0");
}

fn configure_by_sc(machine: &Machine) {
    make_service(machine, "configured", "run");
    let config = ["config", "configured", "start=", "auto"];
    assert_eq!(machine.run("sc", &config).code, 1);
    let flag = ["failureflag", "configured", "1"];
    assert_eq!(machine.run("sc", &flag).code, 1);
}
