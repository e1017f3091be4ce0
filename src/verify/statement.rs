//! Name and version that a file states of itself, from inside the bytes that a proof is over.
//!
//! A key or a digest says nothing of what a file is: an older release, or another program of the same publisher, has
//! a signature that holds as well. PE images often say it: in their version resource, and programs in Go in their
//! build information. A file that says nothing, or says it in a form that cannot be read, has no statement.

mod go;
mod image;
mod resource;

use std::io::{Read as _, SeekFrom};

use crate::base::names::is_same_program;
use crate::base::version::{Version, read_numbers};
use crate::verify::authenticode::ReadSeek;

use image::ProgramImage;

/// Names and versions, as the file writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStatement {
    pub names: Vec<String>,
    pub versions: Vec<String>,
    /// The parts of the file that say it: `version resource`, `Go build information`.
    pub places: Vec<&'static str>,
}

/// How a statement relates to what was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    Same,
    Other,
    Unstated,
}

impl FileStatement {
    fn add(&mut self, place: &'static str, names: Vec<String>, versions: Vec<String>) {
        if names.is_empty() && versions.is_empty() {
            return;
        }
        self.names.extend(names);
        self.versions.extend(versions);
        self.places.push(place);
    }

    /// Whether one of the names is that of the program, whatever case and ending they are written in.
    pub fn compare_name(&self, programs: &[&str]) -> Agreement {
        compare(&self.names, |name| {
            programs
                .iter()
                .any(|program| is_same_program(program, name))
        })
    }

    /// Whether one of the versions has the numbers of the planned one, and none is a pre-release of it: beside such a text
    /// a version resource has the numbers alone, too.
    pub fn compare_version(&self, planned: &Version) -> Agreement {
        let mut versions = self.versions.iter();
        if versions.any(|stated| planned.is_other_prerelease(stated)) {
            return Agreement::Other;
        }
        compare(&self.versions, |stated| planned.is_stated_by(stated))
    }

    /// `kube-proxy 1.20.0`
    pub fn describe(&self) -> String {
        let first = |texts: &[String], absent: &str| {
            texts
                .first()
                .map_or_else(|| absent.to_owned(), Clone::clone)
        };
        format!(
            "{} {}",
            first(&self.names, "(no name)"),
            first(&self.versions, "(no version)")
        )
    }
}

fn compare(stated: &[String], is_same: impl Fn(&str) -> bool) -> Agreement {
    if stated.is_empty() {
        Agreement::Unstated
    } else if stated.iter().any(|text| is_same(text)) {
        Agreement::Same
    } else {
        Agreement::Other
    }
}

/// Versions that say something: all zeros are what a build without a version leaves.
fn keep_versions(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for text in texts {
        let says = read_numbers(&text).iter().any(|number| *number > 0);
        if says && !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept
}

/// The statement of a file; empty where it makes none.
///
/// # Errors
/// The file cannot be read.
pub fn read_statement(source: &mut dyn ReadSeek) -> std::io::Result<FileStatement> {
    let mut statement = FileStatement::default();
    let Some(image) = ProgramImage::read(source)? else {
        return Ok(statement);
    };
    let (names, versions) = resource::read_version_resource(source, &image)?;
    statement.add("version resource", names, versions);
    let (names, versions) = go::read_build_information(source, &image)?;
    statement.add("Go build information", names, versions);
    Ok(statement)
}

/// Bytes at a place; fewer where the file ends.
fn read_at(source: &mut dyn ReadSeek, start: u64, count: u64) -> std::io::Result<Vec<u8>> {
    source.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    source.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prerelease_is_no_release() {
        let statement = FileStatement {
            versions: vec!["v1.36.0-rc.1".to_owned(), "1.36.0.0".to_owned()],
            ..FileStatement::default()
        };
        for (planned, agreement) in [
            ("1.36.0", Agreement::Other),
            ("1.36.0-rc.1", Agreement::Same),
            ("1.36.0-rc.2", Agreement::Other),
        ] {
            let planned: Version = planned.parse().expect("a version");
            assert_eq!(statement.compare_version(&planned), agreement, "{planned}");
        }
    }

    #[test]
    fn names_agree_without_case_and_ending() {
        let statement = FileStatement {
            names: vec!["KubeLet.EXE".to_owned()],
            ..FileStatement::default()
        };
        assert_eq!(statement.compare_name(&["kubelet.exe"]), Agreement::Same);
        assert_eq!(statement.compare_name(&["kube-proxy"]), Agreement::Other);
        assert_eq!(
            FileStatement::default().compare_name(&["kubelet"]),
            Agreement::Unstated
        );
    }
}
