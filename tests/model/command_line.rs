//! Command lines of services, split again as Windows does.

use imagegen::windows::command_line::command_line;

/// What `CommandLineToArgvW` does, written from its documentation.
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
        let line = command_line(program, &arguments);
        assert_eq!(line, expected);
        let words = split(&line);
        assert_eq!(words[0], program, "{line}");
        assert_eq!(words[1..], arguments, "{line}");
    }
}
