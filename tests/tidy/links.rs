//! Links of the documentation.

use std::path::{Component, Path, PathBuf};

use regex_lite::Regex;

use super::FOLDERS;
use crate::support::{files, root};

/// Every Markdown file of the repository, with its path from the root.
fn list_documents() -> Vec<(PathBuf, String)> {
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(root()).expect("root") {
        documents.push(entry.expect("entry").path());
    }
    for folder in FOLDERS {
        for path in files(&root().join(folder)).into_keys() {
            documents.push(root().join(folder).join(path));
        }
    }
    documents.retain(|path| path.extension().is_some_and(|end| end == "md"));
    let mut texts = Vec::new();
    for path in documents {
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        let below = path.strip_prefix(root()).expect("below").to_owned();
        texts.push((below, text));
    }
    texts
}

/// The file that a link leads to, from the root.
fn follow_link(from: &Path, link: &str) -> PathBuf {
    if link.is_empty() {
        return from.to_owned();
    }
    let mut to = from.parent().expect("a folder").to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => assert!(to.pop(), "{}: {link}", from.display()),
            Component::Normal(name) => to.push(name),
            _ => {}
        }
    }
    to
}

/// The anchors of headings, as GitHub and GitLab make them.
fn list_anchors(text: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ => letter.is_alphanumeric().then_some(letter),
        });
        anchors.push(kept.collect());
    }
    anchors
}

#[test]
fn links_of_documents_lead_to_a_file() {
    let pattern = Regex::new(r"\]\(([^)\s]+)\)").expect("pattern");
    let mut looked_at = 0;
    let mut wrong = Vec::new();
    for (path, text) in list_documents() {
        for found in pattern.captures_iter(&text) {
            let link = &found[1];
            if link.contains("://") {
                continue;
            }
            looked_at += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let to = follow_link(&path, file);
            let is_there = root().join(&to).exists();
            let has_anchor = || {
                let text = std::fs::read_to_string(root().join(&to)).expect("text");
                list_anchors(&text).iter().any(|name| name == anchor)
            };
            if !is_there || !(anchor.is_empty() || has_anchor()) {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(looked_at > 40, "{looked_at}");
}
