//! A table of attacks: whoever brings a definition, an override, a lock or a folder tries to get past the policy.

mod hosts;

use hosts::{list_headers, list_names_and_hosts};
use imagegen::base::public_key::{CosignKey, MinisignKey};
use serde_json::{Value, json};

use crate::support::Test;

const DIGEST: &str = "abababababababababababababababababababababababababababababababab";

const PEM: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n-----END PUBLIC KEY-----\n";

const MINISIGN: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

pub(super) const CERTIFICATE: &str = include_str!("../fixtures/cluster-ca.pem");

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

#[expect(clippy::needless_pass_by_value, reason = "a row is shorter so")]
fn over(component: &str, fields: Value) -> Value {
    json!({"overrides": {component: fields}})
}

/// A minisign key below a comment that has the key of [`PEM`].
fn hide_key(line: &str) -> String {
    let hidden: Vec<&str> = PEM.lines().filter(|line| !line.contains("---")).collect();
    let hidden = hidden.concat();
    format!("untrusted comment: -----BEGIN -----{hidden}-----END -----\n{line}\n")
}

fn hash_pem() -> String {
    CosignKey::parse(PEM).expect("a key").sha256()
}

fn hash_minisign() -> String {
    MinisignKey::parse(MINISIGN).expect("a key").sha256()
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
            json!({"name": "ours", "trustedKeys": [{"key": hash_pem(), "components": ["containerd"]}]}),
            &["[policy-trusted-keys]"],
        ),
        attack(
            "trusted key in the comment of a minisign key",
            signed(json!({"kind": "minisign", "key": hide_key(MINISIGN)})),
            json!({"name": "ours", "trustedKeys": [{"key": hash_pem(), "components": ["*"]}]}),
            &["neither a public key nor a certificate"],
        ),
        attack(
            "minisign key",
            signed(json!({"kind": "minisign", "key": format!("RW{}", "A".repeat(54))})),
            ours(),
            &["[policy-trusted-keys]"],
        ),
        attack(
            "key that is trusted for the name of a member",
            over(
                "containerd",
                json!({"url": "https://x.example/c.zip", "kind": "zip", "members": [{"member": "0/crictl.exe", "file": "containerd.exe"}], "signature": {"kind": "minisign", "key": MINISIGN, "url": "https://x.example/s"}}),
            ),
            json!({"name": "ours", "trustedKeys": [{"key": hash_minisign(), "components": ["crictl"]}]}),
            &["[policy-trusted-keys]", "does not trust for containerd"],
        ),
        attack(
            "digest that is trusted for the name of a member",
            over(
                "containerd",
                json!({"url": "https://x.example/c.zip", "kind": "zip", "sha256": DIGEST, "members": [{"member": "0/crictl.exe", "file": "containerd.exe"}]}),
            ),
            json!({"name": "ours", "trustedDigests": [{"digest": DIGEST, "components": ["crictl"]}]}),
            &["for crictl, and not for it", "[policy-trusted-digests]"],
        ),
        attack(
            "digest that is trusted for a component and becomes another program",
            over(
                "crictl",
                json!({"url": "https://x.example/c.zip", "kind": "zip", "sha256": DIGEST, "members": [{"member": "crictl.exe", "file": "Kubelet.exe"}]}),
            ),
            json!({"name": "ours", "trustedDigests": [{"digest": DIGEST, "components": ["crictl"]}]}),
            &["for crictl, and not for crictl as kubelet"],
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
    let digest = hash_pem();
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
