//! A table of attacks: whoever brings a definition, an override, a lock or a folder tries to get past the policy.

use serde_json::{Value, json};

use crate::support::Test;

const DIGEST: &str = "abababababababababababababababababababababababababababababababab";
const PEM: &str = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n";
const CERTIFICATE: &str = include_str!("../fixtures/cluster-ca.pem");

/// What an attacker brings, what a policy says, and how it ends.
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// The image definition.
    pub(super) brings: Value,
    pub(super) policy: Value,
    pub(super) line: &'static str,
    pub(super) code: i32,
    pub(super) said: &'static [&'static str],
}

const HOST: &str = "plan --target host --k8s 1.36.0";
const AZURE: &str = "plan --target azure --k8s 1.36.0";

fn hosts(names: &[&str]) -> Value {
    json!({"name": "ours", "allowedHosts": names})
}

/// All that an unchanged image asks for.
const KNOWN: &[&str] = &[
    "dl.k8s.io",
    "github.com",
    "registry.k8s.io",
    "raw.githubusercontent.com",
    "objects.githubusercontent.com",
];

#[expect(clippy::needless_pass_by_value, reason = "a row is shorter so")]
fn over(component: &str, fields: Value) -> Value {
    json!({"overrides": {component: fields}})
}

fn ours() -> Value {
    json!({"name": "ours"})
}

/// The one who is judged brings the judge.
#[expect(clippy::too_many_lines, reason = "a table")]
fn list_anchors() -> Vec<Attack> {
    let signed = |mut signature: Value| {
        signature["url"] = "https://x.example/s".into();
        over("containerd", json!({"signature": signature}))
    };
    let attack = |name, brings, policy, said| Attack {
        name,
        brings,
        policy,
        line: HOST,
        code: 3,
        said,
    };
    vec![
        attack(
            "key",
            signed(json!({"kind": "cosign-key", "key": PEM})),
            ours(),
            &["[policy-trusted-keys]", "containerd"],
        ),
        attack(
            "key of another policy entry",
            signed(json!({"kind": "cosign-key", "key": PEM})),
            json!({"name": "ours", "trustedKeys": [{"key": DIGEST, "components": ["containerd"]}]}),
            &["[policy-trusted-keys]"],
        ),
        attack(
            "second key behind a trusted one",
            signed(
                json!({"kind": "cosign-key", "key": format!("{PEM}{}", PEM.replace("MFkw", "AAAA"))}),
            ),
            json!({"name": "ours", "trustedKeys": [{"key": imagegen::base::digest::sha256_hex(&[0x30, 0x59, 0x30]), "components": ["containerd"]}]}),
            &["[policy-trusted-keys]"],
        ),
        attack(
            "minisign key",
            signed(json!({"kind": "minisign", "key": format!("RW{}", "A".repeat(54))})),
            ours(),
            &["[policy-trusted-keys]"],
        ),
        attack(
            "a key of the catalog that is another component's",
            signed(json!({"kind": "cosign-key", "key": "hashicorp"})),
            ours(),
            &["[policy-trusted-keys]"],
        ),
        attack(
            "OpenPGP fingerprint",
            signed(json!({"kind": "openpgp", "key": "hashicorp", "identity": "AB".repeat(20)})),
            ours(),
            &["[policy-trusted-keys]", "the OpenPGP key"],
        ),
        attack(
            "identity",
            signed(
                json!({"kind": "sigstore-bundle", "identity": "me@evil.example", "issuer": "https://accounts.google.com"}),
            ),
            ours(),
            &["[policy-trusted-identities]", "me@evil.example"],
        ),
        attack(
            "trusted identity of another issuer",
            signed(
                json!({"kind": "sigstore-bundle", "identity": "a@x.example", "issuer": "https://evil.example"}),
            ),
            json!({"name": "ours", "trustedIdentities": [{"identity": "a@x.example", "issuer": "https://x.example", "components": ["containerd"]}]}),
            &["[policy-trusted-identities]", "https://evil.example"],
        ),
        attack(
            "attestation without identity",
            signed(json!({"kind": "github-attestation"})),
            ours(),
            &["[policy-trusted-identities]"],
        ),
        attack(
            "publisher",
            over(
                "containerd",
                json!({"publisher": "O=Evil", "signedMembers": ["*"]}),
            ),
            ours(),
            &["[policy-trusted-publishers]", "allowedRoots"],
        ),
        attack(
            "named publisher without roots",
            over(
                "containerd",
                json!({"publisher": "O=Good", "signedMembers": ["*"]}),
            ),
            json!({"name": "ours", "allowedPublishers": ["O=Good", "O=Cloudbase Solutions Srl,CN=Cloudbase Solutions Srl"]}),
            &[
                "an override uses the publisher `O=Good`",
                "[policy-trusted-publishers]",
            ],
        ),
        attack(
            "named publisher under a root of the attacker's",
            over(
                "containerd",
                json!({"publisher": "O=Good", "signedMembers": ["*"], "roots": CERTIFICATE}),
            ),
            json!({"name": "ours", "allowedPublishers": ["O=Good"], "allowedRoots": [DIGEST]}),
            &["an override uses the root", "[policy-allowed-roots]"],
        ),
        attack(
            "modified guest script",
            over("scripts/engine/Engine.psm1", json!({"sha256": DIGEST})),
            ours(),
            &["scripts/engine/Engine.psm1", "[policy-trusted-digests]"],
        ),
        Attack {
            name: "Packer of the definition's",
            brings: over("packer", json!({"sha256": DIGEST})),
            policy: ours(),
            line: AZURE,
            code: 3,
            said: &[
                "packer 1.16.0",
                "runs on the building machine",
                "[policy-trusted-digests]",
            ],
        },
        Attack {
            name: "Packer plugin from elsewhere",
            brings: over(
                "packer-plugin-azure",
                json!({"url": "https://evil.example/p.zip", "sha256": DIGEST}),
            ),
            policy: ours(),
            line: AZURE,
            code: 3,
            said: &["packer-plugin-azure 2.6.3", "[policy-trusted-digests]"],
        },
        Attack {
            name: "Packer under another key",
            brings: over(
                "packer",
                json!({"signature": {"kind": "cosign-key", "url": "https://x.example/s", "key": PEM}}),
            ),
            policy: ours(),
            line: AZURE,
            code: 3,
            said: &["packer 1.16.0", "[policy-trusted-keys]"],
        },
        Attack {
            name: "the program of --packer",
            brings: json!({}),
            policy: ours(),
            line: "build --target azure --k8s 1.36.0 --packer ./packer --offline --store s --out o \
                   --var location=x --var managed_image_resource_group_name=x",
            code: 3,
            said: &[
                "--packer ./packer",
                "[policy-trusted-digests]",
                "credentials",
            ],
        },
        Attack {
            name: "a catalog of the attacker's",
            brings: json!({}),
            policy: ours(),
            line: "plan --target host --k8s 1.36.0 --manifests catalog",
            code: 3,
            said: &["--manifests", "[policy-trusted-digests]"],
        },
    ]
}

/// Policies judge what lands, by whatever name and from whatever host.
#[expect(clippy::too_many_lines, reason = "a table")]
fn list_names_and_hosts() -> Vec<Attack> {
    let attack = |name, brings, policy, said| Attack {
        name,
        brings,
        policy,
        line: HOST,
        code: 3,
        said,
    };
    let url = |url: &str| over("containerd", json!({"url": url, "sha256": DIGEST}));
    let file = |url: &str| json!({"updates": {"files": [{"kb": "KB5058411", "url": url, "sha256": DIGEST}]}});
    let rule = |pattern: &str| json!({"name": "ours", "require": [{"id": "r", "components": [pattern], "anyOf": ["minisign"]}]});
    let forbids = |pattern: &str| json!({"name": "ours", "forbiddenComponents": [pattern]});
    vec![
        attack(
            "the kubelet inside an archive",
            json!({}),
            rule("kubelet"),
            &["kubernetes-node 1.36.0", "as `r` requires"],
        ),
        attack(
            "by its file name",
            json!({}),
            rule("kubelet.exe"),
            &["kubernetes-node 1.36.0"],
        ),
        attack(
            "a program that is forbidden",
            json!({}),
            forbids("kubeadm"),
            &["kubernetes-node 1.36.0", "forbidden"],
        ),
        attack(
            "a rule for a host",
            json!({}),
            json!({"name": "ours", "require": [{"id": "r", "hosts": ["*.k8s.io"], "anyOf": ["minisign"]}]}),
            &["kubernetes-node 1.36.0"],
        ),
        attack(
            "a program from elsewhere",
            url("https://evil.example/c.tar.gz"),
            hosts(KNOWN),
            &["it comes from evil.example"],
        ),
        attack(
            "a host that begins alike",
            url("https://github.com.evil.example/c.tar.gz"),
            hosts(KNOWN),
            &["github.com.evil.example"],
        ),
        attack(
            "a host that ends alike",
            url("https://evilgithub.com/c.tar.gz"),
            hosts(KNOWN),
            &["evilgithub.com"],
        ),
        attack(
            "a host in the path",
            url("https://evil.example/github.com/c.tar.gz"),
            hosts(KNOWN),
            &["evil.example"],
        ),
        attack(
            "a host behind a user",
            url("https://github.com@evil.example/c.tar.gz"),
            hosts(KNOWN),
            &["user"],
        ),
        attack(
            "a host behind a backslash",
            url("https://evil.example\\@github.com/c.tar.gz"),
            hosts(KNOWN),
            &["url"],
        ),
        attack(
            "a host in another alphabet",
            url("https://g\u{456}thub.com/c.tar.gz"),
            hosts(KNOWN),
            &["url"],
        ),
        attack(
            "the host's own domain under a star",
            url("https://x.example/c.tar.gz"),
            hosts(&["*.x.example"]),
            &["it comes from x.example"],
        ),
        attack(
            "an update",
            file("https://evil.example/a.msu"),
            hosts(KNOWN),
            &["KB5058411: it comes from evil.example"],
        ),
        attack(
            "a volume plugin",
            json!({"volumePlugins": {"v~d": [{"file": "d.exe", "url": "https://evil.example/d", "sha256": DIGEST}]}}),
            hosts(KNOWN),
            &["v~d/d.exe: it comes from evil.example"],
        ),
        attack(
            "a container image",
            json!({"containerImages": [format!("evil.example/x:1@sha256:{DIGEST}")]}),
            hosts(KNOWN),
            &["it comes from evil.example"],
        ),
        attack(
            "a registry's mirror",
            json!({"mirrors": {"registry.k8s.io": ["https://evil.example/"]}}),
            hosts(KNOWN),
            &["it comes from evil.example"],
        ),
        attack(
            "a mirror of everything",
            over("https://", json!({"url": "https://evil.example/"})),
            hosts(KNOWN),
            &["it comes from evil.example"],
        ),
        attack(
            "a checksum file",
            over("containerd", json!({"checksums": "https://evil.example/s"})),
            hosts(KNOWN),
            &["it comes from evil.example"],
        ),
        attack(
            "a signature",
            over(
                "containerd",
                json!({"signature": {"kind": "cosign-key", "url": "https://evil.example/s", "key": PEM}}),
            ),
            hosts(KNOWN),
            &["it comes from evil.example"],
        ),
        attack(
            "a certificate",
            over(
                "containerd",
                json!({"signature": {"kind": "cosign-keyless", "url": "https://github.com/s", "certificateUrl": "https://evil.example/c", "identity": "a", "issuer": "b"}}),
            ),
            hosts(KNOWN),
            &["it comes from evil.example"],
        ),
        attack(
            "updates by a search",
            json!({"updates": {"categories": ["SecurityUpdates"]}}),
            hosts(KNOWN),
            &["Windows Update decides which hosts"],
        ),
        attack(
            "the pause image's registry",
            json!({}),
            hosts(&["dl.k8s.io", "github.com"]),
            &["registry.k8s.io"],
        ),
        Attack {
            name: "the build's tools",
            brings: json!({}),
            policy: hosts(KNOWN),
            line: AZURE,
            code: 3,
            said: &["packer 1.16.0: it comes from releases.hashicorp.com"],
        },
        attack(
            "a digest that the definition states",
            url("https://github.com/c.tar.gz"),
            json!({"name": "ours", "minimumConfidence": "medium"}),
            &[
                "containerd 2.3.4: its digest is attested `low`",
                "trustedDigests",
            ],
        ),
        attack(
            "a digest in the place of the catalog's",
            over("crictl", json!({"sha256": DIGEST})),
            json!({"name": "ours", "minimumConfidence": "high"}),
            &["crictl", "[policy-minimum-confidence]"],
        ),
        attack(
            "an update's digest",
            file("https://x.example/a.msu"),
            json!({"name": "ours", "minimumConfidence": "medium"}),
            &["KB5058411: the image definition alone states its digest"],
        ),
        attack(
            "an image's digest",
            json!({"containerImages": [format!("x.example/x:1@sha256:{DIGEST}")]}),
            json!({"name": "ours", "minimumConfidence": "medium"}),
            &["the image definition alone states its digest"],
        ),
        attack(
            "a rule that misspells",
            json!({}),
            rule("kubelett"),
            &["no component or program is named `kubelett`"],
        ),
        attack(
            "a rule without proof",
            json!({}),
            json!({"name": "ours", "require": [{"id": "r", "components": ["*"], "anyOf": []}]}),
            &["names no proof"],
        ),
        attack(
            "a key that is no digest",
            json!({}),
            json!({"name": "ours", "trustedKeys": [{"key": "abc", "components": ["containerd"]}]}),
            &["`abc` is not the digest of a key"],
        ),
        attack(
            "a file that is no digest",
            json!({}),
            json!({"name": "ours", "trustedDigests": [{"digest": "abc", "components": ["containerd"]}]}),
            &["`abc` is not the digest of a file"],
        ),
        attack(
            "a signer without issuer",
            json!({}),
            json!({"name": "ours", "trustedIdentities": [{"identity": "a", "issuer": "", "components": ["containerd"]}]}),
            &["is not a signer"],
        ),
        attack(
            "a grant without host",
            json!({}),
            json!({"name": "ours", "headerGrants": [{"environment": "A", "hosts": []}]}),
            &["a grant has no variable or no hosts"],
        ),
    ]
}

/// Secrets go where a file says.
fn list_headers() -> Vec<Attack> {
    let asks = |url: &str| {
        over(
            "containerd",
            json!({"url": url, "headers": {"Authorization": "TOKEN"}}),
        )
    };
    let grant = |host: &str| json!({"name": "ours", "headerGrants": [{"environment": "TOKEN", "hosts": [host]}]});
    let evil = "https://127.0.0.1:9/c.tar.gz";
    let attack = |name, brings, policy, line, code, said| Attack {
        name,
        brings,
        policy,
        line,
        code,
        said,
    };
    let fetch = "fetch --target host --k8s 1.36.0 --store s";
    let said: &[&str] = &[
        "the environment variable TOKEN may not be sent to 127.0.0.1",
        "--allow-header-env TOKEN=127.0.0.1",
    ];
    vec![
        attack(
            "a variable that nobody granted",
            asks(evil),
            ours(),
            fetch,
            3,
            said,
        ),
        attack(
            "granted for another host",
            asks(evil),
            grant("x.example"),
            fetch,
            3,
            said,
        ),
        attack(
            "granted for hosts below",
            asks(evil),
            grant("*.127.0.0.1"),
            fetch,
            3,
            said,
        ),
        attack(
            "another variable was granted",
            asks(evil),
            ours(),
            "fetch --target host --k8s 1.36.0 --store s --allow-header-env HOME=127.0.0.1",
            3,
            said,
        ),
        attack(
            "granted on the command line for another host",
            asks(evil),
            ours(),
            "fetch --target host --k8s 1.36.0 --store s --allow-header-env TOKEN=x.example",
            3,
            said,
        ),
        attack(
            "granted without host",
            asks(evil),
            ours(),
            "fetch --target host --k8s 1.36.0 --store s --allow-header-env TOKEN",
            3,
            &["NAME=HOST"],
        ),
        attack(
            "granted for a URL",
            asks(evil),
            ours(),
            "fetch --target host --k8s 1.36.0 --store s --allow-header-env TOKEN=https://x.example/",
            3,
            &["NAME=HOST"],
        ),
        attack(
            "headers of a mirror",
            over(
                "https://",
                json!({"url": "https://127.0.0.1:9/", "headers": {"X": "TOKEN"}}),
            ),
            ours(),
            fetch,
            3,
            said,
        ),
        // Granted, it is asked for: nothing listens there.
        attack(
            "control: granted by the policy",
            asks(evil),
            grant("127.0.0.1"),
            fetch,
            4,
            &["127.0.0.1"],
        ),
        attack(
            "control: granted on the command line",
            asks(evil),
            ours(),
            "fetch --target host --k8s 1.36.0 --store s --allow-header-env TOKEN=127.0.0.1",
            4,
            &["127.0.0.1"],
        ),
    ]
}

pub(super) fn run_attacks(attacks: Vec<Attack>) {
    for attack in attacks {
        let mut test = Test::new()
            .file("imagegen.json", &attack.brings.to_string())
            .file("policy.json", &attack.policy.to_string())
            .file("packer", "#!/bin/sh\n")
            .env("TOKEN", "s3cret-value")
            .line(attack.line)
            .line("--policy policy.json");
        if attack.line.contains("--manifests") {
            let export = Test::new().line("catalog export --out catalog");
            export.succeeds();
            std::fs::rename(export.folder.join("catalog"), test.folder.join("catalog"))
                .expect("catalog");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(test.folder.join("packer"), mode).expect("mode");
        }
        test = test.env("HOME", "/nowhere");
        let ran = test.run();
        assert_eq!(
            ran.code,
            Some(attack.code),
            "{}: {}{}",
            attack.name,
            ran.stdout,
            ran.stderr
        );
        for part in attack.said {
            assert!(
                ran.stderr.contains(part),
                "{}: no `{part}` in:\n{}",
                attack.name,
                ran.stderr
            );
        }
        assert!(
            !(ran.stdout + &ran.stderr).contains("s3cret-value"),
            "{}: the secret is shown",
            attack.name
        );
    }
}

#[test]
fn a_definition_brings_no_judge() {
    run_attacks(list_anchors());
}

#[test]
fn a_policy_judges_what_lands() {
    run_attacks(list_names_and_hosts());
}

#[test]
fn a_secret_goes_where_it_was_granted() {
    run_attacks(list_headers());
}

/// Without a policy, what the definition chooses is named in the plan and in the lock.
#[test]
fn what_the_definition_chooses_is_named() {
    let line = "--target host --k8s 1.36.0";
    let signature = json!({"kind": "cosign-key", "url": "https://x.example/s", "key": PEM});
    let definition = over("containerd", json!({"signature": signature})).to_string();
    let ran = Test::new()
        .file("imagegen.json", &definition)
        .line("plan")
        .line(line)
        .succeeds();
    let said = "containerd 2.3.4 is verified by the key with SHA-256";
    assert!((ran.stdout + &ran.stderr).contains(said));
    // Named by the policy, it is admitted.
    let digest = imagegen::base::digest::sha256_hex(&[0x30, 0x59, 0x30]);
    Test::new()
        .file("imagegen.json", &definition)
        .file(
            "policy.json",
            &json!({"name": "ours", "trustedKeys": [{"key": digest, "components": ["containerd"]}]})
                .to_string(),
        )
        .line("plan --policy policy.json")
        .line(line)
        .succeeds();
    // A declared signature is asked for, although the catalog pins the bytes.
    let test = Test::new()
        .file("imagegen.json", &definition)
        .line("lock --offline --store s")
        .line(line);
    test.fails(4, &["containerd 2.3.4"]);
    assert!(!test.exists("imagegen.lock.json"));
}

/// A lock is written over a lock or nothing.
#[test]
fn a_lock_replaces_nothing_else() {
    let line = "--target host --k8s 1.36.0";
    for (name, content) in [
        ("imagegen.json", "{}"),
        ("note.json", r#"{"note": "imagegen.dev/lock/v1"}"#),
        ("list.json", r#"["imagegen.dev/lock/v1"]"#),
        ("policy.json", r#"{"name": "ours"}"#),
        ("notes.txt", "mine"),
        ("image", "\u{7f}ELF"),
    ] {
        let test = Test::new()
            .file(name, content)
            .line("lock")
            .line(line)
            .line("--lock")
            .line(name);
        test.fails(3, &["is not a lockfile"]);
        assert_eq!(test.text(name), content);
    }
    let test = Test::new().line("lock").line(line);
    test.succeeds();
    test.succeeds();
}

/// `store gc` keeps what a lock names, by whatever digest.
#[test]
fn a_swept_store_has_what_the_lock_names() {
    let line = "--target host --k8s 1.36.0";
    let made = Test::new()
        .line("lock")
        .line(line)
        .stocked(&format!("plan {line}"));
    let mut overrides: Value = serde_json::from_str(&made.text("overrides.json")).expect("JSON");
    let before = crate::support::files(&made.folder.join("store/objects"));
    // One artifact is pinned by SHA-512 alone, and one file is the definition's own.
    for (_, over) in overrides.as_object_mut().expect("map") {
        let digest = over["sha256"].as_str().expect("digest").to_owned();
        let (_, bytes) = before
            .iter()
            .find(|(name, _)| name.ends_with(&digest))
            .expect("object");
        let long = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, bytes);
        *over = json!({"url": over["url"], "sha512": imagegen::base::digest::encode_hex(long.as_ref())});
    }
    let own = imagegen::base::digest::sha256_hex(b"an update");
    let kb = json!({"kb": "KB5058411", "url": "https://x.example/a.msu", "sha256": own});
    let definition = json!({"updates": {"files": [kb]}}).to_string();
    let test = made
        .file("overrides.json", &overrides.to_string())
        .file("imagegen.json", &definition)
        .file("a.msu", "an update")
        .file("other", "not named");
    test.succeeds();
    let run = |line: &str| {
        let ran = Test::new()
            .line(line)
            .command()
            .current_dir(&test.folder)
            .output()
            .expect("starts");
        assert!(
            ran.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    // Adding the files again tells the store their SHA-512.
    for (at, bytes) in before.values().enumerate() {
        std::fs::write(test.folder.join(format!("added-{at}")), bytes).expect("file");
        run(&format!("store add added-{at} --store store"));
    }
    run("store add a.msu other --store store");
    run("store gc --days 0 --lock imagegen.lock.json --store store");
    let after = crate::support::files(&test.folder.join("store/objects"));
    let has = |content: &[u8]| after.values().any(|bytes| bytes == content);
    assert!(before.values().all(|bytes| has(bytes)) && has(b"an update"));
    assert!(!has(b"not named"));
}
