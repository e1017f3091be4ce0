//! Command lines as Windows stores them: one text that `CommandLineToArgvW` splits again.

/// Joins a program and its arguments so that `CommandLineToArgvW` gives exactly them back.
///
/// The program's name must not hold a quotation mark, which no Windows path can.
pub fn command_line(program: &str, arguments: &[String]) -> String {
    quote_words(program, arguments).join(" ")
}

/// The same, word by word, for who breaks it into lines.
pub fn quote_words(program: &str, arguments: &[String]) -> Vec<String> {
    let arguments = arguments.iter().map(|argument| quote_argument(argument));
    std::iter::once(quote_program(program))
        .chain(arguments)
        .collect()
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
