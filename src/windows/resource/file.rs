//! Text files and links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::WindowsPath;
use super::{Desired, Identity, ResourceType, SecuredObject};

/// A text file: UTF-8 without byte order mark, line ends as given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct File {
    pub path: WindowsPath,
    #[serde(flatten)]
    pub desired: Desired<FileContent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FileContent {
    pub content: String,
    /// Of the content's bytes; computed, never written by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Owner, group and DACL as Windows prints them back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sddl: Option<String>,
}

/// A symbolic link to a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Symlink {
    pub path: WindowsPath,
    #[serde(flatten)]
    pub desired: Desired<LinkTarget>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LinkTarget {
    pub target: WindowsPath,
}

impl File {
    /// The text of a file that is to be there.
    pub fn content(&self) -> Option<&str> {
        self.desired.present().map(|it| it.content.as_str())
    }
}

impl ResourceType for File {
    fn identity(&self) -> Identity {
        Identity::from_path(&["path"], &self.path)
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.path]
    }
    fn descriptor(&self) -> Option<(&str, SecuredObject)> {
        Some((
            self.desired.present()?.sddl.as_deref()?,
            SecuredObject::File,
        ))
    }
    fn file(&self) -> Option<&str> {
        self.desired.present().map(|_| self.path.as_str())
    }
    fn bytes(&self) -> Option<String> {
        self.content().map(str::to_owned)
    }
}

impl ResourceType for Symlink {
    fn identity(&self) -> Identity {
        Identity::from_path(&["path"], &self.path)
    }
    fn paths(&self) -> Vec<&str> {
        let target = self.desired.present().map(|it| it.target.as_str());
        std::iter::once(self.path.as_str()).chain(target).collect()
    }
}
