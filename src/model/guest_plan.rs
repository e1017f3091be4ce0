//! A guest plan: the resources of an image, with the digests of the scripts that apply them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signing::Signer;
use crate::base::value::HostPattern;
use crate::windows::resource::Resource;

/// A list of resources that one engine applies, with the digests of its scripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GuestPlan {
    pub schema: String,
    pub target: String,
    pub windows: String,
    pub kubernetes: String,
    /// Path below the payload → SHA-256 of its bytes.
    pub scripts: BTreeMap<String, String>,
    /// If there are any, the engine runs under `AllSigned` alone, and one of them signed each script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signers: Vec<Signer>,
    /// `allowedHosts` of the policy: downloads and their redirects ask no other host. None where every host may be
    /// asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<HostPattern>>,
    /// It was made before its archives were read: members without digest are taken as they come. The engine refuses
    /// such a member in any other plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
    pub resources: Vec<Resource>,
}
