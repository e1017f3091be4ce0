//! The printer of a run, and the outputs that the environment asks for.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::choice::Format;
use crate::base::interrupt::Interrupted;
use crate::base::json;
use crate::cli::Global;
use crate::diagnostic::{Error, ErrorClass};
use crate::io::fs::{OutputFile, OutputKind};
use crate::io::interrupt::{Cleanup, announce_interrupts};
use crate::ui::{PipelineKind, Printer, Verbosity};

/// How the user wants to be spoken to.
pub fn create_printer(global: &Global) -> Printer {
    let verbosity = match (global.quiet, global.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, _) => Verbosity::Verbose,
    };
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Printer::new(global.format, verbosity, no_color, find_pipeline())
}

/// The pipeline that runs this program, by the variables that it sets for each job.
fn find_pipeline() -> Option<PipelineKind> {
    let is_set = |name: &str| env::var(name).is_ok_and(|value| value.eq_ignore_ascii_case("true"));
    if is_set("GITHUB_ACTIONS") {
        Some(PipelineKind::GitHub)
    } else if is_set("TF_BUILD") {
        Some(PipelineKind::DevOps)
    } else {
        None
    }
}

/// The variable that names the Code Quality report for GitLab.
const CODE_QUALITY: &str = "IMAGEGEN_CODE_QUALITY";

/// A list in JSON.
const QUALITY_REPORT: OutputKind = OutputKind {
    name: "a Code Quality report",
    beginnings: &["["],
};

/// Writes the errors of this run as a Code Quality report, if the environment names a file for it.
pub fn write_code_quality(printer: &Printer) {
    let Some(path) = env::var_os(CODE_QUALITY).filter(|path| !path.is_empty()) else {
        return;
    };
    // An interrupted run says so in its report, too.
    let _cleanup = Cleanup::start_at_end();
    let report = json::format_json(&printer.take_failures());
    let file = OutputFile::from(path);
    let written = file.check(QUALITY_REPORT).map_err(Error::from);
    if let Err(error) = written.and_then(|file| Ok(file.write(report.as_bytes())?)) {
        printer.print_warning(&format!("{CODE_QUALITY}: {error}"));
    }
}

/// Whether the interrupt was printed, by the thread that handles it or by the one that returns from the verb.
static ANNOUNCED: AtomicBool = AtomicBool::new(false);

/// Prints an interrupt that ends the process at once as any other error.
pub fn announce_end(global: &Global) {
    let printer = create_printer(global);
    announce_interrupts(move || print_failure(&printer, &Interrupted.into()));
}

/// Prints the error of the run, an interrupt once.
pub fn print_failure(printer: &Printer, failure: &Error) {
    if failure.class() == ErrorClass::Interrupted && ANNOUNCED.swap(true, Ordering::SeqCst) {
        return;
    }
    printer.print_error(failure);
    write_code_quality(printer);
}

/// An error of help, which is text.
pub fn print_text_error(error: &Error) {
    Printer::new(Format::Text, Verbosity::Normal, true, find_pipeline()).print_error(error);
}

/// An error before there is a printer.
pub fn print_json_error(error: &Error) {
    Printer::new(Format::Json, Verbosity::Normal, true, find_pipeline()).print_error(error);
}

/// The format of the results, before the command line is parsed: errors of its parser have it, too.
pub fn wants_json() -> bool {
    let words: Vec<String> = env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .take_while(|word| word != "--")
        .collect();
    let spaced = words.windows(2).rev();
    let spaced = spaced
        .filter(|pair| pair[0] == "--format")
        .map(|pair| pair[1].as_str())
        .next();
    let joined = words
        .iter()
        .rev()
        .find_map(|word| word.strip_prefix("--format="));
    match spaced.or(joined) {
        Some(format) => format == Format::Json.as_str(),
        None => env::var("IMAGEGEN_FORMAT").is_ok_and(|format| format == Format::Json.as_str()),
    }
}
