//! A verb for one image or for several.

mod choice;
mod pace;
mod place;
mod plan;
mod several;

use std::slice;
use std::sync::Mutex;

use crate::catalog::Trees;
use crate::cli::ImagesArgs;
use crate::diagnostic::{Error, Result};
use crate::selection::{
    ChosenImage, DefinedImage, Definitions, NamingForm, SourceFolders, TreeSet,
};
use crate::ui::Printer;

pub(super) use choice::ImageChoice;
pub(super) use pace::Pace;
use several::SeveralImages;

/// How an image was chosen, which names its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImageNaming {
    /// There is no definition: flags alone describe it.
    Unnamed,
    /// The only one of its definition.
    Only,
    /// Behind the verb, or in `--config FILE#NAME`.
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

/// Runs the verb for each image that is named. An image that fails does not keep the others from running.
pub(super) fn run_each(
    choice: ImageChoice<'_>,
    sources: &SourceFolders,
    printer: &Printer,
    run: impl Fn(&ImageRun<'_>) -> Result<()> + Sync,
) -> Result<()> {
    let definitions = Definitions::load(choice.config)?;
    definitions.print_warnings(printer);
    // The process ends with the verb: to free what was parsed takes 4 % of a preview.
    let trees = Box::leak(Box::new(TreeSet::read(sources)?));
    let images = choose_images(&definitions, choice)?;
    if images.is_empty() {
        let image = definitions.require_one(NamingForm::Verb)?;
        let chosen = if definitions.images().is_empty() {
            ImageNaming::Unnamed
        } else if image.is_one_of_several() {
            ImageNaming::Named
        } else {
            ImageNaming::Only
        };
        return run(&ImageRun {
            image: &image,
            trees: trees.lay_folders(slice::from_ref(&image))?,
            printer,
            chosen,
        });
    }

    if let [only] = images.as_slice()
        && !choice.images.all
    {
        let image = only.require()?;
        printer.start_image(&image.name, false);
        return run(&ImageRun {
            image,
            trees: trees.lay_folders(slice::from_ref(image))?,
            printer,
            chosen: ImageNaming::Named,
        });
    }

    let several = SeveralImages {
        images: &images,
        choice,
        trees: Mutex::new(trees),
        printer,
    };
    several.run(&run)
}

/// The images that the user names; none where the definition has one image or the flags describe it.
fn choose_images<'a>(
    definitions: &'a Definitions,
    choice: ImageChoice<'_>,
) -> Result<Vec<ChosenImage<'a>>> {
    let ImagesArgs { names, all, .. } = choice.images;
    let images = if *all {
        definitions.choose_all()?
    } else if names.is_empty() {
        Vec::new()
    } else {
        definitions.choose_named(names)?
    };
    if images.len() > 1 && choice.lock.is_some() {
        let message = "`--lock` names one lockfile, and each image has its own";
        let remedy = "leave it out: the lockfiles are beside the definition";
        return Err(Error::value(message, remedy));
    }
    Ok(images)
}
