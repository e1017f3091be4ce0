//! A machine that is there already gets a folder, and the same as one archive: what an image gets by
//! `payload.zip`, beside a script that runs it.

use std::collections::BTreeMap;

use crate::embedded::{Tree, sha256};
use crate::guest::{Guest, plan_json};
use crate::lock::Lock;
use crate::model::plan::Plan;

use super::{RenderError, Workspace, context, hcl, payload};

/// The script of the bundle, and where it is kept.
const INSTALL: (&str, &str) = ("Install.ps1", "host/Install.ps1");

/// Names of a bundle's archive and of the file with its checksum.
#[must_use]
pub fn archive_names(plan: &Plan) -> [String; 2] {
    let name = format!("imagegen-{}-{}-k8s-{}.zip", plan.target.name, plan.windows.release, plan.kubernetes);
    let checksum = format!("{name}.sha256");
    [name, checksum]
}

pub(super) fn bundle(
    plan: &Plan,
    lock: &Lock,
    guest: &Guest,
    packer: &Tree,
    provisioners: &Tree,
) -> Result<Workspace, RenderError> {
    let guest_plan = plan_json(&guest.plan);
    let mut files: BTreeMap<String, Vec<u8>> = payload::files(&guest_plan, provisioners)
        .into_iter()
        .map(|(name, bytes)| (name, bytes.to_vec()))
        .collect();
    let (name, path) = INSTALL;
    let script = provisioners.get(path).ok_or_else(|| RenderError::Missing(path.to_owned()))?;
    files.insert(name.to_owned(), script.to_vec());
    files.insert("README.md".to_owned(), hcl::rendered(packer, "bundle.md", &context(plan))?.into_bytes());
    let lock_text = lock.encode();
    let digest = sha256(lock_text.as_bytes());
    files.insert("imagegen.lock.json".to_owned(), lock_text.into_bytes());
    Ok(Workspace { files, payload: sha256(guest_plan.as_bytes()), lock: digest })
}
