//! Overrides and policy as the user gives them: flags, a file, the image definition.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::catalog::Catalog;
use crate::cli::SelectionArgs;
use crate::diagnostic::{InputError, Result};
use crate::embedded::sha256;
use crate::io::fs::{self, FileError};
use crate::model::json;
use crate::model::overrides::{Override, Overrides, set};
use crate::model::plan::Plan;
use crate::model::policy::{Policy, PolicyUsed};
use crate::model::url::HttpUrl;
use crate::trust::{check_plan, check_policy};

/// An input file that the user names by a flag.
///
/// # Errors
/// The file cannot be read.
pub fn read_input(flag: &str, path: &Path) -> Result<Vec<u8>> {
    Ok(fs::read(path).map_err(|error| unreadable_input(flag, &error))?)
}

/// A directory that the user names by a flag.
///
/// # Errors
/// The directory cannot be read.
pub fn read_input_tree(flag: &str, path: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    Ok(fs::read_tree(path).map_err(|error| unreadable_input(flag, &error))?)
}

fn unreadable_input(flag: &str, error: &FileError) -> InputError {
    InputError::new(format!("{flag}: {error}"), format!("check the path after `{flag}`"))
}

/// `--mirror`, `--overrides` and `--override` over each other, in this order.
///
/// # Errors
/// A file cannot be read, or a text not be understood.
pub fn read_overrides(args: &SelectionArgs) -> Result<Overrides> {
    let mut overrides = mirror_overrides(args.mirror.as_ref())?;
    if let Some(path) = &args.overrides {
        let mut given: Overrides =
            json::parse(&path.display().to_string(), &read_input("--overrides", path)?)?;
        load_keys(&mut given, path.parent().unwrap_or(Path::new("")))?;
        overrides.extend(given);
    }
    set(&mut overrides, &args.override_fields).map_err(|message| InputError { message, remedy: None })?;
    load_keys(&mut overrides, Path::new(""))?;
    Ok(overrides)
}

/// All of the publishers below one URL.
///
/// # Errors
/// The URL has a query.
pub fn mirror_overrides(url: Option<&HttpUrl>) -> Result<Overrides> {
    let Some(url) = url else { return Ok(Overrides::new()) };
    if url.for_request().contains('?') {
        let message = format!("--mirror {url}: a mirror is the beginning of a URL and has no query");
        return Err(InputError::new(message, "give tokens as `headers` of an override").into());
    }
    let url = url.fill(|text| if text.ends_with('/') { text.to_owned() } else { format!("{text}/") });
    Ok([("https://".to_owned(), Override { url: Some(url), ..Override::default() })].into())
}

/// Puts what keys and certificates say in the place of the files that hold them, so that lock and
/// workspace need no other file.
///
/// # Errors
/// A file cannot be read, or holds a private key.
pub fn load_keys(overrides: &mut Overrides, folder: &Path) -> Result<()> {
    for (name, over) in overrides {
        if let Some(signature) = &mut over.signature
            && let Some(key) = &mut signature.key
        {
            inline_key(&format!("override {name}.signature.key"), key, folder)?;
        }
        if let Some(roots) = &mut over.roots {
            inline_key(&format!("override {name}.roots"), roots, folder)?;
        }
    }
    Ok(())
}

fn inline_key(field: &str, value: &mut String, folder: &Path) -> Result<()> {
    if !is_content(value) {
        let path: PathBuf = folder.join(&*value);
        // A name without file is one of the catalog's keys; an unknown one is told when it is used.
        let Some(bytes) = fs::read_if_there(&path)? else { return Ok(()) };
        *value = String::from_utf8(bytes).map_err(|_| InputError {
            message: format!("{field}: {} is no text", path.display()),
            remedy: Some("give keys and certificates in PEM".to_owned()),
        })?;
    }
    if value.contains("PRIVATE KEY") || value.contains("secret key") {
        return Err(InputError {
            message: format!("{field} is a private key"),
            remedy: Some("give the public key; the private one belongs where you sign".to_owned()),
        }
        .into());
    }
    Ok(())
}

fn is_content(text: &str) -> bool {
    text.contains('\n') || text.starts_with("-----BEGIN") || text.starts_with("RW") && text.len() == 56
}

/// The policy that the user names, and the plan held against it. Without one, everything that is
/// pinned is allowed.
///
/// # Errors
/// The file cannot be read or is no policy; the plan violates it.
pub fn apply_policy(args: &SelectionArgs, plan: &mut Plan, catalog: &Catalog) -> Result<Policy> {
    let policy = read_policy(args)?;
    if args.policy.is_some() {
        let sha256 = sha256(json::pretty(&policy).as_bytes());
        plan.policy = Some(PolicyUsed { name: policy.name.clone(), sha256 });
        check_policy(&policy, &list_names(plan, catalog)?)?;
        check_plan(&policy, plan)?;
    }
    Ok(policy)
}

/// What a policy can name: components, groups and programs of the catalog.
fn list_names(plan: &Plan, catalog: &Catalog) -> Result<Vec<String>> {
    let mut names = plan.known.clone();
    for component in catalog.component_names() {
        for release in &catalog.component(&component)?.releases {
            let files = release.members.iter().map(|member| member.file.to_ascii_lowercase());
            names.extend(files.flat_map(|file| [file.trim_end_matches(".exe").to_owned(), file]));
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// The policy itself, before there is a plan to hold against it.
///
/// # Errors
/// The file cannot be read or is no policy.
pub fn read_policy(args: &SelectionArgs) -> Result<Policy> {
    match &args.policy {
        None => Ok(Policy { name: "default".to_owned(), waivers: args.waive.clone(), ..Policy::default() }),
        Some(_) if !args.waive.is_empty() => Err(InputError::new(
            "`--waive` is not allowed with `--policy`",
            "name the missing proofs in the policy: `\"waivers\": [{\"component\": …, \"proof\": …}]`",
        )
        .into()),
        Some(path) => {
            let mut policy: Policy =
                json::parse(&path.display().to_string(), &read_input("--policy", path)?)?;
            if let Some(roots) = policy.signed_scripts.as_mut().and_then(|rule| rule.roots.as_mut()) {
                inline_key("policy signedScripts.roots", roots, path.parent().unwrap_or(Path::new("")))?;
                if !is_content(roots) {
                    return Err(InputError {
                        message: format!(
                            "policy signedScripts.roots: there is no file {roots} beside the policy"
                        ),
                        remedy: Some(
                            "name a file of certificates in PEM, or give them themselves".to_owned(),
                        ),
                    }
                    .into());
                }
            }
            Ok(policy)
        }
    }
}
