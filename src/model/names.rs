//! Finding what a misspelt name may have meant.

/// The known name nearest to `given`, if one is near enough to be meant.
#[must_use]
pub fn find_closest_name<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = given.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= (name.len().max(lower.len()) / 3).max(1))
        .min()
        .map(|(_, name)| name)
}

/// `known` as a sentence's end: the nearest one, or all where they are few.
#[must_use]
pub fn format_suggestion<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match find_closest_name(given, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.len() <= 40 => format!("known are {}", known.join(", ")),
        None => format!("{} names are known", known.len()),
    }
}
