//! Locks and workspaces as a whole.

mod again;
mod environment;
mod scripts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use schemars::JsonSchema;
use serde::Serialize;

use crate::acquire::{StoredTrust, VerifiedArtifact, reprove_artifact};
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::program::ProgramVersion;
use crate::bundle;
use crate::catalog::{Keys, Trees};
use crate::diagnostic::{Error, Result};
use crate::fetch::MAX_SIZE;
use crate::io::fs::{DigestSet, digest_stream};
use crate::io::{clock, fs};
use crate::lock::{LOCK_FILE, Lock, is_lock};
use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::model::plan::PlannedArtifact;
use crate::planning::{PolicyOfLock, resolve_lock};
use crate::render::Workspace;
use crate::selection::{read_lock, read_policy};
use crate::trust::check_unproven;
use crate::ui::Printer;
use crate::verify::archive::{self, Limits};
use crate::verify::{NotProven, ProofError, record_evidence};

use self::again::{RenderedAgain, find_added, render_again};
use super::demanded::{MadeProofs, Prover, list_unasked};
use super::review::{Review, find_lock_pins, list_unproven};
use super::{Inspected, VerifyRequest, proven};

const SCHEMA: &str = "imagegen.dev/verify-lock/v1";

/// Proofs of a lockfile or a workspace, and the artifacts that its lock does not pin.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WholeOutput {
    pub schema: &'static str,
    /// Path of the lockfile or workspace.
    pub name: String,
    /// Proofs that were made now.
    pub evidence: Vec<Evidence>,
    /// Proofs that the lock recorded when it was written. Nothing of it was checked.
    pub recorded: Vec<Evidence>,
    pub unpinned: Vec<String>,
    /// Declared proofs of which the lock has no record.
    pub unasked: Vec<String>,
    /// Artifacts whose digest only the lock states, and of which no proof was made now.
    pub unproven: Vec<String>,
    /// Folders of a workspace whose files were not compared: results of builds, which Packer does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncompared: Vec<String>,
    /// Proofs that were made with the folder of `--proofs`.
    #[serde(skip)]
    pub from_folder: usize,
}

impl WholeOutput {
    /// # Errors
    /// A proof failed, an artifact is not pinned, or no proof was made with the folder of `--proofs`.
    pub fn require_proofs(&self, folder: Option<&Path>) -> Result<()> {
        let unpinned = self.unpinned.len();
        let failed = self
            .evidence
            .iter()
            .filter(|proof| proof.verdict == Verdict::Failed)
            .count()
            + unpinned;
        let proofs = self.evidence.len() + unpinned;
        // The comparison with the catalog is no proof of the folder that the user names.
        let is_idle = failed == 0 && folder.is_some() && self.from_folder == 0;
        if proofs == 0 || is_idle {
            return Err(refuse_unverified(&self.name, folder));
        }
        if failed == 0 {
            return Ok(());
        }
        let file = self.name.clone();
        let error = NotProven {
            file,
            failed,
            proofs,
        };
        Err(error.into())
    }
}

/// No proof failed, but a lockfile is not verified without one.
fn refuse_unverified(name: &str, folder: Option<&Path>) -> Error {
    let others = "or compare it: `--lock FILE` with a reviewed lockfile, `--policy FILE` with catalog and policy";
    match folder {
        None => {
            let message = format!("{name}: nothing was verified: no proof was requested");
            let remedy =
                format!("add `--proofs DIR`, which `imagegen lock --proofs DIR` writes, {others}");
            Error::usage(message, remedy)
        }
        Some(folder) => {
            let folder = folder.display();
            let message =
                format!("{name}: nothing was verified: {folder} has no proof of its artifacts");
            let remedy =
                format!("name the folder that `imagegen lock --proofs DIR` wrote, {others}");
            Error::value(message, remedy)
        }
    }
}

/// A lockfile or a bundle; none where the file is neither.
pub(super) fn inspect_whole(
    request: &VerifyRequest,
    path: &Path,
    review: Review<'_>,
    trees: &Trees,
    printer: &Printer,
) -> Result<Option<Inspected>> {
    let head = fs::read_head(path, 8)?;
    let prover = request.prover(trees, printer);
    if head.starts_with(b"{") || names_lock(path) {
        let bytes = fs::read_head(path, fs::LARGEST_TEXT)?;
        if names_lock(path) || is_lock(&bytes) {
            let lock = Lock::decode(&request.file, &bytes)?;
            let folder = request.proofs.as_deref();
            let whole = inspect_lock(&request.file, &lock, folder, review, prover)?;
            return Ok(Some(Inspected::Whole(whole)));
        }
    }
    let is_bundle = bundle::is_bundle(&fs::read_head(path, bundle::MARK as u64)?);
    if is_bundle && request.proofs.is_none() {
        let opened = review.verify_bundle(path, trees, printer)?;
        return Ok(Some(Inspected::Bundle(Box::new(opened))));
    }
    Ok(None)
}

/// Whether a file has the name of a lockfile: `imagegen.lock.json`, `imagegen.TARGET.lock.json`.
fn names_lock(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("imagegen.") && name.ends_with(".lock.json")
}

/// A workspace is what its lock makes: it is rendered again, and every file is compared.
pub(super) fn inspect_workspace(
    folder: &Path,
    review: Review<'_>,
    prover: Prover<'_>,
) -> Result<WholeOutput> {
    let trees = prover.trees;
    let name = folder.display().to_string();
    let file = format!("{name}/{LOCK_FILE}");
    let bytes = fs::read_text(&folder.join(LOCK_FILE))?;
    let lock = Lock::decode(&file, &bytes)?;
    lock.require_own_files(&file, &trees.own_files)?;
    // A policy that cannot be read is the user's mistake and no property of the workspace.
    read_policy(review.policy)?;
    let mut unproven = match review.lock {
        Some(_) => list_unproven(&lock, trees),
        None => find_lock_pins(&lock, trees)?,
    };
    let mut found = Vec::new();
    if let Some(path) = review.lock {
        let outcome = compare_reviewed(path, &bytes)?;
        found.push(record_comparison(LOCK_FILE, outcome));
    }
    let values = read_values(folder)?;
    let mut uncompared = Vec::new();
    let mut made = Vec::new();
    match render_again(folder, &values, &file, &lock, review.policy, trees) {
        Err(error) => {
            let error = ProofError::new(Code::LOCK_REFUSED, error.to_string());
            found.push(record_comparison(LOCK_FILE, Err(error)));
        }
        Ok(again) => {
            let writer = find_other_writer(&values);
            found.extend(compare_files(folder, &again, writer.as_deref(), &lock)?);
            // The policy is about the bytes that the workspace names. It is no use to fetch them for another one.
            if found.iter().all(|proof| proof.verdict.holds()) {
                let (plan, policy) = (&again.plan, &again.policy);
                made = prover.prove_demanded(plan, policy, &MadeProofs::new())?;
                add_proven(&made, &mut found, &mut unproven);
            }
            uncompared = again.results;
            uncompared.retain(|name| fs::is_folder(&folder.join(name)));
        }
    }
    // Without a reviewed one, the lockfile must not be the only record of a digest.
    if let Some(title) = unproven.first().filter(|_| review.lock.is_none()) {
        found.push(record_comparison(LOCK_FILE, Err(unreviewed_error(title))));
    }
    let unpinned = lock.list_unpinned();
    let unasked = list_unasked(&lock, &made, &MadeProofs::new());
    Ok(WholeOutput {
        schema: SCHEMA,
        name,
        evidence: found,
        recorded: Vec::new(),
        unpinned,
        unasked,
        unproven,
        uncompared,
        from_folder: 0,
    })
}

/// The files of a workspace against those that its lockfile renders.
fn compare_files(
    folder: &Path,
    again: &RenderedAgain,
    writer: Option<&str>,
    lock: &Lock,
) -> Result<Vec<Evidence>> {
    let RenderedAgain {
        rendered, archive, ..
    } = again;
    let mut found = Vec::new();
    for (path, bytes) in &rendered.files {
        let there = fs::read_if_exists(&folder.join(path))?;
        // What a link leads to may be another file by the time that Packer reads it.
        let is_own = fs::is_file(&folder.join(path));
        let same = is_own && there.as_ref() == Some(bytes);
        let other = match (&there, writer) {
            (None, _) => "it is missing",
            (Some(_), _) if !is_own => "it is a link or no regular file",
            (Some(_), None) => "it differs from what the lockfile renders",
            (Some(_), Some(writer)) => writer,
        };
        let outcome = compare(same, "the lockfile renders the same bytes", other);
        found.push(record_comparison(path, outcome));
    }
    if let Some(outcome) = check_archive(folder, archive, rendered, lock)? {
        found.push(record_comparison(&archive[0], outcome));
    }
    for path in find_added(folder, again)? {
        let message = "the lockfile does not render this file";
        let error = ProofError::new(Code::FILE_ADDED, message);
        found.push(record_comparison(&path, Err(error)));
    }
    Ok(found)
}

fn record_comparison(subject: &str, outcome: Result<&str, ProofError>) -> Evidence {
    record_evidence(ProofKind::Pin, subject, None, outcome.map(proven))
}

/// Adds the proofs of artifacts that were proven now.
fn add_proven(proven: &[VerifiedArtifact], found: &mut Vec<Evidence>, unproven: &mut Vec<String>) {
    for verified in proven {
        let artifact = verified.artifact();
        if !artifact.unproven {
            unproven.retain(|title| *title != artifact.title());
        }
        found.extend(artifact.evidence.iter().cloned());
    }
}

fn compare_reviewed(path: &Path, bytes: &[u8]) -> Result<Result<&'static str, ProofError>> {
    let same = read_lock(path)?.encode().as_bytes() == bytes;
    let (good, bad) = (
        "it is the reviewed lockfile",
        "it is not the reviewed lockfile",
    );
    Ok(compare(same, good, bad))
}

fn unreviewed_error(title: &str) -> ProofError {
    let message = format!(
        "only this lockfile states the digest of {title}; compare it with a reviewed one: `--lock FILE`"
    );
    ProofError::new(Code::LOCK_UNREVIEWED, message)
}

fn compare<'a>(same: bool, good: &'a str, bad: &str) -> Result<&'a str, ProofError> {
    if same {
        Ok(good)
    } else {
        Err(ProofError::new(Code::FILE_DIFFERS, bad))
    }
}

/// The program that wrote a workspace, by its tags, if it is another one than this.
fn find_other_writer(values: &BTreeMap<String, Value>) -> Option<String> {
    let this = ProgramVersion::current();
    let tags = values.get("image_tags")?;
    let (version, catalog) = (
        tags["imagegen-version"].as_str()?,
        tags["imagegen-catalog"].as_str()?,
    );
    if version == this.version && catalog == this.catalog {
        return None;
    }
    Some(format!(
        "it differs from what the lockfile renders; its tags name imagegen {version} with the catalog {catalog}, and \
         this is imagegen {} with the catalog {}: verify it with the version that wrote it",
        this.version, this.catalog
    ))
}

/// Values of the workspace's variables. Those of build-time variables are the user's: no lockfile has them.
fn read_values(folder: &Path) -> Result<BTreeMap<String, Value>> {
    let name = "imagegen.auto.pkrvars.json";
    let Some(bytes) = fs::read_if_exists(&folder.join(name))? else {
        return Ok(BTreeMap::new());
    };
    Ok(json::parse_json(name, &bytes)?)
}

/// The archive for an existing machine: the workspace's files, and artifacts by the digests of the lock.
fn check_archive(
    folder: &Path,
    names: &[String],
    rendered: &Workspace,
    lock: &Lock,
) -> Result<Option<Result<&'static str, ProofError>>> {
    let path = folder.join(&names[0]);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let mut pins: BTreeSet<&str> = lock
        .selection
        .user_files()
        .map(|file| file.sha256.as_str())
        .collect();
    for artifact in &lock.artifacts {
        pins.extend(artifact.digests.iter().map(|pin| pin.digest.as_str()));
    }
    let mut rest: BTreeMap<&String, &Vec<u8>> = rendered.files.iter().collect();
    let read = archive::read_own_members(
        fs::open_file(&path)?,
        &Limits {
            entry: MAX_SIZE,
            total: 16 * MAX_SIZE,
            ..Limits::default()
        },
        &mut |entry, content| {
            let sums = digest_stream(content, DigestSet::Both, &mut std::io::sink())
                .map_err(|error| archive::unreadable_error(entry, &error))?;
            let same = match (
                rest.remove(&entry.name),
                entry.name.strip_prefix("artifacts/"),
            ) {
                (Some(bytes), _) => sha256_hex(bytes) == sums.sha256,
                (None, Some(pin)) => {
                    pins.contains(pin)
                        && (pin == sums.sha256 || Some(pin) == sums.sha512.as_deref())
                }
                (None, None) => false,
            };
            if same {
                Ok(())
            } else {
                Err(difference_error(&entry.name))
            }
        },
    );
    let outcome = read.and_then(|_| match rest.keys().next() {
        Some(name) => Err(ProofError::new(
            Code::FILE_DIFFERS,
            format!("`{name}` is missing in it"),
        )),
        None => Ok("the lockfile renders the same files"),
    });
    let stated = fs::read_if_exists(&folder.join(&names[1]))?;
    let line = format!("{}  {}\n", fs::digest_file(&path)?.sha256, names[0]);
    let listed = stated.is_none_or(|stated| stated == line.as_bytes());
    Ok(Some(if listed {
        outcome
    } else {
        outcome.and(Err(difference_error(&names[1])))
    }))
}

fn difference_error(name: &str) -> ProofError {
    let message = format!("`{name}` differs from what the lockfile renders");
    ProofError::new(Code::FILE_DIFFERS, message)
}

/// A lock says what was proven when it was written; what was kept of it is proven again, and what the policy demands.
fn inspect_lock(
    name: &str,
    lock: &Lock,
    folder: Option<&Path>,
    review: Review<'_>,
    prover: Prover<'_>,
) -> Result<WholeOutput> {
    let trees = prover.trees;
    let made = match folder {
        Some(folder) => reprove_kept(lock, folder, trees)?,
        None => MadeProofs::new(),
    };
    let mut found: Vec<Evidence> = Vec::new();
    let mut demanded = Vec::new();
    let mut unproven = list_unproven(lock, trees);
    if let Some(path) = review.lock {
        let outcome = compare_reviewed(path, lock.encode().as_bytes())?;
        found.push(record_evidence(
            ProofKind::Pin,
            name,
            None,
            outcome.map(proven),
        ));
    }
    if review.policy.file.is_some() {
        let required = PolicyOfLock::Required;
        let (plan, policy) = resolve_lock(name, lock, review.policy, required, trees)?;
        if folder.is_none() {
            check_unproven(&policy, plan.artifacts(), &trees.catalog)?;
        }
        let outcome = Ok(proven("catalog and policy give the same lockfile"));
        found.push(record_evidence(ProofKind::Pin, name, None, outcome));
        demanded = prover.prove_demanded(&plan, &policy, &made)?;
        add_proven(&demanded, &mut found, &mut unproven);
    }
    // Kept proofs are over the digests of the lock: what nothing proves now has those of the catalog.
    let must_prove = folder.is_some() && review.lock.is_none();
    if must_prove
        && let Err(error) = resolve_lock(name, lock, review.policy, PolicyOfLock::Ignored, trees)
    {
        let error = Err(ProofError::new(Code::LOCK_REFUSED, error.to_string()));
        found.push(record_evidence(ProofKind::Pin, name, None, error));
    }

    let mut recorded: Vec<Evidence> = Vec::new();
    let asked = made.values().flatten();
    let from_folder = asked
        .filter(|proof| proof.verdict != Verdict::Absent)
        .count();
    for artifact in &lock.artifacts {
        let title = artifact.title();
        let again = made.get(&title).map(Vec::as_slice).unwrap_or_default();
        if again.iter().any(|proof| proof.verdict.holds()) {
            unproven.retain(|other| *other != title);
        } else if must_prove && unproven.contains(&title) {
            found.push(record_evidence(
                ProofKind::Pin,
                &artifact.file,
                None,
                Err(unreviewed_error(&title)),
            ));
        }
        recorded.extend(list_recorded(artifact, again));
        found.extend(again.iter().cloned());
    }
    Ok(WholeOutput {
        schema: SCHEMA,
        name: name.to_owned(),
        evidence: found,
        recorded,
        unpinned: lock.list_unpinned(),
        unasked: list_unasked(lock, &demanded, &made),
        unproven,
        uncompared: Vec::new(),
        from_folder,
    })
}

/// Proofs that a lock recorded and that were not made again.
fn list_recorded(artifact: &PlannedArtifact, again: &[Evidence]) -> Vec<Evidence> {
    let mut recorded = artifact.evidence.clone();
    recorded.retain(|evidence| {
        let mut made = again.iter().filter(|new| new.verdict != Verdict::Absent);
        !made.any(|new| new.proof == evidence.proof)
    });
    recorded
}

/// Proves again what `lock --proofs` kept in a folder.
fn reprove_kept(lock: &Lock, folder: &Path, trees: &Trees) -> Result<MadeProofs> {
    let trust = StoredTrust {
        keys: &*Keys::load(trees.catalog.tree())?,
        now: clock::current_time(),
    };
    let mut made = MadeProofs::new();
    for artifact in &lock.artifacts {
        let proofs = reprove_artifact(artifact, folder, trust)?;
        made.insert(artifact.title(), proofs);
    }
    Ok(made)
}
