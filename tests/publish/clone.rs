//! The clone of an image: made, tested, and deleted whatever happens.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use imagegen::model::clone_test::CloneTest;
use imagegen::model::publication::PublishedBy;
use imagegen::publish::load_publication;
use serde_json::{Value, json};

use super::{Build, GLANCE, make_executable, trees};
use crate::bake::{read_requests, simulated_command, simulation};
use crate::support::{Test, needs};

/// A target whose program writes down what it is called with. `$HOME/says` has what its machine prints.
fn with_cloud(program: &str) -> Test {
    let source = "https://example.com";
    let hand = json!({"hand": {"reason": "a", "remedy": "b", "source": source}});
    let publication = json!({"by": {"program": {
        "name": "cloudctl", "install": source, "source": source, "images": [{
            "id": "cloud-[0-9]+", "title": "the image", "source": source,
            "promote": hand, "retire": hand, "delete": hand,
            "testClone": {"recipe": {
                "source": source,
                "values": [
                    {"name": "size", "description": "size", "pattern": "[a-z]+", "default": "small"},
                    {"name": "net", "description": "network", "pattern": "[a-z]+", "optional": true},
                ],
                "test": [
                    {
                        "arguments": ["make", "{clone}", "{id}", "{size}"], "options": [["--net={net}"]],
                        "input": ["secret {password}"], "gives": {"name": "machine", "pattern": "m-[0-9]+"},
                        "patience": {"seconds": 600, "every": 0, "errors": ["busy"]}, "source": source,
                    },
                    {
                        "arguments": ["ask", "{machine}", "[{testJson}]"], "verdict": "verdict=(?<code>-?[0-9]+)",
                        "patience": {"seconds": 600, "every": 0}, "source": source,
                    },
                ],
                "delete": [
                    {"arguments": ["find", "{clone}"], "gives": {"name": "machine", "pattern": "m-[0-9]+"}, "source": source},
                    {"arguments": ["delete", "{machine}"], "already": [{"text": "gone"}], "source": source},
                ],
            }},
        }],
    }}});
    let record = Build {
        target: "cloud",
        id: "cloud-7",
        ..Build::default()
    };
    // The arguments in one line each; the script of the test is too long for a line.
    let program = format!("#!/bin/sh\necho \"$1 $2 $4 $5\" >> \"$HOME/ran\"\n{program}\n");
    let target = std::str::from_utf8(
        trees()
            .packer
            .get("targets/host/target.json")
            .expect("file"),
    )
    .expect("UTF-8")
    .replace("\"host\"", "\"cloud\"");
    let test = Test::new()
        .file("targets/cloud/target.json", &target)
        .file("targets/cloud/publication.json", &publication.to_string())
        .file("image.json", &record.record().to_string())
        .file("bin/cloudctl", &program)
        .env("PATH", "bin:/usr/bin:/bin");
    make_executable(&test, "bin/cloudctl");
    test
}

const LINE: &str = "test-clone image.json --targets targets --clone c-1";

/// The verbs of the program that ran, in their order.
fn list_ran(test: &Test) -> Vec<String> {
    let ran = test.text("ran");
    let words = ran.lines().filter_map(|line| line.split(' ').next());
    words.map(str::to_owned).collect()
}

#[test]
fn the_clone_is_made_asked_and_deleted() {
    let test = with_cloud(
        r#"case $1 in
make) cat > "$HOME/input"; [ -e "$HOME/made" ] && echo m-7 && exit 0; touch "$HOME/made"; echo busy >&2; exit 1 ;;
ask) printf %s "$3" > "$HOME/script"; [ -e "$HOME/asked" ] && echo 'verdict=0' && exit 0; touch "$HOME/asked" ;;
esac"#,
    );
    let printed = test.bare().prints(LINE);
    assert!(!test.exists("ran"), "nothing runs unasked");
    for part in [
        "machine=$(printf %s 'secret '\"$PASSWORD\" | cloudctl make c-1 cloud-7 small)\n",
        "cloudctl delete \"$machine\"\n",
        "# then, whatever happened before:\n",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }

    let ran = test
        .bare()
        .run(&format!("{LINE} --run --var net=a --format json"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let output: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(output["clones"][0]["state"], "passed");
    // The machine is known, so it is not looked for.
    assert_eq!(list_ran(&test), ["make", "make", "ask", "ask", "delete"]);
    assert!(
        test.text("ran").starts_with("make c-1 small --net=a\n"),
        "{}",
        test.text("ran")
    );
    let script: Vec<String> = serde_json::from_str(&test.text("script")).expect("JSON");
    assert!(
        script[0].contains("-File 'C:\\imagegen\\node\\Test-Node.ps1'"),
        "{}",
        script[0]
    );
    assert!(
        !script[0].contains(['#', '{']) || !script[0].contains("{node}"),
        "{}",
        script[0]
    );

    // The password is in the input of the program, and nowhere else.
    let input = test.text("input");
    let password = input.strip_prefix("secret ").expect("a password");
    assert!(password.len() > 30, "{input}");
    assert!(!ran.stderr.contains(password) && !test.text("ran").contains(password));
}

#[test]
fn the_exit_code_tells_whether_the_image_passed() {
    for (said, code, parts) in [
        ("echo 'verdict=0'", 0, &[][..]),
        (
            "echo 'a service is missing'; echo 'verdict=8'",
            8,
            &[
                "does not pass: its test ended with 8",
                "a service is missing",
            ][..],
        ),
        ("echo 'verdict=8'; echo 'verdict=0'", 0, &[]),
        (
            "echo 'not permitted' >&2; exit 1",
            7,
            &["not permitted", "the machine is deleted"],
        ),
    ] {
        let test = with_cloud(&format!("case $1 in make) echo m-7 ;; ask) {said} ;; esac"));
        let ran = test.bare().run(&format!("{LINE} --run"));
        assert_eq!(ran.code, Some(code), "{said}: {}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
        assert_eq!(list_ran(&test), ["make", "ask", "delete"], "{said}");
    }
}

/// The answer of the command that makes the machine may be lost: then the machine is looked for by its name.
#[test]
fn a_machine_whose_making_failed_is_found_and_deleted() {
    let test = with_cloud("case $1 in make) echo 'lost' >&2; exit 1 ;; find) echo m-9 ;; esac");
    let ran = test.bare().run(&format!("{LINE} --run"));
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(
        test.text("ran").ends_with("find c-1  \ndelete m-9  \n"),
        "{}",
        test.text("ran")
    );

    let test = with_cloud("case $1 in make) echo 'refused' >&2; exit 1 ;; esac");
    let ran = test.bare().run(&format!("{LINE} --run"));
    assert!(
        ran.stderr.contains("there is no machine c-1"),
        "{}",
        ran.stderr
    );
    assert_eq!(list_ran(&test), ["make", "find"]);
    assert_eq!(ran.code, Some(7));

    let ran = test.bare().run(&format!("{LINE} --run --delete"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(list_ran(&test), ["make", "find", "find"]);
}

#[test]
fn a_machine_that_stays_is_named() {
    let test = with_cloud(
        "case $1 in make) echo m-7 ;; ask) echo 'verdict=8' ;; delete) echo 'HTTP 500' >&2; exit 1 ;; esac",
    );
    let ran = test.bare().run(&format!("{LINE} --run"));
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    for part in [
        "before that: the clone of cloud-7 does not pass",
        "the machine c-1 may still be there",
        "HTTP 500",
        "hint: run the same with `--clone c-1 --delete`",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let test = with_cloud("case $1 in find) echo m-7 ;; delete) echo gone >&2; exit 1 ;; esac");
    let ran = test.bare().run(&format!("{LINE} --run --delete"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Starts the verb in a group of its own, and waits until a file is there.
#[cfg(unix)]
fn start_until(test: &Test, file: &str) -> Child {
    use std::os::unix::process::CommandExt as _;
    let path = format!("{}/bin:/usr/bin:/bin", test.folder.display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_imagegen"))
        .args(LINE.split(' '))
        .arg("--run")
        .current_dir(&test.folder)
        .env("PATH", path)
        .env("HOME", &test.folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("imagegen starts");
    wait_for(&test.folder.join(file), &mut child);
    child
}

#[cfg(unix)]
fn wait_for(file: &Path, child: &mut Child) {
    while !file.exists() {
        assert!(child.try_wait().expect("state").is_none(), "it ended early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[cfg(unix)]
fn send_signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
}

/// While a command runs, while the verb waits, and while it deletes, which the first interrupt does not end.
#[cfg(unix)]
#[test]
fn an_interrupt_deletes_the_machine() {
    let hangs = r#"touch "$HOME/there"; exec sleep 600"#;
    let waits = r#"touch "$HOME/there"; echo nothing yet"#;
    for (answer, signal) in [
        (hangs, "-INT"),
        (hangs, "-TERM"),
        (waits, "-INT"),
        (waits, "-HUP"),
    ] {
        let test = with_cloud(&format!(
            "case $1 in make) echo m-7 ;; ask) {answer} ;; esac"
        ));
        let child = start_until(&test, "there");
        send_signal(&child, signal);
        let ended = child.wait_with_output().expect("end");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(130), "{signal}: {said}");
        assert_eq!(
            list_ran(&test).last().expect("a command"),
            "delete",
            "{said}"
        );
        assert!(said.contains("deleting c-1"), "{said}");
    }

    let deletes = r#"touch "$HOME/deletes"; while [ ! -e "$HOME/go" ]; do sleep 0.01; done; touch "$HOME/deleted""#;
    let program =
        format!("case $1 in make) echo m-7 ;; ask) echo 'verdict=0' ;; delete) {deletes} ;; esac");
    let test = with_cloud(&program);
    let child = start_until(&test, "deletes");
    send_signal(&child, "-INT");
    std::fs::write(test.folder.join("go"), "").expect("go");
    let ended = child.wait_with_output().expect("end");
    assert!(
        test.exists("deleted"),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

#[test]
fn a_recipe_is_checked() {
    let test = with_cloud("");
    let publication = test.text("targets/cloud/publication.json");
    for (from, to, expected) in [
        (
            "{machine}\",\"[",
            "{mashine}\",\"[",
            "`{mashine}` is no placeholder",
        ),
        (
            "secret {password}",
            "secret {passwort}",
            "`{passwort}` is no placeholder",
        ),
        ("{size}", "{password}", "`{password}` is no placeholder"),
        ("(?<code>", "(?<kode>", "has no group `code`"),
        ("\"small\"", "\"7\"", "the default of `size` is not valid"),
        ("\"verdict\":", "\"already\": [], \"x\":", "unknown key `x`"),
    ] {
        assert!(publication.contains(from), "{from}: {publication}");
        let test = with_cloud("").file(
            "targets/cloud/publication.json",
            &publication.replace(from, to),
        );
        test.line(LINE).fails(3, &[expected]);
    }
    for (options, parts) in [
        ("--var size=A", &["--var size: `A` is not valid"][..]),
        ("--var nets=a", &["did you mean `net`?"]),
        (
            "--image-id cloud-8",
            &["the record does not name the image cloud-8"],
        ),
    ] {
        with_cloud("").line(LINE).line(options).fails(3, parts);
    }
}

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
            "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/images/node-1",
            "--var location=westeurope --var security_type=TrustedLaunch",
            &[
                "az group create --subscription s --name c-1 --location westeurope",
                "--public-ip-address ''",
                "--security-type TrustedLaunch",
                "printf %s \"$PASSWORD\" | az vm create",
                "az group delete --subscription s --name c-1 --yes",
            ][..],
        ),
        (
            "aws",
            "eu-west-1:ami-0a",
            "--var instance_profile=ssm",
            &[
                "--client-token c-1",
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
                "gcloud compute instances delete c-1",
            ],
        ),
        (
            "openstack",
            GLANCE,
            "--var flavor=m1.large --var network=nodes",
            &[
                "printf %s '#ps1_sysnative\n$code = 1\n",
                "--user-data /dev/stdin --wait c-1 --network nodes",
                "openstack server delete --wait c-1",
            ],
        ),
        (
            "vsphere",
            "node-1",
            "--var folder=/DC0/vm/t --var datastore=fast",
            &[
                "govc vm.clone -vm /DC0/vm/t/node-1 -on=false -folder /DC0/vm/t/c-1 ",
                " -ds fast c-1\n",
                " | base64 | tr -d '\\n' | govc vm.change -vm /DC0/vm/t/c-1/c-1 ",
                "own=$(govc find /DC0/vm/t/c-1 -maxdepth 0 -type f)\ngovc vm.destroy \"$own\"/c-1\n",
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
                "oci compute instance terminate",
            ],
        ),
    ] {
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
    for name in ["a", "1-a", "clone-", "clone-0123456789", "A-1"] {
        let ran = Test::new()
            .line(&format!("test-clone a --clone {name}"))
            .run();
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
    }
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
# This one is killed, and cannot clean up: the same name finds its machine.
imagegen test-clone silent.json --run --clone clone-2 2> killed.said &
verb=$!
until grep -q '(InvalidInstanceId)' killed.said; do sleep 0.1; done
kill -KILL "$verb"
wait "$verb" 2> ignored
count killed
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
        ("killed", "1"),
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
