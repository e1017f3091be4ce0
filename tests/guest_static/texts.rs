//! The traps of 5.1 in every PowerShell of the repository: scripts, steps, the build, Markdown and YAML.

use serde_json::Value;
use walkdir::WalkDir;

use super::assert_none;
use super::rules::syntax;
use super::script::{Script, known, root, scripts_below};
use super::traps::{
    collisions, defaults, drives, leaks, loads, members, preferences, quoted_values, visibility,
};
use crate::support::Test;

const FOLDERS: [&str; 4] = ["provisioners", "tests/guest", "manifests/cluster", "packer"];

fn all_scripts() -> Vec<Script> {
    FOLDERS
        .iter()
        .flat_map(|folder| scripts_below(folder))
        .collect()
}

/// Files of the repository with one of the suffixes, below the folders that hold PowerShell as text.
fn files(suffixes: &[&str]) -> Vec<(String, String)> {
    let folders = [
        "packer",
        "provisioners",
        "manifests",
        "ci/publish/pipelines",
    ];
    let mut found = vec![(
        "README.md".to_owned(),
        std::fs::read_to_string(root().join("README.md")).unwrap(),
    )];
    for entry in folders
        .iter()
        .flat_map(|folder| WalkDir::new(root().join(folder)))
    {
        let entry = entry.unwrap();
        let suffix = entry
            .path()
            .extension()
            .and_then(|it| it.to_str())
            .unwrap_or_default();
        if entry.file_type().is_file() && suffixes.contains(&suffix) {
            let name = entry
                .path()
                .strip_prefix(root())
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            found.push((name, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
    found.retain(|(name, _)| {
        suffixes
            .iter()
            .any(|suffix| name.ends_with(&format!(".{suffix}")))
    });
    found
}

/// Pieces between a line that ends in `open` and the next line that is `close` but for blanks.
fn pieces<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(&format!("{open}\n")) {
        rest = &rest[start + open.len() + 1..];
        let mut length = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim() == close {
                break;
            }
            length += line.len();
        }
        found.push(&rest[..length]);
        rest = &rest[length..];
    }
    found
}

/// The lines of YAML that are indented below `key: |`, without their indent.
fn yaml_blocks(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (number, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.ends_with('|'))
    {
        let inner = lines[number + 1..]
            .iter()
            .take_while(|it| it.is_empty() || indent(it) > indent(line));
        let block: Vec<&str> = inner.map(|line| line.trim_start()).collect();
        let before = lines[..number]
            .iter()
            .rev()
            .take(12)
            .any(|line| line.contains("powershell"));
        let shell = lines[..number]
            .iter()
            .rev()
            .take(3)
            .any(|line| line.trim() == "shell: pwsh" || line.trim() == "shell: powershell");
        let named = line
            .trim_start()
            .trim_start_matches("- ")
            .starts_with("pwsh:")
            || shell
            || line.contains(".ps1:");
        if named || (before && !line.contains("run:") && !line.contains("script:")) {
            found.push(format!("{}\n", block.join("\n")));
        }
    }
    found
}

/// Every text of PowerShell that stands in a file of another kind.
fn texts() -> Vec<Script> {
    let mut found = Vec::new();
    for (name, text) in files(&["hcl"]) {
        found.extend(
            pieces(&text, "<<-SCRIPT", "SCRIPT")
                .into_iter()
                .map(|it| Script::new(&name, it.to_owned())),
        );
    }
    for (name, text) in files(&["md"]) {
        found.extend(
            pieces(&text, "```powershell", "```")
                .into_iter()
                .map(|it| Script::new(&name, it.to_owned())),
        );
    }
    for (name, text) in files(&["yml", "yaml"]) {
        found.extend(
            yaml_blocks(&text)
                .into_iter()
                .map(|it| Script::new(&name, it)),
        );
    }
    for (name, text) in steps() {
        found.push(Script::new(&name, text));
    }
    found
}

/// Texts of the steps' resources of type `script`.
pub(super) fn steps() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, text) in files(&["json"])
        .into_iter()
        .filter(|(name, _)| name.starts_with("provisioners/steps/"))
    {
        let step: Value = serde_json::from_str(&text).unwrap();
        for resource in step["resources"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["type"] == "script")
        {
            for property in ["test", "set"] {
                let text = resource["properties"][property].as_str().unwrap();
                found.push((format!("{name}#{}", resource["name"]), format!("{text}\n")));
            }
        }
    }
    found
}

#[test]
fn no_script_has_a_trap_of_5_1() {
    let scripts = all_scripts();
    let known = known(&scripts);
    let check = |script: &Script| {
        let loaded = loads(script, &scripts);
        let all = [
            drives(script),
            defaults(script),
            collisions(script, &loaded),
        ];
        [
            all.concat(),
            members(script),
            preferences(script, &known),
            leaks(script, &known),
        ]
        .concat()
    };
    let judged = scripts.iter().filter(|script| !script.is_case());
    assert_none(&judged.flat_map(check).collect::<Vec<_>>());
}

#[test]
fn every_function_is_defined_where_it_is_called() {
    assert_none(&visibility(&scripts_below("provisioners")));
    let mut simulated = scripts_below("provisioners");
    simulated.retain(|script| !script.is_platform());
    let guest = || scripts_below("tests/guest").into_iter();
    simulated.extend(guest().filter(|it| !it.is_suite() && !it.is_case()));
    assert_none(&visibility(&simulated));
    let mut real = scripts_below("provisioners");
    real.extend(guest().filter(|it| it.is_suite() || it.is_shared()));
    assert_none(&visibility(&real));
}

/// What nodes run out of user-data: a script, and the part of a message that is one.
fn user_data() -> Vec<Script> {
    let said = |form: &str| {
        let test = Test::new().env("T", "abcdef.0123456789abcdef");
        let test = test.line(
            "join-data --k8s 1.36.4 --endpoint api.example.com:6443 --token-env T --ca-cert-hash",
        );
        let hash = format!("sha256:{}", "a".repeat(64));
        test.args([hash.as_str()])
            .line("--as")
            .args([form])
            .line("--signed-scripts")
            .succeeds()
            .stdout
    };
    let script = said("ps1");
    let (head, script) = script.split_once('\n').unwrap();
    assert_eq!(head, "#ps1_sysnative");
    let message = said("mime");
    let part = message.split("filename=\"join.ps1\"\n\n").nth(1).unwrap();
    let part = part.split("\n--imagegen-").next().unwrap();
    [("join-data.ps1", script), ("join-data.mime", part)]
        .map(|(name, text)| Script::new(name, format!("{}\n", text.trim_end())))
        .into()
}

/// A script that is missing ends user-data with an error, so each part stops at its first one.
#[test]
fn user_data_stops_at_its_first_error() {
    for script in user_data() {
        assert!(
            script.text.starts_with("$ErrorActionPreference = 'Stop'\n"),
            "{}",
            script.text
        );
        assert!(
            script.text.ends_with("exit $LASTEXITCODE\n"),
            "{}",
            script.text
        );
    }
}

#[test]
fn no_text_of_powershell_has_a_trap_of_5_1() {
    let known = known(&[]);
    let texts: Vec<Script> = texts().into_iter().chain(user_data()).collect();
    let kinds = [".hcl", ".md", ".yml", ".json", ".ps1", ".mime"];
    for kind in kinds {
        assert!(
            texts.iter().any(|script| script.name.contains(kind)),
            "no text in {kind}"
        );
    }
    let check = |script: &Script| {
        [
            syntax(script),
            drives(script),
            members(script),
            preferences(script, &known),
        ]
        .concat()
    };
    assert_none(&texts.iter().flat_map(check).collect::<Vec<_>>());
}

#[test]
fn no_value_of_a_plan_stands_in_quotes_of_a_script() {
    assert_none(
        &steps()
            .iter()
            .flat_map(|(name, text)| quoted_values(name, text))
            .collect::<Vec<_>>(),
    );
}

/// Each rule finds its defect, and only that one, in a script that is good without it.
#[test]
fn each_trap_is_found() {
    let table = [
        ("$x = \"no $path: here\"\n", "is a drive"),
        ("$x = @\"\nno $path: here\n\"@\n", "is a drive"),
        ("$x = \"no $script: here\"\n", "is a drive"),
        ("$x = (Get-Thing).Count\n", "may give nothing"),
        ("$x = (Get-Thing | Sort-Object).Name\n", "may give nothing"),
        ("$x = (Get-Thing)[0]\n", "may give nothing"),
        ("(Get-Thing).Start()\n", "may give nothing"),
        (
            "$x = Get-NetFirewallRule -Name 'x'\n",
            "needs -ErrorAction Stop",
        ),
        (
            "Register-ScheduledTask -TaskName 'x' -ErrorAction SilentlyContinue\n",
            "needs -ErrorAction Stop",
        ),
        (
            "$x = Get-FileHash -LiteralPath 'x'\n",
            "needs -ErrorAction Stop",
        ),
        ("$x = Get-HnsNetwork\n", "needs -ErrorAction Stop"),
        ("$Task = 1\n", "at script level"),
        ("foreach ($task in 1, 2) { $task }\n", "at script level"),
        (
            "function Get-Two {\n    $all.Add(1)\n    $all\n}\n",
            "Add gives something",
        ),
        (
            "function Get-Two {\n    [IO.Directory]::CreateDirectory('x')\n    2\n}\n",
            "gives something",
        ),
        (
            "function Get-Two {\n    New-Item -Path 'x'\n    2\n}\n",
            "New-Item gives something",
        ),
        (
            "function Get-Two {\n    if ($a) {\n        $p.WaitForExit(1)\n        2\n    }\n}\n",
            "WaitForExit gives",
        ),
    ];
    let good = "$x = \"$env:A ${path}: $script:Task $a::b $(Get-Thing)\"\n$script:Task = 'x'\n\
                function Get-Thing {\n    $task = 1\n    @(Get-Thing).Count + $task\n}\n\
                $y = Get-NetFirewallRule -Name 'x' -ErrorAction SilentlyContinue\n";
    let known = known(&[]);
    let check = |text: &str| {
        let script = Script::new("planted.ps1", text.to_owned());
        let all = [
            drives(&script),
            collisions(&script, &[&script]),
            members(&script),
        ];
        [
            all.concat(),
            defaults(&script),
            preferences(&script, &known),
            leaks(&script, &known),
        ]
        .concat()
    };
    assert_none(&check(good));
    for (defect, expected) in table {
        let found = check(&format!("{good}{defect}"));
        assert!(
            found.len() == 1 && found[0].contains(expected),
            "{defect:?} gave {found:?}"
        );
    }
    for name in ["$PSScriptRoot", "$PSCommandPath", "$MyInvocation"] {
        let found = check(&format!(
            "[CmdletBinding()]\nparam([string] $A = \"{name}/x\")\n{good}"
        ));
        assert!(
            found.len() == 1 && found[0].contains("empty under -File"),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn functions_that_are_not_visible_are_found() {
    let module = "function Get-One {\n    Get-Two\n}\nfunction Get-Two {\n    2\n}\n";
    let import = "Import-Module -Name \"$PSScriptRoot/M.psm1\"\n";
    let scripts = |exported: &str, caller: &str| {
        let text = format!("{module}Export-ModuleMember -Function @('{exported}')\n");
        [
            Script::new("a/M.psm1", text),
            Script::new("a/run.ps1", caller.to_owned()),
        ]
    };
    assert_none(&visibility(&scripts(
        "Get-One",
        &format!("{import}Get-One\n"),
    )));
    for caller in [format!("{import}Get-Two\n"), "Get-One\n".to_owned()] {
        let found = visibility(&scripts("Get-One", &caller));
        assert!(
            found.len() == 1 && found[0].contains("not visible in a/run.ps1"),
            "{caller}: {found:?}"
        );
    }
}

#[test]
fn values_in_quotes_are_found() {
    assert_none(&quoted_values("x", "$a = {{ item.server | literal }}\n"));
    for text in [
        "$a = '{{ item.server }}'\n",
        "$a = \"x{{ item.server | literal }}\"\n",
        "$a = {{ item.x }}\n",
    ] {
        assert!(!quoted_values("x", text).is_empty(), "{text}");
    }
}

/// Facts of a node that a script reads and no template writes; under strict mode a missing one is an error.
fn unknown_facts(script: &Script, template: &str) -> Vec<String> {
    let known: Vec<&str> = template
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    let mut findings = Vec::new();
    for node in script.kind("member_access") {
        let text = script.of(node);
        let Some((table, fact)) = text.split_once('.') else {
            continue;
        };
        if table.eq_ignore_ascii_case("$facts")
            && !fact.starts_with("Contains")
            && !known.contains(&fact)
        {
            findings.push(script.finding(node, &format!("node.conf has no {fact}")));
        }
    }
    findings
}

#[test]
fn every_fact_that_a_node_reads_is_one_of_node_conf() {
    let template =
        std::fs::read_to_string(root().join("provisioners/templates/node.conf")).unwrap();
    let scripts = scripts_below("provisioners/node");
    assert_none(
        &scripts
            .iter()
            .flat_map(|script| unknown_facts(script, &template))
            .collect::<Vec<_>>(),
    );
    let read = |script: &Script| {
        script.text.matches("$Facts.").count() + script.text.matches("$facts.").count()
    };
    assert!(scripts.iter().map(read).sum::<usize>() > 40);
    let planted = Script::new(
        "planted.ps1",
        "$x = \"$($Facts.config)\"\n$y = $facts.kubelt\n".to_owned(),
    );
    assert_eq!(unknown_facts(&planted, &template).len(), 2);
}

fn guest_text(name: &str) -> String {
    std::fs::read_to_string(root().join("tests/guest").join(name)).unwrap()
}

/// The matrix breaks a resource of every type. The others have cases of their own in `run.ps1`.
#[test]
fn every_type_of_resource_is_broken() {
    let plan: Value = serde_json::from_str(&guest_text("plan.json")).unwrap();
    let matrix = ["file-breaks", "system-breaks"]
        .map(|name| guest_text(&format!("matrix/{name}.ps1")))
        .concat();
    // An assertion is never set, and Sysprep runs once: `Test-Drift` and `Test-TimeLimit` have them.
    let elsewhere = ["assertion", "sysprep"];
    let resources = plan["resources"].as_array().unwrap();
    let broken = |kind: &str| {
        let mut names = resources
            .iter()
            .filter(|it| it["type"] == kind)
            .map(|it| it["name"].as_str().unwrap());
        names.any(|name| matrix.contains(&format!("@{{ name = '{name}'; ")))
    };
    let cases: Vec<&str> = matrix.split("    @{ name = '").skip(1).collect();
    for kind in super::rules::model()
        .into_keys()
        .filter(|kind| !elsewhere.contains(&kind.as_str()))
    {
        assert!(broken(&kind), "{kind}");
        let own = cases.iter().filter(|case| {
            let name = case.split('\'').next().unwrap();
            resources
                .iter()
                .any(|it| it["name"] == name && it["type"] == kind.as_str())
        });
        let own: Vec<&str> = own.copied().collect();
        for way in ["ability = '", "absent = ", "drift = ", "kind = "] {
            assert!(
                own.iter().any(|case| case.contains(way)),
                "{kind}: neither broken by `{way}` nor told why not"
            );
        }
    }
    for (start, _) in matrix.match_indices("@{ name = '") {
        let name = matrix[start + 11..].split('\'').next().unwrap();
        assert!(resources.iter().any(|it| it["name"] == name), "{name}");
    }
}
