//! Names of entries: those that Windows would take for something else are refused, and so are two
//! that it would take for one.
//!
//! <https://learn.microsoft.com/windows/win32/fileio/naming-a-file> has the rules.

use super::{Entry, Limits, ProofError};

/// The name as it is used: `./` in front is what many tars write and means nothing, `/` behind
/// says that it is a directory.
pub(super) fn normalize_name(raw: &[u8], limits: &Limits) -> Result<String, ProofError> {
    let Ok(name) = std::str::from_utf8(raw) else {
        return refuse_entry("archive-name-encoding", &String::from_utf8_lossy(raw), "is not UTF-8");
    };
    let mut rest = name;
    while let Some(stripped) = rest.strip_prefix("./") {
        rest = stripped;
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() || rest == "." {
        // `./` itself, the folder that is packed.
        return if name.is_empty() {
            refuse_entry("archive-name-traversal", name, "is empty")
        } else {
            Ok(String::new())
        };
    }
    check_name(rest, limits)?;
    Ok(rest.to_owned())
}

pub(super) fn check_name(name: &str, limits: &Limits) -> Result<(), ProofError> {
    if name.encode_utf16().count() > limits.path {
        return refuse_entry(
            "archive-name-length",
            name,
            &format!("is longer than {} characters", limits.path),
        );
    }
    if name.contains('\\') {
        return refuse_entry(
            "archive-name-backslash",
            name,
            "has a backslash, which parts folders on Windows alone",
        );
    }
    if name.starts_with('/') {
        return refuse_entry("archive-name-absolute", name, "is absolute");
    }
    if name.contains(':') {
        return refuse_entry("archive-name-colon", name, "has a colon: a drive or an alternate stream");
    }
    if let Some(found) = name.chars().find(|found| is_hidden(*found)) {
        return refuse_entry(
            "archive-name-invisible",
            name,
            &format!("has the invisible character U+{:04X}", u32::from(found)),
        );
    }
    if name.chars().any(|found| found.is_control() || "<>\"|?*".contains(found)) {
        return refuse_entry(
            "archive-name-characters",
            name,
            "has characters that no file of Windows can have",
        );
    }
    name.split('/').try_for_each(|part| check_part(name, part))
}

fn check_part(name: &str, part: &str) -> Result<(), ProofError> {
    if matches!(part, "" | "." | "..") {
        return refuse_entry(
            "archive-name-traversal",
            name,
            "leaves its folder, or says it in a roundabout way",
        );
    }
    if part.ends_with(['.', ' ']) {
        return refuse_entry("archive-name-trailing", name, "ends in a dot or blank, which Windows drops");
    }
    if part.encode_utf16().count() > 255 {
        return refuse_entry("archive-name-length", name, "has a part longer than 255 characters");
    }
    if is_reserved(part) {
        return refuse_entry("archive-name-reserved", name, "is a device of Windows");
    }
    Ok(())
}

/// Refuses names that a program which unpacks takes for an option or a pattern.
pub(super) fn check_argument(name: &str) -> Result<(), ProofError> {
    if name.starts_with(['-', '@']) {
        return refuse_entry(
            "archive-name-option",
            name,
            "reads as an option of the program that unpacks it",
        );
    }
    if name.contains(['[', ']', '*', '?']) {
        return refuse_entry("archive-name-wildcard", name, "has a wildcard");
    }
    Ok(())
}

/// With an extension a device stays a device; the superscripts one to three count as digits.
fn is_reserved(part: &str) -> bool {
    let base = part.split('.').next().unwrap_or(part).trim_end_matches(' ').to_ascii_uppercase();
    if matches!(base.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let Some(digit) = base.strip_prefix("COM").or_else(|| base.strip_prefix("LPT")) else { return false };
    let mut digits = digit.chars();
    matches!((digits.next(), digits.next()), (Some('0'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'), None))
}

/// What turns the direction of text or takes no room, so that a name reads as another.
fn is_hidden(found: char) -> bool {
    matches!(found,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

pub(super) fn refuse_entry<T>(code: &'static str, name: &str, why: &str) -> Result<T, ProofError> {
    Err(ProofError::new(code, format!("the entry `{}` {why}", escape_name(name))))
}

/// As it may stand in a message: short, and without what a terminal obeys.
pub(super) fn escape_name(name: &str) -> String {
    let mut text: String = name
        .chars()
        .take(80)
        .flat_map(|found| {
            let plain = !found.is_control() && !is_hidden(found);
            if plain { vec![found] } else { found.escape_unicode().collect() }
        })
        .collect();
    if name.chars().count() > 80 {
        text.push('…');
    }
    text
}

/// Refuses two entries that would be one file, and files in a place where others have a folder.
pub(super) fn check_collisions(entries: &[Entry]) -> Result<(), ProofError> {
    // NUL sorts before all else, so that what lies below a name follows it at once.
    let fold = |name: &str| name.to_uppercase().replace('/', "\0");
    let mut folded: Vec<(String, &Entry)> = entries.iter().map(|entry| (fold(&entry.name), entry)).collect();
    folded.sort_by(|(one, _), (other, _)| one.cmp(other));
    for pair in folded.windows(2) {
        let [(one, first), (other, second)] = pair else { continue };
        if one == other && !(first.directory && second.directory) {
            if first.name == second.name {
                return refuse_entry("archive-duplicate", &first.name, "is there twice");
            }
            return refuse_entry(
                "archive-collision",
                &first.name,
                &format!("and `{}` are one file on Windows", escape_name(&second.name)),
            );
        }
        if !first.directory && other.strip_prefix(one.as_str()).is_some_and(|rest| rest.starts_with('\0')) {
            return refuse_entry(
                "archive-collision",
                &first.name,
                &format!("is a file, and the folder of `{}`", escape_name(&second.name)),
            );
        }
    }
    Ok(())
}
