//! The real `aws` program against moto, in a network of their own.

use std::process::Command;

use serde_json::Value;

use super::Build;
use crate::bake::{read_requests, simulated_command, simulation};
use crate::support::{Test, needs};

const SCRIPT: &str = r#"set -eu
state() { aws ec2 describe-images --owners self --region eu-west-1 --output json > "$1.json"; }
for number in 1 2 3 4 5; do
    id=$(aws ec2 register-image --region eu-west-1 --name "node-$number" --root-device-name /dev/sda1 \
        --output text --query ImageId)
    if [ "$number" -lt 5 ]; then
        sed -i "s/ami-$number\"/$id\"/" "imagegen-out/node/builds/$number/image.json"
    fi
done
state before
imagegen promote 4 --var accounts=111111111111,222222222222
imagegen retire --keep 2
state printed
imagegen promote 4 --var accounts=111111111111,222222222222 --run
imagegen promote 4 --var accounts=111111111111,222222222222 --run
imagegen retire --keep 2 --run
imagegen retire --keep 2 --run
state retired
imagegen promote 1 --run
state promoted
imagegen retire 1 --run
imagegen retire --keep 2 --delete --run
state deleted
imagegen retire --keep 2 --delete --run --format json > again.json
imagegen retire --keep 2 --run
rm imagegen-out/node/builds/1/retirement.json
imagegen retire 1 --delete --run --format json > gone.json
rm imagegen-out/node/builds/1/retirement.json
if imagegen promote 1 --run; then exit 9; else echo "code $?" > gone; fi
"#;

/// By name of the image: its channel and whether it is deprecated.
fn read_state(test: &Test, name: &str) -> Vec<(String, String, bool)> {
    let state: Value = serde_json::from_str(&test.text(&format!("{name}.json"))).expect("JSON");
    let mut images = Vec::new();
    for image in state["Images"].as_array().expect("images") {
        let tags = image["Tags"].as_array().cloned().unwrap_or_default();
        let mut tags = tags.iter();
        let channel = tags.find(|tag| tag["Key"] == "imagegen-channel");
        images.push((
            image["Name"].as_str().expect("name").to_owned(),
            channel
                .map_or("", |tag| tag["Value"].as_str().expect("value"))
                .to_owned(),
            image["DeprecationTime"].is_string(),
        ));
    }
    images.sort();
    images
}

fn assert_state(test: &Test, name: &str, expected: &[(&str, &str, bool)]) {
    let found = read_state(test, name);
    let found: Vec<(&str, &str, bool)> = found.iter().map(|(a, b, c)| (&**a, &**b, *c)).collect();
    assert_eq!(found, expected, "{name}");
}

#[test]
fn the_real_program_promotes_retires_and_deletes() {
    if simulation().is_none() {
        return;
    }
    let Some(python) = needs("IMAGEGEN_TEST_MOTO", "moto") else {
        return;
    };
    let mut test = Test::new();
    for number in 1..=4 {
        let build = Build {
            version: &number.to_string(),
            day: &format!("2020-01-0{number}"),
            target: "aws",
            id: &format!("eu-west-1:ami-{number}"),
            ..Build::default()
        };
        test = build.write(test, "imagegen-out/node");
    }
    let records = test.folder.join("records");
    let program = env!("CARGO_BIN_EXE_imagegen");
    let folders = [&*python, program.as_ref()].map(|path| path.parent().expect("folder"));
    let path = format!(
        "{}:{}:/usr/bin:/bin",
        folders[0].display(),
        folders[1].display()
    );
    let script = format!("PATH='{path}'\nexport PATH\n{SCRIPT}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    let output = simulated_command(&command, &test.folder, &records, &["--cloud", "aws"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let new = ["node-1", "node-2", "node-3", "node-4", "node-5"].map(|name| (name, "", false));
    assert_state(&test, "before", &new);
    assert_state(&test, "printed", &new);
    // The third is kept, and no record names the fifth.
    let rest = [
        ("node-3", "", false),
        ("node-4", "stable", false),
        ("node-5", "", false),
    ];
    let retired = [("node-1", "retired", true), ("node-2", "retired", true)];
    assert_state(&test, "retired", &[&retired[..], &rest].concat());
    let promoted = [("node-1", "stable", false), ("node-2", "retired", true)];
    assert_state(&test, "promoted", &[&promoted[..], &rest].concat());
    assert_state(&test, "deleted", &rest);

    let again: Value = serde_json::from_str(&test.text("again.json")).expect("JSON");
    assert_eq!(again["images"].as_array().map(Vec::len), Some(0), "{again}");
    let again: Value = serde_json::from_str(&test.text("gone.json")).expect("JSON");
    assert_eq!(again["images"].as_array().map(Vec::len), Some(1), "{again}");
    for image in again["images"].as_array().expect("images") {
        assert_eq!(image["commands"][0]["state"], "already", "{again}");
    }
    assert_eq!(test.text("gone"), "code 7\n");
    let requests = read_requests(&records.join("aws.jsonl"));
    let shared = requests.iter().map(|request| request["body"].to_string());
    let mut shared = shared;
    assert!(
        shared.any(|body| body.contains("ModifyImageAttribute") && body.contains("222222222222")),
        "the image is shared"
    );
}
