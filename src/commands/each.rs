//! A verb for one image or for several, one after the other.

use crate::cli::ImageVerb;
use crate::diagnostic::Result;
use crate::selection::{SeveralFailed, choose_images, select_image};
use crate::ui::Printer;

/// Runs the verb for each image that is named. An image that fails does not keep the others from running.
pub(super) fn run_each<A: ImageVerb>(
    args: &A,
    printer: &Printer,
    run: impl Fn(&A) -> Result<()>,
) -> Result<()> {
    let mut args = args.clone();
    let names = choose_images(&args.image_fields())?;
    let several = names.len() > 1 || args.image_fields().images.all;
    let mut failed = SeveralFailed::default();
    for name in &names {
        let mut args = args.clone();
        select_image(args.image_fields(), name, several);
        printer.start_image(name, several);
        match run(&args) {
            Err(error) if several => {
                printer.print_error(&format!("{name}: {error}"));
                error
                    .remedies()
                    .iter()
                    .for_each(|remedy| printer.print_hint(remedy));
                failed.add(name, error.class());
            }
            outcome => outcome?,
        }
    }
    if names.is_empty() {
        return run(&args);
    }
    printer.finish_images()?;
    Ok(failed.into_result(names.len())?)
}
