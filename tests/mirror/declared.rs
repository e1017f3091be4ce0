//! Signatures that the catalog declares, of files that are pinned: every verb that downloads asks for them.

use imagegen::base::digest::sha256_hex;
use serde_json::{Map, Value, json};

use super::site::{Site, proven};
use crate::detached::tools::{Bench, bench};
use crate::support::{files, root};

const HOST: &str = "--target host --k8s 1.36.4 --delivery media --manifests catalog";
const AZURE: &str = "--target azure --k8s 1.36.4 --manifests catalog";
const KUBELET: &str = "https://dl.k8s.io/release/v1.36.4/bin/windows/amd64/kubelet.exe";
const SIGNATURE: &str = "https://dl.k8s.io/release/v1.36.4/bin/windows/amd64/kubelet.exe.sig";

/// The catalog, in which a key of this test signs kubelets, in the place of Kubernetes' certificates.
fn write_catalog(site: &Site, key: &[u8]) {
    for (name, bytes) in files(&root().join("manifests")) {
        let path = site.home.folder.join("catalog").join(&name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        let bytes = match name.as_str() {
            "components/kubelet.json" => sign_by_key(&bytes),
            "trust/keys.json" => {
                let mut keys: Value = serde_json::from_slice(&bytes).expect("JSON");
                let ours = json!({"name": "ours", "fingerprint": "00", "file": "ours.pub", "source": "this test"});
                keys.as_array_mut().expect("keys").push(ours);
                keys.to_string().into_bytes()
            }
            _ => bytes,
        };
        std::fs::write(path, bytes).expect("file");
    }
    site.write("catalog/trust/ours.pub", key);
}

fn sign_by_key(component: &[u8]) -> Vec<u8> {
    let mut component: Value = serde_json::from_slice(component).expect("JSON");
    for release in component["releases"].as_array_mut().expect("releases") {
        for signature in release
            .get_mut("signatures")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            assert_eq!(signature["kind"], "cosign-keyless");
            *signature = json!({"kind": "cosign-key", "versions": signature["versions"], "url": signature["url"], "key": "ours"});
        }
    }
    component.to_string().into_bytes()
}

/// A site with everything, a kubelet that our key signed, and its signature, which is not served yet.
fn prepare(bench: &Bench) -> Option<(Site, Map<String, Value>, Vec<u8>)> {
    let mut site = Site::new()?;
    // Azure's images have one component more, whose override other images refuse.
    site.stock("--target azure --k8s 1.36.4");
    let of_azure = std::mem::take(&mut site.overrides);
    site.stock("--target host --k8s 1.36.4");
    let key = [
        "genpkey",
        "-algorithm",
        "EC",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-out",
        "p256.key",
    ];
    bench.run("openssl", key);
    write_catalog(
        &site,
        &bench.run("openssl", ["pkey", "-in", "p256.key", "-pubout"]),
    );
    bench.write("file", &site.served(KUBELET));
    let signature = bench.run("openssl", ["dgst", "-sha256", "-sign", "p256.key", "file"]);
    // Of the rest nothing is signed, which is accepted by name.
    site.waivers.remove("kubelet=cosign-keyless");
    Some((site, of_azure, signature))
}

/// The signature that a mirror gave is stored under the name of the artifact.
#[test]
fn a_signature_of_a_mirror_is_stored() {
    let Some(bench) = bench(&["openssl"]) else {
        return;
    };
    let Some((site, _, signature)) = prepare(&bench) else {
        return;
    };
    site.serve(SIGNATURE, &signature);
    site.succeeds(&format!("lock {HOST} --proofs proofs"));
    let digest = sha256_hex(&site.served(KUBELET));
    let stored = format!("proofs/kubelet-1.36.4-{}.cosign.sig", &digest[..12]);
    let stored = site.home.read(&stored);
    assert_eq!(stored, signature);
    let line = "verify imagegen.lock.json --manifests catalog --proofs proofs";
    let said = site.plain(&format!("{line} --lock imagegen.lock.json"), 0);
    let mut lines = said.stdout.lines().map(str::split_whitespace);
    let proof = ["verified", "cosign-key", "kubelet.exe:"];
    assert!(
        lines.any(|words| words.take(3).eq(proof)),
        "{}",
        said.stdout
    );
}

/// Every verb that acquires the bytes of artifacts.
fn list_verbs() -> Vec<String> {
    let azure =
        "--var location=westeurope --var managed_image_resource_group_name=rg --packer /bin/true";
    vec![
        format!("fetch {HOST}"),
        format!("lock {HOST} --prove --lock proven.json"),
        format!("build {HOST} --out host --force"),
        format!("build {AZURE} --out azure --force --ignore-lock {azure}"),
        format!(
            "build --target media --k8s 1.36.4 --manifests catalog --var windows_iso_sha256={} --out media --force --ignore-lock",
            "ab".repeat(32)
        ),
    ]
}

#[test]
fn a_declared_signature_is_asked_for_where_the_file_is_pinned() {
    let Some(bench) = bench(&["openssl"]) else {
        return;
    };
    let Some((mut site, of_azure, signature)) = prepare(&bench) else {
        return;
    };
    site.succeeds(&format!("lock {HOST}"));
    assert!(
        site.locked("kubelet")["evidence"].is_null(),
        "nothing of it was downloaded"
    );
    let waivers = site.list_waivers();
    let bundle = format!(
        "bundle create --out node.zip --store store --ca-file ca.pem --manifests catalog {waivers} --mirror {}",
        site.url("/")
    );
    let missing = [
        "kubelet 1.36.4 failed verification",
        "cosign-key: ",
        "[proof-missing]",
        "--waive kubelet=cosign-key",
        "`waivers`",
    ];
    let of_host = site.overrides.clone();
    let fails = |site: &mut Site, code: i32, said: &[&str], flag: &str| {
        for line in list_verbs() {
            site.overrides = if line.contains(AZURE) {
                of_azure.clone()
            } else {
                of_host.clone()
            };
            site.fails(&format!("{line} {flag}"), code, said);
        }
        let ran = site.plain(&format!("{bundle} {flag}"), code);
        assert!(
            said.iter().all(|part| ran.stderr.contains(part)),
            "{}",
            ran.stderr
        );
        let made = files(&site.home.folder);
        let made = made.keys().filter(|name| {
            name.contains("/imagegen-") || *name == "proven.json" || *name == "node.zip"
        });
        assert_eq!(made.collect::<Vec<_>>(), Vec::<&String>::new());
    };
    let waive = "--waive kubelet=cosign-key";
    fails(&mut site, 5, &missing, "");
    // A bad one is no missing one: no waiver accepts it.
    let mut bad = signature.clone();
    bad[20] ^= 1;
    site.serve(SIGNATURE, &bad);
    fails(&mut site, 5, &["kubelet 1.36.4", "[cosign-"], waive);
    site.overrides = of_host;
    let fetch = format!("fetch {HOST} {waive}");
    for (bytes, code) in [
        (&b""[..], "[empty]"),
        (b"<!DOCTYPE html>", "[cosign-malformed]"),
    ] {
        site.serve(SIGNATURE, bytes);
        site.fails(&fetch, 5, &["kubelet 1.36.4", code]);
    }
    // A server that refuses does not say that there is none.
    site.close(SIGNATURE, true);
    site.fails(&fetch, 4, &["kubelet 1.36.4", "[forbidden]"]);
    site.close(SIGNATURE, false);
    site.remove(SIGNATURE);

    // Waived by name, it passes, and says so.
    std::fs::remove_dir_all(site.home.folder.join("store")).expect("store");
    let fetched = site.succeeds(&format!("fetch {HOST} {waive}"));
    assert!(
        fetched
            .stderr
            .contains("kubelet 1.36.4: missing, and waived by name: cosign-key"),
        "{}",
        fetched.stderr
    );
    assert!(
        fetched.stdout.contains("pin; waived: cosign-key"),
        "{}",
        fetched.stdout
    );
    let fetched = site
        .succeeds(&format!("fetch {HOST} {waive} --format json"))
        .stdout;
    assert!(fetched.contains("proof-waived"), "{fetched}");
    // Offline, nobody is asked, and that is said once.
    let offline = site.succeeds(&format!("fetch {HOST} --offline")).stderr;
    let said: Vec<&str> = offline
        .lines()
        .filter(|line| line.contains("were not verified"))
        .collect();
    assert!(
        said.len() == 1 && said[0].contains("kubelet 1.36.4: cosign-key"),
        "{offline}"
    );

    // One that holds needs no waiver, and is evidence.
    site.serve(SIGNATURE, &signature);
    site.succeeds(&format!("fetch {HOST}"));
    site.plain(&bundle, 0);
    let asked = site.asked(SIGNATURE);
    assert!(asked > 0);
    site.succeeds(&format!("lock {HOST} --prove"));
    assert!(
        proven(&site.locked("kubelet"), "cosign-key"),
        "{:#}",
        site.locked("kubelet")
    );
    // A lock that says more or less of proofs is no stale one.
    site.succeeds(&format!("fetch {HOST} --locked"));
    // What is there offline must hold: as it came, and out of a bundle.
    let offline = site.succeeds(&format!("fetch {HOST} --offline --locked"));
    assert!(
        offline
            .stdout
            .lines()
            .any(|line| line.starts_with("kubelet 1.36.4 ") && line.contains("cosign-key")),
        "{}",
        offline.stdout
    );
    std::fs::remove_dir_all(site.home.folder.join("store")).expect("store");
    site.plain(
        "bundle extract node.zip --store store --manifests catalog",
        0,
    );
    let carried = site
        .succeeds(&format!("fetch {HOST} --offline --locked"))
        .stdout;
    assert!(
        carried
            .lines()
            .any(|line| line.starts_with("kubelet 1.36.4 ") && line.contains("cosign-key")),
        "{carried}"
    );
    std::fs::remove_dir_all(site.home.folder.join("store")).expect("store");
    site.succeeds(&format!("fetch {HOST} --locked"));
    site.serve(SIGNATURE, &bad);
    site.fails(
        &format!("fetch {HOST} --locked"),
        5,
        &["kubelet 1.36.4", "[cosign-"],
    );
    site.fails(
        &format!("fetch {HOST} --locked --offline {waive}"),
        5,
        &["kubelet 1.36.4", "[cosign-"],
    );
}

/// Under a policy, the policy alone waives.
#[test]
fn a_policy_waives_a_declared_signature_by_name() {
    let Some(bench) = bench(&["openssl"]) else {
        return;
    };
    let Some((site, ..)) = prepare(&bench) else {
        return;
    };
    site.write("policy.json", b"{\"name\": \"ours\"}");
    let refused = site
        .run(&format!("fetch {HOST} --policy policy.json"))
        .stderr;
    let digest = refused
        .split("(SHA-256 ")
        .nth(1)
        .and_then(|rest| rest.split_once(')'))
        .expect("a digest")
        .0
        .to_owned();
    let mut waivers: Vec<Value> = site
        .waivers
        .iter()
        .filter_map(|waiver| waiver.split_once('='))
        .map(|(component, proof)| json!({"component": component, "proof": proof}))
        .collect();
    let fails = |waivers: &[Value], code: i32, said: &[&str]| {
        let policy = json!({"name": "ours", "trustedDigests": [{"digest": digest, "components": ["--manifests"]}], "waivers": waivers});
        site.write("policy.json", policy.to_string().as_bytes());
        let ran = site.run(&format!("fetch {HOST} --policy policy.json"));
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(
            said.iter().all(|part| ran.stderr.contains(part)),
            "{}",
            ran.stderr
        );
    };
    fails(
        &waivers,
        5,
        &["kubelet 1.36.4", "[proof-missing]", "`waivers`"],
    );
    waivers.push(json!({"component": "kubelet", "proof": "cosign-key"}));
    fails(
        &waivers,
        0,
        &["kubelet 1.36.4: missing, and waived by name: cosign-key"],
    );
}
