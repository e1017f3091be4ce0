//! Baking: with a Packer that misbehaves, and with the real one against a simulated Azure and a
//! simulated guest.

mod aws;
mod condense;
mod disc;
mod gcp;
mod media;
mod oci;
mod openstack;
mod private;
mod proxmox;
mod qemu;
mod vsphere;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use imagegen::base::digest::sha256_hex;
use serde_json::Value;

use crate::scripts;
use crate::support::targets::executed_versions;
use crate::support::{Test, files, needs, program, root, waive_proofs};

const READY: &str = "build --target azure --k8s 1.20.0 --host-access services --out o \
                     --var location=westeurope --var managed_image_resource_group_name=rg";

const PLAN: &str = "plan --target azure --k8s 1.20.0 --host-access services";

/// A test with a program `packer` that is this shell script. Packer runs in a private folder that goes with the bake:
/// what the script notes for the test is put into `$OUT`.
pub fn with_packer(script: &str) -> Test {
    with_packer_for(script, READY, PLAN)
}

pub fn with_packer_for(script: &str, ready: &str, plan: &str) -> Test {
    use std::os::unix::fs::PermissionsExt as _;
    let test = Test::new();
    let out = test.folder.join("o").display().to_string();
    let test = test.file("bin/packer", &format!("#!/bin/sh\nOUT='{out}'\n{script}\n"));
    let program = test.folder.join("bin/packer");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("mode");
    let program = program.display().to_string();
    test.line(ready).stocked(plan).args(["--packer", &program])
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

#[test]
fn a_packer_that_fails_is_told_apart() {
    for (script, code, said) in [
        (
            "echo 'Error: no such region'; exit 1".to_owned(),
            7,
            "packer init failed with exit code 1\n  Error: no such region",
        ),
        (
            "[ $1 = validate ] && { echo bad >&2; exit 3; }; exit 0".to_owned(),
            7,
            "packer validate failed with exit code 3\n  bad",
        ),
        (
            "[ $1 = build ] && { echo boom; exit 1; }; exit 0".to_owned(),
            7,
            "packer build failed with exit code 1\n  boom",
        ),
        (
            "[ $1 = build ] && kill -9 $$; exit 0".to_owned(),
            7,
            "packer build was killed",
        ),
        ("exit 0".to_owned(), 7, "the machine sent none"),
        (
            format!("[ $1 = build ] && {REPORT}; exit 0"),
            7,
            "its manifest has no image: there is no packer-manifest.json",
        ),
        (
            format!(
                "[ $1 = build ] && {{ {REPORT}; echo '{{}}' > packer-manifest.json; }}; exit 0"
            ),
            7,
            "no artifact of this run",
        ),
        (
            "[ $1 = build ] && : > check-report.json; exit 0".to_owned(),
            7,
            "the check report of the baked machine cannot be read",
        ),
    ] {
        let test = with_packer(&script);
        test.fails(code, &[said]);
        assert!(
            test.exists("o/packer.log") && !test.exists("o/image.json"),
            "{script}"
        );
        // What a failed bake leaves does not stand in the way of the next one.
        test.fails(code, &[said]);
    }
}

#[test]
fn secrets_that_a_plugin_would_change_are_refused() {
    let id = "00000000-0000-0000-0000-000000000001";
    let test = with_packer("echo started; exit 1").env("ARM_CLIENT_SECRET", "a{{pwd}}b");
    let test = test
        .env("ARM_CLIENT_ID", id)
        .env("ARM_SUBSCRIPTION_ID", id)
        .args(["--var", "auth=client_secret"]);
    let ran = test.fails(3, &["PKR_VAR_client_secret contains `{{`"]);
    assert!(
        !ran.stderr.contains("pwd") && !ran.stderr.contains("started"),
        "{}",
        ran.stderr
    );
}

#[test]
fn secrets_that_cannot_be_masked_are_refused() {
    let id = "00000000-0000-0000-0000-000000000001";
    for secret in ["x", "abc", " abc\n"] {
        let test = with_packer("echo started; exit 1")
            .env("ARM_CLIENT_SECRET", secret)
            .env("ARM_CLIENT_ID", id);
        let test = test
            .env("ARM_SUBSCRIPTION_ID", id)
            .args(["--var", "auth=client_secret"]);
        let ran = test.fails(3, &["PKR_VAR_client_secret is shorter than 4 characters"]);
        assert!(
            !ran.stderr.contains("started") && !test.exists("o/packer.log"),
            "{}",
            ran.stderr
        );
    }
}

/// What a guest prints ends up in Packer's output, whatever the length of its lines.
#[test]
fn lines_without_end_are_cut() {
    let test = with_packer("head -c 200000 /dev/zero | tr '\\0' 'x'; exit 1");
    test.fails(7, &["packer init failed with exit code 1"]);
    let log = test.text("o/packer.log");
    assert!(log.lines().count() > 10 && log.lines().all(|line| line.len() <= 16 << 10));
    assert_eq!(log.bytes().filter(|byte| *byte == b'x').count(), 200_000);
}

/// A secret that is cut where a line is cut is masked all the same.
#[test]
fn a_secret_that_is_cut_is_masked() {
    let print =
        "head -c 16370 /dev/zero | tr '\\0' 'x'; printf '%s\\n' \"$PKR_VAR_client_secret\"; exit 1";
    let test = with_packer(print)
        .env("ARM_CLIENT_SECRET", "s3cret-of-the-test-of-the-bake")
        .env("ARM_CLIENT_ID", "00000000-0000-0000-0000-000000000001")
        .env(
            "ARM_SUBSCRIPTION_ID",
            "00000000-0000-0000-0000-000000000002",
        );
    test.fails(7, &["packer init failed with exit code 1"]);
    let log = test.text("o/packer.log");
    assert!(log.contains("xxx") && log.contains("<sensitive>"), "{log}");
    assert!(!log.contains("s3cret") && !log.contains("bake"), "{log}");
}

#[test]
fn failed_checks_have_their_own_exit_code() {
    let report = r#"{"schema": "imagegen.dev/check-report/v1", "passed": false, "checked": 2, "failed": 1, "resources": [
        {"name": "kubernetes/kubelet", "result": "drifted", "differences": [{"property": "startType", "expected": "manual", "actual": "disabled"}]},
        {"name": "checks/crictl", "result": "unchanged"}]}"#;
    let test = with_packer(&format!(
        "[ $1 = build ] || exit 0\ncat > check-report.json <<'R'\n{report}\nR\nexit 1"
    ));
    test.fails(
        8,
        &["drifted kubernetes/kubelet: startType is disabled, expected manual"],
    );
}

/// What was verified is what is unpacked: the guest gets the digest of each member that the archive held on this
/// machine, and the workspace's lock records it.
#[test]
fn members_of_archives_have_digests_in_the_guest_plan() {
    let test = with_packer(&format!(
        "[ \"$1\" = build ] || exit 0\n{MANIFEST}\n{REPORT}"
    ));
    test.succeeds();
    let payload = scripts::members(&test.read("o/payload.zip"));
    let plan: Value = serde_json::from_slice(&payload["guest-plan.json"]).expect("JSON");
    let resources = plan["resources"].as_array().expect("resources");
    let archives: Vec<&Value> = resources
        .iter()
        .filter(|resource| resource["type"] == "archive")
        .collect();
    let mut members = 0;
    for member in archives.iter().flat_map(|archive| {
        archive["properties"]["members"]
            .as_array()
            .expect("members")
    }) {
        let name = member["member"].as_str().expect("name");
        let texts = ["containerd", "crictl", "kubernetes-node", "hns.psm1"];
        let known =
            texts.map(|component| sha256_hex(format!("stands for {component}: {name}").as_bytes()));
        assert!(
            known.iter().any(|digest| member["sha256"] == **digest),
            "{member}"
        );
        members += 1;
    }
    assert!(members >= 4, "{archives:?}");
    let lock: Value = serde_json::from_str(&test.text("o/imagegen.lock.json")).expect("JSON");
    let recorded = lock["artifacts"]
        .as_array()
        .expect("artifacts")
        .iter()
        .filter_map(|it| it["members"].as_array());
    assert!(
        recorded
            .flatten()
            .all(|member| member["sha256"].is_string()),
        "{lock:#}"
    );
}

#[test]
fn members_with_another_digest_are_refused() {
    let test = with_packer("exit 0");
    let mut overrides: Value = serde_json::from_str(&test.text("overrides.json")).expect("JSON");
    let member = |name: &str, digest: &str| serde_json::json!([{"member": name, "file": "crictl.exe", "sha256": digest}]);
    let held = sha256_hex(b"stands for crictl: crictl.exe");
    overrides["crictl"]["members"] = member("crictl.exe", &held);
    fs::write(test.folder.join("overrides.json"), overrides.to_string()).expect("file");
    let said = test.run().stderr;
    assert!(!said.contains("crictl"), "{said}");
    overrides["crictl"]["members"] = member("crictl.exe", &sha256_hex(b"other"));
    fs::write(test.folder.join("overrides.json"), overrides.to_string()).expect("file");
    test.fails(5, &["crictl 1.20.0", "[member-digest]", &held]);
    for name in [
        "-C/x",
        "@list",
        "../crictl.exe",
        "bin/nul.exe",
        "a?.exe",
        "[a].exe",
        "C:/x",
        "a.exe:s",
        "a.exe.",
        "/x",
        "",
    ] {
        overrides["crictl"]["members"] = member(name, &held);
        fs::write(test.folder.join("overrides.json"), overrides.to_string()).expect("file");
        test.fails(3, &["overrides.json", "is not a name inside of an archive"]);
    }
}

#[test]
fn secrets_reach_packer_through_its_environment_alone() {
    let test = with_packer(&format!(
        "[ $1 = build ] || exit 0\necho \"secret is $PKR_VAR_client_secret\"\necho \"$@\" > \"$OUT/arguments\"\n{MANIFEST}\n{REPORT}"
    ))
    .env("ARM_CLIENT_SECRET", "s3cret-of-the-test")
    .env("ARM_CLIENT_ID", "00000000-0000-0000-0000-000000000001")
    .env("ARM_SUBSCRIPTION_ID", "00000000-0000-0000-0000-000000000002");
    let ran = test.succeeds();
    assert!(
        test.text("o/packer.log").contains("secret is <sensitive>"),
        "{}",
        test.text("o/packer.log")
    );
    for (name, bytes) in files(&test.folder) {
        assert!(
            !String::from_utf8_lossy(&bytes).contains("s3cret-of-the-test"),
            "{name}"
        );
    }
    assert!(!(ran.stdout + &ran.stderr).contains("s3cret-of-the-test"));
}

/// Packer, clouds and guests repeat values in their own forms, and terminals wrap lines.
#[test]
fn secrets_are_masked_in_every_form() {
    let test = with_packer(&format!(
        r#"[ $1 = build ] || exit 0
secret=$PKR_VAR_client_secret
echo "plain $secret"
echo "base64 $(printf 'user:%s' "$secret" | base64 -w 0)"
printf '%s' "$secret" | base64 -w 8
printf '$p = "%s"' "$secret" | iconv -t UTF-16LE | base64 -w 0; echo
printf '%s' "$secret" | od -An -tx1
printf '==> imagegen.builder.node: %s
' "${{secret%%test*}}" "${{secret#s3cret-of-the-}}"
echo "stderr ${{secret%%test*}}" >&2; echo "${{secret#s3cret-of-the-}}" >&2
echo "header $ARTIFACTS_TOKEN; proxy $HTTPS_PROXY"
{MANIFEST}
{REPORT}"#
    ))
    .env("ARM_CLIENT_SECRET", "s3cret-of-the-test-of-the-bake")
    .env("ARTIFACTS_TOKEN", "t0ken-of-the-environment")
    .env("HTTPS_PROXY", "http://user:pr0xy-word@127.0.0.1:9")
    .env("ARM_CLIENT_ID", "00000000-0000-0000-0000-000000000001")
    .env(
        "ARM_SUBSCRIPTION_ID",
        "00000000-0000-0000-0000-000000000002",
    );
    let ran = test.succeeds();
    let log = test.text("o/packer.log");
    let shown = ran.stdout + &ran.stderr + &log;
    for part in [
        "s3cret-of-the-test",
        "s3cret-of-the-",
        "test-of-the-bake",
        // `printf user:s3cret-of-the-test-of-the-bake | base64`, and its middle in UTF-16
        "czNjcmV0LW9mLXRoZS10ZXN0",
        "MzY3JldC1v",
        "cwAzAGMAcgBlAHQA",
        "73 33 63 72 65 74",
        "t0ken-of-the-environment",
        "pr0xy-word",
    ] {
        assert!(!shown.contains(part), "{part}: {log}");
    }
    assert!(log.matches("<sensitive>").count() >= 12, "{log}");
}

#[test]
fn an_interrupt_lets_packer_clean_up() {
    let test = with_packer(
        "[ $1 = build ] || exit 0\ntrap 'echo cleaned > \"$OUT/cleaned\"; exit 1' INT\necho started > \"$OUT/started\"\nwhile :; do read -t 1 x < fifo; done",
    );
    let mut child = test
        .command()
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("start");
    while !test.exists("o/started") {
        assert!(
            child.try_wait().expect("status").is_none(),
            "it ended early"
        );
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .expect("kill")
            .success()
    );
    let output = child.wait_with_output().expect("end");
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(test.exists("o/cleaned"));
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
    scripts::sign(&test, "own", "ca");
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
        if path != "scripts.json" && !path.starts_with("host/") {
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
