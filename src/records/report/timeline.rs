//! The course of a bake on its page: phases, restarts, the slowest resources and those that failed.

use std::path::Path;
use std::time::Duration;

use indicatif::HumanBytes;

use crate::attest::report::{ImagePage, PhaseRow, ResourceRow};
use crate::bake::{PhaseKind, Timeline, TimelineEvent, TimelineKind};
use crate::base::json::parse_foreign;
use crate::diagnostic::Result;
use crate::io::fs;

use super::super::image::{ImageRecord, refuse_record};
use super::add_fact;

/// Slowest resources on a page.
const SLOWEST: usize = 10;

/// Phases as shares of the run, restarts, and the slowest resources.
pub(super) fn add_timeline(
    page: &mut ImagePage,
    record: &ImageRecord,
    folder: &Path,
) -> Result<()> {
    let place = folder.join("timeline.json");
    let timeline: Timeline = match fs::read_if_exists(&place)? {
        Some(bytes) => parse_foreign(&bytes)
            .map_err(|error| refuse_record(&place.display().to_string(), &error))?,
        None => Timeline {
            phases: record.phases.clone(),
            ..Timeline::default()
        },
    };
    let ends = timeline
        .phases
        .iter()
        .map(|phase| phase.start + phase.seconds);
    let total = ends.fold(0.001, f64::max);
    let mut phases: Vec<_> = timeline.phases.iter().collect();
    phases.sort_by(|one, other| one.start.total_cmp(&other.start));
    for phase in phases {
        let name = match phase.kind {
            PhaseKind::Packer => format!("packer {}", phase.name),
            PhaseKind::Guest => phase.name.clone(),
        };
        page.phases.push(PhaseRow {
            name,
            start: format_seconds(phase.start),
            duration: format_seconds(phase.seconds),
            changed: format_count(phase.changed),
            failed: format_count(phase.failed.filter(|count| *count > 0)),
            left: format!("{:.1}", 100.0 * phase.start / total),
            width: format!("{:.1}", 100.0 * phase.seconds / total),
        });
    }
    let restarts = timeline.events.iter();
    page.restarts = restarts
        .filter(|event| event.kind == TimelineKind::Restart && event.name.starts_with("Restarting"))
        .count();
    page.slowest.extend(
        timeline
            .list_slowest(SLOWEST)
            .into_iter()
            .map(describe_event),
    );
    let failures = timeline
        .events
        .iter()
        .filter(|event| event.result.as_deref() == Some("failed"));
    page.failures.extend(failures.map(describe_event));
    if let Some(space) = timeline.events.iter().find_map(describe_space) {
        add_fact(page, "Free on C:", &space, false);
    }
    Ok(())
}

/// Free space before the image was compacted and after it, as step `seal` tells it.
fn describe_space(event: &TimelineEvent) -> Option<String> {
    let told = event.name.strip_prefix("imagegen: free on C: ")?;
    let (before, after) = told.split_once(" bytes before, ")?;
    let before: u64 = before.parse().ok()?;
    let after: u64 = after.strip_suffix(" bytes after")?.parse().ok()?;
    Some(format!(
        "{} before compacting, {} after",
        HumanBytes(before),
        HumanBytes(after)
    ))
}

fn describe_event(event: &TimelineEvent) -> ResourceRow {
    let ms = Duration::from_millis(event.ms.unwrap_or_default());
    ResourceRow {
        name: event.name.clone(),
        result: event.result.clone().unwrap_or_default(),
        duration: format_seconds(ms.as_secs_f64()),
    }
}

fn format_count(count: Option<u64>) -> String {
    count.map_or_else(String::new, |count| count.to_string())
}

/// `12.3 s`, from a minute on `4 min 05 s`.
fn format_seconds(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = Duration::from_secs_f64(seconds).as_secs();
    format!("{} min {:02} s", whole / 60, whole % 60)
}
