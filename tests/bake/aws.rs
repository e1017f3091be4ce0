//! The real Packer and its amazon plugin against moto, in a network of their own.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::support::targets::executed_versions;
use crate::support::{Test, needs};

use super::{assert_absent, guest, read_requests, simulated_command, simulation, with_packer_for};

const PLAN: &str = "plan --target aws --k8s 1.36.4 --windows 2022 --var region=eu-central-1";
const READY: &str =
    "build --target aws --k8s 1.36.4 --windows 2022 --out o --var region=eu-central-1";
const REPORT: &str = r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#;
const KEY: &str = "AKIAOFTHEPROFILE0000";
const SECRET: &str = "secret-of-the-profile-0000000000000000000";
/// See `fakeaws.py`.
const PASSWORD: &str = "fake-windows-password-51d0";

/// The environment has the keys of another account (see `run.py`): the profile of the definition signs in.
#[test]
fn the_real_packer_bakes_an_ami() {
    let Some(packer) = simulation() else { return };
    if needs("IMAGEGEN_TEST_MOTO", "moto").is_none() {
        return;
    }
    let profile =
        format!("[builds]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n");
    let test = Test::new()
        .file("imagegen.json", &executed_versions("aws"))
        .file("report.json", REPORT)
        .file("credentials", &profile)
        .line(READY)
        .stocked(PLAN)
        .line("--var auth=profile --var profile=builds --var source_ami_date=2026.08.12")
        .line(r#"--var ami_regions=["eu-west-1"] --var ami_users=["123456789012"] --var aws_tags={"team":"nodes"}"#)
        .args(["--packer", packer.to_str().expect("path")]);
    let records = test.folder.join("records");
    let report = test.folder.join("report.json");
    let mut command = test.command();
    command.env(
        "AWS_SHARED_CREDENTIALS_FILE",
        test.folder.join("credentials"),
    );
    let options = ["--cloud", "aws", "--report", report.to_str().expect("path")];
    let output = simulated_command(&command, &test.folder, &records, &options);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let log = fs::read(test.folder.join("o/packer.log")).unwrap_or_default();
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&log)
    );

    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    let id = image["artifacts"][0]["id"].as_str().expect("id");
    let mut regions: Vec<&str> = id
        .split(',')
        .filter_map(|it| it.split_once(":ami-"))
        .map(|it| it.0)
        .collect();
    regions.sort_unstable();
    assert_eq!(regions, ["eu-central-1", "eu-west-1"], "{image}");
    check_requests(&test, &records.join("aws.jsonl"));
    guest(&test, &records);
    for secret in [
        SECRET,
        PASSWORD,
        "fake-secret-key-9f2c-of-the-tests-00000000",
    ] {
        assert_absent(secret, &test, &said);
    }
}

struct Requests(Vec<Value>);

impl Requests {
    fn read(log: &Path) -> Self {
        Self(read_requests(log))
    }

    /// The first request of an action of EC2.
    #[track_caller]
    fn find<'a>(&'a self, action: &'a str) -> &'a Value {
        self.all(action)
            .next()
            .unwrap_or_else(|| panic!("no {action}"))
    }

    fn all<'a>(&'a self, action: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0
            .iter()
            .map(|request| &request["body"])
            .filter(move |body| body["Action"] == action)
    }

    /// The status of each answer to an action.
    fn list_answers(&self, action: &str) -> Vec<&Value> {
        let requests = self.0.iter();
        requests
            .filter(|request| request["body"]["Action"] == action)
            .map(|request| &request["status"])
            .collect()
    }

    fn count(&self, action: &str) -> usize {
        self.all(action).count()
    }
}

fn check_requests(test: &Test, log: &Path) {
    let requests = Requests::read(log);
    for request in &requests.0 {
        let signer = request["signer"].as_str().unwrap_or_default();
        assert!(signer.is_empty() || signer.contains(KEY), "{signer}");
    }
    let run = requests.find("RunInstances");
    assert_eq!(run["MetadataOptions.HttpTokens"], "required");
    assert_eq!(run["BlockDeviceMapping.1.Ebs.VolumeType"], "gp3");
    assert_eq!(run["InstanceType"], "m6i.xlarge");
    let user_data = STANDARD
        .decode(run["UserData"].as_str().expect("user-data"))
        .expect("base64");
    let script = test.text("o/winrm.ps1");
    assert_eq!(
        String::from_utf8_lossy(&user_data),
        format!("<powershell>\n{script}</powershell>\n")
    );

    let opened = requests.find("AuthorizeSecurityGroupIngress").to_string();
    assert!(
        opened.contains("203.0.113.7/32") && opened.contains("5986"),
        "{opened}"
    );
    assert!(!opened.contains("0.0.0.0/0"), "{opened}");

    let filters: String = requests
        .all("DescribeImages")
        .map(Value::to_string)
        .collect();
    assert!(
        filters.contains("Windows_Server-2022-English-Core-Base-2026.08.12"),
        "{filters}"
    );
    let name = requests.find("CreateImage")["Name"].as_str().expect("name");
    assert!(name.starts_with("windows-2022-k8s-1.36.4"), "{name}");
    assert_eq!(requests.find("CopyImage")["SourceRegion"], "eu-central-1");
    let shared = requests.find("ModifyImageAttribute").to_string();
    assert!(
        shared.contains("123456789012") && !shared.contains("\"all\""),
        "{shared}"
    );
    let tags: String = requests
        .0
        .iter()
        .map(|request| request["body"].to_string())
        .collect();
    assert!(
        tags.contains("imagegen-kubernetes") && tags.contains("\"nodes\""),
        "no tags"
    );

    for action in [
        "StopInstances",
        "TerminateInstances",
        "DeleteSecurityGroup",
        "DeleteKeyPair",
    ] {
        let answers = requests.list_answers(action);
        assert_eq!(answers.len(), 1, "{action}: {answers:?}");
    }
    for action in ["EnableFastLaunch", "RequestSpotInstances", "CreateFleet"] {
        assert_eq!(requests.count(action), 0, "{action}");
    }
}

/// What Packer gets of an environment in which every way to sign in is set.
#[test]
fn sign_in_is_what_the_definition_chooses() {
    let names = [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_ROLE_ARN",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_REGION",
    ];
    for (auth, kept, set, values) in [
        (
            "profile",
            &["AWS_SHARED_CREDENTIALS_FILE"][..],
            &["AWS_EC2_METADATA_DISABLED"][..],
            &[][..],
        ),
        (
            "access_key",
            &[],
            &["AWS_EC2_METADATA_DISABLED"],
            &["access_key", "secret_key"],
        ),
        (
            "session_token",
            &[],
            &["AWS_EC2_METADATA_DISABLED"],
            &["access_key", "secret_key", "token"],
        ),
        (
            "web_identity",
            &["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"],
            &["AWS_CONFIG_FILE"],
            &[],
        ),
        (
            "instance_role",
            &["AWS_CONTAINER_CREDENTIALS_FULL_URI"],
            &["AWS_CONFIG_FILE"],
            &[],
        ),
    ] {
        let line = format!("{READY} --var auth={auth}");
        let test = with_packer_for("env > \"$OUT/environment\"; exit 1", &line, PLAN);
        let test = names
            .iter()
            .fold(test, |test, name| test.env(name, &format!("of-{name}")));
        test.fails(7, &[]);
        let environment = test.text("o/environment");
        let has = |name: &str| {
            environment
                .lines()
                .any(|line| line.starts_with(&format!("{name}=")))
        };
        for name in names {
            let given = environment.contains(&format!("{name}=of-{name}\n"));
            assert_eq!(given, kept.contains(&name), "{auth}: {name}");
        }
        assert!(set.iter().all(|name| has(name)), "{auth}: {environment}");
        for name in ["access_key", "secret_key", "token"] {
            assert_eq!(
                has(&format!("PKR_VAR_{name}")),
                values.contains(&name),
                "{auth}: {name}"
            );
        }
    }
}
