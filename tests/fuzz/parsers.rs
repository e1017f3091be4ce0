//! The parsers of foreign bytes, with the source files that they cover and real inputs.

mod proofs;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::time::SystemTime;

use imagegen::bake::{CheckReport, PackerManifest, Timeline};
use imagegen::base::json::parse_json;
use imagegen::base::no_proxy::{ProxyException, split_entries};
use imagegen::base::secret::{Secret, mask_text};
use imagegen::base::toml::{TomlFragment, merge_fragments};
use imagegen::base::url::{HttpUrl, ProxyUrl, find_secret_parts};
use imagegen::base::value::{Cidr, ImageReference, NoProxy};
use imagegen::base::version::{Version, VersionRange};
use imagegen::bundle::{BundleIndex, images, platform, verify_bundle};
use imagegen::catalog::Catalog;
use imagegen::embedded::Tree;
use imagegen::io::http::{parse_content_range, parse_retry_after};
use imagegen::io::oci::{Challenge, Reference};
use imagegen::join::{BootstrapToken, JoinInput, check_kubeconfig};
use imagegen::lock::Lock;
use imagegen::model::component::ComponentDefinition;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::kubernetes_release::{KubernetesRelease, ProductRelease};
use imagegen::model::mirrors::{Mirror, MirrorParty, MirrorPrefix, Mirrors};
use imagegen::model::overrides::{Overrides, set_overrides};
use imagegen::model::pins::PinFile;
use imagegen::model::policy::Policy;
use imagegen::model::step::Step;
use imagegen::model::target::Target;
use imagegen::model::windows::WindowsRelease;
use imagegen::render::{WORKSPACE_RECORD, WorkspaceRecord};
use imagegen::verify::authenticode::Publisher;
use imagegen::verify::dsse;
use imagegen::verify::statement::read_statement;
use proofs::PROOFS;
use serde_json::Value;

use crate::support::programs::{with_go, with_resource};
use crate::support::{Test, root};

pub struct Parser {
    pub name: &'static str,
    /// Beginnings of the paths of source files that parse for it.
    pub files: &'static [&'static str],
    /// Mutations in every run.
    pub least: usize,
    pub seeds: fn() -> Vec<Vec<u8>>,
    pub parse: fn(&[u8]),
}

fn read(path: &str) -> Vec<u8> {
    std::fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lock() -> Vec<u8> {
    let test = Test::new().line("lock --target host --k8s 1.36.0");
    test.succeeds();
    test.read("imagegen.lock.json")
}

/// A bundle of stand-ins, which verifies.
fn bundle() -> Vec<u8> {
    let selection = "--target host --k8s 1.36.0";
    let test = Test::new()
        .line(&format!("lock {selection}"))
        .stocked(&format!("plan {selection}"));
    test.succeeds();
    test.bare()
        .prints("bundle create --out b.zip --offline --store store");
    test.bare().prints("bundle verify b.zip");
    test.read("b.zip")
}

fn parse_bundle(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("b.zip");
    std::fs::write(&file, bytes).expect("file");
    let _ = verify_bundle(&file, &Catalog::new(Tree::embedded_manifests()));
}

fn files() -> Vec<(String, &'static [u8])> {
    vec![
        ("bin/ctr.exe".to_owned(), b"text of a program"),
        ("a/b/c.dll".to_owned(), b""),
        ("x".to_owned(), b"\0\0\0"),
    ]
}

/// Every parser of what comes from outside.
pub fn list_parsers() -> impl Iterator<Item = &'static Parser> {
    PARSERS.iter().chain(PROOFS)
}

const PARSERS: &[Parser] = &[
    Parser {
        name: "lock",
        files: &["src/lock.rs", "src/base/json.rs"],
        least: 60,
        seeds: || vec![lock()],
        parse: |bytes| drop(Lock::decode("lock", bytes)),
    },
    Parser {
        name: "definition",
        files: &[
            "src/base/value.rs",
            "src/model/matrix.rs",
            "src/base/value/",
            "src/windows/value.rs",
            "src/model/line.rs",
            "src/model/image_version.rs",
        ],
        least: 300,
        seeds: || {
            texts(&[
                r#"{"target": "azure", "windows": "2022", "kubernetes": "1.36.4", "hostAccess": "hostprocess", "variables": {"location": "westeurope"}}"#,
                r#"{"target": "host", "matrix": {"windows": ["2022", "2025"], "kubernetes": ["1.35", "1.36"], "hostAccess": ["services"], "exclude": [{"windows": "2025", "kubernetes": "1.35"}], "include": [{"windows": "2019", "kubernetes": "1.30", "delivery": "media"}]}}"#,
                r#"{"target": "host", "kubernetes": "1.36.0", "network": {"pods": "10.244.0.0/16", "services": "10.96.0.0/12", "dns": "10.96.0.10", "domain": "cluster.local"}, "updates": {"files": [{"kb": "KB5058411", "url": "https://a.example/x.msu", "sha256": "ababababababababababababababababababababababababababababababababab"}]}, "proxy": {"http": "http://p.example:3128"}}"#,
            ])
        },
        parse: |bytes| {
            let definition = parse_json::<ImageDefinition>("imagegen.json", bytes);
            if let Some(matrix) = definition.ok().and_then(|it| it.matrix) {
                drop(matrix.list_images());
            }
        },
    },
    Parser {
        name: "toml",
        files: &["src/base/toml.rs"],
        least: 300,
        seeds: || {
            texts(&[
                "version = 3\n[timeouts]\n'io.containerd.timeout.shim.load' = '9s'\n[plugins.'io.containerd.cri.v1.images']\nimage_pull_progress_timeout = '9m'\n[[a.b]]\nc = [1, 2.5, {d = 2020-01-01T00:00:00Z}]\n",
                "version = 2\nplugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.mine = { runtime_type = \"io.containerd.runhcs.v1\" }\n",
            ])
        },
        parse: |bytes| {
            let Ok(fragment) = text(bytes).parse::<TomlFragment>() else {
                return;
            };
            let file = "version = 3\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'x'\n";
            if let Ok(merged) = merge_fragments(file, std::slice::from_ref(&fragment), &[]) {
                let again = merged.parse::<TomlFragment>().expect("merged TOML is TOML");
                let twice = merge_fragments(&merged, &[fragment], &[]);
                assert_eq!(twice.expect("its own keys"), again.as_str());
            }
        },
    },
    Parser {
        name: "policy",
        files: &[],
        least: 150,
        seeds: || vec![read("manifests/policy/regulated.json")],
        parse: |bytes| drop(parse_json::<Policy>("policy.json", bytes)),
    },
    Parser {
        name: "statement",
        files: &["src/verify/statement"],
        least: 500,
        seeds: || {
            vec![
                with_resource("kubelet.exe", "1.36.0"),
                with_go(
                    "k8s.io/kubernetes/cmd/kubelet",
                    "k8s.io/kubernetes",
                    "v1.36.0",
                ),
            ]
        },
        parse: |bytes| drop(read_statement(&mut Cursor::new(bytes))),
    },
    Parser {
        name: "signed-statement",
        files: &["src/verify/dsse.rs"],
        least: 300,
        seeds: || {
            texts(&[
                r#"{"dsseEnvelope": {"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": "eA=="}]}}"#,
            ])
        },
        parse: |bytes| drop(dsse::verify_bundle(bytes, "no key")),
    },
    Parser {
        name: "timeline",
        files: &["src/bake/timeline.rs"],
        least: 300,
        seeds: || {
            texts(&[
                "azure-arm.node: imagegen: [3/48] changed directories/log (12 ms)",
                r#"azure-arm.node: {"schema":"imagegen.dev/phase-result/v1","phase":"install","changed":3}"#,
            ])
        },
        parse: |bytes| {
            let mut timeline = Timeline::default();
            timeline.add_line(&String::from_utf8_lossy(bytes), 1.0);
        },
    },
    Parser {
        name: "workspace record",
        files: &[],
        least: 150,
        seeds: || {
            let mirrored = r#"{"schema": "imagegen.dev/workspace/v1", "selectors": {}, "declared": [], "missing": [],
                "mirrors": {"https://github.com/": "https://m.example/github/"}}"#;
            let mut seeds = texts(&[mirrored]);
            seeds.push(read("tests/golden/workspace/azure/imagegen.workspace.json"));
            seeds
        },
        parse: |bytes| drop(parse_json::<WorkspaceRecord>(WORKSPACE_RECORD, bytes)),
    },
    Parser {
        name: "mirrors",
        files: &["src/model/mirrors.rs"],
        least: 200,
        seeds: || {
            texts(&[
                r#"{"https://github.com/": "https://m.example/github/", "docker://docker.io/library/": "https://r.example/"}"#,
            ])
        },
        parse: |bytes| {
            let Ok(places) = parse_json::<BTreeMap<MirrorPrefix, HttpUrl>>("mirrors", bytes) else {
                return;
            };
            let place = |(prefix, url)| (prefix, Mirror::open_to_all(url, MirrorParty::Operator));
            let mirrors = Mirrors::new(places.into_iter().map(place).collect());
            let url = "https://github.com/a/b?c=d".parse().expect("a URL");
            drop(mirrors.locate(&url));
            drop(mirrors.locate_image("docker.io", "library/busybox"));
        },
    },
    Parser {
        name: "foreign-json",
        files: &["src/base/json/"],
        least: 300,
        seeds: || texts(&[r#"{"a": [1, {"b": null}], "c": "x"}"#]),
        parse: |bytes| drop(imagegen::base::json::parse_foreign::<Value>(bytes)),
    },
    Parser {
        name: "overrides",
        files: &["src/model/overrides.rs", "src/base/member.rs"],
        least: 300,
        seeds: || {
            texts(&[
                r#"{"kubelet": {"url": "https://a.example/{version}/kubelet.exe?sig=x", "members": [{"member": "bin/x.exe", "file": "x.exe"}], "signature": {"kind": "cosign-key", "url": "https://a.example/x.sig", "key": "cosign.pub"}, "headers": {"Authorization": "TOKEN"}}, "https://github.com/": {"url": "https://m.example/"}}"#,
                "kubelet.url=https://a.example/x",
                "hns.psm1.signature.kind=minisign",
            ])
        },
        parse: |bytes| {
            drop(parse_json::<Overrides>("overrides.json", bytes));
            drop(set_overrides(&mut Overrides::new(), &[text(bytes)]));
        },
    },
    Parser {
        name: "manifests",
        files: &[
            "src/base/version.rs",
            "src/model/kubernetes_release.rs",
            "src/model/pins.rs",
            "src/model/upstream.rs",
            "src/windows/resource/desired.rs",
        ],
        least: 60,
        seeds: || {
            [
                "components/containerd.json",
                "pins/flannel.json",
                "windows/2022.json",
                "../packer/targets/azure/target.json",
            ]
            .map(|name| read(&format!("manifests/{name}")))
            .into_iter()
            .chain([read("provisioners/steps/040-containerd.json")])
            .collect()
        },
        parse: |bytes| {
            drop(parse_json::<ComponentDefinition>("component", bytes));
            drop(parse_json::<PinFile>("pins", bytes));
            drop(parse_json::<WindowsRelease>("windows", bytes));
            drop(ProductRelease::split(&text(bytes)));
            drop(text(bytes).parse::<KubernetesRelease>());
            drop(parse_json::<Target>("target", bytes));
            drop(parse_json::<Step>("step", bytes));
            drop(text(bytes).parse::<Version>());
            drop(text(bytes).parse::<VersionRange>());
        },
    },
    Parser {
        name: "urls",
        files: &["src/base/no_proxy.rs", "src/base/url.rs"],
        least: 2000,
        seeds: || {
            texts(&[
                "https://user:pw@a.example:8443/x/y.exe?sig=aB%2B&sv=1#f",
                "http://[::1]:80/",
                "10.0.0.0/8,.svc,<local>",
                "mcr.example/a/b:1@sha256:abababababababababababababababababababababababababababababababab",
            ])
        },
        parse: |bytes| {
            let text = text(bytes);
            if let Ok(url) = text.parse::<HttpUrl>() {
                let shown = url.to_string();
                let authority = shown.split(['/', '?', '#']).nth(2).unwrap_or_default();
                assert!(!authority.contains('@'), "{shown}");
            }
            for entry in split_entries(&text) {
                let Some(entry) = ProxyException::parse(entry) else {
                    continue;
                };
                let written = entry.to_string();
                assert_eq!(ProxyException::parse(&written), Some(entry), "{written}");
            }
            drop((
                text.parse::<ProxyUrl>(),
                text.parse::<NoProxy>(),
                text.parse::<Cidr>(),
                text.parse::<ImageReference>(),
            ));
            for part in find_secret_parts(&text) {
                assert!(text.get(part).is_some(), "a part cuts a letter");
            }
        },
    },
    Parser {
        name: "mask",
        files: &[],
        least: 300,
        seeds: || {
            texts(&[
                "==> a.b: \\u0041 %41 &#x41; x\n    a.b: ''\n",
                "https://u:p@a.example/?token=abc\r\n",
            ])
        },
        parse: |bytes| {
            let text = text(bytes);
            assert_eq!(
                mask_text(&text).matches('\n').count(),
                text.matches('\n').count()
            );
        },
    },
    Parser {
        name: "bundle",
        files: &["src/bundle/read.rs", "src/bundle/images.rs"],
        least: 40,
        seeds: || vec![bundle()],
        parse: parse_bundle,
    },
    Parser {
        name: "bundle-index",
        files: &[],
        least: 300,
        seeds: || {
            texts(&[
                r#"{"schema": "imagegen.dev/bundle/v1", "files": [{"path": "objects/x", "sha256": "ab", "size": 1}], "images": [{"name": "a.example/b@sha256:00", "manifest": "sha256:00", "osVersion": "10.0.20348.1"}]}"#,
            ])
        },
        parse: |bytes| drop(parse_json::<BundleIndex>("index.json", bytes)),
    },
    Parser {
        name: "image-manifests",
        files: &["src/io/oci.rs", "src/bundle/platform.rs"],
        least: 300,
        seeds: || {
            let digest = format!("sha256:{}", "ab".repeat(32));
            let config = format!(
                r#"{{"mediaType": "x", "digest": "{digest}", "size": 7, "platform": {{"os": "windows", "architecture": "amd64", "os.version": "10.0.20348.1"}}}}"#
            );
            texts(&[
                &format!(r#"{{"schemaVersion": 2, "config": {config}, "layers": [{config}]}}"#),
                &format!(r#"{{"schemaVersion": 2, "manifests": [{config}, {config}]}}"#),
                &format!("a.example:5000/b/c:1@{digest}"),
            ])
        },
        parse: |bytes| {
            if let Ok(images::ImageManifest::List(list)) =
                images::ImageManifest::decode("manifest", bytes)
            {
                drop(images::choose_manifest("image", &list, 20348));
            }
            drop(Reference::parse(&text(bytes)));
            drop(platform::check_platform("image", bytes));
        },
    },
    Parser {
        name: "www-authenticate",
        files: &["src/io/oci/challenge.rs"],
        least: 1000,
        seeds: || {
            texts(&[
                "Bearer realm=\"https://a.example/token\",service=\"a.example\", scope=\"repository:b:pull,push\"",
                "Negotiate abc==, BEARER realm = x",
            ])
        },
        parse: |bytes| drop(Challenge::parse(&[text(bytes)])),
    },
    Parser {
        name: "http-headers",
        files: &["src/io/http.rs", "src/io/http/"],
        least: 1000,
        seeds: || {
            texts(&[
                "bytes 100-199/200",
                "bytes 0-0/*",
                "7",
                "Fri, 21 Nov 2014 00:00:00 GMT",
                "99999999999999999999",
            ])
        },
        parse: |bytes| {
            let text = text(bytes);
            if let Some((first, last, size)) = parse_content_range(&text) {
                assert!(first <= last && last < u64::MAX, "{text}: {size:?}");
            }
            let _ = parse_retry_after(&text, SystemTime::UNIX_EPOCH);
        },
    },
    Parser {
        name: "publisher",
        files: &["src/verify/authenticode/publisher.rs"],
        least: 1000,
        seeds: || {
            texts(&[
                "O=Microsoft Corporation,C=US",
                "CN=a\\, b,O=\"c\",2.5.4.5=#0c01",
                "O=Example Provider,CN=Example",
            ])
        },
        parse: |bytes| drop(text(bytes).parse::<Publisher>()),
    },
    Parser {
        name: "check-report",
        files: &["src/bake/results.rs"],
        least: 300,
        seeds: || {
            texts(&[
                r#"{"schema": "imagegen.dev/check-report/v1", "passed": false, "checked": 2, "failed": 1, "resources": [{"name": "a/b", "result": "drifted", "differences": [{"property": "x", "expected": "y", "actual": null}]}]}"#,
            ])
        },
        parse: |bytes| {
            if let Ok(report) = CheckReport::decode(bytes) {
                drop(report.list_failures());
            }
        },
    },
    Parser {
        name: "packer-manifest",
        files: &[],
        least: 300,
        seeds: || {
            texts(&[
                r#"{"builds": [{"builder_type": "qemu", "artifact_id": "VM", "packer_run_uuid": "1", "files": [{"name": "a.qcow2", "size": 1}]}], "last_run_uuid": "1"}"#,
            ])
        },
        parse: |bytes| drop(PackerManifest::decode(bytes)),
    },
    Parser {
        name: "join-input",
        files: &[
            "src/join/check.rs",
            "src/join/kubelet.rs",
            "src/join/token.rs",
        ],
        least: 300,
        seeds: || {
            texts(&[
                r#"{"endpoint": "a.example:6443", "caCertHashes": ["sha256:ab"], "name": "win-1", "labels": {"a": "b"}, "taints": ["os=windows:NoSchedule"]}"#,
                "abcdef.0123456789abcdef\n",
            ])
        },
        parse: |bytes| {
            drop(parse_json::<JoinInput>("join.json", bytes));
            drop(BootstrapToken::parse(&text(bytes)));
        },
    },
    Parser {
        name: "kubeconfig",
        files: &["src/join/kubeconfig.rs", "src/join/kubeconfig/block.rs"],
        least: 300,
        seeds: || {
            texts(&[
                "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: QUJD\n    server: https://a.example:6443\n  name: \"\"\ncontexts: []\npreferences: {}\n",
                r#"{"apiVersion": "v1", "clusters": [{"name": "a", "cluster": {"server": "https://a.example:6443", "certificate-authority-data": "QUJD"}}]}"#,
            ])
        },
        parse: |bytes| drop(check_kubeconfig(&Secret::new(text(bytes)))),
    },
];
