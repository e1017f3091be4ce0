//! A file of the catalog or of a target that is missing or wrong.

use crate::base::code::Code;
use crate::base::json::JsonError;
use crate::diagnostic::{Classify, Location};
use crate::model::line::Minor;

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("the catalog {catalog} has no file `{path}`")]
    Missing { catalog: String, path: String },
    #[error("packer has no file `{0}`")]
    NoDescriptor(String),
    #[error("unknown {what} `{name}`: {suggestion}")]
    Unknown {
        what: &'static str,
        name: String,
        suggestion: String,
    },
    #[error("{file}: `{field}` is `{found}`; it must equal the name of the {place}")]
    Name {
        file: String,
        field: &'static str,
        found: String,
        /// `file` or `folder`.
        place: &'static str,
    },
    #[error("{file}: `pause` has no entry for Kubernetes {minor}")]
    NoPause { file: String, minor: Minor },
    #[error("{file}: {message}")]
    ImageName { file: String, message: String },
    #[error("{catalog}: {findings} error(s)")]
    Lint { catalog: String, findings: usize },
}

impl Classify for CatalogError {
    fn code(&self) -> Code {
        match self {
            Self::Json(error) => error.code(),
            Self::Unknown { .. } => Code::UNKNOWN_NAME,
            Self::Lint { .. } => Code::CATALOG_LINT,
            Self::Missing { .. }
            | Self::NoDescriptor(_)
            | Self::Name { .. }
            | Self::ImageName { .. }
            | Self::NoPause { .. } => Code::CATALOG_FILE,
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Json(error) => error.location(),
            Self::Name { file, .. } | Self::ImageName { file, .. } | Self::NoPause { file, .. } => {
                Some(Location::from_file(file))
            }
            Self::Missing { .. }
            | Self::NoDescriptor(_)
            | Self::Unknown { .. }
            | Self::Lint { .. } => None,
        }
    }
}
