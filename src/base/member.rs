//! Names of files in archives and on Windows: those that Windows, a program that unpacks or a reader would take
//! for something else are refused.
//!
//! <https://learn.microsoft.com/windows/win32/fileio/naming-a-file> has the rules.

use crate::base::code::Code;
use crate::base::text::is_digits;

crate::text_value!(
    /// The name of a member that is taken out of an archive: of a zip exactly as its directory has it, of a tar without
    /// the `./` that may stand in front there. Placeholders of versions are plain characters.
    MemberName,
    |text| find_fault(text).or_else(|| find_argument_fault(text)).is_none(),
    "a name inside of an archive: expected a path with `/`, without wildcards, `..`, device names and leading `-`, such as `bin/ctr.exe`",
    |text| text.starts_with("./").then(|| "begins with `./`: leave that out, whatever the archive has".to_owned())
);

crate::text_value!(
    /// The name that a member gets on the machine.
    MemberFile,
    |text| !text.contains(['/', '\'', '$', '`', '%']) && find_fault(text).is_none() && find_argument_fault(text).is_none(),
    "a file name: expected one that Windows allows, without folder, wildcard and leading `-`, such as `ctr.exe`"
);

impl MemberName {
    /// The name with placeholders such as `{version}` filled in: versions and platforms have no characters that a
    /// name may not have.
    #[must_use]
    pub fn fill_placeholders(&self, fill: impl Fn(&str) -> String) -> Self {
        Self(fill(&self.0))
    }
}

impl MemberFile {
    /// As [`MemberName::fill_placeholders`].
    #[must_use]
    pub fn fill_placeholders(&self, fill: impl Fn(&str) -> String) -> Self {
        Self(fill(&self.0))
    }
}

/// Longest path without the end: `MAX_PATH`. Neither containerd nor PowerShell 5.1 opts in to longer ones.
pub const LONGEST_PATH: usize = 259;

/// Why a path is not the same everywhere: a stable code, and the reason as the rest of a sentence.
pub fn find_fault(name: &str) -> Option<(Code, String)> {
    if name.encode_utf16().count() > LONGEST_PATH {
        let why = format!("is longer than {LONGEST_PATH} characters");
        return Some((Code::ARCHIVE_NAME_LENGTH, why));
    }
    if let Some((code, why)) = find_separator_fault(name) {
        return Some((code, why.to_owned()));
    }
    if let Some(found) = name.chars().find(|found| super::text::is_invisible(*found)) {
        let why = format!("has the invisible character U+{:04X}", u32::from(found));
        return Some((Code::ARCHIVE_NAME_INVISIBLE, why));
    }
    if name.contains(|found: char| found.is_control() || "<>\"|?*".contains(found)) {
        let why = "has characters that no file of Windows can have".to_owned();
        return Some((Code::ARCHIVE_NAME_CHARACTERS, why));
    }
    if let Some(fault) = name.split('/').find_map(find_part_fault) {
        return Some(fault);
    }
    // NFC and NFD, full-width forms, letters such as the Kelvin sign: systems disagree which of them are one name.
    let found = name.chars().find(|found| !found.is_ascii())?;
    let why = format!(
        "has the character U+{:04X}; only ASCII is the same name on every system",
        u32::from(found)
    );
    Some((Code::ARCHIVE_NAME_ENCODING, why))
}

/// Whether a path with `/` names something below the folder that it is joined to, on every system.
pub fn stays_inside(path: &str) -> bool {
    let is_drive = path.get(1..2) == Some(":");
    let mut parts = path.split('/');
    !path.contains('\\') && !is_drive && !parts.any(|part| matches!(part, "" | "." | ".."))
}

fn find_part_fault(part: &str) -> Option<(Code, String)> {
    let (code, why) = if matches!(part, "" | "." | "..") {
        (
            Code::ARCHIVE_NAME_TRAVERSAL,
            "leaves its folder, or has an empty or `.` part",
        )
    } else if part.ends_with(['.', ' ']) {
        (
            Code::ARCHIVE_NAME_TRAILING,
            "ends in a dot or blank, which Windows drops",
        )
    } else if part.encode_utf16().count() > 255 {
        (
            Code::ARCHIVE_NAME_LENGTH,
            "has a part longer than 255 characters",
        )
    } else if is_reserved(part) {
        (Code::ARCHIVE_NAME_RESERVED, "is a device of Windows")
    } else if is_short_form(part) {
        (
            Code::ARCHIVE_NAME_SHORT,
            "has the form of a short (8.3) name, which Windows may have given to another file",
        )
    } else {
        return None;
    };
    Some((code, why.to_owned()))
}

/// Why a program that unpacks takes a name for an option or a pattern.
pub fn find_argument_fault(name: &str) -> Option<(Code, String)> {
    if name.starts_with(['-', '@']) {
        return Some((
            Code::ARCHIVE_NAME_OPTION,
            "reads as an option of the program that unpacks it".to_owned(),
        ));
    }
    name.contains(['[', ']', '*', '?'])
        .then(|| (Code::ARCHIVE_NAME_WILDCARD, "has a wildcard".to_owned()))
}

/// `LONGNA~1.EXE`: the second name that NTFS gives to files with longer ones.
/// <https://learn.microsoft.com/windows/win32/fileio/naming-a-file#short-vs-long-names>
fn is_short_form(part: &str) -> bool {
    let (base, extension) = part.split_once('.').unwrap_or((part, ""));
    let Some((_, number)) = base.rsplit_once('~') else {
        return false;
    };
    let is_number = !number.is_empty() && is_digits(number);
    is_number && base.len() <= 8 && extension.len() <= 3
}

/// Whether Windows takes the name for a device. With an extension a device stays a device; the superscripts one to
/// three count as digits.
pub fn is_reserved(part: &str) -> bool {
    let base = part
        .split('.')
        .next()
        .unwrap_or(part)
        .trim_end_matches(' ')
        .to_ascii_uppercase();
    if matches!(
        base.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$"
    ) {
        return true;
    }
    let Some(digit) = base
        .strip_prefix("COM")
        .or_else(|| base.strip_prefix("LPT"))
    else {
        return false;
    };
    let mut digits = digit.chars();
    matches!(
        (digits.next(), digits.next()),
        (Some('0'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'), None)
    )
}

fn find_separator_fault(name: &str) -> Option<(Code, &'static str)> {
    if name.contains('\\') {
        let why = "has a backslash, which separates folders on Windows only";
        return Some((Code::ARCHIVE_NAME_BACKSLASH, why));
    }
    if name.starts_with('/') {
        return Some((Code::ARCHIVE_NAME_ABSOLUTE, "is absolute"));
    }
    if name.contains(':') {
        let why = "has a colon: a drive or an alternate stream";
        return Some((Code::ARCHIVE_NAME_COLON, why));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{MemberFile, MemberName, stays_inside};

    #[test]
    fn paths_stay_in_their_folder() {
        for path in ["packer.log", "output/disk.qcow2", "a..b/c d", "output/x:y"] {
            assert!(stays_inside(path), "{path}");
        }
        let outside = [
            "",
            ".",
            "..",
            "../x",
            "a/../../x",
            "/etc/hostname",
            "a//b",
            "a/",
            "C:/x",
            "C:x",
            "a\\b",
            "\\x",
        ];
        for path in outside {
            assert!(!stays_inside(path), "{path}");
        }
    }

    #[test]
    fn names_of_members_are_plain() {
        for name in ["bin/ctr.exe", "kubernetes-{version}/x.exe", "a b/c+d.dll"] {
            assert!(name.parse::<MemberName>().is_ok(), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/../b",
            "a//b",
            "/x",
            "C:/x",
            "a.exe:stream",
            "a\\b",
            "*.exe",
            "a?.exe",
            "[a].exe",
            "-C/x",
            "@list",
            "nul",
            "bin/AUX.exe",
            "COM1.txt",
            "lpt\u{b9}",
            "a./b",
            "a /b",
            "x.",
            "x ",
            "a\u{202e}exe.txt",
            "a\nb",
            "a\0b",
            "./x",
            ".//x",
            "./../x",
            "././x",
        ] {
            assert!(name.parse::<MemberName>().is_err(), "{name:?}");
        }
        assert!("x".repeat(300).parse::<MemberName>().is_err());
        assert!("ctr.exe".parse::<MemberFile>().is_ok());
        for file in [
            "a/b.exe", "..", "con", "x.exe:y", "a'b.exe", "$x.exe", "-x", "a\\b",
        ] {
            assert!(file.parse::<MemberFile>().is_err(), "{file}");
        }
    }
}
