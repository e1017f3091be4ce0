//! `imagegen.workspace.json`: the choices of a build that the lockfile does not hold. `verify` reads them back for
//! mirrors and for variables that the environment of the build may set, and for nothing else.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::url::HttpUrl;
use crate::model::mirrors::MirrorPrefix;
use crate::model::plan::Plan;
use crate::model::variable::Variable;

pub const WORKSPACE_RECORD: &str = "imagegen.workspace.json";

const SCHEMA: &str = "imagegen.dev/workspace/v1";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceRecord {
    /// Always `imagegen.dev/workspace/v1`.
    pub schema: String,
    /// Value of each selector that is not part of the lock.
    pub selectors: BTreeMap<String, String>,
    /// Variables that the workspace declares, with or without a value.
    pub declared: BTreeSet<String>,
    /// Variables that the build still needs.
    pub missing: BTreeSet<String>,
    /// Mirrors that the guest's plan names, by the addresses that they stand for: the lockfile has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mirrors: BTreeMap<MirrorPrefix, HttpUrl>,
}

impl Default for WorkspaceRecord {
    /// The record of a workspace without choices of its own, such as an installer.
    fn default() -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            selectors: BTreeMap::new(),
            declared: BTreeSet::new(),
            missing: BTreeSet::new(),
            mirrors: BTreeMap::new(),
        }
    }
}

/// The record of a plan whose workspace declares these variables.
pub(super) fn record_choices(plan: &Plan, declared: &[&Variable]) -> WorkspaceRecord {
    let mut record = WorkspaceRecord {
        mirrors: plan.list_guest_mirrors(),
        ..WorkspaceRecord::default()
    };
    for selector in &plan.target.selectors {
        if selector.build_time
            && let Some(value) = plan.selectors.get(&selector.name)
        {
            record
                .selectors
                .insert(selector.name.clone(), value.clone());
        }
    }
    for variable in declared {
        record.declared.insert(variable.name.clone());
    }
    for missing in &plan.missing {
        record.missing.extend(missing.names.iter().cloned());
    }
    record
}
