//! The plan of a cluster's nodes, beside the image that they are made of.

use std::path::Path;

use crate::catalog::Trees;
use crate::cluster::{NodeImage, check_image};
use crate::diagnostic::Result;
use crate::guest::Guest;
use crate::join::refuse_input;
use crate::model::definition::ImageDefinition;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::planning::{predict_machine, resolve_node_plan};
use crate::selection::{DefinedImage, Flags, SourceFolders, read_locked_image, read_one_image};
use crate::ui::Printer;

pub(super) struct NodePlan {
    pub plan: Plan,
    pub policy: Policy,
    pub trees: Trees,
    is_assumed: bool,
}

impl NodePlan {
    /// # Errors
    /// The selection is refused, or an image that was named does not fit it.
    pub(super) fn read(
        config: Option<&Path>,
        flags: &Flags,
        sources: &SourceFolders,
    ) -> Result<Self> {
        let locked = read_locked_image(config, sources)?;
        let is_assumed = locked.is_none();
        let (image, trees) = match locked {
            Some(locked) => locked,
            None => read_one_image(config, sources)?,
        };
        let (plan, policy) = resolve_node_plan(flags, &image, &trees)?;
        if !is_assumed {
            check_pair(flags, &image, &plan, &trees)?;
        }
        Ok(Self {
            plan,
            policy,
            trees,
            is_assumed,
        })
    }

    /// Says that nobody named an image.
    pub(super) fn print_assumption(&self, printer: &Printer) {
        if self.is_assumed {
            printer.print_note(
                "no image was named, so one with this pod network is assumed; `--config LOCKFILE` or `--config WORKSPACE` compares yours",
            );
        }
    }
}

/// Compares the image that was made with the nodes that the flags describe.
fn check_pair(flags: &Flags, image: &DefinedImage, nodes: &Plan, trees: &Trees) -> Result<()> {
    let plan_with = |cni: Option<&str>| -> Result<(Plan, Guest)> {
        let definition = ImageDefinition {
            cni: cni.map(str::to_owned),
            download_mirrors: flags.definition.download_mirrors.clone(),
            ..ImageDefinition::default()
        };
        let flags = Flags {
            definition,
            ..flags.clone()
        };
        let (plan, _) = resolve_node_plan(&flags, image, trees)?;
        let (guest, _) = predict_machine(&plan, trees)?;
        Ok((plan, guest))
    };
    let made = plan_with(None)?;
    let wanted = plan_with(Some(&nodes.network.name))?;
    let found = check_image(describe_image(&made), describe_image(&wanted), nodes);
    if found.is_empty() {
        return Ok(());
    }
    Err(refuse_input(found).into())
}

fn describe_image((plan, guest): &(Plan, Guest)) -> NodeImage<'_> {
    NodeImage {
        plan,
        resources: &guest.plan.resources,
    }
}
