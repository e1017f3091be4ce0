//! Known vulnerabilities: one list, read by plan, policy, bill of materials and `explain`.

use serde_json::Value;

use crate::support::Test;

fn flaws_of(version: &str) -> Vec<String> {
    let line = format!("plan --target host --k8s {version} --format json");
    let plan: Value =
        serde_json::from_str(&Test::new().line(&line).succeeds().stdout).expect("JSON");
    let warnings = plan["warnings"].as_array().expect("warnings").iter();
    warnings
        .filter(|warning| warning["id"] == "security-floor")
        .map(|warning| warning["subject"].as_str().expect("subject").to_owned())
        .collect()
}

#[test]
fn the_command_injection_of_logs_is_known_up_to_its_fixes() {
    let id = "CVE-2024-9042".to_owned();
    for version in ["1.29.12", "1.30.8", "1.31.4", "1.32.0"] {
        assert!(flaws_of(version).contains(&id), "{version}");
    }
    for version in ["1.29.13", "1.30.9", "1.31.5", "1.32.1", "1.33.0"] {
        assert!(!flaws_of(version).contains(&id), "{version}");
    }
}

#[test]
fn a_policy_refuses_what_is_rated_worse() {
    let test = Test::new().file("p.json", r#"{"name": "p", "maximumSeverity": "medium"}"#);
    let ran = test.run_with("plan --target host --k8s 1.28.3 --policy p.json");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for part in [
        "maximumSeverity",
        "CVE-2023-5528 (high)",
        "choose 1.28.4 or newer",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // CVE-2024-5321 and CVE-2024-9042 of this release are rated medium.
    let ran = test.run_with("plan --target host --k8s 1.28.4 --policy p.json");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let test = Test::new().file("p.json", r#"{"name": "p", "maximumSeverity": "harmless"}"#);
    let ran = test.run_with("plan --target host --k8s 1.28.4 --policy p.json");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
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
