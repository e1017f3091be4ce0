//! Command lines as Windows stores them: one text that `CommandLineToArgvW` splits again.

/// Joins a program and its arguments so that `CommandLineToArgvW` gives exactly them back.
///
/// The program's name must not hold a quotation mark, which no Windows path can.
pub fn join_words(program: &str, arguments: &[String]) -> String {
    quote_words(program, arguments).join(" ")
}

/// The same, word by word, for who breaks it into lines.
pub fn quote_words(program: &str, arguments: &[String]) -> Vec<String> {
    let arguments = arguments.iter().map(|argument| quote_argument(argument));
    std::iter::once(quote_program(program))
        .chain(arguments)
        .collect()
}

/// Splits a command line as `CommandLineToArgvW` does, so that [`join_words`] gives it back: the program, and its
/// arguments.
pub fn split_words(line: &str) -> (String, Vec<String>) {
    let (program, rest) = match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
        None => line.split_once([' ', '\t']).unwrap_or((line, "")),
    };
    let mut words = Vec::new();
    let mut rest = rest.trim_start_matches([' ', '\t']);
    while !rest.is_empty() {
        let (word, left) = split_word(rest);
        words.push(word);
        rest = left.trim_start_matches([' ', '\t']);
    }
    (program.to_owned(), words)
}

/// The first argument and what follows it.
fn split_word(line: &str) -> (String, &str) {
    let (mut word, mut quoted, mut backslashes) = (String::new(), false, 0);
    for (at, character) in line.char_indices() {
        match character {
            '\\' => {
                backslashes += 1;
                continue;
            }
            '"' => {
                word.push_str(&"\\".repeat(backslashes / 2));
                if backslashes % 2 == 1 {
                    word.push('"');
                } else {
                    quoted = !quoted;
                }
            }
            other => {
                word.push_str(&"\\".repeat(backslashes));
                if !quoted && matches!(other, ' ' | '\t') {
                    return (word, &line[at..]);
                }
                word.push(other);
            }
        }
        backslashes = 0;
    }
    word.push_str(&"\\".repeat(backslashes));
    (word, "")
}

/// The first word follows other rules: a backslash is never an escape there.
fn quote_program(program: &str) -> String {
    if needs_quotes(program) {
        format!("\"{program}\"")
    } else {
        program.to_owned()
    }
}

fn needs_quotes(word: &str) -> bool {
    word.is_empty() || word.contains([' ', '\t', '\n', '\u{b}'])
}

/// Backslashes are literal except before a quotation mark, where each must be doubled.
fn quote_argument(argument: &str) -> String {
    if !needs_quotes(argument) && !argument.contains('"') {
        return argument.to_owned();
    }
    let mut line = "\"".to_owned();
    let mut backslashes = 0;
    for character in argument.chars() {
        if character == '"' {
            line.push_str(&"\\".repeat(backslashes + 1));
        }
        backslashes = if character == '\\' {
            backslashes + 1
        } else {
            0
        };
        line.push(character);
    }
    line.push_str(&"\\".repeat(backslashes));
    line.push('"');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_joined_are_split_again() {
        let texts = [
            "",
            "a b",
            "\\",
            "a\\",
            "\"",
            "a\\\"b",
            "--x=C:\\Program Files\\",
            "tab\there",
            "plain",
        ];
        let arguments: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        for program in ["C:\\k\\kubelet.exe", "C:\\Program Files\\a.exe"] {
            let line = join_words(program, &arguments);
            assert_eq!(
                split_words(&line),
                (program.to_owned(), arguments.clone()),
                "{line}"
            );
        }
        assert_eq!(split_words("a.exe"), ("a.exe".to_owned(), Vec::new()));
    }

    /// The words as `CommandLineToArgvW` splits them, written from its documentation.
    fn split(line: &str) -> Vec<String> {
        let characters: Vec<char> = line.chars().collect();
        let (first, mut at) = split_program(&characters);
        let mut words = vec![first];
        while at < characters.len() {
            if matches!(characters[at], ' ' | '\t') {
                at += 1;
                continue;
            }
            let (word, next) = split_argument(&characters, at);
            words.push(word);
            at = next;
        }
        words
    }

    fn split_program(characters: &[char]) -> (String, usize) {
        let quoted = characters.first() == Some(&'"');
        let start = usize::from(quoted);
        let ends = |c: &char| if quoted { *c == '"' } else { *c == ' ' };
        let length = characters[start..].iter().take_while(|c| !ends(c)).count();
        let word = characters[start..start + length].iter().collect();
        (
            word,
            (start + length + usize::from(quoted)).min(characters.len()),
        )
    }

    fn split_argument(characters: &[char], mut at: usize) -> (String, usize) {
        let (mut word, mut quoted) = (String::new(), false);
        while at < characters.len() && (quoted || !matches!(characters[at], ' ' | '\t')) {
            let backslashes = characters[at..].iter().take_while(|c| **c == '\\').count();
            at += backslashes;
            if characters.get(at) != Some(&'"') {
                word.push_str(&"\\".repeat(backslashes));
                if backslashes == 0 {
                    word.push(characters[at]);
                    at += 1;
                }
                continue;
            }
            word.push_str(&"\\".repeat(backslashes / 2));
            if backslashes % 2 == 1 {
                word.push('"');
            } else {
                quoted = !quoted;
            }
            at += 1;
        }
        (word, at)
    }

    #[test]
    fn quotes_only_where_needed_and_splits_back() {
        for (program, arguments, expected) in [
            (r"C:\k\kubelet.exe", &[][..], r"C:\k\kubelet.exe"),
            (r"C:\k\kubelet.exe", &["--v=2"], r"C:\k\kubelet.exe --v=2"),
            (
                r"C:\Program Files\containerd\containerd.exe",
                &["--log-file", r"C:\var log\c.log"],
                r#""C:\Program Files\containerd\containerd.exe" --log-file "C:\var log\c.log""#,
            ),
            ("p", &[""], r#"p """#),
            ("p", &[r"--resolv-conf="], "p --resolv-conf="),
            ("p", &[r#"--resolv-conf="""#], r#"p "--resolv-conf=\"\"""#),
            ("p", &[r#"say "hi""#], r#"p "say \"hi\"""#),
            ("p", &[r"C:\a b\"], r#"p "C:\a b\\""#),
            ("p", &[r"C:\a\"], r"p C:\a\"),
            ("p", &[r#"a\"b"#], r#"p "a\\\"b""#),
            ("p", &[r#"a\\" c"#], r#"p "a\\\\\" c""#),
            ("p", &[r"a\\b c"], r#"p "a\\b c""#),
            ("p", &["\t"], "p \"\t\""),
            ("p", &["größe=ß", "日 本"], "p größe=ß \"日 本\""),
            ("p", &["a", "b", "c"], "p a b c"),
        ] {
            let arguments: Vec<String> = arguments.iter().map(|&a| a.to_owned()).collect();
            let line = join_words(program, &arguments);
            assert_eq!(line, expected);
            let words = split(&line);
            assert_eq!(words[0], program, "{line}");
            assert_eq!(words[1..], arguments, "{line}");
        }
    }
}
