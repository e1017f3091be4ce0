//! Descriptions of an image, read from where the user names it: a definition, a lockfile, a workspace, an
//! `image.json`, a guest plan, or the same path in a commit of git.

mod attestation;
mod bill;
mod git;
mod history;
mod image;
mod keep;
mod origin;
mod prune;
mod report;
mod retirement;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::attest::diff::{ComponentNote, DescribedImage};
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json::parse_foreign;
use crate::catalog::Trees;
use crate::diagnostic::{Error, Result};
use crate::guest::{GUEST_PLAN_FILE, parse_guest_plan};
use crate::io::fs;
use crate::lock::{LOCK_FILE, Lock};
use crate::model::evidence::Evidence;
use crate::model::plan::Plan;
use crate::planning::{
    GuestScriptUse, LockUse, PlanRequest, Stale, ToolUse, check_lock, plan_image, predict_machine,
    replay_lock, replay_selection,
};
use crate::selection::{
    Definitions, Flags, NamingForm, SourceFolders, find_lock, read_definition, read_sources,
};
use crate::ui::Printer;

pub use attestation::{
    AttestOutput, AttestRequest, AttestedSubject, BuilderId, WrittenStatement, attest_image,
    find_record,
};
pub use bill::{BillSources, format_time, list_bill, parse_time, read_bill_sources};
pub use git::{checkout_commit, read_git_state};
pub use history::{
    BuildHistory, BuildState, HistoryEntry, HistoryPlace, RecordSource, find_workspace,
    list_local_builds, read_history,
};
pub use image::{BaseImageRecord, GitState, IMAGE_SCHEMA, ImageRecord};
pub use keep::{BuildTrace, KeptBuild, keep_build};
pub use origin::find_run_url;
pub use prune::{PrunedHistory, prune_history};
pub use report::{REPORT_SCHEMA, ReportOutput, describe_fleet, describe_page};
pub use retirement::{Retirement, RetirementFile, RetirementState, keep_retirement};
pub use tool::scan_document;

const IMAGE: &str = "image.json";

/// Reads whatever a path names; the file's `schema` decides what it is.
///
/// # Errors
/// The path cannot be read, or the definition is refused.
pub fn describe_image(
    path: &Path,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<DescribedImage> {
    let name = path.display().to_string();
    if path.is_dir() {
        if fs::is_file(&path.join(LOCK_FILE)) || fs::is_file(&path.join(IMAGE)) {
            return describe_workspace(path, sources);
        }
        return describe_definition(path, sources, printer);
    }
    if name.contains('#') && !fs::is_file(path) {
        return describe_definition(path, sources, printer);
    }
    let Some(bytes) = fs::read_text_if_exists(path)? else {
        return Err(refuse_missing(&name));
    };
    match read_family(&bytes).as_str() {
        "imagegen.dev/lock" => describe_lock(&name, &bytes, sources),
        "imagegen.dev/guest-plan" => Ok(DescribedImage {
            guest: Some(parse_guest_plan(&name, &bytes)?),
            name,
            ..DescribedImage::default()
        }),
        "imagegen.dev/image" => describe_baked(path, &bytes, sources),
        "" => describe_definition(path, sources, printer),
        other => {
            let message = format!("{name} describes no image: its schema is `{other}`");
            Err(refuse_path(message))
        }
    }
}

const IMAGES: &str =
    "name an image definition, a lockfile, a workspace, an `image.json` or a guest plan";

fn refuse_path(message: String) -> Error {
    Error::value(message, IMAGES)
}

/// The user may have named no file, and the default is a lockfile.
fn refuse_missing(name: &str) -> Error {
    let message = format!("{name} does not exist");
    if name.ends_with(".lock.json") {
        return Error::value(message, format!("run `imagegen lock` first, or {IMAGES}"));
    }
    refuse_path(message)
}

/// The schema of a JSON file without its version; empty if it has none.
fn read_family(bytes: &[u8]) -> String {
    let schema = image::read_schema(bytes).unwrap_or_default();
    split_family(&schema).to_owned()
}

/// A schema without its version.
fn split_family(schema: &str) -> &str {
    schema.rsplit_once('/').map_or(schema, |(family, _)| family)
}

/// The plan of a definition, with the lockfile beside it.
fn describe_definition(
    path: &Path,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<DescribedImage> {
    // A folder of several images is refused here, with their names.
    let definitions = Definitions::load(Some(path))?;
    if definitions.require_any().is_err() {
        let message = format!("{} describes no image", path.display());
        return Err(refuse_path(message));
    }
    let defined = definitions.require_one(NamingForm::Path)?;
    let trees = read_sources(sources, std::slice::from_ref(&defined))?;
    let flags = Flags::without_any()?;
    let definition = read_definition(&flags, &defined, &trees)?;
    let beside = find_lock(&defined, &definition);
    let planned = plan_image(&PlanRequest {
        definition: &definition,
        flags: &flags,
        lock: &LockUse::default(),
        beside: &beside,
        stale: Stale::Warn(printer),
        tools: ToolUse::Describe,
        scripts: GuestScriptUse::Unused,
        trees: &trees,
    })?;
    let plan = planned.plan;
    let mut image = describe_plan(path.display().to_string(), &plan, &trees);
    let mut build_time = plan.selection.variables.clone();
    build_time.retain(|name, _| plan.target.is_build_time(name));
    image.build_time = Some(build_time);
    if planned.lockfile.is_some() {
        // The plan has its pins, the file its proofs, too.
        let bytes = fs::read_file(&beside)?;
        image.lock = Some(Lock::decode(&beside.display().to_string(), &bytes)?);
        image.is_planned = false;
    }
    Ok(image)
}

fn describe_plan(name: String, plan: &Plan, trees: &Trees) -> DescribedImage {
    let lock = Lock::from_plan(plan);
    let mut image = DescribedImage {
        name,
        notes: list_notes(&lock, &list_reasons(plan), trees),
        lock: Some(lock),
        is_planned: true,
        unproven: list_unproven(plan),
        ..DescribedImage::default()
    };
    match predict_machine(plan, trees) {
        Ok((guest, _)) => image.guest = Some(guest.plan),
        Err(error) => image.remarks.push(format!(
            "the machine of {} is not known: {error}",
            image.name
        )),
    }
    image
}

/// A lockfile as it is, and the machine that this program makes of its selection.
fn describe_lock(name: &str, bytes: &[u8], sources: &SourceFolders) -> Result<DescribedImage> {
    let lock = Lock::decode(name, bytes)?;
    let trees = read_sources(sources, &[])?;
    let own_files = lock.require_own_files(name, &trees.own_files);
    let replayed = own_files
        .map_err(Error::from)
        .and_then(|()| replay_selection(&lock, &trees));
    let mut image = match replayed {
        Ok(plan) => {
            let is_same = check_lock(name, &lock, &plan).is_ok();
            let plan = plan.with_pins(lock.pins());
            let mut image = describe_plan(name.to_owned(), &plan, &trees);
            if !is_same {
                image.remarks.push(format!(
                    "the machine of {name} is what this program makes of its selection; the lockfile is of another \
                     catalog"
                ));
            }
            image
        }
        Err(error) => DescribedImage {
            name: name.to_owned(),
            notes: list_notes(&lock, &BTreeMap::new(), &trees),
            unproven: list_components(&lock),
            remarks: vec![format!("the machine of {name} is not known: {error}")],
            ..DescribedImage::default()
        },
    };
    image.lock = Some(lock);
    image.is_planned = false;
    Ok(image)
}

fn resolve_of_lock(name: &str, lock: &Lock, trees: &Trees) -> Result<Plan> {
    lock.require_own_files(name, &trees.own_files)?;
    replay_lock(lock, trees)
}

/// Files of a workspace, or of the folder that a build left, as they were read.
#[derive(Default)]
struct WorkspaceFiles {
    lock: Option<Vec<u8>>,
    guest: Option<Vec<u8>>,
}

impl WorkspaceFiles {
    fn read(folder: &Path) -> Result<Self> {
        Ok(Self {
            lock: fs::read_text_if_exists(&folder.join(LOCK_FILE))?,
            guest: fs::read_text_if_exists(&folder.join(GUEST_PLAN_FILE))?,
        })
    }
}

/// Lockfile, guest plan and result of a workspace, or of the folder that a build left.
fn describe_workspace(folder: &Path, sources: &SourceFolders) -> Result<DescribedImage> {
    let mut image = describe_files(folder, &WorkspaceFiles::read(folder)?, sources)?;
    let place = folder.join(IMAGE);
    if let Some(bytes) = fs::read_text_if_exists(&place)? {
        add_bake(
            &mut image,
            read_baked(&place.display().to_string(), &bytes)?,
        );
    }
    Ok(image)
}

/// Lockfile and guest plan of a folder.
fn describe_files(
    folder: &Path,
    files: &WorkspaceFiles,
    sources: &SourceFolders,
) -> Result<DescribedImage> {
    let title = |file: &str| folder.join(file).display().to_string();
    let mut image = match &files.lock {
        Some(bytes) => {
            let lock = Lock::decode(&title(LOCK_FILE), bytes)?;
            let trees = read_sources(sources, &[])?;
            let plan = resolve_of_lock(&title(LOCK_FILE), &lock, &trees).ok();
            let reasons = plan.as_ref().map(list_reasons).unwrap_or_default();
            DescribedImage {
                notes: list_notes(&lock, &reasons, &trees),
                unproven: plan.map_or_else(|| list_components(&lock), |plan| list_unproven(&plan)),
                lock: Some(lock),
                ..DescribedImage::default()
            }
        }
        None => DescribedImage::default(),
    };
    image.name = folder.display().to_string();
    if let Some(bytes) = &files.guest {
        image.guest = Some(parse_guest_plan(&title(GUEST_PLAN_FILE), bytes)?);
    }
    Ok(image)
}

/// An `image.json`, with the files beside it if they are those of its bake.
fn describe_baked(path: &Path, bytes: &[u8], sources: &SourceFolders) -> Result<DescribedImage> {
    let folder = path.parent().unwrap_or(Path::new(""));
    describe_record(path, bytes, &WorkspaceFiles::read(folder)?, sources)
}

/// The same of files that were read.
fn describe_record(
    path: &Path,
    bytes: &[u8],
    files: &WorkspaceFiles,
    sources: &SourceFolders,
) -> Result<DescribedImage> {
    let name = path.display().to_string();
    let record = read_baked(&name, bytes)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_own = files
        .lock
        .as_ref()
        .is_some_and(|lock| record["lock"] == sha256_hex(lock).as_str());
    let mut image = if is_own {
        describe_files(folder, files, sources)?
    } else {
        DescribedImage {
            remarks: vec![format!(
                "components and machine of {name} are not compared: the lockfile of its bake is not beside it"
            )],
            ..DescribedImage::default()
        }
    };
    image.name = name;
    add_bake(&mut image, record);
    Ok(image)
}

/// Components with a digest that only the lockfile of a plan states.
fn list_unproven(plan: &Plan) -> BTreeSet<String> {
    let unproven = plan.unproven_artifacts();
    unproven.map(|it| it.component.to_string()).collect()
}

/// A catalog that refuses a selection states none of its digests.
fn list_components(lock: &Lock) -> BTreeSet<String> {
    let artifacts = lock.artifacts.iter();
    artifacts.map(|it| it.component.to_string()).collect()
}

/// The record of a bake, and the proofs that it made.
fn add_bake(image: &mut DescribedImage, record: Value) {
    image.proofs = read_proofs(&record);
    for (component, proofs) in &image.proofs {
        if proofs.iter().any(Evidence::attests) {
            image.unproven.remove(component);
        }
    }
    image.baked = Some(record);
}

/// The proofs of a record of any version, by component. One that this program does not know is left out.
fn read_proofs(record: &Value) -> BTreeMap<String, Vec<Evidence>> {
    let mut components = BTreeMap::new();
    for (component, proofs) in record["evidence"].as_object().into_iter().flatten() {
        let proofs = proofs.as_array().into_iter().flatten();
        let known = proofs.filter_map(|proof| Evidence::deserialize(proof).ok());
        components.insert(component.clone(), known.collect());
    }
    components
}

/// An `image.json` as it is: fields that are missing or wrong are for who needs them.
fn read_baked(name: &str, bytes: &[u8]) -> Result<Value> {
    let record: Value = parse_foreign(bytes).map_err(|error| image::refuse_record(name, &error))?;
    image::require_schema(name, bytes, IMAGE_SCHEMA)?;
    Ok(record)
}

/// Reasons by component, as a plan has them.
fn list_reasons(plan: &Plan) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    for group in &plan.groups {
        for artifact in &group.artifacts {
            reasons.insert(artifact.component.to_string(), group.reason.clone());
        }
    }
    reasons
}

/// Notes of the catalog on the components of a lockfile.
fn list_notes(
    lock: &Lock,
    reasons: &BTreeMap<String, String>,
    trees: &Trees,
) -> BTreeMap<String, ComponentNote> {
    let mut notes = BTreeMap::new();
    for artifact in &lock.artifacts {
        let name = artifact.component.as_str();
        let mut note = ComponentNote {
            reason: reasons.get(name).cloned(),
            ..ComponentNote::default()
        };
        // A lockfile of another catalog may have components that this one does not know.
        if let Ok(component) = trees.catalog.load_component(name) {
            note.release_notes = component.release_notes_url(&artifact.version);
            note.summary = Some(component.definition.summary.clone());
            note.identity.clone_from(&component.definition.identity);
            for pin in component.pins.find_version(&artifact.version) {
                if pin.is_usable() {
                    note.digests.insert(pin.digest.as_str().to_owned());
                }
            }
        }
        notes.insert(name.to_owned(), note);
    }
    notes
}

/// Two sides of a comparison: two paths, or one path in a commit and in the working folder.
///
/// # Errors
/// The commit cannot be read, or one of the paths.
pub fn describe_pair(
    from: &Path,
    to: Option<&Path>,
    base: Option<&str>,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<(DescribedImage, DescribedImage)> {
    let Some(base) = base else {
        let to = to.unwrap_or(from);
        return Ok((
            describe_image(from, sources, printer)?,
            describe_image(to, sources, printer)?,
        ));
    };
    let current = describe_image(from, sources, printer);
    let (file, image) = split_image(from);
    let checkout = checkout_commit(base, &file)?;
    // An error of both names the user's file, and not the copy of the commit.
    let current = current?;
    let earlier = PathBuf::from(format!("{}{image}", checkout.path().display()));
    let shown = checkout.path().display().to_string();
    let title = format!("{} at {base}", file.display());
    let mut earlier = describe_image(&earlier, sources, printer)
        .map_err(|error| explain_earlier(error, &shown, &title, base))?;
    for remark in &mut earlier.remarks {
        *remark = remark.replace(&shown, &title);
    }
    earlier.name = format!("{} at {base}", from.display());
    Ok((earlier, current))
}

/// An image that the commit does not define under this name. The copy of the commit is gone when the user reads it.
fn explain_earlier(error: Error, copy: &str, title: &str, base: &str) -> Error {
    if error.code() != Code::VALUE {
        return error;
    }
    let message = error.to_string().replace(copy, title);
    let remedy = format!(
        "write the file of the commit beside the other, with `git show {base}:./FILE > earlier.json`, and name one image of each: `imagegen diff earlier.json#NAME FILE#NAME`"
    );
    Error::value(message, remedy)
}

/// `FILE#NAME` → the file and `#NAME`.
fn split_image(path: &Path) -> (PathBuf, String) {
    let text = path.display().to_string();
    match text.rsplit_once('#') {
        Some((file, name)) if !fs::is_file(path) => (PathBuf::from(file), format!("#{name}")),
        _ => (path.to_owned(), String::new()),
    }
}
