//! Abilities of the registry.

use crate::wine::machine::Machine;

const KEY: &str = r"Software\imagegen-wine";

/// Writes a value and gives what is read: the number of its kind and its bytes.
fn keep_value(machine: &Machine, name: &str, kind: &str, bytes: &str) -> String {
    let set = machine.call(&["set-value", KEY, name, kind, bytes]);
    assert_eq!(set, "0");
    machine.call(&["get-value", KEY, name])
}

fn query_value(machine: &Machine, arguments: &[&str]) -> String {
    let key = format!(r"HKLM\{KEY}");
    let words: Vec<&str> = ["query", &key]
        .into_iter()
        .chain(arguments.to_vec())
        .collect();
    machine.run("reg", &words).text
}

pub(super) fn keep_number(machine: &Machine) {
    assert_eq!(keep_value(machine, "Number", "4", "ffffffff"), "4 ffffffff");
    let text = query_value(machine, &["/v", "Number"]);
    assert!(text.contains("REG_DWORD    0xffffffff"), "{text}");
}

pub(super) fn keep_empty_list(machine: &Machine) {
    assert_eq!(keep_value(machine, "List", "7", "0000"), "7 0000");
    let text = query_value(machine, &["/v", "List"]);
    assert!(text.contains("List    REG_MULTI_SZ"), "{text}");
}

pub(super) fn keep_variables(machine: &Machine) {
    let bytes = "25005000250000 00".replace(' ', "");
    let found = keep_value(machine, "Variables", "2", &bytes);
    assert_eq!(found, format!("2 {bytes}"));
    let text = query_value(machine, &["/v", "Variables"]);
    assert!(text.contains("REG_EXPAND_SZ    %P%"), "{text}");
}

pub(super) fn keep_default(machine: &Machine) {
    assert_eq!(keep_value(machine, "", "1", "41000000"), "1 41000000");
    let text = query_value(machine, &["/ve"]);
    assert!(text.contains("REG_SZ    A"), "{text}");
}

pub(super) fn keep_slash(machine: &Machine) {
    let key = format!(r"{KEY}\RC4 128/128");
    let set = machine.call(&["set-value", &key, "Enabled", "4", "00000000"]);
    assert_eq!(set, "0");
    let text = query_value(machine, &["/s"]);
    assert!(text.contains("\\RC4 128/128\n"), "{text}");
}

pub(super) fn ignore_case(machine: &Machine) {
    keep_value(machine, "Case", "4", "01000000");
    let found = machine.call(&["get-value", &KEY.to_uppercase(), "cASE"]);
    assert_eq!(found, "4 01000000");
}

pub(super) fn remove_absent_value(machine: &Machine) {
    keep_value(machine, "There", "4", "01000000");
    assert_eq!(machine.call(&["delete-value", KEY, "None"]), "2");
    assert_eq!(machine.call(&["delete-value", KEY, "There"]), "0");
}
