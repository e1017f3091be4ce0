//! Stages in the life of a machine that run programs, the accounts that they run as, and the programs that refuse
//! an account.

use schemars::JsonSchema;
use serde::Deserialize;

use super::platform::CloudbaseInit;
use super::step::When;
use crate::base::choice::words;
use crate::base::version::VersionRange;
use crate::windows::value::{AccountName, ServiceName, WindowsPath};

words!(
    /// Kind of account that a program runs as.
    RunsAs {
        /// A member of Administrators.
        Administrator = "administrator",
        /// `LocalSystem`.
        System = "system",
    }
);

words!(
    /// List of cloudbase-init's plugins: of its service, or of the specialize pass.
    PluginList {
        Main = "main",
        Unattend = "unattend",
    }
);

/// `provisioners/stages.json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LifeStages {
    pub stages: Vec<Stage>,
    pub refusals: Vec<AccountRefusal>,
}

/// A stage in the life of a machine, from the build on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Stage {
    /// Name, as messages show it.
    pub stage: String,
    #[serde(default)]
    pub when: When,
    pub runs_as: StageAccount,
    /// File names of the programs that it runs, such as `kubeadm.exe`.
    pub runs: Vec<String>,
    /// Given where it runs them through user-data: the list of plugins that must have `UserDataPlugin`.
    pub user_data: Option<PluginList>,
    /// The list of checks that it ignores, where it reads one.
    pub ignores: Option<IgnoredChecks>,
    pub source: String,
}

/// The account of a stage: an account itself, or the one of a service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StageAccount {
    Account(RunsAs),
    Service(ServiceName),
}

/// Lines `KEY=CHECK` of a file, one for each check that a stage ignores.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct IgnoredChecks {
    pub path: WindowsPath,
    pub key: String,
}

/// A program that ends with an error where it runs as an account.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AccountRefusal {
    /// File name, such as `kubeadm.exe`.
    pub program: String,
    pub kubernetes: VersionRange,
    pub runs_as: RunsAs,
    /// Name of the check, by which it can be ignored.
    pub check: String,
    pub source: String,
}

/// The account of a service, by an argument of its package.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ServiceAccount {
    /// Without it, the account where no other row holds.
    pub argument: Option<String>,
    pub runs_as: RunsAs,
    /// Name of the local account; without it, one of Windows itself.
    pub user: Option<AccountName>,
    pub source: String,
}

impl Stage {
    /// Whether the stage runs its programs on clones of a platform with these plugins.
    pub fn runs_on(&self, cloudbase_init: &CloudbaseInit) -> bool {
        let plugins = match self.user_data {
            None => return true,
            Some(PluginList::Main) => &cloudbase_init.main.plugins,
            Some(PluginList::Unattend) => &cloudbase_init.unattend.plugins,
        };
        plugins
            .iter()
            .any(|class| class.ends_with(".UserDataPlugin"))
    }
}
