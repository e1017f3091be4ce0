//! Known vulnerabilities: one list, read by plan, policy, bill of materials and `explain`.

use serde_json::Value;

use crate::support::Test;

fn flaws_of(version: &str) -> String {
    let policy = r#"{"name": "p", "refuseBelowSecurityFloor": true}"#;
    let line = format!("plan --target host --k8s {version} --policy p.json");
    Test::new().file("p.json", policy).run_with(&line).stderr
}

#[test]
fn the_command_injection_of_logs_is_known_up_to_its_fixes() {
    let id = "CVE-2024-9042 (medium) [policy-refuse-below-security-floor]";
    for version in ["1.29.12", "1.30.8", "1.31.4", "1.32.0"] {
        assert!(flaws_of(version).contains(id), "{version}");
    }
    for version in ["1.29.13", "1.30.9", "1.31.5", "1.32.1", "1.33.0"] {
        assert!(!flaws_of(version).contains(id), "{version}");
    }
}

/// Release, rating that the policy allows, vulnerabilities that it refuses.
const RATED: &[(&str, &str, &[&str])] = &[
    (
        "1.20.0",
        "low",
        &[
            "CVE-2023-3676 (high)",
            "CVE-2023-3955 (high)",
            "CVE-2023-5528 (high)",
            "CVE-2024-5321 (medium)",
            "CVE-2024-9042 (medium)",
        ],
    ),
    (
        "1.20.0",
        "medium",
        &[
            "CVE-2023-3676 (high)",
            "CVE-2023-3955 (high)",
            "CVE-2023-5528 (high)",
        ],
    ),
    ("1.20.0", "high", &[]),
    ("1.20.0", "critical", &[]),
    ("1.28.3", "medium", &["CVE-2023-5528 (high)"]),
    ("1.28.4", "medium", &[]),
    (
        "1.28.4",
        "low",
        &["CVE-2024-5321 (medium)", "CVE-2024-9042 (medium)"],
    ),
    ("1.29.12", "low", &["CVE-2024-9042 (medium)"]),
    ("1.29.13", "low", &[]),
];

fn list_refused(stderr: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in stderr
        .lines()
        .filter(|line| line.contains("[policy-maximum-severity]"))
    {
        let (_, text) = line.split_once(" has ").expect("a vulnerability");
        let (text, _) = text.split_once(" [").expect("a code");
        found.push(text.to_owned());
    }
    found.sort();
    found
}

fn write_policy(severity: &str) -> String {
    format!(r#"{{"name": "p", "maximumSeverity": "{severity}"}}"#)
}

#[test]
fn a_policy_refuses_what_is_rated_worse() {
    for (version, severity, refused) in RATED {
        let test = Test::new().file("p.json", &write_policy(severity));
        let ran = test.run_with(&format!(
            "plan --target host --k8s {version} --policy p.json"
        ));
        let expected = if refused.is_empty() { 0 } else { 3 };
        assert_eq!(ran.code, Some(expected), "{version}: {}", ran.stderr);
        assert_eq!(list_refused(&ran.stderr), *refused, "{version} {severity}");
    }
}

/// A lockfile that was written without the policy, an override of other bytes and a waived proof hide nothing.
#[test]
fn no_lockfile_override_or_waiver_lowers_a_rating() {
    let digest = "1".repeat(64);
    let waiver = r#""waivers": [{"component": "kubernetes-node", "proof": "checksum-file"}]"#;
    let test = Test::new()
        .file("p.json", &write_policy("medium"))
        .file(
            "waived.json",
            &write_policy("medium").replace('}', &format!(", {waiver}}}")),
        )
        .file(
            "overrides.json",
            &format!(
                r#"{{"kubernetes-node": {{"url": "https://files.example.com/n.tar.gz", "sha256": "{digest}"}}}}"#
            ),
        );
    test.prints("render --target host --k8s 1.28.3 --out w");
    for line in [
        "verify w/imagegen.lock.json --policy p.json",
        "plan --target host --k8s 1.28.3 --lock w/imagegen.lock.json --policy p.json",
        "plan --target host --k8s 1.28.3 --policy waived.json",
        "plan --target host --k8s 1.28.3 --policy p.json --overrides overrides.json",
        "build --target host --k8s 1.28.3 --policy p.json --no-bake --out n",
    ] {
        let ran = test.run_with(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        for part in ["CVE-2023-5528 (high)", "choose 1.28.4 or newer"] {
            assert!(ran.stderr.contains(part), "{line}: {}", ran.stderr);
        }
    }
    assert!(!test.exists("n"));
}

#[test]
fn a_rating_that_is_none_is_refused() {
    for (severity, said) in [
        ("harmless", "expected one of low, medium, high, critical"),
        ("High", "did you mean `high`?"),
        ("none", "expected one of low, medium, high, critical"),
        ("", "expected one of low, medium, high, critical"),
    ] {
        let test = Test::new().file("p.json", &write_policy(severity));
        let ran = test.run_with("plan --target host --k8s 1.28.4 --policy p.json");
        assert_eq!(ran.code, Some(3), "{severity}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{severity}: {}", ran.stderr);
    }
    // In a catalog of one's own, too.
    let test = Test::new();
    test.prints("catalog export --out catalog");
    let path = test.folder.join("catalog/vulnerabilities.json");
    let text = std::fs::read_to_string(&path).expect("the list");
    for other in [r#""severity": "moderate""#, r#""rating": "low""#] {
        let edited = text.replacen(r#""severity": "low""#, other, 1);
        assert_ne!(edited, text);
        std::fs::write(&path, edited).expect("written");
        let ran = test.run_with("catalog lint --manifests catalog");
        assert_eq!(ran.code, Some(3), "{other}: {}", ran.stderr);
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains("vulnerabilities.json"), "{other}: {said}");
    }
}

#[test]
fn a_bill_says_affected_and_fixed() {
    let test = Test::new();
    for (version, id, state) in [
        ("1.31.4", "CVE-2024-9042", "exploitable"),
        ("1.31.5", "CVE-2024-9042", "resolved"),
    ] {
        test.prints(&format!(
            "render --target host --k8s {version} --out {version}"
        ));
        let bom: Value =
            serde_json::from_str(&test.prints(&format!("sbom {version}"))).expect("JSON");
        let entries = bom["vulnerabilities"].as_array().expect("vulnerabilities");
        let entry = entries.iter().find(|it| it["id"] == id).expect("entry");
        assert_eq!(entry["analysis"]["state"], state, "{version}: {entry}");
        assert_eq!(entry["ratings"][0]["score"], 5.9);
        // The archive of the node's programs brings the kubelet.
        let item = entry["affects"][0]["ref"].as_str().expect("reference");
        assert!(
            ["artifact/kubelet", "artifact/kubernetes-node"].contains(&item),
            "{item}"
        );
        // Scanners find it by the module.
        let module = format!("module/k8s.io/kubernetes@v{version}");
        assert_eq!(entry["affects"][1]["ref"], module, "{entry}");
    }
}

#[test]
fn an_entry_is_explained_with_its_source() {
    let text = Test::new().line("explain CVE-2024-9042").succeeds().stdout;
    for part in [
        "1.32.1",
        "medium",
        "https://github.com/kubernetes/kubernetes/issues/129654",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
