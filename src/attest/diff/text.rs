//! A comparison as text for a terminal, and as Markdown for the comment of a pull request.

use std::fmt::Write as _;

use super::fields::format_value;
use super::{
    ComponentChange, ComponentChangeKind, FieldChange, ImageDiff, ResourceChange,
    ResourceChangeKind,
};

/// Longest value that is shown whole.
const LONGEST: usize = 160;
/// Most lines of a list that a text shows.
const MOST_LINES: usize = 24;
/// From so many lines on, a part of Markdown is folded.
const FOLDED: usize = 12;

/// The comparison in three parts.
pub fn format_text(diff: &ImageDiff) -> String {
    let mut text = format!("{} -> {}\n", diff.from, diff.to);
    // Writing to a String cannot fail, here and below.
    for remark in &diff.remarks {
        let _ = writeln!(text, "note: {remark}");
    }
    if let Some(components) = &diff.components {
        let _ = writeln!(text, "\nComponents: {}", count_components(components));
        for change in components {
            text += &format_component(change);
        }
    }
    if let Some(machine) = &diff.machine {
        let _ = writeln!(text, "\nMachine: {}", count_resources(machine));
        for change in machine {
            text += &format_resource(change);
        }
    }
    if let Some(build) = &diff.build {
        let _ = writeln!(text, "\nBuild: {}", count_fields(build));
        for field in build {
            text += &format_field(field, "  ");
        }
    }
    text
}

fn count_components(changes: &[ComponentChange]) -> String {
    let counts = ComponentChangeKind::ALL.iter().map(|kind| {
        let count = changes.iter().filter(|it| it.change == *kind).count();
        (count, kind.as_str())
    });
    format_counts(counts)
}

fn count_resources(changes: &[ResourceChange]) -> String {
    let counts = ResourceChangeKind::ALL.iter().map(|kind| {
        let count = changes.iter().filter(|it| it.change == *kind).count();
        (count, kind.as_str())
    });
    format_counts(counts)
}

fn count_fields(changes: &[FieldChange]) -> String {
    format_counts([(changes.len(), "changed")].into_iter())
}

fn format_counts<'a>(counts: impl Iterator<Item = (usize, &'a str)>) -> String {
    let parts: Vec<String> = counts
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() {
        "no difference".to_owned()
    } else {
        parts.join(", ")
    }
}

/// `kubelet 1.36.3 -> 1.36.4`
fn format_versions(change: &ComponentChange) -> String {
    match (&change.from, &change.to) {
        (Some(from), Some(to)) if from != to => format!("{from} -> {to}"),
        (_, Some(version)) | (Some(version), None) => version.clone(),
        (None, None) => String::new(),
    }
}

fn mark_component(kind: ComponentChangeKind) -> char {
    match kind {
        ComponentChangeKind::Added => '+',
        ComponentChangeKind::Removed => '-',
        ComponentChangeKind::Replaced | ComponentChangeKind::Downgraded => '!',
        ComponentChangeKind::Updated | ComponentChangeKind::Changed => '~',
    }
}

/// Words for a change that a reader must not overlook.
fn warn_of_component(kind: ComponentChangeKind) -> &'static str {
    match kind {
        ComponentChangeKind::Replaced => "OTHER BYTES UNDER THE SAME VERSION",
        ComponentChangeKind::Downgraded => "older than before",
        _ => "",
    }
}

fn format_component(change: &ComponentChange) -> String {
    let line = format!(
        "  {} {:<28} {:<24} {}",
        mark_component(change.change),
        change.component,
        format_versions(change),
        warn_of_component(change.change)
    );
    let mut text = format!("{}\n", line.trim_end());
    if let Some(reason) = &change.reason {
        let _ = writeln!(text, "      {reason}");
    }
    if let Some(url) = &change.release_notes {
        let _ = writeln!(text, "      release notes: {url}");
    }
    for field in &change.fields {
        text += &format_field(field, "      ");
    }
    text
}

fn format_resource(change: &ResourceChange) -> String {
    let mark = match change.change {
        ResourceChangeKind::Added => '+',
        ResourceChangeKind::Removed => '-',
        ResourceChangeKind::Changed => '~',
    };
    let mut text = format!("  {mark} {} ({})\n", change.resource, change.step);
    for field in &change.fields {
        text += &format_field(field, "      ");
    }
    text
}

fn format_field(field: &FieldChange, indent: &str) -> String {
    if field.removed.is_empty() && field.added.is_empty() {
        let (from, to) = (
            shorten(&format_value(&field.from)),
            shorten(&format_value(&field.to)),
        );
        return format!("{indent}{}: {from} -> {to}\n", field.path);
    }
    let mut text = format!("{indent}{}:\n", field.path);
    for (mark, items) in [('-', &field.removed), ('+', &field.added)] {
        for item in items.iter().take(MOST_LINES) {
            let _ = writeln!(text, "{indent}  {mark} {}", shorten(item));
        }
        if items.len() > MOST_LINES {
            let _ = writeln!(
                text,
                "{indent}  {mark} ... {} more",
                items.len() - MOST_LINES
            );
        }
    }
    text
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let start: String = text.chars().take(LONGEST).collect();
    format!("{start}...")
}

/// The comparison for the comment of a pull request. Long parts are folded.
pub fn format_markdown(diff: &ImageDiff) -> String {
    let mut text = format!(
        "### Image: {} → {}\n\n",
        quote_code(&diff.from),
        quote_code(&diff.to)
    );
    for remark in &diff.remarks {
        let _ = writeln!(text, "> {}\n", escape_markdown(remark));
    }
    if let Some(components) = &diff.components {
        let _ = writeln!(text, "**Components**: {}\n", count_components(components));
        text += &format_component_table(components);
    }
    if let Some(machine) = &diff.machine {
        let body: String = machine.iter().map(format_resource).collect();
        text += &fold_block("Machine", &count_resources(machine), &body);
    }
    if let Some(build) = &diff.build {
        let body: String = build
            .iter()
            .map(|field| format_field(field, "  "))
            .collect();
        text += &fold_block("Build", &count_fields(build), &body);
    }
    text
}

fn format_component_table(changes: &[ComponentChange]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut text = "| | component | version | |\n|---|---|---|---|\n".to_owned();
    for change in changes {
        let mut notes = Vec::new();
        if !warn_of_component(change.change).is_empty() {
            notes.push(format!("**{}**", warn_of_component(change.change)));
        }
        let fields = change.fields.iter().map(|field| format_field(field, ""));
        notes.extend(fields.map(|field| quote_code(field.trim_end())));
        notes.extend(change.reason.as_deref().map(escape_markdown));
        if let Some(url) = &change.release_notes {
            notes.push(format!("[release notes]({url})"));
        }
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            change.change.as_str(),
            quote_code(&change.component),
            escape_markdown(&format_versions(change)),
            notes.join("; ")
        );
    }
    text + "\n"
}

/// A part with its lines as they are; folded where it is long.
fn fold_block(title: &str, counts: &str, body: &str) -> String {
    if body.is_empty() {
        return format!("**{title}**: {counts}\n\n");
    }
    // A fence is longer than any run of backticks in the text.
    let mut fence = "```".to_owned();
    while body.contains(&fence) {
        fence.push('`');
    }
    let block = format!("{fence}diff\n{}{fence}\n", move_marks(body));
    if body.lines().count() <= FOLDED {
        return format!("**{title}**: {counts}\n\n{block}\n");
    }
    format!("<details><summary><b>{title}</b>: {counts}</summary>\n\n{block}\n</details>\n\n")
}

/// Marks at the beginning of a line are what a `diff` block colors.
fn move_marks(body: &str) -> String {
    let mut text = String::new();
    for line in body.lines() {
        let inner = line.trim_start();
        let indent = " ".repeat(line.len() - inner.len());
        match inner.split_once(' ') {
            Some((mark @ ("+" | "-"), rest)) => {
                let _ = writeln!(text, "{mark}{indent}{rest}");
            }
            _ => {
                let _ = writeln!(text, " {line}");
            }
        }
    }
    text
}

/// Code in one line and in one cell of a table.
fn quote_code(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

/// Plain text: no character of it has a meaning in Markdown or HTML.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '@' => {
                escaped.push('\\');
                escaped.push(character);
            }
            other => escaped.push(other),
        }
    }
    escaped
}
