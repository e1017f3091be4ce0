//! Files of a user that are wrong.

use serde_json::{Value, json};

use super::{example, step, value};
use crate::support::{Test, files};

#[test]
fn folders_that_cannot_be_meant_are_refused() {
    let good = step("own", &value("Own", &json!("x")));
    let named = step("own", &value("Own", &json!({ "file": "gone.txt" })));
    for (files, code, said) in [
        (
            vec![("s/905-own.json", good.as_str()), ("s/unused.txt", "x")],
            3,
            "`unused.txt` does not belong there",
        ),
        (
            vec![("s/905-other.json", &good)],
            3,
            "s/905-other.json: `id` is `own`, and must be that of the file name, `other`",
        ),
        (
            vec![("s/905-own.json", &good), ("s/906-own.json", &good)],
            3,
            "are the same step or file",
        ),
        (
            vec![("s/905-own.json", &good), ("t/906-own.json", &good)],
            3,
            "are the same step or file",
        ),
        (
            vec![("s/905-own.json", &named)],
            3,
            "there is no file `gone.txt` beside the steps",
        ),
        (
            vec![("s/905-own.json", "{\"id\": \"own\", \"id\": \"x\"}")],
            3,
            "s/905-own.json:1",
        ),
    ] {
        let mut test = Test::new();
        for (path, content) in &files {
            test = test.file(path, content);
        }
        let second = if files.iter().any(|(path, _)| path.starts_with("t/")) {
            " --steps t"
        } else {
            ""
        };
        let ran = test
            .line(&format!("plan --target host --steps s{second}"))
            .run();
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        assert!(
            ran.code == Some(code),
            "{said}: {:?} {}",
            ran.code,
            ran.stderr
        );
    }
    let test = Test::new()
        .file("c/sub/x.json", "{}")
        .line("plan --target host --component-files c");
    test.fails(
        3,
        &["--component-files c: `sub/x.json` does not belong there"],
    );
    let missing = Test::new()
        .file(
            "imagegen.json",
            r#"{"target": "host", "steps": ["nowhere"]}"#,
        )
        .line("plan");
    missing.fails(3, &["nowhere"]);
}

/// A component of the user's own declares nothing that is not verified with its kind of signature.
/// Values that the guest refuses, or never finds as it has set them: nobody is to pay for a machine first.
#[test]
fn values_that_the_guest_does_not_take_are_refused() {
    let list = json!(["a", "", "b"]);
    let (kind, ensure) = ("MultiString", "present");
    let rows = [
        (
            "script",
            json!({ "test": "1", "expected": "1", "set": "" }),
            "`set`",
        ),
        (
            "winrmSetting",
            json!({ "setting": r"Client\AllowUnencrypted", "value": "false" }),
            r"not `Client\AllowUnencrypted`: write a `registryValue`",
        ),
        (
            "winrmSetting",
            json!({ "setting": r"Service\AllowUnencrypted", "value": "False" }),
            "expected `true` or `false`, found `False`",
        ),
        (
            "powerPlan",
            json!({ "plan": "Balanced" }),
            "`Balanced` is not an identifier",
        ),
        (
            "assertion",
            json!({ "check": "command", "holds": true, "program": r"C:\k\kubelet.exe", "pattern": "v1(" }),
            "such as `^v1[.]36`; it has `(` without `)`",
        ),
        (
            "windowsUpdate",
            json!({ "kbs": [], "categories": ["SecurityUpdates"] }),
            "`SecurityUpdates` is not an identifier",
        ),
        (
            "registryValue",
            json!({ "key": r"HKLM:\SOFTWARE\Own", "valueName": "a", "ensure": ensure, "kind": kind, "data": list }),
            "`data`: an empty text ends the list",
        ),
        (
            "scheduledTask",
            json!({ "taskName": "own ", "ensure": ensure, "program": r"C:\k\kubelet.exe", "trigger": "none" }),
            "`own ` is not the name of a task",
        ),
    ];
    for (kind, properties, said) in rows {
        let own = json!([{ "name": "Own", "type": kind, "source": "derived: a test", "properties": properties }]);
        let test = Test::new().file("s/905-own.json", &step("own", &own));
        let ran = test.line("plan --target host --k8s 1.36.0 --steps s");
        ran.fails(3, &[said, "s/905-own.json"]);
    }
    for (name, said) in [
        ("dat", "no `dat`: expected one of ensure, kind, data"),
        ("key", "no `key`"),
    ] {
        let mut own = value("Own", &json!("x"));
        own[0]["volatile"] = json!({ name: "a reason" });
        let test = Test::new().file("s/905-own.json", &step("own", &own));
        let ran = test.line("plan --target host --k8s 1.36.0 --steps s");
        ran.fails(3, &[said]);
    }
    for seconds in [0, 3_000_000_000_u64] {
        let mut own = value("Own", &json!("x"));
        own[0]["timeoutSeconds"] = seconds.into();
        let test = Test::new().file("s/905-own.json", &step("own", &own));
        let ran = test.line("plan --target host --k8s 1.36.0 --steps s");
        ran.fails(
            3,
            &["`resources[0].timeoutSeconds`: expected seconds from 1"],
        );
    }
}

/// A key of Windows whose name has a slash, and a script that prints nothing where all is well.
#[test]
fn values_that_the_guest_takes_are_planned() {
    let mut own = value("Own", &json!("x"));
    own[0]["properties"]["key"] = r"HKLM:\SOFTWARE\Own\RC4 128/128".into();
    let script = json!({ "test": "Get-Own", "expected": "", "set": "Set-Own" });
    let script = json!([{ "name": "Script", "type": "script", "source": "derived: a test", "properties": script }]);
    Test::new()
        .file("s/905-own.json", &step("own", &own))
        .file("s/906-script.json", &step("script", &script))
        .line("plan --target host --k8s 1.36.0 --steps s")
        .succeeds();
}

#[test]
fn a_component_with_an_idle_signer_is_refused() {
    let path = "components/monitoring-agent.json";
    let identity = "https://x.example/y/z@refs/tags/v{version}";
    for (fields, said) in [
        (
            json!({"identity": identity}),
            Some("`identity` of the signature"),
        ),
        (
            json!({"issuer": "https://x.example"}),
            Some("`issuer` of the signature"),
        ),
        (json!({}), None),
    ] {
        let agent = example();
        let mut component: Value = serde_json::from_slice(&agent.read(path)).expect("a component");
        let mut signature =
            json!({"kind": "cosign-key", "url": "https://x.example/s", "key": "hashicorp"});
        for (name, value) in fields.as_object().expect("fields") {
            signature[name] = value.clone();
        }
        component["releases"][0]["signatures"] = json!([signature]);
        let test = agent.file(path, &component.to_string()).line("plan");
        let ran = test.run();
        let Some(said) = said else {
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            continue;
        };
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("[signature-incomplete]"),
            "{}",
            ran.stderr
        );
    }
}

/// Whatever file of the user's is broken, and however: it is an input that is wrong, and named.
#[test]
fn a_broken_file_of_the_user_is_a_wrong_input() {
    let good = step("own", &value("Own", &json!("x")));
    let agent = example();
    let component = files(&agent.folder)
        .into_iter()
        .find(|(path, _)| path.starts_with("components/"));
    let component = String::from_utf8(component.expect("a component").1).expect("UTF-8");
    let name = component.split('"').nth(3).expect("name").to_owned();
    let mut rows = vec![
        (
            "s/905-own.json".to_owned(),
            good.replace("own", "{{ nothing.here }}"),
            "--steps s",
        ),
        (
            "s/905-own.json".to_owned(),
            good.replace("\"registryValue\"", "\"no-such-type\""),
            "--steps s",
        ),
        (
            "s/905-own.json".to_owned(),
            good.replace("\"x\"", "\"{{ nothing.here }}\""),
            "--steps s",
        ),
        ("s/905-own.json".to_owned(), "[]".to_owned(), "--steps s"),
        (
            format!("c/{name}.json"),
            component.replace(&name, "other"),
            "--component-files c",
        ),
    ];
    for content in [
        "",
        "{",
        "[]",
        "\u{1}",
        "<html>",
        "{\"name\": \"x\", \"name\": \"y\"}",
    ] {
        rows.push(("s/905-own.json".to_owned(), content.to_owned(), "--steps s"));
        rows.push((
            format!("c/{name}.json"),
            content.to_owned(),
            "--component-files c",
        ));
    }
    for (path, content, flag) in rows {
        for verb in [
            "plan",
            "build --no-bake --out o",
            "lock",
            "explain containerd",
        ] {
            let line = format!("{verb} --target host --k8s 1.36.0 {flag}");
            let test = Test::new()
                .file(&path, &content)
                .line(&line)
                .line(&format!("--component {name}=1.0.0"));
            let ran = if verb.starts_with("explain") || flag == "--steps s" {
                Test::new().file(&path, &content).line(&line).run()
            } else {
                test.run()
            };
            assert_eq!(
                ran.code,
                Some(3),
                "{line}: {path} is `{content}`: {}",
                ran.stderr
            );
        }
    }
}

/// The same for every file of a target.
#[test]
fn a_broken_target_of_the_user_is_a_wrong_input() {
    let packer = imagegen::embedded::Tree::embedded_packer();
    let paths = packer.list_files("targets/azure");
    let content = |path: &str| {
        let text = String::from_utf8(packer.get(path).expect("file").to_vec()).expect("UTF-8");
        text.replace(r#""name": "azure","#, r#""name": "own","#)
    };
    for broken in &paths {
        for damage in ["", "{", "# if nothing == \"x\"\n", "half"] {
            let mut test =
                Test::new().line("build --target own --k8s 1.36.0 --no-bake --out o --targets t");
            for path in &paths {
                let name = path.rsplit('/').next().expect("name");
                let good = content(path);
                let half = good
                    .char_indices()
                    .nth(good.chars().count() / 2)
                    .expect("middle")
                    .0;
                let damaged = match damage {
                    _ if path != broken => good.as_str(),
                    "half" => &good[..half],
                    other => other,
                };
                test = test.file(&format!("t/own/{name}"), damaged);
            }
            let ran = test.run();
            // HCL is Packer's: half of it is a template like any other. `catalog lint` and `promote` alone read how
            // images are published.
            let others = [".pkr.", "publication.json"];
            let is_unread = others.iter().any(|name| broken.contains(name));
            assert!(
                ran.code == Some(3) || is_unread && ran.code == Some(0),
                "{broken} `{damage}`: {ran:?}"
            );
        }
    }
}
