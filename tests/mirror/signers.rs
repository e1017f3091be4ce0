//! Overrides that a provider signed, by four kinds of signer.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::site::{Site, proven};
use crate::authenticode::workshop::{pe, workshop};
use crate::detached::tools::{Bench, bench};

const NEW: &str = "--target azure --k8s 1.36.4";

/// A key of GnuPG's: fingerprint, and the public key in armour.
pub fn gpg_key(bench: &Bench) -> (String, Vec<u8>) {
    fs::DirBuilder::new()
        .mode(0o700)
        .create(bench.path("gnupg"))
        .expect("folder");
    gpg(
        bench,
        &[
            "--quick-gen-key",
            "provider",
            "ed25519",
            "sign,cert",
            "never",
        ],
    );
    let listing = String::from_utf8(gpg(bench, &["--with-colons", "--list-keys"])).expect("UTF-8");
    let line = listing
        .lines()
        .find(|line| line.starts_with("fpr:"))
        .expect("fingerprint");
    let fingerprint = line.split(':').nth(9).expect("field").to_owned();
    (fingerprint, gpg(bench, &["--armor", "--export"]))
}

pub fn gpg_sign(bench: &Bench, bytes: &[u8]) -> Vec<u8> {
    bench.write("message", bytes);
    gpg(bench, &["--output", "-", "--detach-sign", "message"])
}

fn gpg(bench: &Bench, arguments: &[&str]) -> Vec<u8> {
    let always = [
        "--batch",
        "--yes",
        "--quiet",
        "--no-tty",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
    ];
    bench.run("gpg", always.into_iter().chain(arguments.iter().copied()))
}

/// Serves a build of the provider's own with its signature and an override that pins it by both.
pub fn signed_by_cosign(bench: &Bench, site: &mut Site, component: &str, end: &str) {
    let bytes = site.own_build(component, &format!("{component} of the provider's own"));
    let file = format!("/own/{component}{end}");
    bench.write("file", &bytes);
    if !bench.path("p256.key").exists() {
        make_key(bench, site);
    }
    site.serve(&file, &bytes);
    site.serve(
        &format!("{file}.sig"),
        &bench.run("openssl", ["dgst", "-sha256", "-sign", "p256.key", "file"]),
    );
    let signature =
        json!({"kind": "cosign-key", "key": "cosign.pub", "url": site.url(&format!("{file}.sig"))});
    let over =
        json!({"url": site.url(&file), "sha256": sha256_hex(&bytes), "signature": signature});
    site.overrides.insert(component.to_owned(), over);
}

fn make_key(bench: &Bench, site: &Site) {
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
    site.write(
        "cosign.pub",
        &bench.run("openssl", ["pkey", "-in", "p256.key", "-pubout"]),
    );
}

/// A component, how its evidence is called, its file, and what is served beside it.
struct Signed {
    component: &'static str,
    proof: &'static str,
    bytes: Vec<u8>,
    beside: Vec<u8>,
    over: Value,
}

fn cosign(bench: &Bench, site: &Site) -> Signed {
    let bytes = pe(true);
    bench.write("kubelet.exe", &bytes);
    make_key(bench, site);
    let beside = bench.run(
        "openssl",
        ["dgst", "-sha256", "-sign", "p256.key", "kubelet.exe"],
    );
    let over = json!({"kind": "cosign-key", "key": "cosign.pub"});
    Signed {
        component: "kubelet",
        proof: "cosign-key",
        bytes,
        beside,
        over,
    }
}

fn minisign(bench: &Bench, site: &Site) -> Signed {
    let bytes = site.own_build("containerd", "containerd of the provider's own");
    bench.write("containerd", &bytes);
    bench.run("minisign", ["-G", "-W", "-p", "mini.pub", "-s", "mini.key"]);
    bench.run(
        "minisign",
        ["-S", "-s", "mini.key", "-m", "containerd", "-x", "mini.sig"],
    );
    site.write("mini.pub", &bench.read("mini.pub"));
    let over = json!({"kind": "minisign", "key": "mini.pub"});
    Signed {
        component: "containerd",
        proof: "minisign",
        bytes,
        beside: bench.read("mini.sig"),
        over,
    }
}

fn openpgp(bench: &Bench, site: &Site) -> Signed {
    let bytes = b"kubectl of the provider's own".to_vec();
    let (identity, key) = gpg_key(bench);
    site.write("provider.asc", &key);
    let over = json!({"kind": "openpgp", "key": "provider.asc", "identity": identity});
    Signed {
        component: "kubectl",
        proof: "openpgp",
        beside: gpg_sign(bench, &bytes),
        bytes,
        over,
    }
}

impl Signed {
    fn file(&self) -> String {
        let end = if self.component == "containerd" {
            ".tar.gz"
        } else {
            ".exe"
        };
        format!("/own/{}{end}", self.component)
    }

    fn place(&self, site: &mut Site) {
        let file = self.file();
        site.serve(&file, &self.bytes);
        site.serve(&format!("{file}.sig"), &self.beside);
        let mut signature = self.over.clone();
        signature["url"] = site.url(&format!("{file}.sig")).into();
        let over = json!({"url": site.url(&file), "signature": signature});
        site.overrides.insert(self.component.to_owned(), over);
    }
}

#[test]
fn signatures_of_a_provider_pin_his_own_builds() {
    let Some(bench) = bench(&["openssl", "minisign", "gpg"]) else {
        return;
    };
    let Some(mut site) = Site::new() else { return };
    site.stock(NEW);
    let all = [
        cosign(&bench, &site),
        minisign(&bench, &site),
        openpgp(&bench, &site),
    ];
    for signed in &all {
        signed.place(&mut site);
    }
    site.succeeds(&format!("lock {NEW}"));
    for signed in &all {
        let locked = site.locked(signed.component);
        assert!(proven(&locked, signed.proof), "{locked:#}");
        assert!(
            locked.to_string().contains(&sha256_hex(&signed.bytes)),
            "{locked:#}"
        );
    }
    site.succeeds(&format!("fetch {NEW} --locked"));
    site.succeeds(&format!("fetch {NEW} --locked --offline"));
    site.succeeds(&format!("build {NEW} --no-bake --locked --out o"));
    for signed in &all {
        let file = signed.file();
        let mut bytes = signed.bytes.clone();
        bytes[7] ^= 1;
        site.afresh();
        site.serve(&file, &bytes);
        site.fails(
            &format!("lock {NEW}"),
            5,
            &[signed.component, signed.proof, "own/"],
        );
        assert!(!site.home.exists("imagegen.lock.json"));
        site.serve(&file, &signed.bytes);
        // A declared signature that is not there is a failure, also where the digest is pinned.
        site.remove(&format!("{file}.sig"));
        site.fails(
            &format!("lock {NEW}"),
            5,
            &[signed.component, "[proof-missing"],
        );
        let pin = format!(
            "--override {}.sha256={}",
            signed.component,
            sha256_hex(&signed.bytes)
        );
        site.fails(
            &format!("lock {NEW} --prove {pin}"),
            5,
            &[signed.component, "[proof-missing"],
        );
        // Waived by name it is no failure, and no proof either.
        let waived = format!("--waive {}={}", signed.component, signed.proof);
        site.fails(
            &format!("lock {NEW} {waived}"),
            5,
            &[signed.component, "no digest is recorded"],
        );
        site.succeeds(&format!("lock {NEW} --prove {pin} {waived}"));
        let locked = site.locked(signed.component);
        assert!(
            !proven(&locked, signed.proof) && locked.to_string().contains("proof-waived"),
            "{locked:#}"
        );
        site.afresh();
        site.serve(&format!("{file}.sig"), &signed.beside);
    }
    site.succeeds(&format!("lock {NEW}"));
}

#[test]
fn publishers_sign_programs_under_roots_of_their_own() {
    let Some(workshop) = workshop() else { return };
    let Some(mut site) = Site::new() else { return };
    site.stock(NEW);
    site.write("root.pem", &workshop.read("root.pem"));
    let program = workshop.sign("mirrored.exe", &pe(true), "leaf", &[]);
    site.serve("/own/kube-proxy.exe", &program);
    let mut over = json!({
        "url": site.url("/own/kube-proxy.exe"),
        "publisher": "O=Harness\\, Inc.,CN=Harness Publisher",
        "roots": "root.pem",
    });
    site.overrides.insert("kube-proxy".to_owned(), over.clone());
    site.succeeds(&format!("lock {NEW}"));
    let locked = site.locked("kube-proxy");
    assert!(proven(&locked, "authenticode"), "{locked:#}");
    site.succeeds(&format!("fetch {NEW} --locked"));
    site.succeeds(&format!("fetch {NEW} --locked --offline"));

    let mut tampered = program.clone();
    tampered[0x60] ^= 1;
    for (bytes, publisher, roots, code) in [
        (
            &tampered,
            "CN=Harness Publisher",
            Some("root.pem"),
            "[file-digest]",
        ),
        (&program, "CN=Somebody Else", Some("root.pem"), "[publisher"),
        (&program, "CN=Harness Publisher", None, "[untrusted-root]"),
        (
            &pe(true),
            "CN=Harness Publisher",
            Some("root.pem"),
            "[unsigned]",
        ),
    ] {
        site.afresh();
        site.serve("/own/kube-proxy.exe", bytes);
        over["publisher"] = publisher.into();
        over["roots"] = roots.into();
        site.overrides.insert("kube-proxy".to_owned(), over.clone());
        site.fails(
            &format!("lock {NEW}"),
            5,
            &["kube-proxy 1.36.4", "authenticode", code],
        );
    }
}
