//! Images by tag: the lockfile has what their registry serves, and nothing is built before.

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::operator;
use super::registry::{Registry, image, tag};
use crate::support::Test;

const LINE: &str = "--target host --k8s 1.36.0 --windows 2022 --image";
const BUILDS: [&str; 3] = ["10.0.17763.6", "10.0.20348.9", "10.0.26100.1"];

/// A registry with `team/app:1`: the name, the list's digest, and the digest for Windows Server 2022.
fn serve() -> (Registry, String, String, String) {
    let server = Registry::start();
    let (list, _, fitting) = image(&server, "team/app", &BUILDS);
    tag(&server, "team/app", "1", &list);
    let name = format!("{}/team/app:1", server.address());
    (server, name, list, fitting)
}

fn read(test: &Test) -> Value {
    serde_json::from_str(&test.text("imagegen.lock.json")).expect("JSON")
}

fn run(test: &Test, line: &str, name: &str) -> String {
    test.prints(&format!("{line} {LINE} {name}"))
}

#[test]
fn a_tag_is_locked_to_the_digest_for_its_windows() {
    let (server, name, list, fitting) = serve();
    for token in [None, Some("s3cr3t")] {
        server.demand(token);
        let test = operator();
        run(&test, "lock --store s", &name);
        let lock = read(&test);
        let pin = &lock["taggedImages"][0]["pin"];
        assert_eq!(lock["taggedImages"][0]["name"], name.as_str());
        assert_eq!(pin["index"], list.as_str());
        assert_eq!(pin["manifest"], fitting.as_str());
        assert_eq!(pin["build"], 20348);
        assert_eq!(pin["osVersion"], "10.0.20348.9");
        assert!(pin["size"].as_u64().is_some_and(|size| size > 100), "{pin}");
        let pinned = format!("{name}@sha256:{list}");
        let images = lock["images"].as_array().expect("images");
        assert!(images.contains(&json!(pinned)), "{images:?}");
        assert!(!test.text("imagegen.lock.json").contains("s3cr3t"));

        run(&test, "render --locked --out o", &name);
        assert!(test.text("o/guest-plan.json").contains(&pinned));
        let plan = run(&test, "plan", &name);
        assert!(
            plan.contains(&format!("{pinned} (10.0.20348.9, ")),
            "{plan}"
        );
    }
}

/// A preview says so, and stops the machine that is made of it; a build wants the lockfile.
#[test]
fn a_tag_without_lockfile_builds_nothing() {
    let name = "mcr.microsoft.com/windows/servercore:ltsc2022";
    let test = operator();
    let plan = run(&test, "plan", name);
    assert!(
        plan.contains(&format!("{name}: no recorded digest")),
        "{plan}"
    );
    run(&test, "render --out o", name);
    let nothing = format!("{name}@sha256:{}", "0".repeat(64));
    assert!(test.text("o/guest-plan.json").contains(&nothing));
    operator()
        .line(&format!("build --out o {LINE} {name}"))
        .fails(5, &["not pinned by digest", name, "imagegen lock"]);
}

#[test]
fn a_locked_tag_moves_only_when_it_is_updated() {
    let (server, name, list, _) = serve();
    let test = operator();
    // No publisher answers, so that the image alone can be newer.
    let mirror = server.url("/nothing");
    let write_lock = format!("lock --store s --mirror {mirror}");
    run(&test, &write_lock, &name);
    let (newer, ..) = image(
        &server,
        "team/app",
        &["10.0.17763.7", "10.0.20348.11", "10.0.26100.2"],
    );
    tag(&server, "team/app", "1", &newer);
    run(&test, &write_lock, &name);
    assert_eq!(
        read(&test)["taggedImages"][0]["pin"]["index"],
        list.as_str()
    );

    let rows = run(
        &test,
        &format!("outdated --store s --format json --mirror {mirror}"),
        &name,
    );
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    let row = rows["items"]
        .as_array()
        .expect("rows")
        .last()
        .expect("the image");
    let expected =
        json!({"name": name, "planned": list, "newer": newer, "osVersion": "10.0.20348.11"});
    assert_eq!(*row, expected);

    run(&test, &format!("{write_lock} --update {name}"), &name);
    let lock = read(&test);
    assert_eq!(lock["taggedImages"][0]["pin"]["index"], newer.as_str());
    assert_eq!(lock["taggedImages"][0]["pin"]["osVersion"], "10.0.20348.11");
}

/// A tag is asked for once in a run, for each build of Windows.
#[test]
fn images_share_the_answer_to_a_tag() {
    let (server, name, ..) = serve();
    let mirror = server.url("/nothing");
    let definition = json!({"target": "host", "kubernetes": "1.36.0", "images": {
        "a": {"windows": "2022"}, "b": {"windows": "2022"}, "c": {"windows": "2025"}, "d": {"windows": "2022"},
    }});
    let test = operator().file("imagegen.json", &definition.to_string());
    let mut asked = 0;
    for verb in [
        "lock --all --jobs 3".to_owned(),
        format!("lock --all --update {name}"),
        format!("outdated --all --jobs 3 --mirror {mirror}"),
    ] {
        test.prints(&format!("{verb} --store s --image {name}"));
        asked += 2;
        let count = server.count_asked("/v2/team/app/manifests/1");
        assert_eq!(count, asked, "{verb}");
    }
}

/// The manifest is one build's: another Windows asks again.
#[test]
fn a_pin_of_another_windows_is_not_used() {
    let (_server, name, ..) = serve();
    let test = operator();
    run(&test, "lock --store s", &name);
    test.prints(&format!(
        "lock --store s --target host --k8s 1.36.0 --windows 2025 --image {name}"
    ));
    let pin = read(&test)["taggedImages"][0]["pin"].clone();
    assert_eq!(pin["osVersion"], "10.0.26100.1", "{pin}");
}

#[test]
fn registries_and_lockfiles_that_lie_are_refused() {
    let (server, name, list, fitting) = serve();
    let test = operator();
    run(&test, "lock --store s", &name);
    let lock = test.text("imagegen.lock.json");
    let other = sha256_hex(b"other");
    for (from, to) in [
        (&list, &other),
        (&name, &name.replace("team/app:1", "team/bpp:1")),
    ] {
        // Only where the pin is, so that lists and pins differ.
        let at = lock.find("\"taggedImages\"").expect("the pins");
        let forged = format!(
            "{}{}",
            &lock[..at],
            lock[at..].replacen(from.as_str(), to, 1)
        );
        operator()
            .file("imagegen.lock.json", &forged)
            .line(&format!("render --locked --out o {LINE} {name}"))
            .fails(3, &["is stale"]);
    }

    let ask = |name: &str| operator().line(&format!("lock --store s {LINE} {name}"));
    server.serve(&format!("/v2/team/app/manifests/sha256:{fitting}"), b"{}");
    ask(&name).fails(5, &["serves other bytes"]);
    ask(&name.replace(":1", ":2")).fails(4, &["team/app"]);
    let (old, ..) = image(&server, "team/old", &["10.0.17763.6", "10.0.14393.1"]);
    tag(&server, "team/old", "1", &old);
    ask(&name.replace("team/app", "team/old")).fails(5, &["no image for Windows build 20348"]);
}

/// Without a list, the configuration alone says for which system an image is.
#[test]
fn a_single_image_must_be_for_the_windows_of_the_node() {
    let server = Registry::start();
    let locked = super::lock(&server, b"first");
    for (at, (config, outcome)) in [
        (
            json!({"os": "linux", "architecture": "amd64"}),
            Err("linux/amd64"),
        ),
        (
            json!({"os": "windows", "architecture": "arm64"}),
            Err("windows/arm64"),
        ),
        (
            json!({"os": "windows", "os.version": "10.0.17763.6"}),
            Err("10.0.17763.6"),
        ),
        (
            json!({"os": "windows", "os.version": "10.0.26100.1"}),
            Err("10.0.26100.1"),
        ),
        (
            json!({"os": "windows", "os.version": "10.0.20348.9"}),
            Ok(json!("10.0.20348.9")),
        ),
        (json!({"os": "windows"}), Ok(Value::Null)),
        (json!({}), Ok(Value::Null)),
    ]
    .into_iter()
    .enumerate()
    {
        let team = format!("team/one{at}");
        let part = |bytes: &[u8]| {
            let digest = format!("sha256:{}", sha256_hex(bytes));
            server.serve(&format!("/v2/{team}/blobs/{digest}"), bytes);
            json!({"mediaType": "application/octet-stream", "digest": digest, "size": bytes.len()})
        };
        let manifest = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": part(config.to_string().as_bytes()), "layers": [part(b"a layer")],
        });
        let bytes = manifest.to_string().into_bytes();
        let digest = sha256_hex(&bytes);
        for version in ["1", &format!("sha256:{digest}")] {
            server.serve(&format!("/v2/{team}/manifests/{version}"), &bytes);
        }

        let name = format!("{}/{team}:1", server.address());
        let locking = operator();
        let line = format!("lock --store s {LINE} {name}");
        let bundling = operator()
            .file("imagegen.lock.json", &locked)
            .line(&format!(
                "bundle create --out b.zip --store s --image {name}@sha256:{digest}"
            ));
        match outcome {
            Ok(version) => {
                locking.prints(&line);
                let pin = &read(&locking)["taggedImages"][0]["pin"];
                assert_eq!(pin["osVersion"], version, "{pin}");
                bundling.succeeds();
            }
            Err(said) => {
                locking.line(&line).fails(5, &[said]);
                // An image that is named by its digest may be for other nodes.
                if said.contains('/') {
                    bundling.fails(5, &[said]);
                } else {
                    assert!(bundling.succeeds().stderr.contains(said));
                }
            }
        }
    }
}

/// Some publishers serve layers themselves, and let nobody else do it.
#[test]
fn a_bundle_names_layers_that_may_not_be_distributed() {
    let server = Registry::start();
    let blob = |name: &str, bytes: &[u8]| {
        server.serve(name, bytes);
        json!({"digest": format!("sha256:{}", sha256_hex(bytes)), "size": bytes.len()})
    };
    let config = format!(
        "/v2/team/base/blobs/sha256:{}",
        sha256_hex(b"{\"os\":\"windows\"}")
    );
    let mut config = blob(&config, b"{\"os\":\"windows\"}");
    config["mediaType"] = json!("application/vnd.docker.container.image.v1+json");
    let mut layer = blob("/publisher/layer", b"a layer of Windows");
    layer["mediaType"] = json!("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip");
    layer["urls"] = json!([server.url("/publisher/layer")]);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "config": config, "layers": [layer],
    });
    let bytes = manifest.to_string().into_bytes();
    for version in ["1", &format!("sha256:{}", sha256_hex(&bytes))] {
        server.serve(&format!("/v2/team/base/manifests/{version}"), &bytes);
    }
    let name = format!("{}/team/base:1", server.address());
    let test = operator();
    run(&test, "lock --store s", &name);
    let pin = read(&test)["taggedImages"][0]["pin"].clone();
    assert_eq!(
        pin["foreignLayers"],
        json!([sha256_hex(b"a layer of Windows")])
    );

    let pinned = format!("{name}@sha256:{}", sha256_hex(&bytes));
    let made = operator()
        .file("imagegen.lock.json", &super::lock(&server, b"first"))
        .line("bundle create --out b.zip --store s --format json --image")
        .args([pinned.as_str()]);
    let ran = made.succeeds();
    assert!(
        ran.stderr.contains("does not let others distribute"),
        "{}",
        ran.stderr
    );
    let output: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(output["images"][0]["foreignLayers"][0], layer["digest"]);
    super::third_verify(&made.read("b.zip"), 0);
}

/// A set is the images that the cluster's manifests name for the same selection, and so the manifests cannot name one
/// that nobody pulled in advance.
#[test]
fn the_set_of_agents_is_that_of_the_manifests() {
    let mut named = 0;
    for (k8s, cni, access) in [
        ("1.36", "flannel-overlay", "hostprocess"),
        ("1.36", "calico", "hostprocess"),
        ("1.30", "flannel-hostgw", "services"),
        ("1.20", "flannel-overlay", "wins"),
        ("1.20", "win-bridge", "services"),
    ] {
        let line = format!("--k8s {k8s} --cni {cni} --host-access {access}");
        let test = operator();
        let nodes = if ["flannel-hostgw", "win-bridge"].contains(&cni) {
            "--node-subnet 10.0.0.0/24"
        } else {
            ""
        };
        test.prints(&format!(
            "cluster-manifests {line} --endpoint api.example.com:6443 {nodes} --out o"
        ));
        let mut wanted: Vec<String> = Vec::new();
        for (path, bytes) in crate::support::files(&test.folder.join("o")) {
            let text = String::from_utf8(bytes).expect("text");
            if path.starts_with("smoke/") || text.contains("kubernetes.io/os: linux") {
                continue;
            }
            let images = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("image: "));
            wanted.extend(images.map(|image| image.trim_matches('"').to_owned()));
        }
        wanted.sort();
        wanted.dedup();
        let plan = test.prints(&format!(
            "plan --target azure {line} --images agents --format json"
        ));
        let plan: Value = serde_json::from_str(&plan).expect("JSON");
        let images = plan["taggedImages"].as_array().cloned().unwrap_or_default();
        let mut found: Vec<&str> = images.iter().filter_map(|it| it["name"].as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, wanted, "{line}");
        named += found.len();
    }
    assert!(named >= 4, "{named}");
    let plan =
        operator().prints("plan --target azure --k8s 1.30 --windows 2019 --images workloads");
    assert!(plan.contains("servercore:ltsc2019: unpinned"), "{plan}");
    operator()
        .line("plan --target azure --k8s 1.36 --images agent")
        .fails(
            3,
            &["no set of container images is named `agent`", "agents"],
        );
}
