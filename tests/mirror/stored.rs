//! Signatures by a key are stored beside the lockfile, and verified there without network and artifact. Those that
//! cannot be are named.

use std::fs;

use imagegen::base::digest::{encode_hex, sha256_hex};
use serde_json::{Value, json};

use super::signers::{gpg_key, gpg_sign};
use super::site::Site;
use crate::authenticode::workshop::pe;
use crate::detached::tools::{Bench, bench};
use crate::support::archives::stand_in;
use crate::support::files;

const SELECTION: &str = "--target host --k8s 1.36.4";
const CHECK: &str = "verify imagegen.lock.json --proofs proofs";

/// Keys of a provider, and the names by which an override has them.
struct Provider {
    bench: Bench,
    site: Site,
    fingerprint: String,
}

impl Provider {
    fn new() -> Option<Self> {
        let bench = bench(&["openssl", "minisign", "gpg"])?;
        let mut site = Site::new()?;
        site.stock_with(SELECTION, true, &stand_in);
        let curve = "ec_paramgen_curve:P-256";
        let key = ["-algorithm", "EC", "-pkeyopt", curve, "-out", "p256.key"];
        bench.run("openssl", ["genpkey"].into_iter().chain(key));
        let public = bench.run("openssl", ["pkey", "-in", "p256.key", "-pubout"]);
        site.write("cosign.pub", &public);
        bench.run("minisign", ["-G", "-W", "-p", "mini.pub", "-s", "mini.key"]);
        site.write("mini.pub", &bench.read("mini.pub"));
        let (fingerprint, public) = gpg_key(&bench);
        site.write("provider.asc", &public);
        Some(Self {
            bench,
            site,
            fingerprint,
        })
    }

    /// A signature of a kind over bytes.
    fn sign(&self, kind: &str, bytes: &[u8]) -> Vec<u8> {
        self.bench.write("file", bytes);
        match kind.trim_end_matches("-over-checksums") {
            "cosign-key" => {
                let sign = ["dgst", "-sha256", "-sign", "p256.key", "file"];
                self.bench.run("openssl", sign)
            }
            "minisign" => {
                let sign = ["-S", "-s", "mini.key", "-m", "file", "-x", "mini.sig"];
                self.bench.run("minisign", sign);
                self.bench.read("mini.sig")
            }
            _ => gpg_sign(&self.bench, bytes),
        }
    }

    /// Serves a build of a component with a signature of a kind, and names both in an override.
    fn publish(&mut self, component: &str, kind: &str, digest: &str) {
        let bytes = match component {
            "kubelet" => pe(true),
            _ => self.site.own_build(component, "the provider's own"),
        };
        let end = match component {
            "containerd" => "tar.gz",
            _ => "exe",
        };
        // A server reads `%2B` as `+`, and so does a checksum file.
        let (mark, read_mark) = match kind {
            "minisign-over-checksums" => ("%2Bacme", "+acme"),
            _ => ("", ""),
        };
        let file = format!("/own/{component}{mark}.{end}");
        self.site.serve(&file, &bytes);
        let mut signature = json!({"kind": kind});
        if kind.starts_with("openpgp") {
            signature["key"] = "provider.asc".into();
            signature["identity"] = self.fingerprint.clone().into();
        } else if kind.starts_with("minisign") {
            signature["key"] = "mini.pub".into();
        } else {
            signature["key"] = "cosign.pub".into();
        }

        let mut over = json!({"url": self.site.url(&file)});
        over[digest] = match digest {
            "sha256" => sha256_hex(&bytes),
            _ => encode_hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &bytes).as_ref()),
        }
        .into();
        let (signed, place) = if kind.ends_with("-over-checksums") {
            let sums = format!("{}  {component}{read_mark}.exe\n", sha256_hex(&bytes));
            let sums = sums.into_bytes();
            let place = format!("{file}.sums");
            self.site.serve(&place, &sums);
            over["checksums"] = self.site.url(&place).into();
            (sums, place)
        } else {
            (bytes, file)
        };
        let place = format!("{place}.sig");
        self.site.serve(&place, &self.sign(kind, &signed));
        signature["url"] = self.site.url(&place).into();
        over["signature"] = signature;
        self.site.overrides.insert(component.to_owned(), over);
    }

    /// The verification of the stored proofs fails with a code, once a file is other than it was. Returns the file that
    /// it names.
    #[track_caller]
    fn refuses(&self, file: &str, change: &dyn Fn(&str), code: &str) -> String {
        let good = self.site.home.read(file);
        change(file);
        let said = self.site.plain(&format!("{CHECK} --format json"), 5).stdout;
        let output: Value = serde_json::from_str(&said).expect("JSON");
        let mut proofs = output["evidence"].as_array().expect("proofs").iter();
        let failed = proofs.find(|proof| proof["code"] == code);
        let failed = failed.unwrap_or_else(|| panic!("{file}: no {code} in {said}"));
        self.site.write(file, &good);
        failed["source"].as_str().unwrap_or_default().to_owned()
    }

    /// The name of a stored file, by the digest of the lockfile.
    fn find_stored(&self, component: &str, end: &str) -> String {
        let locked = self.site.locked(component);
        let digest = locked["digests"][0]["digest"].as_str().expect("a digest");
        format!("{component}-1.36.4-{}{end}", &digest[..12])
    }
}

/// Component, kind of signature, digest that the override states, ends of the names of files that are stored.
const SIGNED: [(&str, &str, &str, &[&str]); 6] = [
    ("kubelet", "cosign-key", "sha256", &[".cosign.sig"]),
    (
        "kubeadm",
        "cosign-key-over-checksums",
        "sha256",
        &[".cosign.checksums", ".cosign.checksums.sig"],
    ),
    (
        "kubectl",
        "openpgp-over-checksums",
        "sha256",
        &[".openpgp.checksums", ".openpgp.checksums.sig"],
    ),
    (
        "kube-log-runner",
        "minisign-over-checksums",
        "sha256",
        &[".minisign.checksums", ".minisign.checksums.minisig"],
    ),
    ("kube-proxy", "openpgp", "sha256", &[]),
    ("containerd", "minisign", "sha256", &[]),
];

#[test]
fn signatures_by_a_key_are_stored_and_verified_again() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    for (component, kind, digest, _) in SIGNED {
        provider.publish(component, kind, digest);
    }
    let site = &provider.site;
    let said = site
        .succeeds(&format!("lock {SELECTION} --proofs proofs"))
        .stderr;
    let folder = site.home.folder.join("proofs");
    let stored: Vec<String> = files(&folder).into_keys().collect();
    let rows = SIGNED.iter();
    let expected = rows.flat_map(|row| row.3.iter().map(|end| provider.find_stored(row.0, end)));
    let mut expected: Vec<String> = expected.collect();
    expected.sort_unstable();
    assert_eq!(stored, expected);
    let reason = "is not stored: it is over the bytes of the file";
    for (component, proof) in [("kube-proxy", "openpgp"), ("containerd", "minisign")] {
        let mut lines = said.lines().filter(|line| line.contains("is not stored"));
        let named = |line: &str| {
            line.contains(&format!("warning: {component} "))
                && line.contains(&format!("its {proof} proof {reason}"))
        };
        assert!(lines.any(named), "{component}: {said}");
    }
    assert_eq!(said.matches("is not stored").count(), 2, "{said}");

    // A checksum file has the name that servers read.
    let url = site.url("/own/kube-log-runner%2Bacme.exe");
    let line = format!("verify {url} --checksums {url}.sums --ca-file ca.pem --store other");
    site.plain(&line, 0);

    let asked = site.requests();
    fs::rename(
        site.home.folder.join("store"),
        site.home.folder.join("elsewhere"),
    )
    .expect("moved");
    let said = site.plain(CHECK, 0).stdout;
    for (component, kind, _, stored) in SIGNED {
        let proof = kind.trim_end_matches("-over-checksums");
        let file = format!("{component}.exe:");
        let mut lines = said.lines().map(str::split_whitespace);
        let is_proven = lines.any(|words| words.take(3).eq(["verified", proof, &file]));
        assert_eq!(is_proven, !stored.is_empty(), "{component}: {said}");
    }
    for proof in ["openpgp", "minisign"] {
        let mut recorded = said
            .lines()
            .filter(|line| line.starts_with("recorded only: "));
        assert!(recorded.any(|line| line.contains(proof)), "{proof}: {said}");
    }
    refuse_other_files(&provider);
    assert_eq!(provider.site.requests(), asked);
}

/// Stored files that are missing, that somebody changed, or that are signed and about something else.
fn refuse_other_files(provider: &Provider) {
    let site = &provider.site;
    let remove = |file: &str| fs::remove_file(site.home.folder.join(file)).expect("removed");
    for (component, _, _, stored) in SIGNED {
        for end in stored {
            let file = format!("proofs/{}", provider.find_stored(component, end));
            let source = provider.refuses(&file, &remove, "proof-absent");
            assert!(source.ends_with(&file), "{file}: {source}");
        }
    }
    let cosign = provider.sign("cosign-key", b"another file");
    let change = |file: &str| site.write(file, &cosign);
    let place =
        |component: &str, end: &str| format!("proofs/{}", provider.find_stored(component, end));
    let sums = &place("kubeadm", ".cosign.checksums");
    for file in [place("kubelet", ".cosign.sig"), format!("{sums}.sig")] {
        provider.refuses(&file, &change, "cosign-bad-signature");
    }
    let other = format!("{}  kubeadm.exe\n", "ab".repeat(32)).into_bytes();
    let signature = format!("{sums}.sig");
    let good = site.home.read(&signature);
    site.write(&signature, &provider.sign("cosign-key", &other));
    let change = |file: &str| site.write(file, &other);
    provider.refuses(sums, &change, "checksum-mismatch");
    site.write(&signature, &good);

    for (component, form, end) in [
        ("kubectl", "openpgp", "sig"),
        ("kube-log-runner", "minisign", "minisig"),
    ] {
        let file = place(component, &format!(".{form}.checksums.{end}"));
        let signature = provider.sign(form, b"another file");
        let change = |file: &str| site.write(file, &signature);
        provider.refuses(&file, &change, &format!("{form}-bad-signature"));
    }
    site.plain(CHECK, 0);
}

/// A bundle brings the signatures that a machine without network stores.
#[test]
fn signatures_of_a_bundle_are_stored_without_network() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    for (component, kind, digest, _) in SIGNED {
        provider.publish(component, kind, digest);
    }
    let site = &provider.site;
    site.succeeds(&format!("lock {SELECTION} --proofs proofs"));
    let network = format!("--ca-file ca.pem --store store --mirror {}", site.url("/"));
    site.plain(&format!("bundle create --out node.zip {network}"), 0);
    let extract = "bundle extract node.zip --store new --lock imagegen.lock.json";
    site.plain(extract, 0);
    let asked = site.requests();
    let waivers = site.list_waivers();
    let line = format!(
        "lock {SELECTION} --overrides overrides.json --proofs again --lock again.lock.json {waivers}"
    );
    site.plain(&format!("{line} --store new --offline"), 0);
    let folder = |name: &str| files(&site.home.folder.join(name));
    assert_eq!(folder("again"), folder("proofs"));
    assert_eq!(site.requests(), asked);
}

/// A lockfile with another digest than the one that is signed proves nothing alone, and the proof is not stored.
#[test]
fn a_proof_over_a_digest_that_the_lockfile_lacks_is_named() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    provider.publish("kubelet", "cosign-key", "sha512");
    provider.publish("kubeadm", "openpgp-over-checksums", "sha512");
    let said = provider
        .site
        .succeeds(&format!("lock {SELECTION} --proofs proofs"))
        .stderr;
    for reason in [
        "kubelet 1.36.4: its cosign-key proof is not stored: the lockfile has no SHA-256",
        "kubeadm 1.36.4: its openpgp proof is not stored: the lockfile has no digest of the algorithm",
    ] {
        assert!(said.contains(reason), "{said}");
    }
    assert!(!provider.site.home.exists("proofs"));
    // Nothing was stored, and nothing of it is missing.
    let said = provider.site.plain(CHECK, 5).stdout;
    assert!(!said.contains("proof-absent"), "{said}");
}

/// Images that share a folder of proofs may have other builds of one version.
#[test]
fn lockfiles_share_a_folder_of_proofs() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    provider.publish("kubeadm", "cosign-key", "sha256");
    let lock = format!("lock {SELECTION} --proofs proofs --lock");
    let reviewed = |name: &str| format!("verify {name} --proofs proofs --lock {name}");
    provider.site.succeeds(&format!("{lock} one.lock.json"));

    let other = provider.site.own_build("kubeadm", "another build");
    let signature = provider.sign("cosign-key", &other);
    let url = "/other/kubeadm.exe";
    provider.site.serve(url, &other);
    provider.site.serve(&format!("{url}.sig"), &signature);
    let site = &mut provider.site;
    let (place, by) = (site.url(url), site.url(&format!("{url}.sig")));
    let over = &mut site.overrides["kubeadm"];
    over["url"] = place.into();
    over["sha256"] = sha256_hex(&other).into();
    over["signature"]["url"] = by.into();
    site.succeeds(&format!("{lock} two.lock.json"));
    for name in ["one.lock.json", "two.lock.json"] {
        let said = site.plain(&reviewed(name), 0).stdout;
        assert!(said.contains("verified              cosign-key"), "{said}");
        assert!(!said.contains("not asked for: kubeadm"), "{said}");
    }

    // A signature that nobody asked for when the lockfile was written has no file: it is absent.
    let flags = "--overrides overrides.json --ca-file ca.pem --store store";
    let line = format!(
        "lock {SELECTION} {flags} --lock bare.lock.json --mirror {}",
        site.url("/")
    );
    site.plain(&format!("{line} {}", site.list_waivers()), 0);
    let said = site.plain(&reviewed("bare.lock.json"), 0).stdout;
    let is_absent = |line: &str| {
        let words = line.split_whitespace().take(3);
        words.eq(["absent", "cosign-keyless", "kubectl.exe:"])
    };
    assert!(said.lines().any(is_absent), "{said}");
    assert!(!said.contains("not asked for: kubectl"), "{said}");
}

/// Scripts of users name the flag as it was called before.
#[test]
fn the_earlier_name_of_the_flag_is_understood() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    provider.publish("kubelet", "cosign-key", "sha256");
    let site = &provider.site;
    site.succeeds(&format!("lock {SELECTION} --bundles proofs"));
    let lock: Value = serde_json::from_str(&site.home.text("imagegen.lock.json")).expect("JSON");
    assert!(lock.to_string().contains("cosign-key"));
    let stored = provider.find_stored("kubelet", ".cosign.sig");
    assert!(site.home.exists(&format!("proofs/{stored}")));
    let reviewed = "--lock imagegen.lock.json";
    site.plain(
        &format!("verify imagegen.lock.json --bundles proofs {reviewed}"),
        0,
    );
}

/// Two images share the folder and the bytes of a program, and have it signed by keys of their own.
#[test]
fn images_with_other_signers_of_the_same_bytes_share_a_folder() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    provider.publish("kubelet", "cosign-key", "sha256");
    let lock = |provider: &Provider, name: &str| {
        let line = format!("lock {SELECTION} --proofs proofs --lock {name}.lock.json");
        provider.site.succeeds(&line);
    };
    lock(&provider, "first");
    let curve = "ec_paramgen_curve:P-256";
    let key = [
        "genpkey",
        "-algorithm",
        "EC",
        "-pkeyopt",
        curve,
        "-out",
        "second.key",
    ];
    provider.bench.run("openssl", key);
    let public = provider
        .bench
        .run("openssl", ["pkey", "-in", "second.key", "-pubout"]);
    provider.site.write("second.pub", &public);
    provider.bench.write("file", &pe(true));
    let signature = ["dgst", "-sha256", "-sign", "second.key", "file"];
    let signature = provider.bench.run("openssl", signature);
    provider.site.serve("/own/second.sig", &signature);
    let url = provider.site.url("/own/second.sig");
    let own = json!({"kind": "cosign-key", "key": "second.pub", "url": url});
    let over = provider
        .site
        .overrides
        .get_mut("kubelet")
        .expect("an override");
    over["signature"] = own;
    lock(&provider, "second");

    let folder = provider.site.home.folder.join("proofs");
    let named = |names: &[String]| {
        names
            .iter()
            .filter(|name| name.ends_with(".cosign.sig"))
            .count()
    };
    let kept: Vec<String> = files(&folder).into_keys().collect();
    assert_eq!(named(&kept), 2, "{kept:?}");
    // Again, in the other order: nobody takes the file of the other.
    lock(&provider, "second");
    for name in ["first", "second"] {
        let line = format!("verify {name}.lock.json --proofs proofs --lock {name}.lock.json");
        let said = provider.site.plain(&line, 0).stdout;
        let mut proofs = said.lines().filter(|line| line.contains("cosign-key"));
        assert!(
            proofs.any(|line| line.starts_with("verified")),
            "{name}: {said}"
        );
    }
    let again: Vec<String> = files(&folder).into_keys().collect();
    assert_eq!(again, kept);
}
