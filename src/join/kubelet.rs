//! Arguments of the kubelet that this node alone gets, held against the program of its version.

use crate::base::code::Code;
use crate::base::names::format_suggestion;
use crate::base::text::is_alphanumeric_or;
use crate::catalog::Catalog;
use crate::model::gates::{GATES, GateFault};
use crate::model::kubernetes::{FlagRule, FlagTable, JoinFlags, NameRange, Program, ProgramTable};
use crate::model::line::Minor;
use crate::model::plan::Plan;
use crate::model::policy::matches_pattern;
use crate::model::value_form::find_argument;

use super::{Form, JoinInput, span};
use crate::diagnostic::{Finding, Result as RunResult};

/// Flags that kubeadm or a field of the input sets: giving them twice means that one is lost.
const ELSEWHERE: &[(&str, &str)] = &[
    ("node-labels", "use `--label KEY=VALUE`"),
    ("register-with-taints", "use `--taint KEY=VALUE:EFFECT`"),
    ("hostname-override", "use `--name NAME`"),
];

/// The arguments, and what is not known of them.
pub(super) fn collect_arguments(
    input: &JoinInput,
    form: Form,
    plan: &Plan,
    catalog: &Catalog,
    problems: &mut Vec<Finding>,
) -> RunResult<Arguments> {
    let mut found = Arguments::default();
    let fixed = list_fixed_flags(plan, catalog)?;
    let programs = catalog.load_programs()?;
    let kubelet = Kubelet::find(plan.line.minor, &programs);
    let table = catalog.load_flags()?;
    let free = table.join_flags.as_slice();
    let by_file = input.kubelet_args.iter().map(|text| (text, Some(free)));
    let given = input.given_args.iter().map(|text| (text, None));
    for (text, free) in by_file.chain(given) {
        let argument = parse_argument(text, form, &fixed)
            .and_then(|argument| require_free_flag(argument, free))
            .and_then(|argument| require_known_flag(argument, kubelet.as_ref()));
        match argument {
            Ok((argument, _)) if found.list.iter().any(|known| known.0 == argument.0) => {
                let message = format!("the kubelet's `--{}` is given twice", argument.0);
                problems.push(Finding::new(Code::ARGUMENT_TWICE, message, "give it once"));
            }
            Ok((argument, warnings)) => {
                found.list.push(argument);
                found.warnings.extend(warnings);
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems.extend(find_bad_values(&found.list, &table, plan));
    problems.extend(find_bad_gates(&found.list, &table, plan));
    found.warnings.extend(list_lone_flags(&found.list, &table));
    Ok(found)
}

/// Values that the kubelet of the plan ends with.
fn find_bad_values(list: &[Argument], table: &FlagTable, plan: &Plan) -> Vec<Finding> {
    let gates = find_argument(list, GATES);
    let mut found = Vec::new();
    for (name, value) in list.iter().filter(|(_, value)| !value.contains(span::OPEN)) {
        let argument = (name.as_str(), value.as_str());
        let version = &plan.kubernetes;
        let mut values = table.flag_values.iter();
        let mut forms = table.flag_forms.iter();
        // Of several reasons for one value the first is enough.
        let rule = values
            .find(|rule| rule.refuses(version, argument, gates))
            .map(|rule| (&rule.reason, &rule.instead, &rule.source))
            .or_else(|| {
                let form = forms.find(|form| form.refuses(version, argument, list))?;
                Some((&form.reason, &form.instead, &form.source))
            });
        let Some((reason, instead, source)) = rule else {
            continue;
        };
        let message = format!(
            "the kubelet argument `{name}={value}` does not work with Kubernetes {version}: {reason}"
        );
        let finding = Finding::new(Code::ARGUMENT_VALUE, message, instead.as_str());
        found.push(finding.with_source(source));
    }
    found
}

/// Feature gates without those that they rest on.
fn find_bad_gates(list: &[Argument], table: &FlagTable, plan: &Plan) -> Vec<Finding> {
    let gates = find_argument(list, GATES);
    let version = &plan.kubernetes;
    let mut found = Vec::new();
    for rule in &table.gate_needs {
        let missing = rule.list_missing(version, gates).join(",");
        if missing.is_empty() {
            continue;
        }
        let message = format!(
            "the kubelet of Kubernetes {version} ends with the feature gate `{}` alone",
            rule.gate
        );
        let remedy = format!(
            "add `{missing}` to `feature-gates`, or remove `{}`",
            rule.gate
        );
        let finding = Finding::new(Code::ARGUMENT_VALUE, message, remedy);
        found.push(finding.with_source(&rule.source));
    }
    found
}

/// Flags that rest on another one, which the cluster may give.
fn list_lone_flags(list: &[Argument], table: &FlagTable) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, value) in list {
        let mut rules = table.flag_companions.iter();
        if let Some(rule) = rules.find(|rule| rule.lacks((name, value), list)) {
            warnings.push(format!(
                "`{name}={value}` without `{}`: {}, unless the cluster's ConfigMap `kubelet-config` has `{}`",
                rule.needs, rule.reason, rule.field
            ));
        }
    }
    warnings
}

/// Name and value.
type Argument = (String, String);

#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub list: Vec<Argument>,
    /// Names that the programs of surveyed lines do not have, on a line that is not surveyed.
    pub warnings: Vec<String>,
}

/// A file comes with anybody's pull request: it gives what opens nothing. `free` is none where the operator gives it.
fn require_free_flag(argument: Argument, free: Option<&[JoinFlags]>) -> Result<Argument, Finding> {
    let (name, value) = &argument;
    let mut names = free.into_iter().flatten().flat_map(|flags| &flags.names);
    if free.is_none() || names.any(|pattern| matches_pattern(pattern, name)) {
        return Ok(argument);
    }
    let message =
        format!("`--{name}` of the kubelet is not one that the input file of a join may give");
    let remedy = format!("if you mean it, give it yourself: `--kubelet-arg {name}={value}`");
    Err(Finding::new(
        Code::ARGUMENT_OF_THE_OPERATOR,
        message,
        remedy,
    ))
}

/// Flags that the image's service starts with already.
fn list_fixed_flags(plan: &Plan, catalog: &Catalog) -> RunResult<Vec<FlagRule>> {
    let conditions = plan.conditions();
    let table = catalog.load_flags()?;
    let rules = table.flags.iter().filter(|rule| rule.program == "kubelet");
    let applied = rules.filter(|rule| conditions.admits(&rule.versions, &rule.when));
    Ok(applied.cloned().collect())
}

/// A refusal of a flag that the image's service has: the join's value would replace it, and the image relies on its own.
fn refuse_fixed_flag(name: &str, rule: &FlagRule) -> Finding {
    let message = format!(
        "the image's kubelet service starts with another `--{name}`, on which the image relies"
    );
    let features = rule
        .when
        .feature
        .iter()
        .flatten()
        .filter_map(|feature| feature.strip_prefix('!'));
    let instead = match { features }.next() {
        Some(feature) => format!(
            "remove it, or build the image with `--feature {feature}`, which leaves `--{name}` to the join"
        ),
        None => format!("remove it (`imagegen explain --{name}` gives the reason for its value)"),
    };
    Finding::new(Code::ARGUMENT_OF_THE_IMAGE, message, instead)
}

fn parse_argument(text: &str, form: Form, fixed: &[FlagRule]) -> Result<Argument, Finding> {
    let refuse =
        |message: String, remedy: &str| Err(Finding::new(Code::ARGUMENT_FORMAT, message, remedy));
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let message = format!("the kubelet argument `{text}` has no value");
        return refuse(message, "write it as NAME=VALUE, without dashes");
    };
    let masked = span::mask_spans(value, form)?;
    if names_variable(&masked) {
        let message =
            format!("the kubelet argument `{name}` holds a variable, which Windows replaces");
        return refuse(message, "write its value out");
    }
    // kubeadm joins arguments by blanks, and the service's command line is split at them again.
    if name.starts_with('-')
        || !masked
            .bytes()
            .all(|b| (b'!'..=b'~').contains(&b) && b != b'"')
    {
        let message = format!(
            "the kubelet argument `{name}` has leading dashes, or a blank, a quotation mark or a special character in its value"
        );
        return refuse(message, "write it as NAME=VALUE, without dashes");
    }
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        let message = format!("the kubelet argument `{name}` is set by another flag");
        return Err(Finding::new(Code::ARGUMENT_ELSEWHERE, message, *instead));
    }
    let mut rules = fixed.iter();
    match rules.find(|rule| rule.flag.trim_start_matches('-') == name) {
        // The same value changes nothing; published templates give some.
        Some(rule) if rule.value.as_deref() != Some(value) => Err(refuse_fixed_flag(name, rule)),
        _ => Ok((name.to_owned(), value.to_owned())),
    }
}

/// The kubelet that arguments are held against.
struct Kubelet<'a> {
    minor: Minor,
    table: &'a ProgramTable,
    program: Program,
    /// Whether the program is the line's own, and not that of the nearest surveyed line before: then a name that
    /// no surveyed line has may be new.
    is_surveyed: bool,
}

impl<'a> Kubelet<'a> {
    fn find(minor: Minor, table: &'a ProgramTable) -> Option<Self> {
        let survey = table.surveyed.find_nearest(minor)?;
        Some(Self {
            minor,
            table,
            program: table.collect_programs(survey, minor).remove("kubelet")?,
            is_surveyed: survey.minor == minor,
        })
    }

    /// Refuses a name that the program does not have. One that an earlier program had is a warning, because the node
    /// leaves it out (`provisioners/templates/start-service.cmd`), and so is one that may be new.
    ///
    /// `kind` is `flag` or `feature gate`, and `known` the names that the program has.
    fn judge_unknown<'n>(
        &self,
        (kind, code): (&str, Code),
        name: &str,
        ranges: impl Iterator<Item = &'n NameRange>,
        known: Vec<&str>,
    ) -> Result<String, Finding> {
        let bare = name.trim_start_matches('-');
        let last = ranges
            .filter(|range| range.has_name(bare))
            .max_by_key(|range| range.since);
        let lines = last.and_then(|range| {
            let end = range.until.or(self.table.surveyed.newest())?;
            Some((range.since, end))
        });
        let minor = self.minor;
        let instead = match lines {
            Some((first, last)) if last < minor => {
                return Ok(format!(
                    "the kubelet of Kubernetes {minor} has no {kind} `{name}`, so the node leaves it out: only kubelets \
                     from {first} to {last} have it"
                ));
            }
            Some((first, last)) => {
                format!("remove it: only kubelets from {first} to {last} have it")
            }
            None if !self.is_surveyed => {
                return Ok(format!(
                    "`{name}` is not a {kind} of the kubelets before Kubernetes {minor}, and those of {minor} are not \
                     surveyed: if it is not new in {minor}, the kubelet does not start"
                ));
            }
            None => format_suggestion(bare, known),
        };
        let message = format!("the kubelet of Kubernetes {minor} has no {kind} `{name}`");
        Err(Finding::new(code, message, instead))
    }
}

/// The argument, where the kubelet takes it, and what is not known of it.
fn require_known_flag(
    argument: Argument,
    kubelet: Option<&Kubelet<'_>>,
) -> Result<(Argument, Vec<String>), Finding> {
    let Some(kubelet) = kubelet else {
        return Ok((argument, Vec::new()));
    };
    let (name, value) = &argument;
    let known = &kubelet.program.flags;
    let mut warnings = Vec::new();
    if !known.contains(name) {
        let ranges = kubelet.table.list_flags("kubelet");
        let known = known.iter().map(String::as_str).collect();
        let kind = ("flag", Code::ARGUMENT_UNKNOWN);
        warnings.push(kubelet.judge_unknown(kind, &format!("--{name}"), ranges, known)?);
    } else if name == GATES && !value.contains(span::OPEN) {
        warnings = check_gates(value, kubelet)?;
    }
    Ok((argument, warnings))
}

fn check_gates(value: &str, kubelet: &Kubelet<'_>) -> Result<Vec<String>, Finding> {
    let mut warnings = Vec::new();
    for (gate, fault) in kubelet.program.find_gate_faults(value) {
        match fault {
            GateFault::NotBoolean(_) => {
                let message = format!("the feature gate `{gate}` is set to neither true nor false");
                let remedy = "write it as GATE=true or GATE=false";
                return Err(Finding::new(Code::GATE_FORMAT, message, remedy));
            }
            GateFault::Locked(locked) => {
                let message = format!(
                    "the kubelet of Kubernetes {} does not start: its feature gate `{gate}` is locked to {locked}",
                    kubelet.minor
                );
                let remedy = "remove it: no value of it changes anything";
                return Err(Finding::new(Code::GATE_LOCKED, message, remedy));
            }
            GateFault::Unknown => {
                let known = kubelet.program.feature_gates.keys();
                warnings.push(kubelet.judge_unknown(
                    ("feature gate", Code::GATE_UNKNOWN),
                    gate,
                    kubelet.table.list_gates("kubelet"),
                    known.map(String::as_str).collect(),
                )?);
            }
        }
    }
    Ok(warnings)
}

/// Whether a text holds `%NAME%`: service control replaces it in the command line of a service.
fn names_variable(text: &str) -> bool {
    let between: Vec<&str> = text.split('%').collect();
    between.len() > 2
        && between[1..between.len() - 1]
            .iter()
            .any(|part| is_variable_name(part))
}

fn is_variable_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && is_alphanumeric_or(text, "_()")
}
