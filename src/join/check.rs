//! The forms of names, hashes and addresses, each with what to write in its place.

use std::borrow::Cow;
use std::time::Duration;

use super::kubeconfig::{Credentials, check_kubeconfig};
use super::{Form, JoinInput, Secrets, capi, span};
use crate::base::code::Code;
use crate::base::duration::read_duration;
use crate::base::text::{is_alphanumeric_or, is_digits};
use crate::base::value::{is_digest, is_subdomain};
use crate::diagnostic::Finding;
use crate::model::definition::Proxy;

/// Windows knows a machine by this many characters of its name.
const NETBIOS: usize = 15;

const ADD_TOKEN: &str = "add `--token-env NAME` or `--token-file PATH` (`-` is stdin)";

/// The checked input.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub endpoint: Option<String>,
    pub hashes: Vec<String>,
    pub name: Option<String>,
    pub labels: Vec<(String, String)>,
    pub taints: Vec<Taint>,
    pub ignored: Vec<String>,
    pub timeout: Option<Timeout>,
}

/// How long kubeadm looks for the cluster.
#[derive(Debug)]
pub(super) struct Timeout {
    pub text: String,
    pub time: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

impl Taint {
    /// Whether no node may have both.
    fn excludes(&self, other: &Self) -> bool {
        self.key == other.key && self.effect == other.effect
    }
}

pub(super) fn check_node(
    input: &JoinInput,
    secrets: &Secrets,
    form: Form,
    problems: &mut Vec<Finding>,
) -> Node {
    let mut keep = |result: Result<(), Finding>| problems.extend(result.err());
    keep(if form == Form::Capi {
        capi::check_sources(input, secrets)
    } else {
        check_discovery(input, secrets)
    });
    if let Some(endpoint) = &input.endpoint {
        keep(check_endpoint(endpoint));
    }
    if let Some(name) = &input.name {
        keep(check_name(name, form));
    }
    let mut node = Node {
        endpoint: input.endpoint.clone(),
        name: input.name.clone(),
        ..Node::default()
    };
    for hash in &input.ca_cert_hashes {
        let lower = hash.to_ascii_lowercase();
        keep(check_hash(hash, &lower));
        node.hashes.push(lower);
    }
    for text in &input.labels {
        match parse_label(text, form) {
            Ok(label) if node.labels.iter().any(|(key, _)| *key == label.0) => {
                keep(Err(Finding::new(
                    Code::LABEL_TWICE,
                    format!("the label `{}` is given twice", label.0),
                    "give it once",
                )));
            }
            Ok(label) => node.labels.push(label),
            Err(problem) => keep(Err(problem)),
        }
    }
    for text in &input.taints {
        match parse_taint(text, form) {
            // The API server's validation of a node: taints are unique by key and effect.
            Ok(taint) if node.taints.iter().any(|known| known.excludes(&taint)) => {
                keep(Err(Finding::new(
                    Code::TAINT_TWICE,
                    format!(
                        "the taint `{}:{}` is given twice: the API server refuses such a node",
                        taint.key, taint.effect
                    ),
                    "give it once, in the file or as a flag",
                )));
            }
            Ok(taint) => node.taints.push(taint),
            Err(problem) => keep(Err(problem)),
        }
    }
    for check in &input.ignore_preflight_errors {
        keep(check_preflight(check));
        node.ignored.push(check.clone());
    }
    match input.discovery_timeout.as_deref().map(check_timeout) {
        Some(Ok(timeout)) => node.timeout = Some(timeout),
        Some(Err(problem)) => keep(Err(problem)),
        None => {}
    }
    node
}

/// Either token discovery, whole, or a kubeconfig; and a token in any case, because kubeadm ends without credentials
/// for the node's certificate (`cmd/kubeadm/app/discovery`, For).
fn check_discovery(input: &JoinInput, secrets: &Secrets) -> Result<(), Finding> {
    if let Some(file) = &secrets.kubeconfig {
        if input.endpoint.is_some() || !input.ca_cert_hashes.is_empty() {
            let message = "a discovery kubeconfig names endpoint and CA itself";
            let remedy =
                "give either `--discovery-kubeconfig`, or `--endpoint` with `--ca-cert-hash`";
            return Err(Finding::new(Code::DISCOVERY_TWICE, message, remedy));
        }
        let credentials = check_kubeconfig(file)?;
        if credentials == Credentials::Token || secrets.token.is_some() {
            return Ok(());
        }
        return Err(Finding::new(
            Code::DISCOVERY_INCOMPLETE,
            "the bootstrap token is missing: the discovery kubeconfig has none for its current context",
            ADD_TOKEN,
        ));
    }
    let (what, instead) = if input.endpoint.is_none() {
        ("the cluster's endpoint", "add `--endpoint HOST:PORT`")
    } else if input.ca_cert_hashes.is_empty() {
        (
            "a hash of the cluster's CA",
            "add `--ca-cert-hash sha256:…` or `--ca-cert FILE`; without it, the node would trust any server that answers",
        )
    } else if secrets.token.is_none() {
        ("the bootstrap token", ADD_TOKEN)
    } else {
        return Ok(());
    };
    Err(Finding::new(
        Code::DISCOVERY_INCOMPLETE,
        format!("{what} is missing"),
        instead,
    ))
}

/// # Errors
/// The text is not `HOST:PORT` of an API server.
pub fn check_endpoint(text: &str) -> Result<(), Finding> {
    let refuse = |why: &str| {
        let remedy = "write it as HOST:PORT, such as `api.example.com:6443` or `[fd00::1]:6443`";
        Err(Finding::new(
            Code::ENDPOINT_FORMAT,
            format!("the endpoint `{text}` {why}"),
            remedy,
        ))
    };
    if text.contains("://") || text.contains('/') {
        return refuse("is a URL");
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return refuse("has no port");
    };
    if !matches!(port.parse::<u16>(), Ok(1..)) || port.starts_with(['+', '0']) {
        return refuse("has no port between 1 and 65535");
    }
    if let Some(address) = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        return match address.parse::<std::net::Ipv6Addr>() {
            Ok(_) => Ok(()),
            Err(_) => refuse("has no IPv6 address in the brackets"),
        };
    }
    if host.contains(':') {
        return refuse("has an IPv6 address without brackets");
    }
    let all_digits = host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let good = if all_digits {
        host.parse::<std::net::Ipv4Addr>().is_ok()
    } else {
        is_subdomain(host, 253)
    };
    if good {
        Ok(())
    } else {
        refuse("has a host that is neither a DNS name nor an address")
    }
}

fn check_hash(text: &str, lower: &str) -> Result<(), Finding> {
    let digits = lower.strip_prefix("sha256:").unwrap_or_default();
    if is_digest(digits, 64) {
        return Ok(());
    }
    let message = format!("the CA hash `{text}` is not `sha256:` and 64 hexadecimal digits");
    Err(Finding::new(
        Code::HASH_FORMAT,
        message,
        "add `--ca-cert FILE`; imagegen computes the hash",
    ))
}

/// The node's name is the value of its label `kubernetes.io/hostname` too, which ends at 63.
fn check_name(name: &str, form: Form) -> Result<(), Finding> {
    let masked = span::mask_spans(name, form)?;
    if form == Form::Capi && masked == name {
        let message = format!("each machine of the template would get the name `{name}`");
        let remedy =
            "leave it out, or write a part that differs: `{{ ds.meta_data.local_hostname }}`";
        return Err(Finding::new(Code::CAPI_NAME, message, remedy));
    }
    let instead = "use lower-case letters, digits, `-` and `.`, at most 63 characters, beginning and ending with \
                   a letter or digit";
    if is_subdomain(&masked, 63) {
        return Ok(());
    }
    Err(Finding::new(
        Code::NAME_FORMAT,
        format!("the node name `{name}` is not a DNS-1123 name"),
        instead,
    ))
}

fn is_name_part(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && is_alphanumeric_or(text, "-_.")
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix, 253) && is_name_part(name),
        None => is_name_part(key),
    }
}

fn parse_label(text: &str, form: Form) -> Result<(String, String), Finding> {
    let refuse = |why: &str| {
        let remedy = "write it as KEY=VALUE with the characters that Kubernetes allows";
        Err(Finding::new(
            Code::LABEL_FORMAT,
            format!("the label `{text}` {why}"),
            remedy,
        ))
    };
    let Some((key, value)) = text.split_once('=') else {
        return refuse("has no value");
    };
    if !is_qualified(key) {
        return refuse("has no valid key");
    }
    let masked = span::mask_spans(value, form)?;
    if !masked.is_empty() && !is_name_part(&masked) {
        return refuse("has no valid value");
    }
    if is_restricted_label(key) {
        let message = format!("the kubelet may not give itself the label `{key}`");
        let remedy = format!(
            "label the node as an administrator: `kubectl label node NAME {text}`, or use `node.kubernetes.io/…`"
        );
        return Err(Finding::new(Code::LABEL_RESTRICTED, message, remedy));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Names that the kubelet refuses in `--node-labels`: Kubernetes' own, but for a few.
fn is_restricted_label(key: &str) -> bool {
    const ALLOWED: &[&str] = &[
        "kubernetes.io/hostname",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
    ];
    let Some((prefix, _)) = key.split_once('/') else {
        return false;
    };
    let below = |domain: &str| prefix == domain || prefix.ends_with(&format!(".{domain}"));
    let own = below("kubernetes.io") || below("k8s.io");
    own && !ALLOWED.contains(&key)
        && !below("kubelet.kubernetes.io")
        && !below("node.kubernetes.io")
}

fn parse_taint(text: &str, form: Form) -> Result<Taint, Finding> {
    let value = text
        .rsplit_once(':')
        .and_then(|(head, _)| head.split_once('='));
    let masked = match value {
        Some((_, value)) => span::mask_spans(value, form)?,
        None => Cow::Borrowed(""),
    };
    let parsed = text.rsplit_once(':').and_then(|(head, effect)| {
        let (key, value) = head.split_once('=').unwrap_or((head, ""));
        let good = is_qualified(key)
            && (masked.is_empty() || is_name_part(&masked))
            && ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
        good.then(|| Taint {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        })
    });
    parsed.ok_or_else(|| {
        Finding::new(
            Code::TAINT_FORMAT,
            format!("the taint `{text}` cannot be read"),
            "write it as KEY[=VALUE]:EFFECT with NoSchedule, PreferNoSchedule or NoExecute, such as \
             `os=windows:NoSchedule`",
        )
    })
}

fn check_preflight(check: &str) -> Result<(), Finding> {
    // Names of checks of files have the file's path: `FileAvailable-C:-etc-kubernetes-pki-ca.crt`.
    let good = !check.is_empty() && is_alphanumeric_or(check, r"-.:_\");
    if good && !check.eq_ignore_ascii_case("all") {
        return Ok(());
    }
    let remedy = "name each check that may fail, as kubeadm prints it in brackets";
    Err(Finding::new(
        Code::PREFLIGHT_FORMAT,
        format!("`{check}` is not the name of a check of kubeadm"),
        remedy,
    ))
}

fn check_timeout(text: &str) -> Result<Timeout, Finding> {
    let Some(time) = read_duration(text) else {
        let message = format!("the discovery timeout `{text}` is not a duration above zero");
        let remedy = "write it as `5m0s`, `90s` or `1.5h`";
        return Err(Finding::new(Code::TIMEOUT_FORMAT, message, remedy));
    };
    Ok(Timeout {
        text: text.to_owned(),
        time,
    })
}

/// A warning of an API server that the image's programs look for behind their proxy.
pub(super) fn warn_of_proxy(node: &Node, proxy: &Proxy) -> Option<String> {
    let endpoint = node.endpoint.as_deref()?;
    let (host, port) = endpoint.rsplit_once(':')?;
    let is_asked = proxy.is_asked_for(host, port.parse().ok()?);
    is_asked.then(|| {
        format!(
            "the kubelet asks the image's proxy for the API server `{endpoint}`: if the proxy does not reach it, build the \
             image with `--no-proxy` that names `{host}`"
        )
    })
}

pub(super) fn list_warnings(node: &Node) -> Vec<String> {
    // What becomes of a template is known on the machine alone.
    let name = node
        .name
        .as_deref()
        .filter(|name| !name.contains(span::OPEN));
    let Some(name) = name else {
        return Vec::new();
    };
    let machine = name.split('.').next().unwrap_or(name);
    let mut warnings = Vec::new();
    if machine.len() > NETBIOS {
        let cut = machine.get(..NETBIOS).unwrap_or(machine);
        warnings.push(format!(
            "Windows truncates NetBIOS names to {NETBIOS} characters: the machine `{machine}` keeps its host name, but \
             `%COMPUTERNAME%` is `{cut}`, which other machines may have, too"
        ));
    }
    if is_digits(machine) {
        warnings.push(format!(
            "Windows does not accept machine names of digits only, such as `{machine}`"
        ));
    }
    warnings
}
