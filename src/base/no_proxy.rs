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
    #[must_use]
    pub fn parse_list(list: &str) -> Self {
        let entries = split_entries(list);
        Self(entries.filter_map(ProxyException::parse).collect())
    }

    /// Whether the host, as a URL has it, is asked without proxy at this port.
    #[must_use]
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
    #[must_use]
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
