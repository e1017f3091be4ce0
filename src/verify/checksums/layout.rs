//! Lines of checksum files. Each line that is neither blank nor a comment belongs to exactly one layout, and a line that
//! belongs to none refuses the file: nobody's entry is passed over because others have another layout.

use super::{ChecksumLine, ProofError, shorten_text};
use crate::base::code::Code;
use crate::base::text::{is_alphanumeric_or, is_hex};

/// Entries of a block of lines, and how many lines they are.
type LineBlock = (usize, Vec<ChecksumLine>);

/// # Errors
/// A line belongs to no layout, or there is none.
pub(super) fn parse_entries(text: &str) -> Result<Vec<ChecksumLine>, ProofError> {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.split(['\n', '\r']) {
        let line = line.trim_end_matches('\0');
        if !line.trim().is_empty() && !line.starts_with(['#', ';']) {
            lines.push(line);
        }
    }
    if let [line] = lines[..]
        && let Some(entry) = parse_bare_line(line.trim())
    {
        return Ok(vec![entry]);
    }

    let mut entries = Vec::new();
    let mut rest = lines.as_slice();
    while let Some(line) = rest.first() {
        let (taken, found) = parse_block(rest).ok_or_else(|| refuse_line(line, text))?;
        entries.extend(found);
        rest = &rest[taken..];
    }
    if entries.is_empty() {
        return Err(ProofError::new(Code::CHECKSUM_MALFORMED, "it is empty"));
    }
    Ok(entries)
}

fn parse_block(lines: &[&str]) -> Option<LineBlock> {
    if let Some(entry) = parse_bsd_line(lines[0]).or_else(|| parse_gnu_line(lines[0])) {
        return Some((1, vec![entry]));
    }
    parse_certutil(lines)
        .or_else(|| parse_powershell_list(lines))
        .or_else(|| parse_powershell_table(lines))
        .or_else(|| parse_gnupg(lines))
}

/// The name of a file. What came through a pipe has none.
fn keep_name(name: &str) -> Option<String> {
    (!matches!(name, "-" | "stdin")).then(|| name.to_owned())
}

/// Forms in which digests are published and that are not read, with what to do instead.
fn refuse_line(line: &str, text: &str) -> ProofError {
    let start = text.trim_start();
    let message = if start.starts_with("-----BEGIN PGP SIGNED MESSAGE-----") {
        "it is a text with its signature inside: name the text that `gpg --decrypt FILE` writes, and the publisher's \
         detached signature if there is one"
            .to_owned()
    } else if start.starts_with(['{', '[']) {
        "it is JSON, which is no checksum file: give the digest in it by `--sha256`, or `sha256` of an override".to_owned()
    } else {
        let shown = shorten_text(&line.chars().take(60).collect::<String>());
        let hint = if is_base64_digest(line) {
            "; it looks like a digest in base64, and hexadecimal digits are expected"
        } else {
            ""
        };
        format!("`{shown}` is not a line of a checksum file{hint}")
    };
    ProofError::new(Code::CHECKSUM_MALFORMED, message)
}

/// `sha256-…=` of Subresource Integrity, or the text behind it alone: 32 or 64 bytes.
fn is_base64_digest(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let digits = word.rsplit_once('-').map_or(word, |(_, digits)| digits);
    matches!(digits.len(), 44 | 88)
        && digits.ends_with('=')
        && is_alphanumeric_or(digits.trim_end_matches('='), "+/")
}

fn is_digest(text: &str) -> bool {
    matches!(text.len(), 32 | 40 | 56 | 64 | 96 | 128) && is_hex(text)
}

/// Algorithm and digits of `hex`, or of `sha256:hex` as registries and GitHub write it.
fn split_digest(word: &str) -> Option<(Option<String>, &str)> {
    let (algorithm, digest) = match word.split_once(':') {
        Some((algorithm, digest)) => (Some(algorithm.to_lowercase()), digest),
        None => (None, word),
    };
    let is_known = algorithm
        .as_deref()
        .is_none_or(|own| matches!(own, "sha256" | "sha512"));
    (is_known && is_digest(digest)).then_some((algorithm, digest))
}

fn parse_bare_line(line: &str) -> Option<ChecksumLine> {
    let (algorithm, digest) = split_digest(line)?;
    Some(ChecksumLine {
        algorithm,
        digest: digest.to_lowercase(),
        name: None,
    })
}

fn parse_gnu_line(line: &str) -> Option<ChecksumLine> {
    let (is_escaped, line) = split_escape_mark(line);
    let (word, rest) = line.split_at_checked(line.find([' ', '\t'])?)?;
    let (algorithm, digest) = split_digest(word)?;
    // Two blanks, or a blank and the mark of binary files; some tools write tabs.
    let name = rest
        .strip_prefix("  ")
        .or_else(|| rest.strip_prefix(" *"))
        .unwrap_or(rest.trim_start());
    let name = read_name(name, is_escaped)?;
    (!name.is_empty()).then(|| ChecksumLine {
        algorithm,
        digest: digest.to_lowercase(),
        name: keep_name(&name),
    })
}

/// A backslash in front of a line says that its name is escaped.
fn split_escape_mark(line: &str) -> (bool, &str) {
    match line.strip_prefix('\\') {
        Some(rest) => (true, rest),
        None => (false, line),
    }
}

fn read_name(name: &str, is_escaped: bool) -> Option<String> {
    if is_escaped {
        return unescape_name(name);
    }
    Some(name.to_owned())
}

fn unescape_name(name: &str) -> Option<String> {
    let mut text = String::new();
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            other => other,
        });
    }
    Some(text)
}

fn parse_bsd_line(line: &str) -> Option<ChecksumLine> {
    let (is_escaped, line) = split_escape_mark(line);
    let (algorithm, rest) = line.split_once('(')?;
    let (name, digest) = rest
        .rsplit_once(") = ")
        .or_else(|| rest.rsplit_once(")= "))?;
    let (algorithm, digest) = (algorithm.trim_end(), digest.trim());
    let name = keep_name(&read_name(name, is_escaped)?);
    // Of a pipe, older ones name no algorithm.
    let known = !algorithm.is_empty() || name.is_none();
    let is_entry = known && is_alphanumeric_or(algorithm, "-/") && is_digest(digest);
    (is_entry && name.as_deref() != Some("")).then(|| ChecksumLine {
        algorithm: Some(algorithm.to_owned()).filter(|algorithm| !algorithm.is_empty()),
        digest: digest.to_lowercase(),
        name,
    })
}

/// `kubelet.exe: E361B7F5 B6D3F710 …` of `gpg --print-md`, of `--print-mds` with `SHA256 = ` in front of the digits. Behind
/// a long name the digits begin in the next line, and they go on in lines that begin with a blank.
fn parse_gnupg(lines: &[&str]) -> Option<LineBlock> {
    let (name, first) = lines[0].trim_end().rsplit_once(':')?;
    let head = 1 + usize::from(first.is_empty());
    let first = if head == 1 {
        first.strip_prefix(' ')?
    } else {
        lines.get(1)?
    };
    let (algorithm, first) = match first.split_once(" = ") {
        Some((algorithm, digits)) => (Some(algorithm.trim().to_owned()), digits),
        None => (None, first),
    };
    let more = lines[head..].iter();
    let more: Vec<&str> = more
        .copied()
        .take_while(|line| line.starts_with(' '))
        .collect();
    let digest = [first, &more.concat()].concat().replace(' ', "");
    let is_named = !name.is_empty() && !name.ends_with(' ');
    let is_entry = is_named
        && algorithm
            .as_deref()
            .is_none_or(|own| is_alphanumeric_or(own, ""));
    (is_entry && is_digest(&digest)).then(|| {
        let entry = ChecksumLine {
            algorithm,
            digest: digest.to_lowercase(),
            name: Some(name.to_owned()),
        };
        (head + more.len(), vec![entry])
    })
}

/// `SHA256 hash of kubelet.exe:`, then the digest, on older systems with blanks between the bytes, and a line that the
/// command succeeded.
fn parse_certutil(lines: &[&str]) -> Option<LineBlock> {
    let [head, digits, rest @ ..] = lines else {
        return None;
    };
    let (algorithm, name) = head.split_once(" hash of ")?;
    let name = name.trim_end().trim_end_matches(':');
    let name = name.strip_prefix("file ").unwrap_or(name).trim();
    let digest: String = digits.chars().filter(|c| !c.is_whitespace()).collect();
    let is_entry = is_alphanumeric_or(algorithm, "") && !name.is_empty() && is_digest(&digest);
    if !is_entry || parse_gnu_line(digits).is_some() {
        return None;
    }

    let entry = ChecksumLine {
        algorithm: Some(algorithm.to_owned()),
        digest: digest.to_lowercase(),
        name: Some(name.to_owned()),
    };
    let end = rest
        .first()
        .filter(|line| line.starts_with("CertUtil: -hashfile "));
    Some((2 + usize::from(end.is_some()), vec![entry]))
}

/// `Algorithm Hash Path`, or `Hash Path` of `Select-Object`, a line below it, and a row for each file.
fn parse_powershell_table(lines: &[&str]) -> Option<LineBlock> {
    let [head, line, rows @ ..] = lines else {
        return None;
    };
    let parse_row = match head.split_whitespace().collect::<Vec<_>>()[..] {
        ["Algorithm", "Hash", "Path"] => parse_powershell_row,
        ["Hash", "Path"] => parse_gnu_line,
        _ => return None,
    };
    let is_line = line.chars().all(|c| matches!(c, '-' | ' '));
    if !is_line {
        return None;
    }
    let rows = rows.iter().map_while(|row| parse_row(row.trim_end()));
    let entries: Vec<ChecksumLine> = rows.collect();
    (!entries.is_empty()).then(|| (2 + entries.len(), entries))
}

fn parse_powershell_row(row: &str) -> Option<ChecksumLine> {
    let (algorithm, rest) = row.split_once(' ')?;
    let (digest, path) = rest.trim_start().split_once(' ')?;
    let path = path.trim();
    let is_row = is_alphanumeric_or(algorithm, "") && is_digest(digest) && !path.is_empty();
    (is_row && !algorithm.is_empty()).then(|| ChecksumLine {
        algorithm: Some(algorithm.to_owned()),
        digest: digest.to_lowercase(),
        name: Some(path.to_owned()),
    })
}

/// `Algorithm : …`, `Hash : …` and `Path : …` of one file.
fn parse_powershell_list(lines: &[&str]) -> Option<LineBlock> {
    let mut rest = lines;
    let algorithm = take_field(&mut rest, "Algorithm");
    let digest = take_field(&mut rest, "Hash").filter(|digest| is_digest(digest))?;
    let path = take_field(&mut rest, "Path")?;
    let entry = ChecksumLine {
        algorithm,
        digest: digest.to_lowercase(),
        name: Some(path),
    };
    Some((lines.len() - rest.len(), vec![entry]))
}

/// A value of a list. What is longer than the console is wide goes on in the next line, behind blanks.
fn take_field(lines: &mut &[&str], name: &str) -> Option<String> {
    let (first, mut rest) = lines.split_first()?;
    let (key, value) = first.split_once(" : ")?;
    if key.trim() != name {
        return None;
    }
    let mut value = value.trim().to_owned();
    while let Some((more, behind)) = rest.split_first()
        && more.starts_with("   ")
        && !more.contains(" : ")
    {
        value.push_str(more.trim());
        rest = behind;
    }
    *lines = rest;
    Some(value)
}
