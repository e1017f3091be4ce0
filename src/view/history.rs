//! Records of builds for a reader: a list, and all of one.

use std::collections::BTreeSet;
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
    let repeated = list_repeated_versions(history);
    for entry in &history.builds {
        let record = &entry.record;
        let mut what = match (&record.error, record.artifacts.first()) {
            (Some(error), _) => format!("{}: {}", error.code, first_line(&error.message)),
            (None, Some(artifact)) => artifact.id.clone(),
            (None, None) => String::new(),
        };
        // The version alone does not name the build. Writing to a String cannot fail, here and below.
        if repeated.contains(record.image_version.as_str()) {
            let _ = write!(what, " ({})", entry.place);
        }
        let line = format!(
            "{:<22} {:<20} {:<7} {:<12} {:<8} {:<11} {what}",
            record.image_version,
            record.started,
            entry.state(),
            record.target,
            record.windows,
            record.kubernetes
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Image versions of more than one build.
fn list_repeated_versions(history: &BuildHistory) -> BTreeSet<&str> {
    let (mut known, mut repeated) = (BTreeSet::new(), BTreeSet::new());
    for entry in &history.builds {
        let version = entry.record.image_version.as_str();
        if !known.insert(version) {
            repeated.insert(version);
        }
    }
    repeated
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
    let since = entry.retirement.as_ref();
    add("result", entry.state().as_str());
    add("since", since.map_or("", |retirement| &retirement.at));
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
        let text = format!("{} {version} sha256:{}", tool.name, tool.sha256);
        add("tool", &text);
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
