//! Lines of checksum files. Each line that is neither blank nor a comment belongs to exactly one form, and a line that
//! belongs to none refuses the file: nobody's entry is passed over because others have another form.

use super::{ChecksumLine, ProofError, shorten_text};
use crate::base::code::Code;
use crate::base::text::{is_alphanumeric_or, is_hex};

/// # Errors
/// A line belongs to no form, or there is none.
pub(super) fn parse_entries(text: &str) -> Result<Vec<ChecksumLine>, ProofError> {
    let lines = join_lines(text);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    if let [line] = lines[..]
        && let Some(entry) = parse_digest(line.trim(), "-")
    {
        return Ok(vec![entry]);
    }

    let mut entries = Vec::new();
    let mut rest = lines.as_slice();
    while let [line, behind @ ..] = rest {
        let (entry, behind) = match parse_line(line) {
            Some(entry) => (entry, behind),
            None => parse_block(rest).ok_or_else(|| refuse_form(text, line))?,
        };
        entries.push(entry);
        rest = behind;
    }
    if entries.is_empty() {
        return Err(ProofError::new(Code::CHECKSUM_MALFORMED, "it is empty"));
    }
    Ok(entries)
}

/// The lines that say something. What is longer than the console of `Get-FileHash` goes on in the next line, behind
/// blanks, and `certutil` says that it succeeded.
fn join_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split(['\n', '\r', '\0']) {
        let is_silent = line.trim().is_empty() || line.starts_with(['#', ';']);
        match lines.last_mut() {
            _ if is_silent || line.starts_with("CertUtil: -hashfile ") => {}
            Some(last) if line.starts_with("   ") && last.contains(" : ") => {
                last.push_str(line.trim());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// A line of GNU's or BSD's form. A backslash in front says that each in the name is doubled.
fn parse_line(line: &str) -> Option<ChecksumLine> {
    let line = line.strip_prefix('\\').unwrap_or(line);
    if let Some((algorithm, rest)) = line.split_once('(')
        && let Some((name, digest)) = rest.rsplit_once(")= ").or(rest.rsplit_once(") = "))
    {
        return new_entry(algorithm.trim_end(), digest.trim(), name);
    }
    let (digest, rest) = line.split_once([' ', '\t'])?;
    parse_digest(digest, rest.strip_prefix([' ', '*']).unwrap_or(rest))
}

/// `hex`, or `sha256:hex` as registries and GitHub write it.
fn parse_digest(word: &str, name: &str) -> Option<ChecksumLine> {
    let (algorithm, digest) = word.split_once(':').unwrap_or(("", word));
    new_entry(algorithm, digest, name)
}

/// The forms of several lines that Windows' own programs write.
fn parse_block<'a, 'b>(lines: &'a [&'b str]) -> Option<(ChecksumLine, &'a [&'b str])> {
    match lines {
        [algorithm, digest, path, behind @ ..] if algorithm.starts_with("Algorithm") => {
            let values = [(algorithm, "Algorithm"), (digest, "Hash"), (path, "Path")];
            let [algorithm, digest, path] = values.map(|(line, name)| read_field(line, name));
            Some((new_entry(algorithm?, digest?, path?)?, behind))
        }
        // Older ones write `of file`, and blanks between the bytes.
        [head, digits, behind @ ..] => {
            let (algorithm, name) = head.split_once(" hash of ")?;
            let name = name.strip_prefix("file ").unwrap_or(name);
            let digest = digits.replace(' ', "");
            let entry = new_entry(algorithm, &digest, name.trim_end().trim_end_matches(':'));
            Some((entry?, behind))
        }
        _ => None,
    }
}

fn read_field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = line.split_once(" : ")?;
    (key.trim_end() == name).then(|| value.trim())
}

/// Entry of a line; the digest of a pipe has no name.
fn new_entry(algorithm: &str, digest: &str, name: &str) -> Option<ChecksumLine> {
    let is_digest = matches!(digest.len(), 32 | 40 | 56 | 64 | 96 | 128) && is_hex(digest);
    let is_entry = is_digest && is_alphanumeric_or(algorithm, "-/") && !name.is_empty();
    is_entry.then(|| ChecksumLine {
        algorithm: algorithm.to_owned(),
        digest: digest.to_lowercase(),
        name: (!matches!(name, "-" | "stdin")).then(|| normalize_name(name)),
    })
}

/// A relative path with `/` between its parts and no `./` before them.
pub(super) fn normalize_name(name: &str) -> String {
    let name = name.replace("\\\\", "/").replace('\\', "/");
    name.strip_prefix("./").unwrap_or(&name).to_owned()
}

/// Forms in which digests are published and that are not read, with what to do instead.
fn refuse_form(text: &str, line: &str) -> ProofError {
    let start = text.trim_start();
    let (code, form, remedy) = if start.starts_with('<') {
        let remedy = "name the address of the file itself";
        (Code::CHECKSUM_WEB_PAGE, "a web page", remedy)
    } else {
        let (form, remedy) = name_form(start, line);
        (Code::CHECKSUM_MALFORMED, form, remedy)
    };
    let shown = shorten_text(&line.chars().take(60).collect::<String>());
    ProofError::new(code, format!("it is {form}, from `{shown}` on: {remedy}"))
}

fn name_form(start: &str, line: &str) -> (&'static str, &'static str) {
    let group = line.rsplit(' ').next().unwrap_or_default();
    if start.starts_with("-----BEGIN PGP SIGNED MESSAGE-----") {
        (
            "a text with its signature inside",
            "name the text that `gpg --decrypt FILE` writes, and the publisher's detached signature if there is one",
        )
    } else if start.starts_with(['{', '[']) {
        (
            "JSON, which is no checksum file",
            "give the digest in it by `--sha256`, or `sha256` of an override",
        )
    } else if line.ends_with('=') {
        (
            "a digest in base64",
            "`sha256sum FILE` writes it in hexadecimal",
        )
    } else if line.contains("Hash") && line.trim_end().ends_with("Path") {
        (
            "a table of `Get-FileHash`, which cuts what is long",
            "`Get-FileHash FILE | Format-List >FILE.sha256` writes a list",
        )
    } else if line.contains(':') && matches!(group.len(), 2 | 4 | 8) && is_hex(group) {
        (
            "a list of `gpg --print-md`",
            "`sha256sum FILE >FILE.sha256` writes a checksum file",
        )
    } else {
        (
            "no checksum file",
            "`sha256sum FILE >FILE.sha256`, or `Get-FileHash FILE | Format-List >FILE.sha256` on Windows, writes one",
        )
    }
}
