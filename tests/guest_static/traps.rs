//! Traps that parse everywhere and fail on Windows PowerShell 5.1, or under strict mode, or in the scope that a
//! script really runs in.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::script::{Known, Script, child, functions};

/// Words before a colon that are a scope or a drive of variables; about_Scopes and about_Variables.
const SCOPES: [&str; 8] = [
    "env", "script", "global", "local", "private", "using", "function", "variable",
];

/// `"$name: text"` is a variable of the drive `name`, and a parse error. tree-sitter's grammar takes it.
pub(super) fn drives(script: &Script) -> Vec<String> {
    let strings = [
        "expandable_string_literal",
        "expandable_here_string_literal",
    ];
    let mut findings = Vec::new();
    for node in script
        .nodes()
        .into_iter()
        .filter(|node| strings.contains(&node.kind()))
    {
        for (start, _) in script.of(node).match_indices('$') {
            let text = &script.of(node)[start + 1..];
            let name = text
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .next()
                .unwrap();
            let after = text[name.len()..]
                .strip_prefix(':')
                .filter(|after| !after.starts_with(':'));
            let named =
                after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_alphanumeric()));
            let scope = named && SCOPES.contains(&name.to_lowercase().as_str());
            if !name.is_empty() && after.is_some() && !scope {
                findings.push(script.finding(
                    node,
                    &format!("`${name}:` is a drive, write `${{{name}}}:`"),
                ));
            }
        }
    }
    findings
}

/// Empty while defaults of a script that `-File` starts are evaluated: PowerShell#4688.
pub(super) fn defaults(script: &Script) -> Vec<String> {
    let Some(block) = child(script.tree.root_node(), "param_block") else {
        return Vec::new();
    };
    let names = ["$PSScriptRoot", "$PSCommandPath", "$MyInvocation"];
    let used = names.iter().filter(|name| script.of(block).contains(*name));
    used.map(|name| script.finding(block, &format!("{name} in param is empty under -File")))
        .collect()
}

/// Whether a node stands in a function, not in the body of the script.
fn in_function(node: Node) -> bool {
    std::iter::successors(node.parent(), Node::parent)
        .any(|parent| parent.kind() == "function_statement")
}

/// At script level `$x` and `$script:X` are one variable.
pub(super) fn collisions(script: &Script, loaded: &[&Script]) -> Vec<String> {
    let shared: BTreeSet<String> = loaded
        .iter()
        .flat_map(|script| {
            script
                .kind("variable")
                .map(|node| script.of(node).to_lowercase())
        })
        .filter_map(|name| name.strip_prefix("$script:").map(|name| format!("${name}")))
        .collect();
    let mut findings = Vec::new();
    for node in script.nodes() {
        let target = match node.kind() {
            "assignment_expression" => child(node, "left_assignment_expression"),
            "foreach_statement" => child(node, "variable"),
            _ => None,
        };
        let Some(target) = target else { continue };
        let name = script.of(target);
        if shared.contains(&name.to_lowercase()) && !in_function(node) {
            findings.push(script.finding(
                node,
                &format!("{name} at script level is a $script: variable"),
            ));
        }
    }
    findings
}

/// Commands that give one object or throw, so that its properties may be read at once.
const GIVES: [&str; 24] = [
    "convertfrom-json",
    "get-acl",
    "get-assertionresource",
    "get-ciminstance",
    "get-clusterobject",
    "get-date",
    "get-declaration",
    "get-filehash",
    "get-item",
    "get-scheduledtaskinfo",
    "invoke-cimmethod",
    "invoke-native",
    "invoke-nodeprogram",
    "invoke-program",
    "invoke-scripttext",
    "get-location",
    "invoke-updateagent",
    "join-argument",
    "new-object",
    "protect-text",
    "read-argument",
    "read-nodetext",
    "split-path",
    "wait-nodenetwork",
];

/// The last command of a pipeline in parentheses, `(Get-X | Select-Y)`.
fn last_command<'a>(script: &'a Script, node: Node<'a>) -> Option<&'a str> {
    let chain = child(child(node, "pipeline")?, "pipeline_chain")?;
    let last = chain
        .children(&mut chain.walk())
        .filter(|node| node.kind() == "command")
        .last()?;
    child(last, "command_name").map(|name| script.of(name))
}

/// A command that gave nothing is `$null`, and under strict mode `$null` has no property.
pub(super) fn members(script: &Script) -> Vec<String> {
    let mut findings = Vec::new();
    for node in script.kind("parenthesized_expression") {
        let read = node.parent().filter(|parent| {
            ["member_access", "invokation_expression", "element_access"].contains(&parent.kind())
                && parent.child(0) == Some(node)
        });
        let Some(name) = read.and_then(|_| last_command(script, node)) else {
            continue;
        };
        if !GIVES.contains(&name.to_lowercase().as_str()) {
            findings.push(script.finding(
                node,
                &format!("{name} may give nothing: assign and ask first"),
            ));
        }
    }
    findings
}

/// Modules of functions (CDXML or script), which see the global preference and not the caller's:
/// PowerShell#4568, #24389. `CommandType` in the source of the fixture says which modules these are.
const FUNCTION_MODULES: [&str; 16] = [
    "BitLocker",
    "Defender",
    "DnsClient",
    "EventTracingManagement",
    "MMAgent",
    "Microsoft.PowerShell.Archive",
    "NetAdapter",
    "NetConnection",
    "NetNat",
    "NetQos",
    "NetSecurity",
    "NetTCPIP",
    "PnpDevice",
    "ScheduledTasks",
    "SmbShare",
    "Storage",
];
/// Functions among the cmdlets of Microsoft.PowerShell.Utility.
const FUNCTIONS: [&str; 6] = [
    "convertfrom-sddlstring",
    "format-hex",
    "get-filehash",
    "import-powershelldatafile",
    "new-guid",
    "new-temporaryfile",
];

/// Functions of modules get `-ErrorAction` in each call: without it they go on after an error.
pub(super) fn preferences(script: &Script, known: &Known) -> Vec<String> {
    let mut findings = Vec::new();
    for node in script.kind("command") {
        let Some(name) = child(node, "command_name").map(|name| script.of(name)) else {
            continue;
        };
        let lower = name.to_lowercase();
        let module = known.modules.get(&lower).map_or("", String::as_str);
        let hns = lower.contains("-hns");
        if !hns && !FUNCTIONS.contains(&lower.as_str()) && !FUNCTION_MODULES.contains(&module) {
            continue;
        }
        let text = script.of(node).to_lowercase();
        // Absence is an answer of a Get or a Find, never of another verb.
        let asks = lower.starts_with("get-") || lower.starts_with("find-");
        let quiet = asks && text.contains("-erroraction silentlycontinue");
        if !quiet && !text.contains("-erroraction stop") {
            findings.push(script.finding(node, &format!("{name} needs -ErrorAction Stop")));
        }
    }
    findings
}

/// Methods that give nothing. `Add` and `Remove` of some lists do give something.
const VOID: [&str; 27] = [
    "AppendAllText",
    "AppendChar",
    "Close",
    "Copy",
    "CopyTo",
    "CreateFromDirectory",
    "Delete",
    "DeleteValue",
    "Dispose",
    "ExtractToDirectory",
    "ExtractToFile",
    "HNSCall",
    "Kill",
    "Move",
    "MoveFile",
    "Open",
    "Restart",
    "Reverse",
    "SetAttributes",
    "SetCurrentDirectory",
    "SetLastWriteTimeUtc",
    "SetSecurityDescriptorSddlForm",
    "Start",
    "Write",
    "WriteAllBytes",
    "WriteAllText",
    "WriteLine",
];

/// What a statement gives and nobody takes is given by its function, before what it should give.
pub(super) fn leaks(script: &Script, known: &Known) -> Vec<String> {
    let same = |one: Node, other: Node| one.byte_range() == other.byte_range();
    let mut findings = Vec::new();
    for node in script.nodes() {
        let name = match node.kind() {
            "invokation_expression" => child(node, "member_name").map(|name| script.of(name)),
            "command" => child(node, "command_name").map(|name| script.of(name)),
            _ => None,
        };
        let gives = |name: &&str| match node.kind() {
            "command" => {
                let makes = name.starts_with("New-") || name.starts_with("Register-");
                makes && known.commands.contains_key(&name.to_lowercase())
            }
            _ => !VOID.contains(name),
        };
        let Some(name) = name.filter(gives) else {
            continue;
        };
        if !in_function(node) {
            continue;
        }
        let mut whole = node;
        while let Some(parent) = whole.parent().filter(|parent| same(*parent, node)) {
            whole = parent;
        }
        let within = whole
            .parent()
            .is_some_and(|parent| parent.kind() == "statement_list");
        if within && whole.next_named_sibling().is_some() {
            findings
                .push(script.finding(node, &format!("{name} gives something that nobody takes")));
        }
    }
    findings
}

/// The script and what it loads by dot, or runs its block in, itself included.
pub(super) fn loads<'a>(script: &'a Script, scripts: &'a [Script]) -> Vec<&'a Script> {
    let mut found = vec![script];
    let mut next = 0;
    while next < found.len() {
        let loader = found[next];
        for node in loader.kind("command") {
            let dotted =
                child(node, "command_invokation_operator").is_some_and(|it| loader.of(it) == ".");
            let Some(called) = child(node, "command_name_expr") else {
                continue;
            };
            let called = loader.of(called).trim_matches('"');
            // It runs its caller's block where it has loaded everything.
            if !dotted && !called.ends_with("/Start.ps1") {
                continue;
            }
            let suffix = called.rsplit('/').next().unwrap();
            let wanted = |script: &Script| match called {
                "$Platform" => script.is_platform() || script.is_simulation(),
                "$file.FullName" if loader.is_platform() => script.is_platform(),
                "$file.FullName" if loader.is_simulation() => script.is_simulation(),
                "$file.FullName" => script.name.contains("/resources/"),
                _ => script.name.ends_with(&format!("/{suffix}")),
            };
            for loaded in scripts.iter().filter(|script| wanted(script)) {
                if !found.iter().any(|known| known.name == loaded.name) {
                    found.push(loaded);
                }
            }
        }
        next += 1;
    }
    found
}

/// Names that a module exports.
fn exports(module: &Script) -> BTreeSet<String> {
    let export = |node: &Node| module.of(*node).starts_with("Export-ModuleMember");
    let lists = module
        .kind("command")
        .filter(export)
        .map(|node| module.of(node).to_owned());
    lists
        .flat_map(|text| {
            text.split('\'')
                .skip(1)
                .step_by(2)
                .map(str::to_lowercase)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Every function of ours that a script calls is one that it defined, loaded, or imported.
pub(super) fn visibility(scripts: &[Script]) -> Vec<String> {
    let names = |script: &Script| {
        functions(script)
            .into_iter()
            .map(|(name, _)| name.to_lowercase())
            .collect()
    };
    let all: BTreeMap<&str, BTreeSet<String>> = scripts
        .iter()
        .map(|script| (script.name.as_str(), names(script)))
        .collect();
    let own: BTreeSet<&String> = all.values().flatten().collect();
    let parts: BTreeMap<&str, Vec<&Script>> = scripts
        .iter()
        .map(|script| (script.name.as_str(), loads(script, scripts)))
        .collect();
    let loaded_by = |name: &str| {
        parts
            .iter()
            .any(|(root, parts)| *root != name && parts.iter().any(|part| part.name == name))
    };
    let mut findings = Vec::new();
    for (_, parts) in parts.iter().filter(|(root, _)| !loaded_by(root)) {
        let mut visible: BTreeSet<String> = parts
            .iter()
            .flat_map(|part| all[part.name.as_str()].clone())
            .collect();
        for module in scripts.iter().filter(|module| module.is_module()) {
            let file = module.name.rsplit('/').next().unwrap();
            if parts.iter().any(|part| {
                part.text
                    .contains(&format!("Import-Module -Name \"$PSScriptRoot/{file}"))
            }) {
                visible.extend(exports(module));
            }
        }
        for part in parts {
            for node in part.kind("command_name") {
                let name = part.of(node).to_lowercase();
                if own.contains(&name) && !visible.contains(&name) {
                    let root = &parts[0].name;
                    findings.push(
                        part.finding(node, &format!("{} is not visible in {root}", part.of(node))),
                    );
                }
            }
        }
    }
    findings
}

/// A value of the plan between quotes could end them: it is a literal of its own, `{{ value | literal }}`.
pub(super) fn quoted_values(name: &str, text: &str) -> Vec<String> {
    let script = Script::new(name, text.to_owned());
    let kinds = [
        "string_literal",
        "expandable_string_literal",
        "verbatim_string_characters",
    ];
    let quoted = script
        .nodes()
        .into_iter()
        .filter(|node| kinds.contains(&node.kind()));
    let found = quoted.filter(|node| script.of(*node).contains("{{"));
    let bare = text.match_indices("{{").filter(|(start, _)| {
        let value = text[*start..].split("}}").next().unwrap();
        !value.contains("| literal")
    });
    let mut findings: Vec<_> = found
        .map(|node| script.finding(node, "a value of the plan inside quotes"))
        .collect();
    findings.extend(bare.map(|(start, _)| format!("{name}: value at {start} without `| literal`")));
    findings
}
