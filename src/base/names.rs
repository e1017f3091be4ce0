//! Finding what a misspelt name may have meant.

/// The known name nearest to `given`, if one is near enough to be meant.
pub fn find_closest_name<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = given.to_lowercase();
    let mut closest: Option<(usize, &str)> = None;
    for name in known {
        let longer = name.len().max(lower.len());
        // Names of one letter have nothing in common but their length.
        let most = (longer / 3).max(1).min(longer.saturating_sub(1));
        // A text of another length is another name; comparing a long one takes long.
        if name.len().abs_diff(lower.len()) > most {
            continue;
        }
        let distance = strsim::damerau_levenshtein(&lower, &name.to_lowercase());
        if distance <= most && closest.is_none_or(|best| (distance, name) < best) {
            closest = Some((distance, name));
        }
    }
    closest.map(|(_, name)| name)
}

/// The hint of a message about an unknown name: the nearest known one, all of a few, or the first ones of many.
pub fn format_suggestion<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 40;
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(name) = find_closest_name(given, known.iter().copied()) {
        return format!("did you mean `{name}`?");
    }
    if known.is_empty() {
        return "leave it out: there are none".to_owned();
    }
    let more = if known.len() > SHOWN { ", …" } else { "" };
    format!(
        "expected one of {}{more}",
        known[..known.len().min(SHOWN)].join(", ")
    )
}

/// Whether two names are those of one program: Windows tells no case apart, and `.exe` may be left out.
pub fn is_same_program(one: &str, other: &str) -> bool {
    stem(one) == stem(other)
}

fn stem(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let end = name.strip_suffix(".exe").or(name.strip_suffix(".dll"));
    end.map_or_else(|| name.clone(), str::to_owned)
}
