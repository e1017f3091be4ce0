//! Hosts that are asked without proxy, as `NO_PROXY` lists them. Pure.
//!
//! Programs read the list in different ways (curl, Go's `golang.org/x/net/http/httpproxy`); where they agree, this does,
//! too, and hosts have the normal form of URLs: case, a dot at the end, percent-encoding and brackets do not matter.
//! `.example.com` includes `example.com`, as for curl; `*.example.com` does not, as for Go.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::text::is_alphanumeric_or;
use super::url::normalize_host;

/// A list of hosts that are asked without proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxyExceptions(Vec<ProxyException>);

/// One entry: hosts, and perhaps the only port of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyException {
    hosts: ExceptedHosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ExceptedHosts {
    /// `*`
    Every,
    Address(IpAddr),
    /// `10.0.0.0/8`
    Network(IpNet),
    /// `example.com`: the host, and those below it.
    Name(String),
    /// `.example.com`: the same.
    Suffix(String),
    /// `*.example.com`: the hosts below it alone.
    Below(String),
}

impl ProxyExceptions {
    /// The entries of a list with commas or spaces between them. Entries that name nothing are passed over, as other
    /// programs do.
    pub fn parse_list(list: &str) -> Self {
        let entries = split_entries(list);
        Self(entries.filter_map(ProxyException::parse).collect())
    }

    /// Whether the host, as a URL has it, is asked without proxy at this port.
    pub fn contains(&self, host: &str, port: Option<u16>) -> bool {
        let host = normalize_host(host);
        let address = parse_address(&host);
        self.0.iter().any(|entry| {
            let is_port = entry.port.is_none() || entry.port == port;
            is_port && entry.hosts.contains(&host, address)
        })
    }
}

/// Entries of a list with commas or spaces between them.
pub fn split_entries(list: &str) -> impl Iterator<Item = &str> {
    let entries = list.split([',', ' ', '\t']);
    entries.filter(|entry| !entry.is_empty())
}

impl ProxyException {
    /// None for an entry that names no host and no network.
    pub fn parse(entry: &str) -> Option<Self> {
        if entry.contains('/') {
            let network = entry.replace(['[', ']'], "").parse().ok()?;
            let hosts = ExceptedHosts::Network(network);
            return Some(Self { hosts, port: None });
        }
        if let Some(address) = parse_address(entry) {
            let hosts = ExceptedHosts::Address(address);
            return Some(Self { hosts, port: None });
        }

        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        let hosts = parse_hosts(host)?;
        Some(Self { hosts, port })
    }
}

fn parse_hosts(text: &str) -> Option<ExceptedHosts> {
    if text == "*" {
        return Some(ExceptedHosts::Every);
    }
    if let Some(domain) = text.strip_prefix("*.") {
        return parse_name(domain).map(ExceptedHosts::Below);
    }
    if let Some(domain) = text.strip_prefix('.') {
        return parse_name(domain).map(ExceptedHosts::Suffix);
    }
    match parse_address(&normalize_host(text)) {
        Some(address) => Some(ExceptedHosts::Address(address)),
        None => parse_name(text).map(ExceptedHosts::Name),
    }
}

fn parse_name(text: &str) -> Option<String> {
    let name = normalize_host(text);
    let is_name =
        is_alphanumeric_or(&name, "-_.*") && name.split('.').all(|label| !label.is_empty());
    is_name.then_some(name)
}

/// An address, in brackets or not. An IPv4 address that is written as IPv6 is the IPv4 address.
fn parse_address(text: &str) -> Option<IpAddr> {
    let inner = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address: IpAddr = inner.unwrap_or(text).parse().ok()?;
    Some(address.to_canonical())
}

impl ExceptedHosts {
    fn contains(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Self::Every => true,
            Self::Address(known) => address == Some(*known),
            Self::Network(network) => address.is_some_and(|address| network.contains(&address)),
            Self::Name(domain) | Self::Suffix(domain) => {
                address.is_none() && (host == domain || is_below(host, domain))
            }
            Self::Below(domain) => address.is_none() && is_below(host, domain),
        }
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    let rest = host.strip_suffix(domain);
    rest.is_some_and(|rest| rest.ends_with('.'))
}

impl fmt::Display for ProxyException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.hosts, self.port) {
            (ExceptedHosts::Every, _) => f.write_str("*")?,
            (ExceptedHosts::Address(IpAddr::V6(address)), Some(_)) => write!(f, "[{address}]")?,
            (ExceptedHosts::Address(address), _) => write!(f, "{address}")?,
            (ExceptedHosts::Network(network), _) => write!(f, "{network}")?,
            (ExceptedHosts::Name(domain), _) => f.write_str(domain)?,
            (ExceptedHosts::Suffix(domain), _) => write!(f, ".{domain}")?,
            (ExceptedHosts::Below(domain), _) => write!(f, "*.{domain}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ProxyException, ProxyExceptions};
    use crate::base::value::NoProxy;
    use reqwest::Url;

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn hosts_without_proxy_are_compared_in_one_form() {
        // List, URLs that are asked directly, URLs that are asked through the proxy.
        let rows: &[(&str, &[&str], &[&str])] = &[
            (
                "example.com",
                &[
                    "https://example.com/",
                    "https://EXAMPLE.com./",
                    "http://a.example.com:8080/",
                    "https://%65xample.com/",
                ],
                &[
                    "https://notexample.com/",
                    "https://example.com.evil.example/",
                ],
            ),
            (
                "EXAMPLE.Com.",
                &["https://example.com/", "https://a.example.com/"],
                &["https://example.org/"],
            ),
            (
                ".example.com",
                &["https://example.com/", "https://a.example.com/"],
                &["https://notexample.com/"],
            ),
            (
                "*.example.com",
                &["https://a.example.com/", "https://a.b.example.com/"],
                &["https://example.com/", "https://notexample.com/"],
            ),
            (
                "XN--Bcher-kva.Example",
                &[
                    "https://xn--bcher-kva.example/",
                    "https://a.xn--bcher-kva.example/",
                ],
                &["https://bucher.example/"],
            ),
            (
                "*",
                &[
                    "https://example.com/",
                    "https://10.1.2.3/",
                    "https://[fd00::1]/",
                ],
                &[],
            ),
            (
                "example.com:443",
                &[
                    "https://example.com/",
                    "https://a.example.com:443/",
                    "http://example.com:443/",
                ],
                &["https://example.com:8443/", "http://example.com/"],
            ),
            (
                "10.1.2.3, 10.9.0.0/16 192.168.1.7:8080",
                &[
                    "https://10.1.2.3/",
                    "https://10.9.255.1/",
                    "http://192.168.1.7:8080/",
                    "http://0xa090001/",
                ],
                &[
                    "https://10.1.2.4/",
                    "https://10.10.0.1/",
                    "http://192.168.1.7/",
                ],
            ),
            ("127.1", &["http://127.0.0.1/"], &["http://127.0.1.1/"]),
            (
                "fd00:1::/32,[2001:db8::1],[2001:db8::2]:8443",
                &[
                    "https://[fd00:1:2::3]/",
                    "https://[2001:DB8:0:0::1]:9/",
                    "https://[2001:db8::2]:8443/",
                ],
                &[
                    "https://[fd00:2::1]/",
                    "https://[2001:db8::2]/",
                    "https://[2001:db8::3]/",
                ],
            ),
            (
                "10.0.0.1,::ffff:10.0.0.2",
                &["https://[::ffff:10.0.0.1]/", "https://10.0.0.2/"],
                &["https://[::ffff:10.0.0.3]/"],
            ),
            (
                "0.0.0.0/0",
                &["https://1.2.3.4/"],
                &["https://[::1]/", "https://a.example/"],
            ),
            (
                "::/0",
                &["https://[::1]/"],
                &["https://1.2.3.4/", "https://a.example/"],
            ),
            // No entry: a network that is too narrow, a port that is none, a name inside an address.
            (
                "10.0.0.0/33,example.com:https,3,,.,B\u{dc}cher.example,%C3%9CX.example",
                &[],
                &[
                    "https://10.0.0.1/",
                    "https://example.com/",
                    "https://1.2.3.3/",
                ],
            ),
        ];
        for (list, direct, proxied) in rows {
            let exceptions = ProxyExceptions::parse_list(list);
            for (urls, expected) in [(direct, true), (proxied, false)] {
                for url in *urls {
                    let parsed = Url::parse(url).expect(url);
                    let host = parsed.host_str().expect("a host");
                    let found = exceptions.contains(host, parsed.port_or_known_default());
                    assert_eq!(found, expected, "{url} with NO_PROXY={list}");
                }
            }
        }
    }

    #[test]
    fn an_entry_is_written_in_its_normal_form() {
        for (entry, expected) in [
            ("*", "*"),
            ("Example.COM.", "example.com"),
            (".Example.com", ".example.com"),
            ("*.example.com:8443", "*.example.com:8443"),
            ("[FD00::1]", "fd00::1"),
            ("[fd00:0::1]:80", "[fd00::1]:80"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("127.1", "127.0.0.1"),
        ] {
            let parsed = ProxyException::parse(entry).expect(entry);
            assert_eq!(parsed.to_string(), expected);
        }
    }

    #[test]
    fn a_list_for_nodes_has_hosts_and_networks_alone() {
        for list in [
            "localhost,.cluster.local,10.0.0.0/8",
            "<local>, [::1]",
            "10.*",
            "*",
        ] {
            list.parse::<NoProxy>().expect(list);
        }
        for list in [
            "10.0.0.0/33",
            "a.example:https",
            "[::1",
            ".",
            "a.example,,b.example",
        ] {
            assert!(list.parse::<NoProxy>().is_err(), "{list}");
        }
    }
}
