//! Trust is for a subject: a digest, a key or a publisher that is trusted for one program says nothing of another,
//! and a signed file is the program and the version that it says it is.

use imagegen::base::digest::sha256_hex;
use imagegen::base::public_key::CosignKey;
use serde_json::{Value, json};

use super::site::{Site, proven};
use crate::detached::tools::{Bench, bench};
use crate::support::Test;
use crate::support::archives::zip;
use crate::support::programs::{silent, with_go, with_resource};

pub(super) const LOCK: &str = "lock --target host --k8s 1.36.4 --policy policy.json";

/// A provider's site with builds of its own, and its key.
pub(super) struct Provider {
    pub(super) site: Site,
    bench: Bench,
    key: String,
}

impl Provider {
    /// None where openssl is absent, which is said.
    pub(super) fn new() -> Option<Self> {
        let bench = bench(&["openssl"])?;
        let mut site = Site::new()?;
        site.stock("--target host --k8s 1.36.4");
        let make = [
            "ecparam",
            "-name",
            "prime256v1",
            "-genkey",
            "-noout",
            "-out",
        ];
        bench.run("openssl", make.into_iter().chain(["own.key"]));
        let pem = bench.run("openssl", ["ec", "-in", "own.key", "-pubout"]);
        let der = bench.run(
            "openssl",
            ["ec", "-in", "own.key", "-pubout", "-outform", "DER"],
        );
        site.write("own.pub", &pem);
        Some(Self {
            key: sha256_hex(&der),
            site,
            bench,
        })
    }

    /// The key's signature over bytes.
    pub(super) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.bench.write("file", bytes);
        let sign = ["dgst", "-sha256", "-sign", "own.key", "file"];
        self.bench.run("openssl", sign)
    }

    /// Puts signed bytes in the place of a component, without a digest.
    pub(super) fn replace(&mut self, component: &str, bytes: &[u8], fields: &Value) {
        let signature = self.sign(bytes);
        self.site.serve("/own/file", bytes);
        self.site.serve("/own/file.sig", &signature);
        let signature =
            json!({"kind": "cosign-key", "key": "own.pub", "url": self.site.url("/own/file.sig")});
        let mut over = json!({"url": self.site.url("/own/file"), "signature": signature});
        for (name, value) in fields.as_object().expect("fields") {
            over[name] = value.clone();
        }
        self.site.overrides.insert(component.to_owned(), over);
    }

    pub(super) fn set_policy(&self, fields: &Value) {
        let mut policy = json!({
            "name": "ours",
            "trustedKeys": [{"key": self.key, "components": ["kube*", "wins"]}],
            "waivers": self.list_waivers(),
        });
        for (name, value) in fields.as_object().expect("fields") {
            policy[name] = value.clone();
        }
        self.site
            .write("policy.json", policy.to_string().as_bytes());
    }

    pub(super) fn list_waivers(&self) -> Vec<Value> {
        let pairs = self.site.waivers.iter().filter_map(|it| it.split_once('='));
        pairs
            .map(|(component, proof)| json!({"component": component, "proof": proof}))
            .collect()
    }

    /// The lockfile's record of the kubelet.
    pub(super) fn lock(&self) -> Value {
        self.site.succeeds(LOCK);
        self.site.locked("kubelet")
    }
}

pub(super) fn find_proof(locked: &Value, kind: &str) -> Value {
    let evidence = locked["evidence"].as_array().expect("evidence");
    let found = evidence.iter().find(|proof| proof["proof"] == kind);
    found.cloned().unwrap_or_default()
}

#[test]
fn a_signed_program_is_the_one_that_it_says() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    provider.set_policy(&json!({}));
    let go = |program: &str, version: &str| {
        let path = format!("k8s.io/kubernetes/cmd/{program}");
        with_go(&path, "k8s.io/kubernetes", version)
    };
    for (bytes, said) in [
        (
            with_resource("kube-proxy.exe", "1.20.0"),
            "[states-other-name]",
        ),
        (
            with_resource("kube-proxy.exe", "1.36.4"),
            "[states-other-name]",
        ),
        (
            with_resource("KUBELET.EXE", "1.20.0"),
            "[states-other-version]",
        ),
        (go("kube-proxy", "v1.36.4"), "says kube-proxy v1.36.4"),
        (go("kubelet", "v1.20.0"), "says kubelet v1.20.0"),
    ] {
        provider.replace("kubelet", &bytes, &json!({}));
        let said = ["kubelet 1.36.4 failed verification", said];
        provider.site.fails(LOCK, 5, &said);
    }
    // The controls: what is planned, and what no catalog knows.
    for (bytes, place) in [
        (with_resource("kubelet.exe", "1.36.4.7"), "version resource"),
        (go("kubelet", "v1.36.4"), "Go build information"),
    ] {
        provider.replace("kubelet", &bytes, &json!({}));
        let locked = provider.lock();
        assert!(proven(&locked, "statement"), "{locked:#}");
        let proof = find_proof(&locked, "cosign-key");
        assert_eq!(proof["facts"]["statedBy"], place, "{locked:#}");
    }
    provider.replace("kubelet", &with_resource("agent.exe", "7.1"), &json!({}));
    let locked = provider.lock();
    assert_eq!(find_proof(&locked, "statement")["verdict"], "absent");
    assert_eq!(
        find_proof(&locked, "cosign-key")["facts"]["statedName"],
        "agent.exe"
    );
}

/// Inside of an archive, under a name that the definition chose.
#[test]
fn a_member_is_the_program_that_it_says() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    provider.set_policy(&json!({}));
    let members = json!([{"member": "bin/k.exe", "file": "kubelet.exe"}]);
    let fields = json!({"kind": "zip", "members": members});
    for (program, code) in [
        (with_resource("kube-proxy.exe", "1.36.4"), 5),
        (with_resource("kubelet.exe", "1.20.0"), 5),
        (with_resource("kubelet.exe", "1.36.4"), 0),
    ] {
        let archive = zip(&[("bin/k.exe".to_owned(), &program[..])]);
        provider.replace("kubelet", &archive, &fields);
        let ran = provider.site.run(LOCK);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        if code == 5 {
            assert!(ran.stderr.contains("[states-other-"), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_policy_demands_that_proofs_state_the_version() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    let rule = |require: bool| {
        let mut rule =
            json!({"id": "stated", "components": ["kubelet"], "anyOf": ["cosign-key", "pin"]});
        if require {
            rule["requireVersion"] = true.into();
        }
        json!({ "require": [rule] })
    };
    let agent = with_resource("agent.exe", "1.36.4");
    for (bytes, said) in [
        (silent("nothing"), "states neither name nor version"),
        (agent, "states agent.exe 1.36.4 (version resource)"),
    ] {
        provider.replace("kubelet", &bytes, &json!({}));
        provider.set_policy(&rule(true));
        provider
            .site
            .fails(LOCK, 5, &["as `stated` requires", said]);
        // The control: shown, where nobody demands it.
        provider.set_policy(&rule(false));
        provider.lock();
    }
    provider.replace("kubelet", &silent("nothing"), &json!({}));
    let proof = find_proof(&provider.lock(), "cosign-key");
    assert_eq!(proof["facts"]["statedBy"], "nothing");
    provider.set_policy(&rule(true));
    provider.replace("kubelet", &with_resource("kubelet", "v1.36.4"), &json!({}));
    provider.lock();
    // A record of the policy states it, too.
    let bytes = silent("recorded");
    provider.replace("kubelet", &bytes, &json!({"sha256": sha256_hex(&bytes)}));
    let mut policy = rule(true);
    policy["trustedDigests"] =
        json!([{"digest": sha256_hex(&bytes), "components": ["kubelet"], "versions": "=1.36.4"}]);
    provider.set_policy(&policy);
    assert_eq!(
        find_proof(&provider.lock(), "pin")["facts"]["statedBy"],
        "policy"
    );
    policy["trustedDigests"][0]["versions"] = "<1.36.0".into();
    provider.set_policy(&policy);
    let said = [
        "the policy trusts the digest",
        "for kubelet, and not for it",
    ];
    provider.site.fails(LOCK, 3, &said);
}

#[test]
fn a_waiver_accepts_what_a_file_says() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    let older = with_resource("kubelet.exe", "1.20.0");
    provider.replace("kubelet", &older, &json!({}));
    let mut waivers = provider.list_waivers();
    waivers.push(json!({"component": "kubelet", "proof": "statement"}));
    provider.set_policy(&json!({ "waivers": waivers }));
    let locked = provider.lock();
    assert_eq!(find_proof(&locked, "statement")["code"], "proof-waived");
}

/// The digest, the key, the signer and the publisher of one component are not those of another.
#[test]
fn trust_for_one_component_is_none_for_another() {
    const DIGEST: &str = "abababababababababababababababababababababababababababababababab";
    let url = "https://x.example/k.exe";
    let key = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n-----END PUBLIC KEY-----\n";
    let digest = CosignKey::parse(key).expect("a key").sha256();
    let signed = |mut signature: Value| {
        signature["url"] = "https://x.example/s".into();
        json!({"kubelet": {"url": url, "sha256": DIGEST, "signature": signature}})
    };
    let published = json!({"kubelet": {"url": url, "sha256": DIGEST, "publisher": "O=Good"}});
    let rows = [
        (
            json!({"kubelet": {"url": url, "sha256": DIGEST}}),
            "trustedDigests",
            json!({"digest": DIGEST}),
        ),
        (
            signed(json!({"kind": "cosign-key", "key": key})),
            "trustedKeys",
            json!({ "key": digest }),
        ),
        (
            signed(json!({"kind": "openpgp", "key": "hashicorp", "identity": "AB".repeat(20)})),
            "trustedKeys",
            json!({"key": "AB".repeat(20)}),
        ),
        (
            signed(
                json!({"kind": "sigstore-bundle", "identity": "a@x.example", "issuer": "https://x.example"}),
            ),
            "trustedIdentities",
            json!({"identity": "a@x.example", "issuer": "https://x.example"}),
        ),
        (
            published,
            "trustedPublishers",
            json!({"publisher": "O=Good"}),
        ),
    ];
    for (overrides, field, anchor) in rows {
        let anchors = field.trim_start_matches("trusted").to_lowercase();
        let code = format!("[policy-trusted-{anchors}]");
        for (scope, admitted) in [
            (json!({"components": ["kubelet"]}), true),
            (json!({"components": ["kubelet.exe"]}), true),
            (
                json!({"components": ["kube*"], "roles": ["artifact"]}),
                true,
            ),
            (
                json!({"components": ["kubelet"], "versions": ">=1.36"}),
                true,
            ),
            (json!({"components": ["windows-exporter"]}), false),
            (json!({"components": ["kube-proxy", "kubeadm"]}), false),
            (
                json!({"components": ["kubelet"], "roles": ["build-tool"]}),
                false,
            ),
            (
                json!({"components": ["kubelet"], "versions": "<1.36"}),
                false,
            ),
        ] {
            let mut entry = anchor.clone();
            for (name, value) in scope.as_object().expect("fields") {
                entry[name] = value.clone();
            }
            let policy = json!({"name": "ours", "allowedRoots": [DIGEST], field: [entry]});
            let test = Test::new()
                .file("policy.json", &policy.to_string())
                .file(
                    "imagegen.json",
                    &json!({ "overrides": overrides }).to_string(),
                )
                .line("plan --target host --k8s 1.36.4 --policy policy.json");
            let ran = test.run();
            let refused = ran.stderr.contains(&code);
            assert_eq!(!refused, admitted, "{field} {scope}: {}", ran.stderr);
            assert_eq!(
                ran.code == Some(0),
                admitted,
                "{field} {scope}: {}",
                ran.stderr
            );
        }
    }
}

#[test]
fn trust_for_nothing_or_for_anything_is_refused() {
    const DIGEST: &str = "abababababababababababababababababababababababababababababababab";
    for (policy, said) in [
        (json!({"trustedDigests": [DIGEST]}), "trustedDigests[0]"),
        (json!({"trustedKeys": [DIGEST]}), "trustedKeys[0]"),
        (
            json!({"trustedDigests": [{"digest": DIGEST}]}),
            "components",
        ),
        (
            json!({"trustedDigests": [{"digest": DIGEST, "components": ["*"]}]}),
            "one file is not every component",
        ),
        (
            json!({"trustedKeys": [{"key": DIGEST, "components": ["kubelett"]}]}),
            "no component or program is named `kubelett`",
        ),
        (
            json!({"trustedKeys": [{"key": DIGEST, "components": ["kubelet"], "versions": ">2, <1"}]}),
            "no version fits `>2, <1`",
        ),
        (
            json!({"require": [{"id": "r", "components": ["*"], "anyOf": ["pin"], "versions": ">=1.36, <1.20"}]}),
            "no version fits `>=1.36, <1.20`",
        ),
    ] {
        let mut policy = policy;
        policy["name"] = "ours".into();
        Test::new()
            .file("policy.json", &policy.to_string())
            .line("plan --target host --k8s 1.36.4 --policy policy.json")
            .fails(3, &["polic", said]);
    }
}
