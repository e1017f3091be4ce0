//! One thing under several names: a policy and a definition write it differently, and it is judged all the same.

use serde_json::{Value, json};

use super::attacks::{Attack, run_attacks};
use crate::support::Test;

const DIGEST: &str = "abababababababababababababababababababababababababababababababab";
const OLDER_CRICTL: &str = "1.12.0";
const HOST: &str = "plan --target host --k8s 1.36.0";
const AZURE: &str = "plan --target azure --k8s 1.36.0";

fn forbids(pattern: &str) -> Value {
    json!({"name": "ours", "forbiddenComponents": [pattern]})
}

fn plugin(folder: &str, file: &str) -> Value {
    json!({"volumePlugins": {folder: [{"file": file, "url": "https://x.example/d", "sha256": DIGEST}]}})
}

fn image(name: &str) -> Value {
    json!({"containerImages": [format!("{name}@sha256:{DIGEST}")]})
}

fn attack(
    name: &'static str,
    brings: Value,
    policy: Value,
    said: &'static [&'static str],
) -> Attack {
    Attack {
        name,
        brings,
        policy,
        line: HOST,
        code: 3,
        said,
    }
}

const FORBIDDEN: &[&str] = &["the component is forbidden [policy-forbidden-components]"];

#[test]
fn names_are_read_as_windows_and_runtimes_read_them() {
    run_attacks(vec![
        attack(
            "a plugin in capitals",
            plugin("V~D", "d.exe"),
            forbids("v~d/*"),
            FORBIDDEN,
        ),
        attack(
            "a file of a plugin in capitals",
            plugin("v~d", "D.EXE"),
            forbids("v~d/d.exe"),
            FORBIDDEN,
        ),
        attack(
            "a rule in capitals",
            plugin("v~d", "d.exe"),
            forbids("V~D/d.exe"),
            FORBIDDEN,
        ),
        attack(
            "a plugin by its folder",
            plugin("v~d", "d.exe"),
            forbids("v~d"),
            FORBIDDEN,
        ),
        attack(
            "an image without registry",
            image("evil/x:1"),
            forbids("docker.io/evil/*"),
            FORBIDDEN,
        ),
        attack(
            "an image without folder",
            image("nginx:1"),
            forbids("docker.io/library/nginx:*"),
            FORBIDDEN,
        ),
        attack(
            "a rule without registry",
            image("docker.io/evil/x:1"),
            forbids("evil/*"),
            FORBIDDEN,
        ),
        attack(
            "a rule for the folder",
            image("docker.io/library/nginx:1"),
            forbids("library/*"),
            FORBIDDEN,
        ),
        attack(
            "a rule without the folder",
            image("docker.io/library/nginx:1"),
            forbids("docker.io/nginx:1*"),
            FORBIDDEN,
        ),
        attack(
            "another name of the registry",
            image("index.docker.io/evil/x"),
            forbids("docker.io/evil/*"),
            FORBIDDEN,
        ),
        attack(
            "a port",
            image("mcr.microsoft.com:443/x:1"),
            forbids("mcr.microsoft.com/*"),
            FORBIDDEN,
        ),
        attack(
            "another port",
            image("x.example:5000/x:1"),
            forbids("x.example/*"),
            FORBIDDEN,
        ),
        attack(
            "a dot behind the registry",
            image("mcr.microsoft.com./x:1"),
            json!({"name": "o"}),
            &["is not an image"],
        ),
        attack(
            "a dot in the path",
            image("mcr.microsoft.com/./x:1"),
            json!({"name": "o"}),
            &["is not an image"],
        ),
        attack(
            "an update that is searched for",
            json!({"updates": {"kbs": ["KB5058411"]}}),
            forbids("KB5058411"),
            &["KB5058411: the component is forbidden"],
        ),
        attack(
            "an update that a search by category may find",
            json!({"updates": {"categories": ["SecurityUpdates"]}}),
            forbids("KB5058411"),
            FORBIDDEN,
        ),
        attack(
            "an update without digest",
            json!({"updates": {"kbs": ["KB5058411"]}}),
            json!({"name": "ours", "minimumConfidence": "medium"}),
            &["KB5058411: no digest attests its bytes [policy-minimum-confidence]"],
        ),
        Attack {
            code: 0,
            ..attack(
                "control: another port than the rule's",
                image("x.example:5000/x:1"),
                forbids("x.example:5001/*"),
                &[],
            )
        },
        Attack {
            code: 0,
            ..attack(
                "control: another image",
                image("docker.io/library/nginx:1"),
                forbids("docker.io/evil/*"),
                &[],
            )
        },
        Attack {
            code: 0,
            ..attack(
                "control: another plugin",
                plugin("v~d", "d.exe"),
                forbids("v~e"),
                &[],
            )
        },
    ]);
}

/// A program keeps its name: it is the one in the archive, too.
#[test]
fn a_renamed_member_is_still_the_program() {
    let members = json!([
        {"member": "bin/containerd.exe", "file": "containerd.exe"},
        {"member": "bin/containerd-shim-runhcs-v1.exe", "file": "containerd-shim-runhcs-v1.exe"},
        {"member": "bin/ctr.exe", "file": "ctr.exe"},
        {"member": "bin/wins.exe", "file": "helper.exe"},
    ]);
    let brings = json!({"overrides": {"containerd": {"members": members}}});
    let said: &[&str] = &["containerd 2.3.4: the component is forbidden"];
    run_attacks(vec![
        attack(
            "a member under another name",
            brings.clone(),
            forbids("wins"),
            said,
        ),
        attack(
            "by its new name",
            brings,
            forbids("containerd-shim-runhcs-v1"),
            said,
        ),
    ]);
}

/// The catalog knows these bytes, whatever they are called.
#[test]
fn known_bytes_keep_their_name() {
    let pins = |component: &str, version: &str| {
        let plan = Test::new().line("catalog export --out c");
        plan.succeeds();
        let file: Value =
            serde_json::from_str(&plan.text(&format!("c/pins/{component}.json"))).expect("JSON");
        let pins = file["pins"].as_array().expect("pins").clone();
        let pin = pins
            .into_iter()
            .find(|pin| pin["version"] == version && pin["algorithm"] == "sha256");
        pin.expect("pin")["digest"]
            .as_str()
            .expect("digest")
            .to_owned()
    };
    let crictl = |digest: &str| json!({"overrides": {"crictl": {"url": "https://x.example/c", "sha256": digest}}});
    let plugin = |digest: &str| json!({"volumePlugins": {"v~d": [{"file": "d.exe", "url": "https://x.example/d", "sha256": digest}]}});
    let (older, other, same) = (
        pins("crictl", OLDER_CRICTL),
        pins("nssm", "2.24"),
        pins("crictl", "1.36.0"),
    );
    run_attacks(vec![
        attack(
            "an older release",
            crictl(&older),
            json!({"name": "ours"}),
            &["not of crictl 1.36.0"],
        ),
        attack(
            "another program",
            crictl(&other),
            json!({"name": "ours"}),
            &["its digest is that of nssm 2.24"],
        ),
        attack(
            "a forbidden program as a plugin",
            plugin(&other),
            forbids("nssm"),
            FORBIDDEN,
        ),
        Attack {
            code: 0,
            ..attack(
                "control: the same bytes",
                crictl(&same),
                json!({"name": "ours"}),
                &[],
            )
        },
    ]);
}

#[test]
fn a_tool_needs_more_than_its_own_server() {
    let tool = |name: &str| json!({"overrides": {name: {"url": "https://evil.example/p.zip", "checksums": "https://evil.example/sums"}}});
    let attack = |name, brings, said| Attack {
        line: AZURE,
        ..attack(name, brings, json!({"name": "ours"}), said)
    };
    let said: &[&str] = &[
        "neither a digest nor a signature attests it",
        "[policy-trusted-digests]",
    ];
    run_attacks(vec![
        attack("Packer by a checksum file of its own", tool("packer"), said),
        attack(
            "a plugin by a checksum file of its own",
            tool("packer-plugin-azure"),
            said,
        ),
    ]);
}

/// What is named is used, or refused.
#[test]
fn what_is_named_and_not_used_is_refused() {
    for (line, code, said) in [
        ("--component kubelet=1.30.0", 3, "choose `--k8s 1.30.0`"),
        (
            "--component kube-proxy=1.36.1",
            3,
            "is not of the Kubernetes release 1.36.0",
        ),
        (
            "--component kubernetes-node=1.30.0",
            3,
            "choose `--k8s 1.30.0`",
        ),
        ("--component kubelet=1.36.0", 0, ""),
        (
            "--override packer.sha256=DIGEST",
            3,
            "an override names packer, which this target is not built with",
        ),
        (
            "--override packer-plugin-azure.sha256=DIGEST",
            3,
            "packer-plugin-azure",
        ),
        ("--waive kubelett=openpgp", 3, "did you mean `kubelet`?"),
        ("--waive kubelet=openpgp", 3, "kubelet declares no openpgp"),
        ("--waive kubelet=cosign-keyless", 0, ""),
        ("--allow-http https://x.example", 3, "it is not a host"),
        ("--allow-http x.example:80", 3, "it is not a host"),
        ("--allow-http *.x.example", 3, "it is not a host"),
        ("--allow-http x.example", 0, ""),
    ] {
        let test = Test::new().line(HOST).line(&line.replace("DIGEST", DIGEST));
        let ran = test.run();
        assert_eq!(ran.code, Some(code), "{line}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
    let floor = json!({"name": "ours", "refuseUnsupported": true});
    run_attacks(vec![attack(
        "an older kubelet than the release",
        json!({"components": {"kubelet": "1.30.0"}}),
        floor,
        &["kubelet 1.30.0 is not of the Kubernetes release 1.36.0"],
    )]);
}

/// A group of components is planned and never lands: a rule on its name would select nothing.
#[test]
fn a_group_is_no_component() {
    run_attacks(vec![attack(
        "a group",
        json!({}),
        forbids("kubernetes"),
        &["no component or program is named `kubernetes`"],
    )]);
}

/// Fields that look as if they demanded something.
#[test]
fn a_policy_says_nothing_in_vain() {
    let rule = |fields: &str| {
        format!(r#"{{"name": "p", "require": [{{"id": "r", {fields}, "anyOf": ["minisign"]}}]}}"#)
    };
    let empty = imagegen::base::digest::sha256_hex(b"");
    for (policy, said) in [
        (
            r#"{"name": "p", "minimumVerdict": "absent"}"#.to_owned(),
            "`absent` is not the verdict",
        ),
        (
            r#"{"name": "p", "minimumVerdict": "failed"}"#.to_owned(),
            "`failed` is not the verdict",
        ),
        (
            r#"{"name": "p", "minimumVerdict": "verified"}"#.to_owned(),
            "minimumVerdict: no proof is required",
        ),
        (
            r#"{"name": "p", "minimumConfidence": "superseded"}"#.to_owned(),
            "never pin anything",
        ),
        (
            r#"{"name": "p", "minimumConfidence": "mutable"}"#.to_owned(),
            "never pin anything",
        ),
        (
            r#"{"name": "p", "forbiddenComponents": ["KB05058411"]}"#.to_owned(),
            "`KB05058411`",
        ),
        (
            r#"{"name": "p", "forbiddenComponents": ["KB12345678*"]}"#.to_owned(),
            "`KB12345678*`",
        ),
        (
            r#"{"name": "p", "forbiddenComponents": []}"#.to_owned(),
            "`forbiddenComponents` is an empty list",
        ),
        (
            r#"{"name": "p", "require": []}"#.to_owned(),
            "`require` is an empty list",
        ),
        (
            r#"{"name": "p", "requiredSteps": []}"#.to_owned(),
            "`requiredSteps` is an empty list",
        ),
        (
            r#"{"name": "p", "allowedPublishers": ["Example"]}"#.to_owned(),
            "`Example` is not a publisher",
        ),
        (
            r#"{"name": "p", "headerGrants": [{"environment": "A=B", "hosts": ["x.example"]}]}"#
                .to_owned(),
            "headerGrants",
        ),
        (
            rule(r#""components": ["*"], "versions": null"#),
            "`require[0].versions` is `null`",
        ),
        (
            rule(r#""components": ["*"], "roles": []"#),
            "`require[0].roles` is an empty list",
        ),
        (
            rule(r#""components": ["*"]"#).replace(r#""id": "r""#, r#""id": """#),
            "a rule has no id",
        ),
        (
            format!(
                r#"{{"name": "p", "trustedDigests": [{{"digest": "{empty}", "components": ["kubelet"]}}]}}"#
            ),
            "is not the digest of a file",
        ),
    ] {
        Test::new()
            .file("policy.json", &policy)
            .line(HOST)
            .line("--policy policy.json")
            .fails(3, &[said]);
    }
}
