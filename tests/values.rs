//! Values that a user gives: parsed where they enter, refused with the form that is expected.

mod embedded;
mod forms;
mod odd;
mod steps;

use crate::support::{Test, root};

/// JSON files that are not templates.
fn json_files() -> impl Iterator<Item = std::path::PathBuf> {
    ["manifests", "packer", "provisioners"]
        .into_iter()
        .flat_map(|tree| walkdir::WalkDir::new(root().join(tree)))
        .map(|entry| entry.expect("entry").into_path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "json"))
        .filter(|path| {
            !["cni", "schema", "templates"]
                .iter()
                .any(|folder| path.parent().is_some_and(|it| it.ends_with(folder)))
        })
}

#[test]
fn embedded_files_have_no_repeated_keys_and_no_control_characters() {
    let mut files = 0;
    for path in json_files() {
        let bytes = std::fs::read(&path).expect("file");
        let name = path.display().to_string();
        if let Err(error) = imagegen::base::json::parse_json::<serde_json::Value>(&name, &bytes) {
            panic!("{error}");
        }
        files += 1;
    }
    assert!(files > 100, "{files} files");
    let manifests = root().join("manifests").display().to_string();
    Test::new()
        .line("catalog lint --manifests")
        .args([manifests.as_str()])
        .succeeds();
}

#[test]
fn a_definition_in_another_format_is_recognised() {
    for (text, message) in [
        (
            "target: azure\nkubernetes: 1.36\n",
            "imagegen.json:1:2: the file is not JSON: expected ident",
        ),
        (
            "",
            "imagegen.json:1:1: the file is not JSON: EOF while parsing a value",
        ),
        (
            "[]",
            "imagegen.json:1:1: invalid type: sequence, expected an object such as `{\"target\": \"host\"}`",
        ),
        (
            "{\"target\": \"azure\", \"target\": \"host\"}",
            "the key `target` is given twice",
        ),
        (
            "{\"components\": {\"wins\": \"1\", \"wins\": \"2\"}}",
            "`components`: the key `wins` is given twice",
        ),
        (
            "{\"updates\": []}",
            "`updates`: invalid type: sequence, expected an object such as `{\"kbs\": [\"KB5058411\"]}`",
        ),
        (
            "{\"updates\": \"KB5058411\"}",
            "invalid type: string, expected an object such as",
        ),
        (
            "{\"target\": \"a\\u001b[2J\"}",
            "`target`: the text contains the control character U+001B; remove it",
        ),
    ] {
        Test::new()
            .file("imagegen.json", text)
            .line("plan --target azure --k8s 1.36")
            .fails(3, &[message]);
    }
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let ran = Test::new()
        .args([
            "plan",
            "--target",
            "azure\u{1b}[2J\u{9b}2J",
            "--k8s",
            "1.36",
        ])
        .run();
    assert_ne!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("azure\\u{1b}[2J\\u{9b}2J"),
        "{:?}",
        ran.stderr
    );
    // What is no flag, no verb and no value of its type.
    for line in [
        ["plan", "--va\u{202e}r", "x"],
        ["pla\u{9b}2Jn", "x", "y"],
        ["cluster-manifests", "--dns", "\u{9b}2J"],
    ] {
        let ran = Test::new().args(line).run();
        assert!(
            !ran.stderr.contains(['\u{9b}', '\u{202e}']) && ran.stderr.contains("\\u{"),
            "{:?}",
            ran.stderr
        );
    }
    let lock = "{\"schema\": \"a\\u009b2J\"}";
    let ran = Test::new()
        .file("imagegen.lock.json", lock)
        .line("plan --target azure --k8s 1.36")
        .run();
    assert!(!ran.stderr.contains('\u{9b}'), "{:?}", ran.stderr);
}

/// A definition with every text that a user can put into one. Each text that gets quotes of PowerShell is
/// refused, or it is a value of a target's variable, which reaches Packer as JSON alone.
#[test]
fn no_text_of_a_definition_takes_quotes_of_powershell() {
    let digest = "a".repeat(64);
    let definition = serde_json::json!({
        "target": "azure", "windows": "2022", "kubernetes": "1.36", "runtime": "containerd",
        "cni": "flannel-overlay", "hostAccess": "services", "delivery": "download",
        "updates": {
            "files": [{ "kb": "KB5001407", "url": "https://u.example/a.msu", "sha256": digest }],
            "kbs": ["KB5000822"], "categories": ["SecurityUpdates"],
        },
        "volumePlugins": { "v~d": [{ "file": "d.ps1", "url": "https://u.example/d.ps1", "sha256": digest }] },
        "features": ["gmsa"],
        "network": {
            "pods": "10.244.0.0/16", "services": "10.96.0.0/12", "nodes": "10.0.0.0/24",
            "dns": "10.96.0.10", "domain": "cluster.local",
        },
        "mirrors": { "docker.io": ["https://m.example"] },
        "containerd": { "logLevel": "debug", "metricsAddress": "127.0.0.1:1338" },
        "images": [format!("r.example/a@sha256:{digest}")],
        "proxy": { "http": "http://p.example:1", "https": "http://p.example:1", "noProxy": "a.example" },
        "components": { "containerd": "2.2.1" },
        "variables": { "location": "westeurope" },
        "packer": { "version": "1.14.0", "plugins": { "azure": "2.5.0" } },
        "overrides": { "crictl": { "url": "https://u.example/crictl.exe", "sha256": digest, "kind": "exe" } },
    });
    let data = ["/variables/location"];
    let mut texts = Vec::new();
    collect_texts(&definition, String::new(), &mut texts);
    assert!(texts.len() > 30, "{texts:?}");
    for pointer in texts {
        let mut changed = definition.clone();
        let text = changed.pointer_mut(&pointer).expect("a text");
        *text = format!("{}’;calc;‘", text.as_str().expect("a text")).into();
        let ran = Test::new()
            .file("imagegen.json", &changed.to_string())
            .line("build --no-bake --out o")
            .run();
        assert!(
            ran.code == Some(3) || data.contains(&pointer.as_str()),
            "{pointer}: {:?} {}",
            ran.code,
            ran.stderr
        );
    }
}

fn collect_texts(value: &serde_json::Value, pointer: String, texts: &mut Vec<String>) {
    match value {
        serde_json::Value::String(_) => texts.push(pointer),
        serde_json::Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect_texts(item, format!("{pointer}/{at}"), texts);
            }
        }
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                collect_texts(
                    field,
                    format!("{pointer}/{}", name.replace('~', "~0")),
                    texts,
                );
            }
        }
        _ => {}
    }
}

#[test]
fn a_secret_query_is_written_nowhere() {
    let digest = "a".repeat(64);
    let over = |query: &str| {
        format!(
            "{{\"crictl\": {{\"kind\": \"exe\", \"url\": \"https://u.example/crictl.exe{query}\", \"sha256\": \"{digest}\"}}}}"
        )
    };
    for query in [
        "?sv=1&sig=s3cret",
        "?X-Amz-Signature=s3cret",
        "?token=s3cret",
    ] {
        let test = Test::new()
            .file("o.json", &over(query))
            .line("build --no-bake --out o --k8s 1.36 --overrides o.json");
        let image = test.line("--target azure");
        let ran = image.fails(
            3,
            &[
                "https://u.example/crictl.exe",
                "has a signature or a token",
                "--delivery media",
            ],
        );
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
        let lock = Test::new().file("o.json", &over(query)).line(
            "lock --target host --delivery media --k8s 1.20.0 --runtime containerd --host-access services --overrides o.json",
        );
        let ran = lock.succeeds();
        assert!(!(ran.stdout + &ran.stderr).contains("s3cret"));
        let written = lock.text("imagegen.lock.json");
        assert!(
            written.contains("https://u.example/crictl.exe\"") && !written.contains("s3cret"),
            "{written}"
        );
    }
    let test = Test::new()
        .file("o.json", &over("?version=1"))
        .line("build --no-bake --out o --k8s 1.36 --target azure --overrides o.json");
    test.succeeds();
}

/// Tags and labels are texts like others, from a file and from a flag: they reach files of the workspace, and every
/// text reaches Packer's plugins, which replace what looks like a template.
#[test]
fn texts_of_variables_reach_packer_as_they_are_or_are_refused() {
    for (text, message) in [
        ("{{pwd}}", "which Packer's plugins take for a template"),
        ("https://user:s3cret@x.example/", "no user and no password"),
        (
            "see https://user:s3cret@x.example/",
            "a URL with a user or a signature",
        ),
        (
            "https://x.example/?sig=s3cret",
            "a query that may be a secret",
        ),
        ("a\u{202e}b", "control character"),
        ("a\nb", "control character"),
        ("a\u{0}b", "control character"),
    ] {
        for tags in [
            serde_json::json!({"k": text}),
            serde_json::json!({text: "v"}),
        ] {
            let definition = serde_json::json!({
                "target": "azure", "kubernetes": "1.36", "variables": {"azure_tags": tags},
            });
            let file = Test::new()
                .file("imagegen.json", &definition.to_string())
                .line("render --out o");
            let flag = Test::new().line("render --out o --target azure --k8s 1.36 --var");
            for test in [file, flag.args([format!("azure_tags={tags}").as_str()])] {
                let ran = test.fails(3, &[message]);
                assert!(
                    !ran.stderr.contains("s3cret") && !test.exists("o"),
                    "{}",
                    ran.stderr
                );
            }
        }
    }
    let twice = r#"azure_tags={"k": "1", "k": "2"}"#;
    let test = Test::new()
        .line("render --out o --target azure --k8s 1.36 --var")
        .args([twice]);
    test.fails(3, &["the key `k` is given twice"]);
}
