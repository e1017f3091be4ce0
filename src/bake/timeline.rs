//! The course of a bake, read from Packer's lines as they come: steps, phases of the guest, resources, restarts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::choice::words;
use crate::base::json::parse_foreign;

use super::condense::condense_line;

/// Name of the schema of `timeline.json`.
pub const TIMELINE_SCHEMA: &str = "imagegen.dev/timeline/v1";

/// Most events that are kept: a guest that prints without end fills no disk.
const MOST_EVENTS: usize = 20_000;

/// `timeline.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Timeline {
    pub schema: String,
    /// Steps of Packer and phases of the guest, in their order.
    pub phases: Vec<PhaseRecord>,
    pub events: Vec<TimelineEvent>,
}

/// A step of Packer (`init`, `validate`, `build`) or a phase of the guest in its build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PhaseRecord {
    pub kind: PhaseKind,
    pub name: String,
    /// Seconds since the start of the run.
    pub start: f64,
    pub seconds: f64,
    /// How many resources the guest changed, and left as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
}

words!(
    /// The program that runs a phase.
    PhaseKind { Packer = "packer", Guest = "guest" }
);

words!(
    /// The kind of an event.
    TimelineKind {
        /// A milestone of Packer.
        Milestone = "milestone",
        /// A resource that the guest's engine set or checked.
        Resource = "resource",
        /// Windows restarts, or has restarted.
        Restart = "restart",
    }
);

/// One line worth keeping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TimelineEvent {
    /// Seconds since the start of the run.
    pub at: f64,
    pub kind: TimelineKind,
    /// Name of the resource, or the text.
    pub name: String,
    /// `changed`, `unchanged`, `failed`, `drifted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Milliseconds that a resource took in the guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

/// The result line of a phase, as the guest's engine prints it.
#[derive(Debug, Deserialize)]
struct PhaseResult {
    schema: String,
    phase: String,
    unchanged: Option<u64>,
    changed: Option<u64>,
    failed: Option<u64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            schema: TIMELINE_SCHEMA.to_owned(),
            phases: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl Timeline {
    /// A step of Packer from its start to now, both in seconds since the start of the run.
    pub fn add_step(&mut self, name: &str, start: f64, now: f64) {
        self.phases.push(PhaseRecord {
            kind: PhaseKind::Packer,
            name: name.to_owned(),
            start,
            seconds: round(now - start),
            changed: None,
            unchanged: None,
            failed: None,
        });
    }

    /// Takes a line of Packer's output that came `now` seconds after the start of the run.
    pub fn add_line(&mut self, line: &str, now: f64) {
        if let Some(result) = parse_phase_result(line) {
            return self.add_phase(result, now);
        }
        let Some(text) = condense_line(line) else {
            return;
        };
        let event = parse_resource(&text, now).unwrap_or_else(|| TimelineEvent {
            at: now,
            kind: if is_restart(&text) {
                TimelineKind::Restart
            } else {
                TimelineKind::Milestone
            },
            name: text,
            result: None,
            ms: None,
        });
        if self.events.len() < MOST_EVENTS {
            self.events.push(event);
        }
    }

    /// A phase of the guest ends: it began when the phase or the milestone before it ended.
    fn add_phase(&mut self, result: PhaseResult, now: f64) {
        let last_phase = self.phases.iter().filter(|it| it.kind == PhaseKind::Guest);
        let after_phase = last_phase.map(|it| it.start + it.seconds).next_back();
        let milestones = self
            .events
            .iter()
            .filter(|event| event.kind != TimelineKind::Resource);
        let after_milestone = milestones.map(|event| event.at).next_back();
        let start = after_phase
            .into_iter()
            .chain(after_milestone)
            .fold(0.0, f64::max);
        self.phases.push(PhaseRecord {
            kind: PhaseKind::Guest,
            name: result.phase,
            start: round(start),
            seconds: round(now - start),
            changed: result.changed,
            unchanged: result.unchanged,
            failed: result.failed,
        });
    }

    /// The resources that took longest, the slowest first.
    pub fn list_slowest(&self, count: usize) -> Vec<&TimelineEvent> {
        let mut resources: Vec<&TimelineEvent> = self
            .events
            .iter()
            .filter(|event| event.kind == TimelineKind::Resource)
            .collect();
        resources.sort_by(|one, other| other.ms.cmp(&one.ms).then(one.name.cmp(&other.name)));
        resources.truncate(count);
        resources
    }
}

/// Milliseconds are enough.
fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn parse_phase_result(line: &str) -> Option<PhaseResult> {
    let start = line.find("{\"schema\":\"imagegen.dev/phase-result/")?;
    let result: PhaseResult = parse_foreign(line[start..].trim().as_bytes()).ok()?;
    result.schema.ends_with("/v1").then_some(result)
}

/// `imagegen: [3/48] changed x/y (12 ms)`
fn parse_resource(text: &str, now: f64) -> Option<TimelineEvent> {
    let (_, rest) = text.strip_prefix("imagegen: [")?.split_once("] ")?;
    let (result, rest) = rest.split_once(' ')?;
    let (name, time) = rest.rsplit_once(" (")?;
    let ms = time.strip_suffix(" ms)")?.parse().ok()?;
    Some(TimelineEvent {
        at: now,
        kind: TimelineKind::Resource,
        name: name.to_owned(),
        result: Some(result.to_owned()),
        ms: Some(ms),
    })
}

/// The lines of Packer's `windows-restart` (hashicorp/packer@v1.16.0
/// provisioner/windows-restart/provisioner.go).
fn is_restart(text: &str) -> bool {
    ["Restarting Machine", "Machine successfully restarted"]
        .iter()
        .any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_resources_and_restarts_are_told_apart() {
        let mut timeline = Timeline::default();
        for (line, now) in [
            (
                "==> imagegen.builder.node: Provisioning with Powershell...",
                10.0,
            ),
            (
                "    imagegen.builder.node: imagegen: [1/2] changed kubernetes/kubelet (1500 ms)",
                12.0,
            ),
            (
                "    imagegen.builder.node: imagegen: [2/2] unchanged a (b) (3 ms)",
                12.5,
            ),
            (
                "    imagegen.builder.node: {\"schema\":\"imagegen.dev/phase-result/v1\",\"phase\":\"install\",\"mode\":\"apply\",\
                 \"unchanged\":1,\"changed\":1,\"failed\":0,\"restart\":true,\"error\":null}",
                13.0,
            ),
            ("==> imagegen.builder.node: Restarting Machine", 14.0),
            ("    imagegen.builder.node: chatter", 15.0),
        ] {
            timeline.add_line(line, now);
        }
        assert_eq!(timeline.phases.len(), 1);
        let phase = &timeline.phases[0];
        assert_eq!(
            (phase.name.as_str(), phase.start, phase.seconds),
            ("install", 10.0, 3.0)
        );
        assert_eq!(
            (phase.changed, phase.unchanged, phase.failed),
            (Some(1), Some(1), Some(0))
        );
        let kinds: Vec<_> = timeline
            .events
            .iter()
            .map(|event| event.kind.as_str())
            .collect();
        assert_eq!(kinds, ["milestone", "resource", "resource", "restart"]);
        assert_eq!(timeline.list_slowest(1)[0].name, "kubernetes/kubelet");
        assert_eq!(timeline.events[2].name, "a (b)");
    }
}
