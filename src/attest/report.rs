//! One HTML page of an image, and one of many. A page holds everything that it shows: it asks no server, runs no
//! script, and reads well on paper.

use serde::Serialize;
use tera::Context;

use crate::diagnostic::{InternalError, Result};
use crate::template::create_engine;

const STYLE: &str = include_str!("report/style.css");
const IMAGE: &str = include_str!("report/image.html");
const FLEET: &str = include_str!("report/fleet.html");

/// Everything on the page of an image, as texts for readers.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ImagePage {
    pub title: String,
    /// `built`, `failed` or `planned`
    pub outcome: String,
    pub error: Option<PageError>,
    pub facts: Vec<PageFact>,
    pub files: Vec<ImageFileRow>,
    /// The weakest first.
    pub proofs: Vec<ProofRow>,
    pub checks: PageChecks,
    pub phases: Vec<PhaseRow>,
    pub restarts: usize,
    pub slowest: Vec<ResourceRow>,
    pub failures: Vec<ResourceRow>,
    pub warnings: Vec<PageNote>,
    pub waived: Vec<PageNote>,
    pub changes: Option<PageChanges>,
    pub documents: Vec<PageNote>,
    pub program: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct PageError {
    pub code: String,
    pub message: String,
    /// Last lines of the program that failed; may be empty.
    pub output: String,
    pub remedy: String,
    /// Where to look; may be empty.
    pub file: String,
    pub line: String,
    /// Link to the file, if it lies beside the page.
    pub url: String,
}

/// A name with a value; `code` for what is copied.
#[derive(Debug, Clone, Serialize)]
pub struct PageFact {
    pub name: String,
    pub value: String,
    pub code: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct ImageFileRow {
    pub path: String,
    pub size: String,
    pub sha256: String,
}

/// A subject with its proofs.
#[derive(Debug, Clone, Serialize)]
pub struct ProofRow {
    pub subject: String,
    pub role: String,
    pub strength: String,
    /// `good`, `warn`, `bad` or `quiet`; color repeats what the words say.
    pub tone: &'static str,
    pub proofs: Vec<String>,
    /// Algorithm and first characters of the digest.
    pub digest: String,
    pub whole_digest: String,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct PageChecks {
    pub predicted: usize,
    pub checked: usize,
    pub reported: bool,
    pub differences: Vec<DifferenceRow>,
    /// Resources of the plan that the report does not name.
    pub unchecked: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct DifferenceRow {
    pub name: String,
    pub result: String,
    pub text: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct PhaseRow {
    pub name: String,
    pub start: String,
    pub duration: String,
    pub changed: String,
    /// Empty if nothing failed.
    pub failed: String,
    /// Percent of the run.
    pub left: String,
    pub width: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct ResourceRow {
    pub name: String,
    pub result: String,
    pub duration: String,
}

/// A name with a sentence, and a link for a document.
#[derive(Debug, Clone, Serialize)]
pub struct PageNote {
    pub name: String,
    pub text: String,
    pub url: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct PageChanges {
    pub from: String,
    pub components: Vec<ChangeRow>,
    pub machine: Vec<PageNote>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ChangeRow {
    pub name: String,
    pub change: String,
    pub tone: &'static str,
    pub from: String,
    pub to: String,
    pub url: String,
}

/// Everything on the page of many images.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FleetPage {
    pub time: String,
    /// Number of workspaces with an image, and of those whose builds all failed.
    pub built: usize,
    pub missing: usize,
    pub groups: Vec<FleetGroup>,
    pub failed: usize,
    pub outdated: usize,
    pub program: String,
}

/// Images of one Kubernetes line on one Windows release.
#[derive(Debug, Clone, Serialize)]
pub struct FleetGroup {
    pub line: String,
    pub windows: String,
    pub support: String,
    pub tone: &'static str,
    pub images: Vec<FleetRow>,
}

#[derive(Debug, Clone, Serialize)]
pub struct FleetRow {
    pub name: String,
    pub target: String,
    pub kubernetes: String,
    pub version: String,
    pub built: String,
    pub age: String,
    /// Result of the last build, and its start if it failed.
    pub last: String,
    pub last_time: String,
    pub tone: &'static str,
    pub newer: String,
}

/// # Errors
/// A template of the program is wrong.
pub fn format_image_page(page: &ImagePage) -> Result<String> {
    render_page(IMAGE, page)
}

/// # Errors
/// A template of the program is wrong.
pub fn format_fleet_page(page: &FleetPage) -> Result<String> {
    render_page(FLEET, page)
}

fn render_page(template: &str, page: &impl Serialize) -> Result<String> {
    let mut context = Context::new();
    context.insert("page", page);
    context.insert("style", STYLE);
    let tera = create_engine();
    // Every value is escaped; the style sheet is the program's own.
    tera.render_str(template, &context, true)
        .map_err(|error| InternalError(format!("the page cannot be rendered: {error}")).into())
}
