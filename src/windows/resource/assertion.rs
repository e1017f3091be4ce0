//! Conditions that must hold and cannot be set, and that no other type can express.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::{FilledText, OutputPattern, PrintedText, ServiceName, WindowsPath};
use super::{Identity, ResourceType, ServiceState};

/// Something that must hold. The engine can only compare it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assertion {
    pub holds: bool,
    #[serde(flatten)]
    pub check: AssertionCheck,
}

/// Object that an assertion looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "check",
    deny_unknown_fields,
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum AssertionCheck {
    /// `program` with `arguments` exits 0 and prints text that matches `pattern`.
    Command {
        program: WindowsPath,
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pattern: Option<OutputPattern>,
    },
    /// `serviceName`, or one of the `alternatives`, is in `state`, or is there where none is given. It may get there
    /// while the resource has time.
    Service {
        service_name: ServiceName,
        /// Names of the same service in other releases of its package.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<ServiceName>,
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<ServiceState>,
    },
    /// The build is `build` and the update revision at least `revision`.
    OsBuild {
        build: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        revision: Option<u32>,
    },
}

/// A script for everything that no other type can say: PowerShell 5.1 that reads, and PowerShell 5.1 that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Script {
    /// Prints the actual state and changes nothing.
    pub test: FilledText,
    /// Expected output of `test`, without blanks at both ends; empty where it prints nothing.
    pub expected: PrintedText,
    /// Brings the machine into the expected state.
    pub set: FilledText,
}

impl ResourceType for Assertion {
    fn identity(&self) -> Identity {
        Identity::new(
            "assertion",
            &[
                "check",
                "program",
                "arguments",
                "pattern",
                "serviceName",
                "alternatives",
                "state",
                "build",
                "revision",
            ],
            serde_json::to_string(&self.check).expect("a check is plain data"),
        )
    }
    fn program(&self) -> Option<&str> {
        match &self.check {
            AssertionCheck::Command { program, .. } => Some(program),
            AssertionCheck::Service { .. } | AssertionCheck::OsBuild { .. } => None,
        }
    }
}

impl ResourceType for Script {
    fn identity(&self) -> Identity {
        Identity::new("script", &["test"], &self.test)
    }
}
