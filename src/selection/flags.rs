//! The operator's layer: what stands over image definition and lockfile.

use std::path::PathBuf;

use crate::base::url::HttpUrl;
use crate::diagnostic::Result;
use crate::model::definition::ImageDefinition;
use crate::model::mirrors::MirrorPrefix;
use crate::model::policy::Waiver;

use super::read_mirrors;

/// Values of the command line.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// All that flags set, but for variables.
    pub definition: ImageDefinition,
    /// Variables as texts: the target that is chosen in the end has their types.
    pub variables: Vec<(String, String)>,
    pub policy: NamedPolicy,
    /// Tools whose releases may be older than the catalog's floor.
    pub allow_old: Vec<String>,
}

impl Flags {
    /// The settings of this machine, without a flag.
    ///
    /// # Errors
    /// The settings cannot be read.
    pub fn without_any() -> Result<Self> {
        Ok(Self {
            definition: ImageDefinition {
                download_mirrors: read_mirrors(&[])?,
                ..ImageDefinition::default()
            },
            ..Self::default()
        })
    }
}

/// The policy, as the command line names it.
#[derive(Debug, Clone, Default)]
pub struct NamedPolicy {
    pub file: Option<PathBuf>,
    pub waivers: Vec<Waiver>,
    /// Mirrors of the command line, where no selection has them.
    pub mirrors: Vec<(MirrorPrefix, HttpUrl)>,
    /// Hosts that may be asked over plain HTTP.
    pub plain_http: Vec<String>,
}
