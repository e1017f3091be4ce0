//! Publishers' checksum files, in every layout that is in use.
//!
//! | layout | example |
//! |---|---|
//! | bare | `hex`, `sha256:hex`; `hex  -` and `SHA256(stdin)= hex` of a pipe |
//! | GNU | `hex  name`, `hex *name`, `\hex  na\\me`, `sha256:hex  name` |
//! | BSD, openssl | `SHA256 (name) = hex`, `\SHA256 (na\\me) = hex`, `SHA2-256(name)= hex` |
//! | GnuPG | `name: HEX HEX …`, `name: SHA256 = HEX HEX …`, the rest behind blanks in the next lines |
//! | Get-FileHash | a table `Algorithm Hash Path`, or lines `Algorithm : SHA256` … |
//! | certutil | `SHA256 hash of name:`, the digest on the next line |
//!
//! Blank lines and comments (`#`, `;`) aside, each line belongs to one layout, and a file may have several layouts.
//! Text is UTF-8, with or without byte order mark, or UTF-16 with one; line ends are any. An entry
//! counts only if its digest has the algorithm's length and its name is the file's: the whole
//! relative path or, where no path is asked for, the last part of it.
//!
//! Codes: `checksum-absent`, `checksum-ambiguous`, `checksum-algorithm`, `checksum-empty-file`,
//! `checksum-malformed`, `checksum-too-large`, `checksum-web-page`.

mod layout;

use super::ProofError;
use crate::base::code::Code;
use crate::base::text::convert_to_utf8;
use crate::base::url::HttpUrl;
use crate::base::value::PinAlgorithm;
use layout::parse_entries;

/// A checksum file is text about a release, not a release.
pub const MAX_SIZE: usize = 4 << 20;

/// Fact of a proof: the file that the line of a checksum file names.
pub const LINE: &str = "line";

/// An entry of a checksum file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChecksumLine {
    algorithm: Option<String>,
    /// In lower-case hexadecimal.
    pub digest: String,
    /// None where the layout has no names.
    pub name: Option<String>,
}

/// The digest that a checksum file states for a file, in lower-case hexadecimal.
///
/// # Errors
/// No entry, several that differ, one of another algorithm, or no checksum file at all.
pub fn find_checksum(
    bytes: &[u8],
    name: &str,
    algorithm: PinAlgorithm,
) -> Result<String, ProofError> {
    find_line(bytes, name, algorithm).map(|line| line.digest)
}

/// The entry that a checksum file has for the file of a URL: by the name that a server reads, `a+b.exe`, or as the URL
/// has it, `a%2Bb.exe`.
///
/// # Errors
/// As [`find_checksum`]; entries for both names that differ.
pub fn find_url_line(
    bytes: &[u8],
    url: &HttpUrl,
    algorithm: PinAlgorithm,
) -> Result<ChecksumLine, ProofError> {
    let (plain, encoded) = (url.plain_file_name(), url.file_name());
    let line = find_line(bytes, &plain, algorithm);
    if plain == encoded {
        return line;
    }

    let other = find_line(bytes, encoded, algorithm);
    let is_absent = |found: &Result<_, ProofError>| matches!(found, Err(error) if error.code == Code::CHECKSUM_ABSENT);
    if is_absent(&other) {
        return line;
    }
    if is_absent(&line) {
        return other;
    }
    let (line, other) = (line?, other?);
    if line.digest == other.digest {
        Ok(line)
    } else {
        Err(ambiguous_error(&plain))
    }
}

/// The entry that a checksum file has for a file.
///
/// # Errors
/// As [`find_checksum`].
pub fn find_line(
    bytes: &[u8],
    name: &str,
    algorithm: PinAlgorithm,
) -> Result<ChecksumLine, ProofError> {
    if bytes.len() > MAX_SIZE {
        let message = format!("{} bytes are too large for a checksum file", bytes.len());
        return Err(ProofError::new(Code::CHECKSUM_TOO_LARGE, message));
    }
    let text = String::from_utf8(convert_to_utf8(bytes).into_owned())
        .map_err(|_| ProofError::new(Code::CHECKSUM_MALFORMED, "it is not text"))?;
    if text.trim_start().starts_with('<') {
        return Err(ProofError::new(
            Code::CHECKSUM_WEB_PAGE,
            "the checksum file is a web page",
        ));
    }
    let entries = parse_entries(&text)?;
    let found = choose_entry(&entries, name, algorithm)?;
    if EMPTY.contains(&found.digest.as_str()) {
        return Err(ProofError::new(
            Code::CHECKSUM_EMPTY_FILE,
            "the digest is that of an empty file",
        ));
    }
    Ok(found.clone())
}

/// Digests of no bytes at all.
const EMPTY: [&str; 2] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
];

fn choose_entry<'a>(
    entries: &'a [ChecksumLine],
    name: &str,
    algorithm: PinAlgorithm,
) -> Result<&'a ChecksumLine, ProofError> {
    let fitting = if entries.iter().all(|entry| entry.name.is_none()) {
        entries.iter().collect()
    } else {
        find_named(entries, name)?
    };
    let (fitting, others): (Vec<_>, Vec<_>) = fitting
        .into_iter()
        .partition(|entry| has_algorithm(entry, algorithm));
    let Some(first) = fitting.first() else {
        return Err(other_algorithm_error(&others, algorithm));
    };
    if fitting.iter().any(|entry| entry.digest != first.digest) {
        return Err(ambiguous_error(name));
    }
    Ok(first)
}

fn ambiguous_error(name: &str) -> ProofError {
    let message = format!("it has several entries for {name} that differ");
    ProofError::new(Code::CHECKSUM_AMBIGUOUS, shorten_text(&message))
}

/// Entries for a file. A path is matched whole; a bare name is the last part of any path.
fn find_named<'a>(
    entries: &'a [ChecksumLine],
    name: &str,
) -> Result<Vec<&'a ChecksumLine>, ProofError> {
    let wanted = normalize_path(name);
    let (mut exact, mut below) = (Vec::new(), Vec::new());
    for entry in entries {
        let Some(own) = entry.name.as_deref().map(normalize_path) else {
            continue;
        };
        if own == wanted {
            exact.push(entry);
        } else if own.rsplit('/').next() == Some(&wanted) {
            below.push(entry);
        }
    }
    if !exact.is_empty() {
        return Ok(exact);
    }
    if !below.is_empty() {
        return Ok(below);
    }

    let names = entries.iter().filter_map(|entry| entry.name.as_deref());
    let known: Vec<&str> = names.take(5).collect();
    let mut message = format!("it has no entry for {}", shorten_text(name));
    if !known.is_empty() {
        message = format!("{message}; it names {}", shorten_text(&known.join(", ")));
    }
    Err(ProofError::new(Code::CHECKSUM_ABSENT, message))
}

fn shorten_text(text: &str) -> String {
    text.chars().take(200).filter(|c| !c.is_control()).collect()
}

fn has_algorithm(entry: &ChecksumLine, algorithm: PinAlgorithm) -> bool {
    let (label, length) = algorithm_label(algorithm);
    entry.digest.len() == length
        && entry.algorithm.as_deref().is_none_or(|own| {
            let own = own.replace('-', "").to_uppercase();
            own == label || own.strip_prefix("SHA2") == label.strip_prefix("SHA")
        })
}

fn algorithm_label(algorithm: PinAlgorithm) -> (&'static str, usize) {
    match algorithm {
        PinAlgorithm::Sha256 => ("SHA256", 64),
        PinAlgorithm::Sha512 => ("SHA512", 128),
    }
}

fn other_algorithm_error(others: &[&ChecksumLine], algorithm: PinAlgorithm) -> ProofError {
    let (label, length) = algorithm_label(algorithm);
    let Some(entry) = others.first() else {
        let message = format!("it has no entry of {label}");
        return ProofError::new(Code::CHECKSUM_ALGORITHM, message);
    };
    let said = entry.algorithm.as_ref();
    let said = said.map(|own| format!(" of {own}")).unwrap_or_default();
    let is_accepted = [PinAlgorithm::Sha256, PinAlgorithm::Sha512]
        .into_iter()
        .any(|accepted| has_algorithm(entry, accepted));
    let expected = if is_accepted {
        format!("{label} has {length}")
    } else {
        "only SHA256 with 64 and SHA512 with 128 prove a file".to_owned()
    };
    let message = format!(
        "the entry has {} digits{said}; {expected}",
        entry.digest.len()
    );
    ProofError::new(Code::CHECKSUM_ALGORITHM, shorten_text(&message))
}

/// A relative path with `/` between its parts and no `./` before them.
fn normalize_path(name: &str) -> String {
    let name = name.replace('\\', "/");
    name.strip_prefix("./").map_or(name.clone(), str::to_owned)
}
