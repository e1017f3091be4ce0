//! What proves a signer is kept beside the lock, and holds without network and without the artifact.

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::site::Site;
use crate::authenticode::wheels::{Wheel, whole};
use crate::detached::sigstore::pair;
use crate::support::{files, root};

/// The file that the bundle among the fixtures is over.
pub(super) const SIGNED: Wheel = Wheel {
    package: "rfc8785",
    version: "0.1.2",
    digest: "c4e92e9ecc828bef2aa7dba1de8ac983511f7532a0df11c770d39099a25cf201",
};

pub(super) const IDENTITY: &str =
    "https://github.com/trailofbits/rfc8785.py/.github/workflows/release.yml@refs/tags/v0.1.2";
pub(super) const ISSUER: &str = "https://token.actions.githubusercontent.com";
const SELECTION: &str = "--target host --k8s 1.36.4";

#[test]
fn signers_are_proven_again_beside_the_lock_alone() {
    let Some(bytes) = whole(&SIGNED) else { return };
    let Some(mut site) = Site::new() else { return };
    let text = std::fs::read_to_string(root().join("tests/fixtures/sigstore/message-v0.2.json"))
        .expect("bundle");
    let bundle: Value = serde_json::from_str(&text).expect("JSON");
    let (signature, certificate) = pair("message-v0.2.json");
    site.stock(SELECTION);
    for (name, kind) in [
        ("kubelet", "cosign-keyless"),
        ("kubectl", "sigstore-bundle"),
    ] {
        let file = format!("/own/{name}.exe");
        site.serve(&file, &bytes);
        site.serve(&format!("{file}.sig"), &signature);
        site.serve(&format!("{file}.cert"), &certificate);
        site.serve(&format!("{file}.bundle"), text.as_bytes());
        let mut by = json!({"kind": kind, "identity": IDENTITY, "issuer": ISSUER});
        if kind == "cosign-keyless" {
            by["url"] = site.url(&format!("{file}.sig")).into();
            by["certificateUrl"] = site.url(&format!("{file}.cert")).into();
        } else {
            by["url"] = site.url(&format!("{file}.bundle")).into();
        }
        let over = json!({"url": site.url(&file), "sha256": sha256_hex(&bytes), "signature": by});
        site.overrides.insert(name.to_owned(), over);
    }
    // What only this lockfile states is proven by no bundle of another program.
    site.succeeds(&format!(
        "lock {SELECTION} --proofs proofs --lock alone.lock.json"
    ));
    let alone = "verify alone.lock.json --proofs proofs";
    let said = site.plain(alone, 5).stdout;
    assert!(
        said.contains("only this lockfile states the digest of kube-log-runner 1.36.4"),
        "{said}"
    );
    site.plain(&format!("{alone} --lock alone.lock.json"), 0);
    let runner = site.own_build("kube-log-runner", "runner");
    site.serve("/own/kube-log-runner.exe", &runner);
    let over = json!({"url": site.url("/own/kube-log-runner.exe"), "sha256": sha256_hex(&runner)});
    site.overrides.insert("kube-log-runner".to_owned(), over);
    site.succeeds(&format!("lock {SELECTION} --proofs proofs"));
    let folder = site.home.folder.join("proofs");
    let kept: Vec<String> = files(&folder).into_keys().collect();
    let digits = &sha256_hex(&bytes)[..12];
    let pair = &format!("kubelet-1.36.4-{digits}.keyless.sigstore.json");
    let published = &format!("kubectl-1.36.4-{digits}.sigstore.json");
    assert_eq!(
        kept,
        [published.as_str(), pair],
        "nobody else has signed anything"
    );
    assert_eq!(site.home.text(&format!("proofs/{published}")), text);
    let asked = site.requests();
    std::fs::remove_dir_all(site.home.folder.join("store")).expect("store");

    let check = "verify imagegen.lock.json --proofs proofs";
    let said = site.plain(check, 0).stdout;
    for (verdict, proof, file) in [
        ("signed-time-unproven", "cosign-keyless", "kubelet.exe:"),
        ("verified", "sigstore-bundle", "kubectl.exe:"),
    ] {
        let wanted = |line: &&str| line.split_whitespace().take(3).eq([verdict, proof, file]);
        assert!(
            said.lines().any(|line| wanted(&line)),
            "no {verdict} {proof} {file} in {said}"
        );
    }

    // The same file is signature and certificate for the program itself; as a bundle it proves no time.
    site.write("kubelet.exe", &bytes);
    let by = format!("--identity {IDENTITY} --issuer {ISSUER}");
    let said = site
        .plain(
            &format!("verify kubelet.exe --signature proofs/{pair} {by}"),
            0,
        )
        .stdout;
    assert!(
        said.contains("signed-time-unproven  cosign-keyless"),
        "{said}"
    );
    site.plain(
        &format!("verify kubelet.exe --bundle proofs/{pair} {by}"),
        5,
    );
    let other = format!(
        "verify kubelet.exe --signature proofs/{pair} --identity x@example.com --issuer {ISSUER}"
    );
    assert!(site.plain(&other, 5).stdout.contains("[keyless-identity]"));
    site.write("other.exe", b"other bytes");
    let said = site
        .plain(
            &format!("verify other.exe --signature proofs/{pair} {by}"),
            5,
        )
        .stdout;
    assert!(said.contains("[cosign-bad-signature]"), "{said}");
    let said = site.plain("verify kubelet.exe --proofs proofs", 2).stderr;
    assert!(
        said.contains("`--proofs` applies to lockfiles only"),
        "{said}"
    );

    // What was proven and is not there, and what is there and proves it no more.
    let good = [
        site.home.read("imagegen.lock.json"),
        site.home.read(&format!("proofs/{pair}")),
        text.into_bytes(),
    ];
    let restore = |site: &Site| {
        let names = [
            "imagegen.lock.json",
            &format!("proofs/{pair}"),
            &format!("proofs/{published}"),
        ];
        for (name, bytes) in names.iter().zip(&good) {
            site.write(name, bytes);
        }
    };
    let fails = |site: &Site, code: &str| {
        let ran = site.plain(check, 5);
        let said = site.plain(&format!("{check} --format json"), 5).stdout;
        assert!(
            said.contains(&format!("\"code\": \"{code}\"")),
            "{said}\n{}",
            ran.stderr
        );
        restore(site);
    };
    std::fs::remove_file(folder.join(pair)).expect("removed");
    fails(&site, "proof-absent");
    let lock = site.home.text("imagegen.lock.json");
    site.write(
        "imagegen.lock.json",
        lock.replace(SIGNED.digest, &"ab".repeat(32)).as_bytes(),
    );
    let other = "proofs/kubelet-1.36.4-abababababab.keyless.sigstore.json";
    site.write(other, &good[1]);
    fails(&site, "cosign-bad-signature");
    let mut stripped = bundle.clone();
    stripped["verificationMaterial"]["tlogEntries"] = json!([]);
    site.write(
        &format!("proofs/{published}"),
        stripped.to_string().as_bytes(),
    );
    let ran = site.plain(check, 5);
    assert!(
        ran.stdout.contains("failed                sigstore-bundle"),
        "{}",
        ran.stdout
    );
    restore(&site);
    site.write(&format!("proofs/{pair}"), &good[2]);
    fails(&site, "keyless-bundle");
    site.plain(check, 0);
    assert_eq!(site.requests(), asked);
}
