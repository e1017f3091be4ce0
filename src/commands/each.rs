//! A verb for one image or for several, one after the other.

use std::path::{Path, PathBuf};
use std::slice;

use crate::catalog::Trees;
use crate::cli::{ImagesArgs, SourceArgs, WorkspaceArgs};
use crate::diagnostic::{InputError, Result};
use crate::model::plan::Plan;
use crate::selection::{DefinedImage, Definitions, SeveralFailed, TreeSet, workspace_path};
use crate::ui::Printer;
use crate::workspace::{WorkspacePlace, name_workspace};

/// The user's words about the images of a verb.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageChoice<'a> {
    pub images: &'a ImagesArgs,
    /// `--config`
    pub config: Option<&'a Path>,
    /// `--lock`
    pub lock: Option<&'a Path>,
}

/// How an image was chosen, which names its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImageNaming {
    /// Nobody named it: there is one definition, or none.
    Unnamed,
    Named,
    /// Other images are named with it.
    AmongOthers,
}

/// One image of a verb: what it is made from, and where its results go.
#[derive(Debug, Clone)]
pub(super) struct ImageRun<'a> {
    pub image: &'a DefinedImage,
    pub trees: Trees,
    pub printer: &'a Printer,
    chosen: ImageNaming,
}

impl ImageRun<'_> {
    /// Where the workspace of this image is written.
    pub(super) fn place_workspace(&self, args: &WorkspaceArgs, plan: &Plan) -> WorkspacePlace {
        let name = &self.image.name;
        let folder: PathBuf = match (self.chosen, &args.out) {
            (ImageNaming::Unnamed, None) => name_workspace(plan),
            (ImageNaming::Named | ImageNaming::AmongOthers, None) => workspace_path(name),
            (ImageNaming::Unnamed | ImageNaming::Named, Some(out)) => out.clone(),
            (ImageNaming::AmongOthers, Some(out)) => out.join(name),
        };
        WorkspacePlace {
            folder,
            force: args.force,
        }
    }
}

/// Runs the verb for each image that is named. An image that fails does not keep the others from running.
pub(super) fn run_each(
    choice: ImageChoice<'_>,
    sources: &SourceArgs,
    printer: &Printer,
    run: impl Fn(&ImageRun<'_>) -> Result<()>,
) -> Result<()> {
    let definitions = Definitions::load(choice.config)?;
    let mut trees = TreeSet::read(sources)?;
    let images = choose_images(&definitions, choice)?;
    if images.is_empty() {
        let image = definitions.require_one()?;
        return run(&ImageRun {
            image: &image,
            trees: trees.lay_folders(slice::from_ref(&image))?,
            printer,
            chosen: ImageNaming::Unnamed,
        });
    }

    let several = images.len() > 1 || choice.images.all;
    let chosen = if several {
        ImageNaming::AmongOthers
    } else {
        ImageNaming::Named
    };
    let mut failed = SeveralFailed::default();
    for image in &images {
        printer.start_image(&image.name, several);
        let outcome = trees
            .lay_folders(slice::from_ref(*image))
            .and_then(|trees| {
                run(&ImageRun {
                    image,
                    trees,
                    printer,
                    chosen,
                })
            });
        match outcome {
            Err(error) if several => {
                printer.print_error(&error);
                failed.add(&image.name, error.class());
            }
            outcome => outcome?,
        }
    }

    printer.finish_images()?;
    Ok(failed.into_result(images.len())?)
}

/// The images that the user names; none where the definition has one image or the flags describe it.
fn choose_images<'a>(
    definitions: &'a Definitions,
    choice: ImageChoice<'_>,
) -> Result<Vec<&'a DefinedImage>> {
    let ImagesArgs { names, all } = choice.images;
    let images: Vec<&DefinedImage> = if *all {
        definitions.require_any()?;
        definitions.images().iter().collect()
    } else if names.is_empty() {
        Vec::new()
    } else {
        definitions.choose_named(names)?
    };
    if images.len() > 1 && choice.lock.is_some() {
        let message = "`--lock` names one lockfile, and each image has its own";
        let remedy = "leave it out: the lockfiles are beside the definition";
        return Err(InputError::new(message, remedy).into());
    }
    Ok(images)
}
