//! Contents of the catalog, as rows.

mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::base::code::TABLES;
use crate::base::text::format_path;
use crate::catalog::{Trees, load_targets};
use crate::diagnostic::{InternalError, Result};
use crate::guest::read_steps;
use crate::model::component::{Component, Pin};
use crate::model::support::Day;
use crate::selection::{DefinedImage, Definitions};
use crate::workspace::workspace_path;

use rows::TargetInput;
pub use rows::{
    ComponentRow, ImageRow, KubernetesRow, RuleRow, StepRow, TargetRow, VariableRow, WindowsRow,
};

/// Each entry as JSON value and as line.
pub type Rows = Vec<(Value, String)>;

fn write_row(row: &impl Serialize) -> Result<Value> {
    serde_json::to_value(row)
        .map_err(|error| InternalError(format!("an entry of a list: {error}")).into())
}

/// # Errors
/// The catalog cannot be read.
pub fn list_targets(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    for target in load_targets(&trees.packer)? {
        let name = &target.name;
        let image = target.image();
        let builders: Vec<&str> = target.builders().collect();
        let value = write_row(&TargetRow {
            name,
            title: &target.title,
            builders: &builders,
            plugins: image.map(|image| image.plugins.as_slice()),
            output: image.map(|image| &image.output),
            windows: target.releases.keys().collect(),
            stage: target.record.stage(),
            checks: &target.record.checks,
        })?;
        let how = if let Some(image) = image {
            let plugin = image.plugins.first();
            let builders = builders.join(" or ");
            format!("{builders}, plugin {} {}", plugin.name, plugin.version)
        } else {
            "without Packer".to_owned()
        };
        let line = format!(
            "{name:<12} {} ({how}): {}",
            target.title,
            target.record.format_stages()
        );
        rows.push((value, line));
    }
    Ok(rows)
}

/// # Errors
/// The catalog cannot be read.
pub fn list_kubernetes(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    let programs = trees.catalog.load_programs()?;
    let containerd = trees.catalog.load_component("containerd")?;
    for minor in trees.catalog.kubernetes_minors() {
        let line = trees.catalog.load_kubernetes_line(minor)?;
        let surveyed = programs.surveyed.find(minor).map(|survey| &survey.release);
        let windows: Vec<&str> = line.windows.iter().map(|it| it.value.as_str()).collect();
        let runtimes: Vec<&str> = line.runtimes.iter().map(|it| it.name.as_str()).collect();
        let access: Vec<&str> = line.host_access.iter().map(|it| it.name.as_str()).collect();
        let default = containerd.find_choice(minor).map(|choice| &choice.default);
        let end = line.end_of_support.as_ref().map(|end| &end.date);
        let value = write_row(&KubernetesRow {
            minor,
            latest: &line.latest,
            patches: &line.patches,
            windows: &windows,
            runtimes: &runtimes,
            host_access: &access,
            containerd: default,
            surveyed,
            supported_until: end,
        })?;
        let note = match surveyed {
            Some(_) => "",
            None => " (programs not surveyed)",
        };
        let text = format!(
            "{minor:<6} {:<10} until {:<10} windows {:<24} runtime {:<18} host access {}{note}",
            line.latest,
            end.map_or("?", Day::as_str),
            windows.join(","),
            runtimes.join(","),
            access.join(","),
        );
        rows.push((value, text));
    }
    Ok(rows)
}

/// # Errors
/// The catalog cannot be read.
pub fn list_windows(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    for name in trees.catalog.windows_names() {
        let windows = trees.catalog.load_windows_release(&name)?;
        let end = windows.end_of_support.as_ref().map(|end| &end.date);
        let value = write_row(&WindowsRow {
            release: &name,
            title: &windows.title,
            build: windows.build,
            channel: windows.channel,
            supported_until: end,
            container_tag: &windows.container_tag,
        })?;
        let line = format!(
            "{name:<6} {} (build {}, images `{}`, supported until {})",
            windows.title,
            windows.build,
            windows.container_tag,
            end.map_or("?", Day::as_str)
        );
        rows.push((value, line));
    }
    Ok(rows)
}

/// # Errors
/// The catalog cannot be read.
pub fn list_networks(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    for name in trees.catalog.network_names() {
        let network = trees.catalog.network(&name)?;
        let line = format!("{name:<20} {}", network.title);
        rows.push((write_row(&*network)?, line));
    }
    Ok(rows)
}

/// # Errors
/// The catalog cannot be read.
pub fn list_features(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    for feature in &trees.catalog.load_features()?.features {
        let line = format!("{:<20} {}", feature.name, feature.summary);
        rows.push((write_row(feature)?, line));
    }
    Ok(rows)
}

/// # Errors
/// The catalog cannot be read.
pub fn list_variables(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    for target in load_targets(&trees.packer)? {
        let name = &target.name;
        for selector in &target.selectors {
            let line = format!(
                "{name:<10} {:<36} choice   {}",
                selector.name, selector.description
            );
            let value = write_row(&VariableRow {
                target: name,
                name: &selector.name,
                input: TargetInput::Selector(selector),
            })?;
            rows.push((value, line));
        }
        for variable in &target.variables {
            let need = if variable.sensitive {
                "secret"
            } else if variable.required {
                "required"
            } else {
                ""
            };
            let line = format!(
                "{name:<10} {:<36} {need:<8} {}",
                variable.name, variable.description
            );
            let value = write_row(&VariableRow {
                target: name,
                name: &variable.name,
                input: TargetInput::Variable(variable),
            })?;
            rows.push((value, line));
        }
    }
    Ok(rows)
}

/// # Errors
/// The catalog cannot be read.
pub fn list_steps(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    for (path, step) in read_steps(&trees.provisioners)?.iter() {
        let value = write_row(&StepRow {
            name: step.id.as_str(),
            phase: step.phase,
            summary: &step.summary,
            file: path,
            when: &step.when,
            resources: step.resources.len(),
        })?;
        rows.push((value, format!("{:<20} {}", step.id, step.summary)));
    }
    Ok(rows)
}

/// Selection of each image for a pipeline that builds it by itself.
/// # Errors
/// No image is defined, or a lockfile cannot be read.
pub fn list_defined_images(definitions: &Definitions, which: &WhichImages) -> Result<Rows> {
    // A pipeline whose matrix is empty would build nothing, and succeed.
    definitions.require_any()?;
    let mut rows = Rows::new();
    for image in which.choose(definitions.images())? {
        let definition = &image.definition;
        let value = write_row(&ImageRow {
            name: &image.name,
            config: image.config(),
            target: definition.target.as_deref(),
            windows: definition.windows.as_deref(),
            kubernetes: definition.kubernetes.as_deref(),
            lock: format_path(&image.lock_path()),
            workspace: format_path(&workspace_path(&image.name)),
        })?;
        let target = definition.target.as_deref().unwrap_or("-");
        let windows = definition.windows.as_deref().unwrap_or("-");
        let kubernetes = definition.kubernetes.as_deref().unwrap_or("-");
        let text = format!("{:<28} {target:<12} {windows:<8} {kubernetes}", image.name);
        rows.push((value, text));
    }
    Ok(rows)
}

/// A lockfile that an image was built from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BuiltLock {
    /// SHA-256
    pub lock: String,
    /// Name of the image; none in older records.
    pub image: Option<String>,
}

/// Images of a definition that are listed.
#[derive(Debug)]
pub enum WhichImages {
    All,
    /// Those that none of these builds made from their lockfile.
    Unbuilt(BTreeSet<BuiltLock>),
}

impl WhichImages {
    fn choose<'a>(&self, images: &'a [DefinedImage]) -> Result<Vec<&'a DefinedImage>> {
        let Self::Unbuilt(built) = self else {
            return Ok(images.iter().collect());
        };
        let mut locks = Vec::new();
        for image in images {
            locks.push(image.digest_lock()?);
        }

        // Images that differ in values of build time alone have one lockfile.
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for lock in locks.iter().flatten() {
            *counts.entry(lock).or_default() += 1;
        }
        let mut chosen = Vec::new();
        for (image, lock) in images.iter().zip(&locks) {
            let is_built = lock.as_ref().is_some_and(|lock| {
                let is_only = counts[lock.as_str()] == 1;
                let mut builds = built.iter().filter(|build| build.lock == *lock);
                builds.any(|build| is_only || build.image.as_ref() == Some(&image.name))
            });
            if !is_built {
                chosen.push(image);
            }
        }
        Ok(chosen)
    }
}

/// Rules of the catalog, then the codes of errors and warnings, and the rules of the machine model.
/// # Errors
/// The catalog cannot be read.
pub fn list_rules(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    let rules = trees.catalog.load_rules()?;
    for rule in rules.refusals.iter().chain(&rules.warnings) {
        rows.push(create_rule_row("rule", &rule.id, &rule.reason)?);
    }
    for table in TABLES {
        for (code, meaning) in table.rows {
            rows.push(create_rule_row(table.kind, code.as_str(), meaning)?);
        }
    }
    Ok(rows)
}

fn create_rule_row(kind: &str, name: &str, text: &str) -> Result<(Value, String)> {
    let value = write_row(&RuleRow { name, kind, text })?;
    Ok((value, format!("{name:<28} {text}")))
}

/// # Errors
/// The catalog cannot be read.
pub fn list_components(trees: &Trees) -> Result<Rows> {
    let mut rows = Rows::new();
    for name in trees.catalog.component_names() {
        let component = trees.catalog.load_component(&name)?;
        let pinned = usable_pins(&component);
        let value = write_row(&ComponentRow {
            name: &name,
            summary: &component.definition.summary,
            license: &component.definition.license,
            pinned: pinned.len(),
            newest_pinned: pinned.last().map(|pin| &pin.version),
        })?;
        let mut line = format!("{name:<28} {:>4} pinned  ", pinned.len());
        let _ = write!(line, "{}", component.definition.summary);
        rows.push((value, line));
    }
    Ok(rows)
}

/// One usable pin per version, ascending.
fn usable_pins(component: &Component) -> Vec<Pin> {
    let mut pins = component.pins.list();
    pins.retain(Pin::is_usable);
    pins.sort_by(|a, b| a.version.cmp(&b.version).then(a.digest.cmp(&b.digest)));
    pins.dedup_by(|a, b| a.version == b.version);
    pins
}

/// # Errors
/// The catalog cannot be read.
pub fn list_versions(trees: &Trees, name: &str) -> Result<Rows> {
    let component = trees.catalog.load_component(name)?;
    let mut rows = Rows::new();
    for pin in usable_pins(&component) {
        let line = format!(
            "{:<22} {}:{} {}",
            pin.version,
            pin.digest.algorithm().as_str(),
            pin.digest.as_str(),
            pin.confidence.as_str(),
        );
        rows.push((write_row(&pin)?, line));
    }
    Ok(rows)
}
