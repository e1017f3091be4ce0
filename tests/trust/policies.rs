//! Policies over selections and locks.

use serde_json::Value;

use crate::support::Test;
use crate::support::planned::SINGLY;

#[test]
fn a_policy_says_rule_artifact_and_remedy() {
    for (policy, flags, code, said) in [
        (
            r#"{"name": "p", "forbiddenComponents": ["wins"]}"#,
            "--k8s 1.20.0",
            3,
            &[
                "wins 0.5.5: the component is forbidden [policy-forbidden-components]",
                "hint: choose `--host-access services`",
            ][..],
        ),
        (
            r#"{"name": "p", "allowedHosts": ["github.com"]}"#,
            "--k8s 1.36.0",
            3,
            &["it comes from dl.k8s.io [policy-allowed-hosts]", "--mirror"],
        ),
        (
            r#"{"name": "p", "refuseBelowSecurityFloor": true}"#,
            "--k8s 1.20.0",
            3,
            &[
                "unknown key `refuseBelowSecurityFloor`",
                "hint: write `\"refuseUnsupported\": true`",
            ],
        ),
        (
            r#"{"name": "p", "maximumSeverity": "high"}"#,
            "--k8s 1.20.0",
            3,
            &["unknown key `maximumSeverity`", "`imagegen sbom`"],
        ),
        (
            r#"{"name": "p", "minimumConfidence": "authoritative"}"#,
            "--k8s 1.20.0",
            3,
            &["below `authoritative`", "trustedDigests"],
        ),
        (
            r#"{"name": "p", "allowedPublishers": ["CN=Somebody Else"]}"#,
            "--k8s 1.36.0",
            3,
            &["[policy-allowed-publishers]", "cloudbase-init"],
        ),
        (
            r#"{"name": "p", "require": [{"id": "sig", "components": ["contain*"], "anyOf": ["openpgp"]}]}"#,
            "--k8s 1.36.0",
            3,
            &["as `sig` requires", "must be proven by openpgp"],
        ),
        (
            r#"{"name": "p", "allowedhosts": []}"#,
            "--k8s 1.36.0",
            3,
            &["policy.json", "allowedhosts"],
        ),
    ] {
        Test::new()
            .file("policy.json", policy)
            .line("plan --target azure --policy policy.json")
            .line(flags)
            .fails(code, said);
    }
}

/// A name that never selects anything, or a list without members, demands less than it seems to.
#[test]
fn a_policy_that_cannot_be_meant_is_refused() {
    for (policy, said) in [
        (
            r#"{"name": "p", "forbiddenComponents": ["nsssm"]}"#,
            "no component or program is named `nsssm`",
        ),
        (
            r#"{"name": "p", "require": [{"id": "a", "components": ["kubelett"], "anyOf": ["pin"]}]}"#,
            "no component or program is named `kubelett`",
        ),
        (
            r#"{"name": "p", "require": [{"id": "a", "components": ["zz*"], "anyOf": ["pin"]}]}"#,
            "no component or program is named `zz*`",
        ),
        (
            r#"{"name": "p", "require": [{"id": "a", "components": ["*"], "anyOf": []}]}"#,
            "names no proof",
        ),
        (
            r#"{"name": "p", "require": [{"id": "a", "anyOf": ["pin"]}]}"#,
            "it selects nothing",
        ),
        (r#"{"name": "p", "allowedHosts": []}"#, "the list is empty"),
        (
            r#"{"name": "p", "allowedPublishers": []}"#,
            "the list is empty",
        ),
        (
            r#"{"name": "p", "waivers": [{"component": "kubelett", "proof": "openpgp"}]}"#,
            "`kubelett`",
        ),
    ] {
        Test::new()
            .file("policy.json", policy)
            .line("plan --target azure --k8s 1.36.0 --policy policy.json")
            .fails(3, &["policy p is wrong", said]);
    }
    Test::new()
        .file("policy.json", r#"{"name": "p", "allowedRoots": ["abc"]}"#)
        .line("plan --target azure --k8s 1.36.0 --policy policy.json")
        .fails(
            3,
            &[
                "policy.json",
                "allowedRoots[0]",
                "`abc` is not a SHA-256 of a file",
            ],
        );
    for (policy, path) in [
        (
            r#"{"name": "p", "allowedHosts": ["https://a.example"]}"#,
            "allowedHosts[0]",
        ),
        (
            r#"{"name": "p", "allowedHosts": ["a.example", "a.example:443"]}"#,
            "allowedHosts[1]",
        ),
        (
            r#"{"name": "p", "require": [{"id": "a", "hosts": ["*"], "anyOf": ["pin"]}]}"#,
            "require[0].hosts[0]",
        ),
        (
            r#"{"name": "p", "headerGrants": [{"environment": "T", "hosts": ["a/b"]}]}"#,
            "headerGrants[0].hosts[0]",
        ),
        (
            r#"{"name": "p", "requiredSteps": ["010-Own.json"]}"#,
            "requiredSteps[0]",
        ),
    ] {
        let test = Test::new().file("policy.json", policy);
        let said = ["policy.json", path, "expected"];
        test.line("plan --target azure --k8s 1.36.0 --policy policy.json")
            .fails(3, &said);
    }
}

/// A rule on the kubelet is about the kubelet, whatever archive it comes in; hosts are those of everything
/// that lands.
#[test]
fn a_policy_is_about_everything_that_lands() {
    let digest = "ab".repeat(32);
    let definition = format!(
        r#"{{"updates": {{"files": [{{"kb": "KB5058411", "url": "https://evil.example/a.msu", "sha256": "{digest}"}}]}},
            "volumePlugins": {{"v~d.cmd": [{{"file": "d.cmd", "url": "https://evil.example/d.cmd", "sha256": "{digest}"}}]}},
            "images": ["evil.example/x:1@sha256:{digest}"]}}"#
    );
    let kubelet = r#"{"name": "p", "require": [{"id": "k", "components": ["kubelet"], "anyOf": ["openpgp"]}]}"#;
    let hosts = r#"{"name": "p", "allowedHosts": ["dl.k8s.io"]}"#;
    let roles = r#"{"name": "p", "require": [{"id": "r", "roles": ["update", "volume-plugin", "container-image"], "anyOf": ["authenticode"]}]}"#;
    let from = r#"{"name": "p", "require": [{"id": "h", "hosts": ["evil.example"], "anyOf": ["openpgp"]}]}"#;
    let nssm = r#"{"name": "p", "forbiddenComponents": ["kube-proxy"]}"#;
    for (policy, flags, said) in [
        (
            kubelet,
            "--k8s 1.20.0",
            &[
                "kubernetes-node 1.20.0: it must be proven by openpgp",
                "as `k` requires",
            ][..],
        ),
        (
            nssm,
            "--k8s 1.20.0",
            &["kubernetes-node 1.20.0: the component is forbidden"],
        ),
        (
            hosts,
            "--k8s 1.36.0",
            &[
                "KB5058411: it comes from evil.example",
                "v~d.cmd/d.cmd: it comes from evil.example",
                "evil.example/x:1@sha256",
            ],
        ),
        (
            hosts,
            "--k8s 1.36.0 --updates SecurityUpdates",
            &["Windows Update decides which hosts"],
        ),
        (
            roles,
            "--k8s 1.36.0",
            &[
                "KB5058411: it must be proven by authenticode",
                "d.cmd: it must",
                "x:1",
            ],
        ),
        (
            from,
            "--k8s 1.36.0",
            &["KB5058411: it must be proven by openpgp", "as `h` requires"],
        ),
    ] {
        Test::new()
            .file("imagegen.json", &definition)
            .file("policy.json", policy)
            .line("plan --target azure --policy policy.json")
            .line(flags)
            .fails(3, said);
    }
}

/// A preview has not seen the bytes: under a policy it makes nothing that can be built or installed.
#[test]
fn a_preview_under_a_policy_does_not_build() {
    for verb in ["render", "build --no-bake"] {
        let test = Test::new()
            .file(
                "policy.json",
                r#"{"name": "ours", "forbiddenComponents": ["nssm"]}"#,
            )
            .line(verb)
            .line("--k8s 1.36.0 --policy policy.json --out o --target");
        let host = test.args(["host"]);
        assert!(
            host.succeeds()
                .stderr
                .contains("not admitted: the bytes were not checked against the policy ours")
        );
        assert!(!host.exists("o/Install.ps1") && !host.exists("o/guest-plan.json"));
        assert!(host.text("o/imagegen.lock.json").contains("notAdmitted"));
        let bundle = Test::new()
            .file("imagegen.lock.json", &host.text("o/imagegen.lock.json"))
            .line("bundle create --offline --store s --out b.zip");
        bundle.fails(5, &["not admitted", "imagegen lock"]);
        let azure = Test::new()
            .file(
                "policy.json",
                r#"{"name": "ours", "forbiddenComponents": ["nssm"]}"#,
            )
            .line(verb)
            .line("--k8s 1.36.0 --policy policy.json --out o --target azure");
        azure.succeeds();
        assert!(
            azure
                .text("o/not-admitted.pkr.hcl")
                .contains("var.admitted && !var.admitted")
        );
    }
    let free = Test::new().line("render --target host --k8s 1.36.0 --out o");
    free.succeeds();
    assert!(free.exists("o/Install.ps1") && free.exists("o/guest-plan.json"));
}

/// An archive for an existing machine is made of proven bytes where a policy wants proofs.
#[test]
fn an_archive_for_a_machine_needs_the_policys_proofs() {
    let line = "--target host --k8s 1.36.4";
    let rule = r#"{"name": "p", "require": [{"id": "s", "components": ["kubelet"], "anyOf": ["authenticode"]}]}"#;
    let test = Test::new()
        .file("policy.json", rule)
        .line("build")
        .line(line)
        .stocked(&format!("plan {line} {SINGLY}"));
    test.succeeds();
    std::fs::remove_dir_all(test.folder.join("imagegen-out")).expect("folder");
    // Declared, but the bytes do not carry it: with and without a policy.
    let mut overrides: Value = serde_json::from_str(&test.text("overrides.json")).expect("JSON");
    overrides["kubelet"]["publisher"] = "O=Example Provider,CN=Example Provider".into();
    let test = test
        .file("overrides.json", &overrides.to_string())
        .line("--out o");
    test.fails(5, &["kubelet 1.36.4 failed verification", "authenticode"]);
    let governed = test.line("--policy policy.json");
    governed.fails(
        3,
        &[
            "an override uses the publisher",
            "[policy-trusted-publishers]",
            "allowedRoots",
        ],
    );
    assert!(
        !governed.exists("o"),
        "nothing that can be installed is left"
    );
}

#[test]
fn the_lock_knows_its_policy() {
    let test = Test::new()
        .file(
            "policy.json",
            r#"{"name": "ours", "forbiddenComponents": ["nssm"]}"#,
        )
        .line("lock --target azure --k8s 1.36.0 --policy policy.json");
    test.succeeds();
    let lock: Value = serde_json::from_str(&test.text("imagegen.lock.json")).expect("JSON");
    assert_eq!(lock["policy"]["name"], "ours");
    let other = Test::new()
        .file("imagegen.lock.json", &test.text("imagegen.lock.json"))
        .line("plan --target azure --k8s 1.36.0 --locked");
    other.fails(3, &["is stale", "policy was ours"]);
}
