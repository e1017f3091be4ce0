//! Container images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::WindowsPath;
use super::{Identity, ResourceType};
use crate::base::choice::Runtime;
use crate::base::value::ImageReference;

/// A container image in the runtime's store, by digest: pulled, or imported where its content came with the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ContainerImage {
    pub reference: ImageReference,
    pub runtime: Runtime,
    /// Path of `ctr.exe`, or of `docker.exe`.
    pub program: WindowsPath,
    /// Program that pulls: path of `crictl.exe`, with `crictl.yaml` beside it, or of `docker.exe`.
    pub client: WindowsPath,
    /// Of containerd; nothing for Docker.
    pub namespace: String,
    /// Arguments of `ctr images import` besides its file.
    pub import_arguments: Vec<String>,
    /// Whether the machine may ask a registry. Where it may not, an image whose content did not come with the
    /// plan is left to the node.
    pub pull: bool,
}

impl ResourceType for ContainerImage {
    fn identity(&self) -> Identity {
        Identity::new(
            "image",
            &["namespace", "reference"],
            format!("{} {}", self.namespace, self.reference),
        )
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.program, &self.client]
    }
    fn program(&self) -> Option<&str> {
        Some(&self.program)
    }
}
