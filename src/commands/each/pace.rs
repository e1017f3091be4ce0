//! How many images are worked on at once.

use std::num::NonZeroUsize;
use std::thread;

use crate::cli::BuildArgs;
use crate::ui::ImageLines;

/// Images at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Pace {
    /// Work of this machine alone: one image for each processor, unless the user names a number.
    Quick(Option<usize>),
    /// Downloads: one image, unless the user names a number. Lines come at once.
    Slow(Option<usize>),
    /// Work of hours that is paid for: the same, and warnings come at once, too.
    Bake(Option<usize>),
}

impl Pace {
    /// A preview is this machine's work; a bake is not.
    pub(in super::super) fn of_build(args: &BuildArgs) -> Self {
        if args.no_bake {
            Self::Quick(args.network.jobs)
        } else {
            Self::Bake(args.network.jobs)
        }
    }

    pub(super) fn count(self) -> usize {
        match self {
            Self::Quick(Some(jobs)) | Self::Slow(Some(jobs)) | Self::Bake(Some(jobs)) => jobs,
            Self::Quick(None) => thread::available_parallelism().map_or(1, NonZeroUsize::get),
            Self::Slow(None) | Self::Bake(None) => 1,
        }
    }

    pub(super) fn lines(self) -> ImageLines {
        match self {
            Self::Quick(_) => ImageLines::InTurn,
            Self::Slow(_) | Self::Bake(_) => ImageLines::AtOnce,
        }
    }
}
