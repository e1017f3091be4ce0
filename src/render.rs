//! Plan + lock + guest plan → workspace: everything Packer needs, as bytes. Pure.
//!
//! HCL is static text with blocks chosen by tags in comments; values travel as JSON, where
//! `${…}` is text. Secrets have no place in a workspace: it can be published.

mod hcl;
mod installer;
mod offline;
mod payload;
mod record;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::base::choice::Delivery;
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::program::ProgramVersion;
use crate::diagnostic::{CodedError, Error, Result};
use crate::embedded::Tree;
use crate::guest::{GUEST_PLAN_FILE, Guest, format_plan};
use crate::lock::{LOCK_FILE, Lock};
use crate::model::guest_plan::GuestPlan;
use crate::model::plan::Plan;
use crate::model::target::{ImageTarget, PackerBase};
use crate::model::variable::{DefaultFrom, Variable};
use crate::windows::resource::{Phase, ResourceKind};

pub use installer::archive_names;
pub use record::{WORKSPACE_RECORD, WorkspaceRecord};

/// Stops Packer in a workspace that a policy has not admitted: no value is valid.
const NOT_ADMITTED: &str = r#"variable "admitted" {
  type        = bool
  description = "A preview under a policy. `imagegen build` proves the bytes and writes a workspace that builds."

  validation {
    condition     = var.admitted && !var.admitted
    error_message = "Not admitted: the bytes were not checked against the policy. Run imagegen build."
  }
}
"#;

const PAYLOAD: &str = "payload.zip";

/// A workspace, by file name.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub files: BTreeMap<String, Vec<u8>>,
    /// SHA-256 of `payload.zip`; of the guest plan where there is none.
    pub payload: String,
    /// SHA-256 of `imagegen.lock.json`.
    pub lock: String,
}

impl Workspace {
    /// SHA-256 of each file. Those of the payload and of the lockfile are known.
    pub fn digest_files(&self) -> BTreeMap<String, String> {
        let mut digests = BTreeMap::new();
        for (name, bytes) in &self.files {
            let digest = match name.as_str() {
                PAYLOAD => self.payload.clone(),
                LOCK_FILE => self.lock.clone(),
                _ => sha256_hex(bytes),
            };
            digests.insert(name.clone(), digest);
        }
        digests
    }
}

fn missing_error(path: &str) -> Error {
    file_error(path, &format!("packer has no file `{path}`"))
}

/// The built-in targets hold for every plan: what is wrong is a file of the user's.
fn file_error(path: &str, message: &str) -> Error {
    CodedError::in_file(Code::TARGET_FILE, format!("packer/{path}"), message).into()
}

/// Reads what every target's workspace needs.
///
/// # Errors
/// The file is missing or malformed.
pub fn read_packer_base(packer: &Tree) -> Result<Arc<PackerBase>> {
    let path = "packer.json";
    packer.share_json(path)?.ok_or_else(|| missing_error(path))
}

/// Renders a workspace.
///
/// # Errors
/// A template of `packer` is missing or wrong.
pub fn render_workspace(
    plan: &Plan,
    lock: &Lock,
    guest: &Guest,
    packer: &Tree,
    provisioners: &Tree,
) -> Result<Workspace> {
    if plan.target.image().is_none() {
        return installer::render_installer(plan, lock, guest, packer, provisioners);
    }
    let base = read_packer_base(packer)?;
    let guest_plan = format_plan(&guest.plan);
    let payload = payload::pack_archive(&guest_plan, provisioners)
        .map_err(|error| CodedError::new(Code::RENDER, format!("payload.zip: {error}")))?;
    let payload_digest = payload::digest_archive(&payload, provisioners);
    let lock_text = lock.encode();
    let lock_digest = sha256_hex(lock_text.as_bytes());
    let declared = list_declared_variables(plan, &base);
    let mut templates = hcl::Templates::new(packer, &build_context(plan, &guest.plan));
    let folder = format!("targets/{}", plan.target.name);
    let image_files = plan
        .target
        .image()
        .map(ImageTarget::files)
        .unwrap_or_default();
    let mut files = render_image_files(image_files, &folder, packer, &templates)?;
    templates.set_fact("files", &files.keys().collect::<Vec<_>>());
    for (name, path) in [
        ("plugins.pkr.hcl", format!("{folder}/plugins.pkr.hcl")),
        ("source.pkr.hcl", format!("{folder}/source.pkr.hcl")),
        ("build.pkr.hcl", "build.pkr.hcl".to_owned()),
        ("README.md", "workspace.md".to_owned()),
    ] {
        let text = templates.render_template(&path)?;
        files.insert(name.to_owned(), text);
    }
    for (name, text) in &mut files {
        let from_target = image_files.contains(name) || name == "source.pkr.hcl";
        if from_target && name.ends_with(".pkr.hcl") {
            *text = hcl::select_arguments(text, |name| declared.iter().any(|it| it.name == name));
        }
    }
    files.insert(
        "variables.pkr.hcl".to_owned(),
        hcl::render_variables(&declared),
    );
    let mut files = encode_files(files);
    let values = collect_variable_values(plan, &payload_digest, &lock_digest);
    files.insert(
        "imagegen.auto.pkrvars.json".to_owned(),
        json::format_json(&values).into_bytes(),
    );
    let choices = record::record_choices(plan, &declared);
    files.insert(
        WORKSPACE_RECORD.to_owned(),
        json::format_json(&json!(choices)).into_bytes(),
    );
    files.insert(GUEST_PLAN_FILE.to_owned(), guest_plan.into_bytes());
    files.insert(PAYLOAD.to_owned(), payload);
    files.insert(LOCK_FILE.to_owned(), lock_text.into_bytes());
    if lock.not_admitted.is_some() {
        files.insert(
            "not-admitted.pkr.hcl".to_owned(),
            NOT_ADMITTED.as_bytes().to_vec(),
        );
    }
    Ok(Workspace {
        files,
        payload: payload_digest,
        lock: lock_digest,
    })
}

/// Files that the target adds, from its own folder or the shared one.
fn render_image_files(
    names: &[String],
    folder: &str,
    packer: &Tree,
    templates: &hcl::Templates<'_>,
) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for name in names {
        let mut path = format!("{folder}/{name}");
        if packer.get(&path).is_none() {
            path = format!("shared/{name}");
        }
        let text = templates.render_template(&path)?;
        // A file that a choice leaves without contents is no part of the workspace.
        if !text.trim().is_empty() {
            files.insert(name.clone(), text);
        }
    }
    Ok(files)
}

fn encode_files(files: BTreeMap<String, String>) -> BTreeMap<String, Vec<u8>> {
    let texts = files.into_iter();
    texts
        .map(|(name, text)| (name, text.into_bytes()))
        .collect()
}

/// Variables that the workspace declares.
pub fn list_declared_variables<'a>(plan: &'a Plan, base: &'a PackerBase) -> Vec<&'a Variable> {
    let target = plan
        .target
        .variables
        .iter()
        .filter(|variable| plan.declared.contains(&variable.name));
    let mut variables: Vec<&Variable> = target.collect();
    for variable in &base.variables {
        let is_folder = variable.default_from == Some(DefaultFrom::ArtifactFolder);
        if !is_folder || plan.delivery == Delivery::Media {
            variables.push(variable);
        }
    }
    variables
}

/// Values of variables: never those of secrets, and none for what nobody gave.
fn collect_variable_values(plan: &Plan, payload: &str, lock: &str) -> Value {
    let mut values: Map<String, Value> = plan
        .variables
        .clone()
        .into_iter()
        .filter(|(name, _)| plan.declared.contains(name))
        .collect();
    values.insert("payload_sha256".to_owned(), json!(payload));
    values.insert("image_tags".to_owned(), json!(collect_tags(plan, lock)));
    Value::Object(values)
}

/// Most tags that an image gets from us. `maxItems` of a target's variable for tags leaves room for them.
pub const TAG_COUNT: usize = 8;

/// Tags of the image: what is in it, and which program made it.
fn collect_tags(plan: &Plan, lock: &str) -> BTreeMap<&'static str, String> {
    let program = ProgramVersion::current();
    let tags: [(&str, String); TAG_COUNT] = [
        ("imagegen-kubernetes", plan.kubernetes.to_string()),
        ("imagegen-windows", plan.windows.release.clone()),
        (
            "imagegen-runtime",
            format!("{}-{}", plan.runtime, plan.runtime_version),
        ),
        ("imagegen-lock", lock.to_owned()),
        ("imagegen-version", program.version),
        ("imagegen-commit", program.commit),
        ("imagegen-date", program.date),
        ("imagegen-catalog", program.catalog),
    ];
    tags.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

/// Most runs of phase `prepare`: each has a restart behind it.
const MOST_PREPARATIONS: usize = 9;

/// Runs of phase `prepare`, which stops at a feature or a package that Windows refuses while a restart is pending: one
/// for each of them. Windows Update offers more after each restart, so a search gets three.
fn count_preparations(guest: &GuestPlan) -> usize {
    let resources = guest.resources.iter();
    let prepared = resources.filter(|resource| resource.phase == Phase::Prepare);
    let runs = prepared.map(|resource| match resource.kind {
        ResourceKind::WindowsUpdate(_) => 3,
        ResourceKind::WindowsFeature(_)
        | ResourceKind::WindowsCapability(_)
        | ResourceKind::Hotfix(_) => 1,
        _ => 0,
    });
    runs.sum::<usize>().clamp(2, MOST_PREPARATIONS)
}

/// Provisioners of Packer, in order: phases of the engine, and what happens before and after them. The last run of
/// `prepare` is that before `install`.
fn plan_stages(guest: &GuestPlan) -> Vec<Value> {
    let mut stages = vec![create_stage(&["bootstrap", "prepare"])];
    stages[0]["unpacks"] = json!(true);
    for _ in 2..count_preparations(guest) {
        stages.push(create_stage(&["prepare"]));
    }
    stages.push(create_stage(&["prepare", "install"]));

    let mut test = create_stage(&["test"]);
    test["restarts"] = json!(false);
    test["reports"] = json!(true);
    stages.push(test);

    let mut seal = create_stage(&["seal"]);
    seal["restarts"] = json!(false);
    seal["removes_scripts"] = json!(true);
    stages.push(seal);
    stages
}

/// A stage that restarts the machine at its end and does nothing else.
fn create_stage(phases: &[&str]) -> Value {
    json!({
        "phases": phases, "unpacks": false, "removes_scripts": false,
        "restarts": true, "reports": false,
    })
}

/// Names that the templates may use. Conditions test booleans alone, and every one of them is here.
pub fn build_context(plan: &Plan, guest: &GuestPlan) -> Value {
    let has: Map<String, Value> = plan
        .target
        .variables
        .iter()
        .map(|variable| {
            (
                variable.name.clone(),
                json!(plan.declared.contains(&variable.name)),
            )
        })
        .collect();
    let uses: Map<String, Value> = plan
        .target
        .selectors
        .iter()
        .flat_map(|selector| selector.values.iter().map(move |value| (selector, value)))
        .map(|(selector, value)| {
            let chosen = plan.selectors.get(&selector.name) == Some(&value.value);
            (format!("{}_{}", selector.name, value.value), json!(chosen))
        })
        .chain([
            ("media".to_owned(), json!(plan.delivery == Delivery::Media)),
            (
                "signed_scripts".to_owned(),
                json!(plan.governance.signing.is_some()),
            ),
        ])
        .collect();
    let packer = plan.packer.as_ref();
    let plugin = packer.and_then(|packer| packer.plugins.first());
    let image = plan.target.image();
    let program = ProgramVersion::current();
    json!({
        "imagegen": { "version": program.format_line(), "catalog": program.catalog },
        "has": has,
        "stages": plan_stages(guest),
        "notes": plan.target.notes,
        "files": image.map(ImageTarget::files).unwrap_or_default(),
        "uses": uses,
        "packer": { "version": packer.map_or("", |packer| packer.version.as_str()) },
        "plugin": {
            "address": plugin.map_or("", |plugin| plugin.source.as_str()),
            "version": plugin.map_or("", |plugin| plugin.version.as_str()),
        },
        "target": {
            "name": plan.target.name,
            "title": plan.target.title,
            "builder": plan.target.builder(&plan.selectors),
            "build_user": image.map_or("", |image| image.session().1.as_str()),
        },
        "image": {
            "windows": plan.windows.release,
            "kubernetes": plan.kubernetes,
            "runtime": plan.runtime,
            "runtime_version": plan.runtime_version,
        },
        "missing": plan.missing.iter().flat_map(|missing| &missing.names).collect::<Vec<_>>(),
        "unpinned": plan.list_unpinned(),
    })
}
