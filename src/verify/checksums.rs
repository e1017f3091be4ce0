//! Publishers' checksum files.
//!
//! | form | example |
//! |---|---|
//! | bare | `hex`, `sha256:hex`; `hex  -` and `SHA256(stdin)= hex` of a pipe |
//! | GNU | `hex  name`, `hex *name`, `\hex  na\\me`, `sha256:hex  name` |
//! | BSD, openssl | `SHA256 (name) = hex`, `SHA2-256(name)= hex` |
//! | Get-FileHash | its list: lines `Algorithm : SHA256`, `Hash : hex`, `Path : name` |
//! | certutil | `SHA256 hash of name:`, the digest on the next line |
//!
//! Blank lines and comments (`#`, `;`) aside, each line belongs to one form, and a file may have several. Text is
//! UTF-8, with or without byte order mark, or UTF-16 with one. Other forms are refused with the command that writes a
//! good one. An entry counts only if its digest has the algorithm's length and its name is the file's: the whole
//! relative path or, where no path is asked for, the last part of it.

mod layout;

use super::ProofError;
use crate::base::code::Code;
use crate::base::text::{convert_to_utf8, last_segment};
use crate::base::url::HttpUrl;
use crate::base::value::PinAlgorithm;
use layout::{normalize_name, parse_entries};

/// A checksum file is text about a release, not a release.
pub const MAX_SIZE: usize = 4 << 20;

/// Fact of a proof: the file that the line of a checksum file names.
pub const LINE: &str = "line";

/// An entry of a checksum file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChecksumLine {
    /// As the file has it; empty where it names none.
    algorithm: String,
    /// In lower-case hexadecimal.
    pub digest: String,
    /// With `/` between its parts; none where the form has no names.
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
    find_line(bytes, &[name], algorithm).map(|line| line.digest)
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
    find_line(bytes, &[&url.plain_file_name(), url.file_name()], algorithm)
}

fn find_line(
    bytes: &[u8],
    names: &[&str],
    algorithm: PinAlgorithm,
) -> Result<ChecksumLine, ProofError> {
    if bytes.len() > MAX_SIZE {
        let message = format!("{} bytes are too large for a checksum file", bytes.len());
        return Err(ProofError::new(Code::CHECKSUM_TOO_LARGE, message));
    }
    let text = String::from_utf8(convert_to_utf8(bytes).into_owned())
        .map_err(|_| ProofError::new(Code::CHECKSUM_MALFORMED, "it is not text"))?;
    let found = choose_entry(&parse_entries(&text)?, names, algorithm)?;
    if EMPTY.contains(&found.digest.as_str()) {
        let message = "the digest is that of an empty file";
        return Err(ProofError::new(Code::CHECKSUM_EMPTY_FILE, message));
    }
    Ok(found)
}

/// Digests of no bytes at all.
const EMPTY: [&str; 2] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
];

fn choose_entry(
    entries: &[ChecksumLine],
    names: &[&str],
    algorithm: PinAlgorithm,
) -> Result<ChecksumLine, ProofError> {
    let found = find_named(entries, names);
    let [first, ..] = &found[..] else {
        return Err(absent_error(entries, names[0]));
    };
    let mut fitting = found.iter().filter(|entry| has_algorithm(entry, algorithm));
    let chosen = fitting
        .next()
        .ok_or_else(|| other_algorithm_error(first, algorithm))?;
    if fitting.any(|entry| entry.digest != chosen.digest) {
        let message = format!("it has several entries for {} that differ", names[0]);
        let message = shorten_text(&message);
        return Err(ProofError::new(Code::CHECKSUM_AMBIGUOUS, message));
    }
    Ok((*chosen).clone())
}

/// Entries for a file. A path is matched whole; a bare name is the last part of any path, unless there is one without.
fn find_named<'a>(entries: &'a [ChecksumLine], names: &[&str]) -> Vec<&'a ChecksumLine> {
    if entries.iter().all(|entry| entry.name.is_none()) {
        return entries.iter().collect();
    }
    let names: Vec<String> = names.iter().map(|name| normalize_name(name)).collect();
    let (mut exact, mut below) = (Vec::new(), Vec::new());
    for entry in entries {
        let name = entry.name.as_deref().unwrap_or_default();
        if names.iter().any(|wanted| wanted == name) {
            exact.push(entry);
        } else if names.iter().any(|wanted| wanted == last_segment(name)) {
            below.push(entry);
        }
    }
    if exact.is_empty() { below } else { exact }
}

fn absent_error(entries: &[ChecksumLine], name: &str) -> ProofError {
    let known = entries.iter().filter_map(|entry| entry.name.as_deref());
    let known = known.take(5).collect::<Vec<_>>().join(", ");
    let message = format!("it has no entry for {name}; it names {known}");
    ProofError::new(Code::CHECKSUM_ABSENT, shorten_text(&message))
}

fn shorten_text(text: &str) -> String {
    text.chars().take(200).filter(|c| !c.is_control()).collect()
}

/// Whether a digest has the length of an algorithm, and the algorithm's name, in one of its spellings, or none.
fn has_algorithm(entry: &ChecksumLine, algorithm: PinAlgorithm) -> bool {
    let (names, length) = match algorithm {
        PinAlgorithm::Sha256 => (["", "SHA256", "SHA-256", "SHA2-256"], 64),
        PinAlgorithm::Sha512 => (["", "SHA512", "SHA-512", "SHA2-512"], 128),
    };
    entry.digest.len() == length && names.contains(&entry.algorithm.to_uppercase().as_str())
}

fn other_algorithm_error(entry: &ChecksumLine, algorithm: PinAlgorithm) -> ProofError {
    let digits = entry.digest.len();
    let named = match entry.algorithm.as_str() {
        "" => String::new(),
        named => format!(" of {named}"),
    };
    let expected = match algorithm {
        PinAlgorithm::Sha256 => "SHA256 has 64; `sha256sum FILE` prints it",
        PinAlgorithm::Sha512 => "SHA512 has 128; `sha512sum FILE` prints it",
    };
    let message = format!("the entry has {digits} digits{named}, and {expected}");
    ProofError::new(Code::CHECKSUM_ALGORITHM, shorten_text(&message))
}
