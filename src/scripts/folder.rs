//! Scripts in a folder of the user's, used in a build.

use std::path::Path;

use super::Demand;
use crate::catalog::Trees;
use crate::diagnostic::{Error, Result};
use crate::embedded::Tree;
use crate::io::{clock, fs};
use crate::model::overrides::{Overrides, SCRIPTS};
use crate::model::plan::{Plan, Warning};
use crate::model::policy::Policy;
use crate::model::signing::Signing;
use crate::verify::chain::PinnedRoots;

/// The scripts that a guest gets.
#[derive(Debug)]
pub struct GuestScripts {
    /// The provisioners with them.
    pub provisioners: Tree,
    signed: Option<(Signing, Vec<Warning>)>,
}

impl GuestScripts {
    /// Signatures of scripts against the policy's `signedScripts`.
    ///
    /// # Errors
    /// They are not signed as the policy requires.
    pub fn check(provisioners: Tree, policy: &Policy, trees: &Trees) -> Result<Self> {
        let Some(rule) = &policy.signed_scripts else {
            return Ok(Self {
                provisioners,
                signed: None,
            });
        };
        let roots = PinnedRoots::read(trees.catalog.tree())?;
        let demand = Demand::new(policy, rule, &roots, clock::current_time());
        let signed = super::find_signing(&provisioners, demand)?;
        Ok(Self {
            provisioners,
            signed: Some(signed),
        })
    }

    /// The plan of a guest with these scripts.
    pub fn sign_plan(&self, plan: Plan) -> Plan {
        match &self.signed {
            None => plan,
            Some((signing, warnings)) => Plan {
                governance: plan
                    .governance
                    .with_signing(signing.clone(), warnings.clone()),
                ..plan
            },
        }
    }
}

/// The guest's scripts: those of `--scripts DIR`, or the program's own, checked against the policy's `signedScripts`.
///
/// # Errors
/// The folder does not contain the guest scripts, or they are not signed as the policy requires.
pub fn read_guest_scripts(
    folder: Option<&Path>,
    overrides: &Overrides,
    policy: &Policy,
    trees: &Trees,
) -> Result<GuestScripts> {
    let provisioners = choose_scripts(folder, overrides, &trees.provisioners)?;
    GuestScripts::check(provisioners, policy, trees)
}

/// The provisioners with the scripts of `--scripts DIR` in the place of the program's own.
///
/// # Errors
/// The folder does not hold the guest's scripts, or an override names one and there is no folder.
fn choose_scripts(
    folder: Option<&Path>,
    overrides: &Overrides,
    provisioners: &Tree,
) -> Result<Tree> {
    if let Some(folder) = folder {
        let own = fs::read_tree(folder)?;
        let label = folder.display().to_string();
        return Ok(super::accept_scripts(&label, own, provisioners, overrides)?);
    }
    if let Some(key) = overrides.keys().find(|key| key.starts_with(SCRIPTS)) {
        let message = format!("an override names {key}, and there is no `--scripts DIR`");
        let remedy = "add `--scripts DIR` with the folder of the script, or remove the override";
        return Err(Error::value(message, remedy));
    }
    Ok(provisioners.clone())
}
