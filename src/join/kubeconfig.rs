//! A kubeconfig for discovery: the node trusts whom it names, so each of its clusters has an https address and a CA
//! inside of the file, and it carries no credentials but a bootstrap token. It is JSON, or YAML in the block form that
//! kubeadm and kubectl write ([`block`]): both are judged as one tree.

mod block;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::base::code::Code;
use crate::base::json;
use crate::base::secret::Secret;
use crate::diagnostic::Finding;

use super::token::BootstrapToken;

/// Whether a kubeconfig has the credentials with which a node asks for its certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// The user of its current context has a bootstrap token.
    Token,
    /// Only `--token-env` or `--token-file` gives one.
    Absent,
}

/// Whether nodes may find their cluster by the file, and what it gives them.
///
/// # Errors
/// Another address than https, no CA inside of the file, a file that skips the check of the server, credentials of a
/// person, no cluster that kubeadm would choose, or another form than JSON or block YAML.
pub fn check_kubeconfig(file: &Secret) -> Result<Credentials, Finding> {
    let file = read_file(file.reveal_text()).map_err(|reason| refuse(&reason))?;
    let mut names = Vec::new();
    collect_names(&file, &mut names);
    if let Some(name) = names.iter().find(|name| PERSONAL.contains(name)) {
        let message = format!(
            "has `{name}`, the credentials of a person: user-data would give them to each node, and to who reads it"
        );
        return Err(refuse(&message));
    }
    if let Some(name) = names.iter().find(|name| FOREIGN.contains(name)) {
        let message =
            format!("has `{name}`: discovery needs the cluster's address and its CA alone");
        return Err(refuse(&message));
    }

    check_tokens(&file)?;
    check_clusters(&file)?;
    check_choice(&file)?;
    Ok(find_credentials(&file))
}

/// Fields with the credentials of a person (`k8s.io/client-go/tools/clientcmd/api/v1`, AuthInfo).
const PERSONAL: &[&str] = &[
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "username",
    "password",
];

/// Fields that run a program on the node, read a file of it, act as somebody else, or lead to another host than the
/// server (`k8s.io/client-go/tools/clientcmd/api/v1`, AuthInfo and Cluster).
const FOREIGN: &[&str] = &[
    "exec",
    "auth-provider",
    "tokenFile",
    "as",
    "as-uid",
    "as-groups",
    "as-user-extra",
    "proxy-url",
    "tls-server-name",
];

const WRITE: &str = "write it with `kubectl -n kube-public get configmap cluster-info -o \
                     jsonpath='{.data.kubeconfig}'`, and give the token with `--token-env` or `--token-file`";

fn refuse(message: &str) -> Finding {
    Finding::new(
        Code::DISCOVERY_KUBECONFIG,
        format!("the discovery kubeconfig {message}"),
        WRITE,
    )
}

fn read_file(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    if !text.trim_start().starts_with('{') {
        return block::read_block(&text);
    }
    json::parse_json("the file", text.as_bytes()).map_err(|error| {
        format!(
            "is no JSON that every program reads alike: line {}, column {}",
            error.fault.line, error.fault.column
        )
    })
}

fn collect_names<'a>(value: &'a Value, names: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                names.push(name);
                collect_names(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Items of a list at the top.
fn list_items<'a>(file: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    file[list].as_array().into_iter().flatten()
}

/// The item of a list with that name.
fn find_item<'a>(file: &'a Value, list: &str, name: &Value) -> Option<&'a Value> {
    list_items(file, list).find(|item| name_item(item) == name.as_str().unwrap_or_default())
}

/// An item without a name has the empty one.
fn name_item(item: &Value) -> &str {
    item["name"].as_str().unwrap_or_default()
}

/// Other tokens than bootstrap tokens are those of people and workloads.
fn check_tokens(file: &Value) -> Result<(), Finding> {
    for user in list_items(file, "users") {
        let token = &user["user"]["token"];
        if token.is_null() {
            continue;
        }
        let text = token.as_str().unwrap_or_default();
        if text.trim() != text || BootstrapToken::parse(text).is_err() {
            return Err(refuse(
                "has a `token` that is not a bootstrap token: user-data would give it to each node",
            ));
        }
    }
    Ok(())
}

fn check_clusters(file: &Value) -> Result<(), Finding> {
    let mut servers = Vec::new();
    for item in list_items(file, "clusters") {
        servers.push(check_cluster(&item["cluster"])?);
    }
    let Some(first) = servers.first() else {
        return Err(refuse("has no `server`"));
    };
    if servers.iter().any(|server| server != first) {
        return Err(refuse(
            "names several servers: the node would join one that nobody looked at",
        ));
    }
    Ok(())
}

/// The server of a cluster that can be trusted.
fn check_cluster(cluster: &Value) -> Result<&str, Finding> {
    let Some(server) = cluster["server"].as_str() else {
        return Err(refuse("has a cluster without `server`"));
    };
    if !server.starts_with("https://") {
        return Err(refuse(
            "has a `server` without https: the node would join any cluster",
        ));
    }
    let skip = &cluster["insecure-skip-tls-verify"];
    if !skip.is_null() && json::format_plain(skip) != "false" {
        return Err(refuse(
            "has `insecure-skip-tls-verify`: the node would join any cluster",
        ));
    }
    match cluster["certificate-authority-data"].as_str() {
        Some(authority) if is_base64(authority) => Ok(server),
        _ => Err(refuse(
            "has no `certificate-authority-data`: a file that it names is not on the node",
        )),
    }
}

fn is_base64(text: &str) -> bool {
    STANDARD.decode(text).is_ok_and(|bytes| !bytes.is_empty())
}

/// kubeadm takes the cluster without a name, or that of the current context
/// (`cmd/kubeadm/app/util/kubeconfig`, GetClusterFromKubeConfig).
fn check_choice(file: &Value) -> Result<(), Finding> {
    if find_item(file, "clusters", &Value::Null).is_some() {
        return Ok(());
    }
    let context = find_item(file, "contexts", &file["current-context"]);
    let cluster = context.and_then(|it| find_item(file, "clusters", &it["context"]["cluster"]));
    match cluster {
        Some(_) => Ok(()),
        None => Err(refuse(
            "has only clusters with a name, and no `current-context` that leads to one of them",
        )),
    }
}

/// kubeadm takes the user of the current context (`cmd/kubeadm/app/util/kubeconfig`, HasAuthenticationCredentials).
fn find_credentials(file: &Value) -> Credentials {
    let context = find_item(file, "contexts", &file["current-context"]);
    let user = context.and_then(|it| find_item(file, "users", &it["context"]["user"]));
    match user {
        Some(user) if !user["user"]["token"].is_null() => Credentials::Token,
        _ => Credentials::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: TFMwdA==\n    \
                        server: https://a.example:6443\n  name: \"\"\nkind: Config\n";

    /// Texts that name no authority, or more than one cluster can be read from.
    const REFUSED: &[&str] = &[
        r#"{"clusters": [{"cluster": {"server": "http://a.example", "certificate-authority-data": "eA=="}}]}"#,
        r#"{"clusters": [{"cluster": {"server": "https://a.example"}}]}"#,
        r#"{"clusters": [{"cluster": {"server": "https://a.example", "server": "http://b.example", "certificate-authority-data": "eA=="}}]}"#,
        r#"{"clusters": [{"cluster": {"server": "https://a.example", "certificate-authority-data": "eA==", "insecure-skip-tls-verify": true}}]}"#,
        r#"{"clusters": []}"#,
        r#"{"clusters": [{"cluster": {"server": "https://a.example", "certificate-authority-data": "eA=="}}], "users": [{"user": {"exec": {"command": "x"}}}]}"#,
        r#"{"clusters": [{"cluster": {"server": "https://a.example", "certificate-authority-data": "eA==", "proxy-url": "http://b.example"}}]}"#,
        r#"{"clusters": [{"cluster": {"server": "https://a.example", "certificate-authority-data": "eA=="}}, {"cluster": {"server": "https://b.example", "certificate-authority-data": "eA=="}}]}"#,
    ];

    /// Changes of `GOOD` that another reader may take otherwise.
    const CHANGES: &[(&str, &str)] = &[
        ("https://", "http://"),
        ("    server: https://a.example:6443\n", ""),
        (
            "certificate-authority-data: TFMwdA==",
            "insecure-skip-tls-verify: true",
        ),
        (
            "certificate-authority-data: TFMwdA==",
            "certificate-authority: /etc/kubernetes/pki/ca.crt",
        ),
        (
            "certificate-authority-data: TFMwdA==",
            "certificate-authority-data: \"\"",
        ),
        (
            "    server:",
            "    insecure-skip-tls-verify: yes\n    server:",
        ),
        (
            "kind: Config\n",
            "- cluster:\n    server: https://b.example\n",
        ),
        (
            "kind: Config\n",
            "- {cluster: {server: 'http://b.example'}, name: b}\n",
        ),
        (
            "kind: Config\n",
            "- {cluster: {server: 'https://b.example', insecure-skip-tls-verify: true}}\n",
        ),
        (
            "kind: Config\n",
            "- cluster: {}\n  cluster:\n    server: http://b.example\n",
        ),
        (
            "kind: Config\n",
            "- cluster:\n    certificate-authority-data: eA==\n    \"ser\\u0076er\": http://b.example\n",
        ),
        (
            "kind: Config\n",
            "- cluster: &a\n    server: https://b.example\n",
        ),
        (
            "kind: Config\n",
            "- cluster:\n    <<: *a\n    server: https://b.example\n",
        ),
        (
            "kind: Config\n",
            "- cluster:\n    certificate-authority-data: eA==\n    certificate-authority-data: eA==\n    server: https://b.example\n",
        ),
        (
            "kind: Config\n",
            "users:\n- certificate-authority-data: eA==\nclusters:\n- cluster:\n    server: https://b.example\n",
        ),
        (
            "kind: Config\n",
            "# a\u{2028}clusters: [{cluster: {server: 'http://b.example'}}]\n",
        ),
        (
            "kind: Config\n",
            "# a\rclusters: [{cluster: {server: 'http://b.example'}}]\n",
        ),
        ("kind: Config\n", "? clusters\n: - cluster\n"),
        ("kind: Config\n", "---\nkind: Config\n"),
        (":6443", ":6443\n      /other"),
        ("server: https", "server: !!str https"),
        (
            "server: https://a.example:6443",
            "server: https://a.example\n    server: http://b.example",
        ),
        (
            "server: https://a.example:6443",
            "server:\n      http://b.example",
        ),
        (
            "certificate-authority-data: TFMwdA==",
            "certificate-authority-data: ~",
        ),
        (
            "certificate-authority-data: TFMwdA==",
            "certificate-authority-data: null",
        ),
    ];

    fn check(text: &str) -> Result<Credentials, Finding> {
        check_kubeconfig(&Secret::new(text))
    }

    #[test]
    fn discovery_trusts_a_named_authority() {
        check(GOOD).unwrap();
        check("{\n\"clusters\": [{\"cluster\": {\n\"certificate-authority-data\": \"TFMwdA==\",\n\"server\": \"https://a.example:6443\"\n}}]\n}").unwrap();
        let nested =
            "    extensions:\n    - extension:\n        version: v1\n      name: x\n    server:";
        check(&GOOD.replace("    server:", nested)).unwrap();
        check(&format!("---\r\n{}", GOOD.replace('\n', "\r\n"))).unwrap();
        let users = |user: &str| {
            let lists = format!(
                "contexts:\n- context:\n    cluster: \"\"\n    user: a\n  name: c\nusers:\n- name: a\n  user:\n    {user}\nkind:"
            );
            GOOD.replace("kind:", &lists)
        };
        let token = "token: abcdef.0123456789abcdef";
        assert_eq!(check(&users(token)).unwrap(), Credentials::Absent);
        let current = format!("{}current-context: c\n", users(token));
        assert_eq!(check(&current).unwrap(), Credentials::Token);
        for user in [
            "exec:\n      command: C:\\evil.exe\n      args:\n      - --x=1",
            "\"exec\":\n      command: evil",
            "auth-provider:\n      name: x",
            "tokenFile: C:\\secret",
            "client-key: C:\\secret",
            "password: x",
            "client-certificate-data: eA==\n    client-key-data: eA==",
            "client-key-data: eA==",
            "token: eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl",
            "as: system:masters",
        ] {
            assert!(check(&users(user)).is_err(), "{user}");
        }
        for cluster in [
            "proxy-url: http://evil.example",
            "tls-server-name: evil.example",
        ] {
            let text = GOOD.replace("    server:", &format!("    {cluster}\n    server:"));
            assert!(check(&text).is_err(), "{cluster}");
        }
        let second = "- cluster:\n    certificate-authority-data: TFMwdA==\n    server: https://SERVER:6443\n  name: b\nkind:";
        check(&GOOD.replace("kind:", &second.replace("SERVER", "a.example"))).unwrap();
        assert!(check(&GOOD.replace("kind:", &second.replace("SERVER", "evil.example"))).is_err());
        for json in REFUSED {
            assert!(check(json).is_err(), "{json}");
        }
    }

    /// As kubeadm writes it into kube-public/cluster-info, and as it writes admin.conf.
    #[test]
    fn only_cluster_info_is_taken_of_what_kubeadm_writes() {
        let cluster = r#""cluster": {"server": "https://a.example:6443", "certificate-authority-data": "TFMwdA=="}"#;
        let cluster_info = format!(
            r#"{{"apiVersion": "v1", "kind": "Config", "clusters": [{{"name": "", {cluster}}}], "contexts": null, "current-context": "", "preferences": {{}}, "users": null}}"#
        );
        assert_eq!(check(&cluster_info).unwrap(), Credentials::Absent);
        let block = GOOD.replace("kind:", "contexts: null\ncurrent-context: \"\"\nkind:");
        assert_eq!(check(&block).unwrap(), Credentials::Absent);

        let admin = |user: &str| {
            format!(
                r#"{{"clusters": [{{"name": "kubernetes", {cluster}}}], "contexts": [{{"name": "admin", "context": {{"cluster": "kubernetes", "user": "admin"}}}}], "current-context": "admin", "users": [{{"name": "admin", "user": {user}}}]}}"#
            )
        };
        let refused = check(&admin(
            r#"{"client-certificate-data": "eA==", "client-key-data": "eA=="}"#,
        ));
        let refused = refused.unwrap_err();
        assert!(
            refused.message.contains("the credentials of a person"),
            "{refused:?}"
        );
        assert!(
            refused
                .remedy
                .contains("get configmap cluster-info -o jsonpath='{.data.kubeconfig}'"),
            "{refused:?}"
        );
        let token = r#"{"token": "abcdef.0123456789abcdef"}"#;
        assert_eq!(check(&admin(token)).unwrap(), Credentials::Token);
        let lost =
            admin(token).replace(r#""current-context": "admin""#, r#""current-context": """#);
        assert!(check(&lost).is_err());
    }

    #[test]
    fn discovery_refuses_what_readers_see_differently() {
        for (from, to) in CHANGES {
            let changed = GOOD.replace(from, to);
            assert_ne!(changed, GOOD);
            assert_eq!(
                check(&changed).map_err(|finding| finding.code),
                Err(Code::DISCOVERY_KUBECONFIG.into()),
                "{changed}"
            );
        }
    }
}
