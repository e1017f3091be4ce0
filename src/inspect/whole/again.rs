//! A workspace rendered again, and the files in it that neither its lock nor a build makes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::bake;
use crate::base::code::Code;
use crate::catalog::Trees;
use crate::diagnostic::Result;
use crate::guest::render_guest;
use crate::io::fs;
use crate::lock::Lock;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::planning::{BuildTime, PolicyOfLock, resolve_lock_of_build};
use crate::render::{self, Workspace};
use crate::scripts::{GuestScripts, accept_scripts};
use crate::selection::NamedPolicy;
use crate::trust::check_unproven;
use crate::verify::ProofError;
use crate::workspace::{ATTESTATIONS, BUILDS};

use super::environment::BuildEnvironment;
use super::scripts::read_scripts;

/// A workspace as the lock, the catalog and the policy make it now.
pub(super) struct RenderedAgain {
    pub plan: Plan,
    pub policy: Policy,
    pub rendered: Workspace,
    /// Names of the archive for an existing machine, and of its checksum file.
    pub archive: Vec<String>,
    /// Folders that builds and `attest` fill. Packer reads no file in them.
    pub results: Vec<String>,
}

/// Renders the workspace again. Scripts are the workspace's own where these are the program's or signed as the policy
/// demands.
pub(super) fn render_again(
    folder: &Path,
    values: &BTreeMap<String, Value>,
    file: &str,
    lock: &Lock,
    policy: &NamedPolicy,
    trees: &Trees,
) -> Result<RenderedAgain> {
    let unreviewed = Lock {
        not_admitted: None,
        ..lock.clone()
    };
    let build = BuildEnvironment::read(folder, values)?;
    let given = BuildTime {
        values: build.complete_values(values, lock, trees)?,
        mirrors: build.list_mirrors(),
    };
    let required = PolicyOfLock::Required;
    let (plan, policy) = resolve_lock_of_build(file, &unreviewed, &given, policy, required, trees)?;
    check_unproven(&policy, plan.artifacts(), &trees.catalog)?;
    let preview = Lock::for_preview(&plan).not_admitted;
    if lock.not_admitted.is_some() && lock.not_admitted != preview {
        return Err(ProofError::new(
            Code::LOCK_EDITED,
            "`notAdmitted` is not the text of a preview",
        )
        .into());
    }
    let scripts = read_scripts(folder)?;
    let label = folder.display().to_string();
    let provisioners = accept_scripts(
        &label,
        scripts,
        &trees.provisioners,
        &plan.selection.overrides,
    )?;
    let scripts = GuestScripts::check(provisioners, &policy, trees)?;
    let plan = build.restore(scripts.sign_plan(plan));
    let provisioners = scripts.provisioners;
    let flags = trees.catalog.load_baked_flags()?;
    let programs = trees.catalog.load_programs()?;
    let guest = render_guest(&plan, &flags, &programs, &provisioners)?;
    let packer = &trees.packer;
    let rendered = render::render_workspace(&plan, lock, &guest, packer, &provisioners)?;
    Ok(RenderedAgain {
        results: list_result_folders(&plan, &rendered),
        archive: render::archive_names(&plan).to_vec(),
        rendered,
        plan,
        policy,
    })
}

/// Files that neither the lock makes nor a build leaves. The user's own values for Packer are among them: they decide
/// about the image, and the lock does not have them.
pub(super) fn find_added(folder: &Path, again: &RenderedAgain) -> Result<Vec<String>> {
    let mut added = fs::list_entries(folder)?;
    added.retain(|path| {
        !again.rendered.files.contains_key(path)
            && !bake::TRACES.contains(&path.as_str())
            && !bake::RESULTS.contains(&path.as_str())
            && !again.archive.contains(path)
            && !again.results.iter().any(|folder| is_in(path, folder))
    });
    Ok(added)
}

/// Folders of a workspace that hold results alone.
fn list_result_folders(plan: &Plan, rendered: &Workspace) -> Vec<String> {
    let output = plan.target.output_folder(&plan.selectors);
    let mut folders = vec![ATTESTATIONS.to_owned(), BUILDS.to_owned()];
    folders.extend(output.map(str::to_owned));
    folders.retain(|folder| !rendered.files.keys().any(|path| is_in(path, folder)));
    folders
}

/// Whether a path lies in a folder directly below the root.
fn is_in(path: &str, folder: &str) -> bool {
    path.split_once('/')
        .is_some_and(|(first, _)| first == folder)
}
