//! A verb for one image or for several.

mod choice;
mod pace;
mod plan;
mod several;

use std::path::PathBuf;
use std::slice;
use std::sync::Mutex;

use crate::base::text::format_path;
use crate::catalog::Trees;
use crate::cli::{ImagesArgs, WorkspaceArgs};
use crate::diagnostic::{CodedError, Result};
use crate::model::plan::Plan;
use crate::selection::{
    ChosenImage, DefinedImage, Definitions, NamingForm, SourceFolders, TreeSet,
};
use crate::ui::Printer;
use crate::workspace::{WorkspacePlace, name_workspace, workspace_path};

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

impl ImageRun<'_> {
    /// Where the workspace of this image is written: by its name, as `list images` says. For another target than the
    /// definition's, an image has a workspace of its own, as it has a lockfile of its own.
    ///
    /// # Errors
    /// It would have the workspace of another image.
    pub(super) fn place_workspace(
        &self,
        args: &WorkspaceArgs,
        plan: &Plan,
    ) -> Result<WorkspacePlace> {
        let name = &self.image.name;
        let target = self.image.definition.target.as_ref();
        let is_other_target = target.is_some_and(|it| *it != plan.target.name);
        let folder: PathBuf = match (self.chosen, &args.out) {
            (ImageNaming::AmongOthers, Some(out)) => out.join(name),
            (_, Some(out)) => out.clone(),
            (ImageNaming::Unnamed, None) => name_workspace(plan),
            (ImageNaming::Only, None) if is_other_target => name_workspace(plan),
            (_, None) if is_other_target => {
                let other = format!("{name}.{}", plan.target.name);
                self.refuse_place_of_sibling(&other)?;
                workspace_path(&other)
            }
            (_, None) => workspace_path(name),
        };
        Ok(WorkspacePlace {
            folder,
            force: args.force,
        })
    }

    fn refuse_place_of_sibling(&self, name: &str) -> Result<()> {
        let Some(sibling) = self.image.find_sibling_named(name) else {
            return Ok(());
        };
        let (own, place) = (self.image.config(), format_path(&workspace_path(name)));
        let message = format!("{own} and {sibling} would have the same workspace: {place}");
        let remedy = format!("rename {sibling}, or name another folder with `--out FOLDER`");
        Err(CodedError::value(message, remedy).into())
    }
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
        return Err(CodedError::value(message, remedy).into());
    }
    Ok(images)
}
