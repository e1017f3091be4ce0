//! Plan × `provisioners/` → guest plan: the concrete list of resources. Pure.
//!
//! Steps are data; their values are expressions over the plan's facts, rendered one value at a
//! time after the JSON was parsed, so that a value can never become structure.

mod certificate;
mod constants;
mod coverage;
mod engine_plan;
mod facts;
mod flags;
mod proxy;
mod registries;
mod render;
mod runtime;
mod situations;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::text::last_segment;
use crate::base::toml::Contradiction;
use crate::base::value::StepId;
use crate::diagnostic::{CodedError, Error, Result};
use crate::embedded::{SCRIPT_FOLDERS, Tree};
use crate::machine::{ArgumentNeed, FeatureNeed, ForeignWrite, LaterFile, PortUse};
use crate::model::conditions::Conditions;
use crate::model::guest_plan::GuestPlan;
use crate::model::kubernetes::{BakedFlags, ProgramTable};
use crate::model::plan::{ArtifactRole, Plan};
use crate::model::stage::{AccountRefusal, LifeStages, Stage};
use crate::model::step::{Step, StepResource};
use crate::windows::resource::{Desired, File, Phase, Resource, ResourceKind, Scope, WinrmSetting};
use crate::windows::value::PlainGuid;

pub use constants::{Constants, FailingUpdate};
pub use coverage::lint_coverage;
pub use engine_plan::{format_plan, parse_guest_plan};
pub use facts::collect_facts;
pub use flags::{AppliedFlag, format_arguments, select_flags};
pub use render::{OWN_FILE_FORMS, RenderFault, StepRenderer};

/// Name of the schema of `guest-plan.json`.
pub const SCHEMA: &str = "imagegen.dev/guest-plan/v1";
/// Name of the guest plan in a workspace and in its payload.
pub const GUEST_PLAN_FILE: &str = "guest-plan.json";

/// Default time limit of a resource in seconds.
const DEFAULT_TIMEOUT: u32 = 600;

/// The steps with the facts they are rendered from.
#[derive(Debug)]
pub struct Guest {
    pub plan: GuestPlan,
    /// Facts that expressions of steps may name.
    pub facts: Value,
    /// Step id → its file.
    pub step_files: BTreeMap<StepId, String>,
    /// Name of a resource → source of its fact.
    pub sources: BTreeMap<String, String>,
    pub steps: Vec<AppliedStep>,
    pub later: Arc<Vec<LaterFile>>,
    pub ports: Arc<Vec<PortUse>>,
    pub needs: Arc<Vec<FeatureNeed>>,
    pub arguments: Arc<Vec<ArgumentNeed>>,
    /// Those that apply to the plan.
    pub writes: Vec<ForeignWrite>,
    /// Those that apply to the plan.
    pub stages: Vec<Stage>,
    /// Those of the plan's version.
    pub refusals: Vec<AccountRefusal>,
}

/// A step of the plan, for people.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedStep {
    pub id: StepId,
    pub summary: String,
    pub file: String,
    pub resources: usize,
}

/// Renders every step that applies.
///
/// # Errors
/// A step, template or expression of `provisioners` is wrong, or a component has no step.
pub fn render_guest(
    plan: &Plan,
    flags: &BakedFlags,
    programs: &ProgramTable,
    provisioners: &Tree,
) -> Result<Guest> {
    let conditions = plan.conditions();
    let (stages, refusals) = select_stages(plan, &conditions, provisioners)?;
    let writes: Arc<Vec<ForeignWrite>> = share_json(provisioners, "writes.json")?;
    let constants = Constants::read(provisioners, &refusals)?;
    let facts = collect_facts(plan, &conditions, flags, programs, &constants)?;
    let renderer = StepRenderer::new(&facts, provisioners);
    let (mut resources, mut repeated) = (Vec::new(), Vec::new());
    let mut steps = Vec::new();
    let mut step_files = BTreeMap::new();
    let mut sources = BTreeMap::new();
    for (file, step) in read_steps(provisioners)?.iter() {
        step_files.insert(step.id.clone(), file.clone());
        if !conditions.holds(&step.when) {
            continue;
        }
        let before = resources.len();
        for resource in &step.resources {
            if conditions.holds(&resource.when) {
                let made = lower_resource(step, file, resource, &renderer, &mut sources)?;
                if resource.firstboot && conditions.image {
                    repeated.extend(repeat_at_first_boot(&made, &mut sources));
                }
                resources.extend(made);
            }
        }
        steps.push(AppliedStep {
            id: step.id.clone(),
            summary: step.summary.clone(),
            file: file.clone(),
            resources: resources.len() - before,
        });
    }
    // What closes the ways in of the build stands before them.
    resources.append(&mut repeated);
    // Stable: inside a phase the order of the files and of the resources in them stays.
    resources.sort_by_key(|resource: &Resource| resource.phase);
    check_installed(plan, &resources)?;
    Ok(Guest {
        plan: GuestPlan {
            schema: SCHEMA.to_owned(),
            target: plan.target.name.clone(),
            windows: plan.windows.release.clone(),
            kubernetes: plan.kubernetes.to_string(),
            scripts: digest_scripts(provisioners),
            signers: plan
                .governance
                .signing
                .as_ref()
                .map(|signing| signing.signers.clone())
                .unwrap_or_default(),
            allowed_hosts: plan.governance.allowed_hosts.clone(),
            preview: has_unread_archive(plan),
            resources,
        },
        facts,
        step_files,
        sources,
        steps,
        later: share_json(provisioners, "later.json")?,
        ports: share_json(provisioners, "ports.json")?,
        needs: share_json(provisioners, "needs.json")?,
        arguments: share_json(provisioners, "arguments.json")?,
        writes: writes
            .iter()
            .filter(|it| conditions.holds(&it.when))
            .cloned()
            .collect(),
        stages,
        refusals,
    })
}

/// Stages that apply to the plan, and refusals of its version.
fn select_stages(
    plan: &Plan,
    conditions: &Conditions,
    provisioners: &Tree,
) -> Result<(Vec<Stage>, Vec<AccountRefusal>)> {
    let LifeStages { stages, refusals } = &*share_json(provisioners, "stages.json")?;
    let stages = stages.iter().filter(|stage| conditions.holds(&stage.when));
    let refused = refusals
        .iter()
        .filter(|it| it.kubernetes.contains(&plan.kubernetes));
    Ok((stages.cloned().collect(), refused.cloned().collect()))
}

/// Every step file in order, by the path that the user knows.
///
/// # Errors
/// A file is not a step.
pub fn read_steps(provisioners: &Tree) -> Result<Arc<Vec<(String, Step)>>> {
    provisioners.keep("steps", || {
        let mut steps = Vec::new();
        for path in list_step_paths(provisioners) {
            let step = read_step(provisioners, &path)?;
            steps.push((provisioners.file_label(&path), step));
        }
        Ok(steps)
    })
}

fn list_step_paths(provisioners: &Tree) -> Vec<String> {
    provisioners
        .list_files("steps")
        .into_iter()
        .filter(|path| has_suffix(path, "json"))
        .collect()
}

fn read_step(provisioners: &Tree, path: &str) -> Result<Step> {
    let step: Option<Step> = provisioners.read_json(path)?;
    let step = step.ok_or_else(|| missing_error(path))?;
    let name = last_segment(path).trim_end_matches(".json");
    let expected = name.split_once('-').map_or(name, |(_, id)| id);
    if *step.id == *expected {
        return Ok(step);
    }
    let file = provisioners.file_label(path);
    let message = format!(
        "{file}: `id` is `{}`, and must be that of the file name, `{expected}`",
        step.id
    );
    Err(CodedError::in_file(Code::STEP_FILE, file, message).into())
}

fn missing_error(path: &str) -> Error {
    let message = format!("provisioners has no file `{path}`");
    CodedError::in_file(Code::STEP_FILE, path, message).into()
}

fn has_suffix(path: &str, suffix: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, found)| found == suffix)
}

fn share_json<T: DeserializeOwned + schemars::JsonSchema + Any + Send + Sync>(
    provisioners: &Tree,
    path: &str,
) -> Result<Arc<T>> {
    provisioners
        .share_json(path)?
        .ok_or_else(|| missing_error(path))
}

fn lower_resource(
    step: &Step,
    file: &str,
    resource: &StepResource,
    renderer: &StepRenderer<'_>,
    sources: &mut BTreeMap<String, String>,
) -> Result<Vec<Resource>> {
    let error = |message: String| value_error(file, &resource.name, &message);
    let mut resources = Vec::new();
    let turns = match &resource.each {
        None => vec![None],
        Some(list) => match renderer.find_fact(list, None).map_err(error)? {
            Value::Array(items) => items.into_iter().map(Some).collect(),
            _ => return Err(error(format!("`{list}` is not a list of the facts")).into()),
        },
    };
    let phase = resource.phase.unwrap_or(step.phase);
    for item in &turns {
        let item = item.as_ref();
        let name = renderer.render_text(&resource.name, item).map_err(error)?;
        let name = format!("{}/{name}", step.id);
        let source = renderer
            .render_text(&resource.source, item)
            .map_err(error)?;
        sources.insert(name.clone(), source);
        let mut properties = Map::new();
        for (property, value) in &resource.properties {
            let result = renderer.render_value(value, item);
            let value = result.map_err(|fault| match fault {
                RenderFault::Text(message) => error(format!("`{property}`: {message}")),
                RenderFault::Fragment(fault) => fragment_error(&name, &fault),
            })?;
            properties.insert(property.clone(), value);
        }
        let kind = parse_resource(&resource.kind, properties).map_err(error)?;
        check_volatile(&kind, &resource.volatile).map_err(error)?;
        resources.push(Resource {
            name,
            step: step.id.clone(),
            phase,
            scope: resource.scope.unwrap_or(if phase == Phase::Seal {
                Scope::Image
            } else {
                Scope::Node
            }),
            volatile: resource.volatile.clone(),
            timeout_seconds: resource.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT),
            kind,
        });
    }
    Ok(resources)
}

fn repeat_at_first_boot(
    resources: &[Resource],
    sources: &mut BTreeMap<String, String>,
) -> Vec<Resource> {
    let mut repeated = Vec::new();
    for first in resources {
        let name = format!("{} again", first.name);
        sources.insert(name.clone(), sources[&first.name].clone());
        repeated.push(Resource {
            name,
            phase: Phase::Firstboot,
            scope: Scope::Image,
            volatile: BTreeMap::new(),
            ..first.clone()
        });
    }
    repeated
}

/// A value of a file that cannot be rendered, or has no place in its resource.
fn value_error(file: &str, resource: &str, message: &str) -> CodedError {
    let line = format!("{file}: {resource}: {message}");
    CodedError::in_file(Code::STEP_FILE, file, line)
}

fn fragment_error(resource: &str, fault: &Contradiction) -> CodedError {
    let closed = fault.remedy.clone();
    let remedy = closed.unwrap_or_else(|| format!("remove `{}` from the fragment", fault.key));
    CodedError {
        remedy: Some(remedy),
        ..CodedError::new(Code::CONFIG_FRAGMENT, format!("{resource}: {fault}"))
    }
}

/// UTF-16 units of a script's text that still fit the 32,767 characters of a command line (`CreateProcess`):
/// the engine passes it as base64 of UTF-16 with some 600 characters around it.
const SCRIPT_LIMIT: usize = 11_500;

fn check_script(text: &str) -> Result<(), String> {
    let length = text.encode_utf16().count();
    if length > SCRIPT_LIMIT {
        return Err(format!(
            "a script of {length} characters is too long for a command line ({SCRIPT_LIMIT})"
        ));
    }
    Ok(())
}

/// Settings of `WinRM` that the engine knows in the registry (`provisioners/engine/windows/winrm.ps1`).
const WINRM_SETTINGS: [&str; 3] = [
    r"Service\AllowUnencrypted",
    r"Service\Auth\Basic",
    r"Service\Auth\CredSSP",
];

fn check_winrm_setting(setting: &WinrmSetting) -> Result<(), String> {
    if !WINRM_SETTINGS.contains(&setting.setting.as_str()) {
        return Err(format!(
            "`setting`: the engine knows {}, and not `{}`: write a `registryValue` with its policy",
            WINRM_SETTINGS.join(", "),
            setting.setting
        ));
    }
    if !["true", "false"].contains(&setting.value.as_str()) {
        let value = &setting.value;
        return Err(format!(
            "`value`: expected `true` or `false`, found `{value}`"
        ));
    }
    Ok(())
}

/// Rendered properties as the Rust type of the resource; the digest of a file's content is ours.
fn parse_resource(kind: &str, mut properties: Map<String, Value>) -> Result<ResourceKind, String> {
    if kind == "certificate" {
        certificate::complete_certificate(&mut properties)?;
    }
    let resource = serde_json::json!({"type": kind, "properties": properties});
    let mut typed: ResourceKind = json::convert_value(resource).map_err(|fault| {
        let fault = fault.to_string();
        let own = fault.strip_prefix("`properties`: ");
        own.map_or_else(|| fault.replacen("`properties.", "`", 1), str::to_owned)
    })?;
    match &mut typed {
        ResourceKind::File(File {
            desired: Desired::Present(file),
            ..
        }) => {
            file.sha256 = Some(sha256_hex(file.content.as_bytes()));
        }
        ResourceKind::Script(script) => {
            check_script(&script.test)?;
            check_script(&script.set)?;
        }
        ResourceKind::PowerPlan(it) => {
            let plan = it.plan.parse::<PlainGuid>();
            plan.map_err(|error| format!("`plan`: {error}"))?;
        }
        ResourceKind::WinrmSetting(it) => check_winrm_setting(it)?,
        _ => {}
    }
    Ok(typed)
}

/// The engine leaves out properties by their names in the guest plan, and passes over a name that is none.
fn check_volatile(kind: &ResourceKind, volatile: &BTreeMap<String, String>) -> Result<(), String> {
    if volatile.is_empty() {
        return Ok(());
    }
    let mut known = kind.facts();
    if known.remove("program").is_some() {
        known.remove("arguments");
        known.insert("commandLine".to_owned(), Value::Null);
    }
    let unknown = volatile.keys().find(|name| !known.contains_key(*name));
    unknown.map_or(Ok(()), |name| {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let names = names.join(", ");
        Err(format!(
            "`volatile`: the guest compares no `{name}`: expected one of {names}"
        ))
    })
}

/// Whether the digest of a member is not known yet: a plan that is proven has them all.
fn has_unread_archive(plan: &Plan) -> bool {
    plan.artifacts()
        .filter(|artifact| artifact.kind.archive_format().is_some())
        .flat_map(|artifact| &artifact.members)
        .any(|member| member.sha256.is_none())
}

/// Every guest component must be installed by a step.
fn check_installed(plan: &Plan, resources: &[Resource]) -> Result<()> {
    for artifact in plan
        .artifacts()
        .filter(|artifact| artifact.role == ArtifactRole::Guest)
    {
        let url = plan.locate_download(&artifact.url);
        let used = resources.iter().any(|resource| match &resource.kind {
            ResourceKind::Artifact(installed) => installed.download.url == url,
            ResourceKind::Archive(installed) => installed.download.url == url,
            ResourceKind::Msi(installed) => installed.download.url == url,
            _ => false,
        });
        if !used {
            let message = format!(
                "component {} is in the plan, but no step installs it",
                artifact.component
            );
            let remedy = format!(
                "add a resource with `each` `archives.{0}` or `downloads.{0}` to a step, or leave the component out",
                artifact.component
            );
            return Err(CodedError {
                remedy: Some(remedy),
                ..CodedError::new(Code::COMPONENT_UNINSTALLED, message)
            }
            .into());
        }
    }
    Ok(())
}

/// Every script of the payload with its digest: the same in every build of a release.
fn digest_scripts(provisioners: &Tree) -> BTreeMap<String, String> {
    let paths = list_script_files(provisioners).into_keys();
    paths
        .filter_map(|path| provisioners.digest(&path).map(|digest| (path, digest)))
        .collect()
}

/// Scripts that go into the guest, by their path in the payload.
pub fn list_script_files(provisioners: &Tree) -> BTreeMap<String, &[u8]> {
    let mut files = BTreeMap::new();
    for path in SCRIPT_FOLDERS
        .iter()
        .flat_map(|folder| provisioners.list_files(folder))
    {
        if (has_suffix(&path, "ps1") || has_suffix(&path, "psm1"))
            && let Some(bytes) = provisioners.get(&path)
        {
            files.insert(path, bytes);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_script_longer_than_a_command_line_is_refused() {
        let script = |length: usize| {
            let properties = json!({ "test": "x".repeat(length), "expected": "", "set": "y" });
            parse_resource(
                "script",
                properties.as_object().cloned().unwrap_or_default(),
            )
        };
        assert!(script(SCRIPT_LIMIT).is_ok());
        let message = script(SCRIPT_LIMIT + 1).expect_err("too long");
        assert!(message.contains("11501 characters"), "{message}");
        let encoded = (SCRIPT_LIMIT * 2).div_ceil(3) * 4;
        assert!(encoded + 2000 < 32_767, "{encoded}");
    }
}
