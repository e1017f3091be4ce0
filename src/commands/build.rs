//! `imagegen build`.

mod image;
mod run;

use std::cell::OnceCell;

use crate::base::choice::Delivery;
use crate::cli::BuildArgs;
use crate::diagnostic::Result;
use crate::io::clock;
use crate::model::image_version::ImageVersion;
use crate::model::plan::Plan;
use crate::planning::{GuestScriptUse, Stale};
use crate::resolve::warn_login;
use crate::selection::read_definition;
use crate::updates::Answers;

use super::each::ImageRun;
use super::flags::read_flags;
use super::render::{check_preview, print_workspace};
use run::Build;

/// The end of a build, by target, delivery and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// A workspace that nobody runs.
    Preview,
    /// An archive for a machine that downloads the artifacts itself, and checks every digest.
    Installer,
    /// An archive with the artifacts in it.
    InstallerWithArtifacts,
    /// An image that Packer makes.
    Image,
}

impl Finish {
    fn choose(args: &BuildArgs, plan: &Plan) -> Self {
        if args.no_bake {
            Self::Preview
        } else if plan.target.image().is_some() {
            Self::Image
        } else if plan.delivery == Delivery::Media {
            Self::InstallerWithArtifacts
        } else {
            Self::Installer
        }
    }
}

pub(super) fn run_build(args: &BuildArgs, answers: &Answers, run: &ImageRun<'_>) -> Result<()> {
    let started = clock::current_millis();
    let flags = read_flags(&args.selection)?;
    let mut definition = read_definition(&flags, run.image, &run.trees)?;
    if definition.image_version.is_none() && !args.no_bake {
        definition.image_version = Some(ImageVersion::from_time(clock::take_second())?);
    }
    let scripts = GuestScriptUse::of_folder(args.scripts.scripts.as_ref());
    let planned = run.plan_defined(&flags, &definition, &args.lock, Stale::Refuse, scripts)?;

    if let Some(warning) = warn_login(&planned.plan) {
        run.printer.print_warning(&warning);
    }

    let build = Build {
        args,
        answers,
        network: (&args.network).into(),
        policy: &planned.policy,
        lockfile: planned.lockfile,
        trees: &planned.trees,
        place: run.place_workspace(&args.workspace, &planned.plan)?,
        claim: OnceCell::new(),
        image: run.image,
        started,
        printer: run.printer,
    };
    match Finish::choose(args, &planned.plan) {
        Finish::Preview => {
            check_preview(&planned.plan, build.policy, build.trees)?;
            print_workspace(&planned.plan, &build.place, build.trees, build.printer)
        }
        finish => build.run(planned.plan, finish),
    }
}
