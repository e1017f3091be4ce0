//! Directories with their access control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::WindowsPath;
use super::{Identity, ResourceType, SecuredObject};

/// A directory, optionally with its whole access control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Directory {
    pub path: WindowsPath,
    #[serde(flatten)]
    pub state: DirectoryState,
}

/// Whether the directory is to be there, and with content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "ensure", deny_unknown_fields, rename_all = "camelCase")]
pub enum DirectoryState {
    Present {
        /// Owner, group and DACL as Windows prints them back.
        #[serde(skip_serializing_if = "Option::is_none")]
        sddl: Option<String>,
    },
    /// There, without content.
    Empty {
        #[serde(skip_serializing_if = "Option::is_none")]
        sddl: Option<String>,
    },
    Absent {},
}

impl Directory {
    pub fn sddl(&self) -> Option<&str> {
        match &self.state {
            DirectoryState::Present { sddl } | DirectoryState::Empty { sddl } => sddl.as_deref(),
            DirectoryState::Absent {} => None,
        }
    }

    /// Whether the resource removes everything below the directory.
    pub const fn clears_content(&self) -> bool {
        !matches!(self.state, DirectoryState::Present { .. })
    }

    /// A directory keeps the access control that no later resource replaces, and stays emptied.
    pub(super) fn merge_over(&self, earlier: &Self) -> Self {
        let sddl = self.sddl().or(earlier.sddl()).map(str::to_owned);
        let state = match (&self.state, &earlier.state) {
            (DirectoryState::Absent {}, _) => DirectoryState::Absent {},
            (
                DirectoryState::Present { .. },
                DirectoryState::Present { .. } | DirectoryState::Absent {},
            ) => DirectoryState::Present { sddl },
            (DirectoryState::Empty { .. }, _) | (_, DirectoryState::Empty { .. }) => {
                DirectoryState::Empty { sddl }
            }
        };
        Self {
            path: earlier.path.clone(),
            state,
        }
    }
}

impl ResourceType for Directory {
    fn identity(&self) -> Identity {
        Identity::from_path(&["path"], &self.path)
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.path]
    }
    fn descriptor(&self) -> Option<(&str, SecuredObject)> {
        self.sddl().map(|sddl| (sddl, SecuredObject::Directory))
    }
    fn creates_parents(&self) -> bool {
        !matches!(self.state, DirectoryState::Absent {})
    }
}
