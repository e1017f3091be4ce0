//! Facts of the node's proxies, in the forms of its programs: variables of an environment, and WinHTTP's list.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use crate::base::no_proxy::{ProxyException, split_entries};
use crate::model::definition::Proxy;

/// The proxies as they are, and those that are set as variables of an environment.
pub(super) fn collect_proxy(proxy: &Proxy) -> Value {
    let (http, https) = (proxy.http.as_deref(), proxy.https.as_deref());
    let no_proxy = proxy.no_proxy.as_deref().map(normalize_exceptions);
    let no_proxy = no_proxy.as_deref();
    let set: Vec<(&str, &str)> = [
        ("HTTP_PROXY", http),
        ("HTTPS_PROXY", https),
        ("NO_PROXY", no_proxy),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect();
    let variables: Vec<Value> = set
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    let environment: Vec<String> = set
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    // Without protocol and with semicolons, as Windows writes them.
    let winhttp: Vec<Value> = https
        .or(http)
        .map(|url| {
            let host = url
                .split_once("://")
                .map_or(url, |(_, host)| host)
                .trim_end_matches('/');
            json!({ "server": host, "bypass": format_winhttp_bypass(no_proxy.unwrap_or_default()) })
        })
        .into_iter()
        .collect();
    json!({
        "winhttp": winhttp,
        "http": http.unwrap_or_default(), "https": https.unwrap_or_default(),
        "noProxy": no_proxy.unwrap_or_default(),
        "variables": variables, "environment": environment,
    })
}

/// `NO_PROXY` with each entry in its normal form: the node's programs compare texts. Entries that only Windows knows
/// stay as they are.
fn normalize_exceptions(list: &str) -> String {
    let mut entries = Vec::new();
    for entry in split_entries(list) {
        let parsed = ProxyException::parse(entry);
        entries.push(parsed.map_or_else(|| entry.to_owned(), |parsed| parsed.to_string()));
    }
    entries.join(",")
}

/// `NO_PROXY` as the bypass list of WinHTTP, which knows names and wildcards: no network and no suffix
/// with a leading dot (`netsh winhttp set proxy`). IPv6 networks have no form there and are left out.
fn format_winhttp_bypass(no_proxy: &str) -> String {
    split_entries(no_proxy)
        .flat_map(list_bypass_entries)
        .collect::<Vec<_>>()
        .join(";")
}

fn list_bypass_entries(entry: &str) -> Vec<String> {
    if let Some(suffix) = entry.strip_prefix('.') {
        return vec![format!("*.{suffix}")];
    }
    if entry.parse::<Ipv6Addr>().is_ok() {
        return vec![format!("[{entry}]")];
    }
    let Some((network, length)) = entry.split_once('/') else {
        return vec![entry.to_owned()];
    };
    match (network.parse::<Ipv4Addr>(), length.parse::<u32>()) {
        (Ok(network), Ok(length @ 1..=32)) => list_octet_wildcards(network.octets(), length),
        _ => Vec::new(),
    }
}

/// `10.96.0.0/12` as `10.96.*` to `10.111.*`: one wildcard for each value of the octet that the prefix ends in.
fn list_octet_wildcards(octets: [u8; 4], length: u32) -> Vec<String> {
    let whole = ((length - 1) / 8) as usize;
    let count = 1_u16 << ((8 - length % 8) % 8);
    let first = u16::from(octets[whole]) / count * count;
    let head: String = octets[..whole]
        .iter()
        .map(|octet| format!("{octet}."))
        .collect();
    let tail = if whole == 3 { "" } else { ".*" };
    (first..first + count)
        .map(|value| format!("{head}{value}{tail}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bypass_list_of_winhttp_has_names_and_wildcards() {
        for (no_proxy, expected) in [
            ("localhost, .example.com", "localhost;*.example.com"),
            ("10.0.0.0/8", "10.*"),
            ("10.96.0.0/14", "10.96.*;10.97.*;10.98.*;10.99.*"),
            ("192.168.7.0/24,10.1.2.7/32", "192.168.7.*;10.1.2.7"),
            ("10.1.2.6/31", "10.1.2.6;10.1.2.7"),
            ("fd00::/56,10.0.0.1", "10.0.0.1"),
            (
                "<local>, Example.COM., [fd00::1]",
                "<local>;example.com;[fd00::1]",
            ),
        ] {
            let list = normalize_exceptions(no_proxy);
            assert_eq!(format_winhttp_bypass(&list), expected, "{no_proxy}");
        }
    }
}
