//! Step files that cannot be used.

use crate::base::code::Code;
use crate::base::json::JsonError;
use crate::base::toml::Contradiction;
use crate::diagnostic::{Classify, Location, classify};

use super::render::RenderFault;

#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("provisioners has no file `{0}`")]
    Missing(String),
    #[error("{file}: {resource}: {message}")]
    Value {
        file: String,
        resource: String,
        message: String,
    },
    #[error("{file}: `id` is `{found}`, and must be that of the file name, `{expected}`")]
    StepId {
        file: String,
        found: String,
        expected: String,
    },
    /// Name of the resource, and the fault.
    #[error("{0}: {1}")]
    Fragment(String, Contradiction),
    #[error("component {0} is in the plan, but no step installs it")]
    Uninstalled(String),
}

impl Classify for GuestError {
    /// The built-in steps hold for every plan: what is wrong is a step of the user's, or what it lacks.
    fn code(&self) -> Code {
        match self {
            Self::Json(error) => error.code(),
            Self::Uninstalled(_) => Code::COMPONENT_UNINSTALLED,
            Self::Fragment(..) => Code::CONFIG_FRAGMENT,
            Self::Missing(_) | Self::Value { .. } | Self::StepId { .. } => Code::STEP_FILE,
        }
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::Fragment(_, fault) => vec![
                fault
                    .remedy
                    .clone()
                    .unwrap_or_else(|| format!("remove `{}` from the fragment", fault.key)),
            ],
            Self::Json(_)
            | Self::Missing(_)
            | Self::Value { .. }
            | Self::StepId { .. }
            | Self::Uninstalled(_) => Vec::new(),
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Json(error) => error.location(),
            Self::Missing(file) | Self::Value { file, .. } | Self::StepId { file, .. } => {
                Some(Location::from_file(file))
            }
            Self::Uninstalled(_) | Self::Fragment(..) => None,
        }
    }
}

classify!(RenderFault => STEP_FILE);
