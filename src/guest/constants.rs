//! Facts of `provisioners` that hold for every choice of a user.

use std::sync::Arc;

use serde_json::Value;

use super::share_json;
use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::model::stage::AccountRefusal;
use crate::windows::value::KbId;

/// Facts of `provisioners`, as [`super::collect_facts`] takes them.
#[derive(Debug)]
pub struct Constants<'a> {
    pub paths: Arc<Value>,
    pub sddl: Arc<Value>,
    /// Updates that fail to install.
    pub failing: Vec<KbId>,
    /// Refusals by programs of the plan's version.
    pub refusals: &'a [AccountRefusal],
}

/// An entry of `provisioners/updates.json`: an update that Windows Update offers and that fails to install.
#[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailingUpdate {
    pub kb: KbId,
    pub source: String,
}

impl<'a> Constants<'a> {
    pub(super) fn read(provisioners: &Tree, refusals: &'a [AccountRefusal]) -> Result<Self> {
        let known: Arc<Vec<FailingUpdate>> = share_json(provisioners, "updates.json")?;
        Ok(Self {
            paths: share_json(provisioners, "paths.json")?,
            sddl: share_json(provisioners, "sddl.json")?,
            failing: known.iter().map(|update| update.kb.clone()).collect(),
            refusals,
        })
    }
}
