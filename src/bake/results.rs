//! Results of a build: Packer's manifest, the machine's own report, and the image made of both.

use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::json::{JsonFault, format_plain, parse_foreign};
use crate::base::text::format_path;
use crate::io::exec::{self, Inherited, Run};
use crate::io::fs;
use crate::model::plan::Plan;

use super::{BakeError, CHECK_REPORT, Environment};

/// Result of a bake.
#[derive(Debug, Clone, PartialEq)]
pub struct BakeOutput {
    pub artifacts: Vec<BuiltArtifact>,
    /// How many resources the machine checked, all of them good.
    pub checked: usize,
}

/// One thing that Packer made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BuiltArtifact {
    pub builder: String,
    /// As the platform calls it.
    pub id: String,
    /// Files of the image, by their path in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BuiltFile>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BuiltFile {
    pub path: String,
    pub size: u64,
    pub sha256: String,
}

/// The guest engine's comparison of every resource with the machine.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    pub schema: String,
    pub passed: bool,
    pub checked: usize,
    pub failed: usize,
    #[serde(default)]
    pub resources: Vec<CheckedResource>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckedResource {
    pub name: String,
    pub result: String,
    #[serde(default)]
    pub differences: Vec<Value>,
    #[serde(default)]
    pub error: Option<String>,
}

impl CheckReport {
    /// # Errors
    /// Not JSON of that form.
    pub fn decode(bytes: &[u8]) -> Result<Self, JsonFault> {
        parse_foreign(bytes)
    }

    /// Resources that are not as they should be.
    pub fn list_failed_resources(&self) -> impl Iterator<Item = &CheckedResource> {
        let resources = self.resources.iter();
        resources.filter(|resource| resource.result != "unchanged")
    }

    /// One line for each resource that is not as it should be.
    pub fn list_failures(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for failed in self.list_failed_resources() {
            let differences = failed.describe_differences();
            lines.push(format!("{} {}: {differences}", failed.result, failed.name));
        }
        lines
    }
}

impl CheckedResource {
    /// Its differences and its error in one line.
    pub fn describe_differences(&self) -> String {
        let mut texts = Vec::new();
        for difference in &self.differences {
            let keys = ["property", "actual", "expected"];
            let [property, actual, expected] =
                keys.map(|key| difference.get(key).map_or_else(String::new, format_plain));
            texts.push(format!("{property} is {actual}, expected {expected}"));
        }
        texts.extend(self.error.clone());
        texts.join("; ")
    }
}

/// Where Packer ran, and with which environment.
#[derive(Debug, Clone, Copy)]
pub(super) struct BuildFolder<'a> {
    pub path: &'a Path,
    pub environment: &'a Environment,
}

pub(super) fn read_check_report(folder: &Path) -> Result<Option<CheckReport>, BakeError> {
    let Some(bytes) = fs::read_if_exists(&folder.join(CHECK_REPORT))? else {
        return Ok(None);
    };
    match CheckReport::decode(&bytes) {
        Ok(report) => Ok(Some(report)),
        Err(error) => Err(BakeError::Report(error.to_string())),
    }
}

/// `packer-manifest.json`
#[derive(Debug, Deserialize)]
pub struct PackerManifest {
    #[serde(default)]
    builds: Vec<ManifestBuild>,
    #[serde(default)]
    last_run_uuid: String,
}

impl PackerManifest {
    /// # Errors
    /// Not JSON of that form, or the name of a file leaves the folder of the output.
    pub fn decode(bytes: &[u8]) -> Result<Self, BakeError> {
        let no_image = |reason: String| BakeError::NoImage {
            reason: format!("packer-manifest.json: {reason}"),
        };
        let manifest: Self = parse_foreign(bytes).map_err(|error| no_image(error.to_string()))?;
        let files = manifest
            .builds
            .iter()
            .flat_map(|build| build.files.iter().flatten());
        for file in files {
            if Path::new(&file.name)
                .components()
                .any(|part| !matches!(part, Component::Normal(_)))
            {
                return Err(no_image(format!(
                    "the file `{}` is outside the output folder",
                    file.name
                )));
            }
        }
        Ok(manifest)
    }
}

#[derive(Debug, Deserialize)]
struct ManifestBuild {
    builder_type: String,
    artifact_id: String,
    #[serde(default)]
    packer_run_uuid: String,
    files: Option<Vec<ManifestFile>>,
}

#[derive(Debug, Deserialize)]
struct ManifestFile {
    name: String,
}

pub(super) fn read_bake_output(
    plan: &Plan,
    folder: BuildFolder<'_>,
    report: &CheckReport,
) -> Result<BakeOutput, BakeError> {
    let no_image = |reason: &str| BakeError::NoImage {
        reason: reason.to_owned(),
    };
    let bytes = fs::read_if_exists(&folder.path.join("packer-manifest.json"))?
        .ok_or_else(|| no_image("there is no packer-manifest.json"))?;
    let manifest = PackerManifest::decode(&bytes)?;
    let artifacts: Vec<BuiltArtifact> = manifest
        .builds
        .into_iter()
        .filter(|build| {
            build.packer_run_uuid == manifest.last_run_uuid && !build.artifact_id.is_empty()
        })
        .map(|build| read_built_artifact(plan, folder, build))
        .collect::<Result<_, _>>()?;
    if artifacts.is_empty() {
        return Err(no_image("packer-manifest.json has no artifact of this run"));
    }
    Ok(BakeOutput {
        artifacts,
        checked: report.checked,
    })
}

/// One build of the manifest; files are hashed where the image is files.
fn read_built_artifact(
    plan: &Plan,
    folder: BuildFolder<'_>,
    build: ManifestBuild,
) -> Result<BuiltArtifact, BakeError> {
    let mut files = Vec::new();
    if let Some(output) = plan.target.output_folder(&plan.selectors) {
        for file in build.files.unwrap_or_default() {
            let path = format!("{output}/{}", format_path(Path::new(&file.name)));
            let found = fs::digest_file(&folder.path.join(&path))?;
            files.push(BuiltFile {
                path,
                size: found.size,
                sha256: found.sha256,
            });
        }
        if files.is_empty() {
            return Err(BakeError::NoImage {
                reason: "packer-manifest.json names no file".to_owned(),
            });
        }
    }
    files.extend(convert_disk(plan, folder, &files)?);
    // Beside the disk, a builder leaves small files such as the variables of the firmware.
    let largest = files.iter().max_by_key(|file| file.size);
    let id = largest.map_or(build.artifact_id, |file| file.path.clone());
    Ok(BuiltArtifact {
        builder: build.builder_type,
        id,
        files,
    })
}

/// Makes the further file of the image's disk, if the selection asks for one.
fn convert_disk(
    plan: &Plan,
    folder: BuildFolder<'_>,
    files: &[BuiltFile],
) -> Result<Option<BuiltFile>, BakeError> {
    let disk = files.iter().max_by_key(|file| file.size);
    let (Some(disk), Some(conversion)) = (disk, plan.target.conversion(&plan.selectors)) else {
        return Ok(None);
    };
    let path = Path::new(&disk.path).with_extension(&conversion.extension);
    let path = path.to_string_lossy().into_owned();
    let program = exec::resolve_program(Path::new(&conversion.program));
    let arguments = conversion.arguments.iter().chain([&disk.path, &path]);
    let run = Run {
        folder: folder.path.to_owned(),
        inherited: Inherited::Nothing,
        environment: folder.environment.clone(),
        ..Run::new(program, arguments)
    };
    let printed = exec::collect_lines(&run, |_| ())?;
    let program = conversion.program.clone();
    if printed.outcome.interrupted {
        return Err(BakeError::ConversionInterrupted { program });
    }
    if !printed.outcome.success {
        let last = printed.into_lines();
        return Err(BakeError::Convert { program, last });
    }
    let found = fs::digest_file(&folder.path.join(&path))?;
    Ok(Some(BuiltFile {
        path,
        size: found.size,
        sha256: found.sha256,
    }))
}
