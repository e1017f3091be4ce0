//! Licenses as bills of materials take them: as an expression of SPDX.

use crate::base::text::is_alphanumeric_or;

/// License that is not on SPDX's list (SPDX 2.3, annex D.2).
const REFERENCE: &str = "LicenseRef-";

/// The license of a component as an expression: other words become a reference, by which readers of a bill know that the
/// license is one of its own. None where nothing is said.
pub(super) fn format_license(text: &str) -> Option<String> {
    let text = text.trim();
    if matches!(text, "" | "NONE" | "NOASSERTION") {
        return None;
    }
    if is_expression(text) {
        return Some(text.to_owned());
    }
    let mut reference = REFERENCE.to_owned();
    for character in text.strip_prefix(REFERENCE).unwrap_or(text).chars() {
        let is_kept = character.is_ascii_alphanumeric() || character == '.';
        reference.push(if is_kept { character } else { '-' });
    }
    Some(reference)
}

/// The grammar of SPDX 2.3, annex D.1, without the list of licenses.
fn is_expression(text: &str) -> bool {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut depth = 0_u32;
    let mut last = "(";
    for word in spaced.split_whitespace() {
        let wants_license = matches!(last, "(" | "AND" | "OR" | "WITH");
        let fits = match word {
            "(" => wants_license && last != "WITH",
            ")" => !wants_license && depth > 0,
            "AND" | "OR" => !wants_license,
            "WITH" => !wants_license && last != ")",
            license => wants_license && is_identifier(license),
        };
        if !fits {
            return false;
        }
        match word {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        last = word;
    }
    depth == 0 && !matches!(last, "(" | "AND" | "OR" | "WITH")
}

fn is_identifier(word: &str) -> bool {
    let later = word.strip_suffix('+');
    let word = later
        .filter(|_| !word.starts_with(REFERENCE))
        .unwrap_or(word);
    !word.is_empty() && is_alphanumeric_or(word, ".-")
}

#[cfg(test)]
mod tests {
    use super::format_license;

    #[test]
    fn other_words_than_an_expression_become_a_reference() {
        for expression in [
            "Apache-2.0",
            "GPL-2.0+",
            "(MIT OR Apache-2.0) AND LicenseRef-own",
            "GPL-2.0-only WITH Classpath-exception-2.0",
        ] {
            assert_eq!(format_license(expression).as_deref(), Some(expression));
        }
        for (text, reference) in [
            ("Example Inc EULA", "LicenseRef-Example-Inc-EULA"),
            ("LicenseRef-own_terms", "LicenseRef-own-terms"),
            ("MIT OR", "LicenseRef-MIT-OR"),
            ("(MIT", "LicenseRef--MIT"),
            ("MIT WITH (x)", "LicenseRef-MIT-WITH--x-"),
            (
                "DocumentRef-a:LicenseRef-b",
                "LicenseRef-DocumentRef-a-LicenseRef-b",
            ),
        ] {
            assert_eq!(format_license(text).as_deref(), Some(reference));
        }
        for nothing in ["", " ", "NONE", "NOASSERTION"] {
            assert_eq!(format_license(nothing), None);
        }
    }
}
