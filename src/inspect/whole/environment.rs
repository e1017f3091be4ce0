//! Variables that the environment of a build gave to a workspace, which declares them without a value. The environment
//! of the machine that verifies says nothing about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::catalog::Trees;
use crate::catalog::load_target;
use crate::diagnostic::Result;
use crate::io::fs;
use crate::lock::Lock;
use crate::model::plan::{MissingVariable, Plan};
use crate::model::target::Target;
use crate::model::variable::Selector;

#[derive(Debug)]
pub(super) struct BuildEnvironment {
    /// Variables that the workspace declares.
    declared: BTreeSet<String>,
    /// Those of them without a value in its files.
    open: BTreeSet<String>,
    /// Those that its README names as missing.
    missing: BTreeSet<String>,
}

impl BuildEnvironment {
    pub(super) fn read(folder: &Path, values: &BTreeMap<String, Value>) -> Result<Self> {
        let read = |name: &str| -> Result<String> {
            let bytes = fs::read_if_exists(&folder.join(name))?.unwrap_or_default();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let find = |text: &str, start: &str, end: &str| -> BTreeSet<String> {
            let names = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix(start)?.strip_suffix(end));
            names.map(str::to_owned).collect()
        };
        let declared = find(&read("variables.pkr.hcl")?, "variable \"", "\" {");
        let open = declared
            .iter()
            .filter(|name| !values.contains_key(*name))
            .cloned()
            .collect();
        Ok(Self {
            open,
            declared,
            missing: find(&read("README.md")?, "- `", "`"),
        })
    }

    /// The values with those of build-time selectors, which the workspace shows by what it declares.
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
        for selector in target
            .selectors
            .iter()
            .filter(|selector| selector.build_time)
        {
            if let Some(value) = self.find_selected(selector, &target) {
                values.insert(selector.name.clone(), value.into());
            }
        }
        Ok(values)
    }

    /// The default, or the first value that the declared variables allow.
    fn find_selected(&self, selector: &Selector, target: &Target) -> Option<String> {
        let declared = target
            .variables
            .iter()
            .filter(|variable| self.declared.contains(&variable.name));
        let demands: Vec<&Vec<String>> = declared
            .filter_map(|variable| variable.when.get(&selector.name))
            .collect();
        let mut values = vec![&selector.default];
        values.extend(selector.values.iter().map(|known| &known.value));
        for value in values {
            if demands.iter().all(|demand| demand.contains(value)) {
                return Some(value.clone());
            }
        }
        None
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
                self.declared.contains(name)
            } else {
                plan.declared.contains(name)
            };
            if is_declared && !variable.lock_only {
                declared.push(name.clone());
            }
            if variable.build_time && self.open.contains(name) && self.missing.contains(name) {
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
