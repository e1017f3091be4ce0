//! Services of Windows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::{ServiceName, WindowsPath};
use super::{Desired, Identity, ResourceType};
use crate::base::choice::words;

/// A Windows service. Without `program` it tunes one that is there already.
///
/// In the guest plan `program` and `arguments` are joined to `commandLine`, quoted as
/// `CommandLineToArgvW` reads it back, because that is what Windows stores and compares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    pub service_name: ServiceName,
    #[serde(flatten)]
    pub desired: Desired<ServiceSettings>,
}

/// Settings that are absent are left as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ServiceSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<WindowsPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_type: Option<StartType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<ServiceName>>,
    /// After how many seconds without failure the count of failures starts again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reset_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_actions: Option<Vec<FailureAction>>,
    /// Whether ending with an error code counts as a failure, not only a crash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_flag: Option<bool>,
    /// `NAME=value`, seen by this service alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ServiceState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StartType {
    Auto,
    /// Automatic, delayed.
    Delayed,
    /// On demand.
    Manual,
    Disabled,
}

words!(
    ServiceState {
        Running = "running",
        Stopped = "stopped",
    }
);

/// Action of the service manager after the n-th failure of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FailureAction {
    pub action: FailureActionKind,
    pub delay_seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailureActionKind {
    None,
    Restart,
    Reboot,
}

impl Service {
    /// Settings that this resource gives replace the earlier ones; a program brings its own arguments.
    pub(super) fn merge_over(&self, earlier: &Self) -> Self {
        let (Desired::Present(new), Desired::Present(old)) = (&self.desired, &earlier.desired)
        else {
            return self.clone();
        };
        let command = if new.program.is_some() { new } else { old };
        let settings = ServiceSettings {
            display_name: choose(new.display_name.as_ref(), old.display_name.as_ref()),
            program: command.program.clone(),
            arguments: command.arguments.clone(),
            start_type: new.start_type.or(old.start_type),
            depends_on: choose(new.depends_on.as_ref(), old.depends_on.as_ref()),
            failure_reset_seconds: new.failure_reset_seconds.or(old.failure_reset_seconds),
            failure_actions: choose(new.failure_actions.as_ref(), old.failure_actions.as_ref()),
            failure_flag: new.failure_flag.or(old.failure_flag),
            environment: choose(new.environment.as_ref(), old.environment.as_ref()),
            state: new.state.or(old.state),
        };
        Self {
            service_name: earlier.service_name.clone(),
            desired: Desired::Present(settings),
        }
    }

    /// Whether the resource gives the service its program.
    pub fn has_program(&self) -> bool {
        self.desired
            .present()
            .is_some_and(|it| it.program.is_some())
    }
}

impl ResourceType for Service {
    fn identity(&self) -> Identity {
        Identity::new("service", &["serviceName"], &self.service_name)
    }
    fn paths(&self) -> Vec<&str> {
        let program = self.desired.present().and_then(|it| it.program.as_deref());
        program.into_iter().collect()
    }
}

/// The new setting; the old one where there is none.
fn choose<T: Clone>(new: Option<&T>, old: Option<&T>) -> Option<T> {
    new.or(old).cloned()
}
