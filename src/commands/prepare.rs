//! What several verbs begin with: read the catalog and the selection, resolve, fold.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use super::overrides;
use crate::catalog::Catalog;
use crate::cli::{LockUseArgs, SelectionArgs};
use crate::embedded::Tree;
use crate::error::UsageError;
use crate::guest::{Guest, guest};
use crate::io::fs;
use crate::lock::{Lock, LockError};
use crate::machine::{Expectations, Prediction, predict};
use crate::model::json;
use crate::model::kubernetes::Program;
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::policy::Policy;
use crate::model::selection::{ImageDefinition, Proxy};
use crate::model::target::VariableType;
use crate::model::version::Version;
use crate::render::{self, RenderError};
use crate::resolve::{Platform, ResolveError, Surroundings, plan_tool, resolve};

/// The catalog and the trees that go with it.
#[derive(Debug)]
pub struct Trees {
    pub catalog: Catalog,
    pub packer: Tree,
    pub provisioners: Tree,
}

/// # Errors
/// The directory cannot be read.
pub fn trees(manifests: Option<&Path>) -> anyhow::Result<Trees> {
    let manifests = match manifests {
        None => Tree::manifests(),
        Some(path) => {
            let files = fs::read_tree(path).context("reading the catalog")?;
            Tree::loaded(path.display().to_string().trim_end_matches('/').to_owned(), files)
        }
    };
    Ok(Trees { catalog: Catalog::new(manifests), packer: Tree::packer(), provisioners: Tree::provisioners() })
}

/// Flags over the image definition, and where that lies.
///
/// # Errors
/// The definition cannot be read, or a flag's value not be understood.
pub fn definition(args: &SelectionArgs, trees: &Trees) -> anyhow::Result<(ImageDefinition, PathBuf)> {
    let (base, folder) = match &args.config {
        Some(path) => {
            let bytes = fs::read(path)?;
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            (json::parse(&path.display().to_string(), &bytes)?, folder)
        }
        None => match fs::read_if_there(Path::new("imagegen.json"))? {
            Some(bytes) => (json::parse("imagegen.json", &bytes)?, PathBuf::new()),
            None => (ImageDefinition::default(), PathBuf::new()),
        },
    };
    let mut base = base;
    overrides::load(&mut base.overrides, &folder)?;
    Ok((flags(args, &base, trees)?.over(base), folder))
}

fn flags(args: &SelectionArgs, base: &ImageDefinition, trees: &Trees) -> anyhow::Result<ImageDefinition> {
    let target = args.target.as_ref().or(base.target.as_ref());
    let proxy =
        (args.http_proxy.is_some() || args.https_proxy.is_some() || args.no_proxy.is_some()).then(|| Proxy {
            http: args.http_proxy.clone().unwrap_or_default(),
            https: args.https_proxy.clone().unwrap_or_default(),
            no_proxy: args.no_proxy.clone().unwrap_or_default(),
        });
    Ok(ImageDefinition {
        target: args.target.clone(),
        windows: args.windows.clone(),
        kubernetes: args.k8s.clone(),
        runtime: args.runtime,
        cni: args.cni,
        host_access: args.host_access,
        delivery: args.delivery,
        features: args.features.clone(),
        updates: args.updates.clone(),
        mirrors: mirrors(&args.mirrors),
        images: args.images.clone(),
        proxy,
        components: args.component.iter().cloned().collect(),
        variables: variables(args, target.map(String::as_str), trees)?,
        overrides: overrides::from_flags(args)?,
        ..ImageDefinition::default()
    })
}

fn mirrors(pairs: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    let mut mirrors: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (registry, url) in pairs {
        mirrors.entry(registry.clone()).or_default().push(url.clone());
    }
    mirrors
}

/// Values from the command line by the variable's type: texts as they are, all else as JSON.
fn variables(
    args: &SelectionArgs,
    target: Option<&str>,
    trees: &Trees,
) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut values = BTreeMap::new();
    let Some(name) = target else { return Ok(values) };
    if args.variables.is_empty() {
        return Ok(values);
    }
    let target = render::target(&trees.packer, name).map_err(unknown_target)?;
    for (name, text) in &args.variables {
        let kind = target.variable(name).map(|variable| variable.kind);
        let value = match kind {
            None | Some(VariableType::String) => Value::String(text.clone()),
            Some(kind) => serde_json::from_str(text).map_err(|_| UsageError {
                message: format!("--var {name}: `{text}` is no {}", kind.as_str()),
                hint: Some(match kind {
                    VariableType::StringList => format!("write it as JSON: --var '{name}=[\"a\", \"b\"]'"),
                    VariableType::StringMap => format!("write it as JSON: --var '{name}={{\"a\": \"b\"}}'"),
                    _ => format!(
                        "such as --var {name}={}",
                        if kind == VariableType::Bool { "true" } else { "1" }
                    ),
                }),
            })?,
        };
        values.insert(name.clone(), value);
    }
    Ok(values)
}

/// An unknown target is a wrong selection, not a rendering that failed.
fn unknown_target(error: RenderError) -> anyhow::Error {
    match error {
        RenderError::UnknownTarget { name, suggestion } => {
            crate::catalog::CatalogError::Unknown { what: "target", name, suggestion }.into()
        }
        other => other.into(),
    }
}

/// # Errors
/// No target is named, the selection is refused, or the catalog is wrong.
pub fn plan(definition: &ImageDefinition, trees: &Trees) -> anyhow::Result<Plan> {
    plan_with(definition, trees, BTreeMap::new())
}

/// The same with newer releases than the catalog's.
///
/// # Errors
/// As [`plan`].
pub fn plan_with(
    definition: &ImageDefinition,
    trees: &Trees,
    updated: BTreeMap<String, Version>,
) -> anyhow::Result<Plan> {
    let Some(name) = definition.target.as_deref() else {
        return Err(UsageError {
            message: "no target is named".to_owned(),
            hint: Some(format!(
                "add `--target {}`, or `\"target\"` to imagegen.json",
                trees.packer.folders("targets").join("` or `--target ")
            )),
        }
        .into());
    };
    let target = render::target(&trees.packer, name).map_err(unknown_target)?;
    let packer = render::packer_base(&trees.packer)?.version;
    let surroundings = Surroundings {
        environment: target
            .variables
            .iter()
            .flat_map(crate::model::target::Variable::environment_names)
            .filter(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
            .collect(),
        updated,
    };
    Ok(resolve(&trees.catalog, target, &packer, definition, &surroundings)?)
}

/// Packer and its plugins as artifacts for this machine, by component name and version.
pub type PlannedTools<'a> = Vec<(String, &'a Version, anyhow::Result<PlannedArtifact>)>;

/// The programs that a plan is baked with; none where its target needs no Packer.
#[must_use]
pub fn planned_tools<'a>(plan: &'a Plan, trees: &Trees) -> PlannedTools<'a> {
    let Some(packer) = &plan.packer else { return Vec::new() };
    let plugins = packer.plugins.iter().map(|it| (format!("packer-plugin-{}", it.name), &it.version));
    std::iter::once(("packer".to_owned(), &packer.version))
        .chain(plugins)
        .map(|(name, version)| {
            let planned = trees.catalog.component(&name).map_err(anyhow::Error::from).and_then(|component| {
                plan_tool(&component, version, Platform::host(), &plan.selection.overrides)
                    .map_err(|refusal| ResolveError::Refused(vec![refusal]).into())
            });
            (name, version, planned)
        })
        .collect()
}

/// A plan for what depends on the nodes and not on where their image is built.
///
/// # Errors
/// As [`plan`].
pub fn plan_of_nodes(selection: &SelectionArgs, trees: &Trees) -> anyhow::Result<Plan> {
    let (mut definition, _) = definition(selection, trees)?;
    // The target decides nothing here.
    definition.target = definition.target.or_else(|| trees.packer.folders("targets").into_iter().next());
    plan(&definition, trees)
}

/// The lockfile's path: as told, or beside the image definition.
#[must_use]
pub fn lock_path(told: Option<&PathBuf>, folder: &Path) -> PathBuf {
    told.cloned().unwrap_or_else(|| folder.join("imagegen.lock.json"))
}

/// A plan with what the lockfile pins, if there is one and it fits, and the policy that it was held
/// against.
///
/// # Errors
/// As [`plan`]; a lockfile that is stale, or absent where it is demanded.
pub fn locked_plan_and_policy(
    selection: &SelectionArgs,
    lock: &LockUseArgs,
    trees: &Trees,
) -> anyhow::Result<(Plan, Policy)> {
    let (definition, folder) = definition(selection, trees)?;
    locked_plan_of(&definition, &folder, selection, lock, trees)
}

/// The same where the image definition and its folder were read already.
///
/// # Errors
/// As [`locked_plan_and_policy`].
pub fn locked_plan_of(
    definition: &ImageDefinition,
    folder: &Path,
    selection: &SelectionArgs,
    lock: &LockUseArgs,
    trees: &Trees,
) -> anyhow::Result<(Plan, Policy)> {
    let path = lock_path(lock.lock.as_ref(), folder);
    let file = path.display().to_string();
    let bytes = if lock.ignore_lock { None } else { fs::read_if_there(&path)? };
    let locked = bytes.map(|bytes| Lock::decode(&file, &bytes)).transpose()?;
    let flag = if lock.locked { Some("--locked") } else { lock.lock.as_ref().map(|_| "--lock") };
    if let (None, Some(flag), false) = (&locked, flag, lock.ignore_lock) {
        return Err(LockError::Absent { file, flag }.into());
    }
    let updated = locked.as_ref().map(|locked| locked.updated.clone()).unwrap_or_default();
    let mut plan = plan_with(definition, trees, updated)?;
    let policy = overrides::policy(selection, &mut plan)?;
    if let Some(locked) = locked {
        locked.check(&file, &plan)?;
        locked.pin(&mut plan);
    }
    Ok((plan, policy))
}

/// The guest plan and the machine it makes.
///
/// # Errors
/// A step is wrong, or the predicted machine could not work.
pub fn predicted(plan: &Plan, trees: &Trees) -> anyhow::Result<(Guest, Prediction)> {
    let guest = guest(plan, &trees.catalog.flags()?, &trees.provisioners)?;
    let programs = known_programs(plan, trees)?;
    let image = plan.target.image.as_ref().map(|image| &image.guest);
    let step_file = |id: &str| guest.step_files.get(id).cloned().unwrap_or_else(|| id.to_owned());
    let prediction = predict(
        &guest.plan.resources,
        &Expectations {
            build: plan.windows.build,
            windows: &plan.windows.release,
            target: &plan.target.name,
            seals: image.is_some(),
            later: &guest.later,
            ports: &guest.ports,
            build_user: image.map(|guest| guest.build_user.as_str()),
            winrm: image.and_then(|guest| guest.winrm_transport),
            programs: &programs,
            step_file: &step_file,
        },
    );
    if prediction.problems.is_empty() {
        return Ok((guest, prediction));
    }
    Err(RenderError::Machine(prediction.problems).into())
}

/// What this line's programs know. A gate that graduated is hidden from their help and accepted
/// still, until it is removed: gates of the line before are taken along.
fn known_programs(plan: &Plan, trees: &Trees) -> anyhow::Result<BTreeMap<String, Program>> {
    let mut programs = plan.line.programs.clone();
    let minors = trees.catalog.kubernetes_minors();
    let before = minors.iter().position(|minor| *minor == plan.line.minor).and_then(|at| at.checked_sub(1));
    if let Some(before) = before.and_then(|at| minors.get(at)) {
        for (name, program) in trees.catalog.kubernetes(before)?.programs {
            if let Some(known) = programs.get_mut(&name) {
                known.feature_gates.extend(program.feature_gates);
            }
        }
    }
    Ok(programs)
}
