//! A build that bakes an image: proofs, Packer, and the record of it.

use std::collections::BTreeMap;

use crate::acquire::{Acquirer, VerifiedArtifact, acquire_tools, prove_plan};
use crate::bake::{Bake, BakeOutput, BakeTrace, Environment};
use crate::diagnostic::Result;
use crate::records::{
    BuildTrace, ImageRecord, KeptBuild, find_run_url, keep_build, read_git_state,
};
use crate::trust::Admitted;
use crate::workspace::IMAGE_RECORD;

use super::run::Build;

impl Build<'_> {
    /// Proves and bakes, and keeps a record of it, also if that fails.
    pub(super) fn make_image(
        &self,
        admitted: Admitted,
        earlier: &[VerifiedArtifact],
        acquirer: &Acquirer<'_>,
    ) -> Result<()> {
        // Also a build that fails before it writes the workspace keeps a record in it.
        let claim = self.claim()?;
        let environment: Environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .collect();
        let mut trace = BuildTrace {
            started: self.started,
            plan: admitted.pinned().plan().clone(),
            image: self.image.name.clone(),
            lockfile: self.lockfile.clone(),
            evidence: BTreeMap::new(),
            bake: BakeTrace::default(),
            git: read_git_state(self.image.folder()),
            run_url: find_run_url(&environment),
        };
        let outcome = self.bake(admitted, earlier, acquirer, &environment, &mut trace);
        let kept = keep_build(claim, &trace, outcome.as_ref(), self.policy, self.trees);
        if let Err(error) = outcome {
            match kept {
                Ok(kept) => {
                    let place = kept.folder.display();
                    self.printer
                        .print_note(&format!("record of the failed build: {place}"));
                }
                Err(other) => {
                    let message = format!("the build has no record: {other}");
                    self.printer.print_warning(&message);
                }
            }
            return Err(error);
        }

        let KeptBuild {
            folder,
            record,
            sha256,
        } = kept?;
        let place = folder.display();
        self.printer
            .print_note(&format!("record of the build: {place} (SHA-256 {sha256})"));
        let file = self.place.folder.join(IMAGE_RECORD);
        self.printer
            .print_note(&format!("image: {}", file.display()));
        let printed = ImageRecord {
            record_sha256: Some(sha256),
            ..record
        };
        self.printer.print_result(&printed, || {
            let artifacts = printed.artifacts.iter();
            artifacts
                .map(|artifact| format!("{}\n", artifact.id))
                .collect()
        })
    }

    fn bake(
        &self,
        admitted: Admitted,
        earlier: &[VerifiedArtifact],
        acquirer: &Acquirer<'_>,
        environment: &Environment,
        trace: &mut BuildTrace,
    ) -> Result<BakeOutput> {
        let proven = prove_plan(admitted, earlier, acquirer)?;
        trace.add_proofs(&proven);
        // The archives were read: now the plan has the digests of their members.
        let written = self.write(proven.plan())?;
        let tools = acquire_tools(self.args.packer.as_ref(), proven.plan(), acquirer)?;
        let own = acquirer.fetcher.store().root().join("work");
        let work = self.args.work.as_ref().unwrap_or(&own);
        let output = Bake {
            proven: &proven,
            folder: written.folder(),
            workspace: &written.workspace,
            tools: &tools,
            work,
            on_error: self.args.on_error,
            environment,
            passed: &self.args.pass_env,
            started: self.started,
            printer: self.printer,
        }
        .run(&mut trace.bake)?;
        Ok(output)
    }
}
