//! The system as a whole: tasks, power, the page file, Sysprep.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::{FilledText, TaskName, WindowsPath};
use super::{Desired, Identity, ResourceType};

/// A task that runs as SYSTEM, without time limit, and is tried again each minute when it fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledTask {
    pub task_name: TaskName,
    #[serde(flatten)]
    pub desired: Desired<TaskSettings>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskSettings {
    pub program: WindowsPath,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    pub trigger: TaskTrigger,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Trigger of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskTrigger {
    /// Nothing but a request.
    None,
    Startup,
    /// Each night at three.
    Daily,
    /// Each minute, for a program that runs for long: nothing happens while it still runs.
    Minutely,
}

/// The active power plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PowerPlan {
    /// Lower-case GUID.
    pub plan: FilledText,
}

/// The one page file of the machine, from the next restart on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PageFile {
    pub path: WindowsPath,
    /// With the maximum 0 as well, Windows chooses.
    pub initial_megabytes: u32,
    pub maximum_megabytes: u32,
}

/// The generalized system. Set runs Sysprep and waits, within the resource's time limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Sysprep {
    /// `IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE`
    pub image_state: FilledText,
    /// Answer file of the next boot; an agent brings its own.
    pub unattend: WindowsPath,
    /// `quit` or `shutdown`: what Sysprep does at its end.
    pub finish: FilledText,
    /// Programs of the platform, of which the first that the machine has runs Sysprep. Without any, the engine does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<SealAgent>,
}

/// A program of the platform that seals a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SealAgent {
    pub name: String,
    /// The machine has the agent if it has this file.
    pub file: WindowsPath,
    /// Run in order; each must exit with 0.
    pub commands: Vec<SealCommand>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SealCommand {
    pub program: WindowsPath,
    pub arguments: Vec<String>,
}

impl ResourceType for ScheduledTask {
    fn identity(&self) -> Identity {
        Identity::new("scheduled task", &["taskName"], self.task_name.as_str())
    }
    fn paths(&self) -> Vec<&str> {
        self.program().into_iter().collect()
    }
    fn program(&self) -> Option<&str> {
        self.desired.present().map(|it| it.program.as_str())
    }
}

impl ResourceType for PowerPlan {
    fn identity(&self) -> Identity {
        Identity::new("power plan", &[], "Windows")
    }
}

impl ResourceType for PageFile {
    fn identity(&self) -> Identity {
        Identity::new("page file", &[], "Windows")
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.path]
    }
}

impl ResourceType for Sysprep {
    fn identity(&self) -> Identity {
        Identity::new("Sysprep", &[], "Windows")
    }
    fn paths(&self) -> Vec<&str> {
        if self.agents.is_empty() {
            vec![&self.unattend]
        } else {
            Vec::new()
        }
    }
}
