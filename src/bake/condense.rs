//! Which of Packer's many lines a person wants to see.

/// The milestone that a line of Packer's is, without the build's name in front.
pub fn condense_line(line: &str) -> Option<String> {
    let text = line.trim();
    if let Some(rest) = text.strip_prefix("==> ") {
        return Some(strip_build_name(rest).trim().to_owned()).filter(|text| !text.is_empty());
    }
    // The guest engine's own lines.
    let inner = strip_build_name(text).trim();
    if inner.starts_with("imagegen: ") {
        return Some(inner.to_owned());
    }
    (text.starts_with("Error") || text.starts_with("Build '") || text.starts_with("--> "))
        .then(|| text.to_owned())
}

/// `imagegen.builder.node: text` → `text`.
fn strip_build_name(text: &str) -> &str {
    match text.split_once(": ") {
        Some((name, rest)) if name.contains('.') && !name.contains(' ') => rest,
        _ => text,
    }
}
