//! Locks and workspaces as a whole.

use std::path::Path;

use crate::acquire::{Keys, prove_again};
use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::io::fs;
use crate::lock::Lock;
use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::model::json;
use crate::model::resource::ArchiveFormat;
use crate::ui::Printer;
use crate::verify::archive::{self, Limits, Wanted};
use crate::verify::{NotProven, ProofError, evidence};

use super::{compared, line, proven};

/// A workspace is what its lock and its plan make: every file that is digested is compared.
pub(super) fn workspace(folder: &Path, printer: &Printer) -> Result<()> {
    let name = folder.display().to_string();
    let read = |file: &str| fs::read(&folder.join(file));
    let lock = Lock::decode(&format!("{name}/imagegen.lock.json"), &read("imagegen.lock.json")?)?;
    let values: serde_json::Value =
        json::parse("imagegen.auto.pkrvars.json", &read("imagegen.auto.pkrvars.json")?)?;
    let stated = values["payload_sha256"].as_str().unwrap_or_default().to_owned();
    let payload = fs::digests(&folder.join("payload.zip"))?;
    let mut found =
        vec![evidence(ProofKind::Pin, "payload.zip", None, compared("SHA-256", &stated, &payload.sha256))];
    let plan = Wanted::names(["guest-plan.json"]);
    let beside = read("guest-plan.json")?;
    let mut same = false;
    archive::members(
        fs::open(&folder.join("payload.zip"))?,
        ArchiveFormat::Zip,
        &plan,
        &Limits::default(),
        &mut |entry, content| {
            same = archive::whole(entry, content)? == beside;
            Ok(())
        },
    )?;
    let outcome = if same {
        Ok(proven("it is the plan that the payload carries"))
    } else {
        Err(ProofError::new("plan-differs", "it is not the plan that the payload carries"))
    };
    found.push(evidence(ProofKind::Pin, "guest-plan.json", None, outcome));
    told(&name, &found, &lock.unpinned(), printer)
}

/// A lock says what was proven when it was written; what was kept of it is proven again.
pub(super) fn lock_evidence(
    name: &str,
    lock: &Lock,
    bundles: Option<&Path>,
    manifests: &Tree,
    printer: &Printer,
) -> Result<()> {
    let kept = bundles.map(|folder| Keys::read(manifests).map(|keys| (folder, keys))).transpose()?;
    let mut found: Vec<Evidence> = Vec::new();
    for artifact in &lock.artifacts {
        let again = match &kept {
            Some((folder, keys)) => prove_again(artifact, folder, keys)?,
            None => Vec::new(),
        };
        let other = |one: &&Evidence| !again.iter().any(|new| new.proof == one.proof);
        found.extend(artifact.evidence.iter().filter(other).cloned());
        found.extend(again);
    }
    told(name, &found, &lock.unpinned(), printer)
}

fn told(name: &str, found: &[Evidence], unpinned: &[String], printer: &Printer) -> Result<()> {
    let failed = found.iter().filter(|proof| proof.verdict == Verdict::Failed).count() + unpinned.len();
    let proofs = found.len() + unpinned.len();
    printer.result(&found, || {
        let mut text: String = found.iter().map(|proof| line(proof) + "\n").collect();
        for artifact in unpinned {
            text = text + "unpinned              " + artifact + "\n";
        }
        text
    })?;
    if failed == 0 {
        return Ok(());
    }
    Err(NotProven { file: name.to_owned(), failed, proofs }.into())
}
