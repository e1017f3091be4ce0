//! What PSScriptAnalyzer says by default and this repository keeps to, without a PowerShell to run it in. Its settings
//! leave rules out with their reasons; the rules here stand for those that can be told from a syntax tree.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;
use tree_sitter::Node;

use super::assert_none;
use super::script::{Script, child, functions, parameters, root, scripts_below};
use super::traps::loads;

/// `Get-Verb` of 5.1, and `Build` and `Deploy` of 7.
const VERBS: &str = "Add Clear Close Copy Enter Exit Find Format Get Hide Join Lock Move New Open Optimize Pop Push \
    Redo Remove Rename Reset Resize Search Select Set Show Skip Split Step Switch Undo Unlock Watch Backup \
    Checkpoint Compare Compress Convert ConvertFrom ConvertTo Dismount Edit Expand Export Group Import Initialize \
    Limit Merge Mount Out Publish Restore Save Sync Unpublish Update Approve Assert Build Complete Confirm Deny \
    Deploy Disable Enable Install Invoke Register Request Restart Resume Start Stop Submit Suspend Uninstall \
    Unregister Wait Debug Measure Ping Repair Resolve Test Trace Connect Disconnect Read Receive Send Write Block \
    Grant Protect Revoke Unblock Unprotect Use";

/// Of about_Automatic_Variables; PowerShell sets them, and some cannot be set.
const AUTOMATIC: &str = "_ AllNodes Args ConsoleFileName Error Event EventArgs EventSubscriber ExecutionContext False \
    ForEach Home Host Input IsCoreCLR IsLinux IsMacOS IsWindows LastExitCode Matches MyInvocation \
    NestedPromptLevel OFS PID Profile PSBoundParameters PSCmdlet PSCommandPath PSCulture PSEdition PSHOME \
    PSScriptRoot PSUICulture PSVersionTable Sender ShellId StackTrace Switch This True";

/// Verbs that `Get-Verb` does not have, and nouns in the plural.
fn names(script: &Script) -> Vec<String> {
    let verbs: BTreeSet<&str> = VERBS.split_whitespace().collect();
    let mut findings = Vec::new();
    for (name, node) in functions(script) {
        let (verb, noun) = name.split_once('-').unwrap_or((&name, ""));
        if !verbs.contains(verb) {
            findings.push(script.finding(
                node,
                &format!("{name}: no approved verb (PSUseApprovedVerbs)"),
            ));
        }
        let singular = ["ss", "us", "is"].iter().any(|end| noun.ends_with(end));
        if noun.ends_with('s') && !singular {
            findings.push(script.finding(node, &format!("{name}: a plural (PSUseSingularNouns)")));
        }
    }
    findings
}

/// Names that a script gives values to: assignments, loops and parameters.
fn assigned(script: &Script) -> Vec<(String, Node<'_>)> {
    let name = |node: Node| script.of(node).trim_start_matches('$').to_owned();
    let mut found = Vec::new();
    for node in script.nodes() {
        match node.kind() {
            "left_assignment_expression" => {
                let names = Regex::new(r"^(?:\[[\w.\[\]]+\] )?(\$\w+(?:, \$\w+)*)$").unwrap();
                if let Some(names) = names.captures(script.of(node)) {
                    let each = names[1]
                        .split(", ")
                        .map(|one| one.trim_start_matches('$').to_owned());
                    found.extend(each.map(|one| (one, node)));
                }
            }
            "foreach_statement" | "script_parameter" => {
                found.extend(child(node, "variable").map(|variable| (name(variable), node)));
            }
            _ => {}
        }
    }
    found
}

/// Values that are kept under a name of PowerShell's own.
fn automatic(script: &Script) -> Vec<String> {
    let automatic: BTreeSet<String> = AUTOMATIC
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let hit = assigned(script)
        .into_iter()
        .filter(|(name, _)| automatic.contains(&name.to_lowercase()));
    hit.map(|(name, node)| {
        script.finding(
            node,
            &format!("${name} (PSAvoidAssignmentToAutomaticVariable)"),
        )
    })
    .collect()
}

/// How often a name is read in a text: `$name`, `${name}`, `@name`; an assignment reads nothing.
fn reads(text: &str, name: &str) -> usize {
    let name = regex_lite::escape(name);
    let all = Regex::new(&format!(r"(?i)(?:\$\{{?|@){name}\b"))
        .unwrap()
        .find_iter(text)
        .count();
    let set = Regex::new(&format!(r"(?i)\${name} \+?= "))
        .unwrap()
        .find_iter(text)
        .count();
    all - set
}

/// Values that nobody reads: of a parameter, and of a variable in the function or script that sets it.
fn unread(script: &Script) -> Vec<String> {
    let mut findings = Vec::new();
    for (function, node) in functions(script) {
        let block = child(node, "script_block").and_then(|block| child(block, "param_block"));
        let Some(block) = block else { continue };
        let body = &script.text[block.end_byte()..node.end_byte()];
        // A setter declares each field of its type, and bound parameters are read as a whole.
        if function.ends_with("Resource") || body.contains("PSBoundParameters") {
            continue;
        }
        for parameter in parameters(script, node)
            .iter()
            .filter(|one| reads(body, &one.name) == 0)
        {
            let what = format!(
                "${} of {function} (PSReviewUnusedParameter)",
                parameter.name
            );
            findings.push(script.finding(node, &what));
        }
    }
    let quiet = [
        "null",
        "erroractionpreference",
        "progresspreference",
        "psdefaultparametervalues",
    ];
    for (name, node) in assigned(script)
        .into_iter()
        .filter(|(_, node)| node.kind() != "script_parameter")
    {
        let whole = std::iter::successors(node.parent(), Node::parent)
            .find(|parent| parent.kind() == "function_statement")
            .unwrap_or(script.tree.root_node());
        if !quiet.contains(&name.to_lowercase().as_str()) && reads(script.of(whole), &name) == 0 {
            findings.push(script.finding(
                node,
                &format!("${name} (PSUseDeclaredVarsMoreThanAssignments)"),
            ));
        }
    }
    findings
}

/// Where a name of a function is: the function, or nothing for the script itself.
fn scope(node: Node) -> Option<usize> {
    std::iter::successors(Some(node), Node::parent)
        .skip(1)
        .find(|parent| parent.kind() == "function_statement")
        .map(|function| function.id())
}

/// Names that a script sets outside of functions.
fn outer(script: &Script) -> BTreeSet<String> {
    let own = assigned(script)
        .into_iter()
        .filter(|(_, node)| scope(*node).is_none());
    own.map(|(name, _)| name.to_lowercase()).collect()
}

/// Variables that nobody sets, which strict mode refuses: neither their function nor a script that loads it.
fn unset(script: &Script, loading: &BTreeSet<String>) -> Vec<String> {
    let known = ["null", "erroractionpreference", "progresspreference", "pwd"];
    let automatic = AUTOMATIC.split_whitespace().map(str::to_lowercase);
    let automatic: BTreeSet<String> = automatic.chain(known.map(str::to_owned)).collect();
    let set: BTreeSet<(Option<usize>, String)> = assigned(script)
        .into_iter()
        .map(|(name, node)| (scope(node), name.to_lowercase()))
        .collect();
    let mut findings = Vec::new();
    for node in script.kind("variable") {
        let name = script
            .of(node)
            .trim_start_matches(['$', '@', '{'])
            .trim_end_matches('}')
            .to_lowercase();
        let elsewhere = name.contains(':') || automatic.contains(&name) || loading.contains(&name);
        if !elsewhere
            && !set.contains(&(scope(node), name.clone()))
            && !set.contains(&(None, name.clone()))
        {
            findings.push(script.finding(node, &format!("${name} is never set")));
        }
    }
    findings
}

/// Forms that are warned of wherever they stand.
fn forms(script: &Script) -> Vec<String> {
    let table = [
        (
            r"(?i)-[ic]?(?:eq|ne) \$null\b",
            "PSPossibleIncorrectComparisonWithNull",
        ),
        (
            r"(?i)-AsPlainText\b",
            "PSAvoidUsingConvertToSecureStringWithPlainText",
        ),
        (r"(?i)\$global:", "PSAvoidGlobalVars"),
        (
            r"(?i)\[string\] \$\w*(?:password|passphrase)",
            "PSAvoidUsingPlainTextForPassword",
        ),
        (r"(?i)\bfunction global:", "PSAvoidGlobalFunctions"),
        (r"(?i)\bGet-WmiObject\b", "PSAvoidUsingWMICmdlet"),
        (
            r"(?i)\[switch\] \$\w+ = ",
            "PSAvoidDefaultValueSwitchParameter",
        ),
        (
            r"(?i)Mandatory\)\](?: \[[^\]]*\]\]?)* \$\w+ = ",
            "PSAvoidDefaultValueForMandatoryParameter",
        ),
    ];
    let mut findings = Vec::new();
    for (form, rule) in table {
        let form = Regex::new(form).unwrap();
        for (number, _) in script
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| form.is_match(line))
        {
            findings.push(format!("{}:{}: {rule}", script.name, number + 1));
        }
    }
    findings
}

fn all(script: &Script) -> Vec<String> {
    // The simulation declares what the abilities of Windows declare, and plays less.
    let unread = if script.is_simulation() {
        Vec::new()
    } else {
        unread(script)
    };
    [names(script), automatic(script), unread, forms(script)].concat()
}

#[test]
fn scripts_keep_to_the_rules_of_the_analyzer() {
    for folder in ["provisioners", "tests/guest", "manifests/cluster", "packer"] {
        assert_none(
            &scripts_below(folder)
                .iter()
                .flat_map(all)
                .collect::<Vec<_>>(),
        );
    }
}

#[test]
fn every_variable_is_set_somewhere() {
    for folders in [
        &["provisioners"][..],
        &["tests/guest", "provisioners"],
        &["manifests/cluster"],
        &["packer"],
    ] {
        let scripts: Vec<Script> = folders
            .iter()
            .flat_map(|folder| scripts_below(folder))
            .collect();
        // What loads each script sets variables for it.
        let mut given: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for other in &scripts {
            let variables = outer(other);
            for loaded in loads(other, &scripts) {
                if loaded.name != other.name {
                    let given = given.entry(&loaded.name).or_default();
                    given.extend(variables.iter().cloned());
                }
            }
        }
        for script in &scripts {
            if script.name.starts_with(folders[0]) && !script.is_case() {
                let given = given.remove(script.name.as_str()).unwrap_or_default();
                assert_none(&unset(script, &given));
            }
        }
    }
    let planted = "$a = 1\nfunction Get-One {\n    param($b)\n    foreach ($c in $a, $b) { $c }\n    \
                   [int] $d = 1\n    \"$d $e\"\n}\n$d\n";
    let found = unset(
        &Script::new("planted.ps1", planted.to_owned()),
        &BTreeSet::new(),
    );
    assert!(
        found.len() == 2 && found[0].contains("$d") && found[1].contains("$e"),
        "{found:?}"
    );
}

#[test]
fn each_rule_of_the_analyzer_finds_its_defect() {
    let good =
        "function Get-One {\n    param([string] $Path)\n    $all = @($Path)\n    $null = $all\n}\n";
    let table = [
        ("function Fetch-One {\n    1\n}\n", "PSUseApprovedVerbs"),
        ("function Get-Ones {\n    1\n}\n", "PSUseSingularNouns"),
        (
            "$event = 1\n$event\n",
            "PSAvoidAssignmentToAutomaticVariable",
        ),
        (
            "foreach ($input in 1, 2) { $input }\n",
            "PSAvoidAssignmentToAutomaticVariable",
        ),
        (
            "$one, $args = 1, 2\n$one + $args\n",
            "PSAvoidAssignmentToAutomaticVariable",
        ),
        (
            "function Get-Two {\n    param([string] $Host)\n    $Host\n}\n",
            "PSAvoidAssignmentToAutomaticVariable",
        ),
        (
            "function Get-Two {\n    param([string] $Name)\n    2\n}\n",
            "$Name of Get-Two (PSReviewUnusedParameter",
        ),
        ("$one = 1\n", "$one (PSUseDeclaredVarsMoreThanAssignments)"),
        (
            "function Get-Two {\n    $two = 2\n}\n$two\n",
            "$two (PSUseDeclaredVarsMoreThanAssignments)",
        ),
        (
            "if ($all -eq $null) { 1 }\n",
            "PSPossibleIncorrectComparisonWithNull",
        ),
        ("$global:One\n", "PSAvoidGlobalVars"),
        (
            "ConvertTo-SecureString -String 'x' -AsPlainText\n",
            "WithPlainText",
        ),
        (
            "function Get-Two {\n    param([string] $PasswordText)\n    $PasswordText\n}\n",
            "PlainTextForPassword",
        ),
        (
            "function Get-Two {\n    param([switch] $On = $true)\n    $On\n}\n",
            "DefaultValueSwitch",
        ),
        (
            "function Get-Two {\n    param([Parameter(Mandatory)] [string] $On = 'x')\n    $On\n}\n",
            "DefaultValueForMandatory",
        ),
    ];
    assert_none(&all(&Script::new("planted.ps1", good.to_owned())));
    for (defect, expected) in table {
        let found = all(&Script::new("planted.ps1", format!("{good}{defect}")));
        assert!(
            found.len() == 1 && found[0].contains(expected),
            "{defect:?} gave {found:?}"
        );
    }
}

/// A rule that is left out is one with a reason: a comment before its name.
#[test]
fn settings_of_the_analyzer_give_reasons() {
    let text = std::fs::read_to_string(root().join("PSScriptAnalyzerSettings.psd1")).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let rules = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("'PS"))
        .map(|(number, _)| number);
    let rules: Vec<usize> = rules.collect();
    assert!(!rules.is_empty());
    for number in rules {
        assert!(
            lines[number - 1].starts_with("# "),
            "{} has no reason",
            lines[number]
        );
    }
}
