//! The rules that scripts keep: each gives what it found, with file and line.

use std::collections::{BTreeMap, BTreeSet};

use imagegen::windows::resource::ResourceKind;
use serde_json::Value;
use tree_sitter::Node;

use super::script::{Known, Parameter, Script, child, functions, parameters};

pub(super) fn syntax(script: &Script) -> Vec<String> {
    let bad = script
        .nodes()
        .into_iter()
        .filter(|node| node.is_error() || node.is_missing());
    bad.map(|node| script.finding(node, "does not parse"))
        .collect()
}

pub(super) fn layout(script: &Script) -> Vec<String> {
    let mut findings = Vec::new();
    if !script.text.ends_with('\n') {
        findings.push(format!("{}: no line end at the end", script.name));
    }
    for (number, line) in script.text.split('\n').enumerate() {
        let rules = [
            (!line.is_ascii(), "not ASCII"),
            (line.contains('\r'), "carriage return"),
            (line.contains('\t'), "tabulator"),
            (line.chars().count() > 115, "longer than 115 columns"),
            (line.ends_with('`'), "line continued with a backtick"),
            (line.ends_with(' '), "blank at the end"),
        ];
        let broken = rules.iter().filter(|(broken, _)| *broken);
        findings.extend(broken.map(|(_, what)| format!("{}:{}: {what}", script.name, number + 1)));
    }
    findings
}

/// Forms that parse and are still wrong in 5.1, or that hide failures.
pub(super) fn forms(script: &Script) -> Vec<String> {
    let mut findings = Vec::new();
    for node in script.nodes() {
        let what = match node.kind() {
            "pipeline_chain_tail" => "`&&` and `||` are not in 5.1",
            "variable" if script.of(node) == "$?" => "`$?` is no way to learn of a failure",
            "variable"
                if [
                    "$iswindows",
                    "$islinux",
                    "$iscoreclr",
                    "$psnativecommanduseerroractionpreference",
                ]
                .contains(&script.of(node).to_lowercase().as_str()) =>
            {
                "a variable that is not in 5.1"
            }
            "catch_clause"
                if child(node, "statement_block")
                    .and_then(|block| child(block, "statement_list"))
                    .is_none() =>
            {
                "an empty catch hides the failure"
            }
            "function_statement"
                if !parameters(script, node).is_empty()
                    && !script.of(node).contains("[CmdletBinding()]") =>
            {
                "without CmdletBinding an unknown parameter is ignored"
            }
            _ => continue,
        };
        findings.push(script.finding(node, what));
    }
    findings
}

const FORBIDDEN: [&str; 6] = [
    "invoke-expression",
    "write-host",
    "invoke-webrequest",
    "invoke-restmethod",
    "expand-archive",
    "start-process",
];

/// Our own scripts, which may be run or loaded by their path, and a caller's block.
const LOADED: [&str; 33] = [
    r#""$PSScriptRoot/Start.ps1""#,
    r#""$PSScriptRoot/Tools.ps1""#,
    r#""$PSScriptRoot/Test-Node.ps1""#,
    r#""$PSScriptRoot/engine/Tools.ps1""#,
    r#""$PSScriptRoot/engine/Installation.ps1""#,
    r#""$PSScriptRoot/../engine/Tools.ps1""#,
    r#""$PSScriptRoot/../engine/Invoke-Plan.ps1""#,
    r#""$Destination/engine/Invoke-Plan.ps1""#,
    r#""$PSScriptRoot/Native.ps1""#,
    r#""$PSScriptRoot/Files.ps1""#,
    r#""$PSScriptRoot/Access.ps1""#,
    r#""$PSScriptRoot/Images.ps1""#,
    r#""$PSScriptRoot/Downloads.ps1""#,
    r#""$PSScriptRoot/Offers.ps1""#,
    r#""$PSScriptRoot/Comparison.ps1""#,
    r#""$PSScriptRoot/Selection.ps1""#,
    r#""$PSScriptRoot/Reports.ps1""#,
    r#""$PSScriptRoot/Join.ps1""#,
    r#""$PSScriptRoot/Logs.ps1""#,
    r#""$PSScriptRoot/Reset.ps1""#,
    r#""$PSScriptRoot/Upgrade.ps1""#,
    r#""$PSScriptRoot/Reason.ps1""#,
    r#""$PSScriptRoot/engine/Reason.ps1""#,
    r#""$PSScriptRoot/Network.ps1""#,
    r#""$PSScriptRoot/Bridge.ps1""#,
    r#""$PSScriptRoot/Proxy.ps1""#,
    r#""$PSScriptRoot/Diagnosis.ps1""#,
    r#""$PSScriptRoot/Payload.ps1""#,
    r#""$PSScriptRoot/../engine/Reason.ps1""#,
    "$Platform",
    "$file.FullName",
    "$Action",
    "$Body",
];

pub(super) fn commands(script: &Script, known: &Known) -> Vec<String> {
    let mut findings = Vec::new();
    for node in script.kind("command") {
        let Some(name) = child(node, "command_name") else {
            let called = child(node, "command_name_expr").map_or("", |called| script.of(called));
            let inner = called.starts_with("\"Get-${") || called.starts_with("\"Set-${");
            if !inner && !LOADED.contains(&called) {
                findings.push(script.finding(node, &format!("`{called}` is run directly")));
            }
            continue;
        };
        let name = script.of(name);
        let lower = name.to_lowercase();
        if FORBIDDEN.contains(&lower.as_str()) {
            findings.push(script.finding(node, &format!("{name} is not used here")));
        }
        match known
            .functions
            .get(&lower)
            .or_else(|| known.commands.get(&lower))
        {
            Some(declared) => {
                findings.extend(arguments(script, node, name, declared, &known.common));
            }
            None => findings.push(script.finding(
                node,
                &format!("{name} is no command of 5.1 and no function here"),
            )),
        }
    }
    for (name, node) in functions(script) {
        if known.commands.contains_key(&name.to_lowercase()) {
            findings.push(script.finding(node, &format!("function {name} hides a command of 5.1")));
        }
    }
    findings
}

/// Every argument has a parameter that exists, spelled out; own functions get all that they need.
fn arguments(
    script: &Script,
    node: Node,
    name: &str,
    declared: &[Parameter],
    common: &[Parameter],
) -> Vec<String> {
    let mut findings = Vec::new();
    let (mut wants_value, mut splatted, mut given) = (false, false, BTreeSet::new());
    let block_is_enough =
        ["where-object", "foreach-object"].contains(&name.to_lowercase().as_str());
    let elements = child(node, "command_elements");
    for element in elements
        .iter()
        .flat_map(|found| found.children(&mut found.walk()).collect::<Vec<_>>())
    {
        let text = script.of(element);
        match element.kind() {
            "redirection" => {}
            "command_argument_sep" => wants_value |= text == ":",
            "command_parameter" => {
                let spelled = text.trim_start_matches('-').to_lowercase();
                given.insert(spelled.clone());
                match declared
                    .iter()
                    .chain(common)
                    .find(|one| one.name.to_lowercase() == spelled)
                {
                    Some(one) => wants_value = !one.switch,
                    None => {
                        findings.push(
                            script.finding(element, &format!("{name} has no parameter {text}")),
                        );
                    }
                }
            }
            _ if text.starts_with('@') && !text.starts_with("@(") && !text.starts_with("@{") => {
                splatted = true;
            }
            _ if wants_value => wants_value = false,
            _ if block_is_enough && text.starts_with('{') => {}
            _ => findings
                .push(script.finding(element, &format!("positional argument {text} of {name}"))),
        }
    }
    let missing = declared
        .iter()
        .filter(|one| one.mandatory && !splatted && !given.contains(&one.name.to_lowercase()));
    findings
        .extend(missing.map(|one| script.finding(node, &format!("{name} needs -{}", one.name))));
    findings
}

/// Modules that PowerShell 7 has on every system, without their commands that only Windows has.
const NEUTRAL: [&str; 3] = [
    "Microsoft.PowerShell.Core",
    "Microsoft.PowerShell.Management",
    "Microsoft.PowerShell.Utility",
];
const WINDOWS_NOUNS: [&str; 11] = [
    "-Service",
    "-Computer",
    "-WmiObject",
    "-EventLog",
    "-HotFix",
    "-WmiMethod",
    "-WmiInstance",
    "-Transaction",
    "-TimeZone",
    "-ControlPanelItem",
    "-PSSessionConfiguration",
];
const WINDOWS_TEXTS: [&str; 7] = [
    "hklm:",
    "hkcu:",
    "wsman:",
    "cert:",
    "win32_",
    ".exe",
    "registry::",
];

/// What must be asked before any other script may be loaded, the platform's among them.
const BEFORE_LOADING: [&str; 2] = ["Get-AuthenticodeSignature", "Get-ExecutionPolicy"];

pub(super) fn windows_only(script: &Script, known: &Known) -> Vec<String> {
    let mut findings = Vec::new();
    if script.is_platform() {
        return findings;
    }
    for node in script.kind("command_name") {
        let name = script.of(node);
        if script.name.ends_with("/Invoke-Plan.ps1") && BEFORE_LOADING.contains(&name) {
            continue;
        }
        let Some(module) = known.modules.get(&name.to_lowercase()) else {
            continue;
        };
        if !NEUTRAL.contains(&module.as_str())
            || WINDOWS_NOUNS.iter().any(|noun| name.ends_with(noun))
        {
            findings.push(script.finding(node, &format!("{name} is for engine/windows")));
        }
    }
    for node in script.kind("string_literal") {
        let text = script.of(node).to_lowercase();
        for word in WINDOWS_TEXTS.iter().filter(|word| text.contains(*word)) {
            findings.push(script.finding(node, &format!("{word} is for engine/windows")));
        }
    }
    findings
}

/// Names of the commands that scripts run.
pub(super) fn called(scripts: &[Script]) -> BTreeSet<String> {
    scripts
        .iter()
        .flat_map(|script| {
            script
                .kind("command_name")
                .map(|node| script.of(node).to_owned())
        })
        .collect()
}

/// The abilities are short, and the simulation has the same ones, each in the file of the same name. What no other
/// script calls is the platform's own.
pub(super) fn platforms(
    windows: &[Script],
    simulated: &[Script],
    called: &BTreeSet<String>,
) -> Vec<String> {
    let (real, played) = (abilities(windows), abilities(simulated));
    let names = real.keys().chain(played.keys()).collect::<BTreeSet<_>>();
    let mut findings = names
        .into_iter()
        .filter(|name| called.contains(*name) && real.get(*name) != played.get(*name))
        .map(|name| {
            format!(
                "{name}: {:?} on Windows, {:?} simulated",
                real.get(name),
                played.get(name)
            )
        })
        .collect::<Vec<_>>();
    for script in windows {
        for (name, node) in functions(script) {
            // Header, CmdletBinding, param and closing brace are not counted.
            let lines = node.end_position().row - node.start_position().row - 3;
            if lines > 15 {
                findings.push(script.finding(node, &format!("{name} has {lines} lines")));
            }
        }
    }
    findings
}

/// Name of each ability with its file and its parameters.
fn abilities(scripts: &[Script]) -> BTreeMap<String, (String, Vec<String>)> {
    let mut found = BTreeMap::new();
    for script in scripts {
        for (name, node) in functions(script) {
            if name.ends_with("-Simulation") {
                continue;
            }
            let texts = parameters(script, node)
                .into_iter()
                .map(|parameter| parameter.text)
                .collect();
            found.insert(name, (script.leaf().to_owned(), texts));
        }
    }
    found
}

/// The fields of each resource type as the guest plan has them.
pub(super) fn model() -> BTreeMap<String, BTreeSet<String>> {
    let schema = schemars::schema_for!(ResourceKind).to_value();
    let mut types = BTreeMap::new();
    for variant in schema["oneOf"].as_array().unwrap() {
        let name = variant["properties"]["type"]["const"]
            .as_str()
            .unwrap()
            .to_owned();
        let target = variant["properties"]["properties"]["$ref"]
            .as_str()
            .unwrap();
        let mut fields = BTreeSet::new();
        collect_fields(
            &schema,
            schema.pointer(target.trim_start_matches('#')).unwrap(),
            &mut fields,
        );
        // Rust joins the two to what Windows stores.
        if name == "service" {
            assert!(fields.remove("program") && fields.remove("arguments"));
            fields.insert("commandLine".to_owned());
        }
        types.insert(name, fields);
    }
    types
}

/// The fields of an object in all its forms: those of an absent thing, and those that its kind decides.
fn collect_fields(schema: &Value, object: &Value, fields: &mut BTreeSet<String>) {
    fields.extend(
        object["properties"]
            .as_object()
            .into_iter()
            .flat_map(|properties| properties.keys().cloned()),
    );
    let forms = ["oneOf", "anyOf", "allOf"]
        .into_iter()
        .filter_map(|form| object[form].as_array())
        .flatten();
    for form in forms {
        collect_fields(schema, form, fields);
    }
    if let Some(target) = object["$ref"].as_str() {
        collect_fields(
            schema,
            schema.pointer(target.trim_start_matches('#')).unwrap(),
            fields,
        );
    }
}

/// One file per type, with exactly its Get and Set; Set takes the type's fields, Get some of them.
pub(super) fn resources(
    scripts: &[Script],
    types: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<String> {
    let mut findings = Vec::new();
    let mut files = BTreeSet::new();
    for script in scripts
        .iter()
        .filter(|script| script.name.contains("/resources/"))
    {
        let name = script
            .name
            .rsplit('/')
            .next()
            .unwrap()
            .trim_end_matches(".ps1");
        files.insert(name.to_owned());
        let Some(fields) = types.get(name) else {
            findings.push(format!("{}: no such resource type", script.name));
            continue;
        };
        let found = functions(script);
        let of = |verb: &str| {
            let wanted = format!("{verb}-{name}Resource");
            let function = found.iter().find(|(name, _)| *name == wanted);
            function.map(|(_, node)| {
                parameters(script, *node)
                    .into_iter()
                    .map(|one| one.name)
                    .collect::<BTreeSet<_>>()
            })
        };
        match of("Get") {
            Some(inputs) if inputs.is_subset(fields) => {}
            inputs => findings.push(format!(
                "{}: Get takes {inputs:?} of {fields:?}",
                script.name
            )),
        }
        match of("Set") {
            Some(inputs) if inputs == *fields => {}
            inputs => {
                findings.push(format!(
                    "{}: Set takes {inputs:?}, the type has {fields:?}",
                    script.name
                ));
            }
        }
        if script.text.lines().count() > 60 {
            findings.push(format!("{}: more than 60 lines", script.name));
        }
    }
    findings.extend(
        types
            .keys()
            .filter(|name| !files.contains(*name))
            .map(|name| format!("{name}: no resource file")),
    );
    findings
}
