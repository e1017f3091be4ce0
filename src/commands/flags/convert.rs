//! Groups of flags as the options of the stages.

use crate::acquire::NetworkOptions;
use crate::cli::{HistoryPlaceArgs, LockUseArgs, NetworkArgs, SourceArgs};
use crate::planning::LockUse;
use crate::records::HistoryPlace;
use crate::selection::SourceFolders;

impl From<&NetworkArgs> for NetworkOptions {
    fn from(args: &NetworkArgs) -> Self {
        Self {
            store: args.store.clone(),
            jobs: args.jobs,
            offline: args.offline,
            proxy: args.proxy.clone(),
            ca_files: args.ca_file.clone(),
            header_grants: args.allow_header_env.clone(),
        }
    }
}

impl From<&SourceArgs> for SourceFolders {
    fn from(args: &SourceArgs) -> Self {
        Self {
            manifests: args.manifests.clone(),
            targets: args.targets.clone(),
            steps: args.steps.clone(),
            component_files: args.component_files.clone(),
        }
    }
}

impl From<&LockUseArgs> for LockUse {
    fn from(args: &LockUseArgs) -> Self {
        Self {
            required: args.locked,
            file: args.lock.clone(),
            ignored: args.ignore_lock,
        }
    }
}

impl From<&HistoryPlaceArgs> for HistoryPlace {
    fn from(args: &HistoryPlaceArgs) -> Self {
        Self {
            from: args.from.clone(),
            network: (&args.network).into(),
        }
    }
}
