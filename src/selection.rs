//! What a verb starts from: catalog, image definition, flags, overrides, policy and lockfile become a plan,
//! and the plan a predicted machine.

mod build_time;
mod cluster;
mod definitions;
mod draft;
mod images;
mod inputs;
mod join;
mod layers;
mod lockfile;
mod recompute;
mod sources;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::base::digest::sha256_hex;
use crate::base::json::parse_json;
use crate::base::url::HttpUrl;
use crate::base::value::Registry;
use crate::base::version::Version;
use crate::catalog::load_target;
use crate::catalog::{Catalog, Trees};
use crate::cli::SelectionArgs;
use crate::diagnostic::{InputError, Result};
use crate::embedded::Tree;
use crate::guest::{Guest, render_guest};
use crate::machine::{Expectations, PackageService, Prediction, predict_state};
use crate::model::component::PayloadKind;
use crate::model::definition::{ImageDefinition, Proxy};
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::model::variable::VariableType;
use crate::render::{self, RenderError};
pub use build_time::read_source_date;
pub use cluster::{cluster_input, read_paths, resolve_cluster_plan};
pub use definitions::{DefinedImage, Definitions};
pub use draft::draft_definition;
pub use images::{SeveralFailed, workspace_path};
pub use inputs::{
    NamedPolicy, apply_policy, mirror_overrides, read_input, read_input_tree, read_policy,
};
pub use join::{read_join_input, read_places, read_secrets};
pub use layers::require_target;
pub use lockfile::{
    Stale, check_lock_path, complete_for_lock, lock_path, read_lock, read_old_lock,
    resolve_bake_plan, resolve_locked_definition, resolve_locked_plan, resolve_viewed_plan,
    write_lockfile,
};
pub use recompute::{PolicyOfLock, resolve_lock, resolve_lock_of_build};
pub use sources::{TreeSet, read_sources};

use crate::resolve::{World, resolve_selection};

/// # Errors
/// The directory cannot be read.
pub fn read_trees(manifests: Option<&Path>) -> Result<Trees> {
    let mut own_catalog = None;
    let manifests = match manifests {
        None => Tree::embedded_manifests(),
        Some(path) => {
            let files = read_input_tree("--manifests", path)?;
            let list = files
                .iter()
                .map(|(path, bytes)| format!("{path} {}\n", sha256_hex(bytes)));
            own_catalog = Some(sha256_hex(list.collect::<String>().as_bytes()));
            Tree::from_files(
                path.display().to_string().trim_end_matches('/').to_owned(),
                files,
            )
        }
    };
    Ok(Trees {
        catalog: Catalog::new(manifests),
        packer: Tree::embedded_packer(),
        provisioners: Tree::embedded_provisioners(),
        own_files: BTreeMap::new(),
        own_catalog,
    })
}

/// Flags over the image definition.
///
/// # Errors
/// A flag's value is not understood, or the definition sets an operator's variable.
pub fn read_definition(
    args: &SelectionArgs,
    image: &DefinedImage,
    trees: &Trees,
) -> Result<ImageDefinition> {
    let own = &image.definition;
    let target = args.target.as_deref().or(own.target.as_deref());
    layers::check_variables("image definition", &own.variables, target, args, trees)?;
    let flags = definition_from_flags(args, &image.definition, trees)?;
    let mut definition = flags.merge_over(image.definition.clone());
    if definition.image_version.is_none() {
        definition.image_version = build_time::read_source_date()?;
    }
    Ok(definition)
}

fn definition_from_flags(
    args: &SelectionArgs,
    base: &ImageDefinition,
    trees: &Trees,
) -> Result<ImageDefinition> {
    let target = args.target.as_ref().or(base.target.as_ref());
    let proxy = (args.http_proxy.is_some()
        || args.https_proxy.is_some()
        || args.no_proxy.is_some())
    .then(|| Proxy {
        http: args.http_proxy.clone(),
        https: args.https_proxy.clone(),
        no_proxy: args.no_proxy.clone(),
    });
    Ok(ImageDefinition {
        target: args.target.clone(),
        windows: args.windows.clone(),
        kubernetes: args.k8s.clone(),
        runtime: args.runtime,
        cni: args.cni.clone(),
        host_access: args.host_access,
        delivery: args.delivery,
        features: args.features.clone(),
        updates: args.updates.clone(),
        mirrors: group_mirrors(&args.mirrors),
        container_images: args.images.clone(),
        proxy,
        components: args.component.iter().cloned().collect(),
        variables: parse_variables(args, target.map(String::as_str), trees)?,
        image_version: args.image_version.clone(),
        overrides: inputs::read_overrides(args)?,
        ..ImageDefinition::default()
    })
}

fn group_mirrors(pairs: &[(Registry, HttpUrl)]) -> BTreeMap<Registry, Vec<HttpUrl>> {
    let mut mirrors: BTreeMap<Registry, Vec<HttpUrl>> = BTreeMap::new();
    for (registry, url) in pairs {
        mirrors
            .entry(registry.clone())
            .or_default()
            .push(url.clone());
    }
    mirrors
}

/// Values from the command line by the variable's type: texts as they are, all else as JSON.
fn parse_variables(
    args: &SelectionArgs,
    target: Option<&str>,
    trees: &Trees,
) -> Result<BTreeMap<String, Value>> {
    let mut values = BTreeMap::new();
    let Some(name) = target else {
        return Ok(values);
    };
    if args.variables.is_empty() {
        return Ok(values);
    }
    let target = load_target(&trees.packer, name)?;
    for (name, text) in &args.variables {
        let kind = target.find_variable(name).map(|variable| variable.kind);
        let value = match kind {
            None | Some(VariableType::String) => Value::String(text.clone()),
            Some(kind) => parse_json("--var", text.as_bytes()).map_err(|error| {
                InputError::new(
                    match serde_json::from_str::<Value>(text) {
                        Ok(_) => format!("--var {name}: {}", error.message),
                        Err(_) => {
                            format!("--var {name}: expected {}, found `{text}`", kind.as_str())
                        }
                    },
                    match kind {
                        VariableType::StringList => {
                            format!("write it as JSON: --var '{name}=[\"a\", \"b\"]'")
                        }
                        VariableType::StringMap => {
                            format!("write it as JSON: --var '{name}={{\"a\": \"b\"}}'")
                        }
                        _ => format!(
                            "such as --var {name}={}",
                            if kind == VariableType::Bool {
                                "true"
                            } else {
                                "1"
                            }
                        ),
                    },
                )
            })?,
        };
        values.insert(name.clone(), value);
    }
    Ok(values)
}

/// # Errors
/// No target is named, the selection is refused, or the catalog is wrong.
pub fn resolve_plan(definition: &ImageDefinition, trees: &Trees) -> Result<Plan> {
    resolve_updated_plan(definition, trees, BTreeMap::new())
}

/// The same with newer releases than the catalog's.
///
/// # Errors
/// As [`resolve_plan`].
pub fn resolve_updated_plan(
    definition: &ImageDefinition,
    trees: &Trees,
    updated: BTreeMap<String, Version>,
) -> Result<Plan> {
    let Some(name) = definition.target.as_deref() else {
        return Err(InputError::new("the selection names no target", format!(
                "add `--target NAME` or `\"target\"` in imagegen.json, or run `imagegen init`; the targets are {}",
                trees.packer.list_folders("targets").join(", ")
            ))
        .into());
    };
    let target = load_target(&trees.packer, name)?;
    let packer = render::read_packer_base(&trees.packer)?.version;
    let surroundings = World {
        environment: build_time::list_environment(&target),
        selectors: build_time::read_selectors(&target),
        updated,
        own_files: trees.own_files.clone(),
    };
    resolve_selection(&trees.catalog, target, &packer, definition, &surroundings)
}

/// A plan for what depends on the nodes and not on where their image is built.
///
/// # Errors
/// As [`resolve_plan`].
pub fn resolve_node_plan(
    selection: &SelectionArgs,
    image: &DefinedImage,
    trees: &Trees,
) -> Result<(Plan, Policy)> {
    let mut definition = read_definition(selection, image, trees)?;
    layers::require_target(selection, &definition)?;
    let mut plan = if definition.target.is_some() {
        resolve_plan(&definition, trees)?
    } else {
        resolve_anywhere(&mut definition, trees)?
    };
    let policy = apply_policy(selection.into(), &mut plan, trees)?;
    Ok((plan, policy))
}

/// The plan of a node whose target nobody named: the first target that takes the rest of the selection. Where none
/// does, the error of the first.
fn resolve_anywhere(definition: &mut ImageDefinition, trees: &Trees) -> Result<Plan> {
    let mut refusal = None;
    for target in trees.packer.list_folders("targets") {
        definition.target = Some(target);
        match resolve_plan(definition, trees) {
            Ok(plan) => {
                return Ok(Plan {
                    packer: None,
                    ..plan
                });
            }
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    definition.target = None;
    refusal.map_or_else(|| resolve_plan(definition, trees), Err)
}

/// Services that the packages of a plan install, as their components say.
fn list_package_services(plan: &Plan, catalog: &Catalog) -> Result<Vec<PackageService>> {
    let mut found = Vec::new();
    for artifact in plan
        .artifacts()
        .filter(|artifact| artifact.kind == PayloadKind::Msi)
    {
        let services = &catalog.load_component(&artifact.component)?.services;
        found.extend(services.iter().map(|service| PackageService {
            package: artifact.url.clone(),
            service: service.name.clone(),
        }));
    }
    Ok(found)
}

/// The guest plan and the machine it makes.
///
/// # Errors
/// A step is wrong, or the predicted machine does not work.
pub fn predict_machine(plan: &Plan, trees: &Trees) -> Result<(Guest, Prediction)> {
    let guest = render_guest(plan, &trees.catalog.load_flags()?, &trees.provisioners)?;
    let programs = trees
        .catalog
        .load_programs()?
        .list_programs(plan.line.minor);
    let image = plan.target.image();
    let platform = image
        .map(|image| image.platform.clone())
        .unwrap_or_default();
    let step_file = |id: &str| {
        guest
            .step_files
            .get(id)
            .cloned()
            .unwrap_or_else(|| id.to_owned())
    };
    let packages = list_package_services(plan, &trees.catalog)?;
    let prediction = predict_state(
        &guest.plan.resources,
        &Expectations {
            build: plan.windows.build,
            windows: &plan.windows.release,
            target: &plan.target.name,
            platform: &platform,
            seals: image.is_some(),
            later: &guest.later,
            ports: &guest.ports,
            needs: &guest.needs,
            arguments: &guest.arguments,
            packages: &packages,
            build_user: image.map(|image| image.session().1),
            winrm: image.map(|image| image.session().0),
            programs: &programs,
            step_file: &step_file,
        },
    );
    if prediction.problems.is_empty() {
        return Ok((guest, prediction));
    }
    Err(RenderError::Machine(prediction.problems).into())
}
