//! Questions on a terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::base::code::Code;
use crate::diagnostic::{CodedError, Error, Result};

/// Longest answer: a line without end is no answer.
const LONGEST: u64 = 64 << 10;

/// Whether somebody can be asked.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The answer to a question; none where it is empty.
///
/// # Errors
/// The input ends before the line does, or the answer is no text.
pub fn ask_line(question: &str) -> Result<Option<String>> {
    // Not locked while somebody thinks: an interrupt says its last words there.
    let mut stderr = io::stderr();
    // A question that cannot be shown is answered by its default.
    let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    let mut line = Vec::new();
    let mut input = io::Read::take(io::stdin().lock(), LONGEST);
    let read = input.read_until(b'\n', &mut line);
    if read.is_err() || !line.ends_with(b"\n") {
        // What follows begins a line of its own.
        let _ = writeln!(stderr);
        let asked = question.trim_end().trim_end_matches(':');
        let message = format!("the input ended at the question: {asked}");
        return Err(Error::value(message, "answer each question, or give flags"));
    }
    let Ok(text) = String::from_utf8(line) else {
        return Err(CodedError::new(Code::VALUE, "the answer is not UTF-8 text").into());
    };
    let answer = text.trim();
    Ok((!answer.is_empty()).then(|| answer.to_owned()))
}
