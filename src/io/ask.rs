//! Questions on a terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// Whether somebody can be asked.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The answer to a question; none where it is empty.
pub fn ask_line(question: &str) -> Option<String> {
    let mut stderr = io::stderr().lock();
    // A question that cannot be shown is answered by its default.
    let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).ok()?;
    let answer = line.trim();
    (!answer.is_empty()).then(|| answer.to_owned())
}
