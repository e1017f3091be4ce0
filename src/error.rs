//! Errors as a user meets them: one line of causes, a hint, and a class that is the exit code.

use crate::bake::BakeError;
use crate::bundle::BundleError;
use crate::catalog::CatalogError;
use crate::cluster::ClusterError;
use crate::fetch::{FetchError, FetchFailure};
use crate::guest::GuestError;
use crate::io::exec::ExecError;
use crate::io::fs::{FileError, PlaceError};
use crate::io::http::HttpError;
use crate::io::store::DamagedStore;
use crate::join::JoinError;
use crate::lock::{LockError, Unpinned};
use crate::model::choice::UnknownName;
use crate::model::json::JsonError;
use crate::model::upstream::UpstreamError;
use crate::model::version::VersionError;
use crate::policy::PolicyError;
use crate::prove::ProveError;
use crate::render::RenderError;
use crate::resolve::ResolveError;
use crate::scripts::{ForeignScripts, SignError};
use crate::tools::ToolError;
use crate::verify::{NotProven, ProofError};

/// What went wrong, as far as scripts tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The program itself, or the machine it runs on.
    Internal,
    Usage,
    /// Manifest, selection or lock.
    Selection,
    Fetch,
    Verification,
    Render,
    Packer,
    Checks,
    Interrupted,
}

impl ErrorClass {
    pub const ALL: &'static [Self] = &[
        Self::Internal,
        Self::Usage,
        Self::Selection,
        Self::Fetch,
        Self::Verification,
        Self::Render,
        Self::Packer,
        Self::Checks,
        Self::Interrupted,
    ];

    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Selection => 3,
            Self::Fetch => 4,
            Self::Verification => 5,
            Self::Render => 6,
            Self::Packer => 7,
            Self::Checks => 8,
            Self::Interrupted => 130,
        }
    }

    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Internal => "internal error, or a file that cannot be read or written",
            Self::Usage => "wrong use of the command line",
            Self::Selection => "manifest, selection or lock invalid",
            Self::Fetch => "download failed",
            Self::Verification => "verification failed",
            Self::Render => "the workspace cannot be rendered",
            Self::Packer => "Packer failed or is missing",
            Self::Checks => "checks of the baked machine failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A wrong use that the argument parser cannot see.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct UsageError {
    pub message: String,
    pub hint: Option<String>,
}

/// What a build would miss on this machine.
#[derive(Debug, thiserror::Error)]
#[error("a build would miss: {}", .missing.join(", "))]
pub struct NotReady {
    pub missing: Vec<String>,
    pub hints: Vec<String>,
}

/// The class of an error: that of the first cause which has one.
#[must_use]
pub fn class(error: &anyhow::Error) -> ErrorClass {
    error.chain().find_map(class_of).unwrap_or(ErrorClass::Internal)
}

fn class_of(cause: &(dyn std::error::Error + 'static)) -> Option<ErrorClass> {
    if let Some(error) = cause.downcast_ref::<BakeError>() {
        return Some(match error {
            BakeError::Interrupted => ErrorClass::Interrupted,
            BakeError::Checks(_) => ErrorClass::Checks,
            BakeError::File(_) => ErrorClass::Internal,
            BakeError::Unverified(_) => ErrorClass::Verification,
            BakeError::Lost(_)
            | BakeError::NoPacker(_)
            | BakeError::Failed { .. }
            | BakeError::Killed { .. }
            | BakeError::NoImage { .. }
            | BakeError::Report(_)
            | BakeError::Exec(_) => ErrorClass::Packer,
        });
    }
    if cause.is::<NotReady>() {
        return Some(ErrorClass::Packer);
    }
    if cause.is::<UsageError>() {
        return Some(ErrorClass::Usage);
    }
    if cause.is::<GuestError>() || cause.is::<RenderError>() || cause.is::<PlaceError>() {
        return Some(ErrorClass::Render);
    }
    if cause.is::<CatalogError>()
        || cause.is::<ResolveError>()
        || cause.is::<ClusterError>()
        || cause.is::<JoinError>()
        || cause.is::<LockError>()
        || cause.is::<JsonError>()
        || cause.is::<UnknownName>()
        || cause.is::<VersionError>()
    {
        return Some(ErrorClass::Selection);
    }
    if let Some(error) = cause.downcast_ref::<PolicyError>() {
        return Some(match error {
            PolicyError::Selection { .. } => ErrorClass::Selection,
            PolicyError::Proof { .. } => ErrorClass::Verification,
        });
    }
    if let Some(error) = cause.downcast_ref::<ProveError>() {
        return match error {
            ProveError::Fetch(error) => class_of(error),
            ProveError::Policy(error) => class_of(error),
            ProveError::Failed { .. } | ProveError::Nothing { .. } | ProveError::Proof(_) => {
                Some(ErrorClass::Verification)
            }
            ProveError::File(_) => Some(ErrorClass::Internal),
        };
    }
    if let Some(error) = cause.downcast_ref::<FetchError>() {
        return Some(match &*error.failure {
            FetchFailure::Interrupted => ErrorClass::Interrupted,
            FetchFailure::File(_) | FetchFailure::System(_) => ErrorClass::Internal,
            failure if failure.is_wrong_bytes() || failure.is_forbidden() => ErrorClass::Verification,
            _ => ErrorClass::Fetch,
        });
    }
    if let Some(error) = cause.downcast_ref::<ToolError>() {
        return Some(match error {
            ToolError::Archive { .. } => ErrorClass::Verification,
            ToolError::File(_) => ErrorClass::Internal,
        });
    }
    if let Some(error) = cause.downcast_ref::<BundleError>() {
        return Some(match error {
            BundleError::Proof { .. } => ErrorClass::Verification,
            BundleError::Write { .. } | BundleError::File(_) => ErrorClass::Internal,
        });
    }
    if let Some(error) = cause.downcast_ref::<SignError>() {
        return Some(match error {
            SignError::NoProgram => ErrorClass::Usage,
            SignError::Proof { .. } => ErrorClass::Verification,
            SignError::Interrupted => ErrorClass::Interrupted,
            SignError::Failed { .. } | SignError::Exec(_) | SignError::File(_) => ErrorClass::Internal,
        });
    }
    if cause.is::<ProofError>() || cause.is::<ForeignScripts>() {
        return Some(ErrorClass::Verification);
    }
    if cause.is::<HttpError>() || cause.is::<UpstreamError>() {
        return Some(ErrorClass::Fetch);
    }
    if cause.is::<Unpinned>() || cause.is::<DamagedStore>() || cause.is::<NotProven>() {
        return Some(ErrorClass::Verification);
    }
    (cause.is::<FileError>() || cause.is::<ExecError>()).then_some(ErrorClass::Internal)
}

/// All causes in one line, each once: many say what they were caused by themselves.
#[must_use]
pub fn told(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// What to do about an error, as far as it is known.
#[must_use]
pub fn hints(error: &anyhow::Error) -> Vec<String> {
    error.chain().flat_map(hints_of).collect()
}

fn hints_of(cause: &(dyn std::error::Error + 'static)) -> Vec<String> {
    if let Some(ResolveError::Refused(refusals)) = cause.downcast_ref() {
        return refusals.iter().map(|refusal| refusal.instead.clone()).collect();
    }
    if let Some(error) = cause.downcast_ref::<ProveError>() {
        return match error {
            ProveError::Fetch(error) => hints_of(error),
            ProveError::Policy(error) => hints_of(error),
            other => other.hint().into_iter().collect(),
        };
    }
    if let Some(error) = cause.downcast_ref::<FetchError>() {
        return error.failure.hint().into_iter().map(str::to_owned).collect();
    }
    if let Some(error) = cause.downcast_ref::<PolicyError>() {
        let mut remedies: Vec<String> =
            error.violations().iter().map(|violation| violation.remedy.clone()).collect();
        remedies.dedup();
        return remedies;
    }
    if let Some(ClusterError::Refused(problems)) = cause.downcast_ref() {
        return problems.iter().map(|problem| problem.instead.clone()).collect();
    }
    if let Some(JoinError::Refused(problems)) = cause.downcast_ref() {
        return problems.iter().map(|problem| problem.instead.clone()).collect();
    }
    if let Some(error) = cause.downcast_ref::<RenderError>() {
        return error.hints();
    }
    if let Some(error) = cause.downcast_ref::<ForeignScripts>() {
        return error.hints();
    }
    if let Some(error) = cause.downcast_ref::<SignError>() {
        return error.hints();
    }
    if let Some(NotReady { hints, .. }) = cause.downcast_ref() {
        return hints.clone();
    }
    if let Some(UsageError { hint: Some(hint), .. }) = cause.downcast_ref() {
        return vec![hint.clone()];
    }
    if let Some(error) = cause.downcast_ref::<LockError>() {
        return match error {
            LockError::Stale { .. } => {
                vec!["run `imagegen lock` with the same flags, or `--ignore-lock`".to_owned()]
            }
            LockError::Absent { .. } => vec!["run `imagegen lock` first".to_owned()],
            LockError::Schema { .. } => vec!["run `imagegen lock` to write a new one".to_owned()],
            LockError::Json(_) => Vec::new(),
        };
    }
    if let Some(error) = cause.downcast_ref::<PlaceError>() {
        return match error {
            PlaceError::Foreign { .. } | PlaceError::Result { .. } => {
                vec!["choose another `--out`, or replace it with `--force`".to_owned()]
            }
            PlaceError::NotADirectory { .. } => vec!["choose another `--out`".to_owned()],
            PlaceError::File(_) => Vec::new(),
        };
    }
    if cause.is::<Unpinned>() {
        return vec![
            "`imagegen lock` pins them by their publisher's proofs; `--no-bake` previews without".to_owned(),
        ];
    }
    if let Some(error) = cause.downcast_ref::<BakeError>() {
        return error.hints();
    }
    Vec::new()
}
