//! Baking: with a Packer that misbehaves, and with the real one against a simulated Azure and a
//! simulated guest.

mod aws;
mod condense;
mod disc;
mod failures;
mod gcp;
mod inputs;
mod media;
mod members;
mod oci;
mod openstack;
mod private;
mod proxmox;
mod qemu;
mod secrets;
mod vsphere;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use imagegen::base::digest::sha256_hex;
use serde_json::Value;

use crate::scripts;
use crate::support::targets::{choose_plugins, executed_versions};
use crate::support::{Test, files, needs, program, root, waive_proofs, write_program};

const READY: &str = "build --target azure --k8s 1.20.0 --runtime containerd --host-access services --cni none --out o \
                     --var location=westeurope --var managed_image_resource_group_name=rg";

const PLAN: &str =
    "plan --target azure --k8s 1.20.0 --runtime containerd --host-access services --cni none";

/// A test with a program `packer` that is this shell script. Packer runs in a private folder that goes with the bake:
/// what the script notes for the test is put into `$OUT`.
pub fn with_packer(script: &str) -> Test {
    with_packer_for(script, READY, PLAN)
}

pub fn with_packer_for(script: &str, ready: &str, plan: &str) -> Test {
    let mut test = Test::new();
    let out = test.folder.join("o").display().to_string();
    let packer = format!("#!/bin/sh\nOUT='{out}'\n{script}\n");
    test = with_program(test, "packer", &packer);
    let program = test.folder.join("bin/packer").display().to_string();
    for name in ["az", "qemu-system-x86_64"] {
        test = with_program(test, name, "#!/bin/sh\n");
    }
    test.line(ready).stocked(plan).args(["--packer", &program])
}

/// A program that the PATH names first.
pub fn with_program(test: Test, name: &str, script: &str) -> Test {
    let folder = test.folder.join("bin");
    write_program(&folder.join(name), script);
    test.env("PATH", &format!("{}:/usr/bin:/bin", folder.display()))
}

pub const MANIFEST: &str = r#"cat > packer-manifest.json <<'M'
{"builds": [
  {"builder_type": "azure-arm", "artifact_id": "of an earlier run", "packer_run_uuid": "0"},
  {"builder_type": "azure-arm", "artifact_id": "/subscriptions/s/images/i", "packer_run_uuid": "1"}
], "last_run_uuid": "1"}
M"#;

pub const REPORT: &str = r#"echo '{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 7, "failed": 0}' > check-report.json"#;

/// Packer loads by name what lies in its folder, so what this run did not write ends the build before Packer starts.
#[test]
fn files_that_packer_would_load_are_this_runs() {
    let test = with_packer("echo started; exit 1");
    test.fails(7, &["started"]);
    for name in [
        "evil.auto.pkrvars.json",
        "Evil.AUTO.pkrvars.hcl",
        "evil.pkr.hcl",
        "evil.pkr.json",
        "packer-plugin-evil_v1.0.0_x5.0_linux_amd64",
    ] {
        let path = test.folder.join("o").join(name);
        fs::write(&path, "{}").expect("written");
        // The writer of the workspace refuses it (6), or the bake does (5).
        let ran = test.run();
        assert!(
            matches!(ran.code, Some(5 | 6)),
            "{:?}: {}",
            ran.code,
            ran.stderr
        );
        for said in [name, "--out"] {
            assert!(ran.stderr.contains(said), "{}", ran.stderr);
        }
        assert!(!ran.stderr.contains("started"), "{}", ran.stderr);
        fs::remove_file(&path).expect("removed");
    }
    // Without them the build goes on as before.
    test.fails(7, &["started"]);
}

#[test]
fn the_image_is_what_this_run_made() {
    let test = with_packer(&format!(
        "[ \"$1\" = build ] || exit 0\n{MANIFEST}\n{REPORT}"
    ));
    let ran = test.succeeds();
    assert_eq!(ran.stdout, "/subscriptions/s/images/i\n");
    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    assert_eq!(image["builtBy"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(image["artifacts"][0]["id"], "/subscriptions/s/images/i");
    assert_eq!(image["checked"], 7);
    assert_eq!(
        image["evidence"]["containerd"][0]["proof"], "pin",
        "{image:#}"
    );
    // The next build keeps it: a result is never overwritten.
    test.succeeds();
    let history: Value =
        serde_json::from_str(&test.bare().prints("history --from o --format json")).expect("JSON");
    let builds = history["builds"].as_array().expect("builds");
    assert_eq!(builds.len(), 2, "{history:#}");
    assert!(builds.iter().any(|it| it["record"] == image), "{history:#}");
}

/// Programs that the simulated cloud is made of.
pub fn simulation() -> Option<PathBuf> {
    let packer = needs("IMAGEGEN_TEST_PACKER", "Packer")?;
    for tool in ["python3", "unshare", "ip", "openssl"] {
        let there = Command::new("sh")
            .args(["-c", &format!("command -v {tool}")])
            .output()
            .expect("sh")
            .status
            .success();
        if !there {
            assert!(std::env::var_os("CI").is_none(), "CI installs {tool}");
            println!("skipped: needs {tool}");
            return None;
        }
    }
    Some(packer)
}

#[test]
fn the_real_packer_bakes_a_managed_image_and_a_gallery_version() {
    let Some(packer) = simulation() else { return };
    let test = Test::new()
        .file("imagegen.json", &executed_versions("azure"))
        .file("report.json", r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#)
        .line(READY)
        .stocked(PLAN)
        .args([
            "--var", "output=managed_image_and_gallery", "--var", "auth=client_secret",
            "--var", "gallery_resource_group=rg", "--var", "gallery_name=nodes",
            "--var", "gallery_image_name=windows-2019", "--var", "gallery_image_version=1.20.0",
            "--var", r#"gallery_replication_regions=["westeurope"]"#,
            "--packer",
        ])
        .args([packer.to_str().expect("path")]);
    let records = test.folder.join("records");
    let report = test.folder.join("report.json");
    let output = simulated(
        &test,
        &records,
        &["--report", report.to_str().expect("path")],
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&fs::read(test.folder.join("o/packer.log")).unwrap_or_default())
    );

    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    assert_eq!(image["checked"], 150);
    // The line that the target's `baseImageLine` reads; the builder does not resolve `latest`.
    let log = test.text("o/packer.log");
    assert!(
        log.contains(" -> SourceImageName: '/subscriptions/") && log.contains("/versions/latest'")
    );
    assert_eq!(image["baseImage"]["id"], Value::Null);
    assert!(
        image["artifacts"][0]["id"]
            .as_str()
            .expect("id")
            .contains("/windows-2019-k8s-1.20.0-20"),
        "{image}"
    );
    cloud(&fs::read_to_string(records.join("arm.jsonl")).expect("requests"));
    guest(&test, &records);
    no_secret(&test, &said);
}

/// Under a policy, Packer runs when the policy names its digest, with plugins that are pinned: here the plugin that
/// the tests have built, as an override.
fn trust_tools(test: Test, packer: &Path) -> Test {
    let folder = Path::new(&std::env::var_os("PACKER_PLUGIN_PATH").expect("plugins"))
        .join("github.com/hashicorp/azure");
    let plugin = files(&folder)
        .into_iter()
        .find(|(name, _)| !name.ends_with("_SHA256SUM"))
        .expect("plugin");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file(plugin.0, stored).expect("entry");
    std::io::Write::write_all(&mut archive, &plugin.1).expect("bytes");
    let archive = archive.finish().expect("zip").into_inner();
    let digest = sha256_hex(&archive);
    let mut overrides: Value = serde_json::from_str(&test.text("overrides.json")).expect("JSON");
    overrides["packer-plugin-azure"] =
        serde_json::json!({"url": "https://artifacts.example.com/plugin.zip", "sha256": digest});
    let mut policy: Value = serde_json::from_str(&test.text("policy.json")).expect("JSON");
    let program = sha256_hex(&fs::read(packer).expect("Packer"));
    policy["waivers"] = waive_proofs(PLAN);
    policy["trustedDigests"] = serde_json::json!([
        {"digest": program, "components": ["packer"]},
        {"digest": digest, "components": ["packer-plugin-azure"]},
    ]);
    test.bytes(
        &format!("store/objects/sha256/{}/{digest}", &digest[..2]),
        &archive,
    )
    .file("overrides.json", &overrides.to_string())
    .file("policy.json", &policy.to_string())
}

/// The payload that arrives is the one whose scripts the provider signed, and Packer's unsigned wrapper does no more
/// than start the engine under `AllSigned`.
#[test]
fn signed_scripts_reach_the_guest_as_they_were_signed() {
    let Some(packer) = simulation() else { return };
    if !scripts::tools() {
        return;
    }
    let test = scripts::provided(Test::new());
    scripts::sign(&test, "own");
    let test = test
        .file("imagegen.json", &executed_versions("azure"))
        .file("report.json", r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#)
        .line(READY)
        .stocked(PLAN)
        .line("--var auth=client_secret --policy policy.json --scripts scripts --packer")
        .args([packer.to_str().expect("path")]);
    let test = trust_tools(test, &packer);
    let records = test.folder.join("records");
    let report = test.folder.join("report.json");
    let output = simulated(
        &test,
        &records,
        &["--report", report.to_str().expect("path")],
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    guest(&test, &records);
    let events = fs::read_to_string(records.join("winrm/events.jsonl")).expect("events");
    assert!(
        events.contains("'AllSigned', '-File'") && !events.contains("& 'C:\\\\imagegen"),
        "{events}"
    );
    let payload = scripts::members(&test.read("o/payload.zip"));
    for (path, bytes) in files(&test.folder.join("scripts")) {
        if path != "scripts.json" && !path.starts_with("installer/") {
            assert_eq!(payload[&path], bytes, "{path}");
        }
    }
}

/// The test's command against the simulated cloud and guest.
fn simulated(test: &Test, records: &Path, options: &[&str]) -> std::process::Output {
    simulated_command(&test.command(), &test.folder, records, options)
}

pub fn simulated_command(
    inner: &Command,
    folder: &Path,
    records: &Path,
    options: &[&str],
) -> std::process::Output {
    let started = Instant::now();
    let output = Command::new("python3")
        .arg(root().join("tests/support/fakes/run.py"))
        .arg("--workdir")
        .arg(records)
        .args(options)
        .arg("--")
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("PACKER_PLUGIN_PATH", choose_plugins(inner, records))
        .envs(
            inner
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?)))
                .filter(|(name, _)| *name != "PATH"),
        )
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .expect("python3 starts");
    note_build(inner, started, &records.join("winrm/summary.json"));
    output
}

/// Time and traffic of a build, as a line of the file that `ci/measure/bench` asks for.
pub fn note_build(inner: &Command, started: Instant, summary: &Path) {
    let Some(file) = std::env::var_os("IMAGEGEN_BENCH") else {
        return;
    };
    let words = inner
        .get_args()
        .map(|word| word.to_string_lossy().into_owned());
    let target = words
        .skip_while(|word| word != "--target")
        .nth(1)
        .unwrap_or_default();
    let guest: Value = serde_json::from_slice(&fs::read(summary).expect("summary")).expect("JSON");
    let line = serde_json::json!({
        "target": target, "seconds": started.elapsed().as_secs_f64(),
        "requests": guest["requests"], "bytesUp": guest["bytesUp"],
    });
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .expect("file");
    writeln!(file, "{line}").expect("a line");
}

#[test]
fn an_interrupt_makes_the_real_packer_clean_up() {
    let Some(packer) = simulation() else { return };
    let test = Test::new()
        .file("imagegen.json", &executed_versions("azure"))
        .line(READY)
        .stocked(PLAN)
        .args([
            "--var",
            "auth=client_secret",
            "--packer",
            packer.to_str().expect("path"),
        ]);
    let records = test.folder.join("records");
    // The first script of the guest never ends; when it has begun, imagegen alone gets the signal.
    let hook = format!("1=kill -INT $(cat {}/command.pid)", records.display());
    let output = simulated(&test, &records, &["--hang", "1", "--hook", &hook]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    let requests = fs::read_to_string(records.join("arm.jsonl")).expect("requests");
    let deleted = requests
        .lines()
        .filter(|line| line.contains("\"DELETE\""))
        .count();
    assert!(deleted > 0, "Packer deleted nothing:\n{said}");
    assert!(!test.exists("o/image.json"));
}

/// What Azure was asked for.
fn cloud(log: &str) {
    let requests: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let put = |part: &str| {
        requests
            .iter()
            .find(|request| {
                request["method"] == "PUT"
                    && request["path"]
                        .as_str()
                        .is_some_and(|path| path.to_lowercase().contains(part))
            })
            .unwrap_or_else(|| panic!("no PUT of {part}"))
    };
    let image = put("/images/windows-2019-k8s-1.20.0");
    assert_eq!(image["body"]["location"], "westeurope");
    assert_eq!(image["body"]["tags"]["imagegen-kubernetes"], "1.20.0");
    let version = put("/galleries/nodes/images/windows-2019/versions/1.20.0");
    assert_eq!(
        version["body"]["properties"]["publishingProfile"]["targetRegions"][0]["name"],
        "westeurope"
    );
    let machine = requests
        .iter()
        .map(|request| request["body"].to_string())
        .find(|body| body.contains("Microsoft.Compute/virtualMachines"))
        .expect("a deployment");
    assert!(
        machine.contains("2019-datacenter-core-smalldisk-g2"),
        "{machine}"
    );
}

/// What a simulated cloud was asked for.
pub fn read_requests(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).expect("requests");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// What went over WinRM: the payload as it is in the workspace, few commands, little traffic.
pub fn guest(test: &Test, records: &Path) {
    let summary: Value = serde_json::from_str(
        &fs::read_to_string(records.join("winrm/summary.json")).expect("summary"),
    )
    .expect("JSON");
    let payload = imagegen::base::digest::sha256_hex(&test.read("o/payload.zip"));
    let events = fs::read_to_string(records.join("winrm/events.jsonl")).expect("events");
    assert!(events.contains(&payload), "the payload arrived whole");
    for phase in ["bootstrap", "prepare", "install", "test", "seal"] {
        assert!(events.contains(&format!("-Phase '{phase}'")), "{phase}");
    }
    assert!(
        summary["requests"].as_u64().expect("requests") < 500,
        "{summary}"
    );
    let up = summary["bytes_up"]
        .as_u64()
        .or_else(|| summary["bytesUp"].as_u64())
        .expect("bytes");
    assert!(up < 1_000_000, "{summary}");
    let build = test.text("o/build.pkr.hcl");
    assert!(build.matches("provisioner \"powershell\"").count() <= 6);
}

fn no_secret(test: &Test, said: &str) {
    assert_absent("fake-client-secret-9f2c", test, said);
}

/// What the plugins from 2.0 on ask Azure for; they are in no registry that the tests reach.
#[test]
fn the_simulated_azure_serves_newer_plugins() {
    if program("python3").is_none() {
        return;
    }
    let script = "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); import fakearm\n\
        cloud = fakearm.Cloud([], [])\n\
        ask = lambda method, path: cloud.decide(method, 'management.azure.com', path, {}, True)\n\
        group = '/subscriptions/s/resourceGroups/pkr-Resource-Group-abc'\n\
        assert ask('GET', group)[0] == 404, 'the temporary group is not there yet'\n\
        assert ask('PUT', group)[0] == 200 and ask('GET', group)[0] == 200\n\
        vault = group + '/providers/Microsoft.KeyVault/vaults/v/secrets/packerKeyVaultSecret'\n\
        secret = ask('GET', vault)[1]['properties']\n\
        assert secret['secretUriWithVersion'].startswith(secret['secretUri'] + '/'), secret\n\
        deployment = group + '/providers/Microsoft.Resources/deployments/d'\n\
        status, body, _ = ask('DELETE', deployment)\n\
        assert status in (202, 204) or (status == 200 and body), status\n\
        ask('DELETE', group)\n\
        assert ask('GET', group)[0] == 404, 'the temporary group was deleted'\n";
    let ran = Command::new("python3")
        .args(["-c", script])
        .arg(root().join("tests/support/fakes"))
        .output()
        .expect("python3 starts");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// Neither the output nor a file of the workspace has the secret.
pub fn assert_absent(secret: &str, test: &Test, said: &str) {
    assert!(!said.contains(secret));
    for (name, bytes) in files(&test.folder.join("o")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{name}");
    }
}
