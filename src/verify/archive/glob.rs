//! Globs over names of members: `*` and `?` stay within a part, `**` crosses parts.

/// Whether a name matches. Case counts, as it does in archives.
pub fn matches_glob(glob: &str, name: &str) -> bool {
    let mut parts: Vec<&str> = glob.split('/').collect();
    parts.dedup_by(|one, other| one == other && *one == "**");
    let names: Vec<&str> = name.split('/').collect();
    reaches_end(
        &parts,
        &names,
        |part| *part == "**",
        |part, name| matches_part(part, name),
    )
}

fn matches_part(part: &str, name: &str) -> bool {
    let wild: Vec<char> = part.chars().collect();
    let name: Vec<char> = name.chars().collect();
    reaches_end(
        &wild,
        &name,
        |wild| *wild == '*',
        |wild, character| *wild == '?' || wild == character,
    )
}

/// Whether the parts of a pattern match all items, each part one of them, or any number of them if it is open.
/// No backtracking, so that no glob is slow.
fn reaches_end<T>(
    pattern: &[T],
    items: &[T],
    is_open: impl Fn(&T) -> bool,
    matches: impl Fn(&T, &T) -> bool,
) -> bool {
    // reached[n]: the parts so far match the first n items.
    let mut reached = vec![false; items.len() + 1];
    reached[0] = true;
    for part in pattern {
        if is_open(part) {
            let first = reached.iter().position(|reached| *reached);
            let first = first.unwrap_or(reached.len());
            for (at, reached) in reached.iter_mut().enumerate() {
                *reached = at >= first;
            }
        } else {
            for at in (0..items.len()).rev() {
                reached[at + 1] = reached[at] && matches(part, &items[at]);
            }
            reached[0] = false;
        }
    }
    reached[items.len()]
}

#[cfg(test)]
mod tests {
    use super::matches_glob;

    #[test]
    fn globs_match_parts() {
        for (glob, name, expected) in [
            ("bin/*.exe", "bin/ctr.exe", true),
            ("bin/*.exe", "bin/x/ctr.exe", false),
            ("bin/*.exe", "bin/ctr.dll", false),
            ("*.exe", "ctr.exe", true),
            ("*.exe", "bin/ctr.exe", false),
            ("**/*.exe", "ctr.exe", true),
            ("**/*.exe", "a/b/ctr.exe", true),
            ("**", "a/b", true),
            ("a/**/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/**/b", "a/x/y/c", false),
            ("?.exe", "a.exe", true),
            ("?.exe", "ab.exe", false),
            (
                "*a*a*a*b",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac",
                false,
            ),
            ("Bin/*", "bin/x", false),
            ("", "x", false),
        ] {
            assert_eq!(matches_glob(glob, name), expected, "{glob} {name}");
        }
    }
}
