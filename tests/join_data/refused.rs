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
            "--kubelet-arg network-plugin=cni",
            3,
            "kubelets from 1.17 to 1.23 have it",
        ),
        (
            "--kubelet-arg container-runtime=remote",
            3,
            "kubelets from 1.17 to 1.26 have it",
        ),
        (
            "--kubelet-arg pod-infra-container-image=x",
            3,
            "kubelets from 1.17 to 1.34 have it",
        ),
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
        ("--ignore-preflight-error all", 3, "name each check"),
        ("--token-file token", 2, "cannot be used with"),
        ("--from absent.json", 3, "absent.json"),
        ("--ca-cert not.pem", 3, "is not a certificate in PEM"),
        ("--discovery-kubeconfig not.pem", 3, "discovery-twice"),
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
    test("--k8s 1.37 --kubelet-arg pod-infra-container-image=x")
        .fails(3, &["kubelets from 1.17 to 1.34 have it"]);
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
            "`labels`: expected an array, found the string",
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
