//! `imagegen scripts`, and the scripts of a provider's own in a build.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rustls_pki_types::UnixTime;
use serde::Serialize;

use crate::cli::{OwnScriptsArgs, ScriptsArgs, ScriptsWhat};
use crate::diagnostic::{Result, UsageError};
use crate::embedded::sha256;
use crate::io::{clock, fs};
use crate::model::json;
use crate::model::overrides::{Overrides, SCRIPTS};
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::scripts::{self, Demand, Key, LIST, ScriptList};
use crate::ui::Printer;
use crate::verify::authenticode;
use crate::verify::chain::PinnedRoots;

use crate::catalog::Trees;
use crate::selection::read_trees;

/// What `scripts export` and `scripts sign` say.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptsOutput {
    pub folder: String,
    /// Path → SHA-256 of the file as it is now.
    pub files: BTreeMap<String, String>,
}

pub(super) fn scripts(args: &ScriptsArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let trees = read_trees(manifests)?;
    match &args.what {
        ScriptsWhat::Export { out, force } => {
            let files = scripts::exported(&trees.provisioners);
            fs::place(out, &files, &[], &[], *force)?;
            said(out, files, printer)
        }
        ScriptsWhat::Sign { folder, key, certificate, passphrase_env, timestamp, root } => {
            let key = Key {
                key: key.clone(),
                certificates: certificate.clone(),
                passphrase: passphrase(key, passphrase_env.as_deref())?,
                timestamp: timestamp.clone(),
            };
            let at = UnixTime::since_unix_epoch(Duration::from_secs(clock::now()));
            let pinned = PinnedRoots::read(trees.catalog.tree())?;
            let policy = scripts::policy(&key, root.as_deref(), authenticode::Policy::new(&pinned, at), at)?;
            let signed = scripts::signed(&listed(folder)?, &key, &policy)?;
            for (path, bytes) in &signed {
                fs::write(&folder.join(path), bytes)?;
            }
            said(folder, signed, printer)
        }
    }
}

fn said(folder: &Path, files: BTreeMap<String, Vec<u8>>, printer: &Printer) -> Result<()> {
    let files = files.into_iter().filter(|(path, _)| path != LIST);
    let files: BTreeMap<String, String> = files.map(|(path, bytes)| (path, sha256(&bytes))).collect();
    let output = ScriptsOutput { folder: folder.display().to_string(), files };
    printer
        .result(&output, || output.files.iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect())
}

/// The scripts of an exported folder.
fn listed(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let path = folder.join(LIST);
    let Some(bytes) = fs::read_if_there(&path)? else {
        return Err(UsageError {
            message: format!("{} is not there", path.display()),
            remedy: Some(format!("`imagegen scripts export --out {}` writes it", folder.display())),
        }
        .into());
    };
    let list: ScriptList = json::parse(&path.display().to_string(), &bytes)?;
    let mut files = BTreeMap::new();
    for path in list.files.into_keys() {
        let inside =
            Path::new(&path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside {
            let message = format!("{}: `{path}` is no path inside the folder", folder.join(LIST).display());
            return Err(UsageError { message, remedy: None }.into());
        }
        let bytes = fs::read(&folder.join(&path))?;
        files.insert(path, bytes);
    }
    Ok(files)
}

/// An encrypted key without passphrase would have the signer ask on the terminal.
fn passphrase(key: &Path, name: Option<&str>) -> Result<Option<Vec<u8>>> {
    let encrypted = String::from_utf8_lossy(&fs::read(key)?).contains("ENCRYPTED");
    let Some(name) = name else {
        if !encrypted {
            return Ok(None);
        }
        return Err(UsageError {
            message: format!("{} is encrypted", key.display()),
            remedy: Some(
                "name the environment variable with its passphrase: `--passphrase-env NAME`".to_owned(),
            ),
        }
        .into());
    };
    let value = std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or_else(|| UsageError {
        message: format!("the environment variable {name} is not set"),
        remedy: Some("it holds the passphrase of the key".to_owned()),
    })?;
    Ok(Some(value.into_bytes()))
}

/// Puts the scripts of `--scripts DIR` in the place of the program's own, and holds the scripts
/// against a policy that wants them signed.
///
/// # Errors
/// The folder does not hold the guest's scripts, or they are not signed as the policy demands.
pub(super) fn own_scripts(
    args: &OwnScriptsArgs,
    plan: &mut Plan,
    policy: &Policy,
    trees: &mut Trees,
) -> Result<()> {
    replace(args, &plan.selection.overrides, trees)?;
    let Some(rule) = &policy.signed_scripts else { return Ok(()) };
    let roots = PinnedRoots::read(trees.catalog.tree())?;
    let demand = Demand { policy: &policy.name, rule, roots: &roots, now: clock::now() };
    let (signing, warnings) = scripts::signing(&trees.provisioners, demand)?;
    plan.signing = Some(signing);
    plan.warnings.extend(warnings);
    Ok(())
}

/// Puts the scripts of `--scripts DIR` in the place of the program's own.
///
/// # Errors
/// The folder does not hold the guest's scripts, or an override names one and there is no folder.
pub(super) fn replace(args: &OwnScriptsArgs, overrides: &Overrides, trees: &mut Trees) -> Result<()> {
    match &args.scripts {
        Some(folder) => {
            let own = fs::read_tree(folder)?;
            let label = folder.display().to_string();
            trees.provisioners = scripts::accepted(&label, own, &trees.provisioners, overrides)?;
        }
        None => {
            if let Some(key) = overrides.keys().find(|key| key.starts_with(SCRIPTS)) {
                return Err(UsageError {
                    message: format!("an override names {key}, and there is no `--scripts DIR`"),
                    remedy: Some(
                        "name the folder that holds the script, or leave the override out".to_owned(),
                    ),
                }
                .into());
            }
        }
    }
    Ok(())
}
