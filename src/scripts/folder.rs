//! Scripts in a folder of the user's: read to be signed, or used in a build.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Demand, LIST, ScriptList};
use crate::base::json;
use crate::base::secret::Secret;
use crate::cli::OwnScriptsArgs;
use crate::diagnostic::{InputError, Result};
use crate::io::{clock, fs};
use crate::model::overrides::{Overrides, SCRIPTS};
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::verify::chain::PinnedRoots;

use crate::catalog::Trees;

/// The scripts of an exported folder.
/// # Errors
/// The folder holds no list of scripts, or a script of the list is missing.
pub fn read_exported(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let path = folder.join(LIST);
    let Some(bytes) = fs::read_if_exists(&path)? else {
        let remedy = format!(
            "`imagegen scripts export --out {}` writes it",
            folder.display()
        );
        return Err(InputError::new(format!("{} is not there", path.display()), remedy).into());
    };
    let list: ScriptList = json::parse_json(&path.display().to_string(), &bytes)?;
    let mut files = BTreeMap::new();
    for path in list.files.into_keys() {
        let inside = Path::new(&path)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside {
            let message = format!(
                "{}: `{path}` is not a path inside the folder",
                folder.join(LIST).display()
            );
            return Err(InputError {
                message,
                remedy: None,
            }
            .into());
        }
        let bytes = fs::read_file(&folder.join(&path))?;
        files.insert(path, bytes);
    }
    Ok(files)
}

/// An encrypted key without passphrase would have the signer ask on the terminal.
///
/// # Errors
/// The key cannot be read, or is encrypted and its passphrase is not named.
pub fn read_passphrase(key: &Path, name: Option<&str>) -> Result<Option<Secret>> {
    let encrypted = String::from_utf8_lossy(&fs::read_file(key)?).contains("ENCRYPTED");
    let Some(name) = name else {
        if !encrypted {
            return Ok(None);
        }
        let remedy = "name the environment variable with its passphrase: `--passphrase-env NAME`";
        return Err(InputError::new(format!("{} is encrypted", key.display()), remedy).into());
    };
    let value = std::env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| {
            InputError::new(
                format!("the environment variable {name} is not set"),
                "it holds the passphrase of the key",
            )
        })?;
    Ok(Some(Secret::new(value)))
}

/// Replaces the guest scripts by those of `--scripts DIR`, and checks them against the policy's `signedScripts`.
///
/// # Errors
/// The folder does not contain the guest scripts, or they are not signed as the policy requires.
pub fn use_scripts(
    args: &OwnScriptsArgs,
    plan: &mut Plan,
    policy: &Policy,
    trees: &mut Trees,
) -> Result<()> {
    replace_scripts(args, &plan.selection.overrides, trees)?;
    let Some(rule) = &policy.signed_scripts else {
        return Ok(());
    };
    let roots = PinnedRoots::read(trees.catalog.tree())?;
    let demand = Demand::new(policy, rule, &roots, clock::current_time());
    let (signing, warnings) = super::find_signing(&trees.provisioners, demand)?;
    plan.signing = Some(signing);
    plan.warnings.extend(warnings);
    Ok(())
}

/// Puts the scripts of `--scripts DIR` in the place of the program's own.
///
/// # Errors
/// The folder does not hold the guest's scripts, or an override names one and there is no folder.
fn replace_scripts(args: &OwnScriptsArgs, overrides: &Overrides, trees: &mut Trees) -> Result<()> {
    match &args.scripts {
        Some(folder) => {
            let own = fs::read_tree(folder)?;
            let label = folder.display().to_string();
            trees.provisioners =
                super::accept_scripts(&label, own, &trees.provisioners, overrides)?;
        }
        None => {
            if let Some(key) = overrides.keys().find(|key| key.starts_with(SCRIPTS)) {
                let message = format!("an override names {key}, and there is no `--scripts DIR`");
                let remedy =
                    "add `--scripts DIR` with the folder of the script, or remove the override";
                return Err(InputError::new(message, remedy).into());
            }
        }
    }
    Ok(())
}
