//! Public reports of nodes that did not work: the value that was wrong is refused or told, and the right one is taken.

use crate::support::Test;

/// A line of the program, and what it says.
struct Report {
    source: &'static str,
    line: &'static str,
    /// Exit code, and a part of stderr.
    says: (i32, &'static str),
}

const JOIN: &str = "join-data --endpoint api.example.com:6443 --token-env T --ca-cert-hash HASH";

const REPORTS: &[Report] = &[
    Report {
        source: "https://github.com/kubernetes/kubernetes/issues/116782",
        line: "JOIN --k8s 1.26 --kubelet-arg resolv-conf=/etc/resolv.conf",
        says: (3, "remove it: Windows has no resolv.conf"),
    },
    Report {
        source: "https://github.com/kubernetes/kubernetes/issues/116782",
        line: "JOIN --k8s 1.26 --kubelet-arg resolv-conf=Host",
        says: (3, "`resolv-conf=Host` does not work"),
    },
    Report {
        source: "https://github.com/kubernetes/kubernetes/issues/116782",
        line: "JOIN --k8s 1.27 --kubelet-arg resolv-conf=/run/systemd/resolve/resolv.conf",
        says: (3, "write `resolv-conf=Host`"),
    },
    Report {
        source: "https://github.com/kubernetes/kubernetes/issues/116782",
        line: "JOIN --k8s 1.27 --kubelet-arg resolv-conf=Host",
        says: (0, ""),
    },
    Report {
        source: "https://github.com/kubernetes/kubernetes/issues/116782",
        line: r"JOIN --k8s 1.36 --kubelet-arg resolv-conf=C:\k\resolv.conf",
        says: (0, ""),
    },
    Report {
        source: "https://github.com/microsoft/Windows-Containers/issues/516",
        line: "build --no-bake --out o --target azure --k8s 1.30 --windows 2022 --updates KB5040437",
        says: (3, "choose `--updates KB5044281`"),
    },
    Report {
        source: "https://github.com/microsoft/Windows-Containers/issues/516",
        line: "build --no-bake --out o --target azure --k8s 1.30 --windows 2022 --updates KB5042881,KB5044281",
        says: (0, ""),
    },
    Report {
        source: "https://github.com/microsoft/Windows-Containers/issues/516",
        line: "build --no-bake --out o --target azure --k8s 1.30 --windows 2022 --var image_version=20348.2582.240703",
        says: (3, "the network of pods needs 20348.2762 (KB5044281)"),
    },
    Report {
        source: "https://github.com/microsoft/Windows-Containers/issues/516",
        line: "build --no-bake --out o --target azure --k8s 1.30 --windows 2022 --var image_version=20348.2527.240606",
        says: (0, ""),
    },
    Report {
        source: "https://github.com/microsoft/Windows-Containers/issues/516",
        line: "build --no-bake --out o --target azure --k8s 1.30 --windows 2022 --var image_version=20348.2762.241009",
        says: (0, ""),
    },
    Report {
        source: "https://github.com/containerd/containerd/issues/8846",
        line: "build --no-bake --out o --target aws --k8s 1.36 --https-proxy http://proxy.example:3128",
        says: (0, "--no-proxy 169.254.169.254,.svc,10.96.0.0/12`"),
    },
    Report {
        source: "https://github.com/containerd/containerd/issues/8846",
        line: "build --no-bake --out o --target vsphere --k8s 1.36 --https-proxy http://proxy.example:3128 --no-proxy .example.com",
        says: (0, "--no-proxy .example.com,.svc,10.96.0.0/12`"),
    },
];

#[test]
fn each_report_is_refused_or_told_with_its_remedy() {
    let hash = format!("sha256:{}", "ab".repeat(32));
    for Report {
        source,
        line,
        says: (code, part),
    } in REPORTS
    {
        let line = line.replace("JOIN", JOIN).replace("HASH", &hash);
        let ran = Test::new()
            .env("T", "abcdef.0123456789abcdef")
            .line(&line)
            .run();
        assert_eq!(ran.code, Some(*code), "{source}: {line}\n{}", ran.stderr);
        assert!(
            ran.stderr.contains(part),
            "{source}: {line}\n{}",
            ran.stderr
        );
    }
}

#[test]
fn a_proxy_that_is_left_alone_is_not_told() {
    let covered = "--no-proxy 169.254.0.0/16,.svc,10.0.0.0/8";
    for (line, is_told) in [
        (covered.to_owned(), false),
        (covered.replace("10.0.0.0/8", "10.1.0.0/16"), true),
        (covered.replace(".svc", ".cluster.local"), true),
        (covered.replace("169.254.0.0/16", "169.254.0.1"), true),
        (String::new(), true),
    ] {
        let ran = Test::new()
            .line("build --no-bake --out o --target aws --k8s 1.36 --http-proxy http://proxy.example:3128")
            .line(&line)
            .succeeds();
        assert_eq!(
            ran.stderr.contains("the node asks its proxy for"),
            is_told,
            "{line}: {}",
            ran.stderr
        );
    }
    let ran = Test::new()
        .line("build --no-bake --out o --target aws --k8s 1.36")
        .succeeds();
    assert!(!ran.stderr.contains("proxy"), "{}", ran.stderr);
}

#[test]
fn a_join_tells_of_an_api_server_behind_the_proxy() {
    let hash = format!("sha256:{}", "ab".repeat(32));
    for (no_proxy, is_told) in [("", true), ("api.example.com", false), ("10.0.0.0/8", true)] {
        let definition = format!(
            r#"{{"target": "aws", "kubernetes": "1.36", "proxy": {{"https": "http://proxy.example:3128"{}}}}}"#,
            if no_proxy.is_empty() {
                String::new()
            } else {
                format!(r#", "noProxy": "{no_proxy}""#)
            }
        );
        let ran = Test::new()
            .file("imagegen.json", &definition)
            .env("T", "abcdef.0123456789abcdef")
            .line(&JOIN.replace("HASH", &hash))
            .succeeds();
        assert_eq!(
            ran.stderr
                .contains("asks the image's proxy for the API server"),
            is_told,
            "{no_proxy}: {}",
            ran.stderr
        );
    }
}
