//! Every kind of address: plain HTTP is refused where it enters, by every verb that plans or writes an image.

use std::io::{Cursor, Read as _};
use std::path::Path;

use serde_json::{Value, json};
use zip::ZipArchive;

use super::matrix::GATES;
use crate::support::{Test, files};

const DIGEST: &str = "abababababababababababababababababababababababababababababababab";
const PEM: &str = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n";
const PLAIN: &str = "http://plain.example/";
const HOST: &str = "--target host --k8s 1.36.0";

/// A kind of address, the definition that has one, and flags.
type Row = (&'static str, Value, &'static str);

#[expect(clippy::needless_pass_by_value, reason = "a row is shorter so")]
fn over(fields: Value) -> Value {
    json!({"overrides": {"containerd": fields}})
}

fn list_rows() -> Vec<Row> {
    let url = format!("{PLAIN}x.tar.gz");
    let signature = |mut fields: Value| {
        fields["url"] = fields["url"]
            .as_str()
            .unwrap_or("https://x.example/s")
            .into();
        over(json!({"signature": fields}))
    };
    vec![
        (
            "override",
            over(json!({"url": url, "sha256": DIGEST})),
            HOST,
        ),
        (
            "mirror of a prefix",
            json!({"overrides": {"https://github.com/": {"url": PLAIN}}}),
            HOST,
        ),
        (
            "mirror of everything",
            json!({}),
            "--target host --k8s 1.36.0 --mirror http://plain.example",
        ),
        ("checksum file", over(json!({"checksums": url})), HOST),
        (
            "signature",
            signature(json!({"kind": "cosign-key", "url": url, "key": PEM})),
            HOST,
        ),
        (
            "certificate of a signature",
            signature(
                json!({"kind": "cosign-keyless", "certificateUrl": url, "identity": "a", "issuer": "b"}),
            ),
            HOST,
        ),
        (
            "update",
            json!({"updates": {"files": [{"kb": "KB5058411", "url": format!("{PLAIN}a.msu"), "sha256": DIGEST}]}}),
            HOST,
        ),
        (
            "volume plugin",
            json!({"volumePlugins": {"v~d.cmd": [{"file": "d.cmd", "url": url, "sha256": DIGEST}]}}),
            HOST,
        ),
        (
            "mirror of the pause image's registry",
            json!({"mirrors": {"registry.k8s.io": [PLAIN]}}),
            HOST,
        ),
        (
            "mirror of a registry that nothing comes from yet",
            json!({"mirrors": {"quay.io": [PLAIN]}}),
            HOST,
        ),
        (
            "own component",
            json!({"components": {"own": "1.0.0"}}),
            "--target host --k8s 1.36.0 --component-files components --steps steps",
        ),
        (
            "build tool",
            json!({"overrides": {"packer-plugin-azure": {"url": format!("{PLAIN}p.zip"), "sha256": DIGEST}}}),
            "--target azure --k8s 1.36.0 --policy policy.json",
        ),
    ]
}

/// A component of the user's own, which comes over plain HTTP.
pub(super) fn component() -> String {
    json!({
        "name": "own", "summary": "A program", "license": "MIT", "purl": "pkg:generic/own@{version}",
        "choices": [{"kubernetes": "*", "default": "1.0.0", "allowed": "*", "reason": "r", "source": "https://x.example"}],
        "contents": {"reason": "asked for", "source": "https://x.example"},
        "releases": [{"versions": "*", "kind": "exe", "source": "https://x.example", "url": format!("{PLAIN}own.exe")}],
    })
    .to_string()
}

/// Its pins.
pub(super) fn pins() -> String {
    json!({
        "component": "own",
        "pins": [{"version": "1.0.0", "algorithm": "sha256", "digest": "0123456789abcdef".repeat(4),
                  "confidence": "high", "source": ["https://x.example"]}],
    })
    .to_string()
}

fn arrange(definition: &Value, gate: &str, flags: &str) -> Test {
    let step =
        json!({"id": "own", "phase": "install", "when": {"components": ["own"]}, "resources": []});
    Test::new()
        .file("imagegen.json", &definition.to_string())
        .file(
            "policy.json",
            &json!({"name": "ours", "trustedDigests": [{"digest": DIGEST, "components": ["components/own.json"]}]}).to_string(),
        )
        .file("components/own.json", &component())
        .file("components/pins/own.json", &pins())
        .file("steps/905-own.json", &step.to_string())
        .line(gate)
        .line(flags)
}

#[test]
fn plain_http_is_refused_by_every_gate() {
    for (kind, definition, flags) in list_rows() {
        for gate in GATES {
            let test = arrange(&definition, gate, flags);
            let ran = test.run();
            assert_eq!(
                ran.code,
                Some(3),
                "{kind} × {gate}: {}{}",
                ran.stdout,
                ran.stderr
            );
            for part in [
                "is plain HTTP [plain-http]",
                "http://plain.example/",
                "--allow-http plain.example",
            ] {
                assert!(
                    ran.stderr.contains(part),
                    "{kind} × {gate}: no `{part}` in {}",
                    ran.stderr
                );
            }
            assert!(
                !test.exists("made") && !test.exists("imagegen.lock.json"),
                "{kind} × {gate}"
            );
        }
    }
}

/// What the user accepts by its host is planned, and so is this machine itself.
#[test]
fn plain_http_is_accepted_by_its_host() {
    for (kind, definition, flags) in list_rows() {
        let ran = arrange(&definition, "plan --allow-http Plain.example", flags).run();
        assert!(!ran.stderr.contains("plain-http"), "{kind}: {}", ran.stderr);
        let other = arrange(&definition, "plan --allow-http example", flags).run();
        assert!(
            other.stderr.contains("[plain-http]"),
            "{kind}: {}",
            other.stderr
        );
        let text = definition
            .to_string()
            .replace("plain.example", "127.0.0.1:9");
        let own = arrange(&serde_json::from_str(&text).expect("JSON"), "plan", HOST).run();
        assert!(!own.stderr.contains("plain-http"), "{kind}: {}", own.stderr);
    }
}

/// A target's variable that names a medium takes no other address.
#[test]
fn media_come_over_https() {
    let medium = |url: &str| {
        let definition =
            json!({"variables": {"windows_iso_url": url, "windows_iso_sha256": DIGEST}});
        arrange(&definition, "plan --target qemu --k8s 1.36.0", "")
    };
    medium("http://plain.example/w.iso")
        .fails(3, &["[variable-value]", "http://plain.example/w.iso"]);
    medium("https://x.example/w.iso").succeeds();
}

/// The guest follows redirects, so its plan has the hosts of the policy, in every place that a plan is written to.
#[test]
fn the_guest_gets_the_hosts_of_the_policy() {
    let hosts = [
        "*.K8s.io",
        "dl.k8s.io",
        "github.com",
        "raw.githubusercontent.com",
        "releases.hashicorp.com",
    ];
    let policy = json!({"name": "ours", "allowedHosts": hosts}).to_string();
    let media =
        format!("--target media --k8s 1.36.0 --windows 2025 --var windows_iso_sha256={DIGEST}");
    for selection in ["--target azure --k8s 1.36.0", HOST, &media] {
        for (flag, expected) in [("--policy policy.json", json!(hosts)), ("", Value::Null)] {
            let test = Test::new().file("policy.json", &policy);
            test.prints(&format!("render --out made {selection} {flag}"));
            let plans = read_plans(&test.folder.join("made"));
            assert_eq!(
                plans.len(),
                if selection.contains("azure") { 2 } else { 1 },
                "{selection}"
            );
            for plan in plans {
                assert_eq!(plan["allowedHosts"], expected, "{selection} {flag}");
                assert_eq!(plan.get("allowedHosts").is_some(), !flag.is_empty());
            }
        }
    }
    // Whoever removes them is found out.
    let test = Test::new().file("policy.json", &policy);
    test.prints(&format!("render --out made {HOST} --policy policy.json"));
    let verify = "verify made --policy policy.json";
    test.prints(verify);
    let path = test.folder.join("made/guest-plan.not-admitted.json");
    let plan = std::fs::read_to_string(&path).expect("plan");
    std::fs::write(&path, plan.replace("    \"*.K8s.io\",\n", "")).expect("plan");
    let ran = test.run_with(verify);
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    assert!(
        ran.stdout
            .contains("guest-plan.not-admitted.json: it differs"),
        "{}",
        ran.stdout
    );
}

/// Guest plans of a workspace, those in its payload among them.
fn read_plans(folder: &Path) -> Vec<Value> {
    let written = files(folder);
    let beside = written
        .iter()
        .filter(|(name, _)| name.starts_with("guest-plan"));
    let mut texts: Vec<Vec<u8>> = beside.map(|(_, bytes)| bytes.clone()).collect();
    if let Some(payload) = written.get("payload.zip") {
        let mut zip = ZipArchive::new(Cursor::new(payload)).expect("payload");
        let mut text = Vec::new();
        zip.by_name("guest-plan.json")
            .expect("plan")
            .read_to_end(&mut text)
            .expect("plan");
        texts.push(text);
    }
    texts
        .iter()
        .map(|text| serde_json::from_slice(text).expect("a plan is JSON"))
        .collect()
}

/// A verb that takes an address of its own refuses it, too.
#[test]
fn files_behind_plain_http_are_not_fetched() {
    for line in [
        "verify http://plain.example/x --sha256",
        "pin containerd 2.3.4 --manifests c --source x --from http://plain.example/x --sha256",
    ] {
        let export = Test::new().line("catalog export --out c");
        let test = Test::new().line(line).args([DIGEST]);
        if line.contains("--manifests") {
            export.succeeds();
            std::fs::rename(export.folder.join("c"), test.folder.join("c")).expect("catalog");
        }
        test.fails(4, &["[plain-http]", "--allow-http plain.example"]);
    }
}

/// A server reads `%2B` as `+`, and a copy of the file is called so.
#[test]
fn a_file_of_the_users_has_the_name_that_its_server_reads() {
    let definition = json!({"overrides": {"kubelet": {
        "url": "https://x.example/kubelet-1.36.0%2Bacme.zip",
        "sha256": DIGEST,
        "kind": "zip",
        "members": [{"member": "bin/kubelet.exe", "file": "kubelet.exe"}],
    }}});
    let plan = Test::new()
        .file("imagegen.json", &definition.to_string())
        .line(&format!("plan {HOST} --format json"))
        .succeeds()
        .stdout;
    assert!(plan.contains("\"kubelet-1.36.0+acme.zip\""), "{plan}");
}
