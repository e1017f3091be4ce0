//! Inputs of a verb: trees, image definitions, flags, overrides, policies and lockfiles as the user gives them.

mod build_time;
mod definitions;
mod flags;
mod images;
mod inputs;
mod layers;
mod lockfile;
mod settings;
mod sources;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::base::digest::sha256_hex;
use crate::base::json::{is_one_json, parse_json};
use crate::catalog::{Catalog, Trees, load_target};
use crate::diagnostic::{Error, Result};
use crate::embedded::Tree;
use crate::model::definition::ImageDefinition;
use crate::model::variable::VariableType;
pub use build_time::{list_environment, read_selectors, read_source_date, read_time, read_today};
pub use definitions::{ChosenImage, DefinedImage, Definitions, NamingForm, UnreadableFile};
pub use flags::{Flags, NamedPolicy};
pub use images::SeveralFailed;
pub use inputs::{read_input, read_input_tree, read_overrides, read_policy};
pub use layers::{complete_from_lock, is_operators, require_target};
pub use lockfile::{
    check_lock_path, choose_lock, find_lock, lock_path, read_lock, read_old_lock, write_lockfile,
};
pub use settings::{Settings, read_mirrors};
pub use sources::{
    SourceFolders, TreeSet, read_locked_image, read_one_image, read_sources, read_target_sources,
};

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
/// A variable has another type, or the definition sets an operator's variable.
pub fn read_definition(
    flags: &Flags,
    image: &DefinedImage,
    trees: &Trees,
) -> Result<ImageDefinition> {
    let own = &image.definition;
    let target = flags.definition.target.as_deref();
    let target = target.or(own.target.as_deref());
    layers::check_variables("image definition", &own.variables, target, flags, trees)?;

    let given = ImageDefinition {
        variables: parse_variables(&flags.variables, target, trees)?,
        ..flags.definition.clone()
    };
    let mut definition = given.merge_over(own.clone());
    if definition.image_version.is_none() {
        definition.image_version = build_time::read_source_date()?;
    }
    Ok(definition)
}

/// Values from the command line by the variable's type: texts as they are, all else as JSON.
///
/// # Errors
/// The target is unknown, or a value is not of its variable's type.
pub fn parse_variables(
    variables: &[(String, String)],
    target: Option<&str>,
    trees: &Trees,
) -> Result<BTreeMap<String, Value>> {
    let mut values = BTreeMap::new();
    let Some(name) = target else {
        return Ok(values);
    };
    if variables.is_empty() {
        return Ok(values);
    }
    let target = load_target(&trees.packer, name)?;
    for (name, text) in variables {
        let kind = target.find_variable(name).map(|variable| variable.kind);
        let value = match kind {
            None | Some(VariableType::String) => Value::String(text.clone()),
            Some(kind) => parse_json("--var", text.as_bytes()).map_err(|error| {
                Error::value(
                    if is_one_json(text.as_bytes()) {
                        format!("--var {name}: {}", error.fault.message)
                    } else {
                        format!("--var {name}: expected {}, found `{text}`", kind.as_str())
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
