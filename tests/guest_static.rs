//! The guest's PowerShell, held against Windows PowerShell 5.1 without having one.
//!
//! Scripts are read as syntax trees. Each rule is a function from scripts to findings, so the same
//! function that must find nothing in `provisioners/` must find the planted defect in a table below.

mod analyzer;
mod catalogue;
mod empty;
mod kept;
mod laws;
mod programs;
mod redirects;
mod results;
mod rules;
mod script;
mod texts;
mod traps;

use std::collections::{BTreeMap, BTreeSet};

use imagegen::windows::resource::ResourceKind;
use rules::{called, commands, forms, layout, model, platforms, resources, syntax, windows_only};
use script::{Script, known, root, scripts_below};
use serde_json::Value;
use walkdir::WalkDir;

fn assert_none(findings: &[String]) {
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn every_script_parses_and_is_laid_out() {
    for folder in [
        "provisioners",
        "tests/guest",
        "manifests/cluster",
        "packer/shared",
    ] {
        let scripts = scripts_below(folder);
        assert_none(
            &scripts
                .iter()
                .flat_map(|script| [syntax(script), layout(script)].concat())
                .collect::<Vec<_>>(),
        );
    }
}

/// PowerShell that stands in steps is PowerShell all the same.
#[test]
fn scripts_of_steps_parse_and_are_ascii() {
    let mut seen = 0;
    for file in WalkDir::new(root().join("provisioners/steps"))
        .into_iter()
        .filter_map(Result::ok)
    {
        if file
            .path()
            .extension()
            .is_none_or(|suffix| suffix != "json")
        {
            continue;
        }
        let step: Value =
            serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
        let resources = step["resources"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["type"] == "script");
        for resource in resources {
            for property in ["test", "set"] {
                let text = resource["properties"][property].as_str().unwrap();
                let name = format!(
                    "{}#{}",
                    file.file_name().to_string_lossy(),
                    resource["name"]
                );
                let script = Script::new(&name, format!("{text}\n"));
                let long = |finding: &String| finding.contains("115");
                assert_none(&syntax(&script));
                assert_none(
                    &layout(&script)
                        .into_iter()
                        .filter(|it| !long(it))
                        .collect::<Vec<_>>(),
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 4, "{seen}");
}

/// What a platform runs before the engine is there.
#[test]
fn scripts_of_workspaces_use_commands_of_5_1() {
    let known = known(&[]);
    let scripts = scripts_below("packer/shared");
    assert!(!scripts.is_empty());
    let wrong = |it: &String| it.contains("no command of 5.1") || it.contains("no parameter");
    for script in &scripts {
        assert_none(
            &commands(script, &known)
                .into_iter()
                .filter(wrong)
                .collect::<Vec<_>>(),
        );
    }
}

/// Both branches of a template's tags stand in the text, as comments: so it is read as it is.
#[test]
fn scripts_of_the_build_use_commands_of_5_1() {
    let text = std::fs::read_to_string(root().join("packer/build.pkr.hcl")).unwrap();
    let known = known(&[]);
    let mut seen = 0;
    for inline in text.split("inline = [<<-SCRIPT\n").skip(1) {
        let inline = inline.split("      SCRIPT\n").next().unwrap();
        let script = Script::new("packer/build.pkr.hcl", inline.to_owned());
        assert_none(&syntax(&script));
        let wrong = |it: &String| it.contains("no command of 5.1") || it.contains("no parameter");
        assert_none(
            &commands(&script, &known)
                .into_iter()
                .filter(wrong)
                .collect::<Vec<_>>(),
        );
        seen += 1;
    }
    assert_eq!(seen, 1);
}

#[test]
fn every_command_and_parameter_is_known_to_5_1() {
    let scripts = scripts_below("provisioners");
    let known = known(&scripts);
    assert_eq!(known.commands.len(), 1124);
    let check = |script: &Script| {
        [
            commands(script, &known),
            forms(script),
            windows_only(script, &known),
        ]
        .concat()
    };
    assert_none(&scripts.iter().flat_map(check).collect::<Vec<_>>());
}

/// Scripts of the cluster's agents run on nodes of their own accord: no engine stands before them.
#[test]
fn scripts_of_the_cluster_use_commands_of_5_1() {
    let scripts = scripts_below("manifests/cluster");
    let known = known(&scripts);
    // Of the module HostNetworkingService, which the feature Containers brings.
    let of_hns = |finding: &String| finding.contains("-Hns") && finding.contains("is no command");
    // To start a program is what they are there for.
    let starts = |finding: &String| finding.ends_with("is run directly");
    let found = |script: &Script| {
        commands(script, &known)
            .into_iter()
            .filter(|f| !of_hns(f) && !starts(f))
    };
    let check = |script: &Script| found(script).collect::<Vec<_>>();
    assert_none(&scripts.iter().flat_map(check).collect::<Vec<_>>());
    assert_eq!(scripts.len(), 3);
}

#[test]
fn the_simulation_has_every_ability_of_windows() {
    let (provisioners, guest) = (scripts_below("provisioners"), scripts_below("tests/guest"));
    let (windows, others): (Vec<Script>, Vec<Script>) =
        provisioners.into_iter().partition(Script::is_platform);
    let simulated: Vec<Script> = guest.into_iter().filter(Script::is_simulation).collect();
    assert!(windows.len() > 10, "{}", windows.len());
    assert_none(&platforms(&windows, &simulated, &called(&others)));
}

#[test]
fn resource_scripts_take_the_fields_of_the_model() {
    assert_none(&resources(&scripts_below("provisioners"), &model()));
}

/// The plan of `run.ps1` is one that Rust could have written, and leaves no type out.
#[test]
fn the_simulated_plan_has_every_type() {
    let text = std::fs::read_to_string(root().join("tests/guest/plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    let mut seen = BTreeSet::new();
    for resource in plan["resources"].as_array().unwrap() {
        let mut properties = resource["properties"].clone();
        if let Some(line) = properties.as_object_mut().unwrap().remove("commandLine") {
            // `"C:\a b\c.exe" --d`: Rust has the program by itself.
            let line = line.as_str().unwrap();
            let program = match line.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap(),
                None => line.split(' ').next().unwrap(),
            };
            properties["program"] = program.into();
        }
        let kind = serde_json::json!({ "type": resource["type"], "properties": properties });
        serde_json::from_value::<ResourceKind>(kind)
            .unwrap_or_else(|error| panic!("{}: {error}", resource["name"]));
        seen.insert(resource["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen, model().into_keys().collect());
}

/// Every rule finds the defect that it is there for, in a script that is good without it.
#[test]
fn each_rule_finds_its_defect() {
    const GOOD: &str = "function Get-One {\n    [CmdletBinding()]\n    param([Parameter(Mandatory)] [string] $Path)\n    \
                        Get-Item -LiteralPath $Path\n}\n";
    let table = [
        ("if ($a) {\n", "does not parse"),
        ("$x = $a ? 1 : 2\n", "does not parse"),
        ("$x = $a ?? 2\n", "does not parse"),
        ("$x = 'é'\n", "not ASCII"),
        ("$x = 1\r\n", "carriage return"),
        ("$x = 1", "no line end"),
        ("$x = 1 \n", "blank at the end"),
        ("Get-Item `\n    -LiteralPath 'x'\n", "backtick"),
        (
            "$x = '0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\
          01234567890123456789'\n",
            "115",
        ),
        ("Get-One -Path 'a' && Get-One -Path 'b'\n", "`&&`"),
        ("Get-One -Path 'a' || Get-One -Path 'b'\n", "`&&`"),
        ("if ($?) { $x = 1 }\n", "`$?`"),
        ("if ($IsWindows) { $x = 1 }\n", "not in 5.1"),
        ("try { $x = 1 } catch { }\n", "empty catch"),
        (
            "function Get-Two {\n    param([string] $Path)\n    $Path\n}\n",
            "CmdletBinding",
        ),
        ("Get-Itme -LiteralPath 'x'\n", "no command of 5.1"),
        ("ls -Path 'x'\n", "no command of 5.1"),
        ("curl.exe -L\n", "no command of 5.1"),
        ("Remove-Service -Name 'x'\n", "no command of 5.1"),
        ("Get-Item -LiteralPth 'x'\n", "no parameter -LiteralPth"),
        ("Get-One -Pat 'x'\n", "no parameter -Pat"),
        (
            "$x = $a | ConvertFrom-Json -AsHashtable\n",
            "no parameter -AsHashtable",
        ),
        (
            "$a | ForEach-Object -Parallel { $_ }\n",
            "no parameter -Parallel",
        ),
        (
            "Join-Path -Path 'a' -ChildPath 'b' 'c'\n",
            "positional argument 'c'",
        ),
        ("Get-ChildItem -Force 'x'\n", "positional argument 'x'"),
        ("Get-One 'x'\n", "positional argument 'x'"),
        ("Get-One\n", "needs -Path"),
        ("& $program\n", "run directly"),
        (". 'other.ps1'\n", "run directly"),
        ("Invoke-Expression -Command 'x'\n", "not used here"),
        ("Write-Host -Object 'x'\n", "not used here"),
        ("function Get-Item {\n    1\n}\n", "hides a command"),
        ("$x = Get-Service -Name 'x'\n", "for engine/windows"),
        ("$x = Get-Acl -LiteralPath 'x'\n", "for engine/windows"),
        ("$x = Get-NetFirewallRule -Name 'x'\n", "for engine/windows"),
        ("$x = 'HKLM:\\SOFTWARE'\n", "hklm:"),
        ("$x = \"C:\\$a\\sc.exe\"\n", ".exe"),
    ];
    let findings = |text: &str| {
        let scripts = [Script::new(
            "provisioners/engine/Planted.ps1",
            text.to_owned(),
        )];
        let (script, known) = (&scripts[0], known(&scripts));
        [
            syntax(script),
            layout(script),
            forms(script),
            commands(script, &known),
            windows_only(script, &known),
        ]
        .concat()
    };
    assert_none(&findings(GOOD));
    for (defect, expected) in table {
        let found = findings(&format!("{GOOD}{defect}"));
        assert!(
            found.iter().any(|finding| finding.contains(expected)),
            "{defect:?} gave {found:?}"
        );
    }
}

#[test]
fn resource_and_platform_rules_find_their_defects() {
    let types = BTreeMap::from([(
        "thing".to_owned(),
        BTreeSet::from(["path".to_owned(), "value".to_owned()]),
    )]);
    let head = "    [CmdletBinding()]\n    param";
    let file = |get: &str, set: &str| {
        format!(
            "function Get-thingResource {{\n{head}({get})\n}}\nfunction Set-thingResource {{\n{head}({set})\n}}\n"
        )
    };
    let (get, set) = ("[string] $path", "[string] $path, [string] $value");
    let table = [
        ("thing", file(get, set), ""),
        ("thing", file("[string] $pth", set), "Get takes"),
        ("thing", file(get, "[string] $path"), "Set takes"),
        (
            "thing",
            file(get, "[string] $path, [string] $value, [string] $more"),
            "Set takes",
        ),
        (
            "thing",
            file(get, set).replace("Set-thing", "Set-other"),
            "Set takes None",
        ),
        (
            "thing",
            file(get, set) + &"# x\n".repeat(60),
            "more than 60 lines",
        ),
        ("other", file(get, set), "no such resource type"),
        ("other", file(get, set), "thing: no resource file"),
    ];
    for (name, text, expected) in table {
        let found = resources(
            &[Script::new(
                &format!("provisioners/resources/{name}.ps1"),
                text,
            )],
            &types,
        )
        .join("\n");
        assert!(
            if expected.is_empty() {
                found.is_empty()
            } else {
                found.contains(expected)
            },
            "{expected}: {found}"
        );
    }
    let ability = |name: &str, parameter: &str, body: &str| {
        let text = format!("function {name} {{\n{head}({parameter})\n{body}}}\n");
        [Script::new("x/engine/windows/things.ps1", text)]
    };
    let real = ability("Get-Thing", "[string] $Path", "    $Path\n");
    let used = BTreeSet::from(["Get-Thing".to_owned(), "Get-Other".to_owned()]);
    assert_none(&platforms(&real, &real, &used));
    let private = ability("Get-Private", "[string] $Path", "    $Path\n");
    assert_none(&platforms(&private, &ability("Get-Nothing", "", ""), &used));
    let defects = [
        (
            &real,
            ability("Get-Thing", "[string] $Name", ""),
            "Get-Thing",
        ),
        (&real, ability("Get-Thing", "[int] $Path", ""), "Get-Thing"),
        (
            &real,
            ability("Get-Other", "[string] $Path", ""),
            "Get-Other",
        ),
        (
            &ability("Get-Thing", "", &"    1\n".repeat(16)),
            ability("Get-Thing", "", ""),
            "has 16 lines",
        ),
    ];
    for (windows, simulated, expected) in defects {
        let found = platforms(windows, &simulated, &used).join("\n");
        assert!(found.contains(expected), "{expected}: {found}");
    }
    let moved = [Script::new("x/simulated/others.ps1", real[0].text.clone())];
    let found = platforms(&real, &moved, &used).join("\n");
    assert!(found.contains("others.ps1"), "{found}");
}
