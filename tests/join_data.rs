//! `imagegen join-data`: what a node is told, read back by other people's parsers.

mod accepted;
mod forms;
mod refused;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::powershell::judge_powershell;
use crate::support::{Test, files, golden, root};

const TOKEN: &str = "abcdef.0123456789abcdef";

const HASH: &str = "sha256:a9029c8d63a7e7f5cbc5a084b08b93c25ed6a133b8b914ec5a23ea8241fcc9f7";

fn test(line: &str) -> Test {
    Test::new()
        .env("T", TOKEN)
        .line("join-data --endpoint api.example.com:6443 --token-env T --ca-cert-hash")
        .args([HASH])
        .line(line)
}

fn yaml(text: &str) -> Value {
    serde_yaml_ng::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Newest API of kubeadm and shape of the kubelet's arguments, for every line.
#[test]
fn every_line_gets_its_own_api() {
    for minor in 17..=37 {
        let out = test(&format!(
            "--k8s 1.{minor} --name win-1 --label team=web --kubelet-arg v=2 --discovery-timeout 9m0s"
        ));
        let config = yaml(&out.succeeds().stdout);
        let api = match minor {
            17..=21 => "v1beta2",
            22..=30 => "v1beta3",
            _ => "v1beta4",
        };
        assert_eq!(
            config["apiVersion"],
            format!("kubeadm.k8s.io/{api}"),
            "1.{minor}"
        );
        assert_eq!(config["kind"], "JoinConfiguration");
        let registration = &config["nodeRegistration"];
        let socket = if minor <= 22 {
            "docker_engine"
        } else {
            "containerd-containerd"
        };
        assert_eq!(
            registration["criSocket"],
            format!("npipe:////./pipe/{socket}"),
            "1.{minor}"
        );
        let (arguments, timeout) = if api == "v1beta4" {
            let list =
                json!([{"name": "v", "value": "2"}, {"name": "node-labels", "value": "team=web"}]);
            (list, &config["timeouts"]["discovery"])
        } else {
            assert_eq!(config.get("timeouts"), None);
            (
                json!({"v": "2", "node-labels": "team=web"}),
                &config["discovery"]["timeout"],
            )
        };
        assert_eq!(registration["kubeletExtraArgs"], arguments, "1.{minor}");
        assert_eq!(timeout, "9m0s");
        let discovery = json!({"apiServerEndpoint": "api.example.com:6443", "caCertHashes": [HASH], "token": TOKEN});
        assert_eq!(config["discovery"]["bootstrapToken"], discovery);
    }
}

#[test]
fn a_node_that_says_nothing_of_itself_gets_no_empty_fields() {
    let config = yaml(&test("--k8s 1.36.4").succeeds().stdout);
    assert_eq!(
        config["nodeRegistration"],
        json!({"criSocket": "npipe:////./pipe/containerd-containerd"})
    );
}

/// All forms bring the same configuration to the same place, and run the image's script.
#[test]
fn forms_hold_the_same_configuration() {
    let line = "--k8s 1.36.4 --name win-1 --taint os=windows:NoSchedule";
    let config = test(line).succeeds().stdout;
    let cloud = test(line).line("--as cloud-config").succeeds().stdout;
    assert!(cloud.starts_with("#cloud-config\n"));
    let cloud = yaml(&cloud);
    assert_eq!(
        cloud["write_files"],
        json!([{
            "path": "C:\\etc\\kubernetes\\join-config.yaml", "permissions": "0600", "content": config,
        }])
    );
    let run = cloud["runcmd"][0].as_str().expect("command");
    assert!(
        run.ends_with("-File \"C:\\imagegen\\node\\Join-Node.ps1\""),
        "{run}"
    );

    let script = test(line).line("--as ps1").succeeds().stdout;
    assert!(script.starts_with("#ps1_sysnative\n"));
    let encoded = script
        .split("FromBase64String('")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .expect("base64");
    assert_eq!(
        python(
            "import sys,base64;sys.stdout.write(base64.b64decode(sys.stdin.read()).decode())",
            encoded
        ),
        config
    );

    let parts = mime(&test(line).line("--as mime").succeeds().stdout);
    let kinds: Vec<&str> = parts
        .iter()
        .map(|part| part["type"].as_str().expect("type"))
        .collect();
    assert_eq!(
        kinds,
        [
            "text/cloud-config",
            "text/cloud-config",
            "text/x-shellscript"
        ]
    );
    assert_eq!(
        written(&parts)["C:\\etc\\kubernetes\\join-config.yaml"],
        config
    );
    let part = parts[2]["body"].as_str().expect("script");
    assert!(
        part.contains("& 'C:\\imagegen\\node\\Join-Node.ps1'"),
        "{part}"
    );
    assert_eq!(parts[2]["name"], "join.ps1");
    judge_powershell(&[&script, part]);
    // The token is in the second part, and nowhere else.
    let holders: Vec<bool> = parts
        .iter()
        .map(|part| part["body"].to_string().contains("0123456789abcdef"))
        .collect();
    assert_eq!(holders, [false, true, false]);
}

/// Parts of a MIME text by Python's parser, as cloudbase-init takes them apart.
fn mime(text: &str) -> Vec<Value> {
    // cloudbase-init looks for these words before the first empty line.
    assert!(
        text.split("\n\n")
            .next()
            .expect("head")
            .contains("Content-Type: multipart")
    );
    let parser = "import sys,json,email\n\
                  message=email.message_from_string(sys.stdin.read())\n\
                  assert message.is_multipart() and not message.defects, message.defects\n\
                  parts=[p for p in message.walk() if not p.is_multipart()]\n\
                  assert not any(p.defects for p in parts)\n\
                  json.dump([{'type':p.get_content_type(),'name':p.get_filename(),\
                  'body':p.get_payload(decode=True).decode()} for p in parts],sys.stdout)";
    serde_json::from_str(&python(parser, text)).expect("parts")
}

/// Files that the parts write, in their order, as cloudbase-init does: `append` adds.
fn written(parts: &[Value]) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for part in parts
        .iter()
        .filter(|part| part["type"] == "text/cloud-config")
    {
        for file in yaml(part["body"].as_str().expect("body"))["write_files"]
            .as_array()
            .expect("files")
        {
            let text = |name: &str| file[name].as_str().unwrap_or_default();
            let content = match text("encoding") {
                "b64" => python(
                    "import sys,base64;sys.stdout.write(base64.b64decode(sys.stdin.read()).decode())",
                    text("content"),
                ),
                _ => text("content").to_owned(),
            };
            let slot = files.entry(text("path").to_owned()).or_default();
            if file["append"] != json!(true) {
                slot.clear();
            }
            slot.push_str(&content);
        }
    }
    files
}

fn python(program: &str, input: &str) -> String {
    let mut child = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    std::io::Write::write_all(&mut child.stdin.take().expect("stdin"), input.as_bytes())
        .expect("input");
    let output = child.wait_with_output().expect("python3");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A script that is missing ends user-data with an error, so each part stops at its first one.
#[test]
fn user_data_stops_at_its_first_error() {
    let line = "--k8s 1.36.4 --signed-scripts";
    let script = test(line).line("--as ps1").succeeds().stdout;
    let script = script.strip_prefix("#ps1_sysnative\n").expect("a head");
    let parts = mime(&test(line).line("--as mime").succeeds().stdout);
    let part = parts[2]["body"].as_str().expect("script");
    for text in [script, part] {
        assert!(
            text.starts_with("$ErrorActionPreference = 'Stop'\n"),
            "{text}"
        );
        assert!(text.trim_end().ends_with("\nexit $LASTEXITCODE"), "{text}");
    }
    judge_powershell(&[script, part]);
}

/// Cluster API runs kubeadm and gives what is the machine's own; the image needs no command besides.
#[test]
fn cluster_api_gets_a_template_without_commands() {
    let capi = |line: &str| {
        Test::new()
            .line("join-data --as capi --k8s 1.36.4")
            .line(line)
    };
    let out = capi("--label team=web --taint os=windows:NoSchedule --kubelet-arg v=2")
        .succeeds()
        .stdout;
    let template = yaml(&out);
    assert_eq!(template["kind"], "KubeadmConfigTemplate");
    let spec = &template["spec"]["template"]["spec"];
    for name in ["preKubeadmCommands", "postKubeadmCommands"] {
        assert_eq!(spec.get(name), None);
    }
    assert_eq!(
        spec["joinConfiguration"]["nodeRegistration"],
        json!({
            "criSocket": "npipe:////./pipe/containerd-containerd",
            "taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
            "kubeletExtraArgs": [{"name": "v", "value": "2"}, {"name": "node-labels", "value": "team=web"}],
        })
    );
    assert_eq!(spec.get("files"), None);
    let services = Test::new().file(
        "i.json",
        r#"{"hostAccess": "services", "kubernetes": "1.36.4"}"#,
    );
    let services = yaml(
        &services
            .line("join-data --as capi --config i.json")
            .succeeds()
            .stdout,
    );
    let file = &services["spec"]["template"]["spec"]["files"][0];
    assert_eq!(file["path"], r"C:\var\lib\kube-proxy\kubeconfig.conf");
    assert_eq!(file["contentFrom"]["secret"]["key"], "kubeconfig.conf");

    for line in [
        "--endpoint api.example.com:6443",
        "--discovery-timeout 5m0s",
    ] {
        capi(line).fails(3, &["capi-discovery"]);
    }
    capi("--name win-1").fails(3, &["capi-name", "{{ ds.meta_data.local_hostname }}"]);
    capi("--template-api v1beta9").fails(3, &["capi-version"]);
}

/// The image's script ends kubeadm after ten minutes by itself.
#[test]
fn a_long_discovery_has_the_time_it_was_given() {
    for (timeout, seconds) in [
        ("5m0s", None),
        ("9m0s", Some(840)),
        ("1.5h", Some(5_700)),
        ("2000h", Some(86_400)),
    ] {
        for form in ["cloud-config", "ps1", "mime", "ps1 --signed-scripts"] {
            let said = test("--k8s 1.36.4 --discovery-timeout")
                .args([timeout])
                .line(&format!("--as {form}"))
                .succeeds()
                .stdout;
            let limit = seconds.map(|seconds| format!(" -TimeoutSeconds {seconds}"));
            let limit = limit.unwrap_or_default();
            assert_eq!(
                said.contains("-TimeoutSeconds"),
                !limit.is_empty(),
                "{form}: {said}"
            );
            let script = ["Join-Node.ps1\\\"", "Join-Node.ps1'"];
            assert!(
                script
                    .iter()
                    .any(|script| said.contains(&format!("{script}{limit}"))),
                "{form}: {said}"
            );
        }
    }
}

/// Signed scripts run in a process of their own under `AllSigned`: user-data itself is unsigned.
#[test]
fn a_node_of_signed_scripts_joins_under_all_signed() {
    for form in ["cloud-config", "ps1", "mime"] {
        let said = test("--k8s 1.36.4 --signed-scripts")
            .args(["--as", form])
            .succeeds()
            .stdout;
        assert_eq!(
            said.matches("-ExecutionPolicy AllSigned -File").count(),
            1,
            "{said}"
        );
        assert!(
            !said.contains("Bypass") && !said.contains("& 'C:"),
            "{said}"
        );
    }
}

#[test]
fn a_discovery_kubeconfig_travels_with_the_secret() {
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: TFMwdA==\n    \
         server: https://a.example:6443\n# {}\n",
        "x".repeat(2000)
    );
    let run = |form: &str| {
        Test::new()
            .env("T", TOKEN)
            .file("discovery.conf", &kubeconfig)
            .line("join-data --k8s 1.36.4 --discovery-kubeconfig discovery.conf --token-env T --as")
            .args([form])
            .succeeds()
            .stdout
    };
    let config = yaml(&run("kubeadm"));
    assert_eq!(
        config["discovery"],
        json!({
            "file": {"kubeConfigPath": "C:\\etc\\kubernetes\\discovery.conf"}, "tlsBootstrapToken": TOKEN,
        })
    );
    let text = run("mime");
    assert!(text.lines().all(|line| line.len() < 998));
    let parts = mime(&text);
    assert_eq!(
        yaml(parts[0]["body"].as_str().expect("body"))["write_files"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert!(parts[1]["body"].to_string().contains("b64"));
    let files = written(&parts);
    assert_eq!(files["C:\\etc\\kubernetes\\discovery.conf"], kubeconfig);
    assert_eq!(
        yaml(&files["C:\\etc\\kubernetes\\join-config.yaml"]),
        config
    );
    assert!(run("ps1").contains("'C:\\etc\\kubernetes\\discovery.conf'"));
}

/// While a cluster changes its CA, its file holds two; kubeadm takes the cluster by one of the hashes.
#[test]
fn each_authority_of_the_file_is_pinned() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let new = read("tests/fixtures/cluster-ca.pem").replace('\n', "\r\n");
    let old = read("manifests/trust/roots/digicert-assured-id.pem");
    let config = test("--k8s 1.36.4 --ca-cert ca.crt")
        .file("ca.crt", &format!("\u{feff}{new}\r\nold:\n{old}\n\n"))
        .succeeds();
    let hashes = [
        HASH.to_owned(),
        format!(
            "sha256:{}",
            include_str!("fixtures/cluster-ca.sha256").trim()
        ),
        // openssl x509 -pubkey -noout -in FILE | openssl pkey -pubin -outform der | sha256sum
        "sha256:23f2edff3ede90259a9e30f40af8f912a5e5b3694e6938440341f6060e014ffa".to_owned(),
    ];
    let found = &yaml(&config.stdout)["discovery"]["bootstrapToken"]["caCertHashes"];
    assert_eq!(*found, json!(hashes));
    test("--k8s 1.36.4 --ca-cert ca.crt")
        .file("ca.crt", new.split_once('=').expect("an end").0)
        .fails(3, &["is not a certificate in PEM"]);
}

#[test]
fn input_comes_from_file_stdin_and_certificate() {
    let authority =
        std::fs::read_to_string(root().join("tests/fixtures/cluster-ca.pem")).expect("fixture");
    let test = Test::new()
        .file("cluster.json", r#"{"endpoint": "old.example.com:6443", "labels": ["a=1"], "name": "win-1"}"#)
        .file("ca.crt", &authority)
        .line(
            "join-data --k8s 1.36.4 --from cluster.json --endpoint api.example.com:6443 --ca-cert ca.crt \
               --label b=2 --token-file - --format json --out deep/user-data",
        );
    let mut child = test
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    std::io::Write::write_all(
        &mut child.stdin.take().expect("stdin"),
        format!("{TOKEN}\n").as_bytes(),
    )
    .expect("stdin");
    let output = child.wait_with_output().expect("ends");
    let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("0123456789abcdef"), "{said}");
    let config = yaml(&test.text("deep/user-data"));
    assert_eq!(
        config["discovery"]["bootstrapToken"]["apiServerEndpoint"],
        "api.example.com:6443"
    );
    // openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null \
    //   -out tests/fixtures/cluster-ca.pem -days 36500 -subj /CN=kubernetes
    // openssl x509 -pubkey -noout -in tests/fixtures/cluster-ca.pem | openssl pkey -pubin -outform der | sha256sum
    let hash = include_str!("fixtures/cluster-ca.sha256").trim();
    assert_eq!(
        config["discovery"]["bootstrapToken"]["caCertHashes"],
        json!([format!("sha256:{hash}")])
    );
    assert_eq!(
        config["nodeRegistration"]["kubeletExtraArgs"],
        json!([{"name": "node-labels", "value": "a=1,b=2"}])
    );
    assert_owner_alone(&test.folder.join("deep/user-data"));
    assert_eq!(
        files(&test.folder.join("deep")).len(),
        1,
        "nothing half-written stays"
    );
}

#[cfg(unix)]
fn assert_owner_alone(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).expect("file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[cfg(not(unix))]
fn assert_owner_alone(path: &Path) {
    assert!(path.exists());
}

#[test]
fn forms_are_as_reviewed() {
    let line = "--name a-rather-long-node-name --label team=web --taint os=windows:NoSchedule --kubelet-arg v=2";
    for (k8s, form, name) in [
        ("1.20.0", "kubeadm", "1.20.0.yaml"),
        ("1.20.0", "ps1", "1.20.0.ps1"),
        ("1.36.4", "cloud-config", "1.36.4.cloud-config.yaml"),
        ("1.36.4", "mime", "1.36.4.mime"),
    ] {
        let ran = test(line).args(["--k8s", k8s, "--as", form]).succeeds();
        assert!(
            ran.stderr
                .contains("Windows truncates NetBIOS names to 15 characters"),
            "{}",
            ran.stderr
        );
        golden(&format!("join/{name}"), &ran.stdout);
    }
}
