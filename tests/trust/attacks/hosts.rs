//! Attacks by names, hosts and headers.

use serde_json::{Value, json};

use super::{AZURE, Attack, DIGEST, HOST, PEM, ours, over};

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

/// Policies judge what lands, by whatever name and from whatever host.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn list_names_and_hosts() -> Vec<Attack> {
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
pub(super) fn list_headers() -> Vec<Attack> {
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
