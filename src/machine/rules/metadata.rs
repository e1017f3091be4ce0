//! Metadata of the platform: the account that reads user-data passes each firewall rule on its way there.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::base::code::Code;
use crate::model::platform::MetadataEndpoint;
use crate::model::stage::{RunsAs, Stage};
use crate::windows::resource::{
    Direction, FirewallAction, FirewallRule, FirewallSettings, Phase, ResourceKind,
};

use super::super::state::{PresentResource, ResourceOrigin};
use super::Context;
use super::accounts::{RunAccount, find_account};

/// `LocalSystem` ([MS-DTYP] 2.4.2.4).
const SYSTEM: &str = "S-1-5-18";

pub(super) fn check_endpoints(context: &Context<'_>) {
    let platform = context.expectations.platform;
    for stage in context.expectations.stages {
        let reads = stage.user_data.is_some() && stage.runs_on(&platform.cloudbase_init);
        if !reads {
            continue;
        }
        for endpoint in &platform.metadata {
            check_endpoint(context, stage, endpoint);
        }
    }
}

fn check_endpoint(context: &Context<'_>, stage: &Stage, endpoint: &MetadataEndpoint) {
    let account = find_account(context, stage);
    for rule in context.machine.present_resources::<FirewallRule>() {
        if !blocks_endpoint(rule.settings, endpoint) || is_excepted(context, &rule, &account) {
            continue;
        }
        let MetadataEndpoint {
            address,
            protocol,
            port,
            source,
        } = endpoint;
        let name = account.user.map_or(SYSTEM, |user| user.as_str());
        let message = format!(
            "blocks {protocol} {port} of {address} for `{name}`, as which stage `{}` reads user-data there ({source})",
            stage.stage
        );
        let remedy = match account.user {
            Some(_) => {
                "name the account in `exceptUser` of the rule, in phase `firstboot`: Sysprep changes its identifier"
            }
            None => "name the account in `exceptAccount` of the rule",
        };
        context.add_problem(Code::METADATA_BLOCKED, rule.origin, message, remedy);
    }
}

fn blocks_endpoint(rule: &FirewallSettings, endpoint: &MetadataEndpoint) -> bool {
    let is_block = rule.action == FirewallAction::Block && rule.direction == Direction::Outbound;
    let has_protocol = rule
        .protocol
        .is_none_or(|protocol| protocol == endpoint.protocol);
    let has_port = rule.remote_port.is_empty()
        || rule
            .remote_port
            .iter()
            .any(|ports| ports.overlaps(&endpoint.port));
    let has_address = rule.remote_address.is_empty()
        || rule
            .remote_address
            .iter()
            .any(|address| holds_address(address, endpoint.address));
    is_block && has_protocol && has_port && has_address
}

/// Whether a remote address of a rule holds the address. Keywords count as if they did: which addresses they stand for
/// is known on the machine alone.
fn holds_address(remote: &str, address: Ipv4Addr) -> bool {
    let address = IpAddr::V4(address);
    if let Ok(one) = remote.parse::<IpAddr>() {
        return one == address;
    }
    if let Ok(network) = remote.parse::<IpNet>() {
        return network.contains(&address);
    }
    let bounds = remote.split_once('-');
    let bounds = bounds.and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
    bounds.is_none_or(|(low, high): (IpAddr, IpAddr)| low <= address && address <= high)
}

/// Whether the rule does not apply to the account when user-data is read, on a clone. A rule that names a local account
/// before Sysprep has the identifier that this account had on the build machine.
fn is_excepted(
    context: &Context<'_>,
    rule: &PresentResource<'_, FirewallRule>,
    account: &RunAccount<'_>,
) -> bool {
    let Some(user) = account.user else {
        let mut accounts = rule.settings.except_account.iter();
        return account.runs_as == RunsAs::System && accounts.any(|id| id.as_str() == SYSTEM);
    };
    let mut users = rule.settings.except_user.iter();
    let is_named = users.any(|name| name.eq_ignore_ascii_case(user));
    is_named && !precedes_sysprep(context, rule.origin)
}

fn precedes_sysprep(context: &Context<'_>, origin: &ResourceOrigin) -> bool {
    let seals = context
        .resources
        .iter()
        .any(|resource| matches!(resource.kind, ResourceKind::Sysprep(_)));
    let at = context.index_of(origin);
    seals && at.is_some_and(|at| context.resources[at].phase < Phase::Firstboot)
}
