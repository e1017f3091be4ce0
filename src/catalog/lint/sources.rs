//! Sources of facts are places that a reader can open.
//!
//! A source is one or more of these, joined by `; `, each with a remark in parentheses where it
//! needs one:
//! - a public URL,
//! - `owner/repo@tag path`, a file of a GitHub repository,
//! - `derived: why`, always last, for what we concluded ourselves.

use serde_json::Value;

use crate::diagnostic::Finding;
use crate::embedded::Tree;

/// Files whose sources are held to the form: the start of their path, and the field below which
/// sources are checked (empty for the whole file).
const SCOPES: &[(&str, &str)] = &[
    ("kubernetes/", ""),
    ("components/", ""),
    ("windows/", ""),
    ("contents.json", ""),
    ("features.json", ""),
    ("rules.json", ""),
];

/// Marks of research notes, which a reader cannot open.
const NOTES: &[&str] =
    &["windows-node-spec", "image-builder-windows ", "supply-chain ", "design/", "spec/", "[D]", "[R]"];

/// Sources in a tree of files that do not have the form.
#[must_use]
pub fn lint_sources(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, bytes) in tree.files() {
        let scopes = || SCOPES.iter().filter(|(start, _)| path.starts_with(start));
        // A file that is not JSON is a finding of its own.
        let value = scopes().next().and_then(|_| serde_json::from_slice::<Value>(&bytes).ok());
        let Some(value) = value else { continue };
        for (_, field) in scopes() {
            let part = if field.is_empty() { Some(&value) } else { value.get(*field) };
            let mut problems = Vec::new();
            check_value(part.unwrap_or(&Value::Null), field, &mut problems);
            let file = format!("{}/{path}", tree.label);
            let finding = |message| Finding::new("source-form", message, "").with_subject(&file);
            findings.extend(problems.into_iter().map(finding));
        }
    }
    findings
}

fn check_value(value: &Value, at: &str, problems: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let inner = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                match value {
                    Value::String(source) if name == "source" => check_text(source, &inner, problems),
                    value => check_value(value, &inner, problems),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                match item {
                    Value::String(source) if at.ends_with(".source") => check_text(source, at, problems),
                    item => check_value(item, &format!("{at}[{index}]"), problems),
                }
            }
        }
        _ => {}
    }
}

fn check_text(source: &str, at: &str, problems: &mut Vec<String>) {
    if let Some(reason) = find_flaw(source) {
        problems.push(format!("{at}: `{source}` {reason}"));
    }
}

/// Why a text is not a source.
fn find_flaw(source: &str) -> Option<&'static str> {
    if NOTES.iter().any(|note| source.contains(note)) {
        return Some("names notes that a reader cannot open");
    }
    let mut rest = source;
    loop {
        if let Some(reason) = rest.strip_prefix("derived: ") {
            return reason.trim().is_empty().then_some("does not say from what it is derived");
        }
        let (part, more) = split_part(rest);
        if !is_url(part) && !is_repository_file(part) {
            return Some("is not a URL, `owner/repo@tag path` or `derived: why`");
        }
        rest = more?;
    }
}

/// The first part without its remark, and the parts behind it.
fn split_part(text: &str) -> (&str, Option<&str>) {
    let mut depth = 0_u32;
    let mut end = text.len();
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ';' if depth == 0 && text[at..].starts_with("; ") => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let part = &text[..end];
    let bare = part.strip_suffix(')').and_then(|head| head.split_once(" (")).map_or(part, |(head, _)| head);
    (bare, text.get(end + 2..))
}

fn is_url(part: &str) -> bool {
    let host = part.strip_prefix("https://").and_then(|rest| rest.split(['/', '#', '?']).next());
    host.is_some_and(|host| host.contains('.') && !host.starts_with('.'))
        && part.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\`;".contains(&b))
}

fn is_repository_file(part: &str) -> bool {
    let Some((reference, path)) = part.split_once(' ') else { return false };
    let Some((repository, tag)) = reference.split_once('@') else { return false };
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    let names: Vec<&str> = repository.split('/').collect();
    matches!(names.as_slice(), [owner, name] if is_name(owner) && is_name(name))
        && tag.split('/').all(is_name)
        && !path.is_empty()
        && !path.contains("  ")
        && path.split(' ').next().is_some_and(|file| file.contains(['.', '/']) || is_name(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_the_form() {
        for good in [
            "https://github.com/kubernetes/kubernetes/issues/121879",
            "https://example.com/a (the remark; with a semicolon); https://example.org/b",
            "kubernetes/kubernetes@v1.20.0 cmd/kubeadm/app/constants/constants.go",
            "kubernetes/website@release-1.20 content/en/docs/a.md (the table); derived: the newest of them",
            "derived: two projects do it; a third does not",
        ] {
            assert_eq!(find_flaw(good), None, "{good}");
        }
        for bad in [
            "",
            "s",
            "windows-node-spec 4.1",
            "https://example.com/a; windows-node-spec 4.1",
            "https://example.com/a [R]",
            "http://example.com/a",
            "https://localhost/a",
            "https://example.com/a and more",
            "derived: ",
            "derived",
            "kubernetes/kubernetes cmd/kubelet",
            "kubernetes@v1.20.0 cmd/kubelet",
            "kubernetes/kubernetes@v1.20.0",
            "https://example.com/a;https://example.com/b",
        ] {
            assert!(find_flaw(bad).is_some(), "{bad}");
        }
    }
}
