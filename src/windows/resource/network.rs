//! The firewall, ports, and networks of the host network service.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::{AccountName, AccountSid, FilledText, LiteralName, Ports, RemoteAddress};
use super::{Desired, Identity, ResourceType};
use crate::base::choice::words;
use crate::base::nonempty::NonEmpty;

/// A rule of the Windows firewall, for all profiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirewallRule {
    pub rule_name: LiteralName,
    #[serde(flatten)]
    pub desired: Desired<FirewallSettings>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FirewallSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<FilledText>,
    pub direction: Direction,
    pub action: FirewallAction,
    /// Any protocol without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// None for ICMP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local_port: Vec<Ports>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remote_port: Vec<Ports>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remote_address: Vec<RemoteAddress>,
    /// Accounts to which the rule does not apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except_account: Vec<AccountSid>,
    /// Local accounts to which the rule does not apply, by name: Sysprep changes their identifiers, and the rule has
    /// the identifier that an account has when the rule is applied. A name without an account excepts nobody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except_user: Vec<AccountName>,
    /// The kind of message; all without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    Inbound,
    Outbound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FirewallAction {
    Allow,
    Block,
}

words!(
    Protocol {
        Tcp = "TCP",
        Udp = "UDP",
        Icmpv4 = "ICMPv4",
        Icmpv6 = "ICMPv6",
    }
);

impl Protocol {
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::Tcp | Self::Udp)
    }
}

/// An address of the platform that only its own programs may ask: a clone's secrets are behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BlockedAddress {
    /// Name of the firewall rule.
    pub name: String,
    pub address: Ipv4Addr,
    pub protocol: Protocol,
    pub ports: NonEmpty<Ports>,
    /// Accounts of the platform's programs.
    pub accounts: NonEmpty<AccountSid>,
    pub source: String,
}

/// The dynamic port range of a protocol, or a range that is excluded from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PortRange {
    pub kind: PortRangeKind,
    /// TCP or UDP.
    pub protocol: Protocol,
    pub start: u16,
    pub count: u16,
}

words!(
    PortRangeKind {
        Dynamic = "dynamic",
        Excluded = "excluded",
    }
);

/// A network of the host network service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HnsNetwork {
    pub network_name: FilledText,
    #[serde(flatten)]
    pub desired: Desired<HnsSettings>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HnsSettings {
    /// `NAT`
    pub kind: FilledText,
}

impl ResourceType for FirewallRule {
    fn identity(&self) -> Identity {
        Identity::new("firewall rule", &["ruleName"], self.rule_name.as_str())
    }
}

impl ResourceType for PortRange {
    /// A protocol has one dynamic range and any number of excluded ones.
    fn identity(&self) -> Identity {
        match self.kind {
            PortRangeKind::Dynamic => Identity::new(
                "port range",
                &["kind", "protocol"],
                format!("dynamic {}", self.protocol),
            ),
            PortRangeKind::Excluded => Identity::new(
                "port range",
                &["kind", "protocol", "start"],
                format!("excluded {} {}", self.protocol, self.start),
            ),
        }
    }
}

impl ResourceType for HnsNetwork {
    fn identity(&self) -> Identity {
        Identity::new("host network", &["networkName"], &self.network_name)
    }
}
