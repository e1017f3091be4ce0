//! Records of builds for a reader: a list, and all of one.

use std::fmt::Write as _;

use crate::bake::PhaseKind;
use crate::records::{BuildHistory, HistoryEntry};

/// A line for each build, the newest first.
pub fn format_history(history: &BuildHistory) -> String {
    if history.builds.is_empty() {
        return "no build is recorded\n".to_owned();
    }
    let mut text = format!(
        "{:<22} {:<20} {:<7} {:<12} {:<8} {:<11} {}\n",
        "VERSION", "STARTED", "RESULT", "TARGET", "WINDOWS", "KUBERNETES", "IMAGE"
    );
    for entry in &history.builds {
        let record = &entry.record;
        let what = match (&record.error, record.artifacts.first()) {
            (Some(error), _) => format!("{}: {}", error.code, first_line(&error.message)),
            (None, Some(artifact)) => artifact.id.clone(),
            (None, None) => String::new(),
        };
        let line = format!(
            "{:<22} {:<20} {:<7} {:<12} {:<8} {:<11} {what}",
            record.image_version,
            record.started,
            record.outcome(),
            record.target,
            record.windows,
            record.kubernetes
        );
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Everything that a record says, a line for each.
pub fn format_build(entry: &HistoryEntry) -> String {
    let record = &entry.record;
    let mut text = String::new();
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<13} {value}");
        }
    };
    add("image version", &record.image_version);
    add("result", record.outcome());
    add("record", &entry.place);
    let image = format!(
        "{}, Windows {}, Kubernetes {}",
        record.target, record.windows, record.kubernetes
    );
    add("image", &image);
    for artifact in &record.artifacts {
        add("made", &artifact.id);
        for file in &artifact.files {
            add("file", &format!("{} sha256:{}", file.path, file.sha256));
        }
    }
    add("started", &record.started);
    add("finished", &record.finished);
    add(
        "base image",
        record.base_image.id.as_deref().unwrap_or_default(),
    );
    for (name, value) in &record.base_image.variables {
        add("base image", &format!("{name} = {value}"));
    }
    add("lock", &format!("sha256:{}", record.lock));
    add(
        "built by",
        &format!("imagegen {}", record.built_by.format_line()),
    );
    for tool in &record.tools {
        let version = tool.version.as_deref().unwrap_or("of your own");
        add(
            "tool",
            &format!("{} {version} sha256:{}", tool.name, tool.sha256),
        );
    }
    if let Some(policy) = &record.policy {
        add(
            "policy",
            &format!("{} sha256:{}", policy.name, policy.sha256),
        );
    }
    for waived in &record.waived {
        let note = waived.note.as_deref().unwrap_or("no reason is recorded");
        add(
            "waived",
            &format!("{} {}: {note}", waived.component, waived.proof.as_str()),
        );
    }
    if let Some(git) = &record.git {
        let state = if git.dirty { ", with changes" } else { "" };
        add("commit", &format!("{}{state}", git.commit));
    }
    add("run", record.run_url.as_deref().unwrap_or_default());
    add("checked", &format!("{} resources", record.checked));
    for phase in &record.phases {
        let kind = match phase.kind {
            PhaseKind::Packer => "packer ",
            PhaseKind::Guest => "",
        };
        add(
            "phase",
            &format!("{kind}{}: {:.1} s", phase.name, phase.seconds),
        );
    }
    if let Some(error) = &record.error {
        add("error", &format!("{} [{}]", error.message, error.code));
        add("remedy", &error.remedy);
    }
    text
}
