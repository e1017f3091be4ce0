//! Checks that readers can open the sources of facts.
//!
//! A source is one or more of these, joined by `; `, each with an optional remark in parentheses:
//! - a public URL,
//! - `owner/repo@tag path`, a file of a GitHub repository,
//! - `derived: why`, always last, for a conclusion of this project.
//!
//! A step's resource with `each` can take the source of the item.

use serde_json::Value;

use crate::base::code::Code;
use crate::base::json::parse_foreign;
use crate::base::text::is_alphanumeric_or;
use crate::diagnostic::Finding;
use crate::embedded::Tree;

/// Marks of research notes, which a reader cannot open.
const NOTES: &[&str] = &[
    "windows-node-spec",
    "image-builder-windows ",
    "supply-chain 0",
    "supply-chain 1",
    "supply-chain 2",
    "supply-chain 5",
    "architecture 7",
    "harness.md",
    "design/",
    "spec/",
    "seeds 00",
    "[D]",
    "[R]",
];

/// Sources in the JSON files of a tree that do not have the form, and other texts that name notes.
#[must_use]
pub fn lint_sources(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, bytes) in tree.files() {
        // A file that is not JSON is a finding of its own.
        let value = parse_foreign::<Value>(&bytes).ok();
        let mut problems = Vec::new();
        check_value(&value.unwrap_or_default(), "", false, &mut problems);
        let file = format!("{}/{path}", tree.label);
        for problem in problems {
            findings.push(Finding::new(Code::SOURCE_FORM, problem, "").with_subject(&file));
        }
    }
    findings
}

fn check_value(value: &Value, at: &str, is_source: bool, problems: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let inner = if at.is_empty() {
                    name.clone()
                } else {
                    format!("{at}.{name}")
                };
                check_value(value, &inner, name == "source", problems);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_value(item, &format!("{at}[{index}]"), is_source, problems);
            }
        }
        Value::String(text) => {
            let flaw = if is_source {
                find_flaw(text)
            } else {
                names_notes(text).then_some(NAMES_NOTES)
            };
            problems.extend(flaw.map(|flaw| format!("{at}: `{text}` {flaw}")));
        }
        _ => {}
    }
}

const NAMES_NOTES: &str = "names notes that readers cannot open";

/// Whether a text names research notes. A folder of an address is none.
pub fn names_notes(text: &str) -> bool {
    for note in NOTES {
        for (at, _) in text.match_indices(note) {
            let before = text[..at].chars().next_back();
            if before.is_none_or(|before| " \n(`\"'".contains(before)) {
                return true;
            }
        }
    }
    false
}

/// The source of a resource that is made for each item of a list.
const ITEM_SOURCE: &str = "{{ item.source }}";

/// Why a text is not a source.
fn find_flaw(source: &str) -> Option<&'static str> {
    if source == ITEM_SOURCE {
        return None;
    }
    if names_notes(source) {
        return Some(NAMES_NOTES);
    }
    let mut rest = source;
    loop {
        if let Some(reason) = rest.strip_prefix("derived: ") {
            if reason.contains("; https://") {
                return Some("has a source after `derived: why`, which must be the last one");
            }
            return reason
                .trim()
                .is_empty()
                .then_some("has `derived:` without a reason");
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
    let bare = part
        .strip_suffix(')')
        .and_then(|head| head.split_once(" ("))
        .map_or(part, |(head, _)| head);
    (bare, text.get(end + 2..))
}

fn is_url(part: &str) -> bool {
    let Some(rest) = part.strip_prefix("https://") else {
        return false;
    };
    let host = rest.split(['/', '#', '?']).next().unwrap_or_default();
    host.contains('.')
        && !host.starts_with('.')
        && part
            .bytes()
            .all(|b| b.is_ascii_graphic() && !b"\"<>\\`;".contains(&b))
}

fn is_repository_file(part: &str) -> bool {
    let Some((reference, path)) = part.split_once(' ') else {
        return false;
    };
    let Some((repository, tag)) = reference.split_once('@') else {
        return false;
    };

    let names: Vec<&str> = repository.split('/').collect();
    matches!(names.as_slice(), [owner, name] if is_name(owner) && is_name(name))
        && tag.split('/').all(is_name)
        && !path.is_empty()
        && !path.contains("  ")
        && path
            .split(' ')
            .next()
            .is_some_and(|file| file.contains(['.', '/']) || is_name(file))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && is_alphanumeric_or(text, "._-")
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
            "https://learn.microsoft.com/windows-hardware/design/device-experiences",
        ] {
            assert_eq!(find_flaw(good), None, "{good}");
        }
        for bad in [
            "",
            "s",
            "windows-node-spec 4.1",
            "https://example.com/a; windows-node-spec 4.1",
            "https://example.com/a [R]",
            "derived: as in design/join",
            "http://example.com/a",
            "https://localhost/a",
            "https://example.com/a and more",
            "derived: ",
            "derived: why; https://example.com/a",
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
