//! Container images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::{ImageReference, WindowsPath};
use super::{Identity, ResourceType};

/// A container image in containerd's store, pulled by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ContainerImage {
    pub reference: ImageReference,
    /// Path of `ctr.exe`.
    pub program: WindowsPath,
    /// Path of `crictl.exe`, with `crictl.yaml` beside it.
    pub client: WindowsPath,
    pub namespace: String,
}

impl ResourceType for ContainerImage {
    fn identity(&self) -> Identity {
        Identity::new("image", &["namespace", "reference"], format!("{} {}", self.namespace, self.reference))
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.program, &self.client]
    }
    fn program(&self) -> Option<&str> {
        Some(&self.program)
    }
}
