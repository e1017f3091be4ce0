//! Overrides and policies: what a provider puts in the place of a publisher, and what it demands.

mod addresses;
mod attacks;
mod clauses;
mod confidence;
mod fields;
mod inputs;
mod layers;
mod matrix;
mod parties;
mod policies;
mod spellings;
mod table;
mod verbs;

use serde_json::Value;

use crate::support::Test;

fn artifact(plan: &Value, component: &str) -> Value {
    let groups = plan["components"]
        .as_array()
        .or_else(|| plan["groups"].as_array())
        .expect("groups");
    groups
        .iter()
        .flat_map(|group| group["artifacts"].as_array().expect("artifacts"))
        .find(|artifact| artifact["component"] == component)
        .unwrap_or_else(|| panic!("{component} is not planned"))
        .clone()
}

fn planned(test: &Test) -> Value {
    serde_json::from_str(&test.succeeds().stdout).expect("JSON")
}

const PLAN: &str = "plan --target azure --k8s 1.36.0 --format json";

#[test]
fn an_override_replaces_bytes_digests_and_proofs() {
    let digest = "ab".repeat(32);
    let test = Test::new()
        .file(
            "cosign.pub",
            "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n",
        )
        .line(PLAN)
        .args([
            "--override",
            "kubelet.url=https://artifacts.example.com/v{version}/kubelet.exe",
        ])
        .args(["--override", &format!("kubelet.sha256={digest}")])
        .args([
            "--override",
            "kubelet.signature.url=https://artifacts.example.com/v{version}/kubelet.exe.sig",
        ])
        .args(["--override", "kubelet.signature.key=cosign.pub"])
        .args([
            "--override",
            "kubelet.publisher=O=Example Provider,CN=Example Provider",
        ]);
    let kubelet = artifact(&planned(&test), "kubelet");
    assert_eq!(
        kubelet["url"],
        "https://artifacts.example.com/v1.36.0/kubelet.exe"
    );
    assert_eq!(kubelet["digests"][0]["digest"], digest.as_str());
    assert_eq!(kubelet["digests"].as_array().map(Vec::len), Some(1));
    assert!(
        kubelet["checksums"].is_null(),
        "the publisher's checksum file is not of these bytes"
    );
    assert_eq!(kubelet["signatures"][0]["kind"], "cosign-key");
    assert!(
        kubelet["signatures"][0]["key"]
            .as_str()
            .expect("key")
            .starts_with("-----BEGIN PUBLIC KEY")
    );
    assert_eq!(
        kubelet["authenticode"]["publisher"],
        "O=Example Provider,CN=Example Provider"
    );
}

/// Whatever a provider calls a file, it is installed under the name by which services start it.
#[test]
fn files_of_a_provider_may_have_any_name() {
    let pin = format!("sha256={}", "ab".repeat(32));
    let program = "0f2c/blob/42?download=1";
    let crictl = format!(
        r#"{{"crictl": {{"kind": "exe", "url": "https://x.example/tool-7", "sha256": "{}"}}}}"#,
        "cd".repeat(32)
    );
    let test = Test::new()
        .file("overrides.json", &crictl)
        .line("build --target azure --k8s 1.36.4 --no-bake --out o --overrides overrides.json")
        .line("--waive kubelet=cosign-keyless --waive cloudbase-init=authenticode")
        .args([
            "--override",
            &format!("kubelet.url=https://x.example/{program}"),
        ])
        .args(["--override", &format!("kubelet.{pin}")])
        .args(["--override", "cloudbase-init.url=https://x.example/setup"])
        .args(["--override", &format!("cloudbase-init.{pin}")]);
    test.succeeds();
    let plan: Value = serde_json::from_str(&test.text("o/guest-plan.json")).expect("JSON");
    let resources = plan["resources"].as_array().expect("resources");
    let from = |url: &str| {
        let found = resources.iter().find(|one| one["properties"]["url"] == url);
        found.unwrap_or_else(|| panic!("{url} is not asked for"))["properties"].clone()
    };
    assert_eq!(
        from(&format!("https://x.example/{program}"))["path"],
        r"C:\k\kubelet.exe"
    );
    assert_eq!(from("https://x.example/tool-7")["path"], r"C:\k\crictl.exe");
    let package = from("https://x.example/setup")["cache"]
        .as_str()
        .expect("cache")
        .to_owned();
    assert!(package.ends_with("_x64.msi"), "{package}");

    let archive = test.args(["--override", "kubelet.kind=zip", "--force"]);
    archive.fails(
        3,
        &[
            "override of kubelet: `members` is missing: it lists the files of the archive to install",
            r#""members": [{"member": "bin/kubelet.exe", "file": "kubelet.exe"}]"#,
        ],
    );
}

#[test]
fn a_mirror_serves_the_same_bytes() {
    let plain = artifact(&planned(&Test::new().line(PLAN)), "containerd");
    let test = Test::new()
        .line(PLAN)
        .args(["--mirror", "https://mirror.example.com/cache"]);
    let mirrored = artifact(&planned(&test), "containerd");
    let url = plain["url"].as_str().expect("url");
    let expected = url.replace("https://", "https://mirror.example.com/cache/");
    // The plan and its lockfile keep the publisher's address: a mirror is the operator's.
    assert_eq!(mirrored, plain);
    let built = Test::new()
        .line("build --target azure --k8s 1.36.0 --no-bake --out o")
        .args(["--mirror", "https://mirror.example.com/cache"]);
    built.succeeds();
    assert!(built.text("o/guest-plan.json").contains(&expected));
    assert!(!built.text("o/imagegen.lock.json").contains(&expected));
    // What is given for the component itself is meant.
    let test = test.args([
        "--override",
        "containerd.url=https://own.example.com/containerd.tar.gz",
    ]);
    let own = artifact(&planned(&test), "containerd");
    assert_eq!(own["url"], "https://own.example.com/containerd.tar.gz");
    assert_eq!(
        own["digests"], plain["digests"],
        "another place of the same bytes"
    );
    assert_eq!(own["signatures"], plain["signatures"]);
}

#[test]
fn overrides_that_cannot_be_meant_are_refused() {
    for (arguments, code, said) in [
        (
            &["--override", "kubelet.sha256=ABCDEF"][..],
            3,
            "`ABCDEF` is not a SHA-256 of a file",
        ),
        (
            &["--override", "kubelett.url=https://x.example/y"],
            3,
            "kubelett",
        ),
        (
            &["--override", "wins.url=https://x.example/wins.exe"],
            3,
            "names the component wins, which this image does not use",
        ),
        (&["--override", "kubelet.uri=x"], 3, "COMPONENT.FIELD=VALUE"),
        (
            &[
                "--override",
                "kubelet.signature.url=https://x.example/s",
                "--override",
                "kubelet.signature.key=private.pem",
            ],
            3,
            "is a private key",
        ),
        (&["--overrides", "bad.json"], 3, "bad.json"),
        (
            &["--overrides", "mirror.json"],
            3,
            "a mirror serves the same bytes",
        ),
    ] {
        let ran = Test::new()
            .file(
                "private.pem",
                "-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0\n-----END EC PRIVATE KEY-----\n",
            )
            .file("bad.json", r#"{"kubelet": {"sha1": "x"}}"#)
            .file(
                "mirror.json",
                r#"{"https://dl.k8s.io/": {"url": "https://m.example/", "size": 7}}"#,
            )
            .line("plan --target azure --k8s 1.36.0")
            .args(arguments.iter().copied())
            .fails(code, &[said]);
        assert!(!ran.stderr.contains("c2VjcmV0"), "a private key was echoed");
    }
}

#[test]
fn a_digest_that_contradicts_the_catalog_is_said() {
    let digest = "ab".repeat(32);
    let ran = Test::new()
        .line("plan --target azure --k8s 1.36.0")
        .args(["--override", &format!("kubelet.sha256={digest}")])
        .succeeds();
    let said = ran.stdout + &ran.stderr;
    assert!(
        said.contains("the override's digest of kubelet 1.36.0 differs from the catalog's digest"),
        "{said}"
    );
}

#[test]
fn a_pin_is_added_in_its_place_and_nothing_else_moves() {
    let export = Test::new().line("catalog export --out catalog");
    export.succeeds();
    let before = export.text("catalog/pins/kubelet.json");
    let test = Test::new().file("kubelet.exe", "MZ of the test");
    for (name, bytes) in crate::support::files(&export.folder.join("catalog")) {
        let path = test.folder.join("catalog").join(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        std::fs::write(path, bytes).expect("file");
    }
    let test = test
        .line(
            "pin kubelet 1.20.15 --manifests catalog --from kubelet.exe --confidence authoritative --source",
        )
        .args(["derived: built here"]);
    test.succeeds();
    let after = test.text("catalog/pins/kubelet.json");
    let added: Vec<&str> = after
        .lines()
        .filter(|line| !before.contains(line))
        .collect();
    let digest = imagegen::base::digest::sha256_hex(b"MZ of the test");
    assert!(added.iter().any(|line| line.contains(&digest)), "{added:?}");
    let gone: Vec<&str> = before
        .lines()
        .filter(|line| !after.contains(line))
        .collect();
    assert_eq!(gone, Vec::<&str>::new());
    let place = after.find(&digest).expect("digest");
    let next = after.find("\"version\": \"1.21.0\"").expect("1.21.0");
    assert!(after.find("\"version\": \"1.20.5\"").expect("1.20.5") < place && place < next);
    // Twice is once.
    test.succeeds();
    assert_eq!(test.text("catalog/pins/kubelet.json"), after);
    // The same bytes under another version are a bump that forgot the digest.
    let wrong = test.args([]);
    let plan = Test::new();
    std::fs::rename(wrong.folder.join("catalog"), plan.folder.join("catalog")).expect("catalog");
    plan.line(&format!(
        "pin kubelet 1.20.14 --manifests catalog --sha256 {digest} --source x"
    ))
    .fails(3, &["not written", digest.get(..12).expect("digest")]);
}

#[test]
fn a_pin_needs_a_catalog_of_ones_own_a_digest_and_a_known_version() {
    for (line, code, said) in [
        (
            "pin kubelet 1.20.14 --sha256 DIGEST --source x",
            2,
            "the built-in catalog cannot be changed",
        ),
        (
            "pin kubelet 1.20.14 --manifests c --source x",
            2,
            "no digest is given",
        ),
        (
            "pin kubelett 1.20.14 --manifests c --sha256 DIGEST --source x",
            3,
            "kubelet",
        ),
        (
            "pin kubelet 1.20.14 --manifests c --sha256 00 --source x",
            3,
            "64 lower-case hexadecimal digits",
        ),
        (
            "pin kubelet 1.20.14 --manifests c --sha256 DIGEST",
            2,
            "--source",
        ),
        (
            "pin kubelet 1.20.14 --manifests c --sha256 DIGEST --source x --confidence mutable",
            3,
            "one of low, medium",
        ),
    ] {
        let export = Test::new().line("catalog export --out c");
        export.succeeds();
        let test = Test::new();
        std::fs::rename(export.folder.join("c"), test.folder.join("c")).expect("catalog");
        test.line(&line.replace("DIGEST", &"ab".repeat(32)))
            .fails(code, &[said]);
    }
}

/// `--locked` computes the lock again: a field that was edited, dropped or added is an error that names it.
#[test]
fn a_lock_that_was_edited_is_named() {
    let line = "--target azure --k8s 1.36.0";
    let locked = Test::new()
        .line("lock")
        .line(line)
        .stocked(&format!("plan {line}"));
    let overrides = locked.text("overrides.json");
    locked.succeeds();
    let lock: Value = serde_json::from_str(&locked.text("imagegen.lock.json")).expect("JSON");
    let run = |lock: &Value| {
        Test::new()
            .file("imagegen.lock.json", &lock.to_string())
            .file("overrides.json", &overrides)
            .line("plan --overrides overrides.json --locked")
            .line(line)
    };
    run(&lock).succeeds();
    let at = lock["artifacts"]
        .as_array()
        .expect("artifacts")
        .iter()
        .position(|it| it["component"] == "containerd");
    let artifact = format!("/artifacts/{}", at.expect("containerd"));
    for (pointer, value, said) in [
        (
            "/digests/0/digest",
            "ab".repeat(32).into(),
            "artifacts[containerd].digests[0].digest",
        ),
        (
            "/digests/0/confidence",
            "high".into(),
            "artifacts[containerd].digests[0].confidence",
        ),
        (
            "/digests/0/source",
            serde_json::json!(["me"]),
            "artifacts[containerd].digests[0].source",
        ),
        (
            "/url",
            "https://evil.example/x.tar.gz".into(),
            "artifacts[containerd].url",
        ),
        ("/file", "evil.exe".into(), "artifacts[containerd].file"),
        ("/license", "MIT".into(), "artifacts[containerd].license"),
        (
            "/headers",
            serde_json::json!({"Authorization": "HOME"}),
            "artifacts[containerd].headers",
        ),
    ] {
        let mut edited = lock.clone();
        let (parent, name) = pointer.rsplit_once('/').expect("pointer");
        let parent = edited
            .pointer_mut(&format!("{artifact}{parent}"))
            .expect(pointer);
        match parent {
            Value::Array(list) => list[name.parse::<usize>().expect("index")] = value,
            other => other[name] = value,
        }
        run(&edited).fails(3, &["is stale", said]);
    }
    for (pointer, value, said) in [
        ("/pause", "evil.example/pause:1".into(), "`pause` was"),
        ("/runtimeVersion", "1.0.0".into(), "`runtimeVersion` was"),
        ("/warnings", serde_json::json!([]), "`warnings"),
        ("/packer/version", "1.0.0".into(), "`packer.version` was"),
        ("/notAdmitted", "x".into(), "`notAdmitted` was"),
    ] {
        let mut edited = lock.clone();
        if pointer == "/notAdmitted" {
            edited["notAdmitted"] = value;
        } else if pointer == "/warnings" && lock["warnings"].as_array().is_some_and(Vec::is_empty) {
            edited["warnings"] = serde_json::json!([{"id": "x", "subject": "y", "message": "z"}]);
        } else {
            *edited.pointer_mut(pointer).expect(pointer) = value;
        }
        run(&edited).fails(3, &["is stale", said]);
    }
    let mut doubled = lock.clone();
    let twice = lock["artifacts"][0].clone();
    doubled["artifacts"]
        .as_array_mut()
        .expect("artifacts")
        .push(twice);
    run(&doubled).fails(3, &["is stale", "`artifacts` was"]);
}

/// A definition names keys; it reads no other file of the machine into what is written.
#[test]
fn keys_of_a_definition_lie_below_its_folder() {
    let definition = |key: &str| {
        format!(
            r#"{{"target": "azure", "kubernetes": "1.36.0", "overrides": {{"kubelet":
            {{"signature": {{"kind": "cosign-key", "url": "https://x.example/s", "key": "{key}"}}}}}}}}"#
        )
    };
    for (key, said) in [
        ("/proc/self/environ", "it must lie below the folder"),
        ("../secret.txt", "it must lie below the folder"),
        ("secret.txt", "neither a public key nor a certificate"),
        ("mixed.pem", "neither a public key nor a certificate"),
        ("large.pem", "too large"),
    ] {
        let pem = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n";
        let ran = Test::new()
            .file("d/imagegen.json", &definition(key))
            .file("d/secret.txt", "TOKEN=s3cret\n")
            .file("d/mixed.pem", &format!("{pem}TOKEN=s3cret\n"))
            .file("d/large.pem", &pem.repeat(9000))
            .file("secret.txt", "TOKEN=s3cret\n")
            .env("IMAGEGEN_SECRET", "s3cret")
            .line("plan --format json --config d/imagegen.json")
            .fails(3, &["kubelet.signature.key", said]);
        assert!(!(ran.stdout + &ran.stderr).contains("s3cret"), "{key}");
    }
    #[cfg(unix)]
    {
        let test = Test::new()
            .file("d/imagegen.json", &definition("link.pem"))
            .file(
                "out.pem",
                "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n",
            )
            .line("plan --config d/imagegen.json");
        std::os::unix::fs::symlink("../out.pem", test.folder.join("d/link.pem")).expect("link");
        test.fails(3, &["a link leads out of the folder"]);
    }
}
