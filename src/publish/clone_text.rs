//! The life of a clone as lines for a shell.

use std::fmt::Write as _;

use crate::model::clone_test::InputForm;

use super::clone::{CloneCommands, ClonePart, CloneStep, CloneText};
use super::run::quote_argument;

/// Lines for a shell, with a comment for each image and for each command that is repeated or judged.
pub fn format_clones(clones: &[CloneCommands]) -> String {
    let mut text = String::new();
    for clone in clones {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# {} {} {}", clone.version, clone.target, clone.id);
        for step in &clone.test {
            format_step(&clone.program, step, &mut text);
        }
        let _ = writeln!(text, "# then, whatever happened before:");
        for step in &clone.delete {
            format_step(&clone.program, step, &mut text);
        }
    }
    text
}

fn format_step(program: &str, step: &CloneStep, text: &mut String) {
    if let Some(patience) = &step.patience {
        let _ = writeln!(
            text,
            "# again every {} s, for at most {} s:",
            patience.every, patience.seconds
        );
    }
    let mut line = String::new();
    if let Some(input) = &step.input {
        let _ = write!(line, "printf %s {} | ", quote_text(&input.text));
        if input.form == InputForm::Base64 {
            line.push_str("base64 | tr -d '\\n' | ");
        }
    }
    line.push_str(program);
    for argument in &step.arguments {
        line.push(' ');
        line.push_str(&quote_text(argument));
    }
    match &step.gives {
        Some((name, _)) => {
            let _ = writeln!(text, "{name}=$({line})");
        }
        None => {
            let _ = writeln!(text, "{line}");
        }
    }
    if let Some(verdict) = &step.verdict {
        let _ = writeln!(text, "# the image passes if `{verdict}` finds the code 0");
    }
}

/// One word of a shell; values of earlier commands are variables.
fn quote_text(text: &CloneText) -> String {
    let mut word = String::new();
    for part in &text.0 {
        match part {
            ClonePart::Text(text) => word.push_str(&quote_argument(text)),
            ClonePart::Given(name) => {
                let _ = write!(word, "\"${name}\"");
            }
            ClonePart::Password => word.push_str("\"$PASSWORD\""),
        }
    }
    if word.is_empty() {
        return quote_argument("");
    }
    word
}
