//! Targets of a user, and what a target says of its platform.

use serde_json::{Value, json};

use super::{OWN, exported, lint, machine, step_properties, target};
use crate::publish::Build;
use crate::support::Test;

#[test]
fn a_target_with_the_name_of_another_is_refused() {
    let said = [
        "targets/cloud/target.json",
        "`name` is `azure`",
        "the name of the folder",
    ];
    let copied = |line: &str| {
        let test = target(exported(), "azure", "cloud", |_, content| {
            content.to_owned()
        });
        test.line(line).line(OWN)
    };
    for line in ["list targets", "plan --target cloud --k8s 1.36"] {
        copied(line).fails(3, &said);
    }

    // The lint prints what it finds.
    let ran = copied("catalog lint").run();
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for part in said {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn a_target_is_its_folder_and_the_component_of_its_plugin() {
    let rename = |text: &str| {
        text.replace("\"qemu\"", "\"cloud\"")
            .replace("hashicorp/qemu", "example/cloud")
            .replace("QEMU/KVM", "A cloud")
            .replace("    qemu = {", "    cloud = {")
    };
    let test = target(exported(), "qemu", "cloud", |_, text| rename(text));
    let plugin = test.text("catalog/components/packer-plugin-qemu.json");
    let plugin = plugin.replace("packer-plugin-qemu", "packer-plugin-cloud");
    let publication = json!({"by": {"program": {
        "name": "cloudctl", "install": "https://example.com", "source": "https://example.com", "images": [{
            "id": "cloud-[0-9]+", "title": "the image", "source": "https://example.com",
            "promote": {"commands": [{"arguments": ["{verb}", "{id}"], "source": "https://example.com"}]},
            "retire": {"hand": {"reason": "a", "remedy": "b", "source": "https://example.com"}},
            "delete": {"hand": {"reason": "a", "remedy": "b", "source": "https://example.com"}},
        }],
    }}})
    .to_string();
    let published = Build {
        target: "cloud",
        id: "cloud-7",
        ..Build::default()
    };
    let test = test
        .file("catalog/components/packer-plugin-cloud.json", &plugin)
        .file("published.json", &published.record().to_string())
        .file("targets/cloud/publication.json", &publication);
    let found = test.run_with(&format!("catalog lint {OWN}")).stdout;
    assert!(found.contains("`{verb}` is no placeholder"), "{found}");
    let publication = publication.replace("{verb}", "promote");
    let test = test.file("targets/cloud/publication.json", &publication);
    lint(&test);
    let listed = test.prints(&format!("list targets {OWN}"));
    assert!(
        listed.contains("cloud ") && listed.contains("A cloud (cloud, plugin cloud"),
        "{listed}"
    );
    assert!(
        listed.contains("azure ") && listed.contains("qemu "),
        "{listed}"
    );
    let selection = "--target cloud --k8s 1.36.4 --windows 2025";
    assert!(
        test.prints(&format!("plan {selection} {OWN}"))
            .contains("A cloud, Windows Server 2025")
    );
    assert!(
        machine(&test, selection)["resources"]
            .as_array()
            .is_some_and(|all| all.len() > 100)
    );
    assert!(
        test.prints(&format!("explain cpu_model {selection} {OWN}"))
            .contains("cpu_model")
    );
    test.prints(&format!("build --no-bake --out o {selection} {OWN}"));
    assert!(
        test.text("o/source.pkr.hcl")
            .contains(r#"source "cloud" "node""#)
    );
    assert!(
        test.text("o/build.pkr.hcl")
            .contains(r#""source.cloud.node""#)
    );
    assert!(
        test.text("o/plugins.pkr.hcl")
            .contains("github.com/example/cloud")
    );
    let published = test.run_with(&format!("promote published.json {OWN}"));
    assert!(
        published.stdout.ends_with("cloudctl promote cloud-7\n"),
        "{}",
        published.stderr
    );
    // However wide the form of an id is, no part of one is read as an option or a file.
    let wide = publication.replace("cloud-[0-9]+", "(?<group>[^/]+)/.+");
    let mut test = test.file("targets/cloud/publication.json", &wide);
    for id in ["--debug/a", "@.env/a", "file:x/a", "-"] {
        let record = Build {
            target: "cloud",
            id,
            ..Build::default()
        };
        test = test.file("published.json", &record.record().to_string());
        let refused = test.run_with(&format!("promote published.json {OWN}"));
        assert_eq!(refused.code, Some(3), "{id}: {}", refused.stdout);
        assert_eq!(refused.stdout, "", "{id}");
    }
    let unknown = Test::new().line("plan --k8s 1.36.4 --target cloud");
    unknown.fails(3, &["unknown target `cloud`"]);
}

/// Windows refuses to install Hyper-V on a machine without hardware virtualization, after the machine is paid for.
#[test]
fn hyper_v_is_refused_on_machines_that_cannot_run_it() {
    let plan = |rest: &str| {
        Test::new().line(&format!(
            "plan --k8s 1.36.4 --feature hyper-v --target {rest}"
        ))
    };
    for (machine, remedy) in [
        ("aws", "--var instance_type=c6i.metal"),
        ("gcp", "remove `--feature hyper-v`"),
        ("oci", "--var shape=BM.Standard.E4.128"),
        ("vsphere", "--var nested_virtualization=true"),
        (
            "vsphere --var nested_virtualization=false",
            "--var nested_virtualization=true",
        ),
        ("hyperv", "--var enable_virtualization_extensions=true"),
    ] {
        plan(machine).fails(3, &["hypervisor-unavailable", remedy]);
    }
    for machine in [
        "aws --var instance_type=m5.metal",
        "oci --var shape=BM.Standard.E4.128",
        "vsphere --var nested_virtualization=true",
        "hyperv --var enable_virtualization_extensions=true",
        "azure",
        "host",
    ] {
        plan(machine).succeeds();
    }
}

/// The console stands on the port that the platform shows, and cloudbase-init leaves it alone.
#[test]
fn a_serial_console_is_that_of_the_platform() {
    let render = |target: &str, feature: &str| {
        Test::new().line(&format!(
            "build --no-bake --out o --k8s 1.36.4 --windows 2022 --target {target}{feature}"
        ))
    };
    let log = "logging_serial_port_settings";
    for (target, expected, logs) in [
        ("azure", "1 1 115200 1", true),
        ("aws", "1 1 115200 1", false),
        (
            "gcp --var project_id=example-project --var zone=europe-west3-a",
            "1 2 115200 1",
            true,
        ),
    ] {
        let with = render(target, " --feature serial-console");
        with.succeeds();
        let console =
            &step_properties(&with, "serial-console")["serial-console/emergency-management"];
        assert_eq!(console["expected"], expected, "{target}");
        let port = format!("'EMSPORT:' + '{}'", &expected[2..3]);
        assert!(
            console["set"].as_str().expect("script").contains(&port),
            "{target}"
        );
        assert_eq!(
            with.text("o/guest-plan.json").contains(log),
            logs,
            "{target}"
        );

        let without = render(target, "");
        without.succeeds();
        assert!(
            step_properties(&without, "serial-console").is_empty(),
            "{target}"
        );
        assert!(without.text("o/guest-plan.json").contains(log), "{target}");
    }
    for target in ["host", "nutanix", "vsphere"] {
        let line = format!("plan --k8s 1.36.4 --feature serial-console --target {target}");
        let said = [
            "needs a serial console",
            "remove `--feature serial-console`",
        ];
        Test::new().line(&line).fails(3, &said);
    }
}

#[test]
fn a_target_whose_clones_have_no_account_is_found() {
    let without = |file: &str, text: &str| {
        let mut value = text.to_owned();
        if file == "target.json" {
            let mut target: Value = serde_json::from_str(text).expect("JSON");
            let main = &mut target["kind"]["image"]["platform"]["cloudbaseInit"]["main"];
            let plugins = main["plugins"].as_array_mut().expect("plugins");
            plugins.retain(|name| !name.as_str().is_some_and(|it| it.contains("createuser")));
            value = target.to_string();
        }
        value
    };
    let test = target(exported(), "openstack", "openstack", without);
    let ran = test.line(&format!("catalog lint {OWN}")).fails(3, &[]);
    assert!(
        ran.stdout.contains("a clone has no account"),
        "{}",
        ran.stdout
    );
}
