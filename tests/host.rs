//! A machine that is there already: `--target host` makes one archive, without Packer and without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read as _};

use imagegen::base::digest::sha256_hex;
use imagegen::catalog::Catalog;
use imagegen::embedded::Tree;
use serde_json::{Value, json};
use zip::ZipArchive;

use crate::support::{Test, files, golden};

const NAME: &str = "imagegen-host-2022-k8s-1.36.0.zip";

fn members(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..zip.len())
        .map(|index| {
            let mut file = zip.by_index(index).unwrap();
            let mut content = Vec::new();
            file.read_to_end(&mut content).unwrap();
            (file.name().unwrap().into_owned(), content)
        })
        .collect()
}

#[test]
fn an_installer_is_made_alone_and_is_the_same_every_time() {
    let made = || {
        // No Packer on the path, and a proxy that nobody serves: whoever asks for the network fails.
        let test = Test::new()
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .line("build --target host --k8s 1.36.0 --out o --format json");
        let said: Value = serde_json::from_str(&test.succeeds().stdout).unwrap();
        let zip = test.read(&format!("o/{NAME}"));
        assert_eq!(said["sha256"], sha256_hex(&zip));
        assert_eq!(said["installer"], format!("o/{NAME}"));
        assert_eq!(
            test.text(&format!("o/{NAME}.sha256")),
            format!("{}  {NAME}\n", sha256_hex(&zip))
        );
        // Again in its own place, which holds what it wrote.
        test.succeeds();
        (zip, files(&test.folder.join("o")))
    };
    let ((first, folder), (second, _)) = (made(), made());
    assert_eq!(first, second);
    let members = members(&first);
    let mut beside: BTreeMap<String, Vec<u8>> = folder;
    beside.retain(|name, _| !name.starts_with(NAME));
    assert_eq!(members, beside, "the folder is what the archive holds");
    for name in [
        "Install.ps1",
        "README.md",
        "guest-plan.json",
        "engine/Windows.ps1",
        "engine/windows/services.ps1",
        "node/Join-Node.ps1",
    ] {
        assert!(members.contains_key(name), "{name}");
    }
    assert!(
        !members.keys().any(|name| name.contains(".pkr.")),
        "{:?}",
        members.keys()
    );
    assert!(first.len() < 500_000, "{}", first.len());
}

/// Its plan says the digest of every script that is in the archive, and of no other.
#[test]
fn the_plan_of_an_installer_knows_its_scripts() {
    let test = Test::new().line("build --target host --k8s 1.36.0 --no-bake --out o");
    test.succeeds();
    let plan: Value = serde_json::from_str(&test.text("o/guest-plan.json")).unwrap();
    let scripts = plan["scripts"].as_object().unwrap();
    for (name, digest) in scripts {
        assert_eq!(
            *digest,
            sha256_hex(&test.read(&format!("o/{name}"))),
            "{name}"
        );
    }
    let found = files(&test.folder.join("o"));
    let inner = found.keys().filter(|name| name.contains('/')).count();
    assert_eq!(inner, scripts.len());
    assert!(
        !test.exists(&format!("o/{NAME}")),
        "a preview packs nothing"
    );
}

/// What only an image needs is in no plan of a machine that is there already.
fn check_plan(plan: &Value, selection: &str) {
    for resource in plan["resources"].as_array().unwrap() {
        let (name, kind) = (
            resource["name"].as_str().unwrap(),
            resource["type"].as_str().unwrap(),
        );
        let foreign = ["sysprep", "winrmListener", "winrmSetting", "localUser"].contains(&kind)
            || ["seal/", "firstboot/", "cloudbase-init/"]
                .iter()
                .any(|step| name.starts_with(step));
        assert!(!foreign, "{selection}: {name}");
        // A name says what it is for: no bare number, no registry path.
        let short = name.split_once('/').unwrap().1;
        let is_riddle = short.contains("HKLM:") || short.bytes().all(|byte| byte.is_ascii_digit());
        assert!(!is_riddle, "{selection}: {name} says no reason");
        let text = resource.to_string();
        for word in ["WinRM", "cloudbase", "Sysprep", "unattend", "SetupComplete"] {
            assert!(!text.contains(word), "{selection}: {name} names {word}");
        }
    }
}

#[test]
fn every_line_on_every_windows_gets_a_plan_without_residue_of_a_build() {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let mut pairs = 0;
    for minor in catalog.kubernetes_minors() {
        let line = catalog.load_kubernetes_line(minor).unwrap();
        for windows in &line.windows {
            let selection = format!(
                "--target host --k8s {} --windows {}",
                line.latest, windows.value
            );
            let test = Test::new().line("build --no-bake --out o").line(&selection);
            test.succeeds();
            check_plan(
                &serde_json::from_str(&test.text("o/guest-plan.json")).unwrap(),
                &selection,
            );
            pairs += 1;
        }
    }
    assert!(pairs >= 50, "{pairs}");
}

#[test]
fn a_setting_of_windows_is_named_by_the_update_that_reads_it() {
    for (windows, name, words) in [
        (
            "2022",
            "os-baseline/KB5025230-HnsAclUpdateChange",
            "AgentBaker",
        ),
        (
            "2022",
            "os-baseline/KB5018421-fix-2629306509",
            "a fix of WCIFS",
        ),
        (
            "2019",
            "os-baseline/KB5025229-fix-3105872524",
            "the update of 2023-04B (KB5025229)",
        ),
        (
            "2025",
            "os-baseline/2026-07B-fix-908168846",
            "since the update of 2026-07B",
        ),
    ] {
        let test = Test::new()
            .line("render --target host --k8s 1.34 --out o")
            .line(&format!("--windows {windows}"));
        test.succeeds();
        let plan: Value = serde_json::from_str(&test.text("o/guest-plan.json")).unwrap();
        let names = plan["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap());
        assert!(names.clone().any(|it| it == name), "{windows}: no {name}");
        let short = name.rsplit('-').next().unwrap();
        for asked in [name, short] {
            let line = format!("explain --target host --k8s 1.34 --windows {windows} {asked}");
            let said = Test::new().line(&line).succeeds().stdout;
            assert!(said.contains(name), "{asked}: {said}");
            assert!(
                asked == name || said.contains(words) || words == "AgentBaker",
                "{asked}: {said}"
            );
        }
    }
}

#[test]
fn predicted_hosts_are_as_reviewed() {
    for (selection, name) in [
        ("--k8s 1.20.0", "host-2019-k8s-1.20.0.txt"),
        ("--k8s 1.36.4 --windows 2025", "host-2025-k8s-1.36.4.txt"),
    ] {
        let state = Test::new()
            .line("plan --state --target host")
            .line(selection)
            .succeeds()
            .stdout;
        assert!(!state.contains("(build)"), "{selection}");
        golden(&format!("state/{name}"), &state);
    }
}

#[test]
fn what_a_host_cannot_have_is_refused() {
    for (line, code, said) in [
        (
            "plan --target host --k8s 1.36.0 --component cloudbase-init=1.1.6",
            3,
            "component-unused",
        ),
        (
            "plan --target host --k8s 1.36.0 --delivery upload",
            3,
            "unknown delivery `upload`",
        ),
        (
            "plan --target host --k8s 1.36.0 --var location=westeurope",
            3,
            "has no variable `location`",
        ),
        (
            "plan --target host --k8s 1.36.0 --delivery media --updates KB5058411",
            3,
            "media-updates",
        ),
        (
            "plan --target host --k8s 1.36.0 --delivery mirror",
            3,
            "artifacts of dl.k8s.io, github.com have no mirror",
        ),
        (
            "plan --target azure --k8s 1.36.0 --delivery media",
            3,
            "choose `--delivery mirror --mirror URL`",
        ),
        ("plan --target hst --k8s 1.36.0", 3, "did you mean `host`?"),
    ] {
        Test::new().line(line).fails(code, &[said]);
    }
    Test::new()
        .file(
            "imagegen.json",
            r#"{"target": "host", "kubernetes": "1.36.0", "packer": {"version": "1.16.0"}}"#,
        )
        .line("plan")
        .fails(3, &["packer-unused", "remove `packer`"]);
}

/// Every file that the plan would download is in the archive, under the digest by which the engine looks
/// for it; so the machine needs no network, and neither does the build.
#[test]
fn media_brings_everything_that_the_plan_asks_for() {
    let update = b"stands for an update";
    let digest = sha256_hex(update);
    let updates = json!({"target": "host", "kubernetes": "1.36.0", "delivery": "media", "updates": {"files": [
        {"kb": "KB5058411", "url": "https://catalog.example.com/kb5058411.msu", "sha256": digest},
    ]}, "volumePlugins": { "example.com~smb.cmd": [
        {"file": "smb.cmd", "url": "https://plugins.example.com/smb.cmd", "sha256": digest},
    ]}});
    let made = || {
        let test = Test::new().line("build --component openssh=10.0.0.0p2 --out o");
        let test = test.stocked("plan --target host --k8s 1.36.0 --component openssh=10.0.0.0p2");
        let test = test
            .file(
                &format!("store/objects/sha256/{}/{digest}", &digest[..2]),
                "stands for an update",
            )
            .file("imagegen.json", &updates.to_string());
        test.succeeds();
        test
    };
    let (test, again) = (made(), made());
    let zip = test.read(&format!("o/{NAME}"));
    assert_eq!(
        zip,
        again.read(&format!("o/{NAME}")),
        "the same files, the same bytes"
    );
    let members = members(&zip);
    let plan: Value = serde_json::from_slice(&members["guest-plan.json"]).unwrap();
    let mut carried: BTreeSet<String> = members
        .keys()
        .filter_map(|name| name.strip_prefix("artifacts/"))
        .map(str::to_owned)
        .collect();
    for resource in plan["resources"].as_array().unwrap() {
        let Some(digest) = resource["properties"]["digest"].as_str() else {
            continue;
        };
        assert_eq!(
            digest,
            sha256_hex(&members[&format!("artifacts/{digest}")]),
            "{}",
            resource["name"]
        );
        carried.remove(digest);
    }
    assert!(carried.is_empty(), "nobody asks for {carried:?}");
    assert!(
        members
            .keys()
            .filter(|name| name.starts_with("artifacts/"))
            .count()
            > 4
    );
    let mut archive = ZipArchive::new(Cursor::new(&zip)).unwrap();
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).unwrap();
        let name = file.name().unwrap();
        assert_eq!(file.compression(), zip::CompressionMethod::Stored, "{name}");
    }
    let readme = String::from_utf8(members["README.md"].clone()).unwrap();
    assert!(readme.contains("the machine needs no network"), "{readme}");
    // A preview packs nothing, and what was changed on the disk is not packed either.
    let preview = Test::new()
        .file("imagegen.json", &updates.to_string())
        .line("build --no-bake --out o");
    preview.succeeds();
    assert!(!preview.exists(&format!("o/{NAME}")));
    let changed = test
        .folder
        .join(format!("store/objects/sha256/{}/{digest}", &digest[..2]));
    std::fs::write(changed, "another update").unwrap();
    std::fs::remove_file(test.folder.join(format!("o/{NAME}"))).unwrap();
    test.fails(4, &["KB5058411", "--offline"]);
    assert!(!test.exists(&format!("o/{NAME}")));
}

/// Nothing is packed whose bytes nobody pinned, and without a network nobody can be asked; a preview says so.
#[test]
fn unpinned_artifacts_are_not_packed() {
    let selection = "--target host --k8s 1.36.0 --component windows-exporter=0.13.0 --out o";
    let preview = Test::new()
        .line("build --no-bake")
        .line(selection)
        .succeeds();
    assert!(
        preview.stdout.contains("unpinned: windows-exporter 0.13.0"),
        "{}",
        preview.stdout
    );
    let test = Test::new().line("build --offline").line(selection);
    test.fails(4, &["windows-exporter"]);
    assert!(!test.exists(&format!("o/{NAME}")));
}

/// The join fills in a pod network's configuration where nobody else does.
#[test]
fn a_node_knows_whether_its_pod_network_is_its_own_to_configure() {
    for (selection, network) in [
        ("--k8s 1.36.0 --cni win-bridge", Some("10-win-bridge.conf")),
        ("--k8s 1.36.0 --cni sdnoverlay", Some("10-sdnoverlay.conf")),
        ("--k8s 1.36.0 --cni l3", Some("10-l3.conf")),
        ("--k8s 1.36.0 --cni azure-cni", Some("10-azure.conflist")),
        (
            "--k8s 1.36.0 --cni flannel-overlay --host-access services",
            Some("10-flannel.conf"),
        ),
        ("--k8s 1.36.0 --cni flannel-overlay", None),
        ("--k8s 1.36.0 --cni calico", None),
        ("--k8s 1.36.0", None),
    ] {
        let test = Test::new().line(&format!("render --target host {selection} --out o"));
        test.succeeds();
        let plan: Value = serde_json::from_str(&test.text("o/guest-plan.json")).expect("JSON");
        let resources = plan["resources"].as_array().expect("resources");
        let file = |end: &str| {
            let found = resources.iter().find(|it| {
                it["properties"]["path"]
                    .as_str()
                    .is_some_and(|path| path.ends_with(end))
            });
            found.and_then(|it| it["properties"]["content"].as_str())
        };
        let facts = file(r"\node.conf").expect("node.conf");
        let line = facts.lines().find_map(|line| line.strip_prefix("network="));
        assert_eq!(
            line,
            network.map(|name| format!(r"C:\k\cni\{name}")).as_deref(),
            "{selection}"
        );
        // What it names is laid, and its marks are those that the join knows.
        let Some(name) = network else { continue };
        let template = file(&format!(r"\{name}")).expect(name);
        let script = include_str!("../provisioners/node/Network.ps1");
        for mark in template.split('"').filter(|text| text.contains('@')) {
            let mark = mark.split('@').nth(1).expect("mark");
            assert!(
                script.contains(&format!("'@{mark}@'")),
                "{selection}: nobody fills in {mark}"
            );
        }
    }
}

/// An archive stays until everything of the next one is there.
#[test]
fn a_build_that_fails_keeps_the_last_archive() {
    let test = Test::new();
    let line = "build --target host --k8s 1.36.0 --offline --store store --out o";
    test.prints(line);
    let before = crate::support::files(&test.folder.join("o"));
    for policy in ["", " --policy policy.json"] {
        let test = test.bare();
        let ran = test.run(&format!("{line} --delivery media{policy}"));
        assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    }
    assert_eq!(crate::support::files(&test.folder.join("o")), before);

    // A folder that cannot be written is named before anything is asked for.
    let test = test.file("o/notes.txt", "mine");
    let ran = test.bare().run(&format!("{line} --delivery media"));
    assert_eq!(ran.code, Some(6), "{}", ran.stderr);
    assert!(ran.stderr.contains("notes.txt"), "{}", ran.stderr);
}
