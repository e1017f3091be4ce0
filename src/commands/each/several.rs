//! Several images: one after the other or at once, and what is said of those that fail.

use std::slice;
use std::sync::{Mutex, PoisonError};

use crate::base::interrupt::{Interrupted, is_requested};
use crate::diagnostic::{Error, ErrorClass, Result};
use crate::selection::{ChosenImage, SeveralFailed, TreeSet};
use crate::ui::{Next, Printer, run_in_order};

use super::{ImageChoice, ImageNaming, ImageRun, Pace};

/// Images of one verb, of which each may fail for itself.
pub(super) struct SeveralImages<'a> {
    pub images: &'a [ChosenImage<'a>],
    pub choice: ImageChoice<'a>,
    pub trees: Mutex<&'a mut TreeSet<'a>>,
    pub printer: &'a Printer,
}

impl SeveralImages<'_> {
    pub(super) fn run(&self, run: &(impl Fn(&ImageRun<'_>) -> Result<()> + Sync)) -> Result<()> {
        let (printer, pace) = (self.printer, self.choice.pace);
        let mut failed = SeveralFailed::default();
        if matches!(pace, Pace::Bake(_)) {
            printer.warn_at_once();
        }
        if pace.count() == 1 {
            for &image in self.images {
                printer.start_image(image.name(), true);
                let outcome = self.run_image(image, printer, run);
                if self.note_outcome(image, outcome, &mut failed) == Next::Stop {
                    break;
                }
            }
        } else {
            // The object of all images, into which the results of each come.
            printer.start_image("", true);
            run_in_order(
                self.images.len(),
                pace.count(),
                |index| {
                    let image = self.images[index];
                    let own = printer.split(image.name(), pace.lines());
                    let outcome = self.run_image(image, &own, run);
                    let next = outcome
                        .as_ref()
                        .map_or_else(|it| self.react(it), |()| Next::GoOn);
                    ((own, outcome), next)
                },
                |index, (own, outcome)| {
                    let outcome = printer.print_kept(&own).and(outcome);
                    self.note_outcome(self.images[index], outcome, &mut failed)
                },
            );
        }
        printer.finish_images()?;
        Ok(failed.into_result(self.images.len())?)
    }

    fn run_image(
        &self,
        image: ChosenImage<'_>,
        printer: &Printer,
        run: &(impl Fn(&ImageRun<'_>) -> Result<()> + Sync),
    ) -> Result<()> {
        if is_requested() {
            return Err(Interrupted.into());
        }
        let image = image.require()?;
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        let laid = trees.lay_folders(slice::from_ref(image))?;
        drop(trees);
        run(&ImageRun {
            image,
            trees: laid,
            printer,
            chosen: ImageNaming::AmongOthers,
        })
    }

    fn note_outcome(
        &self,
        image: ChosenImage<'_>,
        outcome: Result<()>,
        failed: &mut SeveralFailed,
    ) -> Next {
        failed.count_ended();
        let Err(error) = outcome else {
            return Next::GoOn;
        };
        self.printer.start_image(image.name(), true);
        self.printer.print_error(&error);
        failed.add(image.name(), &error.to_string(), error.class());
        self.react(&error)
    }

    fn react(&self, error: &Error) -> Next {
        if self.choice.images.fail_fast || error.class() == ErrorClass::Interrupted {
            Next::Stop
        } else {
            Next::GoOn
        }
    }
}
