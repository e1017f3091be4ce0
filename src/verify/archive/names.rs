//! Names of entries: those that [`crate::base::member`] refuses, and two that Windows would take for one.

use super::{Entry, ProofError};
use crate::base::code::Code;
use crate::base::member::{find_argument_fault, find_fault};
use crate::base::text::is_invisible;

/// The name of a tar's entry: `./` in front is what many tars write, and programs that unpack them take a member with or
/// without it (libarchive, `archive_pathmatch.c`); `/` behind says that it is a directory.
pub(super) fn normalize_tar_name(raw: &[u8]) -> Result<String, ProofError> {
    let name = require_text(raw)?;
    let rest = name.trim_start_matches("./");
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() || rest == "." {
        // `./` itself, the folder that is packed.
        return if name.is_empty() {
            refuse_entry(Code::ARCHIVE_NAME_TRAVERSAL, name, "is empty")
        } else {
            Ok(String::new())
        };
    }
    check_name(rest)?;
    Ok(rest.to_owned())
}

/// The name of a zip's entry, to the byte, without the `/` that says that it is a directory. Programs that unpack a zip
/// compare names whole: `ZipArchive.GetEntry("a.exe")` finds neither `./a.exe` nor `A.EXE`
/// (<https://learn.microsoft.com/dotnet/api/system.io.compression.ziparchive.getentry>).
pub(super) fn require_exact_name(raw: &[u8]) -> Result<String, ProofError> {
    let name = require_text(raw)?;
    let name = name.strip_suffix('/').unwrap_or(name);
    check_name(name)?;
    Ok(name.to_owned())
}

fn require_text(raw: &[u8]) -> Result<&str, ProofError> {
    std::str::from_utf8(raw).or_else(|_| {
        refuse_entry(
            Code::ARCHIVE_NAME_ENCODING,
            &String::from_utf8_lossy(raw),
            "is not UTF-8",
        )
    })
}

pub(super) fn check_name(name: &str) -> Result<(), ProofError> {
    find_fault(name).map_or(Ok(()), |(code, why)| refuse_entry(code, name, &why))
}

/// Refuses names that a program which unpacks takes for an option or a pattern.
pub(super) fn check_argument(name: &str) -> Result<(), ProofError> {
    find_argument_fault(name).map_or(Ok(()), |(code, why)| refuse_entry(code, name, &why))
}

pub(super) fn refuse_entry<T>(code: Code, name: &str, why: &str) -> Result<T, ProofError> {
    Err(ProofError::new(
        code,
        format!("the entry `{}` {why}", escape_name(name)),
    ))
}

/// As it may stand in a message: short, and without what a terminal obeys.
pub(super) fn escape_name(name: &str) -> String {
    let mut text: String = name
        .chars()
        .take(80)
        .flat_map(|found| {
            let plain = !found.is_control() && !is_invisible(found);
            if plain {
                vec![found]
            } else {
                found.escape_unicode().collect()
            }
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
    let mut folded: Vec<(String, &Entry)> = Vec::with_capacity(entries.len());
    for entry in entries {
        folded.push((entry.name.to_uppercase().replace('/', "\0"), entry));
    }
    folded.sort_by(|(one, _), (other, _)| one.cmp(other));
    for pair in folded.windows(2) {
        let [(one, first), (other, second)] = pair else {
            continue;
        };
        if one == other && !(first.directory && second.directory) {
            if first.name == second.name {
                return refuse_entry(Code::ARCHIVE_DUPLICATE, &first.name, "is there twice");
            }
            return refuse_entry(
                Code::ARCHIVE_COLLISION,
                &first.name,
                &format!(
                    "and `{}` are one file on Windows",
                    escape_name(&second.name)
                ),
            );
        }
        let below = other.strip_prefix(one.as_str());
        if !first.directory && below.is_some_and(|rest| rest.starts_with('\0')) {
            return refuse_entry(
                Code::ARCHIVE_COLLISION,
                &first.name,
                &format!(
                    "is a file, and the folder of `{}`",
                    escape_name(&second.name)
                ),
            );
        }
    }
    Ok(())
}
