//! The images of a verb, as the user names them.

use std::path::Path;

use crate::cli::{ImagesArgs, OnlineArgs, SelectionArgs};

use super::Pace;

/// The user's words about the images of a verb.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct ImageChoice<'a> {
    pub images: &'a ImagesArgs,
    /// `--config`
    pub config: Option<&'a Path>,
    /// `--lock`
    pub lock: Option<&'a Path>,
    pub pace: Pace,
}

impl<'a> ImageChoice<'a> {
    /// One image after the other.
    pub(in super::super) fn new(
        images: &'a ImagesArgs,
        selection: &'a SelectionArgs,
        lock: Option<&'a Path>,
    ) -> Self {
        Self {
            images,
            config: selection.config.as_deref(),
            lock,
            pace: Pace::Slow(None),
        }
    }

    /// As many at once as downloads, if the user names a number.
    pub(in super::super) fn online(args: &'a OnlineArgs) -> Self {
        Self::new(&args.images, &args.selection, args.lock.lock.as_deref())
            .at(Pace::Slow(args.network.jobs))
    }

    pub(in super::super) fn at(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }
}
