//! A machine that is there already gets a folder, and the same as one archive: what an image gets by
//! `payload.zip`, beside a script that runs it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::guest::{GUEST_PLAN_FILE, Guest, format_plan};
use crate::lock::{LOCK_FILE, Lock};
use crate::model::plan::Plan;
use crate::model::target::TargetKind;
use crate::scripts::INSTALL;
use crate::windows::resource::CertificateStore;

use super::{
    WORKSPACE_RECORD, Workspace, build_context, hcl, missing_error, offline, payload, record,
};

/// Names of an installer's archive and of the file with its checksum.
pub fn archive_names(plan: &Plan) -> [String; 2] {
    let name = format!(
        "imagegen-{}-{}-k8s-{}.zip",
        plan.target.name, plan.windows.release, plan.kubernetes
    );
    let checksum = format!("{name}.sha256");
    [name, checksum]
}

pub(super) fn render_installer(
    plan: &Plan,
    lock: &Lock,
    guest: &Guest,
    packer: &Tree,
    provisioners: &Tree,
) -> Result<Workspace> {
    let guest_plan = format_plan(&guest.plan);
    let mut files: BTreeMap<String, Vec<u8>> = payload::list_files(&guest_plan, provisioners)
        .into_iter()
        .map(|(name, bytes)| (name, bytes.to_vec()))
        .collect();
    let script = provisioners
        .get(INSTALL)
        .ok_or_else(|| missing_error(INSTALL))?;
    // The preview of a policy installs nothing: neither by the script nor by the plan's name.
    if lock.not_admitted.is_none() {
        files.insert("Install.ps1".to_owned(), script.to_vec());
    } else if let Some(preview) = files.remove(GUEST_PLAN_FILE) {
        files.insert("guest-plan.not-admitted.json".to_owned(), preview);
    }
    // Whoever runs an installer trusts its signer before it starts: nothing of it runs otherwise.
    for certificate in plan
        .governance
        .signing
        .iter()
        .flat_map(|signing| &signing.certificates)
    {
        let store = match certificate.store {
            CertificateStore::Root => "Root",
            CertificateStore::Authority => "CA",
            CertificateStore::TrustedPublisher => "TrustedPublisher",
        };
        let name = format!("certificates/{store}-{}.cer", &certificate.sha256[..16]);
        files.insert(
            name,
            STANDARD.decode(&certificate.content).unwrap_or_default(),
        );
    }
    if let TargetKind::Machine(machine) = &plan.target.kind {
        for name in &machine.files {
            let path = format!("targets/{}/{name}", plan.target.name);
            let bytes = packer.get(&path).ok_or_else(|| missing_error(&path))?;
            files.insert(name.clone(), bytes.to_vec());
        }
        if machine.offline_policies {
            let policies = offline::format_policies(&guest.plan).into_iter();
            files.extend(
                policies.map(|(name, text)| (format!("registry/{name}"), text.into_bytes())),
            );
        }
    }
    files.insert(
        "README.md".to_owned(),
        hcl::Templates::new(packer, &build_context(plan, &guest.plan))
            .render_template("installer.md")?
            .into_bytes(),
    );
    let lock_text = lock.encode();
    let digest = sha256_hex(lock_text.as_bytes());
    files.insert(LOCK_FILE.to_owned(), lock_text.into_bytes());
    let choices = record::record_choices(plan, &[]);
    if !choices.mirrors.is_empty() {
        let text = json::format_json(&json!(choices));
        files.insert(WORKSPACE_RECORD.to_owned(), text.into_bytes());
    }
    Ok(Workspace {
        files,
        payload: sha256_hex(guest_plan.as_bytes()),
        lock: digest,
    })
}
