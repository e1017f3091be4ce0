//! Promote and retire: the commands of each platform, for the images that records of builds name and no others.

mod aws;
mod clone;
mod fleet;
mod foreign;
mod gone;
mod retire;
mod retirement;
mod vsphere;

use std::collections::BTreeSet;

use imagegen::catalog::Trees;
use imagegen::model::publication::{PublishedBy, StepCommands};
use imagegen::publish::load_publication;
use imagegen::selection::{SourceFolders, read_sources};
use serde_json::{Value, json};

use crate::support::Test;

const GALLERY: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.Compute/galleries/nodes\
                       /images/windows/versions/1.36.0";

const MANAGED: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.Compute/images/node-1";

const GLANCE: &str = "0b4c5a52-6d9e-4a1e-9b0c-0123456789ab";

const OCID: &str = "ocid1.image.oc1.eu-frankfurt-1.aaaabbbb";

/// A record of a build that succeeded.
pub struct Build<'a> {
    pub version: &'a str,
    pub kubernetes: &'a str,
    /// `YYYY-MM-DD`
    pub day: &'a str,
    pub target: &'a str,
    pub id: &'a str,
}

impl Default for Build<'_> {
    fn default() -> Self {
        Self {
            version: "one",
            kubernetes: "1.36.0",
            day: "2020-01-01",
            target: "openstack",
            id: GLANCE,
        }
    }
}

impl Build<'_> {
    pub fn record(&self) -> Value {
        let time = format!("{}T00:00:00Z", self.day);
        json!({
            "schema": "imagegen.dev/image/v1", "imageVersion": self.version, "target": self.target, "windows": "2022",
            "kubernetes": self.kubernetes, "lock": "0".repeat(64), "started": time, "finished": time,
            "builtBy": {"version": "0.1.0", "catalog": "0".repeat(64)},
            "artifacts": [{"builder": "of-the-target", "id": self.id}], "checked": 7,
        })
    }

    fn write(&self, test: Test, workspace: &str) -> Test {
        let path = format!("{workspace}/builds/{}/image.json", self.version);
        test.file(&path, &self.record().to_string())
    }
}

/// An image of Glance with a number of its own.
fn glance(number: usize) -> String {
    format!("0b4c5a52-6d9e-4a1e-9b0c-{number:012}")
}

/// Builds `1` to `count` of the years from 2001, in one workspace.
fn with_builds(count: usize) -> Test {
    (1..=count).fold(Test::new(), |test, number| {
        let build = Build {
            version: &number.to_string(),
            day: &format!("{}-01-01", 2000 + number),
            id: &glance(number),
            ..Build::default()
        };
        build.write(test, "imagegen-out/node")
    })
}

/// Versions of the images that a line has commands for, in their order.
fn list_versions(test: &Test, line: &str) -> Vec<String> {
    let printed = test.bare().prints(&format!("{line} --format json"));
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed["schema"], "imagegen.dev/publish/v1");
    let images = printed["images"].as_array().expect("images");
    let versions = images.iter().map(|it| it["imageVersion"].as_str());
    versions.map(|it| it.expect("version").to_owned()).collect()
}

fn trees() -> Trees {
    read_sources(&SourceFolders::default(), &[]).expect("trees")
}

#[test]
fn each_platform_has_its_commands() {
    let region = "eu-central-1:ami-0a,eu-west-1:ami-0b";
    for (target, id, line, expected) in [
        (
            "aws",
            region,
            "promote",
            "aws ec2 create-tags --region eu-west-1 --resources ami-0b --tags Key=imagegen-channel,Value=stable\n",
        ),
        (
            "aws",
            region,
            "promote --var accounts=111111111111,222222222222",
            "--operation-type add --user-ids 111111111111 222222222222\n",
        ),
        (
            "aws",
            region,
            "retire",
            "aws ec2 enable-image-deprecation --region eu-central-1 --image-id ami-0a --deprecate-at 2",
        ),
        (
            "aws",
            region,
            "retire --delete",
            "aws ec2 deregister-image --region eu-central-1 --image-id ami-0a --delete-associated-snapshots\n",
        ),
        (
            "azure",
            GALLERY,
            "promote",
            "--gallery-name nodes --gallery-image-definition windows --gallery-image-version 1.36.0 --set publishingProfile.excludeFromLatest=false\n",
        ),
        (
            "azure",
            GALLERY,
            "promote --var regions=westeurope=2,northeurope",
            "--target-regions westeurope=2 northeurope\n",
        ),
        (
            "azure",
            GALLERY,
            "retire --delete",
            "az sig image-version delete --subscription 00000000-0000-0000-0000-000000000001 --resource-group rg --gallery-name nodes",
        ),
        (
            "azure",
            MANAGED,
            "promote --channel canary",
            &format!(
                "az tag update --resource-id {MANAGED} --operation Merge --tags imagegen-channel=canary\n"
            ),
        ),
        (
            "azure",
            MANAGED,
            "retire --delete",
            &format!("az image delete --ids {MANAGED}\n"),
        ),
        (
            "gcp",
            "windows-2022",
            "promote --var project=images-1",
            "gcloud compute images deprecate windows-2022 --project=images-1 --state=ACTIVE\n",
        ),
        (
            "gcp",
            "windows-2022",
            "promote --var project=images-1 --var family=nodes",
            "--family=nodes\n",
        ),
        (
            "gcp",
            "windows-2022",
            "retire --delete --var project=images-1",
            "gcloud compute images delete windows-2022 --project=images-1 --quiet\n",
        ),
        (
            "oci",
            OCID,
            "retire --delete",
            &format!("oci compute image delete --image-id {OCID} --force\n"),
        ),
        (
            "vsphere",
            "windows-2025",
            "promote --var folder=/DC0/vm/templates",
            "govc fields.set -add -type VirtualMachine imagegen-channel stable /DC0/vm/templates/windows-2025\n",
        ),
        (
            "vsphere",
            "windows-2025",
            "retire --delete --var library=images",
            "govc library.rm /images/windows-2025\n",
        ),
        (
            "openstack",
            GLANCE,
            "promote",
            &format!(
                "openstack image set --unhidden --property imagegen_channel=stable {GLANCE}\n"
            ),
        ),
        (
            "openstack",
            GLANCE,
            "promote --var visibility=shared",
            &format!("openstack image set --shared {GLANCE}\n"),
        ),
        (
            "openstack",
            GLANCE,
            "retire",
            &format!("openstack image set --hidden --property imagegen_channel=retired {GLANCE}\n"),
        ),
    ] {
        let record = Build {
            target,
            id,
            ..Build::default()
        }
        .record();
        let test = Test::new().file("image.json", &record.to_string());
        let (verb, options) = line.split_once(' ').unwrap_or((line, ""));
        let printed = test.prints(&format!("{verb} image.json {options}"));
        assert!(printed.contains(expected), "{target} {line}: {printed}");
        for line in printed.lines() {
            assert!(!line.contains(['{', '}']), "{target} {line}");
            assert!(
                !line.contains("--user-ids") || options.contains("accounts"),
                "{line}"
            );
        }
    }
}

/// A target has commands, or the reason why it has none; the remedy is said.
#[test]
fn every_target_says_how_its_images_are_published() {
    let trees = trees();
    let mut with_commands = BTreeSet::new();
    for target in trees.packer.list_folders("targets") {
        let publication = load_publication(&trees, &target).expect("a file that can be used");
        let publication = publication.unwrap_or_else(|| panic!("{target} has no publication.json"));
        match publication.by {
            PublishedBy::Hand(manual) => {
                let record = Build {
                    target: &target,
                    ..Build::default()
                }
                .record();
                let test = Test::new().file("image.json", &record.to_string());
                test.line("promote image.json --run")
                    .fails(3, &[&manual.reason, &manual.remedy]);
            }
            PublishedBy::Program(program) => {
                with_commands.insert(target.clone());
                for image in program.images.as_slice() {
                    // Files have no platform that deletes them.
                    let StepCommands::Commands(delete) = &image.delete else {
                        assert!(image.title.contains("file"), "{target}: {}", image.title);
                        continue;
                    };
                    // The platform of one target answers a deletion of what is gone with success or a known error.
                    let last = delete.as_slice().last().expect("a command");
                    assert!(!last.already.is_empty(), "{target}: {:?}", last.arguments);
                }
            }
        }
    }
    let expected = ["aws", "azure", "gcp", "oci", "openstack", "vsphere"];
    assert_eq!(with_commands, expected.map(str::to_owned).into());
}

#[test]
fn a_step_without_commands_says_why() {
    let record = Build {
        target: "oci",
        id: OCID,
        ..Build::default()
    }
    .record();
    let test = Test::new().file("image.json", &record.to_string());
    test.line("promote image.json").fails(
        3,
        &[
            "promote of the custom image",
            "replaces all tags",
            "hint: write the OCID",
        ],
    );
}

/// Records come from other machines: an id is an argument, and never a flag or part of a script.
#[test]
fn an_id_of_another_form_is_refused() {
    for (target, id) in [
        ("openstack", "--help"),
        ("openstack", "$(reboot)"),
        ("aws", "eu-west-1:ami-0a; reboot"),
        ("aws", "eu-west-1:ami-0a,--all"),
        ("gcp", "-"),
        ("oci", "ocid1.image.oc1..a b"),
        ("azure", "/subscriptions/s/images/i"),
        (
            "azure",
            "/subscriptions/@.env/resourceGroups/--debug/providers/Microsoft.Compute/galleries/g/images/i/versions/1.0.0",
        ),
        (
            "azure",
            "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/--debug/providers/Microsoft.Compute\
             /galleries/g/images/i/versions/1.0.0",
        ),
        (
            "azure",
            "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.Compute\
             /galleries/g/images/-i/versions/1.0.0",
        ),
        ("vsphere", "-template"),
        (
            "azure",
            "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/r/providers/Microsoft.Compute/images/i/../../x",
        ),
    ] {
        let record = Build {
            target,
            id,
            ..Build::default()
        }
        .record();
        let test = Test::new().file("image.json", &record.to_string());
        let values = if target == "gcp" {
            "--var project=images-1"
        } else {
            ""
        };
        test.line(&format!("retire image.json --run {values}"))
            .fails(
                3,
                &[
                    "error: image.json: `",
                    "` has the form of no image of the target",
                ],
            );
    }
}

#[test]
fn values_are_named_where_they_are_missing_or_wrong() {
    let record = |target, id| {
        Build {
            target,
            id,
            ..Build::default()
        }
        .record()
        .to_string()
    };
    for (target, id, line, parts) in [
        (
            "gcp",
            "node-1",
            "promote image.json",
            &["the commands need `project`", "hint: add `--var project=…`"][..],
        ),
        (
            "gcp",
            "node-1",
            "promote image.json --var project=images-1 --var famly=a",
            &["--var famly", "did you mean `family`?"],
        ),
        (
            "gcp",
            "node-1",
            "promote image.json --var project=--all",
            &[
                "--var project: `--all` is not valid",
                "project of the image",
            ],
        ),
        (
            "aws",
            "eu-west-1:ami-0a",
            "promote image.json --var accounts=12",
            &["`12` is not valid"],
        ),
        (
            "oci",
            OCID,
            "retire --delete image.json --var a=b",
            &["--var a: no command has such a value", "leave it out"],
        ),
        (
            "openstack",
            GLANCE,
            "promote image.json --channel A",
            &["lower-case letters"],
        ),
        (
            "openstack",
            GLANCE,
            "promote nope",
            &["no record of the image version `nope`"],
        ),
        (
            "nope",
            GLANCE,
            "promote image.json",
            &[
                "the target nope does not say how its images are published",
                "publication.json",
            ],
        ),
    ] {
        let test = Test::new().file("image.json", &record(target, id));
        test.line(line).fails(3, parts);
    }
    for line in ["promote", "retire", "retire a --keep 1", "retire --keep -1"] {
        let code = if line.ends_with("-1") { 3 } else { 2 };
        let ran = Test::new().line(line).run();
        assert!(
            ran.code == Some(code) || ran.code == Some(2),
            "{line}: {}",
            ran.stderr
        );
    }
}

/// A lone build, the folder of its record, and a workspace with an image name the same.
#[test]
fn a_build_is_named_by_version_or_path() {
    let test = with_builds(2);
    let current = test.text("imagegen-out/node/builds/2/image.json");
    let test = test.file("imagegen-out/node/image.json", &current);
    for name in [
        "2",
        "imagegen-out/node",
        "imagegen-out/node/builds/2",
        "imagegen-out/node/image.json",
    ] {
        assert_eq!(
            list_versions(&test, &format!("promote {name}")),
            ["2"],
            "{name}"
        );
    }
    let ran = test.bare().run("promote imagegen-out/node/builds");
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.stderr.contains("2 records of builds, not one"),
        "{}",
        ran.stderr
    );
    let history = test.bare().prints("history --format json");
    let test = test.file("history.json", &history);
    assert_eq!(
        list_versions(&test, "retire --keep 1 --per line --from history.json"),
        ["1"]
    );
}

#[cfg(unix)]
fn make_executable(test: &Test, name: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = test.folder.join(name);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("mode");
}

#[cfg(not(unix))]
fn make_executable(_: &Test, _: &str) {}
