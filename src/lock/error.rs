//! A lockfile that cannot be used.

use crate::base::code::Code;
use crate::base::json::JsonError;
use crate::diagnostic::{Classify, Location};

use super::{SCHEMA, is_schema};

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("{file}: unsupported lockfile schema `{found}`; this version reads `{SCHEMA}`")]
    Schema { file: String, found: String },
    #[error("{file} is stale:{}", format_changes(.moved))]
    Stale {
        file: String,
        moved: Vec<String>,
        /// Whether the verb has `--ignore-lock`.
        can_ignore: bool,
    },
    #[error("{file} was made with files of your own that are not here:{}", format_changes(.missing))]
    OwnFiles {
        file: String,
        missing: Vec<String>,
        flags: Vec<String>,
    },
    #[error("the lockfile {file} does not exist, but `{flag}` requires it")]
    Absent { file: String, flag: &'static str },
}

impl LockError {
    /// The same for verbs that verify the lockfile itself: none of their flags ignores it.
    #[must_use]
    pub fn without_flag(mut self) -> Self {
        if let Self::Stale { can_ignore, .. } = &mut self {
            *can_ignore = false;
        }
        self
    }
}

impl Classify for LockError {
    fn remedies(&self) -> Vec<String> {
        match self {
            Self::Stale { can_ignore, .. } => {
                let flag = if *can_ignore {
                    ", or add `--ignore-lock`"
                } else {
                    ""
                };
                vec![format!("run `imagegen lock` with the same flags{flag}")]
            }
            Self::Absent { .. } => vec!["run `imagegen lock` first".to_owned()],
            Self::Schema { found, .. } if is_schema(found) => {
                vec!["run `imagegen lock` to write a new one".to_owned()]
            }
            Self::Schema { .. } => vec![
                "it is no lockfile: name another, or remove it and run `imagegen lock`".to_owned(),
            ],
            Self::OwnFiles { flags, .. } => flags.clone(),
            Self::Json(_) => {
                vec!["restore the file, or run `imagegen lock` to write it again".to_owned()]
            }
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Json(error) => error.code(),
            Self::Schema { .. } => Code::LOCK_SCHEMA,
            Self::Stale { .. } => Code::LOCK_STALE,
            Self::OwnFiles { .. } => Code::LOCK_OWN_FILES,
            Self::Absent { .. } => Code::LOCK_ABSENT,
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Json(error) => error.location(),
            Self::Schema { file, .. }
            | Self::Stale { file, .. }
            | Self::OwnFiles { file, .. }
            | Self::Absent { file, .. } => Some(Location::from_file(file)),
        }
    }
}

/// At most eight changes, one a line.
fn format_changes(moved: &[String]) -> String {
    let shown = if moved.len() > 8 { 7 } else { moved.len() };
    let more = (moved.len() > shown).then(|| format!("and {} more", moved.len() - shown));
    moved[..shown]
        .iter()
        .cloned()
        .chain(more)
        .map(|change| format!("\n  {change}"))
        .collect()
}
