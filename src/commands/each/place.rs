//! The folder of an image's workspace.

use std::path::PathBuf;

use super::{ImageNaming, ImageRun};
use crate::base::text::format_path;
use crate::cli::WorkspaceArgs;
use crate::diagnostic::{Error, Result};
use crate::model::plan::Plan;
use crate::workspace::{WorkspacePlace, name_workspace, workspace_path};

impl ImageRun<'_> {
    /// Where the workspace of this image is written: by its name, as `list images` says. For another target than the
    /// definition's, an image has a workspace of its own, as it has a lockfile of its own.
    ///
    /// # Errors
    /// It would have the workspace of another image.
    pub(in crate::commands) fn place_workspace(
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
        Err(Error::value(message, remedy))
    }
}
