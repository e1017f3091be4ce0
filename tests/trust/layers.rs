//! Each variable and selector of each target by each layer: who may give it is said in the target's folder.

use imagegen::model::target::Target;
use imagegen::model::variable::{DefaultFrom, SetBy, VariableType};
use serde_json::{Value, json};

use crate::support::targets::all_targets;
use crate::support::{Ran, Test, root};

const REFUSED: &str = "only the operator gives it";

/// Names that only the operator may give, and those that a definition may, too, with a value of their type.
fn list_inputs(target: &Target) -> Vec<(String, bool, Value)> {
    let mut inputs = Vec::new();
    for selector in &target.selectors {
        let is_operators = selector.set_by == SetBy::Operator;
        inputs.push((selector.name.clone(), is_operators, json!(selector.default)));
    }
    for variable in &target.variables {
        if variable.sensitive || variable.default_from == Some(DefaultFrom::BootMedium) {
            continue;
        }
        let value = match variable.kind {
            VariableType::String => json!("x"),
            VariableType::Number => json!(1),
            VariableType::Bool => json!(true),
            VariableType::StringList => json!(["x"]),
            VariableType::StringMap => json!({"x": "x"}),
        };
        let is_operators = variable.set_by == SetBy::Operator;
        inputs.push((variable.name.clone(), is_operators, value));
    }
    inputs
}

/// What a definition may give because it is the base image is what `allowedBaseImages` is about.
#[test]
fn whatever_names_the_base_image_is_held_against_the_policy() {
    for target in all_targets() {
        for variable in &target.variables {
            if let SetBy::Definition(reason) = &variable.set_by
                && reason.starts_with("the base image")
            {
                let (target, name) = (&target.name, &variable.name);
                assert!(variable.base_image, "{target}: {name} has no `baseImage`");
            }
        }
    }
}

fn plan_with(target: &Target, variables: &Value, names_target: bool, has_policy: bool) -> Ran {
    let mut definition = json!({"kubernetes": "1.36.0", "variables": variables});
    let mut line = "plan".to_owned();
    if names_target {
        definition["target"] = target.name.clone().into();
    } else {
        line = format!("{line} --target {}", target.name);
    }
    if has_policy {
        line += " --policy policy.json";
    }
    Test::new()
        .file("imagegen.json", &definition.to_string())
        .file("policy.json", r#"{"name": "ours"}"#)
        .line(&line)
        .run()
}

/// Each operator's variable alone, all others of a target at once; the target in the definition or in a flag, with and
/// without a policy. A value may be wrong for the variable; who gives it is judged first.
#[test]
fn a_definition_gives_what_the_target_lets_it_give() {
    let (mut refused, mut taken) = (0, 0);
    for target in all_targets() {
        let mut free = json!({});
        for (at, (name, is_operators, value)) in list_inputs(&target).into_iter().enumerate() {
            if !is_operators {
                free[&name] = value;
                taken += 1;
                continue;
            }
            let ran = plan_with(&target, &json!({&name: value}), at % 2 == 0, at % 4 < 2);
            let said = format!("`variables.{name}` of the image definition: {REFUSED}");
            assert_eq!(ran.code, Some(3), "{}: {name}", target.name);
            assert!(ran.stderr.contains(&said), "{name}: {}", ran.stderr);
            refused += 1;
        }
        for names_target in [true, false] {
            let ran = plan_with(&target, &free, names_target, true);
            assert!(
                !ran.stderr.contains(REFUSED),
                "{}: {}",
                target.name,
                ran.stderr
            );
        }
    }
    assert!(refused > 80 && taken > 150, "{refused} {taken}");
}

/// What only the operator gives is given by a flag, and by the environment where the lock does not record it.
#[test]
fn the_operator_gives_what_a_definition_may_not() {
    let program = "qemu_binary=/usr/libexec/qemu-kvm";
    let plan = |definition: &str| {
        Test::new()
            .file("imagegen.json", definition)
            .file("policy.json", r#"{"name": "ours"}"#)
    };
    let base = r#"{"target": "qemu", "kubernetes": "1.36.0"}"#;
    let given =
        r#"{"target": "qemu", "kubernetes": "1.36.0", "variables": {"qemu_binary": "./evil.sh"}}"#;
    let line = "plan --policy policy.json";
    plan(base)
        .line(line)
        .line(&format!("--var {program}"))
        .succeeds();
    plan(base)
        .env("PKR_VAR_qemu_binary", "/usr/libexec/qemu-kvm")
        .line(line)
        .succeeds();
    // The operator's own value takes the place of the definition's, which then reaches nothing.
    let shown = plan(given)
        .line(line)
        .line(&format!("--var {program} --format json"))
        .succeeds();
    assert!(!shown.stdout.contains("evil.sh"), "{}", shown.stdout);
    plan(given)
        .line(line)
        .fails(3, &["`variables.qemu_binary`", REFUSED]);
    // A flag wins over the environment; a definition and the environment do not meet in silence.
    plan(base)
        .env("PKR_VAR_memory", "9000")
        .line(line)
        .line("--var memory=10000")
        .succeeds();
    plan(r#"{"target": "qemu", "kubernetes": "1.36.0", "variables": {"memory": 10000}}"#)
        .env("PKR_VAR_memory", "9000")
        .line(line)
        .fails(3, &["PKR_VAR_memory", "given twice"]);
}

/// A lockfile is compared, never believed: what it gives has the rights of a definition, and flags stand over it.
#[test]
fn a_lockfile_has_the_rights_of_a_definition() {
    let test = Test::new();
    let start = "--target vsphere --k8s 1.36.0 --host-access services --var start=template";
    test.prints(&format!("lock {start} --var template=templates/ours"));
    let alone = test.run_with("plan");
    assert_eq!(alone.code, Some(3), "{}", alone.stderr);
    for said in ["`variables.template` of the lockfile", REFUSED] {
        assert!(alone.stderr.contains(said), "{}", alone.stderr);
    }
    let given = test.prints("plan --format json --var template=templates/ours --var cpus=7");
    let plan: Value = serde_json::from_str(&given).expect("JSON");
    let used = plan.to_string().contains("\"cpus\":7");
    assert!(used, "a flag over a lockfile is used: {plan:#}");
}

/// A variable that nothing could use is an error, and so is one for a target that nobody names.
#[test]
fn a_variable_that_is_not_used_is_an_error() {
    Test::new()
        .line("doctor --var location=westeurope")
        .fails(3, &["`--var location` has no effect", "--target NAME"]);
}

/// Releases below the catalog's floor are used where the operator, or the policy, names them.
#[test]
fn an_old_packer_is_named_by_the_operator() {
    let definition = |version: &str| json!({"target": "azure", "kubernetes": "1.36.0", "packer": {"version": version}});
    let versions = |name: &str, range: &str| json!({"name": "ours", "allowedVersions": [{"components": [name], "versions": range}]});
    let none = json!({"name": "ours"});
    let refused = ["packer 1.10.3", "it is older than 1.11.0", "[tool-too-old]"];
    let rows = [
        ("1.11.0", "", &none, Ok(())),
        ("1.10.3", "", &none, Err("--allow-old packer")),
        ("1.10.3", "--allow-old packer", &none, Ok(())),
        (
            "1.10.3",
            "--allow-old packer-plugin-azure",
            &none,
            Err("--allow-old packer"),
        ),
        (
            "1.11.0",
            "--allow-old packer",
            &none,
            Err("not built with an old packer"),
        ),
        ("1.10.3", "--policy p.json", &none, Err("allowedVersions")),
        (
            "1.10.3",
            "--policy p.json",
            &versions("packer", ">=1.10.0"),
            Ok(()),
        ),
        (
            "1.10.3",
            "--policy p.json",
            &versions("packer-plugin-azure", "*"),
            Err("allowedVersions"),
        ),
        (
            "1.10.3",
            "--policy p.json --allow-old packer",
            &none,
            Err("not allowed with `--policy`"),
        ),
    ];
    for verb in ["plan", "lock"] {
        for (version, flags, policy, expected) in &rows {
            // A lock needs the network for what nobody pins.
            if verb == "lock" && expected.is_ok() {
                continue;
            }
            let ran = Test::new()
                .file("imagegen.json", &definition(version).to_string())
                .file("p.json", &policy.to_string())
                .line(&format!("{verb} {flags}"))
                .run();
            let title = format!("{verb} {version} {flags} {policy}: {}", ran.stderr);
            match expected {
                Ok(()) => assert_eq!(ran.code, Some(0), "{title}"),
                Err(said) => {
                    assert_eq!(ran.code, Some(3), "{title}");
                    assert!(ran.stderr.contains(said), "{title}");
                    let is_floor = ran.stderr.contains("[tool-too-old]");
                    assert!(
                        !is_floor || refused.iter().all(|part| ran.stderr.contains(part)),
                        "{title}"
                    );
                }
            }
        }
    }
}

/// Every plugin with a floor is held to it; the operator names the plugin itself.
#[test]
fn an_old_plugin_is_named_by_the_operator() {
    for (name, older) in [
        ("azure", "1.0.2"),
        ("hyperv", "1.0.3"),
        ("proxmox", "1.0.7"),
        ("qemu", "1.0.4"),
        ("vmware", "1.0.6"),
        ("vsphere", "1.0.4"),
    ] {
        let plugin = format!("packer-plugin-{name}");
        let definition =
            json!({"target": name, "kubernetes": "1.36.0", "packer": {"plugins": {name: older}}});
        let definition = definition.to_string();
        let run = |flags: &str| {
            let test = Test::new().file("imagegen.json", &definition);
            test.line(&format!("plan {flags}")).run()
        };
        let refused = run("");
        assert_eq!(refused.code, Some(3), "{plugin}: {}", refused.stderr);
        for said in [
            format!("{plugin} {older}: "),
            "[tool-too-old]".to_owned(),
            format!("--allow-old {plugin}"),
        ] {
            assert!(refused.stderr.contains(&said), "{said}: {}", refused.stderr);
        }
        let other = run("--allow-old packer");
        assert_eq!(other.code, Some(3), "{}", other.stderr);
        let accepted = run(&format!("--allow-old {plugin}"));
        assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    }
}

/// A component file of a definition's folder takes no declared signature away, and is named where it replaces one of
/// the program's.
#[test]
fn a_component_file_drops_no_proof_in_silence() {
    let file = root().join("manifests/components/containerd.json");
    let text = std::fs::read_to_string(file).expect("the component");
    let mut component: Value = serde_json::from_str(&text).expect("JSON");
    for release in component["releases"].as_array_mut().expect("releases") {
        let release = release.as_object_mut().expect("a release");
        release.remove("signatures");
        release["url"] = "https://evil.example/{version}.tar.gz".into();
    }
    let definition =
        json!({"target": "host", "kubernetes": "1.36.4", "componentFiles": ["components"]});
    let test = Test::new()
        .file("imagegen.json", &definition.to_string())
        .file("components/containerd.json", &component.to_string());
    let run = |line: &str| test.bare().run(line);
    let plan = run("plan");
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let said = "is described by a component file of your own";
    assert!(
        plan.stdout.contains(said) || plan.stderr.contains(said),
        "{plan:?}"
    );
    for line in ["build --no-bake --out o", "render --out o"] {
        let ran = run(line);
        assert_eq!(ran.code, Some(5), "{line}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("--waive containerd=attestation"),
            "{}",
            ran.stderr
        );
        assert!(!test.exists("o"), "{line}");
    }
    let accepted = run("build --no-bake --out o --waive containerd=attestation");
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
}
