//! Fleets of several targets and definitions.

use serde_json::json;

use super::{Build, OCID, glance, list_versions, make_executable, trees};
use crate::support::Test;

/// Two builds of OpenStack, and two of other targets with these ids.
fn with_others(target: &str, ids: [&str; 2]) -> Test {
    let mut test = Test::new();
    for number in [1, 2] {
        let day = format!("2020-01-0{number}");
        let id = glance(number);
        let own = Build {
            version: &format!("own-{number}"),
            day: &day,
            id: &id,
            ..Build::default()
        };
        let other = Build {
            version: &format!("other-{number}"),
            day: &day,
            target,
            id: ids[number - 1],
            ..Build::default()
        };
        test = own.write(test, "imagegen-out/own");
        test = other.write(test, "imagegen-out/other");
    }
    test
}

#[test]
fn images_that_are_published_by_hand_do_not_stop_the_others() {
    let files = ["image/1.qcow2", "image/2.qcow2"];
    let disks = ["image/disk-1.vmdk", "image/disk-2.vmdk"];
    let ocids = [format!("{OCID}1"), format!("{OCID}2")];
    let ocids = [&*ocids[0], &*ocids[1]];
    for (target, ids, parts) in [
        ("qemu", files, ["target qemu: the image is files", "hint: "]),
        (
            "vsphere",
            disks,
            ["retire of the file: the image is files", "hint: "],
        ),
        (
            "oci",
            ocids,
            ["retire of the custom image: ", "hint: write the OCID where"],
        ),
        (
            "nope",
            files,
            [
                "does not say how its images",
                "hint: add `publication.json`",
            ],
        ),
    ] {
        let test = with_others(target, ids);
        assert_eq!(list_versions(&test, "retire --keep 1"), ["own-1"]);
        let ran = test.bare().run("retire --keep 1");
        assert!(ran.stderr.contains("left out: other-1; "), "{}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
        // A build that the user names is refused.
        let ran = test.bare().run("retire other-1");
        assert_eq!(ran.code, Some(3), "{target}: {}", ran.stdout);
    }
}

/// One record of thousands may be of a target that was replaced, or changed by hand.
#[test]
fn a_record_of_no_image_does_not_stop_the_others() {
    let test = with_others("aws", ["--help", "$(reboot)"]);
    let own = glance(1);
    for line in ["retire --keep 1", "retire --keep 1 --format json"] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stdout);
        assert!(ran.stdout.contains(&own), "{line}: {}", ran.stdout);
        assert!(!ran.stdout.contains("--help"), "{line}: {}", ran.stdout);
        for part in [
            "`--help` has the form of no image of the target aws",
            "use the record that the build wrote, unchanged",
        ] {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
    }
    let ran = test.bare().run("retire --older-than 1");
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    for id in ["`--help`", "`$(reboot)`"] {
        assert!(ran.stderr.contains(id), "{id}: {}", ran.stderr);
    }
}

/// The place of files in a workspace is that of every build.
#[test]
fn files_of_one_name_are_two_images() {
    let mut test = Test::new();
    for number in [1, 2] {
        let build = Build {
            version: &number.to_string(),
            day: &format!("2020-01-0{number}"),
            target: "qemu",
            id: "image/disk.qcow2",
            ..Build::default()
        };
        let mut record = build.record();
        record["artifacts"][0]["files"] =
            json!([{"path": "image/disk.qcow2", "size": 1, "sha256": "0".repeat(64)}]);
        let path = format!("imagegen-out/q/builds/{number}/image.json");
        test = test.file(&path, &record.to_string());
    }
    let ran = test.bare().run("retire --keep 1");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("newer build"), "{}", ran.stderr);
    assert!(ran.stderr.contains("left out: 1; "), "{}", ran.stderr);
}

/// Records say what is published: of a definition, only the folders of targets matter.
#[test]
fn definitions_that_cannot_be_planned_together_publish() {
    let step = |windows: &str| {
        json!({"id": "hardening", "summary": windows, "phase": "install", "resources": [{
            "name": "no-autorun", "type": "registryValue", "source": "https://example.com",
            "properties": {"key": "HKLM:\\SOFTWARE\\X", "valueName": "N", "ensure": "present", "kind": "DWord", "data": 1},
        }]})
    };
    let definition = json!({"target": "host", "kubernetes": "1.36", "images": {
        "a": {"windows": "2022", "steps": ["steps-a"]}, "b": {"windows": "2025", "steps": ["steps-b"]},
    }});
    let conflict = Test::new()
        .file("imagegen.json", &definition.to_string())
        .file("steps-a/910-hardening.json", &step("2022").to_string())
        .file("steps-b/910-hardening.json", &step("2025").to_string());
    let broken = Test::new().file("imagegen.json", "{");
    for (test, code) in [(conflict, 0), (broken, 3)] {
        let test = Build::default()
            .write(test, "imagegen-out/node")
            .file("other/imagegen.json", &definition.to_string());
        for line in [
            "promote one",
            "retire one",
            "retire --older-than 1",
            "test-clone one --var flavor=a",
            "list images --config other/imagegen.json",
        ] {
            let ran = test.bare().run(line);
            assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
            assert!(!ran.stdout.is_empty(), "{line}");
        }
        for line in [
            "list images",
            "list targets",
            "retire --keep 1 --keep-current",
        ] {
            let ran = test.bare().run(line);
            assert_eq!(ran.code, Some(code), "{line}: {}", ran.stderr);
        }
    }
}

/// The definition of a pull request would run its program with the sign-in of whoever promotes.
#[test]
fn a_definition_does_not_choose_the_program_of_a_step() {
    let command = |verb: &str| json!({"commands": [{"arguments": [verb, "{id}"], "source": "https://example.com"}]});
    let own = json!({"by": {"program": {
        "name": "owned", "install": "https://example.com", "source": "https://example.com", "images": [{
            "id": ".+", "title": "the image", "source": "https://example.com", "promote": command("a"),
            "retire": command("b"), "delete": command("c"),
        }],
    }}})
    .to_string();
    let targets = &trees().packer;
    // `openstack` replaces a target of the program, `cloud` is new.
    for target in ["openstack", "cloud"] {
        let mut test = Test::new();
        for path in ["target.json", "source.pkr.hcl.tera"] {
            if let Some(bytes) = targets.get(&format!("targets/openstack/{path}")) {
                test = test.bytes(&format!("targets/{target}/{path}"), bytes);
            }
        }
        let definition = json!({"target": target, "kubernetes": "1.36", "targets": ["targets"]});
        let build = Build {
            target,
            ..Build::default()
        };
        let test = build
            .write(test, "imagegen-out/node")
            .file(&format!("targets/{target}/publication.json"), &own)
            .file("imagegen.json", &definition.to_string())
            .file("bin/owned", "#!/bin/sh\ntouch \"$HOME/ran\"\n");
        make_executable(&test, "bin/owned");
        let path = format!("{}/bin:/usr/bin:/bin", test.folder.display());
        let test = test.env("PATH", &path);
        for line in [
            "promote one",
            "retire one",
            "retire one --delete",
            "test-clone one",
        ] {
            let printed = test.bare().run(line);
            assert!(
                !printed.stdout.contains("owned"),
                "{line}: {}",
                printed.stdout
            );
            let ran = test.bare().run(&format!("{line} --run"));
            assert_ne!(ran.code, Some(0), "{line}");
            assert!(!test.exists("ran"), "{target} {line}: {}", ran.stderr);
            if target == "cloud" && line != "test-clone one" {
                let said = "a definition does not choose what runs";
                assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
            }
        }
        // Whoever runs the verb names the folder.
        let ran = test.bare().run("promote one --run --targets targets");
        assert!(ran.code == Some(0) && test.exists("ran"), "{}", ran.stderr);
    }
}

#[test]
fn current_lockfiles_are_those_of_a_definition_elsewhere() {
    let test = Build::default()
        .write(Test::new(), "imagegen-out/node")
        .file("fleet/imagegen.json", "{\"target\": \"openstack\"}");
    let ran = test.bare().run("retire --keep 1 --keep-current");
    assert!(ran.stderr.contains("`--config FILE`"), "{}", ran.stderr);
    let line = "retire --keep 1 --keep-current --config fleet/imagegen.json";
    assert_eq!(list_versions(&test, line), [""; 0]);
    let ran = test
        .bare()
        .run("retire --keep 1 --config fleet/imagegen.json");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn a_value_is_given_once() {
    let test = Build::default().write(Test::new(), "imagegen-out/node");
    for verb in ["promote", "retire", "test-clone"] {
        let line = format!("{verb} one --var visibility=shared --var visibility=public");
        let ran = test.bare().run(&line);
        assert_eq!(ran.code, Some(3), "{verb}: {}", ran.stdout);
        for part in ["--var visibility is given twice", "visibility=ONE,OTHER"] {
            assert!(ran.stderr.contains(part), "{}", ran.stderr);
        }
    }
}
