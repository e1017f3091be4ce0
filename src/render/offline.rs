//! Policies of the plan as registry files, for the hives of a Windows that does not run yet.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::guest_plan::GuestPlan;
use crate::windows::resource::{
    Desired, RegistryContent, RegistryData, RegistryValue, ResourceKind,
};

/// Files by hive: `SOFTWARE.reg`, `SYSTEM.reg`. Windows reads policies before the engine can run.
pub(super) fn format_policies(plan: &GuestPlan) -> BTreeMap<String, String> {
    let mut keys: BTreeMap<(&str, String), String> = BTreeMap::new();
    for resource in &plan.resources {
        let ResourceKind::RegistryValue(value) = &resource.kind else {
            continue;
        };
        let Desired::Present(content) = &value.desired else {
            continue;
        };
        let Some((hive, key)) = place_policy(value) else {
            continue;
        };
        // Who merges the file makes no key without its parents.
        for (end, _) in key.match_indices('\\') {
            keys.entry((hive, key[..end].to_owned())).or_default();
        }
        *keys.entry((hive, key)).or_default() += &format_value(&value.value_name, content);
    }
    let mut files = BTreeMap::new();
    for ((hive, key), values) in keys {
        let text = files
            .entry(format!("{hive}.reg"))
            .or_insert_with(|| "Windows Registry Editor Version 5.00\n".to_owned());
        let _ = write!(text, "\n[HKEY_LOCAL_MACHINE\\{hive}\\{key}]\n{values}");
    }
    files
}

/// Hive and key. An offline system has no current control set; the first one becomes it.
fn place_policy(value: &RegistryValue) -> Option<(&'static str, String)> {
    let path = value.key.strip_prefix(r"HKLM:\")?;
    let (hive, key) = path.split_once('\\')?;
    let hive = ["SOFTWARE", "SYSTEM"]
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(hive))?;
    let is_policy = key
        .split('\\')
        .any(|part| part.eq_ignore_ascii_case("Policies"));
    let key = match key.split_once('\\') {
        Some((first, rest)) if first.eq_ignore_ascii_case("CurrentControlSet") => {
            format!(r"ControlSet001\{rest}")
        }
        _ => key.to_owned(),
    };
    is_policy.then_some((hive, key))
}

/// Every type as its bytes, so that no reader encodes a text in its own way.
fn format_value(name: &str, content: &RegistryContent) -> String {
    let (kind, bytes) = encode_data(&content.data);
    let name = match name {
        "" => "@".to_owned(),
        name => format!("\"{}\"", name.replace('\\', r"\\").replace('"', "\\\"")),
    };
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name}=hex({kind:x}):{}\n", bytes.join(","))
}

/// Number of the type, and its bytes.
fn encode_data(data: &RegistryData) -> (u8, Vec<u8>) {
    match data {
        RegistryData::String(value) => (1, encode_utf16(value)),
        RegistryData::ExpandString(value) => (2, encode_utf16(value)),
        RegistryData::Binary(value) => (3, decode_hex(value)),
        RegistryData::DWord(value) => (4, value.to_le_bytes().to_vec()),
        RegistryData::MultiString(values) => {
            let mut bytes: Vec<u8> = values
                .iter()
                .flat_map(|value| encode_utf16(value))
                .collect();
            bytes.extend([0, 0]);
            (7, bytes)
        }
        RegistryData::QWord(value) => (11, value.to_le_bytes().to_vec()),
    }
}

/// UTF-16LE with the NUL at its end.
fn encode_utf16(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().chain([0]);
    units.flat_map(u16::to_le_bytes).collect()
}

/// The type of the value has refused what is no whole number of bytes.
fn decode_hex(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len() / 2).filter_map(|at| digits.get(2 * at..2 * at + 2));
    pairs
        .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::value::RegistryKey;

    fn value(key: &str, name: &str, data: RegistryData) -> RegistryValue {
        RegistryValue {
            key: key.parse::<RegistryKey>().expect("a key"),
            value_name: name.to_owned(),
            desired: Desired::Present(RegistryContent { data }),
        }
    }

    #[test]
    fn policies_alone_are_placed() {
        for (key, placed) in [
            (
                r"HKLM:\SOFTWARE\Policies\A",
                Some(("SOFTWARE", r"Policies\A")),
            ),
            (
                r"HKLM:\SYSTEM\CurrentControlSet\Policies\A",
                Some(("SYSTEM", r"ControlSet001\Policies\A")),
            ),
            (r"HKLM:\SYSTEM\CurrentControlSet\Services\hns\State", None),
        ] {
            let found = place_policy(&value(key, "n", RegistryData::DWord(1)));
            assert_eq!(
                found,
                placed.map(|(hive, key)| (hive, key.to_owned())),
                "{key}"
            );
        }
    }

    #[test]
    fn data_are_their_bytes() {
        for (data, text) in [
            (RegistryData::DWord(1), "hex(4):01,00,00,00"),
            (
                RegistryData::Binary("00FF".parse().expect("digits")),
                "hex(3):00,ff",
            ),
            (RegistryData::QWord(258), "hex(b):02,01,00,00,00,00,00,00"),
            (RegistryData::String("a".to_owned()), "hex(1):61,00,00,00"),
            (
                RegistryData::ExpandString("%".to_owned()),
                "hex(2):25,00,00,00",
            ),
            (
                RegistryData::MultiString(vec!["a".to_owned()]),
                "hex(7):61,00,00,00,00,00",
            ),
        ] {
            let content = RegistryContent { data };
            assert_eq!(
                format_value(r#"a"\b"#, &content),
                format!("\"a\\\"\\\\b\"={text}\n")
            );
            assert_eq!(format_value("", &content), format!("@={text}\n"));
        }
    }
}
