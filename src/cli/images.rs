//! Verbs that work on several images of a definition.

use std::path::PathBuf;

use clap::Args;

use super::{BuildArgs, LockArgs, OnlineArgs, PlanArgs, RenderArgs, SelectionArgs};

#[derive(Debug, Clone, Default, Args)]
pub struct ImagesArgs {
    /// Images of a definition that has several (`imagegen list images`).
    #[arg(value_name = "IMAGE")]
    pub names: Vec<String>,

    /// All images of the definition.
    #[arg(long, conflicts_with = "names", help_heading = "Selection")]
    pub all: bool,
}

/// What differs from image to image in the arguments of a verb.
#[derive(Debug)]
pub struct ImageFields<'a> {
    pub images: &'a mut ImagesArgs,
    pub selection: &'a mut SelectionArgs,
    pub lock: &'a mut Option<PathBuf>,
    /// The workspace, if the verb writes one.
    pub out: Option<&'a mut Option<PathBuf>>,
}

/// Arguments of a verb that takes names of images.
pub trait ImageVerb: Clone {
    fn image_fields(&mut self) -> ImageFields<'_>;
}

/// The fields of each verb: where it has its lockfile, and its workspace if it writes one.
macro_rules! image_verbs {
    ($($verb:ty: $($lock:ident).+ $(, $($out:ident).+)?;)+) => {
        $(
            impl ImageVerb for $verb {
                fn image_fields(&mut self) -> ImageFields<'_> {
                    let out = [$(&mut self.$($out).+)?].into_iter().next();
                    let lock = &mut self.$($lock).+;
                    ImageFields { images: &mut self.images, selection: &mut self.selection, lock, out }
                }
            }
        )+
    };
}

image_verbs! {
    BuildArgs: lock.lock, workspace.out;
    RenderArgs: lock.lock, workspace.out;
    PlanArgs: lock.lock;
    LockArgs: lock;
    OnlineArgs: lock.lock;
}
