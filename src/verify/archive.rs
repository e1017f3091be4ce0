//! Members of archives, read one by one and never unpacked blindly.
//!
//! Only what is asked for is read, within limits that are counted while reading. An archive that
//! holds a name no Windows file may have, a name twice, or a link where a member should be, is
//! refused whole: nobody who means well makes one.
//!
//! Codes: `archive-malformed`, `archive-name`, `archive-duplicate`, `archive-not-a-file`,
//! `archive-encrypted`, `archive-absent`, `archive-too-large`, `archive-ratio`, `archive-entries`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Read, Seek};

use flate2::read::MultiGzDecoder;

use super::ProofError;
use crate::model::resource::ArchiveFormat;

/// Bounds for one archive.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub entries: usize,
    /// Bytes of one member.
    pub member: u64,
    /// Bytes of everything that is unpacked.
    pub total: u64,
    /// Unpacked bytes for each packed one; counted from a megabyte on.
    pub ratio: u64,
}

impl Default for Limits {
    /// Several times what the largest component needs.
    fn default() -> Self {
        Self { entries: 100_000, member: 2 << 30, total: 8 << 30, ratio: 200 }
    }
}

/// What is wanted of an archive.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// Every one of these, once.
    Names(&'a [String]),
    /// Every file that fits one of these: `*` stands for anything but `/`, `**` for anything.
    Globs(&'a [String]),
}

/// Visits every wanted member in the order of the archive; names are as [`plain`] makes them.
///
/// # Errors
/// See the module's codes; whatever `visit` returns.
pub fn members<R: Read + Seek, E: From<ProofError>>(
    reader: R,
    format: ArchiveFormat,
    wanted: Wanted<'_>,
    limits: &Limits,
    visit: &mut dyn FnMut(&str, &mut dyn Read) -> Result<(), E>,
) -> Result<Vec<String>, E> {
    let mut walk = Walk { wanted, limits, seen: BTreeSet::new(), entries: 0, unpacked: 0, found: Vec::new() };
    match format {
        ArchiveFormat::Zip => zip(reader, &mut walk, visit)?,
        ArchiveFormat::TarGz => tar(reader, &mut walk, visit)?,
    }
    walk.complete()?;
    Ok(walk.found)
}

struct Walk<'a> {
    wanted: Wanted<'a>,
    limits: &'a Limits,
    /// Lower case, because Windows tells no difference.
    seen: BTreeSet<String>,
    entries: usize,
    unpacked: u64,
    found: Vec<String>,
}

impl Walk<'_> {
    /// The entry's plain name where it is a wanted member.
    fn enter(&mut self, name: &str, kind: Kind) -> Result<Option<String>, ProofError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            let message = format!("more than {} entries", self.limits.entries);
            return Err(ProofError::new("archive-entries", message));
        }
        let name = plain(name)?;
        if kind == Kind::Folder {
            return Ok(None);
        }
        if !self.seen.insert(name.to_lowercase()) {
            let message = format!("`{name}` is in it twice, as far as Windows can tell");
            return Err(ProofError::new("archive-duplicate", message));
        }
        let fits = match self.wanted {
            Wanted::Names(names) => names.iter().any(|wanted| *wanted == name),
            Wanted::Globs(globs) => globs.iter().any(|glob| fits(glob, &name)),
        };
        if fits && kind == Kind::Other {
            return Err(ProofError::new(
                "archive-not-a-file",
                format!("`{name}` is a link or a device, not a file"),
            ));
        }
        Ok(fits.then_some(name))
    }

    fn visit<E: From<ProofError>>(
        &mut self,
        name: String,
        content: &mut dyn Read,
        visit: &mut dyn FnMut(&str, &mut dyn Read) -> Result<(), E>,
    ) -> Result<(), E> {
        let left = Cell::new(self.limits.member.min(self.limits.total.saturating_sub(self.unpacked)));
        let before = left.get();
        let mut bounded = Bounded { inner: content, left: &left };
        let outcome = visit(&name, &mut bounded);
        // Whatever the visitor did not read is read too, so that its check sum counts.
        let rest = io::copy(&mut bounded, &mut io::sink());
        self.unpacked += before - left.get();
        if left.get() == 0 && rest.is_err() {
            return Err(ProofError::new(
                "archive-too-large",
                format!("`{name}` is larger than {before} bytes"),
            )
            .into());
        }
        outcome?;
        rest.map_err(|error| {
            ProofError::new("archive-malformed", format!("`{name}` cannot be read: {error}"))
        })?;
        self.found.push(name);
        Ok(())
    }

    fn complete(&self) -> Result<(), ProofError> {
        let absent: Vec<&str> = match self.wanted {
            Wanted::Names(names) => {
                names.iter().filter(|name| !self.found.contains(name)).map(String::as_str).collect()
            }
            Wanted::Globs(globs) => globs
                .iter()
                .filter(|glob| !self.found.iter().any(|name| fits(glob, name)))
                .map(String::as_str)
                .collect(),
        };
        if absent.is_empty() {
            return Ok(());
        }
        Err(ProofError::new("archive-absent", format!("it does not hold {}", absent.join(", "))))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    Other,
}

/// Fails where the limit is, rather than ending there.
struct Bounded<'a> {
    inner: &'a mut dyn Read,
    left: &'a Cell<u64>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.get();
        if read as u64 > left {
            self.left.set(0);
            return Err(io::Error::other("larger than the limit"));
        }
        self.left.set(left - read as u64);
        Ok(read)
    }
}

fn zip<R: Read + Seek, E: From<ProofError>>(
    mut reader: R,
    walk: &mut Walk<'_>,
    visit: &mut dyn FnMut(&str, &mut dyn Read) -> Result<(), E>,
) -> Result<(), E> {
    let malformed = |error: &dyn std::fmt::Display| {
        ProofError::new("archive-malformed", format!("it is no zip archive: {error}"))
    };
    let mut magic = [0; 2];
    reader.read_exact(&mut magic).map_err(|error| malformed(&error))?;
    reader.rewind().map_err(|error| malformed(&error))?;
    if magic == [0x1f, 0x8b] {
        return Err(malformed(&"it begins as gzip does").into());
    }
    let mut archive = ::zip::ZipArchive::new(reader).map_err(|error| malformed(&error))?;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| malformed(&error))?;
        let name = std::str::from_utf8(entry.name_raw())
            .map_err(|_| ProofError::new("archive-name", "a name is no UTF-8"))?
            .to_owned();
        let kind = match () {
            () if entry.is_dir() => Kind::Folder,
            () if entry.is_symlink() => Kind::Other,
            () => Kind::File,
        };
        let (packed, unpacked, encrypted) = (entry.compressed_size(), entry.size(), entry.encrypted());
        drop(entry);
        let Some(name) = walk.enter(&name, kind)? else { continue };
        if encrypted {
            return Err(ProofError::new("archive-encrypted", format!("`{name}` is encrypted")).into());
        }
        ratio(packed, unpacked, walk.limits, &name)?;
        let mut entry = archive.by_index(index).map_err(|error| malformed(&error))?;
        walk.visit(name, &mut entry, visit)?;
    }
    Ok(())
}

fn ratio(packed: u64, unpacked: u64, limits: &Limits, name: &str) -> Result<(), ProofError> {
    if unpacked > 1 << 20 && unpacked / packed.max(1) > limits.ratio {
        let message = format!("`{name}` unpacks to {} times its size", unpacked / packed.max(1));
        return Err(ProofError::new("archive-ratio", message));
    }
    Ok(())
}

/// Counts what was read of the packed bytes and unpacked from them.
struct Counted<R> {
    inner: R,
    count: std::rc::Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Ends a stream that grows out of proportion, also in entries that nobody asked for.
struct Proportion<R> {
    inner: R,
    packed: std::rc::Rc<Cell<u64>>,
    unpacked: u64,
    limits: Limits,
}

const GROWN: &str = "it unpacks to more than its size allows";

impl<R: Read> Read for Proportion<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.unpacked += read as u64;
        let grown = self.unpacked > 1 << 20 && self.unpacked / self.packed.get().max(1) > self.limits.ratio;
        if grown || self.unpacked > self.limits.total {
            return Err(io::Error::other(GROWN));
        }
        Ok(read)
    }
}

fn tar<R: Read, E: From<ProofError>>(
    reader: R,
    walk: &mut Walk<'_>,
    visit: &mut dyn FnMut(&str, &mut dyn Read) -> Result<(), E>,
) -> Result<(), E> {
    let malformed = |error: &io::Error| {
        let text = error.to_string();
        if text.contains(GROWN) || error.get_ref().is_some_and(|inner| inner.to_string().contains(GROWN)) {
            return ProofError::new("archive-ratio", GROWN);
        }
        ProofError::new("archive-malformed", format!("it is no tar.gz archive: {text}"))
    };
    let packed = std::rc::Rc::new(Cell::new(0));
    let counted = Counted { inner: reader, count: packed.clone() };
    let unpacked =
        Proportion { inner: MultiGzDecoder::new(counted), packed, unpacked: 0, limits: *walk.limits };
    let mut archive = ::tar::Archive::new(unpacked);
    for entry in archive.entries().map_err(|error| malformed(&error))? {
        let mut entry = entry.map_err(|error| malformed(&error))?;
        let kind = match entry.header().entry_type() {
            ::tar::EntryType::Regular | ::tar::EntryType::Continuous => Kind::File,
            ::tar::EntryType::Directory => Kind::Folder,
            _ => Kind::Other,
        };
        let name = String::from_utf8(entry.path_bytes().into_owned())
            .map_err(|_| ProofError::new("archive-name", "a name is no UTF-8"))?;
        let Some(name) = walk.enter(&name, kind)? else { continue };
        walk.visit(name, &mut entry, visit)?;
    }
    // The stream's own check sum stands at its end.
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(|error| malformed(&error))?;
    Ok(())
}

/// A relative path with `/`, as Windows would take it, or why Windows would not.
///
/// # Errors
/// `archive-name`.
pub fn plain(name: &str) -> Result<String, ProofError> {
    let wrong = |reason: &str| {
        let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
        ProofError::new("archive-name", format!("`{shown}` {reason}"))
    };
    let mut parts = Vec::new();
    let trimmed = name.strip_suffix('/').unwrap_or(name);
    if name.starts_with('/') || name.contains('\\') {
        return Err(wrong("is no relative path with `/`"));
    }
    for part in trimmed.split('/') {
        match part {
            "." => continue,
            ".." => return Err(wrong("leads out of the archive")),
            "" if trimmed.is_empty() => continue,
            "" => return Err(wrong("has an empty part")),
            _ => {}
        }
        if part.chars().any(|c| c.is_control() || r#"<>:"|?*"#.contains(c) || is_bidi(c)) {
            return Err(wrong("has characters that no Windows name may have"));
        }
        if part.ends_with(['.', ' ']) {
            return Err(wrong("ends in a dot or blank, which Windows drops"));
        }
        if is_device(part) {
            return Err(wrong("is a device on Windows"));
        }
        if part.encode_utf16().count() > 255 {
            return Err(wrong("is longer than 255 characters"));
        }
        parts.push(part);
    }
    let plain = parts.join("/");
    if plain.encode_utf16().count() > 240 {
        return Err(wrong("is longer than Windows paths may be"));
    }
    Ok(plain)
}

/// Characters that change the order in which a name is shown.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{061c}')
}

fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_uppercase();
    if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let digit = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    digit.is_some_and(|digit| {
        let mut characters = digit.chars();
        // Superscript digits name devices too.
        matches!(
            (characters.next(), characters.next()),
            (Some('1'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'), None)
        )
    })
}

/// `*` within a part, `**` across parts; letters are compared as Windows does.
#[must_use]
pub fn fits(glob: &str, name: &str) -> bool {
    fn run(glob: &[char], name: &[char]) -> bool {
        match glob {
            [] => name.is_empty(),
            ['*', '*', '/', rest @ ..] => {
                (0..=name.len()).any(|at| (at == 0 || name[at - 1] == '/') && run(rest, &name[at..]))
            }
            ['*', '*', rest @ ..] => (0..=name.len()).any(|at| run(rest, &name[at..])),
            ['*', rest @ ..] => {
                let end = name.iter().position(|c| *c == '/').unwrap_or(name.len());
                (0..=end).any(|at| run(rest, &name[at..]))
            }
            [first, rest @ ..] => name.first() == Some(first) && run(rest, &name[1..]),
        }
    }
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    run(&lower(glob), &lower(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_windows_takes_them_for() {
        for (name, expected) in [
            ("bin/containerd.exe", "bin/containerd.exe"),
            ("./win-bridge.exe", "win-bridge.exe"),
            ("./", ""),
            ("kubernetes/node/bin/", "kubernetes/node/bin"),
            ("com10.txt", "com10.txt"),
            ("console.txt", "console.txt"),
        ] {
            assert_eq!(plain(name).as_deref(), Ok(expected), "{name}");
        }
        for name in [
            "../x",
            "a/../x",
            "/x",
            "C:/x",
            "c:x",
            "a\\b",
            "\\\\host\\x",
            "a//b",
            "nul",
            "a/NUL.txt",
            "aux .c",
            "COM1",
            "lpt9.log",
            "com\u{b9}",
            "a.",
            "a ",
            "a:b",
            "a\u{7}b",
            "a\u{202e}b",
            "a?",
            "con.tar.gz",
        ] {
            assert_eq!(plain(name).expect_err(name).code, "archive-name", "{name}");
        }
        assert!(plain(&"a".repeat(256)).is_err());
        assert!(plain(&["a"; 200].join("/")).is_err());
    }

    #[test]
    fn globs_stay_in_their_part() {
        for (glob, name, expected) in [
            ("bin/*.exe", "bin/kubelet.exe", true),
            ("bin/*.exe", "bin/x/kubelet.exe", false),
            ("*.exe", "bin/kubelet.exe", false),
            ("**/*.exe", "a/b/kubelet.exe", true),
            ("**/*.exe", "kubelet.EXE", true),
            ("**", "a/b", true),
            ("bin/*", "bin/", true),
            ("b*n/*.dll", "bin/a.dll", true),
            ("a.exe", "aaexe", false),
        ] {
            assert_eq!(fits(glob, name), expected, "{glob} {name}");
        }
    }
}
