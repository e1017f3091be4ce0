//! Regular expressions of the guest: .NET reads them, and here they are asked for what it refuses in any case.

use std::iter::Peekable;
use std::str::Chars;

/// The reason why .NET refuses a pattern: brackets that do not fit together, or a quantifier of nothing. Other faults
/// are for .NET to find.
pub(super) fn find_pattern_fault(pattern: &str) -> Option<String> {
    // Blanks and comments would have to be told from text.
    if pattern.contains("(?x") || pattern.contains("(?#") {
        return None;
    }
    let (mut groups, mut may_repeat) = (0_usize, false);
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        let fault = match character {
            '\\' => rest.next().is_none().then_some("ends with a backslash"),
            '[' => (!skip_class(&mut rest)).then_some("has `[` without `]`"),
            ')' => (groups == 0).then_some("has `)` without `(`"),
            '*' | '+' | '?' => (!may_repeat).then_some("repeats nothing"),
            _ => None,
        };
        if let Some(fault) = fault {
            return Some(fault.to_owned());
        }

        match character {
            '(' => {
                groups += 1;
                // `(?` begins the options of a group.
                rest.next_if_eq(&'?');
            }
            ')' => groups -= 1,
            _ => {}
        }
        may_repeat = !matches!(character, '(' | '|');
    }
    (groups > 0).then(|| "has `(` without `)`".to_owned())
}

/// The rest of a class behind its `[`, and whether it has an end. A `]` at its begin is one of its characters, and
/// `-[` begins a class to leave out.
fn skip_class(rest: &mut Peekable<Chars<'_>>) -> bool {
    rest.next_if_eq(&'^');
    let mut before = rest.next();
    if before == Some('\\') {
        rest.next();
    }
    while let Some(character) = rest.next() {
        match character {
            ']' => return true,
            '[' if before == Some('-') && !skip_class(rest) => return false,
            '\\' => drop(rest.next()),
            _ => {}
        }
        before = Some(character);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::find_pattern_fault;

    #[test]
    fn brackets_that_do_not_fit_are_found() {
        for (pattern, fault) in [
            ("((", "has `(` without `)`"),
            ("a)", "has `)` without `(`"),
            ("[a-z", "has `[` without `]`"),
            ("[]", "has `[` without `]`"),
            (r"[\]", "has `[` without `]`"),
            ("[a-[b]", "has `[` without `]`"),
            (r"a\", "ends with a backslash"),
            ("*.exe", "repeats nothing"),
            ("a|+b", "repeats nothing"),
        ] {
            assert_eq!(
                find_pattern_fault(pattern).as_deref(),
                Some(fault),
                "{pattern}"
            );
        }
    }

    #[test]
    fn patterns_of_dot_net_are_taken() {
        for pattern in [
            "",
            "^4[.]2[.]0",
            r"LmCompatibilityLevel\s+REG_DWORD\s+0x5",
            r"(?i)^v1\.36(?:\.\d+)?$",
            "(?<=a)b(?!c)",
            "[a-z-[aeiou]]+",
            "[]a]*",
            "[^]]+?",
            r"\(\[",
            "a]",
            "x{2,3}",
            "(?x) a ( # (\n b )",
        ] {
            assert_eq!(find_pattern_fault(pattern), None, "{pattern}");
        }
    }
}
