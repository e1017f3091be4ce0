//! The printed commands of a clone, as bash runs them.

use std::process::{Command, Stdio};

use crate::publish::{Build, GLANCE, MANAGED, make_executable};
use crate::support::{Test, program};

/// A platform with the output that every call of its program has.
struct Platform<'a> {
    target: &'a str,
    id: &'a str,
    values: &'a str,
    program: &'a str,
    says: &'a str,
    /// Start of the command that looks for machines.
    finds: &'a str,
    /// Commands of the deletion after it.
    deletes: &'a [&'a str],
    /// Parts of commands that test the image, with what earlier ones gave.
    tests: &'a [&'a str],
}

/// The values have spaces around them, and one has a space in it.
const PLATFORMS: [Platform<'_>; 6] = [
    Platform {
        target: "azure",
        id: MANAGED,
        values: "--var location=westeurope",
        program: "az",
        says: "false\nimagegen-clone-c-1\n",
        finds: "group show --subscription 00000000-0000-0000-0000-000000000001 --name imagegen-clone-c-1 ",
        deletes: &[
            "group delete --subscription 00000000-0000-0000-0000-000000000001 --name imagegen-clone-c-1 --yes --output none",
        ],
        tests: &["group exists ", "group create ", "vm create "],
    },
    Platform {
        target: "aws",
        id: "eu-west-1:ami-0a",
        values: "",
        program: "aws",
        says: "i-0a\ni-0b\n0a000000-0000-0000-0000-000000000001\n",
        finds: "ec2 describe-instances ",
        deletes: &[
            "ec2 terminate-instances --region eu-west-1 --instance-ids i-0a",
            "ec2 terminate-instances --region eu-west-1 --instance-ids i-0b",
        ],
        tests: &["--instance-id i-0a --command-id 0a000000-0000-0000-0000-000000000001 "],
    },
    Platform {
        target: "gcp",
        id: "node-1",
        values: "--var project=images-1 --var zone=europe-west1-b",
        program: "gcloud",
        says: "c-1\n",
        finds: "compute instances list ",
        deletes: &[
            "compute instances delete c-1 --project=images-1 --zone=europe-west1-b --delete-disks=all --quiet",
        ],
        tests: &["compute instances create c-1 "],
    },
    Platform {
        target: "openstack",
        id: GLANCE,
        values: "--var flavor=m1.large",
        program: "openstack",
        says: "0a000000-0000-0000-0000-000000000001 \n  0a000000-0000-0000-0000-000000000002\n",
        finds: "--os-compute-api-version 2.52 server list ",
        deletes: &[
            "server delete --wait 0a000000-0000-0000-0000-000000000001",
            "server delete --wait 0a000000-0000-0000-0000-000000000002",
        ],
        tests: &["console log show 0a000000-0000-0000-0000-000000000001\n"],
    },
    Platform {
        target: "vsphere",
        id: "node-1",
        values: "--var folder=/DC0/vm",
        program: "govc",
        says: "/DC0/vm/a b/imagegen-clone-c-1\nimagegen-test-clone={run}\n  Children:     0\n",
        finds: "find ",
        deletes: &[
            "object.collect -s /DC0/vm/a b/imagegen-clone-c-1/c-1 config.annotation",
            "vm.destroy /DC0/vm/a b/imagegen-clone-c-1/c-1",
            "folder.info /DC0/vm/a b/imagegen-clone-c-1",
            "object.destroy /DC0/vm/a b/imagegen-clone-c-1",
        ],
        tests: &["vm.power -on /DC0/vm/imagegen-clone-c-1/c-1\n"],
    },
    Platform {
        target: "oci",
        id: "ocid1.image.oc1.eu-frankfurt-1.aaaa",
        values: "--var compartment=ocid1.compartment.oc1..a --var availability_domain=A:B --var subnet=ocid1.subnet.oc1..a",
        program: "oci",
        says: "ocid1.instance.oc1..a\nocid1.instance.oc1..b\nocid1.instanceagentcommand.oc1..c\n",
        finds: "compute instance list ",
        deletes: &[
            "compute instance terminate --instance-id ocid1.instance.oc1..a --preserve-boot-volume false --force --wait-for-state SUCCEEDED",
            "compute instance terminate --instance-id ocid1.instance.oc1..b --preserve-boot-volume false --force --wait-for-state SUCCEEDED",
        ],
        tests: &[
            "--target {\"instanceId\":\"ocid1.instance.oc1..a\"} ",
            "--command-id ocid1.instanceagentcommand.oc1..c --instance-id ocid1.instance.oc1..a ",
        ],
    },
];

/// Runs what a verb prints. The program reads its whole input, as a real one may.
fn run_printed(platform: &Platform<'_>, options: &str, says: &str) -> String {
    let record = Build {
        target: platform.target,
        id: platform.id,
        ..Build::default()
    };
    let file = format!("bin/{}", platform.program);
    let test = Test::new()
        .file("image.json", &record.record().to_string())
        .file("ran", "")
        .file(
            &file,
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >> \"$HOME/ran\"\ncat > /dev/null\ncat \"$HOME/says\"\n",
        );
    make_executable(&test, &file);
    let values = platform.values;
    let printed = test.bare().prints(&format!(
        "test-clone image.json --clone c-1 {values} {options}"
    ));
    std::fs::write(test.folder.join("printed"), &printed).expect("printed");
    let says = says.replace("{run}", find_token(&printed));
    std::fs::write(test.folder.join("says"), says).expect("says");
    let output = Command::new("bash")
        .args(["-u", "printed"])
        .current_dir(&test.folder)
        .env("HOME", &test.folder)
        .env("PASSWORD", "secret")
        .env("PATH", "bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .output()
        .expect("bash");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "", "{}: {printed}", platform.target);
    test.text("ran")
}

/// The token of a run in its printed commands; nothing where every run is meant.
fn find_token(printed: &str) -> &str {
    let (_, marked) = printed
        .split_once("imagegen-test-clone=")
        .unwrap_or_default();
    let end = marked.find(|it: char| !it.is_ascii_hexdigit());
    &marked[..end.unwrap_or_default()]
}

#[test]
fn printed_commands_delete_every_machine_that_they_find() {
    if program("bash").is_none() {
        return;
    }
    for platform in &PLATFORMS {
        let ran = run_printed(platform, "--delete", platform.says);
        let (first, others) = ran.split_once('\n').expect("a command");
        assert!(first.starts_with(platform.finds), "{ran}");
        let deleted: Vec<&str> = others.lines().collect();
        assert_eq!(deleted, platform.deletes, "{}", platform.target);
    }
}

/// A program says `None` or explains that nothing is there.
#[test]
fn printed_commands_delete_nothing_that_they_do_not_find() {
    if program("bash").is_none() {
        return;
    }
    for platform in &PLATFORMS {
        for says in ["", "\n", "None\n", "Nothing: there is no such machine\n"] {
            let ran = run_printed(platform, "--delete", says);
            assert!(ran.starts_with(platform.finds), "{ran}");
            assert_eq!(ran.lines().count(), 1, "{}: {ran}", platform.target);
        }
    }
}

#[test]
fn printed_commands_test_the_machine_that_they_make() {
    if program("bash").is_none() {
        return;
    }
    for platform in &PLATFORMS {
        let ran = run_printed(platform, "", platform.says);
        for part in platform.tests.iter().chain(platform.deletes) {
            assert!(ran.contains(part), "{part}: {ran}");
        }
    }
}
