//! Programs of the operator that get a document: a scanner, a signer.

use std::path::Path;

use crate::base::code::Code;
use crate::diagnostic::{Classify, Error, ErrorClass, Result};
use crate::io::exec::{self, ExecError, Run, Stream};
use crate::io::fs::{self, Scratch};
use crate::ui::Printer;

/// A program of the operator that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum OperatorToolError {
    #[error("{flag}: `{program}` ended with exit code {code}")]
    Failed {
        flag: &'static str,
        program: String,
        code: i32,
    },
    #[error("{flag}: `{program}` was killed")]
    Killed { flag: &'static str, program: String },
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl Classify for OperatorToolError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Failed { .. } | Self::Killed { .. } => ErrorClass::Verification,
            Self::Interrupted | Self::Exec(_) => self.code().class(),
        }
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::Failed { .. } => vec!["read what the program printed".to_owned()],
            Self::Exec(_) => vec!["give the path of the program".to_owned()],
            Self::Killed { .. } | Self::Interrupted => Vec::new(),
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Failed { .. } | Self::Killed { .. } => Code::TOOL_FAILED,
            Self::Exec(error) => error.code(),
            Self::Interrupted => Code::INTERRUPTED,
        }
    }
}

/// Runs `--scan-command` over a document; its output goes to stderr. Scanners tell formats by their content; some look
/// at the name first.
///
/// # Errors
/// The document cannot be written, or the program does not start or fails.
pub fn scan_document(command: &str, name: &str, text: &str, printer: &Printer) -> Result<()> {
    let scratch = Scratch::new("scan")?;
    let path = scratch.path().join(name);
    fs::write_file(&path, text.as_bytes())?;
    run_and_collect("--scan-command", command, &path, |line| {
        printer.print_foreign_line(line);
    })?;
    Ok(())
}

/// Runs a program over a file, and returns what it wrote to stdout. No shell is involved: the command is split at
/// blanks, and `{}` stands for the file, which is the last argument otherwise.
///
/// # Errors
/// The command is empty, the program cannot be started, or it fails.
pub fn run_and_collect(
    flag: &'static str,
    command: &str,
    file: &Path,
    on_line: impl FnMut(&str),
) -> Result<String> {
    let shown = file.display().to_string();
    let mut words: Vec<String> = command
        .split_whitespace()
        .map(|word| word.replace("{}", &shown))
        .collect();
    if words.is_empty() {
        let message = format!("{flag}: the command is empty");
        return Err(Error::value(
            message,
            format!("write it as {flag} 'PROGRAM ARGUMENT'"),
        ));
    }
    if !command.contains("{}") {
        words.push(shown);
    }
    let program = words.remove(0);
    let ended = exec::collect_lines(&Run::new(&program, words), on_line);
    let printed = ended.map_err(OperatorToolError::from)?;
    let outcome = printed.outcome;
    if outcome.interrupted {
        return Err(OperatorToolError::Interrupted.into());
    }
    match outcome.code {
        _ if outcome.success => Ok(printed.join_stream(Stream::Stdout)),
        Some(code) => Err(OperatorToolError::Failed {
            flag,
            program,
            code,
        }
        .into()),
        None => Err(OperatorToolError::Killed { flag, program }.into()),
    }
}
