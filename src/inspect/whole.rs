//! Locks and workspaces as a whole.

use std::path::Path;

use crate::acquire::{Keys, reprove_artifact};
use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::io::fs;
use crate::lock::Lock;
use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::model::json;
use crate::model::resource::ArchiveFormat;
use crate::verify::archive::{self, Limits, Wanted};
use crate::verify::{NotProven, ProofError, record_evidence};

use super::{compare_digest, proven};

/// Proofs of a lockfile or a workspace, and the artifacts that its lock does not pin.
#[derive(Debug)]
pub struct WholeOutput {
    pub name: String,
    /// Proofs that were made now.
    pub evidence: Vec<Evidence>,
    /// What the lock says to have been proven when it was written. Nothing of it was checked.
    pub recorded: Vec<Evidence>,
    pub unpinned: Vec<String>,
}

impl WholeOutput {
    /// # Errors
    /// A proof failed, none was made, or an artifact is not pinned.
    pub fn require_proofs(&self) -> Result<(), NotProven> {
        let unpinned = self.unpinned.len();
        let failed = self.evidence.iter().filter(|proof| proof.verdict == Verdict::Failed).count() + unpinned;
        let proofs = self.evidence.len() + unpinned;
        if failed == 0 && proofs > 0 {
            Ok(())
        } else {
            Err(NotProven { file: self.name.clone(), failed, proofs })
        }
    }
}

/// A workspace is what its lock and its plan make: every file that is digested is compared.
pub(super) fn inspect_workspace(folder: &Path) -> Result<WholeOutput> {
    let name = folder.display().to_string();
    let read = |file: &str| fs::read_file(&folder.join(file));
    let lock = Lock::decode(&format!("{name}/imagegen.lock.json"), &read("imagegen.lock.json")?)?;
    let values: serde_json::Value =
        json::parse_json("imagegen.auto.pkrvars.json", &read("imagegen.auto.pkrvars.json")?)?;
    let stated = values["payload_sha256"].as_str().unwrap_or_default().to_owned();
    let payload = fs::digest_file(&folder.join("payload.zip"))?;
    let mut found = vec![record_evidence(
        ProofKind::Pin,
        "payload.zip",
        None,
        compare_digest("SHA-256", &stated, &payload.sha256),
    )];
    let plan = Wanted::from_names(["guest-plan.json"]);
    let beside = read("guest-plan.json")?;
    let mut same = false;
    archive::read_members(
        fs::open_file(&folder.join("payload.zip"))?,
        ArchiveFormat::Zip,
        &plan,
        &Limits::default(),
        &mut |entry, content| {
            same = archive::read_member_bytes(entry, content)? == beside;
            Ok(())
        },
    )?;
    let outcome = if same {
        Ok(proven("it is the plan that the payload carries"))
    } else {
        Err(ProofError::new("plan-differs", "it is not the plan that the payload carries"))
    };
    found.push(record_evidence(ProofKind::Pin, "guest-plan.json", None, outcome));
    Ok(WholeOutput { name, evidence: found, recorded: Vec::new(), unpinned: lock.unpinned_artifacts() })
}

/// A lock says what was proven when it was written; what was kept of it is proven again.
pub(super) fn inspect_lock(
    name: &str,
    lock: &Lock,
    bundles: Option<&Path>,
    manifests: &Tree,
) -> Result<WholeOutput> {
    let kept = bundles.map(|folder| Keys::read(manifests).map(|keys| (folder, keys))).transpose()?;
    let (mut found, mut recorded): (Vec<Evidence>, Vec<Evidence>) = (Vec::new(), Vec::new());
    for artifact in &lock.artifacts {
        let again = match &kept {
            Some((folder, keys)) => reprove_artifact(artifact, folder, keys)?,
            None => Vec::new(),
        };
        let other = |one: &&Evidence| !again.iter().any(|new| new.proof == one.proof);
        recorded.extend(artifact.evidence.iter().filter(other).cloned());
        found.extend(again);
    }
    Ok(WholeOutput { name: name.to_owned(), evidence: found, recorded, unpinned: lock.unpinned_artifacts() })
}
