//! Proofs of a target, and how they were made: `packer/targets/<name>/record.json`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::version::Version;

/// `packer/targets/<name>/record.json`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetRecord {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub checks: Vec<TargetCheck>,
}

/// One check of a target, with the versions of the programs that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetCheck {
    pub stage: CheckStage,
    /// Version of Packer that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packer: Option<Version>,
    /// Version of the plugin that ran; for `names`, of the plugin whose argument names were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Version>,
    /// Module and function of the test.
    pub test: String,
    /// Stand-ins for the platform and the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Selections that the test of `validate` renders: arguments of `imagegen build`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selections: Vec<String>,
    /// Variables of all these selections.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Environment of `packer validate`, such as invented credentials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// In ascending order of what they prove.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CheckStage {
    /// The arguments of the workspace were compared with the names that the plugin declares.
    CheckedByName,
    /// `packer fmt -check`, `init` and `validate` accepted the workspace.
    Validated,
    /// A whole build ran.
    Executed,
}

impl fmt::Display for CheckStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CheckedByName => "checked by name",
            Self::Validated => "validated",
            Self::Executed => "executed",
        })
    }
}

impl TargetRecord {
    /// The strongest check of a target.
    pub fn stage(&self) -> Option<CheckStage> {
        self.checks.iter().map(|check| check.stage).max()
    }

    /// The strongest check of each plugin version, the strongest first: `executed (1.0.9), checked by name (1.1.4)`.
    pub fn format_stages(&self) -> String {
        let mut strongest: BTreeMap<Option<&Version>, CheckStage> = BTreeMap::new();
        for check in &self.checks {
            let stage = strongest
                .entry(check.plugin.as_ref())
                .or_insert(check.stage);
            *stage = check.stage.max(*stage);
        }
        if strongest.is_empty() {
            return "not recorded".to_owned();
        }

        let mut stages = Vec::from_iter(strongest);
        stages.sort_by_key(|(plugin, stage)| std::cmp::Reverse((*stage, *plugin)));
        let mut texts = Vec::new();
        for (plugin, stage) in stages {
            texts.push(match plugin {
                Some(plugin) => format!("{stage} ({plugin})"),
                None => stage.to_string(),
            });
        }
        texts.join(", ")
    }
}
