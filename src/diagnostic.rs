//! Errors and findings as a user meets them: what is wrong with which thing, what to do next, and the
//! class that decides the exit code.
//!
//! A stage returns its own error type. `?` turns it into an [`Error`] only if the type implements
//! [`Classify`], so an error type without a code, and the class of the code, does not compile.

mod report;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::choice::UnknownName;
use crate::base::code::Code;
use crate::base::interrupt::Interrupted;
use crate::base::json::{JsonError, JsonFault};
use crate::base::toml::{Contradiction, FragmentError};
use crate::base::url::UrlError;
use crate::base::value::ValueError;
use crate::base::version::VersionError;

pub use crate::base::code::ErrorClass;
pub use report::{ErrorReport, Location};

/// An error that knows its code. Implemented beside each error type.
pub trait Classify: std::error::Error + Send + Sync + 'static {
    fn code(&self) -> Code;

    /// That of the code, unless more than the code decides.
    fn class(&self) -> ErrorClass {
        self.code().class()
    }

    /// Next steps, as commands or edits that can be copied.
    fn remedies(&self) -> Vec<String> {
        Vec::new()
    }

    /// Everything that is wrong, if the error is a list.
    fn findings(&self) -> &[Finding] {
        &[]
    }

    /// Where to change something.
    fn location(&self) -> Option<Location> {
        None
    }
}

/// Declares the code of error types whose errors all have the same.
macro_rules! classify {
    ($name:ty => $code:ident) => {
        impl $crate::diagnostic::Classify for $name {
            fn code(&self) -> $crate::base::code::Code {
                $crate::base::code::Code::$code
            }
        }
    };
}
pub(crate) use classify;

// Values of `base` know no classes.
classify!(UnknownName => UNKNOWN_NAME);
classify!(Contradiction => CONFIG_FRAGMENT);
classify!(FragmentError => CONFIG_FRAGMENT);
classify!(UrlError => VALUE);
classify!(ValueError => VALUE);
classify!(VersionError => VALUE);

impl Classify for JsonFault {
    fn code(&self) -> Code {
        Code::JSON
    }
}

impl Classify for JsonError {
    fn code(&self) -> Code {
        Code::JSON
    }

    fn location(&self) -> Option<Location> {
        Some(Location::from_json(self))
    }
}

/// Any classified error, with what the program was doing.
#[derive(Debug)]
pub struct Error {
    context: Option<String>,
    cause: Box<dyn Classify>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl<E: Classify> From<E> for Error {
    fn from(cause: E) -> Self {
        Self {
            context: None,
            cause: Box::new(cause),
        }
    }
}

impl Error {
    /// A command line that the argument parser accepts and that makes no sense.
    pub fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        CodedError {
            remedy: Some(remedy.into()),
            ..CodedError::new(Code::USAGE, message)
        }
        .into()
    }

    /// A value of a flag, an input file or the environment that is missing or cannot be used.
    pub fn value(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        CodedError::value(message, remedy).into()
    }

    #[must_use]
    pub fn with_context(self, context: impl Into<String>) -> Self {
        Self {
            context: Some(context.into()),
            ..self
        }
    }

    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.cause.class()
    }

    pub fn code(&self) -> Code {
        self.cause.code()
    }

    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        self.cause.findings()
    }

    pub fn location(&self) -> Option<Location> {
        self.cause.location()
    }

    /// Each remedy once.
    pub fn remedies(&self) -> Vec<String> {
        let mut remedies = self.cause.remedies();
        let mut known = std::collections::BTreeSet::new();
        remedies.retain(|remedy| !remedy.is_empty() && known.insert(remedy.clone()));
        remedies
    }
}

/// Context and causes in one line, each once: many errors repeat their cause.
impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = self.context.clone().unwrap_or_default();
        let cause: &dyn std::error::Error = &*self.cause;
        for cause in
            std::iter::successors(Some(cause), |cause| cause.source()).map(ToString::to_string)
        {
            if line.is_empty() {
                line = cause;
            } else if !line.contains(&cause) {
                line = format!("{line}: {cause}");
            }
        }
        formatter.write_str(&line)
    }
}

/// An invariant of the program that does not hold.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InternalError(pub String);

classify!(InternalError => INTERNAL);
classify!(Interrupted => INTERRUPTED);

/// An error that no caller tells apart from others.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct CodedError {
    pub code: Code,
    pub message: String,
    pub remedy: Option<String>,
    /// The file to change.
    pub file: Option<String>,
}

impl CodedError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            remedy: None,
            file: None,
        }
    }

    /// As [`Error::value`], for a caller that keeps it.
    pub fn value(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..Self::new(Code::VALUE, message)
        }
    }

    pub fn in_file(code: Code, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: Some(file.into()),
            ..Self::new(code, message)
        }
    }
}

impl Classify for CodedError {
    fn code(&self) -> Code {
        self.code
    }

    fn remedies(&self) -> Vec<String> {
        self.remedy.clone().into_iter().collect()
    }

    fn location(&self) -> Option<Location> {
        self.file.as_ref().map(Location::from_file)
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    Error,
    Warning,
}

/// One thing that is wrong: every stage that judges something returns a list of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Stable, kebab-case: scripts and `imagegen explain` use it.
    pub code: String,
    pub severity: Severity,
    /// The thing that the finding is about: a component, a file, a resource. May be empty.
    pub subject: String,
    pub message: String,
    /// Next step, as an imperative. May be empty.
    pub remedy: String,
    /// Where the rule comes from. May be empty.
    pub source: String,
    /// The file to change, if it is not the subject. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
}

impl Finding {
    pub fn new(code: Code, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::from_data(code.as_str(), message, remedy)
    }

    /// With the code of a data file: a rule of the catalog, the evidence of a lock.
    pub fn from_data(code: &str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            severity: Severity::Error,
            subject: String::new(),
            message: message.into(),
            remedy: remedy.into(),
            source: String::new(),
            file: String::new(),
        }
    }

    #[must_use]
    pub fn with_subject(self, subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            ..self
        }
    }

    #[must_use]
    pub fn with_file(self, file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            ..self
        }
    }

    #[must_use]
    pub fn with_source(self, source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            ..self
        }
    }
}

/// `subject (file): message [code] (source: …)`
impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self
            .message
            .to_lowercase()
            .contains(&self.subject.to_lowercase());
        match (known, self.file.is_empty()) {
            (true, true) => {}
            (true, false) => write!(formatter, "{}: ", self.file)?,
            (false, true) => write!(formatter, "{}: ", self.subject)?,
            (false, false) => write!(formatter, "{} ({}): ", self.subject, self.file)?,
        }
        write!(formatter, "{} [{}]", self.message, self.code)?;
        if self.source.is_empty() {
            Ok(())
        } else {
            write!(formatter, " (source: {})", self.source)
        }
    }
}

/// A single finding ends the line that introduces it; several have a line each.
pub fn format_findings(findings: &[Finding]) -> String {
    match findings {
        [only] => format!(" {only}"),
        many => many
            .iter()
            .map(|finding| format!("\n  {finding}"))
            .collect(),
    }
}

/// Something that a stage does not do, with every reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{summary}:{}", format_findings(.findings))]
pub struct Refusal {
    /// `the image cannot be built`
    pub summary: &'static str,
    pub findings: Vec<Finding>,
}

impl Classify for Refusal {
    fn code(&self) -> Code {
        Code::VALUE
    }

    fn remedies(&self) -> Vec<String> {
        list_remedies(&self.findings)
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// Remedies of findings. [`Error::remedies`] removes doubles.
pub fn list_remedies(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| finding.remedy.clone())
        .collect()
}
