//! Machines that a target builds on, and what its image offers to those that start from it.

use serde_json::Value;

use crate::support::{Test, root};

const ARM: [(&str, &str, &[&str], &[&str]); 4] = [
    (
        "aws",
        "instance_type",
        &["m6g.xlarge", "c7gn.large", "a1.large", "im4gn.large"],
        &[
            "m6i.xlarge",
            "g4dn.xlarge",
            "u-6tb1.metal",
            "c6a.large",
            "g6.xlarge",
        ],
    ),
    (
        "azure",
        "vm_size",
        &["Standard_D4ps_v5", "Standard_E8pds_v6", "Standard_B2pts_v2"],
        &[
            "Standard_D4s_v3",
            "Standard_NP10s",
            "Standard_DC2es_v5",
            "Standard_NC24ads_A100_v4",
        ],
    ),
    (
        "gcp",
        "machine_type",
        &["t2a-standard-4", "c4a-standard-4"],
        &["n2-standard-4", "t2d-standard-4"],
    ),
    (
        "oci",
        "shape",
        &["VM.Standard.A1.Flex", "BM.Standard.A4.48"],
        &["VM.Standard.E4.Flex", "VM.GPU.A10.1"],
    ),
];

#[test]
fn arm64_is_refused_with_the_reason() {
    let reason =
        "for which Kubernetes and containerd release no Windows programs; choose a type of x86-64";
    for (target, variable, refused, taken) in ARM {
        let line = |value: &str| {
            format!("plan --target {target} --k8s 1.36.4 --var {variable}={value} --format json")
        };
        for value in refused {
            Test::new().line(&line(value)).fails(3, &[value, reason]);
        }
        for value in taken {
            Test::new().line(&line(value)).succeeds();
        }
    }
}

#[test]
fn nitro_tpm_is_refused_with_the_reason() {
    let line = "plan --target aws --k8s 1.36.4 --var tpm_support=v2.0";
    Test::new()
        .line(line)
        .fails(3, &["the TPM of its base image", "TPM-Windows_Server-2022"]);
}

/// The block is there when it is asked for, and its numbers ask for it first.
#[test]
fn fast_launch_is_a_block_of_the_image() {
    let build = "build --target aws --k8s 1.36.4 --no-bake --out o";
    let test = Test::new().line(build);
    test.succeeds();
    assert!(!test.text("o/source.pkr.hcl").contains("fast_launch"));
    let line = format!("{build} --var fast_launch=true --var fast_launch_snapshots=3");
    let test = Test::new().line(&line);
    test.succeeds();
    let source = test.text("o/source.pkr.hcl");
    let block = "fast_launch {\n    enable_fast_launch    = var.fast_launch\n    target_resource_count = var.fast_launch_snapshots\n  }";
    assert!(source.contains(block), "{source}");
    let line = format!("{build} --var fast_launch_snapshots=3");
    Test::new().line(&line).fails(3, &["fast_launch"]);
    let line = format!("{build} --var fast_launch=true --var fast_launch_parallel=5");
    Test::new().line(&line).fails(3, &["fast_launch_parallel"]);
}

#[test]
fn clones_for_the_test_are_made_without_updates_of_azure() {
    let path = root().join("packer/targets/azure/publication.json");
    let text = std::fs::read_to_string(path).expect("the file");
    let commands = text
        .matches("\"vm\",\n                    \"create\"")
        .count();
    let quiet = "\"--patch-mode\",\n                    \"Manual\",\n                    \"--enable-auto-update\",\n                    \"false\"";
    assert_eq!((commands, text.matches(quiet).count()), (2, 2));
}

fn plan_resources(line: &str) -> Vec<Value> {
    let test = Test::new().line(line);
    test.succeeds();
    let plan: Value = serde_json::from_str(&test.text("o/guest-plan.json")).expect("JSON");
    plan["resources"].as_array().expect("resources").clone()
}

/// 6 is ABOVE_NORMAL, as the kubelet has it by its flag.
#[test]
fn containerd_has_the_priority_of_the_kubelet() {
    let all = plan_resources("build --target azure --k8s 1.36.4 --no-bake --out o");
    let value = all
        .iter()
        .find(|it| it["properties"]["valueName"] == "CpuPriorityClass");
    let value = value.expect("the priority");
    assert_eq!(value["properties"]["data"], 6);
    let key = value["properties"]["key"].as_str().expect("a key");
    assert!(
        key.ends_with(r"\Image File Execution Options\containerd.exe\PerfOptions"),
        "{key}"
    );
    let place = |name: &str| all.iter().position(|it| it["name"] == name).expect(name);
    assert!(place("containerd/priority") < place("containerd/service"));
    let kubelet = all
        .iter()
        .find(|it| it["name"] == "kubernetes/kubelet-service-logged");
    let line = &kubelet.expect("the service")["properties"]["commandLine"];
    assert!(
        line.as_str()
            .expect("text")
            .contains("ABOVE_NORMAL_PRIORITY_CLASS"),
        "{line}"
    );
}

/// sshd.exe imports it, and the one of Windows' own client is another version.
#[test]
fn the_library_of_sshd_is_unpacked_beside_it() {
    let all = plan_resources(
        "build --target azure --k8s 1.36.4 --component openssh=10.0.0.0p2 --no-bake --out o",
    );
    let set = all
        .iter()
        .find(|it| it["type"] == "archive" && it["step"] == "openssh");
    let members = set.expect("the set")["properties"]["members"].to_string();
    assert!(members.contains("libcrypto.dll"), "{members}");
}

/// A suite for a real Windows copies what is there.
#[test]
fn paths_of_the_real_suites_exist() {
    let mut seen = 0;
    let folder = root().join("tests/guest/real");
    for entry in std::fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a script");
        for rest in text.split(r"$Provisioners\").skip(1) {
            let end = rest.find(['"', '\'', '$']).unwrap_or(rest.len());
            let place = rest[..end].trim_end_matches('\\').replace('\\', "/");
            let file = root().join("provisioners").join(&place);
            assert!(file.exists(), "{}: {place}", path.display());
            seen += usize::from(!place.is_empty());
        }
    }
    assert!(seen >= 2, "{seen}");
}
