//! The plan of an image of a run.

use crate::cli::{LockUseArgs, SelectionArgs};
use crate::diagnostic::Result;
use crate::model::definition::ImageDefinition;
use crate::planning::{GuestScriptUse, PlanRequest, PlannedImage, Stale, ToolUse, plan_image};
use crate::selection::{Flags, find_lock, read_definition};

use super::super::flags::read_flags;
use super::ImageRun;

impl ImageRun<'_> {
    /// The plan that the flags and the lockfile give the image.
    pub(in super::super) fn plan_selected(
        &self,
        selection: &SelectionArgs,
        lock: &LockUseArgs,
        stale: Stale<'_>,
        scripts: GuestScriptUse<'_>,
    ) -> Result<PlannedImage> {
        let flags = read_flags(selection)?;
        let definition = read_definition(&flags, self.image, &self.trees)?;
        self.plan_defined(&flags, &definition, lock, stale, scripts)
    }

    pub(in super::super) fn plan_defined(
        &self,
        flags: &Flags,
        definition: &ImageDefinition,
        lock: &LockUseArgs,
        stale: Stale<'_>,
        scripts: GuestScriptUse<'_>,
    ) -> Result<PlannedImage> {
        plan_image(&PlanRequest {
            definition,
            flags,
            lock: &lock.into(),
            beside: &find_lock(self.image, definition),
            stale,
            tools: ToolUse::Run,
            scripts,
            trees: &self.trees,
        })
    }
}
