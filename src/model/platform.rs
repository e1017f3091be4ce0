//! The platform of a target: programs and files that it brings to the machine, and its acts on clones.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::windows::resource::{BlockedAddress, Protocol};
use crate::windows::value::{Ports, ServiceName};

/// Agents and files that the platform brings to the machine, and its acts on clones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Platform {
    /// Directories that exist before the build.
    #[serde(default)]
    pub directories: Vec<PlatformDirectory>,
    /// Services that exist before the build and must run when the image is sealed.
    #[serde(default)]
    pub services: Vec<PlatformService>,
    /// Ports that the host uses and Windows must not hand out.
    #[serde(default)]
    pub excluded_ports: Vec<ExcludedPorts>,
    /// Configuration files of the platform's own programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PlatformFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedAddress>,
    /// Addresses of the platform that cloudbase-init and programs of a node ask for metadata and user-data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<MetadataEndpoint>,
    /// Folders of extensions that the platform pushes by policy; the image is not sealed with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extension_folders: Vec<ExtensionFolder>,
    /// Maker of a clone's account, where cloudbase-init does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<String>,
    pub cloudbase_init: CloudbaseInit,
    /// The serial port that the platform shows its customers as a console.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_console: Option<SerialConsole>,
    /// Command of the platform's SetupComplete.cmd, which imagegen's file runs in one line before the first boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_command: Option<String>,
    /// The platform gives the built-in administrator of a clone to its customer, under the name that it has.
    #[serde(default)]
    pub owns_administrator: bool,
    pub source: String,
}

/// A service of the platform, by the names that it has in different releases: one of them must run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlatformService {
    pub name: ServiceName,
    #[serde(default)]
    pub alternatives: Vec<ServiceName>,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlatformDirectory {
    pub path: String,
    /// Whether ordinary users can write to new files in it.
    pub writable: bool,
}

/// A configuration file that a program of the platform reads on the image and on its clones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlatformFile {
    /// Name of the resource.
    pub name: String,
    pub path: String,
    pub content: String,
    pub source: String,
}

/// An address of the platform with metadata, which a node reads at its first boot and later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MetadataEndpoint {
    pub address: Ipv4Addr,
    pub protocol: Protocol,
    pub port: Ports,
    pub source: String,
}

/// A folder in which each extension of the platform has its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ExtensionFolder {
    pub path: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ExcludedPorts {
    pub protocol: Protocol,
    pub start: u16,
    pub count: u16,
}

/// How cloudbase-init finds the platform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CloudbaseInit {
    pub main: CloudbaseInitPhase,
    pub unattend: CloudbaseInitPhase,
    /// Serial port for the log; empty for none.
    pub serial_port: String,
    /// Whether the hardware clock is in UTC.
    pub rtc_utc: bool,
    /// Whether the platform waits for a report that provisioning started and completed.
    pub reports_provisioning: bool,
    /// Whether the account gets the password that the customer gave the platform, not a random one.
    #[serde(default)]
    pub injects_password: bool,
}

/// A serial port for the Special Administration Console of Windows (Emergency Management Services).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SerialConsole {
    /// 1 for COM1.
    pub port: u8,
    pub baud_rate: u32,
    /// Seconds for which the boot menu stands on the console.
    pub menu_seconds: u8,
    pub source: String,
}

impl SerialConsole {
    /// Facts for expressions: texts, as scripts quote them.
    pub(super) fn facts(&self) -> Value {
        json!({
            "port": self.port.to_string(),
            "baudRate": self.baud_rate.to_string(),
            "menuSeconds": self.menu_seconds.to_string(),
        })
    }

    /// Whether the log of cloudbase-init goes to the same port (`COM1,115200,N,8`), which only one program opens.
    fn is_port_of(&self, settings: &str) -> bool {
        settings.starts_with(&format!("COM{},", self.port))
    }
}

impl Platform {
    /// Whether the console takes the port of cloudbase-init's log.
    pub fn shares_serial_port(&self) -> bool {
        let console = self.serial_console.as_ref();
        console.is_some_and(|console| console.is_port_of(&self.cloudbase_init.serial_port))
    }
}

/// Class names of cloudbase-init.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CloudbaseInitPhase {
    pub services: Vec<String>,
    pub plugins: Vec<String>,
}
