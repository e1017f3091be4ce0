//! Regular expressions of targets, with bounds of their work: targets may be somebody else's.

use regex_lite::{Error, Regex, RegexBuilder};

/// Bytes of a compiled expression; real ones have less than a tenth.
const LARGEST_REGEX: usize = 256 << 10;
/// Longest text that is searched. The time of a search is at most in proportion to both.
const LONGEST_TEXT: usize = 64 << 10;

/// # Errors
/// It is no regular expression, or it is too large.
pub fn compile_regex(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).size_limit(LARGEST_REGEX).build()
}

/// Whether the pattern occurs in the text. A pattern that cannot be compiled occurs in none.
pub fn matches_regex(pattern: &str, text: &str) -> bool {
    text.len() <= LONGEST_TEXT && compile_regex(pattern).is_ok_and(|regex| regex.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_a_pattern_has_an_end() {
        assert!(compile_regex("^[a-z0-9-]{1,255}$").is_ok());
        for pattern in ["a{65535}", "((a{99}){99}){99}", "("] {
            assert!(compile_regex(pattern).is_err(), "{pattern}");
        }
        assert!(matches_regex("^a+$", &"a".repeat(LONGEST_TEXT)));
        assert!(!matches_regex("^a+$", &"a".repeat(LONGEST_TEXT + 1)));
    }
}
