//! Recipes of the platforms.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagegen::model::clone_test::CloneTest;
use imagegen::model::publication::PublishedBy;
use imagegen::publish::load_publication;

use crate::bake::{read_requests, simulated_command, simulation};
use crate::publish::{Build, GLANCE, trees};
use crate::support::{Test, needs};

/// A target has a recipe, or the reason why it has none.
#[test]
fn every_target_says_how_its_images_are_tested() {
    let trees = trees();
    let mut recipes = Vec::new();
    for target in trees.packer.list_folders("targets") {
        let publication = load_publication(&trees, &target).expect("a file that can be used");
        match publication.expect("a publication").by {
            PublishedBy::Hand(manual) => {
                let step = manual
                    .test_clone
                    .unwrap_or_else(|| panic!("{target}: no testClone"));
                let record = Build {
                    target: &target,
                    ..Build::default()
                };
                let test = Test::new().file("image.json", &record.record().to_string());
                test.line("test-clone image.json")
                    .fails(3, &[&step.reason, &step.remedy]);
            }
            PublishedBy::Program(program) => {
                for image in program.images.as_slice() {
                    let recipe = match &image.test_clone {
                        Some(CloneTest::Recipe(recipe)) => recipe,
                        Some(CloneTest::Hand(step)) => {
                            assert!(!step.remedy.is_empty(), "{target}: {}", image.title);
                            continue;
                        }
                        None => panic!("{target}: {} has no recipe", image.title),
                    };
                    // A deletion that is repeated, such as after a pipeline was killed, ends well.
                    let [.., last] = recipe.delete.as_slice() else {
                        panic!("{target}: nothing is deleted");
                    };
                    let finds = recipe.delete.as_slice().iter().any(|it| it.gives.is_some());
                    assert!(finds || !last.already.is_empty(), "{target}");
                    let password = |text: &String| text.contains("{password}");
                    for command in recipe.test.as_slice() {
                        assert!(!command.arguments.iter().any(password), "{target}");
                    }
                    recipes.push(format!("{target} {}", image.title));
                }
            }
        }
    }
    assert_eq!(recipes.len(), 7, "{recipes:?}");
}

#[test]
fn each_platform_makes_a_clone_without_a_way_in() {
    for (target, id, values, parts) in [
        (
            "azure",
            "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.Compute/images/node-1",
            "--var location=westeurope --var security_type=TrustedLaunch",
            &[
                "free=$(az group exists --subscription 00000000-0000-0000-0000-000000000001 --name imagegen-clone-c-1 | sed ",
                " '^(false)$') &&\naz group create --subscription 00000000-0000-0000-0000-000000000001 --name imagegen-clone-c-1 --location westeurope",
                "--public-ip-address ''",
                "--security-type TrustedLaunch",
                "printf %s \"$PASSWORD\" | az vm create",
                "--tags imagegen-test-clone=",
                "&&\nclaimed=$(az group show --subscription 00000000-0000-0000-0000-000000000001 --name imagegen-clone-c-1 --query ",
                " && tags.\"imagegen-test-clone\" != `null` && name' --output tsv | sed ",
                "| while read -r own; do\n  az group delete --subscription 00000000-0000-0000-0000-000000000001 --name \"$own\" --yes",
            ][..],
        ),
        (
            "aws",
            "eu-west-1:ami-0a",
            "--var instance_profile=ssm",
            &[
                "{Key=Name,Value=c-1}",
                "Name=tag:Name,Values=c-1 'Name=tag:imagegen-test-clone,Values=",
                "--iam-instance-profile Name=ssm",
                "--instance-ids \"$instance\"",
                "aws ec2 terminate-instances",
            ],
        ),
        (
            "gcp",
            "node-1",
            "--var project=images-1 --var zone=europe-west1-b",
            &[
                "--no-address",
                "--max-run-duration=2h",
                "--filter=name=c-1 AND labels.imagegen-test-clone:",
                "| while read -r own; do\n  gcloud compute instances delete \"$own\"",
            ],
        ),
        (
            "openstack",
            GLANCE,
            "--var flavor=m1.large --var network=nodes --var volume=60",
            &[
                "printf %s '#ps1_sysnative\n$code = 1\n",
                "--user-data /dev/stdin --wait --format value --column id c-1 --network nodes --boot-from-volume 60 --delete-on-termination",
                "--tag imagegen-test-clone: --tag imagegen-test-clone:",
                "--name '^c-1$' --tags imagegen-test-clone:",
                "openstack server delete --wait \"$server\"",
            ],
        ),
        (
            "vsphere",
            "node-1",
            "--var folder=/DC0/vm/t --var datastore=fast",
            &[
                "govc vm.clone -vm /DC0/vm/t/node-1 -on=false -folder /DC0/vm/t/imagegen-clone-c-1 ",
                " -ds fast c-1 &&\n",
                " | base64 | tr -d '\\n' | govc vm.change -vm /DC0/vm/t/imagegen-clone-c-1/c-1 ",
                "govc find /DC0/vm/t/imagegen-clone-c-1 -maxdepth 0 -type f | sed ",
                " '^(/.+)$' | while read -r own; do\n  mark=$(govc object.collect -s \"$own\"/c-1 config.annotation </dev/null | sed ",
                " '^(imagegen-test-clone=",
                ".*)$') &&\n  govc vm.destroy \"$own\"/c-1 </dev/null &&\n",
            ],
        ),
        (
            "oci",
            "ocid1.image.oc1.eu-frankfurt-1.aaaa",
            "--var compartment=ocid1.compartment.oc1..a --var availability_domain=A:B --var subnet=ocid1.subnet.oc1..a",
            &[
                "--assign-public-ip false",
                "'{\"ocpus\":2,\"memoryInGBs\":8}'",
                "'{\"instanceId\":\"'\"$instance\"'\"}'",
                "?\"freeform-tags\".\"imagegen-test-clone\" && starts_with(",
                "oci compute instance terminate",
            ],
        ),
    ] {
        // Nothing else of that name is deleted.
        assert!(
            parts.iter().any(|part| part.contains("imagegen")),
            "{target}"
        );
        let record = Build {
            target,
            id,
            ..Build::default()
        };
        let test = Test::new().file("image.json", &record.record().to_string());
        let printed = test.prints(&format!("test-clone image.json --clone c-1 {values}"));
        for part in parts {
            assert!(printed.contains(part), "{target}: {part}: {printed}");
        }
        // A name or value alone never names another machine.
        let deleted = test.bare().prints(&format!(
            "test-clone image.json --clone c-1 --delete {values}"
        ));
        assert!(
            deleted.contains("c-1") && !deleted.contains("Test-Node"),
            "{deleted}"
        );
    }
    // The API refuses processors and memory of another shape.
    let record = Build {
        target: "oci",
        id: "ocid1.image.oc1.eu-frankfurt-1.aaaa",
        ..Build::default()
    };
    let fixed = Test::new().file("image.json", &record.record().to_string());
    fixed
        .line("test-clone image.json --clone c-1 --var shape=VM.Standard2.1")
        .fails(
            3,
            &["--var shape: `VM.Standard2.1` is not valid", "flexible"],
        );
    for name in ["a", "1-a", "clone-", "clone-0123456789", "A-1"] {
        let ran = Test::new()
            .line(&format!("test-clone a --clone {name}"))
            .run();
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
    }
}

/// Oracle's Run Command takes 4 KB of text, which runs in a batch shell; its lines have at most 8,191 characters.
/// <https://docs.oracle.com/iaas/Content/Compute/Tasks/runningcommands.htm>
#[test]
fn oracle_runs_the_test_from_a_batch_shell() {
    let record = Build {
        target: "oci",
        id: "ocid1.image.oc1.eu-frankfurt-1.aaaa",
        ..Build::default()
    };
    let test = Test::new().file("image.json", &record.record().to_string());
    let values = "--var compartment=ocid1.compartment.oc1..a --var availability_domain=A:B --var subnet=ocid1.subnet.oc1..a";
    let printed = test.prints(&format!("test-clone image.json {values}"));
    let (_, after) = printed.split_once(r#""text":""#).expect("a text");
    let (text, _) = after.split_once('"').expect("an end");
    assert!(text.len() < 4096, "{}", text.len());
    let start = "@powershell.exe -NoProfile -NonInteractive -EncodedCommand ";
    let encoded = text.strip_prefix(start).expect("one command");
    let bytes = STANDARD.decode(encoded).expect("base64");
    let units = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let script = String::from_utf16(&units.collect::<Vec<u16>>()).expect("UTF-16");
    assert!(script.starts_with("$code = 1\n"), "{script}");
    assert!(
        script.contains("-File 'C:\\imagegen\\node\\Test-Node.ps1'"),
        "{script}"
    );
    assert!(script.ends_with("exit $code\n"), "{script}");
}

/// A subnet of the default VPC gives each machine a public address.
#[test]
fn aws_says_which_subnet_gives_a_public_address() {
    let publication = load_publication(&trees(), "aws").expect("a file that can be used");
    let Some(PublishedBy::Program(program)) = publication.map(|it| it.by) else {
        panic!("aws has commands");
    };
    let image = &program.images.as_slice()[0];
    let Some(CloneTest::Recipe(recipe)) = &image.test_clone else {
        panic!("aws has a recipe");
    };
    let mut values = recipe.values.iter();
    let subnet = values.find(|it| it.name == "subnet").expect("a subnet");
    assert!(
        subnet.description.contains("public IPv4 address"),
        "{subnet:?}"
    );
    assert!(!recipe.source.contains("client token"), "{}", recipe.source);
}

const SCRIPT: &str = r#"set -u
record() {
    id=$(aws ec2 register-image --region eu-west-1 --name "$1" --root-device-name /dev/sda1 --output text --query ImageId)
    sed "s/ami-0a/$id/" image.json > "$1.json"
}
count() {
    aws ec2 describe-instances --region eu-west-1 --output text --query 'Reservations[].Instances[].[State.Name]' \
        --filters Name=instance-state-name,Values=pending,running | wc -l > "$1"
}
for name in good drifted refused silent; do record "$name"; done
for name in good drifted refused; do
    imagegen test-clone "$name.json" --run 2> "$name.said"
    echo $? > "$name.code"
done
count ended
# The agent of this machine never reports: the verb waits, and is interrupted there.
imagegen test-clone silent.json --run --clone clone-1 2> silent.said &
verb=$!
until grep -q '(InvalidInstanceId)' silent.said; do sleep 0.1; done
count waiting
kill -TERM "$verb"
wait "$verb"
echo $? > silent.code
count interrupted
# These are killed, and cannot clean up: the same name finds their machines.
for run in 1 2; do
    rm -f killed.said
    touch killed.said
    imagegen test-clone silent.json --run --clone clone-2 2>> killed.said &
    verb=$!
    until grep -q '(InvalidInstanceId)' killed.said; do sleep 0.1; done
    kill -KILL "$verb"
    wait "$verb" 2> ignored
done
count killed
imagegen test-clone silent.json --clone clone-3 --delete > other.sh
bash other.sh
count spared
imagegen test-clone silent.json --run --clone clone-2 --delete
imagegen test-clone silent.json --run --clone clone-2 --delete
count deleted
"#;

#[test]
fn the_real_program_leaves_no_machine() {
    if simulation().is_none() {
        return;
    }
    let Some(python) = needs("IMAGEGEN_TEST_MOTO", "moto") else {
        return;
    };
    let build = Build {
        target: "aws",
        id: "eu-west-1:ami-0a",
        ..Build::default()
    };
    let test = Test::new().file("image.json", &build.record().to_string());
    let records = test.folder.join("records");
    let program = env!("CARGO_BIN_EXE_imagegen");
    let folders = [&*python, program.as_ref()].map(|path| path.parent().expect("folder"));
    let [python, program] = folders.map(Path::display);
    let script = format!("PATH='{python}:{program}:/usr/bin:/bin'\nexport PATH\n{SCRIPT}");
    let mut command = Command::new("bash");
    command.args(["-c", &script]);
    let output = simulated_command(&command, &test.folder, &records, &["--cloud", "aws"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    for (name, code, part) in [
        ("good", "0", "deleting clone-"),
        ("drifted", "8", "its test ended with 8"),
        ("refused", "7", "AccessDenied"),
        ("silent", "130", "deleting clone-1"),
    ] {
        let said = test.text(&format!("{name}.said"));
        assert_eq!(
            test.text(&format!("{name}.code")).trim(),
            code,
            "{name}: {said}"
        );
        assert!(said.contains(part), "{name}: {said}");
    }
    for (name, machines) in [
        ("ended", "0"),
        ("waiting", "1"),
        ("interrupted", "0"),
        ("killed", "2"),
        ("spared", "2"),
        ("deleted", "0"),
    ] {
        assert_eq!(test.text(name).trim(), machines, "{name}");
    }
    let requests = read_requests(&records.join("aws.jsonl"));
    let mut bodies = requests.iter().map(|request| request["body"].to_string());
    assert!(
        bodies
            .any(|body| body.contains("AWS-RunPowerShellScript") && body.contains("Test-Node.ps1")),
        "the script is sent"
    );
}
