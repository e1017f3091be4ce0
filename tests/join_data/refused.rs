//! Input of a join that is refused, and the secrecy of the token.

use super::{TOKEN, test};
use crate::support::Test;

#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    for (line, code, said) in [
        ("--endpoint2 x", 2, "--endpoint2"),
        ("--name WIN_1", 3, "name-format"),
        (
            "--label node-role.kubernetes.io/windows=",
            3,
            "kubectl label node",
        ),
        ("--taint os=windows", 3, "os=windows:NoSchedule"),
        ("--ca-cert-hash sha256:12", 3, "--ca-cert FILE"),
        (
            "--kubelet-arg windows-priorityclas=x",
            3,
            "did you mean `windows-priorityclass`?",
        ),
        (
            "--kubelet-arg kubeconfig=x",
            3,
            "imagegen explain --kubeconfig",
        ),
        (
            "--kubelet-arg system-reserved=memory=3Gi",
            3,
            "--feature cluster-reservations",
        ),
        ("--kubelet-arg node-labels=a=b", 3, "--label KEY=VALUE"),
        ("--kubelet-arg=--v=2", 3, "without dashes"),
        ("--kubelet-arg log-dir=\"C:\\log\"", 3, "a quotation mark"),
        ("--kubelet-arg v=2 --kubelet-arg v=3", 3, "given twice"),
        (
            "--kubelet-arg feature-gates=WindowsGracefulNodeShutdow=true",
            3,
            "did you mean `WindowsGracefulNodeShutdown`?",
        ),
        (
            "--kubelet-arg feature-gates=WindowsGracefulNodeShutdown",
            3,
            "gate-format",
        ),
        ("--discovery-timeout soon", 3, "timeout-format"),
        ("--discovery-timeout 0s", 3, "`1.5h`"),
        ("--ignore-preflight-error all", 3, "name each check"),
        ("--token-file token", 2, "cannot be used with"),
        ("--from absent.json", 3, "absent.json"),
        ("--ca-cert not.pem", 3, "is not a certificate in PEM"),
        ("--discovery-kubeconfig not.pem", 3, "discovery-twice"),
        (
            "--kubelet-arg feature-gates=ExecProbeTimeout=false",
            3,
            "`ExecProbeTimeout` is locked to true",
        ),
        (
            "--kubelet-arg windows-priorityclass=NORMAL_PRIORITY_CLASS",
            3,
            "on which the image relies",
        ),
        (
            "--taint os=windows:NoSchedule --taint os=linux:NoSchedule",
            3,
            "taint-twice",
        ),
        ("--name {{x}}", 3, "template-expression"),
        (
            "--kubelet-arg provider-id=oci://{{x}} --as cloud-config",
            3,
            "use `--as capi`",
        ),
        ("--template-api v1beta1", 3, "capi-version"),
        ("--as yaml", 3, "invalid value 'yaml'"),
        ("--runtime docker", 3, "dockershim"),
    ] {
        let test = test("--k8s 1.36.4 --out out")
            .line(line)
            .file("not.pem", "x");
        let ran = test.fails(code, &[said]);
        assert!(!test.exists("out"), "{line}");
        assert!(
            !(ran.stdout + &ran.stderr).contains("0123456789abcdef"),
            "{line}"
        );
    }
    test("--k8s 1.21 --kubelet-arg feature-gates=WindowsHostProcessContainers=true")
        .fails(3, &["only kubelets from 1.22 to 1.27 have it"]);
    test("--taint os=windows:NoSchedule --from in.json")
        .file("in.json", r#"{"taints": ["os=windows:NoSchedule"]}"#)
        .fails(3, &["taint-twice"]);
    for (file, said) in [
        (
            r#"{"token": "abcdef.0123456789abcdef"}"#,
            "secrets do not belong",
        ),
        (
            r#"{"endpont": "x"}"#,
            "unknown key `endpont`: did you mean `endpoint`?",
        ),
        (
            r#"{"labels": "a=b"}"#,
            "`labels`: invalid type: string, expected a sequence",
        ),
    ] {
        let ran = test("--from in.json").file("in.json", file).run();
        assert!(
            ran.stderr.contains(said) && !ran.stderr.contains("0123456789abcdef"),
            "{}",
            ran.stderr
        );
    }
}

/// kubeadm ends without a token; and credentials of people are not for nodes.
#[test]
fn a_discovery_kubeconfig_has_a_token_beside_it_and_no_person_in_it() {
    let cluster = "certificate-authority-data: TFMwdA==\n    server: https://a.example:6443";
    let cluster_info = format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    {cluster}\n  name: \"\"\ncontexts: null\ncurrent-context: \"\"\n\
         kind: Config\npreferences: {{}}\nusers: null\n"
    );
    let admin = format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    {cluster}\n  name: kubernetes\ncontexts:\n- context:\n    \
         cluster: kubernetes\n    user: kubernetes-admin\n  name: a\ncurrent-context: a\nkind: Config\nusers:\n\
         - name: kubernetes-admin\n  user:\n    client-certificate-data: eA==\n    client-key-data: c2VjcmV0\n"
    );
    let run = |file: &str, line: &str| {
        Test::new()
            .env("T", TOKEN)
            .file("discovery.conf", file)
            .line("join-data --k8s 1.36.4 --as cloud-config --discovery-kubeconfig discovery.conf")
            .line(line)
    };
    run(&cluster_info, "").fails(3, &["discovery-incomplete", "--token-file PATH"]);
    run(&cluster_info, "--token-env T").succeeds();
    for line in ["", "--token-env T"] {
        let ran = run(&admin, line).fails(3, &["credentials of a person", "cluster-info"]);
        assert!(!(ran.stdout + &ran.stderr).contains("c2VjcmV0"));
    }
    let user = admin.split("    client-certificate-data").next();
    let held = format!("{}    token: {TOKEN}\n", user.expect("a user"));
    run(&held, "").succeeds();
}

/// A token as an argument is refused and not said again; nor is one that stands where a name should.
#[test]
fn the_token_is_no_argument() {
    for line in ["--token", "--token-env"] {
        let ran = Test::new()
            .line("join-data --k8s 1.36.4")
            .args([line, TOKEN])
            .fails(2, &["kubeadm token delete"]);
        assert!(
            !(ran.stdout + &ran.stderr).contains("0123456789abcdef"),
            "{}",
            ran.stderr
        );
    }
    for (value, said) in [
        ("", "`T` is not set"),
        ("nonsense", "token-format"),
        ("ABCDEF.0123456789abcdef", "token-format"),
    ] {
        let ran = test("--k8s 1.36.4").env("T", value).run();
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert!(
            value.is_empty() || !ran.stderr.contains(value),
            "{}",
            ran.stderr
        );
    }
}
