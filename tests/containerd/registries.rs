//! Registries of a definition, as files of containerd.

use serde_json::Value;

use super::toml;
use crate::support::{Test, root};

/// A definition with one registry, beside a certificate of an authority.
fn with_registry(registry: &str, rest: &str) -> Test {
    let definition = format!(
        r#"{{"target": "azure", "kubernetes": "1.36.4", "registries": {{"registry.example:5000": {registry}}}{rest}}}"#
    );
    let ca = root().join("provisioners/example/steps/corporate-root.pem");
    let pem = std::fs::read_to_string(ca).unwrap();
    Test::new()
        .file("imagegen.json", &definition)
        .file("ca.pem", &pem)
}

/// Everything that a definition says of a registry stands in its `hosts.toml`, and the certificates beside it.
#[test]
fn registries_of_a_definition_become_hosts_files() {
    let registry = r#"{
        "server": {"url": "https://registry.example:5000", "ca": "ca.pem", "headers": {"X-Meta-Team": "nodes"}},
        "hosts": [
            {"url": "https://mirror.example/v2/x", "capabilities": ["pull"], "ca": "ca.pem", "overridePath": true},
            {"url": "https://lab.example", "skipVerify": true, "dialTimeout": "5s", "headers": {"X-A": "1", "X-B": "2"}}
        ]}"#;
    let test = with_registry(registry, "").line("build --no-bake --out o --allow-http lab.example");
    test.succeeds();
    let plan: Value = serde_json::from_slice(&test.read("o/guest-plan.json")).unwrap();
    let resources = plan["resources"].as_array().unwrap();
    let content = |file: &str| {
        let path = format!(r"\registry.example_5000_\{file}");
        let mut properties = resources.iter().map(|it| &it["properties"]);
        let found = properties.find(|it| it["path"].as_str().is_some_and(|it| it.ends_with(&path)));
        found.unwrap_or_else(|| panic!("{path}"))["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        toml(content("hosts.toml").as_bytes()),
        serde_json::json!({
            "server": "https://registry.example:5000", "capabilities": ["pull", "resolve"], "ca": "ca-0.pem",
            "header": { "X-Meta-Team": "nodes" },
            "host": {
                "https://mirror.example/v2/x": { "capabilities": ["pull"], "ca": "ca-1.pem", "override_path": true },
                "https://lab.example": {
                    "capabilities": ["pull", "resolve"], "skip_verify": true, "dial_timeout": "5s",
                    "header": { "X-A": "1", "X-B": "2" },
                },
            },
        })
    );
    for file in ["ca-0.pem", "ca-1.pem"] {
        assert_eq!(content(file), test.text("ca.pem"), "{file}");
    }
    // containerd asks the hosts in the order of the file.
    let text = content("hosts.toml");
    assert!(
        text.find("mirror.example") < text.find("lab.example"),
        "{text}"
    );
}

/// `_default` stands for registries that have no file of their own: no server is named for it.
#[test]
fn a_default_registry_has_hosts_and_no_server() {
    let definition = |registries: &str| {
        format!(r#"{{"target": "azure", "kubernetes": "1.36.4", "registries": {registries}}}"#)
    };
    let hosts =
        r#"{"_default": {"hosts": [{"url": "https://m.example", "capabilities": ["pull"]}]}}"#;
    let test = Test::new().file("imagegen.json", &definition(hosts)).file(
        "p.json",
        r#"{"name": "ours", "allowedHosts": ["registry.k8s.io"]}"#,
    );
    test.bare().prints("build --no-bake --out o");
    let plan: Value = serde_json::from_slice(&test.read("o/guest-plan.json")).unwrap();
    let resources = plan["resources"].as_array().unwrap();
    let mut properties = resources.iter().map(|it| &it["properties"]);
    let path = r"\_default\hosts.toml";
    let found = properties.find(|it| it["path"].as_str().is_some_and(|it| it.ends_with(path)));
    let content = found.expect("hosts.toml")["content"].as_str().unwrap();
    assert_eq!(
        toml(content.as_bytes()),
        serde_json::json!({ "host": { "https://m.example": { "capabilities": ["pull"] } } })
    );
    // Every image may come from there.
    let refused = test.bare().run("plan --policy p.json");
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let mut lines = refused.stderr.lines();
    let said = "it comes from m.example";
    assert!(
        lines.any(|line| line.contains("registry.k8s.io/pause") && line.contains(said)),
        "{}",
        refused.stderr
    );
}

#[test]
fn an_older_containerd_is_not_given_what_it_passes_over() {
    let timeout =
        r#"{"docker.io": {"hosts": [{"url": "https://m.example", "dialTimeout": "5s"}]}}"#;
    let default = r#"{"_default": {"hosts": [{"url": "https://m.example"}]}}"#;
    let client =
        r#"{"docker.io": {"hosts": [{"url": "https://m.example", "client": ["c.pem", "k.pem"]}]}}"#;
    let never = timeout.replace("5s", "5 s");
    for (registries, kubernetes, version, said) in [
        (timeout, "1.34.0", "2.1.0", ""),
        (
            timeout,
            "1.34.0",
            "2.0.4",
            "`dialTimeout` is for containerd 2.1.0 and newer",
        ),
        (default, "1.24.0", "1.6.38", ""),
        (
            default,
            "1.24.0",
            "1.6.0",
            "the registry `_default` is for containerd 1.6.20",
        ),
        (
            client,
            "1.34.0",
            "2.1.0",
            "a client certificate has a private key",
        ),
        (&never, "1.34.0", "2.1.0", "`5 s` is not a time"),
    ] {
        let definition = format!(
            r#"{{"target": "azure", "kubernetes": "{kubernetes}", "registries": {registries}}}"#
        );
        let line = format!("plan --runtime containerd --component containerd={version}");
        let ran = Test::new()
            .file("imagegen.json", &definition)
            .line(&line)
            .run();
        let title = format!("{registries} {version}: {}", ran.stderr);
        if said.is_empty() {
            let is_refused = ran.stderr.contains("[mirror]");
            assert!(!is_refused, "{title}");
        } else {
            assert_eq!(ran.code, Some(3), "{title}");
            assert!(ran.stderr.contains(said), "{title}");
        }
    }
}

#[test]
fn registries_without_credentials_and_with_verified_certificates_alone() {
    for (registry, rest, said) in [
        (
            r#"{"server": {"url": "https://registry.example:5000", "headers": {"Authorization": "Basic c2VjcmV0"}}}"#,
            "",
            &[
                "registries.registry.example:5000.server.headers",
                "carries credentials",
                "credential provider",
            ][..],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example", "headers": {"X-Api-Token": "c2VjcmV0"}}]}"#,
            "",
            &["carries credentials"],
        ),
        (
            r#"{"hosts": [{"url": "https://user:c2VjcmV0@m.example"}]}"#,
            "",
            &["registries.registry.example:5000"],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example", "skipVerify": true}]}"#,
            "",
            &[
                "unverified-registry",
                "give the certificate of its authority as `ca`",
                "`--allow-http m.example`",
            ],
        ),
        (
            r#"{"hosts": [{"url": "http://m.example"}]}"#,
            "",
            &["plain-http", "`--allow-http m.example`"],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example", "ca": "none.pem"}]}"#,
            "",
            &["registries.registry.example:5000: ca is not a certificate"],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example", "ca": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"}]}"#,
            "",
            &["is a private key"],
        ),
        (
            r#"{"hosts": [{"url": "https://m.example"}]}"#,
            r#", "mirrors": {"registry.example:5000": ["https://n.example"]}"#,
            &["is in `mirrors` and in `registries`"],
        ),
        ("{}", "", &["has neither `server` nor `hosts`"]),
        (
            r#"{"hosts": [{"url": "https://m.example", "capabilities": []}]}"#,
            "",
            &["has no capabilities"],
        ),
    ] {
        let ran = with_registry(registry, rest)
            .line("build --no-bake --out o")
            .fails(3, said);
        assert!(!ran.stderr.contains("c2VjcmV0"), "{}", ran.stderr);
    }
    let docker = r#"{"target": "azure", "kubernetes": "1.20.0", "runtime": "docker", "registries": {"docker.io": {"hosts": [{"url": "https://m.example"}]}}}"#;
    Test::new()
        .file("imagegen.json", docker)
        .line("build --no-bake --out o")
        .fails(
            3,
            &["`registries` is for containerd 1.5 and newer, and the image has docker"],
        );
}
