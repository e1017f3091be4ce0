//! Bills of materials: complete, the same each time, and valid by the formats' own libraries.

use serde_json::{Value, json};

use crate::support::Test;

use super::check_document;

const SELECTION: &str =
    "--target azure --k8s 1.36.4 --cni flannel-overlay --var image_version=20348.2966.241205";

fn locked() -> Test {
    let test = Test::new();
    test.prints(&format!("render {SELECTION} --out w"));
    test
}

fn find<'a>(bom: &'a Value, name: &str) -> &'a Value {
    let components = bom["components"].as_array().expect("components");
    components
        .iter()
        .find(|it| it["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn cyclonedx_has_every_subject() {
    let test = locked();
    let bom: Value = serde_json::from_str(&test.prints("sbom w/imagegen.lock.json")).expect("JSON");
    assert_eq!(bom["specVersion"], "1.6");
    let node = find(&bom, "kubernetes-node");
    assert_eq!(node["purl"], "pkg:golang/k8s.io/kubernetes@v1.36.4");
    assert_eq!(
        node["cpe"],
        "cpe:2.3:a:kubernetes:kubernetes:1.36.4:*:*:*:*:*:*:*"
    );
    assert_eq!(node["hashes"][0]["alg"], "SHA-512");
    assert_eq!(node["licenses"][0]["expression"], "Apache-2.0");
    assert_eq!(node["supplier"]["name"], "Kubernetes");
    let windows = find(&bom, "Windows Server 2022");
    assert_eq!(windows["type"], "operating-system");
    assert!(
        windows["cpe"]
            .as_str()
            .is_some_and(|it| it.contains("windows_server_2022:10.0.20348.2966:"))
    );
    // A program stands below the archive that it comes from.
    let containerd = find(&bom, "containerd");
    let programs = containerd["components"].as_array().expect("members");
    let program = programs.iter().find(|it| it["name"] == "containerd.exe");
    let program = program.unwrap_or_else(|| panic!("{containerd}"));
    assert_eq!(program["supplier"]["name"], "containerd");
    // grype and syft read no name of a `file`.
    assert_eq!(containerd["type"], "application");
    assert!(containerd["purl"].is_string(), "{containerd}");
    // What only builds is there, and excluded.
    assert_eq!(find(&bom, "packer")["scope"], "excluded");
    // Every artifact of the lock is listed.
    let lock: Value = serde_json::from_str(&test.text("w/imagegen.lock.json")).expect("JSON");
    for artifact in lock["artifacts"].as_array().expect("artifacts") {
        find(&bom, artifact["component"].as_str().expect("name"));
    }
    for image in lock["images"].as_array().expect("images") {
        let name = image.as_str().expect("name");
        let component = find(&bom, name);
        assert!(
            component["purl"]
                .as_str()
                .is_some_and(|it| it.starts_with("pkg:oci/"))
        );
        let version = component["version"].as_str().expect("a version");
        assert!(name.contains(&format!(":{version}@sha256:")), "{name}");
    }
    let scripts = find(&bom, "imagegen guest scripts");
    assert!(
        scripts["components"]
            .as_array()
            .is_some_and(|it| it.len() > 20)
    );
}

#[test]
fn the_same_lock_gives_the_same_bytes() {
    let test = locked();
    for format in ["cyclonedx", "spdx"] {
        let line = format!("sbom w/imagegen.lock.json --as {format}");
        let first = test.prints(&line);
        assert_eq!(first, test.prints(&line), "{format}");
        assert_eq!(
            first,
            test.prints(&format!("sbom w --as {format}")),
            "{format}: the workspace"
        );
    }
    // Another lock is another document.
    let one: Value = serde_json::from_str(&test.prints("sbom w")).expect("JSON");
    test.prints("render --target azure --k8s 1.36.3 --out v");
    let other: Value = serde_json::from_str(&test.prints("sbom v")).expect("JSON");
    assert_ne!(one["serialNumber"], other["serialNumber"]);
}

/// A proof that a person wrote into the lockfile `w/imagegen.lock.json`.
fn forge_proof(test: &Test, component: &str, proof: &str) {
    let path = "w/imagegen.lock.json";
    let mut lock: Value = serde_json::from_str(&test.text(path)).expect("JSON");
    let artifacts = lock["artifacts"].as_array_mut().expect("artifacts");
    let artifact = artifacts
        .iter_mut()
        .find(|it| it["component"] == component)
        .expect(component);
    artifact["evidence"] = json!([{
        "proof": proof, "verdict": "verified", "subject": "kubelet.exe",
        "detail": "signed by the release team", "facts": {"signer": "release@k8s.io"},
    }]);
    std::fs::write(test.folder.join(path), lock.to_string()).expect("lock");
}

#[test]
fn a_record_of_the_lockfile_is_no_proof() {
    let test = locked();
    forge_proof(&test, "kubernetes-node", "cosign-keyless");
    let bom: Value = serde_json::from_str(&test.prints("sbom w")).expect("JSON");
    let identity = &find(&bom, "kubernetes-node")["evidence"]["identity"][0];
    assert_eq!(identity["confidence"], 0.0, "{identity}");
    let value = identity["methods"][0]["value"].as_str().expect("value");
    assert!(value.starts_with("recorded in the lockfile: "), "{value}");
    let spdx = test.prints("sbom w --as spdx");
    assert!(spdx.contains("recorded in the lockfile: cosign-keyless verified"));

    test.prints("report w --out page.html");
    let page = test.text("page.html");
    assert!(page.contains("recorded in the lockfile, not proven again"));
    assert!(!page.contains(">signed<"), "{page}");
}

#[test]
fn a_record_of_a_proof_that_nothing_declares_is_refused() {
    let test = locked();
    forge_proof(&test, "crictl", "openpgp");
    let ran = test.bare().run(&format!(
        "plan {SELECTION} --lock w/imagegen.lock.json --locked"
    ));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let said = "`artifacts[crictl].evidence` records openpgp, and no such proof is declared";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
}

#[test]
fn the_time_is_that_of_source_date_epoch() {
    let test = locked().env("SOURCE_DATE_EPOCH", "1767225600");
    let bom: Value = serde_json::from_str(&test.prints("sbom w")).expect("JSON");
    assert_eq!(bom["metadata"]["timestamp"], "2026-01-01T00:00:00Z");
    let spdx: Value = serde_json::from_str(&test.prints("sbom w --as spdx")).expect("JSON");
    assert_eq!(spdx["creationInfo"]["created"], "2026-01-01T00:00:00Z");
    let plain = locked().prints("--version");
    assert!(!plain.is_empty());
}

#[test]
fn an_override_has_the_package_that_it_replaces_in_its_pedigree() {
    let digest = "ab".repeat(32);
    let overrides = format!(
        r#"{{"kubelet": {{"url": "https://example.com/kubelet.exe", "sha256": "{digest}"}}}}"#
    );
    let test = Test::new().file("o.json", &overrides);
    test.prints(
        "render --target host --k8s 1.36.4 --overrides o.json --waive kubelet=cosign-keyless --out w",
    );
    let bom: Value = serde_json::from_str(&test.prints("sbom w")).expect("JSON");
    let kubelet = find(&bom, "kubelet");
    assert_eq!(
        kubelet["purl"],
        format!(
            "pkg:generic/kubelet@1.36.4?checksum=sha256:{digest}&download_url=https://example.com/kubelet.exe"
        )
    );
    let ancestor = &kubelet["pedigree"]["ancestors"][0];
    assert_eq!(
        ancestor["purl"],
        "pkg:golang/k8s.io/kubernetes@v1.36.4#cmd/kubelet"
    );
    // Vulnerabilities of the publisher's program are not those of other bytes.
    assert!(kubelet["cpe"].is_null());
}

/// Whose bytes they are, the digest says, and not the address that they come from.
#[test]
fn an_override_replaces_a_package_by_other_bytes_alone() {
    let other = format!(r#"{{"kubelet": {{"sha256": "{}"}}}}"#, "ab".repeat(32));
    let moved = r#"{"kubelet": {"url": "https://example.com/kubelet.exe"}}"#;
    let published = "pkg:golang/k8s.io/kubernetes@v1.36.4#cmd/kubelet";
    for (overrides, is_replaced) in [(moved, false), (other.as_str(), true)] {
        let test = Test::new().file("o.json", overrides);
        let waived = "--waive kubelet=cosign-keyless";
        test.prints(&format!(
            "render --target host --k8s 1.36.4 --overrides o.json {waived} --out w"
        ));
        let bom: Value = serde_json::from_str(&test.prints("sbom w")).expect("JSON");
        let kubelet = find(&bom, "kubelet");
        assert_eq!(kubelet["purl"] == published, !is_replaced, "{kubelet:#}");
        assert_eq!(kubelet["cpe"].is_null(), is_replaced, "{kubelet:#}");
        assert_eq!(kubelet["pedigree"].is_null(), !is_replaced, "{kubelet:#}");
        let spdx = test.prints("sbom w --as spdx");
        let said = "an override puts these bytes in the place of";
        assert_eq!(spdx.contains(said), is_replaced);
    }
}

#[test]
fn official_libraries_read_both_formats() {
    let updates = r#"{"target": "azure", "kubernetes": "1.36.4", "cni": "flannel-overlay", "features": ["smb"],
        "updates": {"kbs": ["KB5034439"]}}"#;
    let test = Test::new().file("imagegen.json", updates);
    for line in [
        "render --config imagegen.json --out a",
        "render --target host --k8s 1.20.0 --out b",
        "render --target qemu --k8s 1.30.0 --windows 2019 --out c",
    ] {
        test.prints(line);
    }
    for folder in ["a", "b", "c"] {
        for format in ["cyclonedx", "spdx"] {
            let file = format!("{folder}.{format}.json");
            test.prints(&format!("sbom {folder} --as {format} --out {file}"));
            check_document(&test, &[format, &file]);
        }
    }
}

/// Of a component of the user's own: the official libraries refuse a bill with other words than an expression.
#[test]
fn a_license_in_other_words_is_a_reference() {
    let test = Test::new();
    test.prints("catalog export --out own");
    let path = "own/components/crictl.json";
    let mut crictl: Value = serde_json::from_str(&test.text(path)).expect("JSON");
    crictl["license"] = "Example Inc EULA".into();
    std::fs::write(test.folder.join(path), crictl.to_string()).expect("component");
    test.prints("render --target azure --k8s 1.36.4 --manifests own --out w");

    for format in ["cyclonedx", "spdx"] {
        let file = format!("{format}.json");
        let bill = test.prints(&format!("sbom w --manifests own --as {format}"));
        assert!(bill.contains("\"LicenseRef-Example-Inc-EULA\""), "{bill}");
        std::fs::write(test.folder.join(&file), bill).expect("bill");
        check_document(&test, &[format, &file]);
    }
}

#[test]
fn a_scanner_reads_the_bill_and_decides() {
    let test = locked();
    let ran = test.run_with("sbom w --out b.json --scan-command cat");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("\"bomFormat\": \"CycloneDX\""),
        "{}",
        ran.stderr
    );
    let mut command = test.command();
    command.args([
        "sbom",
        "w",
        "--out",
        "b.json",
        "--scan-command",
        "grep -q nothing-of-this {}",
    ]);
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(5));
    let ran = test.run_with("sbom w --out b.json --scan-command no-such-scanner");
    assert!(ran.stderr.contains("no-such-scanner"), "{}", ran.stderr);
    assert_ne!(ran.code, Some(0));
}

/// grype and Trivy look a package up by the `name` of its component, not by its package URL.
#[test]
fn modules_have_the_names_that_scanners_look_up() {
    let test = locked();
    let bom: Value = serde_json::from_str(&test.prints("sbom w")).expect("JSON");
    let spdx: Value = serde_json::from_str(&test.prints("sbom w --as spdx")).expect("JSON");
    let purls = bom["components"].as_array().expect("components").iter();
    let mut modules = 0;
    for component in purls.filter(|it| it["scope"] == "required") {
        let Some(module) = component["purl"]
            .as_str()
            .and_then(|purl| purl.strip_prefix("pkg:golang/"))
        else {
            continue;
        };
        let module = module.split('#').next().expect("a module");
        let (name, version) = module.rsplit_once('@').expect("a version");
        let library = find(&bom, name);
        assert_eq!(library["type"], "library", "{name}");
        assert_eq!(library["version"], version, "{name}");
        assert_eq!(library["purl"], format!("pkg:golang/{module}"), "{name}");
        let packages = spdx["packages"].as_array().expect("packages");
        let named = packages.iter().find(|it| it["name"] == name).expect(name);
        assert_eq!(named["versionInfo"], version, "{name}");
        // The publisher of the program is that of its module.
        assert_eq!(library["supplier"], component["supplier"], "{name}");
        let supplier = component["supplier"]["name"].as_str();
        let supplier = supplier.map(|name| format!("Organization: {name}"));
        assert_eq!(named["supplier"].as_str(), supplier.as_deref(), "{name}");
        let relations = spdx["relationships"].as_array().expect("relationships");
        let mut to_module = relations
            .iter()
            .filter(|it| it["relatedSpdxElement"] == named["SPDXID"]);
        assert!(
            to_module.all(|it| it["relationshipType"] == "DEPENDS_ON"),
            "{name}"
        );
        modules += 1;
    }
    // Of those of flannel the plugin is a module of its own.
    assert!(modules > 3, "{modules}");
    find(&bom, "github.com/flannel-io/cni-plugin");
    let crictl = find(&bom, "crictl")["bom-ref"].clone();
    let edges = bom["dependencies"].as_array().expect("dependencies");
    let edge = edges.iter().find(|it| it["ref"] == crictl).expect("edge");
    let module = json!("module/sigs.k8s.io/cri-tools@v1.36.0");
    let needed = edge["dependsOn"].as_array().expect("names");
    assert!(needed.contains(&module), "{edge}");

    // A package URL is in lower case; an advisory has the name of the module.
    let cni = "--target azure --k8s 1.36.4 --cni azure-cni --var image_version=20348.2966.241205";
    test.prints(&format!("render {cni} --out cni"));
    let bom: Value = serde_json::from_str(&test.prints("sbom cni")).expect("JSON");
    let module = find(&bom, "github.com/Azure/azure-container-networking");
    let purl = module["purl"].as_str().expect("purl");
    let lower = "pkg:golang/github.com/azure/azure-container-networking@v";
    assert!(purl.starts_with(lower), "{purl}");
}
