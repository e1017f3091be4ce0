//! The forms of names, hashes and addresses in join data.

use imagegen::base::secret::Secret;
use imagegen::catalog::Trees;
use imagegen::diagnostic::{Error, Result};
use imagegen::join::{BootstrapToken, Form, JoinData, JoinInput, Places, Secrets, build_join_data};
use imagegen::model::plan::Plan;
use imagegen::planning::resolve_node_plan;
use imagegen::selection::{DefinedImage, Flags, SourceFolders, read_sources};

struct Node {
    trees: Trees,
    plan: Plan,
    places: Places,
}

impl Node {
    fn new() -> Self {
        let trees = read_sources(&SourceFolders::default(), &[]).expect("trees");
        let (plan, _) =
            resolve_node_plan(&Flags::default(), &DefinedImage::empty(), &trees).expect("plan");
        let paths = trees.read_paths().expect("paths");
        let places = Places::from_paths(&paths, false).expect("places");
        Self {
            trees,
            plan,
            places,
        }
    }

    fn build(&self, input: &JoinInput, secrets: &Secrets) -> Result<JoinData> {
        build_join_data(
            input,
            secrets,
            Form::Kubeadm,
            &self.plan,
            &self.trees.catalog,
            &self.places,
        )
    }
}

fn token() -> Secrets {
    Secrets {
        token: BootstrapToken::parse("abcdef.0123456789abcdef").ok(),
        kubeconfig: None,
    }
}

fn good() -> JoinInput {
    JoinInput {
        endpoint: Some("api.example.com:6443".to_owned()),
        ca_cert_hashes: vec![format!("sha256:{}", "a".repeat(64))],
        ..JoinInput::default()
    }
}

/// Codes of findings, which end each of them.
fn codes(outcome: Result<JoinData, Error>) -> Vec<String> {
    let text = outcome
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    let ends = text.lines().filter_map(|line| {
        line.strip_suffix(']')?
            .rsplit_once('[')
            .map(|(_, code)| code)
    });
    ends.map(str::to_owned).collect()
}

#[test]
fn forms_of_every_field() {
    let long = "a".repeat(64);
    let cases: &[(&str, &str, Option<&str>)] = &[
        ("endpoint", "10.0.0.1:6443", None),
        ("endpoint", "[fd00::1]:6443", None),
        ("endpoint", "fd00::1:6443", Some("endpoint-format")),
        (
            "endpoint",
            "https://api.example.com:6443",
            Some("endpoint-format"),
        ),
        ("endpoint", "api.example.com", Some("endpoint-format")),
        ("endpoint", "api.example.com:0", Some("endpoint-format")),
        ("endpoint", "api.example.com:65536", Some("endpoint-format")),
        (
            "endpoint",
            "api_1.example.com:6443",
            Some("endpoint-format"),
        ),
        ("endpoint", "10.0.0.256:6443", Some("endpoint-format")),
        ("endpoint", ":6443", Some("endpoint-format")),
        ("hash", "sha256:abc", Some("hash-format")),
        ("hash", "md5:abc", Some("hash-format")),
        ("name", "win-node-1", None),
        ("name", "win-node-1.example.com", None),
        ("name", "WIN-NODE", Some("name-format")),
        ("name", "win_node", Some("name-format")),
        ("name", "-win", Some("name-format")),
        ("name", "", Some("name-format")),
        ("name", &long, Some("name-format")),
        ("label", "team=web", None),
        ("label", "node.kubernetes.io/pool=win", None),
        ("label", "team", Some("label-format")),
        ("label", "te am=x", Some("label-format")),
        ("label", "team=a,b=c", Some("label-format")),
        (
            "label",
            "node-role.kubernetes.io/windows=",
            Some("label-restricted"),
        ),
        ("label", "foo.k8s.io/x=y", Some("label-restricted")),
        ("taint", "os=windows:NoSchedule", None),
        ("taint", "os:NoExecute", None),
        ("taint", "os=windows", Some("taint-format")),
        ("taint", "os=windows:noschedule", Some("taint-format")),
        ("preflight", "NumCPU", None),
        (
            "preflight",
            r"FileAvailable-\etc\kubernetes\kubelet.conf",
            None,
        ),
        (
            "preflight",
            "FileAvailable-C:-etc-kubernetes-pki-ca.crt",
            None,
        ),
        ("preflight", "all", Some("preflight-format")),
        ("preflight", "Num CPU", Some("preflight-format")),
        ("preflight", "{{x}}", Some("preflight-format")),
        ("timeout", "5m0s", None),
        ("timeout", "5", Some("timeout-format")),
        ("timeout", "m", Some("timeout-format")),
    ];
    let node = Node::new();
    for (field, text, expected) in cases {
        let mut input = good();
        let value = (*text).to_owned();
        match *field {
            "endpoint" => input.endpoint = Some(value),
            "hash" => input.ca_cert_hashes = vec![value],
            "name" => input.name = Some(value),
            "label" => input.labels = vec![value],
            "taint" => input.taints = vec![value],
            "preflight" => input.ignore_preflight_errors = vec![value],
            _ => input.discovery_timeout = Some(value),
        }
        let expected: Vec<&str> = expected.iter().copied().collect();
        assert_eq!(
            codes(node.build(&input, &token())),
            expected,
            "{field} {text}"
        );
    }
}

#[test]
fn discovery_is_whole_and_one() {
    let node = Node::new();
    let kubeconfig = Secrets {
        token: None,
        kubeconfig: Some(Secret::from_constant("x")),
    };
    assert_eq!(
        codes(node.build(&JoinInput::default(), &kubeconfig)),
        ["discovery-kubeconfig"]
    );
    assert_eq!(codes(node.build(&good(), &kubeconfig)), ["discovery-twice"]);
    let error = node
        .build(&good(), &Secrets::default())
        .expect_err("no token")
        .to_string();
    assert!(error.contains("the bootstrap token is missing"), "{error}");
    let hashless = JoinInput {
        ca_cert_hashes: Vec::new(),
        ..good()
    };
    let remedies = node
        .build(&hashless, &Secrets::default())
        .expect_err("no hash")
        .remedies();
    assert!(
        remedies
            .iter()
            .any(|remedy| remedy.contains("trust any server")),
        "{remedies:?}"
    );
}

#[test]
fn long_names_are_warned_of() {
    let node = Node::new();
    let warned = |name: &str| {
        let input = JoinInput {
            name: Some(name.to_owned()),
            ..good()
        };
        let warnings = node.build(&input, &token()).expect(name).warnings;
        warnings
            .iter()
            .filter(|warning| warning.starts_with("Windows "))
            .count()
    };
    assert_eq!(warned("win-node-1.a-long-domain.example.com"), 0);
    assert_eq!(warned("a-name-of-16-chr"), 1);
    assert_eq!(warned("12345"), 1);
}
