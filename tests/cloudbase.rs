//! cloudbase-init's own code reads the configuration of our images and the user-data that `join-data` writes.
//! It runs on Linux, with stand-ins for what exists on Windows alone (`cloudbase/run.py`).

use std::path::{Path, PathBuf};
use std::process::Command;

use imagegen::model::definition::ImageDefinition;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use imagegen::windows::resource::{File, ResourceKind};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::targets::image_targets;
use crate::support::{needs, root};

/// The environments that `ci/programs/cloudbase/build` makes: the pinned release and the newest.
const RELEASES: [&str; 2] = ["1.1.8", "1.1.9"];

fn write_configuration(folder: &Path, target: &str, name: &str) -> PathBuf {
    let trees = read_trees(None).expect("the catalog");
    let selection = ImageDefinition {
        target: Some(target.to_owned()),
        kubernetes: Some("1.36.4".to_owned()),
        ..ImageDefinition::default()
    };
    let plan = resolve_plan(&selection, &trees).expect("a plan");
    let (guest, _) = predict_machine(&plan, &trees).expect("a machine");
    let find = |it: &ResourceKind| match it {
        ResourceKind::File(file) if file.path.ends_with(name) => {
            File::content(file).map(str::to_owned)
        }
        _ => None,
    };
    let text = guest
        .plan
        .resources
        .iter()
        .find_map(|it| find(&it.kind))
        .expect(name);
    write_settings(folder, &text)
}

/// A configuration of an image with a folder of this machine, which cloudbase-init opens for its log.
pub fn write_settings(folder: &Path, text: &str) -> PathBuf {
    let log = format!("logdir={}", folder.display());
    let mut settings = String::new();
    for line in text.lines() {
        settings += if line.starts_with("logdir=") {
            &log
        } else {
            line
        };
        settings.push('\n');
    }
    let path = folder.join("cloudbase-init.conf");
    std::fs::write(&path, settings).expect("written");
    path
}

/// The folder with an environment for each of the releases.
pub fn environments() -> Option<PathBuf> {
    needs("IMAGEGEN_TEST_CLOUDBASE", "ci/programs/cloudbase/build")
}

/// What cloudbase-init of an environment does with a configuration and user-data: see `cloudbase/run.py`.
pub fn run(environment: &Path, configuration: &Path, user_data: Option<&Path>) -> Value {
    let ran = Command::new(environment.join("bin/python"))
        .arg(root().join("tests/cloudbase/run.py"))
        .arg(configuration)
        .args(user_data)
        .output()
        .expect("python runs");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    serde_json::from_slice(&ran.stdout).expect("JSON")
}

#[test]
fn it_knows_every_option_and_class_of_our_configurations() {
    let Some(environments) = environments() else {
        return;
    };
    for release in RELEASES {
        for name in [r"\cloudbase-init.conf", r"\cloudbase-init-unattend.conf"] {
            let folder = TempDir::new().expect("a folder");
            let path = write_configuration(folder.path(), "azure", name);
            let told = run(&environments.join(release), &path, None);
            assert_eq!(
                (&told["unknown"], &told["missing"]),
                (&json!([]), &json!([])),
                "{release} {name}"
            );
            // An option that nobody knows is found, or the comparison above is worth nothing.
            let text = std::fs::read_to_string(&path).expect("text") + "no_such_option=1\n";
            std::fs::write(&path, text).expect("written");
            let told = run(&environments.join(release), &path, None);
            assert_eq!(
                told["unknown"],
                json!(["DEFAULT.no_such_option"]),
                "{release} {name}"
            );
        }
    }
}

/// Where the platform has made the account of its customer, nothing renames it or gives it another password.
#[test]
fn it_leaves_the_customers_account_alone() {
    let Some(environments) = environments() else {
        return;
    };
    for release in RELEASES {
        let folder = TempDir::new().expect("a folder");
        let path = write_configuration(folder.path(), "aws", r"\cloudbase-init.conf");
        let told = run(&environments.join(release), &path, None);
        assert_eq!(told["calls"], json!([]), "{release}");
    }
}

/// On Azure the account has the password of the customer at the end, whether the platform or cloudbase-init made it.
#[test]
fn it_gives_the_customers_account_the_customers_password() {
    let Some(environments) = environments() else {
        return;
    };
    for release in RELEASES {
        let folder = TempDir::new().expect("a folder");
        let path = write_configuration(folder.path(), "azure", r"\cloudbase-init.conf");
        let told = run(&environments.join(release), &path, None);
        let calls = told["calls"].as_array().expect("calls");
        let is_of = |call: &&Value, name: &str| call[0] == name;
        assert!(
            !calls.iter().any(|call| is_of(&call, "rename_user")),
            "{told}"
        );
        let last = calls.iter().rfind(|call| is_of(call, "set_user_password"));
        let expected = json!(["set_user_password", "customer", "chosen"]);
        assert_eq!(last, Some(&expected), "{release}: {told}");
    }
}

/// Names that differ after 15 characters are those of different nodes.
#[test]
fn it_gives_each_machine_the_whole_of_its_name() {
    let Some(environments) = environments() else {
        return;
    };
    for release in RELEASES {
        for target in image_targets() {
            let folder = TempDir::new().expect("a folder");
            let path = write_configuration(folder.path(), &target.name, r"\cloudbase-init.conf");
            let told = run(&environments.join(release), &path, None);
            let expected = json!(["node-a", "ip-172-31-16-100", "ip-172-31-16-109"]);
            assert_eq!(told["names"], expected, "{release} {}", target.name);
        }
    }
}

#[test]
fn our_user_data_writes_the_configuration_and_joins() {
    let Some(environments) = environments() else {
        return;
    };
    for release in RELEASES {
        for name in ["1.36.4.cloud-config.yaml", "1.36.4.mime", "1.20.0.ps1"] {
            let folder = TempDir::new().expect("a folder");
            let path = write_configuration(folder.path(), "azure", r"\cloudbase-init.conf");
            let told = run(
                &environments.join(release),
                &path,
                Some(&root().join("tests/golden/join").join(name)),
            );
            let ran = |call: &&Value| call[0] == "powershell" || call[0] == "shell";
            let calls = told["calls"].as_array().expect("calls");
            let call = calls.iter().find(ran);
            let call = call.unwrap_or_else(|| panic!("{release} {name}: {told}"));
            let script = call[1].as_str().expect("a script");
            assert!(
                script.contains(r"C:\imagegen\node\Join-Node.ps1"),
                "{release} {name}: {script}"
            );
            if name == "1.20.0.ps1" {
                // In 64 bits; it writes the file itself.
                assert_eq!(call[2], json!(true), "{release} {name}");
                assert!(
                    script.contains(r"C:\etc\kubernetes\join-config.yaml"),
                    "{release} {name}: {script}"
                );
                continue;
            }
            let written = told["files"][r"C:\etc\kubernetes\join-config.yaml"].as_str();
            let written = written.unwrap_or_else(|| panic!("{release} {name}: {told}"));
            let configuration: Value = serde_yaml_ng::from_str(written).expect("YAML");
            assert_eq!(
                configuration["kind"], "JoinConfiguration",
                "{release} {name}: {written}"
            );
            assert!(
                !configuration["discovery"]["bootstrapToken"]["token"].is_null(),
                "{release} {name}"
            );
        }
    }
}
