//! Values of a wrong form.

use crate::support::{Test, root};

#[test]
fn flags_of_a_wrong_form_are_usage_errors_with_an_example() {
    for (line, message) in [
        (
            "plan --mirror mirror.example",
            "expected `https://` and a host, such as `https://",
        ),
        (
            "plan --mirror https://user:s3cret@mirror.example",
            "expected no user and no password",
        ),
        (
            "plan --mirror user:s3cret@mirror.example",
            "`mirror.example` is not a URL",
        ),
        (
            "plan --mirror https://github.com/=user:s3cret@mirror.example",
            "invalid value 'https://github.com/=mirror.example'",
        ),
        (
            "fetch --proxy user:s3cret@p.example:3128",
            "`p.example:3128` is not a proxy",
        ),
        (
            "plan --registry-mirror docker.io=user:s3cret@m.example",
            "`m.example` is not a URL",
        ),
        ("plan --allow-http user:s3cret@h.example", "is not a host"),
        (
            "history --from user:s3cret@h.example/history.json",
            "h.example/history.json",
        ),
        (
            "verify user:s3cret@h.example/kubelet.exe",
            "h.example/kubelet.exe",
        ),
        (
            "plan --updates KB12",
            "`KB12` is not a Windows update: expected `KB` and six or seven digits",
        ),
        ("plan --updates kb5058411", "such as `KB5058411`"),
        (
            "plan --http-proxy foo",
            "is not a proxy: expected a scheme, a host and a port",
        ),
        (
            "plan --https-proxy http://p’;calc;‘.example:3128",
            "is not a proxy",
        ),
        (
            "plan --no-proxy a;b",
            "is not a list of hosts without proxy",
        ),
        (
            "plan --registry-mirror docker.io=ftp://mirror.example",
            "expected `https://` and a host",
        ),
        (
            "plan --registry-mirror x’y=https://mirror.example",
            "is not a registry",
        ),
        ("fetch --proxy foo", "is not a proxy"),
        (
            "plan --mirror https://x=y",
            "https://x=y: a host has no `=`",
        ),
        ("plan --mirror https://m.example:0/", "the port 0"),
        (
            "plan --format bogus",
            "expected text or json, or markdown for `imagegen diff`",
        ),
        ("sbom --format spdx", "`imagegen sbom --as spdx`"),
        (
            "verify x --sha256 abc",
            "expected 64 lower-case hexadecimal digits",
        ),
        (
            "verify x --sha256 sha256:00",
            "it begins with `sha256:`: leave that out",
        ),
        (
            "verify x --sha512 0A",
            "it has upper-case letters: write `0a`",
        ),
        (
            "pin kubelet 1.36.0 --source s --sha512 abc",
            "expected 128 lower-case hexadecimal digits",
        ),
        (
            "bundle create --out o --image mcr.example/x:1",
            "is not an image pinned by its digest",
        ),
    ] {
        let ran = Test::new().line(line).fails(3, &[message]);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
    for format in ["text", "json"] {
        let ran = Test::new()
            .env("IMAGEGEN_MIRROR", "user:s3cret@mirror.example")
            .line(&format!("plan --format {format}"))
            .fails(3, &["`mirror.example` is not a URL"]);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
    for (text, message) in [
        (
            "kubelet.url=mirror.example",
            "--override kubelet.url: `mirror.example` is not a URL",
        ),
        (
            "kubelet.sha256=00",
            "--override kubelet.sha256: `00` is not a SHA-256",
        ),
        (
            "kubelet.signature.key=x",
            "--override kubelet.signature: missing field `url`",
        ),
    ] {
        Test::new()
            .line("plan --target azure --k8s 1.36 --override")
            .args([text])
            .fails(3, &[message]);
    }
}

#[test]
fn a_definition_of_a_wrong_form_is_named_with_file_and_path() {
    let empty = format!(
        "\"sha256\": \"{}\"",
        imagegen::base::digest::sha256_hex(b"")
    );
    let overrides = format!("\"overrides\": {{\"kubelet\": {{{empty}}}}}");
    for (fields, message) in [
        (
            "\"network\": {\"pods\": \"10.244.0.0\"}",
            "`network.pods`: `10.244.0.0` is not an IPv4 network: expected",
        ),
        (
            "\"network\": {\"services\": \"banana\"}",
            "`network.services`: `banana` is not an IPv4 network",
        ),
        (
            "\"network\": {\"nodes\": \"10.0.0.0/99\"}",
            "`network.nodes`: `10.0.0.0/99` is not an IPv4 network",
        ),
        (
            "\"network\": {\"dns\": \"dns\"}",
            "`network.dns`: `dns` is not an IPv4 address",
        ),
        (
            "\"network\": {\"domain\": \"x’y\"}",
            "`network.domain`: `x’y` is not a DNS name",
        ),
        (
            "\"proxy\": {\"http\": \"foo\"}",
            "`proxy.http`: `foo` is not a proxy",
        ),
        (
            "\"proxy\": {\"http\": \"http://p’;calc;‘.example:3128\"}",
            "`proxy.http`:",
        ),
        (
            "\"proxy\": {\"https\": \"http://u:s3cret@p.example:1\"}",
            "`http://p.example:1` is not a proxy",
        ),
        (
            "\"updates\": {\"kbs\": [\"KB12\"]}",
            "`updates.kbs[0]`: `KB12` is not a Windows update",
        ),
        (
            "\"mirrors\": {\"docker.io\": [\"mirror\"]}",
            "`mirrors.docker.io[0]`: `mirror` is not a URL",
        ),
        ("\"mirrors\": {\"docker.io\": []}", "has no mirror"),
        (
            "\"containerd\": {\"metricsAddress\": \"0.0.0.0:1338\"}",
            "`containerd.metricsAddress`: `0.0.0.0:1338` is not an address of the machine itself",
        ),
        (
            "\"containerd\": {\"metricsAddress\": \"127.0.0.1:10250\"}",
            "but `kubelet.exe` listens on TCP 10250",
        ),
        (
            "\"containerd\": {\"logLevel\": \"loud\"}",
            "`containerd.logLevel`:",
        ),
        (
            "\"containerd\": {\"maxConcurrentDownloads\": 0}",
            "`containerd.maxConcurrentDownloads`:",
        ),
        (
            "\"runtime\": \"docker\", \"containerd\": {}",
            "the image has docker",
        ),
        (
            "\"images\": [\"mcr.example/x\"]",
            "`images[0]`: `mcr.example/x` is not an image",
        ),
        (
            "\"volumePlugins\": {\"x\": []}",
            "is not a volume plugin: expected `VENDOR~DRIVER`",
        ),
        (&overrides, "`overrides.kubelet.sha256`:"),
        (
            "\"packer\": {\"plugins\": {\"azure\": \"9.9.9\"}}",
            "the catalog has no release 9.9.9 of packer-plugin-azure",
        ),
        (
            "\"packer\": {\"version\": \"9.9.9\"}",
            "the catalog has no release 9.9.9 of packer",
        ),
    ] {
        let text = format!("{{\"target\": \"azure\", \"kubernetes\": \"1.36\", {fields}}}");
        let ran = Test::new()
            .file("imagegen.json", &text)
            .line("build --no-bake --out o")
            .fails(3, &[message]);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
}

/// Names and addresses of a step, and the names of components, are named with their file.
#[test]
fn a_step_or_component_of_a_wrong_form_is_named_with_file_and_path() {
    let service = |name: &str, needs: &str| {
        serde_json::json!({ "name": "own", "type": "service", "source": "derived: a test", "properties": {
            "serviceName": name, "ensure": "present", "program": "C:\\own.exe", "dependsOn": [needs],
        }})
    };
    let rule = |address: &str| {
        serde_json::json!({ "name": "own", "type": "firewallRule", "source": "derived: a test", "properties": {
            "ruleName": "own", "ensure": "present", "direction": "inbound", "action": "block",
            "protocol": "TCP", "remoteAddress": ["LocalSubnet", address],
        }})
    };
    let number = serde_json::json!({ "name": "own", "type": "registryValue", "source": "derived: a test", "properties": {
        "key": "HKLM:\\SOFTWARE\\Own", "valueName": "own", "ensure": "present", "kind": "DWord", "data": -1,
    }});
    let template = serde_json::json!({ "name": "own", "type": "file", "source": "derived: a test", "properties": {
        "path": "C:\\own.txt", "ensure": "present", "content": {"template": "../905-own.json"},
    }});
    for (id, resource, messages) in [
        (
            "own",
            service("a/b", "Tcpip"),
            [
                "s/905-own.json: own: `serviceName`: `a/b`",
                "the name of a service",
            ],
        ),
        (
            "own",
            service("own", ""),
            [
                "s/905-own.json: own: `dependsOn[0]`: ``",
                "the name of a service",
            ],
        ),
        ("own", number, ["own: `data`: ", "integer `-1`"]),
        (
            "own",
            template,
            [
                "own: `content`: ",
                "no template `../905-own.json` in the folder",
            ],
        ),
        (
            "own",
            rule("banana"),
            [
                "s/905-own.json: own: `remoteAddress[1]`: `banana`",
                "such as `10.0.0.0/8`",
            ],
        ),
        (
            "own",
            rule("10.0.0.1/8"),
            ["`remoteAddress[1]`: `10.0.0.1/8`", "without host bits"],
        ),
        (
            "own",
            rule("10.0.0.0/255.0.0.0"),
            ["`remoteAddress[1]`: `10.0.0.0/255.0.0.0`", "such as"],
        ),
        (
            "Own Step",
            rule("10.0.0.1"),
            ["s/905-own.json:", "`Own Step` is not the id of a step"],
        ),
    ] {
        let step = serde_json::json!({ "id": id, "summary": "A test", "phase": "install", "resources": [resource] });
        let test = Test::new().file("s/905-own.json", &step.to_string());
        test.line("plan --target host --k8s 1.36 --steps s")
            .fails(3, &messages);
    }
    let example = std::fs::read_to_string(
        root().join("provisioners/example/components/monitoring-agent.json"),
    );
    let example =
        example
            .expect("the example")
            .replacen("\"monitoring-agent\"", "\"Monitoring Agent\"", 1);
    Test::new()
        .file("c/Monitoring Agent.json", &example)
        .line("plan --target host --k8s 1.36 --component-files c --component")
        .args(["Monitoring Agent=4.2.0"])
        .fails(
            3,
            &[
                "`name`: `Monitoring Agent` is not the name of a component",
                "such as `kube-proxy`",
            ],
        );
}

/// The reason is that of `--mirror`.
#[test]
fn a_mirror_of_the_settings_is_refused_with_its_reason() {
    for (mirror, said) in [
        (r#""https://user:s3cret@m.example/""#, "expected no user"),
        (r#""https://m.example:99999/""#, "is not a URL"),
        (r#""https://m.example:0/""#, "the port 0"),
        (
            r#"{"url": "ftp://m.example/", "headers": {}}"#,
            "`mirrors.https://.url`: `ftp",
        ),
        (
            r#"{"url": "https://m.example/", "header": {}}"#,
            "unknown key `header`",
        ),
        ("7", "expected a URL, or an object such as"),
    ] {
        let settings = format!(r#"{{"mirrors": {{"https://": {mirror}}}}}"#);
        let test = Test::new()
            .file("settings.json", &settings)
            .env("IMAGEGEN_SETTINGS", "settings.json")
            .line("plan --target host --k8s 1.36");
        let ran = test.fails(3, &[said]);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
    let test = Test::new().env("IMAGEGEN_VERBOSE", "bogus").line("plan");
    let ran = test.fails(3, &["'bogus' for '--verbose...'", "`true` or `false`"]);
    assert_eq!(ran.stderr.matches("bogus").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_file_of_another_form_is_no_json() {
    for content in ["", "a: b\n", "a = 1\n", "<a/>"] {
        for flag in ["policy", "overrides", "lock"] {
            let test = Test::new().file("f.json", content);
            let test = test
                .line("plan --target host")
                .args([&*format!("--{flag}"), "f.json"]);
            test.fails(3, &["error: f.json:1:", "the file is not JSON: "]);
        }
        let test = Test::new().file("imagegen.json", content).line("plan");
        test.fails(3, &["error: imagegen.json:1:", "the file is not JSON: "]);
    }
}
