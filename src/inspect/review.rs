//! Review of a lockfile from elsewhere: against the reviewed one, the catalog, the policy.

use std::path::Path;

use crate::base::code::Code;
use crate::base::value::ImageReference;
use crate::bundle::{OpenedBundle, proof_error};
use crate::catalog::Trees;
use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::io::clock;
use crate::lock::Lock;
use crate::model::plan::{Plan, PlannedArtifact, list_unpinned_images};
use crate::model::policy::Policy;
use crate::planning::{PolicyOfLock, resolve_lock};
use crate::resolve::plan_tool;
use crate::scripts::{Demand, find_signing};
use crate::selection::{NamedPolicy, read_lock};
use crate::trust::{Subject, check_subjects, check_unproven};
use crate::ui::Printer;
use crate::verify::ProofError;
use crate::verify::chain::PinnedRoots;

/// The reviewed lockfile and the policy, as far as the user names them.
#[derive(Debug, Clone, Copy)]
pub struct Review<'a> {
    pub lock: Option<&'a Path>,
    /// Container images that a bundle may have beside those of the reviewed lockfile.
    pub images: &'a [ImageReference],
    pub policy: &'a NamedPolicy,
}

impl Review<'_> {
    /// Compares a bundle's lockfile with the reviewed lockfile, or with the lockfile of its selection, and checks the
    /// policy. Returns the plan if the user gives a policy.
    ///
    /// # Errors
    /// The lockfile differs, the bundle has an image that nobody names, or the policy refuses it.
    pub(super) fn check_bundle(
        &self,
        file: &Path,
        opened: &OpenedBundle,
        trees: &Trees,
        printer: &Printer,
    ) -> Result<Option<(Plan, Policy)>> {
        let lock = &opened.lock;
        if let Some(path) = self.lock {
            opened.require_lock(file, &read_lock(path)?)?;
            opened.require_images(file, self.images)?;
        }
        check_tools(file, opened, trees)?;
        if self.lock.is_some() && self.policy.file.is_none() {
            return Ok(None);
        }
        let name = format!("imagegen.lock.json of {}", file.display());
        let (plan, policy) = resolve_lock(&name, lock, self.policy, PolicyOfLock::Ignored, trees)?;
        if self.policy.file.is_none() {
            warn_unchecked(lock, trees, printer)?;
            return Ok(None);
        }
        check_unproven(&policy, plan.artifacts(), &trees.catalog)?;
        let images = opened.index.images.iter();
        let mirrors = plan.selection.list_registry_urls();
        let images: Vec<Subject<'_>> = images
            .map(|image| Subject::from_image(&image.name, &mirrors))
            .collect();
        check_subjects(&policy, &images, true, &trees.catalog)?;
        if let Some(rule) = &policy.signed_scripts {
            let carried = Tree::from_files("the bundle".to_owned(), opened.scripts.clone());
            let roots = PinnedRoots::read(trees.catalog.tree())?;
            find_signing(
                &carried,
                Demand::new(&policy, rule, &roots, clock::current_time()),
            )?;
        }
        Ok(Some((plan, policy)))
    }
}

/// Tools of a bundle come from where the catalog and the lockfile's overrides have them, with the digests of these.
fn check_tools(file: &Path, opened: &OpenedBundle, trees: &Trees) -> Result<()> {
    let overrides = &opened.lock.selection.overrides;
    for tool in &opened.index.tools {
        let component = trees.catalog.load_component(&tool.component)?;
        let published = plan_tool(&component, &tool.version, tool.host, overrides);
        if !published.is_ok_and(|artifact| tool.is_published_as(&artifact)) {
            let message = format!("{}: the catalog publishes it otherwise", tool.title());
            let error = ProofError::new(Code::BUNDLE_TOOL, message);
            return Err(proof_error(file, error).into());
        }
    }
    Ok(())
}

/// Warns of parts that the comparison with the catalog leaves open.
fn warn_unchecked(lock: &Lock, trees: &Trees, printer: &Printer) -> Result<()> {
    if let Some(used) = &lock.policy {
        let name = &used.name;
        printer.print_warning(&format!(
            "the policy {name} of the lockfile was not enforced: `--policy FILE` names it"
        ));
    }
    warn_alone(&find_lock_pins(lock, trees)?, printer);
    Ok(())
}

/// Warns of artifacts and images whose digest nothing but the lockfile states.
pub(super) fn warn_alone(titles: &[String], printer: &Printer) {
    if !titles.is_empty() {
        printer.print_warning(&format!(
            "only this lockfile states the digest of {}: `--lock FILE` compares it with a reviewed one",
            titles.join(", ")
        ));
    }
}

/// Artifacts whose digest neither the catalog nor the selection states.
pub(super) fn find_lock_pins(lock: &Lock, trees: &Trees) -> Result<Vec<String>> {
    let plan = crate::planning::resolve_updated_plan(&lock.selection, trees, lock.updated.clone())?;
    let tagged: Vec<String> = list_unpinned_images(&plan.tagged_images).collect();
    let plan = plan.with_pins(lock.pins());
    let unproven = plan.unproven_artifacts().map(PlannedArtifact::title);
    Ok(unproven.chain(tagged).collect())
}

/// The same. A catalog that refuses the selection states no digest at all.
pub(super) fn list_unproven(lock: &Lock, trees: &Trees) -> Vec<String> {
    match find_lock_pins(lock, trees) {
        Ok(unproven) => unproven,
        Err(_) => lock.artifacts.iter().map(PlannedArtifact::title).collect(),
    }
}
