//! The life of a clone as lines for a shell.

use std::fmt::Write as _;

use regex_lite::Regex;

use crate::base::shell::{format_comment, quote_argument};
use crate::model::clone_test::InputForm;

use super::clone::{CloneCommands, ClonePart, CloneStep, CloneText, split_deletion};

/// Lines of a standard output without the spaces around them.
const TRIM: &str = "sed 's/^[[:space:]]*//; s/[[:space:]]*$//'";

/// Lines for a shell, with a comment for each image and for each command that is repeated or judged.
pub fn format_clones(clones: &[CloneCommands]) -> String {
    let mut text = String::new();
    for clone in clones {
        let title = format!("{} {} {}", clone.version, clone.target, clone.id);
        text.push_str(&format_comment(&title));
        let made = [&*clone.claim, &*clone.test].concat();
        let order = if clone.claim.is_empty() {
            StepOrder::Values
        } else {
            StepOrder::Chain
        };
        format_steps(&clone.program, &made, order, &mut text);
        text.push_str(&format_comment("then, whatever happened before:"));
        format_deletion(&clone.program, &clone.delete, &mut text);
    }
    text
}

/// A loop over the machines that are found. Without one, nothing is deleted.
fn format_deletion(program: &str, steps: &[CloneStep], text: &mut String) {
    let Some(deletion) = split_deletion(steps) else {
        return format_steps(program, steps, StepOrder::Values, text);
    };
    format_steps(program, deletion.before, StepOrder::Values, text);

    let line = format_command(program, deletion.find);
    let (search, name) = (format_search(deletion.pattern, "grep -E"), deletion.name);
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(text, "{line} | {search} | while read -r {name}; do");
    format_steps(program, deletion.after, StepOrder::Loop, text);
    let _ = writeln!(text, "done");
}

/// Commands that depend on the one before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepOrder {
    /// Those after a command that gives a value.
    Values,
    /// All.
    Chain,
    /// All, in a loop over machines, which come by the standard input.
    Loop,
}

fn format_steps(program: &str, steps: &[CloneStep], order: StepOrder, text: &mut String) {
    let mut depends = order != StepOrder::Values;
    let indent = if order == StepOrder::Loop { "  " } else { "" };
    for (at, step) in steps.iter().enumerate() {
        if let Some(patience) = &step.patience {
            let (every, seconds) = (patience.every, patience.seconds);
            let comment = format!("again every {every} s, for at most {seconds} s:");
            let _ = write!(text, "{indent}{}", format_comment(&comment));
        }
        let mut line = format_command(program, step);
        if order == StepOrder::Loop && step.input.is_none() {
            line.push_str(" </dev/null");
        }
        if let Some((name, pattern)) = &step.gives {
            let search = format_search(pattern, "grep -E -m 1");
            line = format!("{name}=$({line} | {search})");
            depends = true;
        }
        if depends && at + 1 < steps.len() {
            line.push_str(" &&");
        }
        let _ = writeln!(text, "{indent}{line}");
        if let Some(verdict) = &step.verdict {
            let comment = format!("the image passes if `{verdict}` finds the code 0");
            let _ = write!(text, "{indent}{}", format_comment(&comment));
        }
    }
}

/// Lines that are values: the groups of an extended regular expression have no `?:`.
fn format_search(pattern: &Regex, grep: &str) -> String {
    let pattern = pattern.as_str().replace("(?:", "(");
    format!("{TRIM} | {grep} {}", quote_argument(&pattern))
}

fn format_command(program: &str, step: &CloneStep) -> String {
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
    line
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
