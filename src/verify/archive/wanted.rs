//! Which members are asked for, and whether they came.

use super::glob::matches_glob;
use super::names::escape_name;
use super::{Entry, ProofError};
use crate::base::code::Code;
use crate::base::text::last_segment;

/// Members that are asked for. Each name must be there, and the globs must match something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedMembers {
    names: Vec<String>,
    globs: Vec<String>,
}

impl WantedMembers {
    /// Exact names, in the form of [`Entry::name`].
    pub fn from_names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        Self {
            names: collect_texts(names),
            globs: Vec::new(),
        }
    }

    pub fn from_globs<S: AsRef<str>>(globs: impl IntoIterator<Item = S>) -> Self {
        Self {
            names: Vec::new(),
            globs: collect_texts(globs),
        }
    }

    /// Every file there is, and that is at least one.
    pub fn all_files() -> Self {
        Self::from_globs(["**"])
    }

    /// # Errors
    /// A name that is asked for is a directory.
    pub(super) fn includes_entry(&self, entry: &Entry) -> Result<bool, ProofError> {
        let named = self.names.contains(&entry.name);
        if named && entry.directory {
            let message = format!("the member `{}` is a directory", escape_name(&entry.name));
            return Err(ProofError::new(Code::ARCHIVE_MEMBER_NOT_FILE, message));
        }
        let wanted = !entry.directory && (named || self.matches_globs(&entry.name));
        if wanted {
            super::names::check_argument(&entry.name)?;
        }
        Ok(wanted)
    }

    fn matches_globs(&self, name: &str) -> bool {
        self.globs.iter().any(|glob| matches_glob(glob, name))
    }

    /// Refuses an archive that lacks something; says where else the file lies.
    pub(super) fn check_complete(&self, entries: &[Entry]) -> Result<(), ProofError> {
        for name in &self.names {
            // A folder that no entry of its own declares.
            let below = format!("{name}/");
            if entries.iter().any(|entry| entry.name.starts_with(&below)) {
                let message = format!("the member `{name}` is a directory");
                return Err(ProofError::new(Code::ARCHIVE_MEMBER_NOT_FILE, message));
            }
            if !entries.iter().any(|entry| entry.name == *name) {
                return Err(missing_member_error(name, entries));
            }
        }
        let mut files = entries.iter().filter(|entry| !entry.directory);
        if !self.globs.is_empty() && !files.any(|entry| self.matches_globs(&entry.name)) {
            let globs = self.globs.join("`, `");
            return Err(ProofError::new(
                Code::ARCHIVE_MEMBER_ABSENT,
                format!("no member matches `{globs}`"),
            ));
        }
        Ok(())
    }
}

fn missing_member_error(name: &str, entries: &[Entry]) -> ProofError {
    let mut message = format!("the archive has no member `{name}`");
    for entry in entries {
        if !entry.directory && fold_file_name(&entry.name) == fold_file_name(name) {
            message = format!("{message}; it has `{}`", escape_name(&entry.name));
            break;
        }
    }
    ProofError::new(Code::ARCHIVE_MEMBER_ABSENT, message)
}

fn fold_file_name(path: &str) -> String {
    last_segment(path).to_lowercase()
}

fn collect_texts<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Vec<String> {
    let texts = texts.into_iter();
    texts.map(|text| text.as_ref().to_owned()).collect()
}
