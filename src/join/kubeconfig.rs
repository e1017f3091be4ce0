//! A kubeconfig for discovery: the node trusts whom it names, so it names an https address and the cluster's CA. Only
//! its own lines are read, in the block form that kubeadm and kubectl write, or as JSON with one field a line.

use crate::diagnostic::Finding;
use crate::model::secret::Secret;

/// # Errors
/// Another address than https, no CA inside of the file, or a file that skips the check of the server.
pub(super) fn check_kubeconfig(file: &Secret) -> Result<(), Finding> {
    let text = file.reveal_text();
    let values = |name: &str| text.lines().filter_map(|line| find_value(line, name)).collect::<Vec<_>>();
    let refused = |message: &str, remedy: &str| {
        Err(Finding::new("discovery-kubeconfig", format!("the discovery kubeconfig {message}"), remedy))
    };
    let write =
        "write it with `kubectl -n kube-public get configmap cluster-info -o jsonpath={.data.kubeconfig}`";
    let servers = values("server");
    if servers.is_empty() {
        return refused("has no `server`", write);
    }
    if servers.iter().any(|server| !server.starts_with("https://")) {
        return refused("has a `server` without https: the node would join any cluster", write);
    }
    if values("insecure-skip-tls-verify").iter().any(|value| *value != "false") {
        return refused("has `insecure-skip-tls-verify`: the node would join any cluster", write);
    }
    if values("certificate-authority-data").iter().filter(|value| !value.is_empty()).count() < servers.len() {
        let message = "has no `certificate-authority-data`: a file that it names is not on the node";
        return refused(message, "write it with `kubectl config view --raw --flatten --minify`");
    }
    Ok(())
}

/// The value of a field in a line such as `    server: https://a.example:6443` or `"server": "https://…",`.
fn find_value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let quotes = ['"', '\''];
    let line = line.trim().trim_start_matches("- ").trim_start();
    let (key, value) = line.split_once(':')?;
    let value = value.split(" #").next().unwrap_or(value);
    (key.trim().trim_matches(quotes) == name).then(|| value.trim().trim_end_matches(',').trim_matches(quotes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: TFMwdA==\n    \
                        server: https://a.example:6443\n  name: \"\"\nkind: Config\n";

    fn check(text: &str) -> Result<(), Finding> {
        check_kubeconfig(&Secret::new(text))
    }

    #[test]
    fn discovery_trusts_a_named_authority() {
        check(GOOD).unwrap();
        check("{\n\"clusters\": [{\"cluster\": {\n\"certificate-authority-data\": \"TFMwdA==\",\n\"server\": \"https://a.example:6443\"\n}}]\n}").unwrap();
        for (from, to) in [
            ("https://", "http://"),
            ("    server: https://a.example:6443\n", ""),
            ("certificate-authority-data: TFMwdA==", "insecure-skip-tls-verify: true"),
            ("certificate-authority-data: TFMwdA==", "certificate-authority: /etc/kubernetes/pki/ca.crt"),
            ("certificate-authority-data: TFMwdA==", "certificate-authority-data: \"\""),
            ("    server:", "    insecure-skip-tls-verify: yes\n    server:"),
            ("kind: Config\n", "- cluster:\n    server: https://b.example\n"),
        ] {
            let changed = GOOD.replace(from, to);
            assert_ne!(changed, GOOD);
            assert_eq!(
                check(&changed).map_err(|finding| finding.code),
                Err("discovery-kubeconfig".to_owned()),
                "{changed}"
            );
        }
    }
}
