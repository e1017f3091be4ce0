//! The page of an image, gathered from its record, its lockfile and the files beside them.

mod fleet;
mod proofs;
mod timeline;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::attest::diff::{ComponentChangeKind, DescribedImage, compare_images};
use crate::attest::report::{
    ChangeRow, DifferenceRow, ImageFileRow, ImagePage, PageChanges, PageChecks, PageError,
    PageFact, PageNote,
};
use crate::bake::{CHECK_REPORT, CheckReport, REPORT_PAGE};
use crate::base::json::format_plain;
use crate::base::program::ProgramVersion;
use crate::base::text::parent_folder;
use crate::catalog::Trees;
use crate::diagnostic::{ErrorReport, Result};
use crate::guest::GUEST_PLAN_FILE;
use crate::io::fs;
use crate::lock::LOCK_FILE;
use crate::selection::{SourceFolders, read_sources};
use crate::ui::Printer;
use crate::workspace::IMAGE_RECORD;

use super::bill::read_bill_sources_of;
use super::history::{find_current_record, find_workspace};
use super::image::{BaseImageRecord, ImageRecord, refuse_record};
use super::{describe_image, list_bill};

pub use fleet::describe_fleet;
use proofs::describe_proofs;
use timeline::add_timeline;

/// Name of the schema of `imagegen report --format json`.
pub const REPORT_SCHEMA: &str = "imagegen.dev/report/v1";

/// `imagegen report --format json`
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportOutput {
    pub schema: &'static str,
    /// The page that was written.
    pub page: String,
    pub size: usize,
}

/// Documents that lie beside a record, with their titles.
const DOCUMENTS: &[(&str, &str)] = &[
    ("sbom.cdx.json", "bill of materials, CycloneDX 1.6"),
    ("sbom.spdx.json", "bill of materials, SPDX 2.3"),
    (
        "attestations/provenance.sigstore.json",
        "signed provenance, SLSA v1",
    ),
    (
        "attestations/sbom.sigstore.json",
        "signed bill of materials",
    ),
    (
        "attestations/check-report.sigstore.json",
        "signed result of the checks",
    ),
    ("attestations/provenance.intoto.json", "provenance, SLSA v1"),
    ("image.json", "record of the build"),
    (LOCK_FILE, "lockfile"),
    (GUEST_PLAN_FILE, "plan of the machine"),
    (CHECK_REPORT, "report of the machine's checks"),
    ("timeline.json", "every event of the bake"),
    ("packer.log", "output of Packer"),
];

/// The page of an image, and the file beside it where the page belongs.
///
/// # Errors
/// The path describes no image, or a file beside it cannot be read.
pub fn describe_page(
    path: &Path,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<(ImagePage, PathBuf)> {
    let path = find_record_folder(path)?;
    let image = describe_image(&path, sources, printer)?;
    let trees = read_sources(sources, &[])?;
    let folder = if path.is_dir() {
        path.clone()
    } else {
        parent_folder(&path).to_owned()
    };
    let record = match &image.baked {
        Some(value) => Some(ImageRecord::parse(&image.name, value)?),
        None => None,
    };
    let mut page = describe_lock(&image, record.as_ref(), &trees)?;
    if let Some(record) = &record {
        add_record(&mut page, record);
    }
    page.checks = describe_checks(&image, &folder)?;
    if let Some(record) = &record {
        add_timeline(&mut page, record, &folder)?;
        page.changes = describe_changes(&folder, &image, record, sources, printer)?;
    }
    for (name, title) in DOCUMENTS {
        if fs::is_file(&folder.join(name)) {
            page.documents.push(PageNote {
                name: (*name).to_owned(),
                text: (*title).to_owned(),
                url: (*name).to_owned(),
            });
        }
    }
    link_place(&mut page);
    Ok((page, folder.join(REPORT_PAGE)))
}

/// The place of the error is a link where the record keeps that file.
fn link_place(page: &mut ImagePage) {
    let Some(error) = &mut page.error else {
        return;
    };
    let name = error.file.rsplit(['/', '\\']).next().unwrap_or_default();
    let document = page.documents.iter().find(|document| document.name == name);
    error.url = document.map_or_else(String::new, |document| document.url.clone());
}

/// The folder in `builds` that keeps the record of a workspace's image; any other path as it is.
fn find_record_folder(path: &Path) -> Result<PathBuf> {
    let workspace = if path.file_name().is_some_and(|name| name == IMAGE_RECORD) {
        parent_folder(path).to_owned()
    } else {
        path.to_owned()
    };
    if !workspace.is_dir() {
        return Ok(path.to_owned());
    }
    let folder = find_current_record(&workspace)?;
    Ok(folder.unwrap_or_else(|| path.to_owned()))
}

/// Everything that follows from the lockfile.
fn describe_lock(
    image: &DescribedImage,
    record: Option<&ImageRecord>,
    trees: &Trees,
) -> Result<ImagePage> {
    let mut page = ImagePage {
        title: format!("Node image {}", image.name),
        outcome: "planned".to_owned(),
        program: ProgramVersion::current().format_line(),
        ..ImagePage::default()
    };
    let Some(lock) = &image.lock else {
        return Ok(page);
    };
    let selection = &lock.selection;
    page.title = format!(
        "Node image {}, Windows {}, Kubernetes {}",
        selection.target.as_deref().unwrap_or_default(),
        selection.windows.as_deref().unwrap_or_default(),
        lock.kubernetes
    );
    let parts = read_bill_sources_of(image, trees)?;
    let bill = list_bill(image, &parts);
    page.proofs = describe_proofs(&bill.items, record);
    add_fact(
        &mut page,
        "Lockfile",
        &format!("sha256:{}", bill.lock_digest),
        true,
    );
    for warning in &lock.warnings {
        page.warnings.push(PageNote {
            name: format!("{} {}", warning.id, warning.subject)
                .trim()
                .to_owned(),
            text: warning.message.clone(),
            url: String::new(),
        });
    }
    for (name, value) in &lock.base_image {
        let value = format_plain(value);
        add_fact(&mut page, "Base image", &format!("{name} = {value}"), true);
    }
    Ok(page)
}

fn add_fact(page: &mut ImagePage, name: &str, value: &str, code: bool) {
    if !value.is_empty() {
        page.facts.push(PageFact {
            name: name.to_owned(),
            value: value.to_owned(),
            code,
        });
    }
}

/// The facts of a bake: its image first.
fn add_record(page: &mut ImagePage, record: &ImageRecord) {
    record.outcome().clone_into(&mut page.outcome);
    page.title = format!(
        "Node image {}, Windows {}, Kubernetes {}",
        record.target, record.windows, record.kubernetes
    );
    page.error = record.error.as_ref().map(describe_error);
    let mut of_lock = std::mem::take(&mut page.facts);
    // The record has them, too.
    of_lock.retain(|fact| fact.name != "Base image");
    for artifact in &record.artifacts {
        add_fact(page, "Image", &artifact.id, true);
        for file in &artifact.files {
            page.files.push(ImageFileRow {
                path: file.path.clone(),
                size: indicatif::HumanBytes(file.size).to_string(),
                sha256: file.sha256.clone(),
            });
        }
    }
    add_fact(page, "Image version", &record.image_version, true);
    add_fact(page, "Started", &record.started, false);
    add_fact(page, "Finished", &record.finished, false);
    add_base_image(page, &record.base_image);
    page.facts.extend(of_lock);
    add_fact(
        page,
        "Built by",
        &format!("imagegen {}", record.built_by.format_line()),
        false,
    );
    for tool in &record.tools {
        let version = tool.version.as_deref().unwrap_or("of your own");
        let text = format!("{} {version}, sha256:{}", tool.name, tool.sha256);
        add_fact(page, "Tool", &text, true);
    }
    if let Some(policy) = &record.policy {
        add_fact(
            page,
            "Policy",
            &format!("{}, sha256:{}", policy.name, policy.sha256),
            true,
        );
    }
    if let Some(git) = &record.git {
        let state = if git.dirty { ", with changes" } else { "" };
        add_fact(page, "Commit", &format!("{}{state}", git.commit), true);
    }
    add_fact(
        page,
        "Run",
        record.run_url.as_deref().unwrap_or_default(),
        false,
    );
    for waived in &record.waived {
        let note = waived.note.as_deref().unwrap_or("no reason is recorded");
        page.waived.push(PageNote {
            name: format!("{} {}", waived.component, waived.proof.as_str()),
            text: note.to_owned(),
            url: String::new(),
        });
    }
}

/// The error of a failed build: its first line says what failed, and the others are a program's output.
fn describe_error(error: &ErrorReport) -> PageError {
    let (message, output) = error
        .message
        .split_once('\n')
        .unwrap_or((&error.message, ""));
    let file = error.location.as_ref().map_or("", |place| &place.file);
    let line = error.location.as_ref().and_then(|place| place.line);
    PageError {
        code: error.code.clone(),
        message: message.to_owned(),
        output: output.trim_end().to_owned(),
        remedy: error.remedy.clone(),
        file: file.to_owned(),
        line: line.map_or_else(String::new, |line| line.to_string()),
        url: String::new(),
    }
}

fn add_base_image(page: &mut ImagePage, base: &BaseImageRecord) {
    add_fact(
        page,
        "Base image",
        base.id.as_deref().unwrap_or_default(),
        true,
    );
    for (name, value) in &base.variables {
        let value = format_plain(value);
        add_fact(page, "Base image", &format!("{name} = {value}"), true);
    }
    for digest in &base.digests {
        add_fact(page, "Base image", digest, true);
    }
    if base.id.is_none() && base.digests.is_empty() {
        let unknown = "not resolved: the builder did not say which image it took";
        add_fact(page, "Base image", unknown, false);
    }
}

/// The plan's resources against the machine's report.
fn describe_checks(image: &DescribedImage, folder: &Path) -> Result<PageChecks> {
    let resources = image.guest.as_ref().map(|guest| &guest.resources);
    let mut checks = PageChecks {
        predicted: resources.map_or(0, Vec::len),
        ..PageChecks::default()
    };
    let Some(bytes) = fs::read_if_exists(&folder.join(CHECK_REPORT))? else {
        return Ok(checks);
    };
    let report = CheckReport::decode(&bytes);
    let report = report.map_err(|error| refuse_record(CHECK_REPORT, &error))?;
    checks.reported = true;
    checks.checked = report.checked;
    for row in report.list_failed_resources() {
        checks.differences.push(DifferenceRow {
            name: row.name.clone(),
            result: row.result.clone(),
            text: row.describe_differences(),
        });
    }
    let rows = &report.resources;
    if !rows.is_empty() {
        for resource in resources.into_iter().flatten() {
            if rows.iter().all(|row| row.name != resource.name) {
                checks.unchecked.push(resource.name.clone());
            }
        }
    }
    Ok(checks)
}

/// The image against the one before it in the same workspace.
fn describe_changes(
    folder: &Path,
    image: &DescribedImage,
    record: &ImageRecord,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<Option<PageChanges>> {
    let builds = folder.parent();
    let Some(builds) = builds.filter(|_| find_workspace(folder).is_some()) else {
        return Ok(None);
    };
    let mut previous: Option<(String, PathBuf)> = None;
    for name in fs::list_folders(builds)? {
        let place = builds.join(name);
        let Some(bytes) = fs::read_if_exists(&place.join(IMAGE_RECORD))? else {
            continue;
        };
        let Ok(other) = ImageRecord::decode("", &bytes) else {
            continue;
        };
        let is_earlier =
            place != folder && other.error.is_none() && other.started <= record.started;
        if is_earlier
            && previous
                .as_ref()
                .is_none_or(|(start, _)| *start <= other.started)
        {
            previous = Some((other.started, place));
        }
    }
    let Some((_, place)) = previous else {
        return Ok(None);
    };
    let before = describe_image(&place, sources, printer)?;
    let diff = compare_images(&before, image, &[]);
    let mut changes = PageChanges {
        from: place.display().to_string(),
        components: Vec::new(),
        machine: Vec::new(),
    };
    for change in diff.components.unwrap_or_default() {
        let is_loud = change.change == ComponentChangeKind::Replaced;
        changes.components.push(ChangeRow {
            tone: if is_loud { "bad" } else { "" },
            change: if is_loud {
                "other bytes under the same version".to_owned()
            } else {
                change.change.as_str().to_owned()
            },
            name: change.component,
            from: change.from.unwrap_or_default(),
            to: change.to.unwrap_or_default(),
            url: change.release_notes.unwrap_or_default(),
        });
    }
    for change in diff.machine.unwrap_or_default() {
        let fields: Vec<String> = change
            .fields
            .iter()
            .map(|field| field.path.clone())
            .collect();
        changes.machine.push(PageNote {
            name: change.resource,
            text: format!("{} {}", change.change.as_str(), fields.join(", ")),
            url: String::new(),
        });
    }
    Ok(Some(changes))
}
