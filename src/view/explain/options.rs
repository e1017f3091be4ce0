//! Flags of imagegen itself, and facts about their values.

use std::collections::BTreeMap;

use crate::base::version::Version;
use crate::catalog::Trees;
use crate::diagnostic::Result;
use crate::model::component::Pin;
use crate::model::plan::Plan;

use super::{Explanation, NameIndex};

/// Kind of an explanation of a flag of imagegen.
pub(super) const OPTION: &str = "option of imagegen";

/// Flags whose values are names of the catalog or of the program: flag → kind of its values.
const NAMED_VALUES: &[(&str, &str)] = &[
    ("--cni", "pod network"),
    ("--component", "component"),
    ("--delivery", "delivery"),
    ("--feature", "feature"),
    ("--host-access", "host access"),
    ("--join", "join"),
    ("--k8s", "kubernetes line"),
    ("--runtime", "runtime"),
    ("--target", "target"),
    ("--waive", "component"),
    ("--windows", "windows release"),
];

/// A flag of one verb.
#[derive(Debug, Clone)]
pub struct OptionHelp {
    /// `catalog export`
    pub verb: String,
    /// `--target`
    pub name: String,
    pub help: String,
    /// `IMAGEGEN_STORE`
    pub environment: Option<String>,
}

/// A flag with one of its meanings and its variable of the environment → the verbs in which it has this meaning.
type FlagMeanings = BTreeMap<(String, String, Option<String>), Vec<String>>;

impl NameIndex {
    /// Flags of every verb. A flag with two meanings has two explanations.
    pub(super) fn add_options(&mut self, options: &[OptionHelp]) {
        let mut meanings = FlagMeanings::new();
        for option in options {
            let meaning = (
                option.name.clone(),
                option.help.clone(),
                option.environment.clone(),
            );
            let verbs = meanings.entry(meaning).or_default();
            verbs.push(option.verb.clone());
        }
        for ((name, help, environment), verbs) in meanings {
            let mut lines = vec![help];
            if let Some((_, kind)) = NAMED_VALUES.iter().find(|(flag, _)| *flag == name) {
                let name = name.trim_start_matches('-');
                lines.push(format!(
                    "value: a {kind}; `explain {name}=VALUE` explains one"
                ));
            }
            lines.push(format!("verbs: {}", verbs.join(", ")));
            let source = "derived: defined by imagegen";
            if let Some(environment) = environment {
                lines.push(format!("environment: {environment}"));
                self.add_as(&environment, OPTION, &name, lines.clone(), source);
            }
            self.add(OPTION, &name, lines, source);
        }
    }
}

/// The facts about a value of a flag, each with its own source; a line where the flag has no such value.
pub(super) fn explain_option_value(
    option: &mut Explanation,
    value: &str,
    names: &NameIndex,
    plan: &Plan,
    trees: &Trees,
) -> Result<Vec<Explanation>> {
    let Some((flag, kind)) = NAMED_VALUES.iter().find(|(flag, _)| *flag == option.name) else {
        let line = format!("`{value}`: the catalog has no facts about values of this flag");
        option.lines.push(line);
        return Ok(Vec::new());
    };
    // `containerd=2.3.4`, `kubelet=cosign-key`
    let (name, rest) = value.split_once('=').unwrap_or((value, ""));
    let mut facts = names.find_kind(name, kind);
    if facts.is_empty() {
        let known: Vec<&str> = names.list_names(kind);
        let line = format!("`{name}` is no {kind}: {}", known.join(", "));
        option.lines.push(line);
    } else if *flag == "--component" && !rest.is_empty() {
        facts.extend(explain_version(name, rest, plan, trees)?);
    } else if *flag == "--waive" {
        facts.extend(names.find_kind(rest, "proof"));
    }
    Ok(facts)
}

/// A version of a component: its recorded digests with their sources.
pub(super) fn explain_version(
    name: &str,
    text: &str,
    plan: &Plan,
    trees: &Trees,
) -> Result<Vec<Explanation>> {
    let names = trees.catalog.component_names();
    let is_known = names.iter().any(|known| known == name);
    let (true, Ok(version)) = (is_known, text.parse::<Version>()) else {
        return Ok(Vec::new());
    };
    let component = trees.catalog.load_component(name)?;
    let pins = component.pins.find_version(&version);
    let mut lines: Vec<String> = pins.iter().map(describe_pin).collect();
    let mut sources: Vec<&str> = Vec::new();
    for pin in &pins {
        sources.extend(pin.source.iter().map(String::as_str));
    }
    if lines.is_empty() {
        lines.push(
            "no recorded digest; `imagegen lock` pins it by its publisher's proofs".to_owned(),
        );
        let release = component
            .definition
            .releases
            .iter()
            .find(|it| it.versions.contains(&version));
        let release = release.or(component.definition.releases.first());
        sources.extend(release.map(|release| release.source.as_str()));
    }
    if let Some(choice) = component.find_choice(plan.line.minor) {
        let verdict = if choice.allowed.contains(&version) {
            "works with"
        } else {
            "is not allowed with"
        };
        lines.push(format!("{verdict} Kubernetes {}", plan.line.minor));
        sources.push(&choice.source);
    }
    sources.sort_unstable();
    sources.dedup();
    Ok(vec![Explanation {
        kind: "version",
        name: format!("{name} {version}"),
        lines,
        source: sources.join("; "),
    }])
}

fn describe_pin(pin: &Pin) -> String {
    let platform = pin.platform.as_deref().unwrap_or_default();
    let line = format!(
        "{}:{} {} {platform}",
        pin.digest.algorithm().as_str(),
        pin.digest.as_str(),
        pin.confidence.as_str()
    );
    line.trim_end().to_owned()
}
