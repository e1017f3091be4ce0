//! Newer releases: what publishers list, what an update moves to, and what it leaves.

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::site::{Site, proven};
use crate::evidence::outputs::check_documents;
use crate::support::Test;

const LINE: &str = "--target azure --k8s 1.36 --cni none";
const NODE: &str = "https://dl.k8s.io/release/v1.36.9/kubernetes-node-windows-amd64.tar.gz";
const NEWEST: &str = "https://dl.k8s.io/release/stable-1.36.txt";

fn releases(repository: &str) -> String {
    format!("https://api.github.com/repos/{repository}/releases?per_page=100")
}

/// Lists of all that the line holds: a newer Kubernetes, newer containerds, and nothing new otherwise.
pub(super) fn write_lists(site: &mut Site) {
    site.stock(LINE);
    // Digests of overrides are one version's.
    site.overrides.remove("kubernetes-node");
    site.overrides.remove("containerd");
    site.serve(NEWEST, b"v1.36.9\n");
    let containerd = json!([
        { "tag_name": "v99.0.0" }, { "tag_name": "v2.3.7" }, { "tag_name": "v2.3.8-rc.1", "prerelease": true },
        { "tag_name": "api/v1.11.0" }, { "tag_name": "v1.7.99" },
    ]);
    site.serve(
        &releases("containerd/containerd"),
        containerd.to_string().as_bytes(),
    );
    for repository in ["kubernetes-sigs/cri-tools", "cloudbase/cloudbase-init"] {
        site.serve(&releases(repository), b"[]");
    }
}

fn kubernetes(site: &Site) {
    let bytes = site.own_build("kubernetes-node", "1.36.9");
    site.serve(NODE, &bytes);
    let sums = format!("{NODE}.sha256");
    site.serve(&sums, sha256_hex(&bytes).as_bytes());
}

fn rows(site: &Site, line: &str) -> Vec<Value> {
    let said = site
        .succeeds(&format!("outdated {line} --format json"))
        .stdout;
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said["schema"], "imagegen.dev/outdated/v1");
    check_documents(&site.home, &[(line.to_owned(), said.clone())]);
    said["items"].as_array().expect("rows").clone()
}

fn row<'a>(rows: &'a [Value], name: &str) -> &'a Value {
    rows.iter().find(|row| row["name"] == name).expect("row")
}

#[test]
fn what_is_newer_is_told_with_its_proof() {
    let Some(mut site) = Site::new() else { return };
    write_lists(&mut site);
    kubernetes(&site);
    let found = rows(&site, LINE);
    let it = row(&found, "kubernetes");
    assert_eq!(
        (&it["newer"], &it["proof"], &it["held"]),
        (&json!("1.36.9"), &json!("checksum-file"), &Value::Null)
    );
    // Neither what is not final, nor what the line does not work with, nor what nobody proves.
    let it = row(&found, "containerd");
    assert_eq!(it["newest"], "99.0.0");
    assert_ne!(it["newer"], "99.0.0");
    // The user's own words hold it.
    let digest = sha256_hex(b"stands for kubelet");
    site.overrides
        .insert("kubelet".to_owned(), json!({ "sha256": digest }));
    let found = rows(&site, LINE);
    assert!(
        row(&found, "kubernetes")["held"]
            .as_str()
            .expect("held")
            .contains("kubelet")
    );
    let found = rows(
        &site,
        "--target azure --k8s 1.36.4 --component containerd=2.3.1",
    );
    assert!(
        row(&found, "kubernetes")["held"]
            .as_str()
            .expect("held")
            .contains("1.36.4")
    );
    assert!(
        row(&found, "containerd")["held"]
            .as_str()
            .expect("held")
            .contains("selection")
    );
    // What was asked once is known without a network.
    let asked = site.requests();
    rows(&site, &format!("{LINE} --offline"));
    assert_eq!(site.requests(), asked);
}

/// Some publishers answer only a number of requests an hour.
#[test]
fn images_share_a_list_that_is_asked_once() {
    let Some(mut site) = Site::new() else { return };
    write_lists(&mut site);
    kubernetes(&site);
    let definition = json!({
        "target": "azure", "kubernetes": "1.36", "cni": "none",
        "images": {"one": {}, "two": {"windows": "2025"}, "three": {"join": "templates"}},
    });
    site.write("imagegen.json", definition.to_string().as_bytes());
    let list = releases("containerd/containerd");
    let sums = &format!("{NODE}.sha256");
    for verb in ["outdated --all --jobs 3", "outdated --all"] {
        let before = (site.asked(&list), site.asked(sums));
        site.succeeds(verb);
        let after = (before.0 + 1, before.1 + 1);
        assert_eq!((site.asked(&list), site.asked(sums)), after, "{verb}");
    }
    // A refusal is the answer to every image: each question would only use up the limit.
    site.close(&list, true);
    for verb in ["outdated --all --jobs 3", "outdated --all"] {
        let before = site.asked(&list);
        site.fails(verb, 4, &["one", "two", "three", "403"]);
        assert_eq!(site.asked(&list), before + 1, "{verb}");
    }
}

/// An image with a mirror of its own is told what that mirror has, whichever image comes first.
#[test]
fn images_with_other_mirrors_have_other_lists() {
    let Some(mut site) = Site::new() else { return };
    write_lists(&mut site);
    kubernetes(&site);
    let mirror = json!({"https://api.github.com/": {"url": site.url("/other/")}});
    let definition = json!({
        "target": "azure", "kubernetes": "1.36", "cni": "none",
        "images": {"one": {}, "two": {"overrides": mirror}, "three": {}},
    });
    site.write("imagegen.json", definition.to_string().as_bytes());
    let path = "/other/repos/containerd/containerd/releases?per_page=100";
    site.serve(path, br#"[{"tag_name": "v2.3.7"}]"#);
    for order in ["one two three", "two one three"] {
        let said = site.succeeds(&format!("outdated {order} --format json"));
        let said: Value = serde_json::from_str(&said.stdout).expect("JSON");
        for (name, newest) in [("one", "99.0.0"), ("two", "2.3.7"), ("three", "99.0.0")] {
            let rows = said["images"][name]["items"].as_array().expect("rows");
            assert_eq!(row(rows, "containerd")["newest"], newest, "{order}: {name}");
        }
    }
}

#[test]
fn an_update_is_locked_and_kept() {
    let Some(mut site) = Site::new() else { return };
    write_lists(&mut site);
    kubernetes(&site);
    site.overrides.insert(
        "containerd".to_owned(),
        json!({ "sha256": sha256_hex(b"stands for containerd") }),
    );
    let said = site
        .succeeds(&format!("lock {LINE} --update kubernetes"))
        .stderr;
    assert!(said.contains("kubernetes 1.36.6 → 1.36.9"), "{said}");
    assert!(said.contains("newer than 1.36.6"), "{said}");
    let node = site.locked("kubernetes-node");
    assert_eq!(node["version"], "1.36.9");
    assert!(proven(&node, "checksum-file"), "{node:#}");
    // Every verb that reads the lock goes by it; locking again keeps it.
    site.succeeds(&format!("build {LINE} --locked --no-bake --out o"));
    assert!(
        site.home
            .text("o/guest-plan.json")
            .contains("/release/v1.36.9/")
    );
    let lock = site.home.text("imagegen.lock.json");
    site.succeeds(&format!("lock {LINE}"));
    assert_eq!(site.home.text("imagegen.lock.json"), lock);
    // Who names a release gets that one, and the lock is another's.
    site.fails(
        "build --target azure --k8s 1.36.4 --locked --no-bake --out p",
        3,
        &["1.36.9"],
    );
    let found = rows(&site, LINE);
    assert_eq!(row(&found, "kubernetes")["newer"], Value::Null);
}

#[test]
fn updates_that_cannot_be_are_refused() {
    let Some(mut site) = Site::new() else { return };
    write_lists(&mut site);
    for (line, code, said) in [
        (
            format!("lock {LINE} --update kubernetes-node"),
            3,
            "`--update kubernetes`",
        ),
        (format!("lock {LINE} --update cowsay"), 3, "choose one of"),
        (
            "lock --target azure --k8s 1.36.4 --update kubernetes".to_owned(),
            3,
            "names 1.36.4",
        ),
        // Nothing is published for it.
        (format!("lock {LINE} --update kubernetes"), 4, "404"),
    ] {
        site.fails(&line, code, &[said]);
        assert!(!site.home.exists("imagegen.lock.json"), "{line}");
    }
    for (list, said) in [("<html>", "not JSON"), ("{}", "not a list")] {
        site.serve(&releases("containerd/containerd"), list.as_bytes());
        site.fails(&format!("outdated {LINE}"), 4, &["containerd", said]);
    }
    site.remove(NEWEST);
    site.fails(
        &format!("lock {LINE} --update kubernetes"),
        3,
        &["no list of this line"],
    );
}

#[test]
fn a_catalog_is_pinned_from_the_publisher() {
    let Some(site) = Site::new() else { return };
    let url = "https://github.com/rancher/wins/releases/download/v0.1.3/wins.exe";
    let sums = url.replace("wins.exe", "sha256sum.txt");
    let digest = sha256_hex(b"wins");
    site.serve(url, b"wins");
    site.serve(&sums, format!("{digest}  wins.exe\n").as_bytes());
    let run = |line: &str, code: i32| {
        let test = Test::new().line(line).args(["--mirror", &site.url("/")]);
        let output = test
            .command()
            .current_dir(&site.home.folder)
            .output()
            .expect("the program starts");
        assert_eq!(
            output.status.code(),
            Some(code),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let export = Test::new().line("catalog export --out catalog");
    export.succeeds();
    std::fs::rename(
        export.folder.join("catalog"),
        site.home.folder.join("catalog"),
    )
    .expect("catalog");
    let pin = |version: &str, rest: &str| {
        format!(
            "pin wins {version} --manifests catalog --ca-file ca.pem --store store --from {rest}"
        )
    };
    run(&pin("0.1.3", "publisher"), 0);
    let component: Value =
        serde_json::from_str(&site.home.text("catalog/pins/wins.json")).expect("JSON");
    // A checksum file from the origin of the bytes raises no confidence.
    let pins = component["pins"].as_array().expect("pins").iter();
    let added: Vec<&Value> = pins.filter(|pin| pin["version"] == "0.1.3").collect();
    assert_eq!(added.len(), 2);
    assert_eq!(
        (&added[0]["digest"], &added[0]["confidence"]),
        (&json!(digest), &json!("low"))
    );
    assert_eq!(added[0]["size"], 4);
    assert!(
        added[0]["source"][0]
            .as_str()
            .expect("source")
            .ends_with(" (checksum-file)")
    );
    // A URL proves nothing: whoever found it says so.
    assert!(
        run(
            &pin(
                "0.1.2",
                &site.url("/github.com/rancher/wins/releases/download/v0.1.3/wins.exe")
            ),
            2
        )
        .contains("--source")
    );
    // Neither does a publisher without proofs, nor one who contradicts himself.
    site.serve(&url.replace("0.1.3", "0.0.4"), b"old");
    assert!(run(&pin("0.0.4", "publisher"), 5).contains("wins 0.0.4"));
    site.serve(url, b"other");
    assert!(run(&pin("0.1.3", "publisher"), 5).contains("checksum-mismatch"));
}

#[test]
fn lists_are_asked_for_on_allowed_hosts_alone() {
    let Some(mut site) = Site::new() else { return };
    write_lists(&mut site);
    kubernetes(&site);
    site.write(
        "policy.json",
        json!({ "name": "ours", "allowedHosts": ["mirror.test"] })
            .to_string()
            .as_bytes(),
    );
    let asked = site.requests();
    site.fails(
        &format!("lock {LINE} --policy policy.json --update"),
        5,
        &["ours", "127.0.0.1", "allowedHosts"],
    );
    assert_eq!(site.requests(), asked);
}
