//! Access to the machine: accounts, WinRM, certificates; and what Microsoft Defender leaves alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::{AccountName, FilledText};
use super::{Ensure, Identity, ResourceType};
use crate::base::choice::words;
use crate::base::value::Sha256;

/// A local account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LocalUser {
    pub user_name: AccountName,
    pub ensure: EnsureUser,
}

/// Like [`Ensure`], for accounts, some of which Windows does not delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EnsureUser {
    Present,
    Disabled,
    Absent,
    /// Absent, disabled, or the built-in administrator (RID 500), which a platform gives to its customer.
    Closed,
}

/// A listener of Windows Remote Management.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WinrmListener {
    pub transport: WinrmTransport,
    pub ensure: Ensure,
}

words!(
    WinrmTransport {
        Http = "HTTP",
        Https = "HTTPS",
    }
);

/// A value below `WSMan:\localhost`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WinrmSetting {
    /// Such as `Service\Auth\Basic`.
    pub setting: FilledText,
    pub value: String,
}

/// A certificate in a store of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Certificate {
    pub store: CertificateStore,
    /// Of the certificate.
    pub sha256: Sha256,
    pub ensure: Ensure,
    /// The certificate in DER, in base64.
    pub content: FilledText,
}

/// A store of the machine's certificates, by its name in Windows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum CertificateStore {
    /// Trusted root authorities.
    Root,
    /// Intermediate authorities.
    #[serde(rename = "CA")]
    Authority,
    /// Signers whose scripts run under `AllSigned` without a question.
    TrustedPublisher,
}

/// Something that Microsoft Defender does not scan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DefenderExclusion {
    pub kind: ExclusionKind,
    pub value: FilledText,
    pub ensure: Ensure,
}

words!(
    ExclusionKind {
        Path = "path",
        Process = "process",
    }
);

impl ResourceType for LocalUser {
    fn identity(&self) -> Identity {
        Identity::new("account", &["userName"], self.user_name.as_str())
    }
}

impl ResourceType for WinrmListener {
    fn identity(&self) -> Identity {
        Identity::new("WinRM listener", &["transport"], self.transport.to_string())
    }
}

impl ResourceType for WinrmSetting {
    fn identity(&self) -> Identity {
        Identity::new("WinRM setting", &["setting"], &self.setting)
    }
}

impl ResourceType for Certificate {
    fn identity(&self) -> Identity {
        Identity::new(
            "certificate",
            &["store", "sha256"],
            format!("{:?} {}", self.store, self.sha256),
        )
    }
}

impl ResourceType for DefenderExclusion {
    fn identity(&self) -> Identity {
        Identity::new(
            "Defender exclusion",
            &["kind", "value"],
            format!("{} {}", self.kind.as_str(), self.value),
        )
    }
}
