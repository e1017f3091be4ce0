//! Values of the operator that are looked at before anything is downloaded.

use super::with_packer;
use crate::support::Test;
use crate::support::targets::all_targets;

/// Packer runs in a folder of its own with an empty home: it would find no file by a path that begins elsewhere.
#[test]
fn files_of_the_building_machine_have_absolute_paths() {
    let mut count = 0;
    for target in all_targets() {
        for variable in &target.variables {
            let is_path = variable.description.contains("bsolute path of");
            let mut endings = ["_file", "_path", "cacert", "_code", "_vars", "_binary"].iter();
            let is_named = variable.set_by.is_operator()
                && variable.kind.as_str() == "string"
                && endings.any(|ending| variable.name.ends_with(ending));
            assert_eq!(is_path, is_named, "{}: {}", target.name, variable.name);
            if !is_path {
                continue;
            }
            count += 1;
            for path in [
                "./own/file",
                "own/file",
                "~/own/file",
                "own\\file",
                "C:file",
            ] {
                let fault = variable.find_fault(path);
                let is_known = fault.is_some_and(|fault| fault.contains(path));
                assert!(is_known, "{}: {path}", variable.name);
            }
            for path in ["/own/file", "C:\\own\\file", "D:/own/file"] {
                assert_eq!(variable.find_fault(path), None, "{}", variable.name);
            }
        }
    }
    assert_eq!(count, 11);
}

/// No stage before Packer sees the value itself; it is looked at before anything is downloaded or written.
#[test]
fn a_wrong_value_in_the_environment_is_refused_before_the_bake() {
    for (name, value) in [
        ("PKR_VAR_vm_size", "two cores"),
        ("PKR_VAR_public_ip_sku", "Premium"),
        ("PKR_VAR_client_cert_path", "./sp.pfx"),
    ] {
        let test = with_packer("exit 0")
            .env("PKR_VAR_client_id", "00000000-0000-0000-0000-000000000001")
            .env(
                "ARM_SUBSCRIPTION_ID",
                "00000000-0000-0000-0000-000000000002",
            )
            .env("ARM_CLIENT_CERTIFICATE_PATH", "/sp.pfx")
            .env(name, value);
        let test = test.line("--var auth=client_certificate");
        let ran = test.fails(3, &[name, "has a value that `"]);
        assert!(!ran.stderr.contains(value), "{}", ran.stderr);
        assert!(!test.exists("o"), "{name}");
    }
}

/// The name of it that Azure's other programs know, and that pipelines set.
#[test]
fn the_tenant_of_the_environment_is_that_of_the_build() {
    let script = "[ \"$1\" = build ] || exit 0\necho \"tenant $PKR_VAR_tenant_id\"\nexit 1";
    let tenant = "00000000-0000-0000-0000-000000000003";
    let test = with_packer(script)
        .env("ARM_CLIENT_ID", "00000000-0000-0000-0000-000000000001")
        .env(
            "ARM_SUBSCRIPTION_ID",
            "00000000-0000-0000-0000-000000000002",
        )
        .env("ARM_CLIENT_SECRET", "an-invented-secret")
        .env("ARM_TENANT_ID", tenant);
    test.fails(7, &[&format!("tenant {tenant}")]);
}

/// `gcloud` gets no access token, and would fail when the machine already runs.
#[test]
fn a_tunnel_needs_a_sign_in_that_gcloud_can_use() {
    Test::new()
        .line("plan --target gcp --k8s 1.36.0 --var auth=access_token --var network=iap")
        .fails(3, &["network `iap` needs auth"]);
}
