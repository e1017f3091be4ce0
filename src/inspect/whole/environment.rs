//! Variables that the environment of a build gave to a workspace, which declares them without a value. The environment
//! of the machine that verifies says nothing about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::base::json;
use crate::catalog::{Trees, load_target};
use crate::diagnostic::Result;
use crate::io::fs;
use crate::lock::Lock;
use crate::model::mirrors::{Mirror, MirrorParty, Mirrors};
use crate::model::plan::{MissingVariable, Plan};
use crate::render::{WORKSPACE_RECORD, WorkspaceRecord};

#[derive(Debug)]
pub(super) struct BuildEnvironment {
    /// Choices that the build recorded.
    record: WorkspaceRecord,
    /// Declared variables without a value in the workspace's files.
    open: BTreeSet<String>,
}

impl BuildEnvironment {
    pub(super) fn read(folder: &Path, values: &BTreeMap<String, Value>) -> Result<Self> {
        let record: WorkspaceRecord = match fs::read_if_exists(&folder.join(WORKSPACE_RECORD))? {
            Some(bytes) => json::parse_json(WORKSPACE_RECORD, &bytes)?,
            None => WorkspaceRecord::default(),
        };
        let mut open = record.declared.clone();
        open.retain(|name| !values.contains_key(name));
        Ok(Self { record, open })
    }

    /// The mirrors of the build. They decide where the guest asks, and nothing of what it accepts.
    pub(super) fn list_mirrors(&self) -> Mirrors {
        let mut places = BTreeMap::new();
        for (prefix, url) in &self.record.mirrors {
            let mirror = Mirror::open_to_all(url.clone(), MirrorParty::Definition);
            places.insert(prefix.clone(), mirror);
        }
        Mirrors::new(places)
    }

    /// The values with those of build-time selectors.
    pub(super) fn complete_values(
        &self,
        values: &BTreeMap<String, Value>,
        lock: &Lock,
        trees: &Trees,
    ) -> Result<BTreeMap<String, Value>> {
        let mut values = values.clone();
        let Some(name) = &lock.selection.target else {
            return Ok(values);
        };
        let target = load_target(&trees.packer, name)?;
        for selector in &target.selectors {
            let recorded = self.record.selectors.get(&selector.name);
            if selector.build_time
                && let Some(value) = recorded
            {
                values.insert(selector.name.clone(), value.clone().into());
            }
        }
        Ok(values)
    }

    /// The plan with the variables that the workspace has: declared, open and missing.
    pub(super) fn restore(&self, plan: Plan) -> Plan {
        let mut variables = plan.variables.clone();
        variables.retain(|name, _| !(self.open.contains(name) && plan.target.is_build_time(name)));
        let mut declared = Vec::new();
        let mut missing: Vec<MissingVariable> = Vec::new();
        for locked in &plan.missing {
            let mut names = locked.names.iter();
            if !names.any(|name| plan.target.is_build_time(name)) {
                missing.push(locked.clone());
            }
        }
        for variable in &plan.target.variables {
            let name = &variable.name;
            // What decides the content of the image is never taken from the workspace.
            let is_declared = if variable.build_time {
                self.record.declared.contains(name)
            } else {
                plan.declared.contains(name)
            };
            if is_declared && !variable.lock_only {
                declared.push(name.clone());
            }
            let is_missing = self.open.contains(name) && self.record.missing.contains(name);
            if variable.build_time && is_missing {
                missing.push(MissingVariable {
                    names: vec![name.clone()],
                    description: variable.description.clone(),
                    sensitive: variable.sensitive,
                    from: Vec::new(),
                });
            }
        }

        missing.sort_by_key(|missing| {
            let mut variables = plan.target.variables.iter();
            variables.position(|variable| missing.names.contains(&variable.name))
        });
        Plan {
            variables,
            declared,
            missing,
            ..plan
        }
    }
}
