//! A build that makes an installer or an image.

use std::cell::OnceCell;

use crate::acquire::{
    Acquirer, NetworkOptions, PinScope, VerifiedArtifact, check_own_packer, needs_proofs,
    open_fetcher, pin_plan, print_unasked, prove_plan,
};
use crate::bake;
use crate::catalog::Trees;
use crate::cli::BuildArgs;
use crate::diagnostic::Result;
use crate::fetch::Fetcher;
use crate::io::fs::PlaceClaim;
use crate::lock::{Lock, PinnedPlan};
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::planning::list_warnings;
use crate::selection::DefinedImage;
use crate::trust::{Admitted, admit, check_dropped};
use crate::ui::Printer;
use crate::updates::Answers;
use crate::workspace::{
    WorkspacePlace, WrittenWorkspace, check_place, list_media, render_plan, write_workspace,
};

use super::super::render::print_archive;
use super::Finish;

/// A build that makes something, whatever it is.
pub(super) struct Build<'a> {
    pub args: &'a BuildArgs,
    pub network: NetworkOptions,
    pub policy: &'a Policy,
    /// SHA-256 of the lockfile that the plan has its pins from.
    pub lockfile: Option<String>,
    pub trees: &'a Trees,
    pub place: WorkspacePlace,
    /// Taken before the first write, until the build ends.
    pub claim: OnceCell<PlaceClaim>,
    pub image: &'a DefinedImage,
    /// Milliseconds since 1970.
    pub started: u64,
    pub answers: &'a Answers,
    pub printer: &'a Printer,
}

impl Build<'_> {
    pub(super) fn run(&self, plan: Plan, finish: Finish) -> Result<()> {
        let absent = bake::require_inputs(&plan, self.args.packer.as_ref(), &self.trees.packer)?;
        check_own_packer(self.args.packer.as_deref(), &plan, self.policy)?;
        let (plan, earlier) = self.pin(plan)?;

        // Nothing that could be installed is written before a policy has seen the bytes, and nothing at all of an override
        // that drops a proof. An archive stays until everything of the next one is there: no record keeps it.
        let catalog = &self.trees.catalog;
        check_dropped(self.policy, plan.artifacts(), catalog)?;
        let needs_bytes = needs_proofs(&plan, PinScope::Needed, self.policy, catalog);
        if finish != Finish::Image {
            let rendered = render_plan(&plan, &Lock::from_plan(&plan), self.trees)?;
            check_place(&plan, &rendered, self.claim()?)?;
        } else if plan.governance.policy.is_none() && !needs_bytes {
            self.write(&plan)?;
        }
        let folder = self.place.folder.display();
        self.printer.print_note(&format!("workspace: {folder}"));

        let admitted = admit(PinnedPlan::new(plan)?, self.policy, catalog)?;
        for warning in list_warnings(admitted.pinned().plan())? {
            self.printer.print_warning(&warning);
        }
        if finish == Finish::Installer && !needs_bytes {
            return self.pack_unasked(&admitted);
        }
        let fetcher = self.open()?;
        let acquirer = self.acquirer(&fetcher);
        if finish == Finish::Image {
            bake::warn_of_programs(&absent, self.printer);
            return self.make_image(admitted, &earlier, &acquirer);
        }
        let proven = prove_plan(admitted, &earlier, &acquirer)?;
        let media = match finish {
            Finish::InstallerWithArtifacts => list_media(&proven, &acquirer)?,
            Finish::Preview | Finish::Installer | Finish::Image => Vec::new(),
        };
        // The archives were read: now the plan has the digests of their members.
        let written = self.write(proven.plan())?;
        print_archive(&written.pack_archive(proven.plan(), &media)?, self.printer)
    }

    /// The plan with every digest that its publishers prove. With `--locked` nothing is pinned here: the lock is what
    /// was reviewed.
    fn pin(&self, plan: Plan) -> Result<(Plan, Vec<VerifiedArtifact>)> {
        if self.args.lock.locked || plan.list_unpinned().is_empty() {
            return Ok((plan, Vec::new()));
        }
        let fetcher = self.open()?;
        pin_plan(plan, PinScope::Needed, &self.acquirer(&fetcher))
    }

    fn pack_unasked(&self, admitted: &Admitted) -> Result<()> {
        let plan = admitted.pinned().plan();
        print_unasked(plan.artifacts(), "the machine downloads", self.printer);
        let written = self.write(plan)?;
        print_archive(&written.pack_archive(plan, &[])?, self.printer)
    }

    fn open(&self) -> Result<Fetcher> {
        Ok(self
            .answers
            .share(open_fetcher(&self.network, self.policy)?))
    }

    fn acquirer<'a>(&'a self, fetcher: &'a Fetcher) -> Acquirer<'a> {
        Acquirer {
            trees: self.trees,
            policy: self.policy,
            fetcher,
            network: &self.network,
            printer: self.printer,
        }
    }

    /// The claim of the workspace, which other runs then neither write nor keep a record in.
    pub(super) fn claim(&self) -> Result<&PlaceClaim> {
        if let Some(claim) = self.claim.get() {
            return Ok(claim);
        }
        let claim = self.place.claim()?;
        Ok(self.claim.get_or_init(|| claim))
    }

    pub(super) fn write(&self, plan: &Plan) -> Result<WrittenWorkspace<'_>> {
        let rendered = render_plan(plan, &Lock::from_plan(plan), self.trees)?;
        let force = self.place.force;
        write_workspace(plan, rendered, self.claim()?, force)
    }
}
