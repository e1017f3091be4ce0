//! The rule, its value and its source, for anything that has a name.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::catalog::CatalogError;
use crate::cli::ExplainArgs;
use crate::diagnostic::Result;
use crate::guest::render_guest;
use crate::model::names::format_suggestion;
use crate::model::plan::Plan;

use crate::catalog::Trees;
use crate::selection::resolve_node_plan;

/// One thing that a name means.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `component`, `flag`, `gate`, `step`, `rule`, `pod network`, `windows setting`, `variable`.
    pub kind: &'static str,
    pub name: String,
    pub lines: Vec<String>,
    pub source: String,
}

/// What a name means in a plan; without a target in the selection, for any target.
///
/// # Errors
/// The selection cannot be resolved, or the name is unknown.
pub fn explain_name(args: &ExplainArgs, trees: &Trees) -> Result<(Vec<Explanation>, Plan)> {
    let plan = resolve_node_plan(&args.selection, trees)?;
    let mut index = Index::default();
    index.add_components(&plan, trees)?;
    index.add_flags(&plan, trees)?;
    index.add_steps(&plan, trees)?;
    index.add_rules(trees)?;
    index.add_windows(&plan);
    index.add_networks(trees)?;
    index.add_variables(&plan);
    let name = args.name.trim_start_matches('-').to_lowercase();
    if let Some(found) = index.0.remove(&name) {
        return Ok((found, plan));
    }
    let suggestion = format_suggestion(&name, index.0.keys().map(String::as_str));
    Err(CatalogError::Unknown { what: "name", name: args.name.clone(), suggestion }.into())
}

#[derive(Default)]
struct Index(BTreeMap<String, Vec<Explanation>>);

impl Index {
    fn add(&mut self, kind: &'static str, name: &str, lines: Vec<String>, source: &str) {
        let key = name.trim_start_matches('-').to_lowercase();
        let item = Explanation { kind, name: name.to_owned(), lines, source: source.to_owned() };
        self.0.entry(key).or_default().push(item);
    }

    fn add_components(&mut self, plan: &Plan, trees: &Trees) -> Result<()> {
        for name in trees.catalog.component_names() {
            let component = trees.catalog.load_component(&name)?;
            let mut lines = vec![component.summary.clone(), format!("licence: {}", component.license)];
            let choice = component.find_choice(plan.line.minor);
            if let Some(choice) = choice {
                lines.push(format!(
                    "default {} for Kubernetes {}: {}",
                    choice.default, plan.line.minor, choice.reason
                ));
                lines.push(format!("allowed: {}", choice.allowed));
            }
            for group in &plan.groups {
                for artifact in group.artifacts.iter().filter(|artifact| artifact.component == name) {
                    lines.push(format!("in this plan: {} ({})", artifact.version, group.reason));
                    lines.push(format!("from {}", artifact.url));
                    lines.push(artifact.format_pin_state());
                    lines.extend(
                        artifact.checksums.iter().map(|checksum| format!("checksum file: {}", checksum.url)),
                    );
                    lines.extend(artifact.signatures.iter().map(|signature| {
                        format!(
                            "signature: {} by {}",
                            signature.url,
                            signature.identity.as_deref().unwrap_or("-")
                        )
                    }));
                }
            }
            let source = choice.map_or_else(
                || component.releases.first().map(|release| release.source.clone()).unwrap_or_default(),
                |choice| choice.source.clone(),
            );
            self.add("component", &name, lines, &source);
        }
        Ok(())
    }

    fn add_flags(&mut self, plan: &Plan, trees: &Trees) -> Result<()> {
        let table = trees.catalog.load_flags()?;
        let situation = plan.situation();
        for rule in &table.flags {
            let applies = rule.versions.contains(&plan.kubernetes) && situation.holds(&rule.when);
            let lines = vec![
                format!(
                    "{}: versions {}, value {}",
                    rule.program,
                    rule.versions,
                    rule.value.as_deref().unwrap_or("none")
                ),
                rule.reason.clone(),
                format!("in this plan: {}", if applies { "given" } else { "not given" }),
            ];
            self.add("flag", &rule.flag, lines, &rule.source);
        }
        for rule in &table.feature_gates {
            let applies = rule.versions.contains(&plan.kubernetes) && situation.holds(&rule.when);
            let lines = vec![
                format!("{}: versions {}, set to {}", rule.program, rule.versions, rule.value),
                rule.reason.clone(),
                format!("in this plan: {}", if applies { "given" } else { "not given" }),
            ];
            self.add("gate", &rule.gate, lines, &rule.source);
        }
        Ok(())
    }

    fn add_steps(&mut self, plan: &Plan, trees: &Trees) -> Result<()> {
        let guest = render_guest(plan, &trees.catalog.load_flags()?, &trees.provisioners)?;
        for step in &guest.steps {
            let mut lines = vec![step.summary.clone(), format!("{} resources in this plan", step.resources)];
            let resources = guest.plan.resources.iter().filter(|resource| resource.step == step.id);
            lines.extend(resources.map(|resource| resource.name.clone()));
            self.add("step", &step.id, lines, &step.file);
        }
        Ok(())
    }

    fn add_rules(&mut self, trees: &Trees) -> Result<()> {
        for rule in trees.catalog.load_rules()?.refusals {
            let lines = vec![format!("refused: {}", rule.reason), rule.instead];
            self.add("rule", &rule.id, lines, &rule.source);
        }
        Ok(())
    }

    fn add_networks(&mut self, trees: &Trees) -> Result<()> {
        for name in trees.catalog.network_names() {
            let network = trees.catalog.network(&name)?;
            let mut lines = vec![network.title.clone()];
            if !network.components.is_empty() {
                lines.push(format!("components: {}", network.components.join(", ")));
            }
            lines.extend(network.hns_network.as_ref().map(|hns| format!("HNS network: {hns}")));
            self.add("pod network", &name, lines, &network.source);
        }
        Ok(())
    }

    fn add_windows(&mut self, plan: &Plan) {
        for setting in &plan.windows.registry {
            let mut lines = vec![format!(
                "{} = {} in {}",
                setting.name,
                serde_json::to_string(&setting.data).unwrap_or_default(),
                setting.key
            )];
            lines.extend(
                setting.since.as_ref().map(|since| format!("read by Windows from the update of {since} on")),
            );
            lines.extend(setting.conflict.as_ref().map(|conflict| format!("conflict: {conflict}")));
            self.add("windows setting", &setting.name, lines, &setting.source);
        }
    }

    fn add_variables(&mut self, plan: &Plan) {
        for variable in &plan.target.variables {
            let mut lines = vec![variable.description.clone(), format!("type: {}", variable.kind.as_str())];
            if let Some(value) = plan.variables.get(&variable.name) {
                lines.push(format!("in this plan: {value}"));
            }
            for (selector, values) in &variable.when {
                lines.push(format!("only with {selector} `{}`", values.join("` or `")));
            }
            let names: Vec<String> = variable.environment_names().collect();
            lines.push(describe_environment(&names));
            self.add("variable", &variable.name, lines, &variable.source);
        }
        for selector in &plan.target.selectors {
            let mut lines = vec![selector.description.clone(), format!("default: {}", selector.default)];
            lines.extend(
                selector.values.iter().map(|value| format!("{}: {}", value.value, value.description)),
            );
            let names: Vec<String> =
                selector.build_time.then(|| selector.packer_name()).into_iter().collect();
            lines.push(describe_environment(&names));
            self.add("variable", &selector.name, lines, &selector.source);
        }
    }
}

fn describe_environment(names: &[String]) -> String {
    if names.is_empty() {
        return "part of the lock; the environment cannot set it".to_owned();
    }
    format!("not part of the lock; environment: {}", names.join(", "))
}
