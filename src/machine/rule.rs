//! The rules of the machine model.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule of the machine model. Its id is the variant in kebab case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    AnswerFileMissing,
    BuildLeftover,
    CriEndpoint,
    DependencyCycle,
    DependencyMissing,
    DependencyStart,
    DuplicateResource,
    EnvironmentNamesMissingFile,
    FeatureBeforeRestart,
    FeatureMissing,
    FlagFileMissing,
    InsecureProgram,
    LinkTargetMissing,
    NameConflict,
    ParentDirectoryMissing,
    PathConflict,
    PathEntryWithoutDirectory,
    PortMalformed,
    PortWithoutRule,
    PropertyMissing,
    RegistryKind,
    SddlInvalid,
    ServiceProgramLater,
    ServiceProgramMissing,
    ServiceStartsTooEarly,
    ServiceUnknown,
    SessionCut,
    SysprepMissing,
    ToolMissing,
    UnknownFlag,
    UnknownGate,
}

impl Rule {
    pub const ALL: [Self; 31] = [
        Self::AnswerFileMissing,
        Self::BuildLeftover,
        Self::CriEndpoint,
        Self::DependencyCycle,
        Self::DependencyMissing,
        Self::DependencyStart,
        Self::DuplicateResource,
        Self::EnvironmentNamesMissingFile,
        Self::FeatureBeforeRestart,
        Self::FeatureMissing,
        Self::FlagFileMissing,
        Self::InsecureProgram,
        Self::LinkTargetMissing,
        Self::NameConflict,
        Self::ParentDirectoryMissing,
        Self::PathConflict,
        Self::PathEntryWithoutDirectory,
        Self::PortMalformed,
        Self::PortWithoutRule,
        Self::PropertyMissing,
        Self::RegistryKind,
        Self::SddlInvalid,
        Self::ServiceProgramLater,
        Self::ServiceProgramMissing,
        Self::ServiceStartsTooEarly,
        Self::ServiceUnknown,
        Self::SessionCut,
        Self::SysprepMissing,
        Self::ToolMissing,
        Self::UnknownFlag,
        Self::UnknownGate,
    ];
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, character) in format!("{self:?}").chars().enumerate() {
            if at > 0 && character.is_ascii_uppercase() {
                formatter.write_str("-")?;
            }
            write!(formatter, "{}", character.to_ascii_lowercase())?;
        }
        Ok(())
    }
}
