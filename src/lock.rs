//! Plan ↔ lock: what exactly goes into an image, as canonical JSON without times.
//!
//! `imagegen lock` is its only writer. Every other verb resolves again and refuses to go on where
//! the lock and the world disagree.

mod compare;
mod error;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::program::ProgramVersion;
use crate::base::url::strip_value;
use crate::base::value::ImageReference;
use crate::base::version::Version;
use crate::diagnostic::Classify;
use crate::model::definition::ImageDefinition;
use crate::model::plan::{Pins, Plan, PlannedArtifact, PlannedPacker, Warning, list_unpinned};
use crate::model::policy::PolicyUsed;
use crate::model::support::SupportEnd;
use crate::model::tagged_image::TaggedImage;

pub use error::LockError;

/// Name of the schema of `imagegen.lock.json`.
pub const SCHEMA: &str = "imagegen.dev/lock/v1";
/// Name of a lockfile beside its image definition, and in a workspace.
pub const LOCK_FILE: &str = "imagegen.lock.json";

/// `imagegen.lock.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Lock {
    pub schema: String,
    /// The program that wrote the lockfile: a record, which makes no lockfile stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_by: Option<ProgramVersion>,
    pub inputs: LockInputs,
    /// The selection, every default written out, without build-time variables.
    pub selection: ImageDefinition,
    pub kubernetes: Version,
    pub runtime_version: Version,
    pub pause: String,
    /// Container images that the node gets before its first pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageReference>,
    /// Those of them that the selection names by tag, with the answers of their registries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tagged_images: Vec<TaggedImage>,
    /// The target's variables that name the source image.
    pub base_image: BTreeMap<String, Value>,
    /// None where no image is baked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packer: Option<PlannedPacker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyUsed>,
    /// Why the policy has admitted nothing yet: the lock of a preview, which nothing is built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_admitted: Option<String>,
    /// Versions that `lock --update` found: component, or `kubernetes`, → version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub updated: BTreeMap<String, Version>,
    /// Steps, targets and components that the user brought, with the files beside them: path → SHA-256.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_files: BTreeMap<String, String>,
    /// Until when the parts of the image are supported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub support: Vec<SupportEnd>,
    /// By component.
    pub artifacts: Vec<PlannedArtifact>,
    pub warnings: Vec<Warning>,
}

/// Digests of what the lock was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockInputs {
    /// SHA-256 of the settled selection.
    pub selection: String,
    /// SHA-256 of the catalog's entries that were used.
    pub catalog: String,
}

/// SHA-256 by which records name a lockfile: of the line ends that imagegen writes, because a checkout on Windows has
/// others (`core.autocrlf`), and the image is the same.
pub fn digest_lockfile(bytes: &[u8]) -> String {
    let mut lines: Vec<&[u8]> = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        lines.push(line.strip_suffix(b"\r").unwrap_or(line));
    }
    sha256_hex(&lines.join(&b'\n'))
}

/// Whether a file is a lockfile of any version.
pub fn is_lock(bytes: &[u8]) -> bool {
    match json::parse_foreign::<Value>(bytes) {
        Ok(value) => value["schema"].as_str().is_some_and(is_schema),
        // One that was damaged, as a merge does.
        Err(_) => String::from_utf8_lossy(bytes).contains(name_family()),
    }
}

/// Whether a schema is that of a lockfile of any version.
fn is_schema(name: &str) -> bool {
    name.starts_with(name_family())
}

/// The schema's name without its version.
fn name_family() -> &'static str {
    SCHEMA.trim_end_matches(|last: char| last != '/')
}

/// The flag that brings an own file, and the file as its folder has it.
fn describe_own_file(path: &str) -> (&'static str, &str) {
    let (kind, rest) = path.split_once('/').unwrap_or_default();
    match kind {
        "targets" => ("--targets", rest),
        "components" => ("--component-files", rest),
        "pins" => ("--component-files", path),
        "templates" => ("--steps", path),
        _ => ("--steps", rest),
    }
}

/// Artifacts whose bytes nobody has pinned.
#[derive(Debug, thiserror::Error)]
#[error("not pinned by digest: {}", .0.join(", "))]
pub struct Unpinned(pub Vec<String>);

impl Classify for Unpinned {
    fn remedies(&self) -> Vec<String> {
        vec![
            "run `imagegen lock` to pin them by their publishers' proofs, or preview with `--no-bake`"
                .to_owned(),
        ]
    }

    fn code(&self) -> Code {
        Code::UNPINNED
    }
}

/// Error of using a preview that was made under a policy.
#[derive(Debug, thiserror::Error)]
#[error("not admitted: {0}")]
pub struct NotAdmitted(pub String);

impl Classify for NotAdmitted {
    fn remedies(&self) -> Vec<String> {
        vec!["run `imagegen lock` with the policy, and use the lockfile that it writes".to_owned()]
    }

    fn code(&self) -> Code {
        Code::NOT_ADMITTED
    }
}

/// A plan whose every artifact has a digest, with its lock. Only [`PinnedPlan::new`] makes one.
#[derive(Debug)]
pub struct PinnedPlan {
    plan: Plan,
    lock: Lock,
}

impl PinnedPlan {
    /// # Errors
    /// Some artifact has no digest.
    pub fn new(plan: Plan) -> Result<Self, Unpinned> {
        let lock = Lock::from_plan(&plan);
        lock.require_pins()?;
        Ok(Self { plan, lock })
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Records members that were read in archives of these very digests.
    pub(crate) fn record_members<'a>(&mut self, proven: impl Iterator<Item = &'a PlannedArtifact>) {
        for proven in proven {
            let planned = self
                .plan
                .groups
                .iter_mut()
                .flat_map(|group| &mut group.artifacts);
            for artifact in planned.chain(&mut self.lock.artifacts) {
                if artifact.component == proven.component && artifact.has_digests_of(proven) {
                    artifact.members.clone_from(&proven.members);
                }
            }
        }
    }

    pub fn lock(&self) -> &Lock {
        &self.lock
    }
}

impl Lock {
    pub fn from_plan(plan: &Plan) -> Self {
        let mut artifacts: Vec<PlannedArtifact> = plan.artifacts().cloned().collect();
        artifacts.sort_by(|a, b| a.component.cmp(&b.component));
        let base_image = plan
            .target
            .variables
            .iter()
            .filter(|variable| variable.base_image)
            .filter_map(|variable| {
                Some((
                    variable.name.clone(),
                    strip_value(plan.variables.get(&variable.name)?),
                ))
            })
            .collect();
        let selection = plan.locked_selection();
        Self {
            schema: SCHEMA.to_owned(),
            written_by: Some(
                plan.locked_by
                    .clone()
                    .unwrap_or_else(ProgramVersion::current),
            ),
            inputs: LockInputs {
                selection: sha256_hex(json::format_json(&selection).as_bytes()),
                catalog: plan.catalog.clone(),
            },
            selection,
            kubernetes: plan.kubernetes.clone(),
            runtime_version: plan.runtime_version.clone(),
            pause: plan.pause.clone(),
            images: plan.images.clone(),
            tagged_images: plan.tagged_images.clone(),
            base_image,
            packer: plan.packer.clone(),
            policy: plan.governance.policy.clone(),
            not_admitted: None,
            updated: plan.updated.clone(),
            own_files: plan.own_files.clone(),
            support: plan.support.clone(),
            artifacts,
            warnings: plan.warnings(),
        }
    }

    /// The lock of a plan whose bytes nobody has seen: under a policy it says so.
    pub fn for_preview(plan: &Plan) -> Self {
        let policy = plan.governance.policy.as_ref();
        let not_admitted = policy.map(|policy| {
            format!(
                "the bytes were not checked against the policy {}; run `imagegen build`",
                policy.name
            )
        });
        Self {
            not_admitted,
            ..Self::from_plan(plan)
        }
    }

    /// # Errors
    /// It is the lock of a preview.
    pub fn require_admission(&self) -> Result<(), NotAdmitted> {
        self.not_admitted
            .clone()
            .map_or(Ok(()), |reason| Err(NotAdmitted(reason)))
    }

    pub fn encode(&self) -> String {
        json::format_json(self)
    }

    /// Reads a lock.
    ///
    /// # Errors
    /// Not JSON, not a lock, or of another schema.
    pub fn decode(file: &str, bytes: &[u8]) -> Result<Self, LockError> {
        #[derive(Deserialize, JsonSchema)]
        struct Head {
            #[serde(default)]
            schema: String,
        }
        let head: Head = json::parse_json(file, bytes)?;
        if head.schema != SCHEMA {
            return Err(LockError::Schema {
                file: file.to_owned(),
                found: head.schema,
            });
        }
        Ok(json::parse_json(file, bytes)?)
    }

    /// Refuses a lock whose files of the user's own are not given: without them nothing can be computed again.
    ///
    /// # Errors
    /// The files, and the flags that bring them.
    pub fn require_own_files(
        &self,
        file: &str,
        own: &BTreeMap<String, String>,
    ) -> Result<(), LockError> {
        let missing: Vec<&String> = self
            .own_files
            .keys()
            .filter(|path| !own.contains_key(*path))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut flags: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (flag, name) in missing.iter().map(|path| describe_own_file(path)) {
            flags.entry(flag).or_default().push(name);
        }
        let flags = flags.into_iter().map(|(flag, names)| {
            format!(
                "add `{flag} DIR` with the folder that holds {}",
                names.join(", ")
            )
        });
        let missing = missing
            .iter()
            .map(|path| format!("{path} (SHA-256 {})", self.own_files[*path]));
        Err(LockError::OwnFiles {
            file: file.to_owned(),
            missing: missing.collect(),
            flags: flags.collect(),
        })
    }

    /// Refuses a lock that was made from something else than `plan`.
    ///
    /// # Errors
    /// Names inputs that moved, in the order of a reader's interest.
    pub fn check_fresh(&self, file: &str, plan: &Plan) -> Result<(), LockError> {
        let fresh = Self::from_plan(&plan.clone().with_pins(self.pins()));
        let mut moved = if self.inputs == fresh.inputs && self.policy == fresh.policy {
            Vec::new()
        } else {
            self.list_changes(&fresh)
        };
        if moved.is_empty() {
            moved = compare::list_differences(self, &fresh);
        }
        for artifact in &self.artifacts {
            moved.extend(compare::find_contradiction(artifact));
            moved.extend(compare::find_undeclared_proof(artifact));
        }
        if moved.is_empty() {
            return Ok(());
        }
        Err(LockError::Stale {
            file: file.to_owned(),
            moved,
            can_ignore: true,
        })
    }

    fn list_changes(&self, fresh: &Self) -> Vec<String> {
        let mut moved = compare::list_selection_changes(&self.selection, &fresh.selection);
        let mut differ =
            |what: &str, locked: &dyn std::fmt::Display, now: &dyn std::fmt::Display| {
                let (locked, now) = (locked.to_string(), now.to_string());
                if locked != now {
                    moved.push(format!("{what} was {locked} and is {now}"));
                }
            };
        let policy = |policy: &Option<PolicyUsed>| match policy {
            Some(used) => format!("{} ({})", used.name, &used.sha256[..12]),
            None => "none".to_owned(),
        };
        differ("policy", &policy(&self.policy), &policy(&fresh.policy));
        if let (Some(locked), Some(now)) = (&self.packer, &fresh.packer) {
            differ("Packer", &locked.version, &now.version);
        }
        let locked: BTreeMap<&str, &PlannedArtifact> = self
            .artifacts
            .iter()
            .map(|artifact| (artifact.component.as_str(), artifact))
            .collect();
        for now in &fresh.artifacts {
            match locked.get(now.component.as_str()) {
                None => moved.push(format!("{} is new", now.component)),
                Some(locked) if locked.version != now.version => {
                    moved.push(format!(
                        "{} was {} and is {}",
                        now.component, locked.version, now.version
                    ));
                }
                Some(locked) if locked.url != now.url => {
                    moved.push(format!(
                        "{} was at {} and is at {}",
                        now.component, locked.url, now.url
                    ));
                }
                Some(_) => {}
            }
        }
        for gone in &self.artifacts {
            if !fresh
                .artifacts
                .iter()
                .any(|now| now.component == gone.component)
            {
                moved.push(format!("{} is gone", gone.component));
            }
        }
        moved
    }

    /// The digests that this lock records.
    pub fn pins(&self) -> Pins<'_> {
        Pins::Locked {
            written_by: self.written_by.as_ref(),
            artifacts: &self.artifacts,
            images: &self.tagged_images,
        }
    }

    /// Artifacts and container images whose bytes nobody has pinned, as messages name them.
    pub fn list_unpinned(&self) -> Vec<String> {
        list_unpinned(self.artifacts.iter(), &self.tagged_images)
    }

    /// # Errors
    /// Some artifact has no digest.
    pub fn require_pins(&self) -> Result<(), Unpinned> {
        let unpinned = self.list_unpinned();
        if unpinned.is_empty() {
            Ok(())
        } else {
            Err(Unpinned(unpinned))
        }
    }
}
