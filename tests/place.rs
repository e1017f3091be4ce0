//! Files of the user: what imagegen did not write, or what was edited since, is neither replaced nor read without end.

mod directory;

use std::fs;
use std::process::{Child, Stdio};

use crate::support::{Test, files};

#[test]
fn a_lockfile_replaces_a_lockfile_only() {
    let lock = "lock --target host --k8s 1.36.0";
    let definition = r#"{"target": "host", "kubernetes": "1.36.0"}"#;
    for (name, content) in [
        ("imagegen.json", definition),
        ("notes.txt", "mine"),
        ("policy.json", "{}"),
    ] {
        let test = Test::new()
            .line(lock)
            .file(name, content)
            .args(["--lock", name]);
        test.fails(3, &[name, "is not a lockfile: it is not overwritten"]);
        assert_eq!(test.text(name), content);
    }
    // A lockfile with the markers of a merge is one, and an empty file is nobody's.
    for content in ["<<<<<<< ours\n{\"schema\": \"imagegen.dev/lock/v1\",\n", ""] {
        let test = Test::new()
            .line(lock)
            .file("own.lock.json", content)
            .args(["--lock", "own.lock.json"]);
        test.succeeds();
        assert!(test.text("own.lock.json").starts_with('{'));
    }
}

#[test]
fn edited_and_own_files_beside_manifests_survive() {
    for edit in ["smoke/mine.yaml", "node/mine.txt", "mine.yaml"] {
        let test = Test::new()
            .line("cluster-manifests --k8s 1.36.0 --cni flannel-overlay --endpoint a.example:6443 --out o");
        test.succeeds();
        test.succeeds();
        let path = test.folder.join("o").join(edit);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let ran = test.run();
        assert_eq!(ran.code, Some(6), "{edit}: {}", ran.stderr);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
    let test = Test::new().line(
        "cluster-manifests --k8s 1.36.0 --cni flannel-overlay --endpoint a.example:6443 --out o",
    );
    test.succeeds();
    let files = fs::read_dir(test.folder.join("o"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let first = files
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .min()
        .unwrap();
    fs::write(&first, "edited").unwrap();
    assert_eq!(test.run().code, Some(6));
    assert_eq!(
        fs::read_to_string(&first).unwrap(),
        "edited",
        "{}",
        first.display()
    );
    let catalog = Test::new().line("catalog export --out o");
    catalog.succeeds();
    let file = catalog.folder.join("o/components/containerd.json");
    fs::write(&file, "{}").unwrap();
    assert_eq!(catalog.run().code, Some(6));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
}

/// A device without end is no input.
#[cfg(target_os = "linux")]
#[test]
fn inputs_without_end_are_refused() {
    for line in [
        "plan --config /dev/zero",
        "plan --target host --k8s 1.36.0 --overrides /dev/zero",
        "plan --target host --k8s 1.36.0 --policy /dev/zero",
        "build --target host --k8s 1.36.0 --no-bake --locked --lock /dev/zero",
        "store gc --lock /dev/zero --store s",
        "bundle create --out b.zip --lock /dev/zero --offline --store s",
        "join-data --k8s 1.36.0 --from /dev/zero",
        "join-data --k8s 1.36.0 --token-file /dev/zero --endpoint a.example:6443",
        "join-data --k8s 1.36.0 --discovery-kubeconfig /dev/zero",
        "join-data --k8s 1.36.0 --endpoint a.example:6443 --ca-cert /dev/zero",
        "fetch --target host --k8s 1.36.0 --ca-file /dev/zero --store s",
    ] {
        let test = Test::new().line(line);
        let ran = test.run();
        assert!(
            matches!(ran.code, Some(1..=4)),
            "{line}: {:?}\n{}",
            ran.code,
            ran.stderr
        );
        assert!(ran.stderr.contains("arger than"), "{line}: {}", ran.stderr);
    }
}

/// What another user could write does not speak for publishers.
#[cfg(unix)]
#[test]
fn stores_that_others_can_write_are_not_used() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let fetch = "fetch --target host --k8s 1.36.0 --offline --store s";
    for folder in ["s", "s/urls", "s/objects/sha256"] {
        let test = Test::new().line(fetch);
        assert_eq!(test.run().code, Some(4));
        fs::set_permissions(test.folder.join(folder), fs::Permissions::from_mode(0o777)).unwrap();
        test.fails(1, &["other users can write"]);
    }
    let test = Test::new().line(fetch);
    assert_eq!(test.run().code, Some(4));
    fs::rename(test.folder.join("s/urls"), test.folder.join("elsewhere")).unwrap();
    symlink(test.folder.join("elsewhere"), test.folder.join("s/urls")).unwrap();
    test.fails(1, &["a folder of the store is a link"]);
    // Programs run from there.
    let test = Test::new().line(fetch);
    assert_eq!(test.run().code, Some(4));
    symlink("/tmp", test.folder.join("s/work")).unwrap();
    test.fails(1, &["a folder of the store is a link"]);
}

/// A process that is killed in the middle of a write leaves nothing that the next one takes for whole, and nothing
/// that stays: at each limit, the system kills it where a file would grow beyond.
#[cfg(unix)]
#[test]
fn a_process_that_is_killed_leaves_nothing_half_written() {
    let line = "--target host --k8s 1.36.0";
    let stock = Test::new()
        .line("lock")
        .line(line)
        .stocked(&format!("plan {line}"));
    // The publishers' own URLs, which a mirror answers.
    let mut overrides: serde_json::Value =
        serde_json::from_str(&stock.text("overrides.json")).expect("JSON");
    for over in overrides.as_object_mut().expect("object").values_mut() {
        let fields = over.as_object_mut().expect("override");
        fields.remove("url").expect("url");
        // Another algorithm's digest adds to the catalog's.
        let sha256 = fields["sha256"].as_str().expect("digest").to_owned();
        let bytes = stock.read(&format!("store/objects/sha256/{}/{sha256}", &sha256[..2]));
        let sha512 = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &bytes);
        let sha512 = imagegen::base::digest::encode_hex(sha512.as_ref());
        fields.insert("sha512".to_owned(), sha512.into());
    }
    let stock = stock.file("overrides.json", &overrides.to_string());
    stock.succeeds();
    let stores = "--offline --store store --overrides overrides.json";
    let prepare = || {
        let mut test = Test::new();
        for (name, bytes) in files(&stock.folder) {
            test = test.bytes(&name, &bytes);
        }
        test
    };
    let run = |test: &Test, line: &str, blocks: Option<u32>| {
        let limit = blocks
            .map(|blocks| format!("ulimit -c 0; ulimit -f {blocks}; "))
            .unwrap_or_default();
        let command = Test::new().command().get_program().to_owned();
        std::process::Command::new("sh")
            .args(["-c", &format!("{limit}exec \"$0\" {line}")])
            .arg(command)
            .current_dir(&test.folder)
            .env_clear()
            .env("HOME", &test.folder)
            .env("PATH", "/usr/bin:/bin")
            .output()
            .expect("starts")
    };
    let whole = prepare();
    let bundle = "bundle create --out b.zip --offline --store store";
    let ran = run(&whole, bundle, None);
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let lines = [
        format!("lock {line} {stores}"),
        format!("build --no-bake --out w {line} --ignore-lock"),
        format!("build --delivery media --out w {line} {stores} --ignore-lock"),
        bundle.to_owned(),
        "bundle extract node.zip --store other --lock imagegen.lock.json".to_owned(),
        "bundle extract node.zip --as-mirror mirror --lock imagegen.lock.json".to_owned(),
        "scripts export --out scripts".to_owned(),
        "catalog export --out catalog".to_owned(),
    ];
    let mut killed = 0;
    for line in &lines {
        let fresh = || prepare().bytes("node.zip", &whole.read("b.zip"));
        let expected = fresh();
        assert!(run(&expected, line, None).status.success(), "{line}");
        let expected = files(&expected.folder);
        for blocks in [0, 8, 60, 130] {
            let test = fresh();
            let before = files(&test.folder);
            let ended = run(&test, line, Some(blocks));
            killed += u32::from(ended.status.code().is_none());
            // A lock says nothing: the next run takes it over.
            for (name, bytes) in files(&test.folder) {
                let known = [&before, &expected]
                    .iter()
                    .any(|files| files.get(&name) == Some(&bytes));
                let is_lock = name
                    .strip_prefix('.')
                    .is_some_and(|rest| rest.strip_suffix(".lock").is_some());
                // The list of a folder has the digests of both runs meanwhile.
                let is_list = name.ends_with(".imagegen.sha256");
                assert!(
                    known || is_lock || is_list || name.ends_with(".partial"),
                    "{line}, {blocks}: {name} is half-written"
                );
            }
            let again = run(&test, line, None);
            assert!(
                again.status.success(),
                "{line}, {blocks}: {}",
                String::from_utf8_lossy(&again.stderr)
            );
            // Copies of a store may be another machine's that shares it: `store gc` removes them after an hour.
            let mut found = files(&test.folder);
            found.retain(|name, _| !name.contains("/partial/.copy."));
            let names = || {
                found
                    .keys()
                    .filter(|name| !expected.contains_key(*name))
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                names(),
                Vec::<&String>::new(),
                "{line}, {blocks}: left behind"
            );
            assert!(
                found == expected,
                "{line}, {blocks}: the next run made something else"
            );
        }
    }
    assert!(killed >= 16, "only {killed} processes were killed");
}

/// A folder that is read whole has an end, too: somebody names a home folder, or fills one.
#[test]
fn folders_without_end_are_refused() {
    let large = Test::new();
    for name in ["in/a/x.json", "in/a/y.json"] {
        let path = large.folder.join(name);
        fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        fs::File::create(path)
            .expect("file")
            .set_len(40 << 20)
            .expect("size");
    }
    let many = Test::new();
    fs::create_dir_all(many.folder.join("in")).expect("folder");
    for at in 0..10_001 {
        fs::File::create(many.folder.join(format!("in/{at}"))).expect("file");
    }
    for folder in [&large, &many] {
        let path = folder.folder.join("in").display().to_string();
        for flag in [
            "--manifests",
            "--steps",
            "--targets",
            "--component-files",
            "--scripts",
        ] {
            let test = Test::new()
                .line("plan --target host --k8s 1.36.0")
                .args([flag, path.as_str()]);
            test.fails(3, &["it holds more than 64 MiB, or more than 10000 files"]);
        }
    }
}

/// Somebody names a folder that is no store, or shares one with other programs.
#[test]
fn a_store_is_swept_of_its_own_files_alone() {
    let mine = [
        "urls/list.txt",
        "sha512/ab/readme",
        "partial/film.part",
        "partial/film.json",
        "objects/sha256/notes.txt",
        "objects/sha256/ab/notes.txt",
        ".film.partial",
        ".git/.copy.1-aaaaaaaaaaaa.partial",
        "tools/.film.partial",
    ];
    let test = mine
        .iter()
        .fold(Test::new(), |test, name| test.file(name, "mine"));
    let ours = "partial/.copy.1-aaaaaaaaaaaa.partial";
    let test = test.file(ours, "left").line("store --store . gc --days 0");
    assert_eq!(test.succeeds().stdout, "1 files removed\n");
    assert!(!test.exists(ours));
    test.prints("");
    let verify = Test::new()
        .line("store --store")
        .args([test.folder.to_str().expect("UTF-8"), "verify"]);
    assert_eq!(verify.succeeds().stdout, "0 files, 0 damaged\n");
    for name in mine {
        assert_eq!(test.text(name), "mine", "{name}");
    }
}

/// `--out` names one file by mistake: the input itself, or something of the user's.
#[test]
fn a_file_of_another_kind_is_not_overwritten() {
    let plan = "--target host --k8s 1.20.0 --host-access services";
    let test = Test::new()
        .file("token", "abcdef.0123456789abcdef\n")
        .file("notes", "mine")
        .file("empty", "");
    let test = test.stocked(&format!("plan {plan}"));
    let stores = "--offline --store store --overrides overrides.json";
    let run = |line: String| {
        let mut command = Test::new().line(&line).command();
        let output = command.current_dir(&test.folder).output().expect("starts");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(run(format!("lock {plan} {stores}")).0, Some(0));
    let hash = format!("sha256:{}", "a".repeat(64));
    let join = format!(
        "join-data --k8s 1.36.4 --endpoint a.example:6443 --ca-cert-hash {hash} --token-file token"
    );
    let bundle = "bundle create --offline --store store";
    let sbom = "sbom imagegen.lock.json";
    for (line, kind) in [
        (bundle, "a bundle"),
        (join.as_str(), "data of a join"),
        (sbom, "a bill of materials"),
    ] {
        for name in ["imagegen.lock.json", "overrides.json", "token", "notes"] {
            let before = test.read(name);
            let (code, said) = run(format!("{line} --out {name}"));
            assert_eq!(code, Some(3), "{line} {name}: {said}");
            assert!(
                said.contains(&format!("{name} is not {kind}: it is not overwritten")),
                "{said}"
            );
            assert_eq!(test.read(name), before);
        }
    }
    for form in ["kubeadm", "cloud-config", "ps1", "mime", "cloud-config"] {
        assert_eq!(
            run(format!("{join} --as {form} --out empty")).0,
            Some(0),
            "{form}"
        );
    }
    for _ in 0..2 {
        for form in ["cyclonedx", "spdx"] {
            let line = format!("{sbom} --as {form} --out bill.json");
            assert_eq!(run(line).0, Some(0), "{form}");
        }
        assert_eq!(run(format!("{bundle} --out node.zip")).0, Some(0));
    }
}

/// Anybody can propose a definition: what people write has an end, and a long name in it costs no time.
#[test]
fn definitions_policies_and_overrides_have_an_end() {
    let large = format!("{{\"note\": \"{}\"}}", "x".repeat(1 << 20));
    for flag in ["--config", "--overrides", "--policy"] {
        let test = Test::new()
            .file("large.json", &large)
            .line("plan --target host --k8s 1.36.0");
        test.args([flag, "large.json"])
            .fails(3, &["large.json is larger than 1 MiB"]);
    }
    let started = std::time::Instant::now();
    let name = "k".repeat(1_000_000);
    let test = Test::new().file("long.json", &format!("{{\"target\": \"{name}\"}}"));
    test.line("plan --config long.json")
        .fails(3, &["unknown target"]);
    let test = Test::new().file("long.json", &format!("{{\"{name}\": 1}}"));
    test.line("plan --config long.json")
        .fails(3, &["unknown key"]);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// A folder that is not free keeps the image of its last build, too.
#[test]
fn a_refused_workspace_keeps_its_image() {
    let record = r#"{"started": "2020-01-01T00:00:00Z"}"#;
    let test = Test::new()
        .line("build --no-bake --target qemu --k8s 1.36.0 --out o")
        .file("o/builds/1/image.json", record)
        .file("o/image.json", record)
        .file("o/image/disk.qcow2", "disk")
        .file("o/notes.txt", "mine");
    test.fails(6, &["notes.txt"]);
    assert_eq!(test.text("o/image/disk.qcow2"), "disk");
    assert!(!test.exists("o/builds/1/image"));

    fs::remove_file(test.folder.join("o/notes.txt")).unwrap();
    test.succeeds();
    assert_eq!(test.text("o/builds/1/image/disk.qcow2"), "disk");
    assert!(!test.exists("o/image") && !test.exists("o/image.json"));
}

/// Two pipelines build one image: each keeps the records, and none says of the other's files that they are its own.
#[test]
fn two_runs_of_one_workspace_take_turns() {
    let test = Test::new().line("render --target host --k8s 1.36.0 --out o/node");
    test.succeeds();
    let record = test.folder.join("o/node/builds/7/image.json");
    fs::create_dir_all(record.parent().unwrap()).unwrap();
    fs::write(&record, "{}").unwrap();
    for round in 0..6 {
        let children = [(); 2].map(|()| start_quietly(&test));
        for child in children {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{round}: {said}");
        }
        assert!(record.exists(), "{round}");
    }
    let names = fs::read_dir(test.folder.join("o")).unwrap();
    assert_eq!(names.count(), 1, "nothing stays beside the workspace");
}

#[test]
fn two_runs_of_one_archive_take_turns() {
    let plan = "--target host --k8s 1.20.0 --host-access services";
    let test = Test::new()
        .line(&format!("build {plan} --out o/node"))
        .stocked(&format!("plan {plan}"));
    let children = [(); 2].map(|()| start_quietly(&test));
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    let folder = fs::read_dir(test.folder.join("o/node")).unwrap();
    let mut names = folder.map(|entry| entry.unwrap().file_name());
    assert!(names.any(|name| name.to_string_lossy().ends_with(".zip")));
}

fn start_quietly(test: &Test) -> Child {
    let mut command = test.command();
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// A link that leads to nothing is no missing file, and one that leads to itself is a wrong name.
#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_are_named() {
    let nowhere = "it is a link that leads to no file";
    for (link, target, line, said) in [
        ("imagegen.json", "none", "plan --target host", nowhere),
        ("imagegen.lock.json", "none", "plan --target host", nowhere),
        ("imagegen.lock.json", "none", "lock --target host", nowhere),
        (
            "loop",
            "loop",
            "plan --target host --lock loop",
            "reading loop",
        ),
        ("loop", "loop", "sbom loop", "reading loop"),
        ("loop", "loop", "diff loop loop", "reading loop"),
    ] {
        let test = Test::new().line(line);
        std::os::unix::fs::symlink(target, test.folder.join(link)).unwrap();
        test.fails(3, &[said]);
    }
}
