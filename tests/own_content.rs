//! Steps, components and files that the user brings, as `provisioners/example` shows them.

mod refused;

use serde_json::{Value, json};

use crate::support::{Test, files, present, root};

/// A copy of the example.
fn example() -> Test {
    let mut test = Test::new();
    for (path, bytes) in files(&root().join("provisioners/example")) {
        test = test.file(&path, std::str::from_utf8(&bytes).expect("UTF-8"));
    }
    test
}

#[test]
fn the_example_brings_an_agent_a_root_and_a_rule() {
    let test = example();
    let plan = test.prints("plan");
    for step in ["corporate-root", "monitoring-agent", "hardening"] {
        assert!(
            plan.lines().any(|line| line.trim_start().starts_with(step)),
            "{step}: {plan}"
        );
    }
    let (_, plan) = plan.split_once("\nSteps\n").expect("steps");
    let order = |id: &str| {
        plan.find(&format!("  {id} "))
            .unwrap_or_else(|| panic!("{id}: {plan}"))
    };
    assert!(
        order("corporate-root") < order("containerd") && order("containerd") < order("hardening")
    );
    for target in ["host", "azure"] {
        let machine = test.prints_json(&format!("plan --state --format json --target {target}"));
        let roots = present(&machine, "certificate");
        assert_eq!(roots.len(), 1, "{target}");
        assert_eq!(roots[0]["store"], "Root");
        assert_eq!(roots[0]["sha256"].as_str().map(str::len), Some(64));
        let rule = |it: &&&Value| it["valueName"] == "LmCompatibilityLevel" && it["data"] == 5;
        assert!(
            present(&machine, "registryValue")
                .iter()
                .any(|it| rule(&it)),
            "{target}"
        );
        let services = present(&machine, "service");
        assert!(
            services
                .iter()
                .any(|it| it["serviceName"] == "monitoring-agent"),
            "{target}"
        );
        test.prints(&format!("build --no-bake --out {target} --target {target}"));
        let guest: Value =
            serde_json::from_str(&test.text(&format!("{target}/guest-plan.json"))).expect("JSON");
        let resources = guest["resources"].as_array().expect("resources");
        let named = |name: &str| {
            resources
                .iter()
                .find(|it| it["name"] == name)
                .unwrap_or_else(|| panic!("{name}"))
        };
        assert_eq!(
            named("monitoring-agent/configuration")["properties"]["content"],
            test.text("steps/monitoring-agent/agent.yaml")
        );
        assert_eq!(
            named("hardening/lm-compatibility-level-test")["phase"],
            "test"
        );
        assert_eq!(named("corporate-root/root")["phase"], "bootstrap");
    }
    assert!(
        test.prints("explain monitoring-agent")
            .contains("steps/905-monitoring-agent.json")
    );
    assert!(test.prints("list steps").contains("hardening"));
    assert!(test.prints("list components").contains("monitoring-agent"));
    test.prints("catalog lint");
}

#[test]
fn the_lock_records_each_file_and_names_the_one_that_changed() {
    let test = example();
    test.prints("lock");
    let lock: Value = serde_json::from_str(&test.text("imagegen.lock.json")).expect("JSON");
    let own = lock["ownFiles"].as_object().expect("own files");
    let paths: Vec<&str> = own.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "components/monitoring-agent.json",
            "files/corporate-root.pem",
            "files/monitoring-agent/agent.yaml",
            "pins/monitoring-agent.json",
            "steps/035-corporate-root.json",
            "steps/905-monitoring-agent.json",
            "steps/910-hardening.json",
        ]
    );
    // The folders may lie elsewhere: their content counts.
    assert!(
        lock["selection"]["steps"].is_null(),
        "{}",
        lock["selection"]
    );
    test.prints("plan --locked");
    let flags = Test::new().file("imagegen.lock.json", &test.text("imagegen.lock.json"));
    let steps = test.folder.join("steps").display().to_string();
    let components = test.folder.join("components").display().to_string();
    let line = "plan --locked --target host --k8s 1.36.0 --host-access services --component monitoring-agent=4.2.0";
    flags.prints(&format!(
        "{line} --steps {steps} --component-files {components}"
    ));
    let changed = test
        .file("steps/monitoring-agent/agent.yaml", "interval: 1s\n")
        .line("plan --locked");
    changed.fails(
        3,
        &[
            "is stale",
            "`ownFiles.files/monitoring-agent/agent.yaml` was",
        ],
    );
}

fn step(id: &str, resources: &Value) -> String {
    json!({ "id": id, "summary": "A step of a test", "phase": "install", "resources": resources })
        .to_string()
}

fn value(name: &str, data: &Value) -> Value {
    json!([{
        "name": name, "type": "registryValue", "source": "derived: a test",
        "properties": { "key": "HKLM:\\SOFTWARE\\Example", "valueName": name, "ensure": "present", "kind": "String", "data": data },
    }])
}

#[test]
fn a_step_takes_the_place_of_a_built_in_one_by_its_id() {
    let own = step("finish", &value("Own", &json!("yes")));
    for name in ["880-finish.json", "500-finish.json"] {
        let test = Test::new().file(&format!("steps/{name}"), &own);
        let plan = test.prints_json("plan --target azure --format json --steps steps");
        let steps = plan["steps"].as_array().expect("steps");
        let found: Vec<&Value> = steps.iter().filter(|it| it["id"] == "finish").collect();
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(
            (&found[0]["resources"], &found[0]["file"]),
            (&json!(1), &json!(format!("steps/{name}")))
        );
    }
    // The model knows what is missing then.
    let seal = Test::new().file(
        "steps/900-seal.json",
        &step("seal", &value("Own", &json!("yes"))),
    );
    seal.line("plan --target azure --steps steps")
        .fails(3, &["the predicted machine does not work"]);
}

/// A step of somebody else's is a template, too: it renders in bounded time and to a bounded text.
#[test]
fn templates_of_steps_have_bounds() {
    let loops = "{% for a in range(end=250) %}".repeat(3) + &"{% endfor %}".repeat(3);
    let long = format!(
        "{}{}",
        "{% for a in range(end=250) %}{% for b in range(end=250) %}",
        "a".repeat(100)
    );
    let doubled = "{% set a = 'x' %}".to_owned() + &"{% set a = a ~ a %}".repeat(40);
    for (content, said) in [
        (loops, "loops are nested more than 2 deep"),
        (
            format!("{long}{{% endfor %}}{{% endfor %}}"),
            "renders more than 4 MiB",
        ),
        (doubled, "`set` does not join values"),
        (
            "{% for a in range(end=100000) %}{% endfor %}".to_owned(),
            "`range` counts up by at most 256",
        ),
    ] {
        let test = Test::new().file(
            "steps/905-own.json",
            &step("own", &value("Own", &json!(content))),
        );
        test.line("plan --target host --k8s 1.36.0 --steps steps")
            .fails(3, &[said]);
    }
}

#[test]
fn a_wrong_argument_of_an_own_service_is_corrected_in_its_step() {
    let service = json!([{
        "name": "Own", "type": "service", "source": "derived: a test",
        "properties": {
            "ensure": "present", "serviceName": "own", "displayName": "Own", "startType": "manual",
            "program": r"C:\k\kubelet.exe", "arguments": ["--feature-gates=SidecarContainers=false"],
        },
    }]);
    let test = Test::new().file("steps/905-own.json", &step("own", &service));
    let ran = test
        .line("plan --target host --k8s 1.36.0 --steps steps")
        .fails(
            3,
            &[
                "[locked-gate]",
                "the arguments of the service in steps/905-own.json",
            ],
        );
    assert!(
        !ran.stderr.contains("kubernetes/flags.json"),
        "{}",
        ran.stderr
    );
}

#[test]
fn files_beside_steps_are_text_bytes_and_scripts() {
    let script = json!([{
        "name": "own", "type": "script", "source": "derived: a test",
        "properties": { "test": { "file": "scripts/test.ps1" }, "expected": "True", "set": { "file": "scripts/set.ps1" } },
    }]);
    let test = Test::new()
        .file("a/905-own.json", &step("own", &script))
        .file(
            "a/scripts/test.ps1",
            "\u{feff}Test-Path -LiteralPath 'C:\\own'\n",
        )
        .file(
            "a/scripts/set.ps1",
            "$null = New-Item -ItemType 'Directory' -Path 'C:\\own'\n",
        )
        .file("a/README.md", "What this is.")
        .file(
            "b/906-bytes.json",
            &step("bytes", &value("Bytes", &json!({ "base64": "data.bin" }))),
        )
        .file("b/data.bin", "\u{1}abc");
    test.prints("build --no-bake --out o --target host --steps a --steps b");
    let guest: Value = serde_json::from_str(&test.text("o/guest-plan.json")).expect("JSON");
    let resources = guest["resources"].as_array().expect("resources");
    let of = |step: &str| {
        &resources
            .iter()
            .find(|it| it["step"] == step)
            .expect("a resource")["properties"]
    };
    assert_eq!(of("own")["test"], "Test-Path -LiteralPath 'C:\\own'\n");
    assert_eq!(of("bytes")["data"], "AWFiYw==");
}

#[test]
fn a_definition_names_targets_beside_it() {
    let packer = imagegen::embedded::Tree::embedded_packer();
    let mut test = Test::new().file(
        "d/image.json",
        r#"{"target": "own", "kubernetes": "1.36", "targets": ["targets"]}"#,
    );
    for path in packer.list_files("targets/azure") {
        let content = String::from_utf8(packer.get(&path).expect("file").to_vec()).expect("UTF-8");
        let name = path.rsplit('/').next().expect("name");
        test = test.file(
            &format!("d/targets/own/{name}"),
            &content.replace(r#""name": "azure","#, r#""name": "own","#),
        );
    }
    assert!(
        test.prints("plan --config d/image.json")
            .contains("Microsoft Azure")
    );
}

#[test]
fn a_policy_demands_and_forbids_steps() {
    let policy = |fields: Value| {
        let mut policy = json!({ "name": "ours" });
        policy
            .as_object_mut()
            .expect("object")
            .extend(fields.as_object().expect("object").clone());
        policy.to_string()
    };
    let demands = policy(json!({ "requiredSteps": ["corporate-root", "containerd"] }));
    let plain = Test::new()
        .file("p.json", &demands)
        .line("plan --target host --k8s 1.36.0 --policy p.json");
    plain.fails(
        3,
        &["corporate-root", "[policy-required-steps]", "--steps DIR"],
    );
    // A step of the user's own runs as administrator: the policy names its digest.
    let example = example().file("p.json", &demands);
    let mut command = example.command();
    let output = command
        .args(["plan", "--policy", "p.json"])
        .output()
        .expect("start");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("[policy-trusted-digests]"), "{said}");
    let digests: Vec<Value> = files(&example.folder)
        .into_iter()
        .filter(|(path, _)| path.starts_with("steps/") || path.starts_with("components/"))
        .map(|(path, bytes)| {
            let digest = imagegen::base::digest::sha256_hex(&bytes);
            let file = path.rsplit('/').next().expect("a name");
            json!({"digest": digest, "components": [file], "roles": ["own-file"]})
        })
        .collect();
    let allowed = policy(
        json!({ "requiredSteps": ["corporate-root"], "trustedDigests": digests, "minimumConfidence": "low" }),
    );
    let allowed = example.file("p.json", &allowed);
    assert!(
        allowed
            .prints("plan --policy p.json")
            .contains("corporate-root")
    );
    let floating = Test::new().file(
        "p.json",
        &policy(json!({ "refuseFloatingBaseImage": true })),
    );
    let line = "plan --target azure --k8s 1.36.0 --host-access services --policy p.json";
    let mut command = floating.command();
    let output = command.args(line.split(' ')).output().expect("start");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("[policy-refuse-floating-base-image]")
            && said.contains("--var image_version=…"),
        "{said}"
    );
    floating.prints(&format!("{line} --var image_version=20348.2762.241009"));
}

/// Who verifies needs the same files: the error names them and the flags that bring them.
#[test]
fn a_workspace_of_own_files_is_verified_with_them() {
    let test = example();
    test.prints("build --no-bake --out o");
    let workspace = test.folder.join("o").display().to_string();
    let lock = format!("{workspace}/imagegen.lock.json");
    let steps = test.folder.join("steps").display().to_string();
    let components = test.folder.join("components").display().to_string();
    let said = [
        "was made with files of your own that are not here",
        "steps/905-monitoring-agent.json (SHA-256 ",
        "add `--component-files DIR` with the folder that holds monitoring-agent.json",
        "add `--steps DIR` with the folder that holds corporate-root.pem, monitoring-agent/agent.yaml, 035-corporate-root.json",
    ];
    Test::new()
        .line("verify")
        .args([workspace.as_str()])
        .fails(3, &said);
    Test::new()
        .line("plan --locked --lock")
        .args([lock.as_str()])
        .fails(3, &said);
    let verify = |steps: &str| {
        Test::new().line("verify").args([
            workspace.as_str(),
            "--steps",
            steps,
            "--component-files",
            &components,
        ])
    };
    verify(&steps).succeeds();
    // Other files under the same names are a difference.
    std::fs::write(
        test.folder.join("steps/monitoring-agent/agent.yaml"),
        "interval: 1s\n",
    )
    .expect("file");
    let ran = verify(&steps).fails(5, &["proofs failed"]);
    assert!(
        ran.stdout
            .contains("ownFiles.files/monitoring-agent/agent.yaml"),
        "{}",
        ran.stdout
    );
}

/// Names in `{"fact": …}` and in `each`, at any depth.
fn collect_facts(value: &Value, names: &mut Vec<String>) {
    for item in value.as_array().into_iter().flatten() {
        collect_facts(item, names);
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        match value.as_str() {
            Some(name) if key == "fact" || key == "each" => names.push(name.to_owned()),
            _ => collect_facts(value, names),
        }
    }
}

/// Whoever writes a step finds the facts that it may name: all that our own steps name are among them.
#[test]
fn facts_that_steps_may_name_are_listed() {
    let mut lines = Vec::new();
    for selection in [
        "azure --k8s 1.36.4",
        "azure --k8s 1.20.0",
        "host --k8s 1.24.17",
    ] {
        let found =
            Test::new().prints_json(&format!("explain facts --target {selection} --format json"));
        let items = found["items"].as_array().expect("explanations").iter();
        for item in items.filter(|item| item["kind"] == "facts of steps") {
            let texts = item["lines"].as_array().expect("lines").iter();
            lines.extend(texts.filter_map(Value::as_str).map(str::to_owned));
        }
    }
    let mut names = Vec::new();
    for step in files(&root().join("provisioners/steps")).values() {
        collect_facts(
            &serde_json::from_slice(step).unwrap_or_default(),
            &mut names,
        );
    }
    names.retain(|name| name.split('.').next() != Some("item"));
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let is_there = |line: &String| {
            let rest = line.strip_prefix(&name);
            rest.is_some_and(|rest| rest.starts_with(['.', ':']))
        };
        assert!(lines.iter().any(is_there), "{name}: {lines:#?}");
    }
}
