//! The policy over a plan: who decides, what is refused, and what the guest gets of it.

use crate::acquire::check_tools;
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::names::format_suggestion;
use crate::base::url::file_name;
use crate::base::value::StepId;
use crate::catalog::{Catalog, Trees, load_target, load_targets};
use crate::diagnostic::{Error, Result};
use crate::guest::read_steps;
use crate::model::plan::{Governance, Plan};
use crate::model::policy::{Policy, PolicyUsed, Waiver};
use crate::model::target::ImageTarget;
use crate::resolve::BuildHost;
use crate::selection::{NamedPolicy, read_policy, read_today};
use crate::trust::{
    FRAGMENTS, Subject, check_addresses, check_plan, check_policy, check_steps, check_subjects,
    check_support, find_idle_waiver, warn_own_anchors, warn_own_texts,
};

/// The plan under the user's policy. Without a policy every pinned artifact is allowed, and keys and roots of the
/// definition are reported.
///
/// # Errors
/// The file is not a policy, or the plan violates it.
pub fn govern_plan(named: &NamedPolicy, plan: Plan, trees: &Trees) -> Result<(Plan, Policy)> {
    let policy = read_plan_policy(named, &plan)?;
    let plan = judge_plan(named, &policy, plan, trees)?;
    Ok((plan, policy))
}

/// The user's policy, with the mirrors of a plan.
///
/// # Errors
/// The file is not a policy.
pub fn read_plan_policy(named: &NamedPolicy, plan: &Plan) -> Result<Policy> {
    Ok(Policy {
        mirrors: plan.selection.download_mirrors.clone(),
        ..read_policy(named)?
    })
}

/// The same with a policy that was read already.
///
/// # Errors
/// The plan violates the policy.
pub fn judge_plan(named: &NamedPolicy, policy: &Policy, plan: Plan, trees: &Trees) -> Result<Plan> {
    check_addresses(policy, &plan)?;
    if named.file.is_none() {
        check_waivers(&named.waivers, &plan, &trees.catalog)?;
        let mut warnings = warn_own_anchors(&plan, &trees.catalog);
        warnings.extend(warn_own_texts(&plan.selection));
        let governance = Governance {
            warnings,
            ..Governance::default()
        };
        return Ok(Plan { governance, ..plan });
    }

    let used = PolicyUsed {
        name: policy.name.clone(),
        sha256: sha256_hex(json::format_json(policy).as_bytes()),
    };
    let governance = Governance {
        policy: Some(used),
        allowed_hosts: policy.allowed_hosts.clone(),
        ..Governance::default()
    };
    let plan = Plan { governance, ..plan };
    check_policy(policy, &list_policy_names(trees)?)?;
    check_base_images(policy, trees)?;
    check_own_files(policy, trees)?;
    check_plan(policy, &plan, &trees.catalog)?;
    check_support(policy, &plan, &read_today()?)?;
    check_steps(policy, &list_applied_steps(&plan, trees)?)?;
    check_tools(&plan, BuildHost::host(), policy, trees)?;
    Ok(plan)
}

/// Files of the user's own, and a catalog of theirs, against the policy.
fn check_own_files(policy: &Policy, trees: &Trees) -> Result<()> {
    let mut own = Vec::new();
    for (path, sha256) in &trees.own_files {
        own.push(Subject::from_own_file(path, sha256));
    }
    if let Some(sha256) = &trees.own_catalog {
        own.push(Subject::from_own_file("--manifests", sha256));
    }
    Ok(check_subjects(policy, &own, true, &trees.catalog)?)
}

/// Names that a policy can use: components and programs, media and variables that name base images, and files and
/// texts of the user's own.
fn list_policy_names(trees: &Trees) -> Result<Vec<String>> {
    let mut names = trees.catalog.list_program_names()?;
    for target in load_targets(&trees.packer)? {
        let media = target.image().into_iter().flat_map(ImageTarget::media);
        names.extend(media.map(|medium| medium.name.to_string()));
        for variable in &target.variables {
            if variable.base_image || variable.sha256.is_some() {
                names.push(variable.name.clone());
            }
        }
    }
    names.push(FRAGMENTS.to_owned());
    for path in trees.own_files.keys() {
        names.push(path.clone());
        names.push(file_name(path).to_owned());
    }
    Ok(names)
}

/// Refuses entries of `allowedBaseImages` that can never fit: of no target, or with a variable that names no base image.
fn check_base_images(policy: &Policy, trees: &Trees) -> Result<()> {
    for entry in policy.allowed_base_images.iter().flatten() {
        let target = load_target(&trees.packer, &entry.target)?;
        let known = target
            .variables
            .iter()
            .filter(|variable| variable.base_image);
        let known: Vec<&str> = known.map(|variable| variable.name.as_str()).collect();
        let mut named = entry.variables.keys();
        if let Some(name) = named.find(|name| !known.contains(&name.as_str())) {
            let message = format!(
                "policy {}: `allowedBaseImages`: `{name}` of {} names no base image",
                policy.name, entry.target
            );
            return Err(Error::value(message, format_suggestion(name, known)));
        }
    }
    Ok(())
}

/// Refuses waivers of the command line that waive nothing.
fn check_waivers(waivers: &[Waiver], plan: &Plan, catalog: &Catalog) -> Result<()> {
    if waivers.is_empty() {
        return Ok(());
    }
    let names = catalog.list_program_names()?;
    if let Some(Waiver {
        component, proof, ..
    }) = waivers
        .iter()
        .find(|waiver| !names.contains(&waiver.component))
    {
        let message = format!(
            "--waive {component}={}: no component is named `{component}`",
            proof.as_str()
        );
        let close = format_suggestion(component, names.iter().map(String::as_str));
        return Err(Error::value(message, close));
    }
    match find_idle_waiver(waivers, plan, catalog) {
        None => Ok(()),
        Some(Waiver {
            component, proof, ..
        }) => {
            let message = format!(
                "--waive {component}={0}: {component} declares no {0}",
                proof.as_str()
            );
            let remedy =
                "remove it, or name a proof that `imagegen plan` or `[proof-missing]` names";
            Err(Error::value(message, remedy))
        }
    }
}

/// Ids of the steps that are part of a plan.
fn list_applied_steps(plan: &Plan, trees: &Trees) -> Result<Vec<StepId>> {
    let conditions = plan.conditions();
    let steps = read_steps(&trees.provisioners)?;
    let applied = steps
        .iter()
        .filter(|(_, step)| conditions.holds(&step.when));
    Ok(applied.map(|(_, step)| step.id.clone()).collect())
}
