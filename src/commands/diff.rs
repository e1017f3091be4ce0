//! `imagegen diff`.

use crate::attest::diff::{compare_images, format_markdown, format_text};
use crate::base::choice::Format;
use crate::cli::DiffArgs;
use crate::diagnostic::{Error, Result, classify};
use crate::records::describe_pair;
use crate::selection::SourceFolders;
use crate::ui::Printer;

/// Error of `--exit-code` when the images differ.
#[derive(Debug, thiserror::Error)]
#[error("{from} and {to} differ")]
pub struct ImagesDiffer {
    from: String,
    to: String,
}

classify!(ImagesDiffer => IMAGES_DIFFER);

pub(super) fn run_diff(args: &DiffArgs, sources: &SourceFolders, printer: &Printer) -> Result<()> {
    let (from, to) = describe_pair(
        &args.from,
        args.to.as_deref(),
        args.base.as_deref(),
        sources,
        printer,
    )?;
    let diff = compare_images(&from, &to, &args.only);
    if diff.is_empty() {
        let message = format!(
            "{} and {} have no part in common to compare",
            diff.from, diff.to
        );
        let remedy = "compare two files of one kind, or two workspaces";
        return Err(Error::value(message, remedy));
    }
    if printer.format == Format::Markdown {
        printer.print_result(&diff, || format_markdown(&diff))?;
    } else {
        printer.print_listing(&diff, || format_text(&diff))?;
    }
    if args.exit_code && !diff.equal {
        let (from, to) = (diff.from, diff.to);
        return Err(ImagesDiffer { from, to }.into());
    }
    Ok(())
}
