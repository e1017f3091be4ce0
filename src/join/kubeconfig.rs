//! A kubeconfig for discovery: the node trusts whom it names, so each of its clusters has an https address and a CA
//! inside of the file. It is JSON, or YAML in the block form that kubeadm and kubectl write: what another reader could
//! read in another way (flow style, anchors, tags, several lines for one value) is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::base::code::Code;
use crate::base::json;
use crate::base::secret::Secret;
use crate::base::text::{is_alphanumeric_or, is_control};
use crate::diagnostic::Finding;

/// Fields of a cluster, each with its value as text.
type Fields = Vec<(String, String)>;

/// Whether nodes may find their cluster by the file.
///
/// # Errors
/// Another address than https, no CA inside of the file, a file that skips the check of the server, or another form
/// than JSON or block YAML.
pub fn check_kubeconfig(file: &Secret) -> Result<(), Finding> {
    let file = read_file(file.reveal_text()).map_err(|reason| refuse(&reason, WRITE))?;
    if let Some(name) = file
        .names
        .iter()
        .find(|name| FOREIGN.contains(&name.as_str()))
    {
        let message =
            format!("has `{name}`: discovery needs the cluster's address and its CA alone");
        return Err(refuse(&message, WRITE));
    }
    if file.clusters.is_empty() {
        return Err(refuse("has no `server`", WRITE));
    }
    file.clusters.iter().try_for_each(check_cluster)?;
    let mut servers = file.clusters.iter().flatten();
    let first = servers.find(|(field, _)| field == "server");
    if servers
        .any(|(field, value)| field == "server" && first.is_some_and(|(_, first)| first != value))
    {
        let message = "names several servers: the node would join one that nobody looked at";
        return Err(refuse(
            message,
            "write it with `kubectl config view --raw --flatten --minify`",
        ));
    }
    Ok(())
}

/// Fields that run a program on the node, read a file of it, act as somebody else, or lead to another host than the
/// server (`k8s.io/client-go/tools/clientcmd/api/v1`, AuthInfo and Cluster).
const FOREIGN: &[&str] = &[
    "exec",
    "auth-provider",
    "tokenFile",
    "client-certificate",
    "client-key",
    "username",
    "password",
    "as",
    "as-uid",
    "as-groups",
    "as-user-extra",
    "proxy-url",
    "tls-server-name",
];

/// Aspects of a file that are judged.
struct Kubeconfig {
    /// Names of all fields.
    names: Vec<String>,
    clusters: Vec<Fields>,
}

const WRITE: &str = "write it with `kubectl -n kube-public get configmap cluster-info -o jsonpath={.data.kubeconfig}`";

fn refuse(message: &str, remedy: &str) -> Finding {
    Finding::new(
        Code::DISCOVERY_KUBECONFIG,
        format!("the discovery kubeconfig {message}"),
        remedy,
    )
}

fn check_cluster(fields: &Fields) -> Result<(), Finding> {
    let values = |name: &str| {
        fields
            .iter()
            .filter(move |(field, _)| field == name)
            .map(|(_, value)| value.as_str())
            .collect::<Vec<_>>()
    };
    match values("server")[..] {
        [] => return Err(refuse("has a cluster without `server`", WRITE)),
        [server] if server.starts_with("https://") => {}
        [_] => {
            return Err(refuse(
                "has a `server` without https: the node would join any cluster",
                WRITE,
            ));
        }
        _ => return Err(refuse("has a cluster with several `server`", WRITE)),
    }
    if values("insecure-skip-tls-verify")
        .iter()
        .any(|value| *value != "false")
    {
        return Err(refuse(
            "has `insecure-skip-tls-verify`: the node would join any cluster",
            WRITE,
        ));
    }
    match values("certificate-authority-data")[..] {
        [authority] if is_base64(authority) => Ok(()),
        _ => {
            let message =
                "has no `certificate-authority-data`: a file that it names is not on the node";
            Err(refuse(
                message,
                "write it with `kubectl config view --raw --flatten --minify`",
            ))
        }
    }
}

fn is_base64(text: &str) -> bool {
    !text.eq_ignore_ascii_case("null") && STANDARD.decode(text).is_ok_and(|bytes| !bytes.is_empty())
}

fn read_file(text: &str) -> Result<Kubeconfig, String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    if text.trim_start().starts_with('{') {
        return read_json(&text);
    }
    read_block(&text)
}

fn read_json(text: &str) -> Result<Kubeconfig, String> {
    let file: Value = json::parse_json("the file", text.as_bytes()).map_err(|error| {
        format!(
            "is no JSON that every program reads alike: line {}, column {}",
            error.line, error.column
        )
    })?;
    let mut clusters = Vec::new();
    for cluster in file["clusters"].as_array().into_iter().flatten() {
        let mut fields = Vec::new();
        for (name, value) in cluster["cluster"].as_object().into_iter().flatten() {
            fields.push((name.clone(), json::format_plain(value)));
        }
        clusters.push(fields);
    }
    let mut names = Vec::new();
    collect_names(&file, &mut names);
    Ok(Kubeconfig { names, clusters })
}

fn collect_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                names.push(name.clone());
                collect_names(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Items of lists that hold a cluster, of a file whose lines each hold one field or one value of a list.
fn read_block(text: &str) -> Result<Kubeconfig, String> {
    let mut items: Vec<Fields> = vec![Vec::new()];
    // Where the dashes of the outermost list stand: lists inside of an item are part of it.
    let mut outermost = None;
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(at, line)| *at > 0 || *line != "---")
    {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        if bare.is_empty() || bare.starts_with('#') && !bare.contains(is_control) {
            continue;
        }
        let item = bare
            .strip_prefix("- ")
            .map(|rest| rest.trim_start_matches(' '));
        let field = if bare.contains(is_control) {
            None
        } else {
            parse_line(bare, item)
        };
        let field =
            field.ok_or_else(|| format!("has more than `name: value` in line {}", at + 1))?;
        if item.is_some() && outermost.is_none_or(|outer| indent <= outer) {
            outermost = Some(indent);
            items.push(Vec::new());
        } else if indent == 0 && item.is_none() {
            outermost = None;
            items.push(Vec::new());
        }
        items
            .last_mut()
            .into_iter()
            .for_each(|fields| fields.push(field.clone()));
    }
    let names = items.iter().flatten().map(|(name, _)| name.clone());
    let names: Vec<String> = names.collect();
    // A context has a `cluster`, too: its name.
    let has = |fields: &Fields, name: &str| fields.iter().any(|(field, _)| field == name);
    items.retain(|fields| {
        has(fields, "server") || has(fields, "cluster") && !has(fields, "context")
    });
    Ok(Kubeconfig {
        names,
        clusters: items,
    })
}

/// `server: https://a.example:6443`, `"server": 'https://a.example:6443' # comment`; a value of a list has no name.
fn parse_line(line: &str, item: Option<&str>) -> Option<(String, String)> {
    let text = item.unwrap_or(line);
    match text.split_once(':') {
        Some((name, value)) if value.is_empty() || value.starts_with(' ') => {
            let name = parse_scalar(name.trim_end())?;
            let is_name = !name.is_empty() && is_alphanumeric_or(&name, "-_");
            is_name.then_some((name, parse_scalar(value)?))
        }
        _ => Some((String::new(), parse_scalar(item?)?)),
    }
}

/// A text in quotes without quotes and escapes in it, or one that YAML takes as it stands.
fn parse_scalar(text: &str) -> Option<String> {
    let text = text.split(" #").next().unwrap_or(text).trim();
    let quoted = ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let is_plain = text.is_empty()
        || ["[]", "{}"].contains(&text)
        || text.starts_with(|c: char| c.is_ascii_alphanumeric() || "/-.=_+".contains(c))
            && !text.contains(": ");
    match quoted {
        Some(inner) => (!inner.contains(['"', '\'', '\\'])).then(|| inner.to_owned()),
        None => is_plain.then(|| text.to_owned()),
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

    fn check(text: &str) -> Result<(), Finding> {
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
                "contexts:\n- context:\n    cluster: \"\"\n    user: a\nusers:\n- name: a\n  user:\n    {user}\nkind:"
            );
            GOOD.replace("kind:", &lists)
        };
        check(&users("token: abc")).unwrap();
        for user in [
            "exec:\n      command: C:\\evil.exe\n      args:\n      - --x=1",
            "\"exec\":\n      command: evil",
            "auth-provider:\n      name: x",
            "tokenFile: C:\\secret",
            "client-key: C:\\secret",
            "password: x",
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
