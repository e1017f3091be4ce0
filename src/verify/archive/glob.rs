//! Globs over names of members: `*` and `?` stay within a part, `**` crosses parts.

/// Whether a name matches. Case counts, as it does in archives.
pub fn matches_glob(glob: &str, name: &str) -> bool {
    let mut parts: Vec<&str> = glob.split('/').collect();
    parts.dedup_by(|one, other| one == other && *one == "**");
    let names: Vec<&str> = name.split('/').collect();
    // reached[n]: the parts so far match the first n names. No backtracking, so that no glob is slow.
    let mut reached = vec![false; names.len() + 1];
    reached[0] = true;
    for part in parts {
        if part == "**" {
            let first = reached
                .iter()
                .position(|reached| *reached)
                .unwrap_or(reached.len());
            for (at, reached) in reached.iter_mut().enumerate() {
                *reached = at >= first;
            }
        } else {
            for at in (0..names.len()).rev() {
                reached[at + 1] = reached[at] && matches_part(part, names[at]);
            }
            reached[0] = false;
        }
    }
    reached[names.len()]
}

fn matches_part(part: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for wild in part.chars() {
        if wild == '*' {
            let first = reached
                .iter()
                .position(|reached| *reached)
                .unwrap_or(reached.len());
            for (at, reached) in reached.iter_mut().enumerate() {
                *reached = at >= first;
            }
        } else {
            for at in (0..name.len()).rev() {
                reached[at + 1] = reached[at] && (wild == '?' || wild == name[at]);
            }
            reached[0] = false;
        }
    }
    reached[name.len()]
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
