//! What a new user meets first: wrong files, wrong paths, the order of errors, pins, schemas.

use serde_json::Value;

use crate::support::planned::SINGLY;
use crate::support::{Test, files};

const READY: &str = "--target azure --k8s 1.36.4 --var location=westeurope --var managed_image_resource_group_name=rg";

#[test]
fn other_formats_are_named_whatever_file_they_stand_in() {
    let utf16: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: [(&[u8], &str); 5] = [
        (&utf16, "the file is not UTF-8; save it as UTF-8"),
        (b"\xef\xbb\xbfname: ours\n", "the file is not JSON"),
        (b"name = \"ours\"\n", "the file is not JSON"),
        (b"<html>", "the file is not JSON"),
        (b"", "the file is not JSON"),
    ];
    for flag in ["--config", "--policy", "--overrides"] {
        for (bytes, said) in cases {
            let test = Test::new()
                .line("plan --target azure --k8s 1.36.4")
                .args([flag, "f"]);
            std::fs::write(test.folder.join("f"), bytes).expect("file");
            test.fails(3, &[said]);
        }
    }
}

#[test]
fn a_path_that_cannot_be_a_file_is_a_wrong_value() {
    let long = "a".repeat(300);
    let deep = "a/".repeat(3000);
    for (path, reason) in [(&long, "File name too long"), (&deep, "")] {
        for line in [
            "plan --target azure --config",
            "plan --target azure --policy",
            "plan --target azure --overrides",
            "plan --target azure --lock",
            "plan --target azure --scripts",
            "list windows --manifests",
            "list windows --targets",
            "list windows --steps",
            "verify",
            "bundle verify",
            "store add",
            "join-data --k8s 1.36.4 --from",
            "fetch --target azure --offline --store",
        ] {
            let ran = Test::new()
                .line(line)
                .args([path.as_str()])
                .fails(3, &[reason]);
            assert!(
                ran.stderr.len() < 1500,
                "{line}: {} bytes",
                ran.stderr.len()
            );
        }
    }
    for text in [
        format!("{{\"overrides\": {{\"kubelet\": {{\"roots\": \"{long}\"}}}}}}"),
        "{\"overrides\": {\"kubelet\": {\"roots\": \"a\\u0000b\"}}}".to_owned(),
    ] {
        Test::new()
            .file("imagegen.json", &text)
            .line("plan --target azure")
            .fails(3, &["kubelet.roots"]);
    }
}

#[cfg(unix)]
#[test]
fn a_device_without_end_is_no_input() {
    Test::new()
        .line("plan --target azure --config /dev/zero")
        .fails(3, &["larger than 1 MiB", "--config"]);
}

#[test]
fn the_reason_comes_before_its_consequences() {
    let ran = Test::new()
        .line("plan --target azure --k8s 1.36 --runtime docker")
        .fails(3, &["removed the dockershim"]);
    assert!(!ran.stderr.contains("--component docker"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("hint: choose `--runtime containerd`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_packer_that_is_not_there_is_noticed_before_anything_is_fetched_or_written() {
    for path in ["/nope", "nope", "o"] {
        let test = Test::new()
            .line("build --offline --store store --out o --packer")
            .args([path])
            .line(READY);
        test.fails(7, &["Packer not found", path]);
        assert!(!test.exists("o") && !test.exists("store"));
    }
}

#[test]
fn doctor_checks_the_machine_without_a_target() {
    let ran = Test::new().line("doctor --store store").succeeds();
    for said in [
        "warning  image",
        "--target NAME",
        "ok       store",
        "ok       disk",
        "ok       clock",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    let ran = Test::new()
        .line("doctor --target host --k8s 1.36.0 --store store")
        .succeeds();
    assert!(
        ran.stdout.contains("to download: 6 files of unknown size"),
        "{}",
        ran.stdout
    );
}

/// A catalog in `catalog`, as `catalog export` writes it.
fn exported() -> Test {
    let export = Test::new().line("catalog export --out catalog");
    export.succeeds();
    let test = Test::new();
    std::fs::rename(export.folder.join("catalog"), test.folder.join("catalog")).expect("catalog");
    test
}

#[test]
fn a_pin_contradicts_no_record_and_has_a_plan() {
    let other = "ab".repeat(32);
    for (pin, said) in [
        (
            format!("kubelet 1.36.4 --sha256 {other}"),
            "the catalog records the digest",
        ),
        (
            format!("kubelet 1.36.9 --sha256 {other}"),
            "the latest release of Kubernetes 1.36 in this catalog is",
        ),
        (
            format!("kubelet 1.36.03 --sha256 {other}"),
            "kubelet 1.36.03: this is not a release of Kubernetes",
        ),
        (
            format!("kubelet 1.99.0 --sha256 {other}"),
            "the catalog has no Kubernetes line 1.99",
        ),
        (
            format!("containerd 0.9.0 --sha256 {other}"),
            "no Kubernetes line works with containerd 0.9.0",
        ),
    ] {
        let test = exported()
            .line("pin")
            .line(&pin)
            .line("--manifests catalog --source https://a.example/x");
        let before = files(&test.folder);
        test.fails(3, &[said]);
        assert_eq!(files(&test.folder), before, "{pin}");
    }
}

#[test]
fn the_example_of_pin_works_and_its_plan_is_pinned() {
    let test = exported()
        .file("kube-log-runner.exe", "MZ of the test")
        .line(
            "pin kube-log-runner 1.36.4 --manifests catalog --from kube-log-runner.exe --source \
         https://dl.k8s.io/release/v1.36.4/bin/windows/amd64/kube-log-runner.exe.sha256",
        );
    test.succeeds();
    let plan = Test::new();
    std::fs::rename(test.folder.join("catalog"), plan.folder.join("catalog")).expect("catalog");
    let plan = plan
        .line("plan --target host --k8s 1.36.4 --manifests catalog")
        .line(SINGLY)
        .succeeds()
        .stdout;
    assert!(!plan.contains("unpinned"), "{plan}");
    assert!(
        plan.contains("0.1 MB"),
        "the size of the file is shown: {plan}"
    );
}

/// Every `$schema` that a file of an exported catalog names is there, and describes the file's keys.
#[test]
fn schemas_of_exported_files_resolve() {
    let test = exported();
    let folder = test.folder.join("catalog");
    let mut seen = 0;
    for (name, bytes) in files(&folder) {
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else {
            continue;
        };
        let Some(schema) = value["$schema"]
            .as_str()
            .filter(|_| !name.starts_with("schema/"))
        else {
            continue;
        };
        let path = folder.join(&name).parent().expect("folder").join(schema);
        let bytes =
            std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {schema}: {error}"));
        let schema: Value = serde_json::from_slice(&bytes).expect("JSON");
        let properties = schema["properties"].as_object().expect("properties");
        for key in value.as_object().expect("object").keys() {
            assert!(properties.contains_key(key), "{name}: {key}");
        }
        seen += 1;
    }
    assert!(seen > 80, "{seen}");
    // The folder can be used again, and lints as before.
    Test::new()
        .line("catalog lint --manifests")
        .args([folder.to_str().expect("UTF-8")])
        .succeeds();
}

#[test]
fn editors_complete_the_names_of_the_catalog() {
    let schema = Test::new()
        .line("schema image-definition")
        .succeeds()
        .stdout;
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let names = |pointer: &str| -> Vec<&str> {
        let list = schema
            .pointer(pointer)
            .and_then(Value::as_array)
            .unwrap_or_else(|| panic!("{pointer}"));
        list.iter().filter_map(Value::as_str).collect()
    };
    let listed = |what: &str| -> Vec<String> {
        let rows = Test::new()
            .args(["list", what, "--format", "json"])
            .succeeds()
            .stdout;
        let rows: Value = serde_json::from_str(&rows).expect("JSON");
        let rows = rows["items"].as_array().expect("rows");
        let name = |row: &Value| {
            row["name"]
                .as_str()
                .or(row["release"].as_str())
                .expect("name")
                .to_owned()
        };
        rows.iter().map(name).collect()
    };
    assert_eq!(names("/properties/target/enum"), listed("targets"));
    assert_eq!(names("/properties/windows/enum"), listed("windows"));
    assert_eq!(names("/properties/cni/enum"), listed("networks"));
    assert_eq!(names("/properties/features/items/enum"), listed("features"));
    let components = listed("components");
    assert!(
        names("/properties/components/propertyNames/enum")
            .starts_with(&components.iter().map(String::as_str).collect::<Vec<_>>())
    );
    let of_target = |name: &str| {
        let all = schema["allOf"].as_array().expect("allOf").iter();
        let mut found = all.filter(|it| it["if"]["properties"]["target"]["const"] == name);
        found.next().expect("target")["then"]["properties"]["variables"]["properties"].clone()
    };
    assert_eq!(of_target("azure")["location"]["type"], "string");
    assert!(of_target("azure")["location"]["pattern"].is_string());
    assert!(
        of_target("azure")["client_secret"].is_null(),
        "secrets have no place in a file"
    );
    assert_eq!(of_target("host"), serde_json::json!({}));
}
