//! The end of a build: `builds/VERSION` with its record, log, report and documents; `image.json` in the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::acquire::ProvenPlan;
use crate::attest::diff::DescribedImage;
use crate::attest::sbom::{format_cyclonedx, format_spdx};
use crate::bake::{BakeOutput, BakeTrace, CHECK_REPORT};
use crate::base::digest::sha256_hex;
use crate::base::json::format_json;
use crate::base::program::ProgramVersion;
use crate::base::text::is_hex;
use crate::catalog::Trees;
use crate::diagnostic::{Error, ErrorReport, Result};
use crate::guest::{GUEST_PLAN_FILE, parse_guest_plan};
use crate::io::clock;
use crate::io::fs::{self, PlaceClaim};
use crate::lock::{LOCK_FILE, Lock};
use crate::model::evidence::Evidence;
use crate::model::image_version::{ImageVersion, RecordedVersion};
use crate::model::plan::Plan;
use crate::model::policy::{Policy, Waiver};
use crate::workspace::{BUILDS, IMAGE_RECORD};

use super::bill::{format_time, list_bill, read_bill_sources_of};
use super::image::{BaseImageRecord, GitState, IMAGE_SCHEMA, ImageRecord};
use super::{add_bake, list_notes, list_reasons, list_unproven};

/// Every event of a bake, beside its record.
const TIMELINE: &str = "timeline.json";

/// Files of the workspace that a record keeps a copy of.
const COPIED: &[&str] = &[
    GUEST_PLAN_FILE,
    "packer.log",
    "packer-manifest.json",
    CHECK_REPORT,
];

/// State of a build so far; a record is made of it whenever the build ends.
#[derive(Debug)]
pub struct BuildTrace {
    /// Milliseconds since 1970.
    pub started: u64,
    pub plan: Plan,
    /// Name of the image in its definition.
    pub image: String,
    /// SHA-256 of the lockfile that the build used.
    pub lockfile: Option<String>,
    pub evidence: BTreeMap<String, Vec<Evidence>>,
    pub bake: BakeTrace,
    pub git: Option<GitState>,
    pub run_url: Option<String>,
}

impl BuildTrace {
    /// Takes what was proven.
    pub fn add_proofs(&mut self, proven: &ProvenPlan) {
        self.plan = proven.plan().clone();
        for verified in proven.artifacts() {
            let artifact = verified.artifact();
            self.evidence
                .insert(artifact.component.to_string(), artifact.evidence.clone());
        }
    }
}

/// Where a record is kept, and what it says.
#[derive(Debug)]
pub struct KeptBuild {
    pub folder: PathBuf,
    pub record: ImageRecord,
    /// SHA-256 of `image.json`.
    pub sha256: String,
}

/// Keeps the record of a build, whether it made an image or failed.
///
/// # Errors
/// A file cannot be read or written.
pub fn keep_build(
    claim: &PlaceClaim,
    trace: &BuildTrace,
    outcome: Result<&BakeOutput, &Error>,
    policy: &Policy,
    trees: &Trees,
) -> Result<KeptBuild> {
    let workspace = claim.path();
    let built = KeptLock::new(&trace.plan);
    let builds = workspace.join(BUILDS);
    let name = fs::create_numbered_folder(&builds, &built.version)?;
    let folder = builds.join(name);

    fs::write_file(&folder.join(LOCK_FILE), built.text.as_bytes())?;
    let files = keep_files(workspace, &folder, trace, &built.sha256)?;
    let record = describe_build(workspace, trace, outcome, policy, &built, files)?;
    write_bills(&folder, &trace.plan, built.lock, &record, trees)?;

    let bytes = format_json(&record).into_bytes();
    fs::write_file(&folder.join(IMAGE_RECORD), &bytes)?;
    if record.error.is_none() {
        fs::write_file(&workspace.join(IMAGE_RECORD), &bytes)?;
    }
    Ok(KeptBuild {
        folder,
        record,
        sha256: sha256_hex(&bytes),
    })
}

/// The lockfile of a build.
struct KeptLock {
    lock: Lock,
    text: String,
    sha256: String,
    /// The version of the image; of one without, the digest of its lock.
    version: RecordedVersion,
}

impl KeptLock {
    fn new(plan: &Plan) -> Self {
        let lock = Lock::from_plan(plan);
        let text = lock.encode();
        let sha256 = sha256_hex(text.as_bytes());
        let version = plan.selection.image_version.clone();
        let version = version.unwrap_or_else(|| ImageVersion::Inputs(sha256.clone()));
        Self {
            lock,
            text,
            sha256,
            version: RecordedVersion::from(&version),
        }
    }
}

/// Keeps what the build left, with the timeline. Returns the digest of each file.
fn keep_files(
    workspace: &Path,
    folder: &Path,
    trace: &BuildTrace,
    lock: &str,
) -> Result<BTreeMap<String, String>> {
    let timeline = format_json(&trace.bake.timeline);
    fs::write_file(&folder.join(TIMELINE), timeline.as_bytes())?;
    let mut files = BTreeMap::new();
    files.insert(TIMELINE.to_owned(), sha256_hex(timeline.as_bytes()));
    // Files of an earlier build are not those of one that ended before it wrote the workspace.
    if !workspace_is_of(workspace, lock)? {
        return Ok(files);
    }
    for name in COPIED {
        let copy = folder.join(name);
        fs::copy_if_exists(&workspace.join(name), &copy)?;
        if fs::is_file(&copy) {
            files.insert((*name).to_owned(), fs::digest_file(&copy)?.sha256);
        }
    }
    Ok(files)
}

/// Whether the workspace was written from this lock.
fn workspace_is_of(workspace: &Path, lock: &str) -> Result<bool> {
    let there = fs::read_text_if_exists(&workspace.join(LOCK_FILE))?;
    Ok(there.is_some_and(|bytes| sha256_hex(&bytes) == lock))
}

fn describe_build(
    workspace: &Path,
    trace: &BuildTrace,
    outcome: Result<&BakeOutput, &Error>,
    policy: &Policy,
    built: &KeptLock,
    files: BTreeMap<String, String>,
) -> Result<ImageRecord> {
    let plan = &trace.plan;
    let (artifacts, checked) = match outcome {
        Ok(output) => (output.artifacts.clone(), output.checked),
        Err(_) => (Vec::new(), 0),
    };
    Ok(ImageRecord {
        schema: IMAGE_SCHEMA.to_owned(),
        image_version: built.version.clone(),
        image: Some(trace.image.clone()),
        target: plan.target.name.clone(),
        windows: plan.windows.release.clone(),
        kubernetes: plan.kubernetes.to_string(),
        base_image: describe_base_image(workspace, plan, &built.lock, &built.sha256)?,
        lock: built.sha256.clone(),
        lockfile: trace.lockfile.clone(),
        built_by: ProgramVersion::current(),
        started: format_time(trace.started / 1000).unwrap_or_default(),
        finished: format_time(clock::current_time()).unwrap_or_default(),
        files,
        artifacts,
        waived: list_waived(&trace.evidence, policy),
        evidence: trace.evidence.clone(),
        checked,
        phases: trace.bake.timeline.phases.clone(),
        tools: trace.bake.tools.clone(),
        policy: plan.governance.policy.clone(),
        git: trace.git.clone(),
        run_url: trace.run_url.clone(),
        error: outcome.err().map(ErrorReport::from_error),
        record_sha256: None,
    })
}

/// Proofs that are missing and that a waiver accepts as missing.
fn list_waived(evidence: &BTreeMap<String, Vec<Evidence>>, policy: &Policy) -> Vec<Waiver> {
    let mut missing = Vec::new();
    for (component, proofs) in evidence {
        for proof in proofs {
            if !proof.is_waived() {
                continue;
            }

            let waiver = policy
                .waivers
                .iter()
                .find(|waiver| waiver.component == *component && waiver.proof == proof.proof);
            missing.push(Waiver {
                component: component.clone(),
                proof: proof.proof,
                note: waiver.and_then(|waiver| waiver.note.clone()),
            });
        }
    }
    missing
}

/// The variables of the base image, its id in the builder's output, and digests among the values.
fn describe_base_image(
    workspace: &Path,
    plan: &Plan,
    lock: &Lock,
    digest: &str,
) -> Result<BaseImageRecord> {
    let line = plan
        .target
        .image()
        .and_then(|image| image.base_image_line.as_ref());
    let id = match line {
        Some(line) if workspace_is_of(workspace, digest)? => {
            let log = fs::read_if_exists(&workspace.join("packer.log"))?.unwrap_or_default();
            line.find_value(&String::from_utf8_lossy(&log))
        }
        _ => None,
    };
    let mut digests = Vec::new();
    for artifact in plan.artifacts() {
        if artifact.role == crate::model::plan::ArtifactRole::BootMedia {
            digests.extend(artifact.digests.iter().map(|pin| {
                format!(
                    "{}:{}",
                    pin.digest.algorithm().as_str(),
                    pin.digest.as_str()
                )
            }));
        }
    }
    for value in lock.base_image.values().filter_map(Value::as_str) {
        let hex = value.strip_prefix("sha256:").unwrap_or(value);
        if hex.len() == 64 && is_hex(hex) {
            digests.push(format!("sha256:{}", hex.to_ascii_lowercase()));
        }
    }
    digests.sort();
    digests.dedup();
    Ok(BaseImageRecord {
        variables: lock.base_image.clone(),
        id,
        digests,
    })
}

/// Bills of materials in both formats.
fn write_bills(
    folder: &Path,
    plan: &Plan,
    lock: Lock,
    record: &ImageRecord,
    trees: &Trees,
) -> Result<()> {
    let place = folder.join(GUEST_PLAN_FILE);
    let guest = fs::read_text_if_exists(&place)?;
    let guest = guest.map(|bytes| parse_guest_plan(&place.display().to_string(), &bytes));
    let mut image = DescribedImage {
        name: folder.display().to_string(),
        notes: list_notes(&lock, &list_reasons(plan), trees),
        lock: Some(lock),
        guest: guest.transpose()?,
        unproven: list_unproven(plan),
        ..DescribedImage::default()
    };
    add_bake(&mut image, serde_json::to_value(record).unwrap_or_default());
    let sources = read_bill_sources_of(&image, trees)?;
    let bill = list_bill(&image, &sources);
    for (name, document) in [
        ("sbom.cdx.json", format_cyclonedx(&bill)),
        ("sbom.spdx.json", format_spdx(&bill)),
    ] {
        fs::write_file(&folder.join(name), format_json(&document).as_bytes())?;
    }
    Ok(())
}
