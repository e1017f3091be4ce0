//! Container images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Identity, ResourceType};

/// A container image in containerd's store, pulled by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ContainerImage {
    /// `registry/name@sha256:…`; a tag may stand before the digest.
    pub reference: String,
    /// Path of `ctr.exe`.
    pub program: String,
    /// Path of `crictl.exe`, with `crictl.yaml` beside it.
    pub client: String,
    pub namespace: String,
}

impl ResourceType for ContainerImage {
    fn identity(&self) -> Identity {
        Identity::new("image", &["namespace", "reference"], format!("{} {}", self.namespace, self.reference))
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.program, &self.client]
    }
    fn digest(&self) -> Option<(&str, usize)> {
        let reference = self.reference.as_str();
        Some((reference.split_once("@sha256:").map_or(reference, |(_, digest)| digest), 64))
    }
    fn program(&self) -> Option<&str> {
        Some(&self.program)
    }
}
