//! What a policy cannot mean: names that never select anything, lists without members.

use crate::diagnostic::Finding;
use crate::model::policy::{Policy, matches_pattern};

use super::PolicyError;

/// Refuses a policy that demands less than it seems to. `names` are the components, groups and programs that
/// the catalog knows.
///
/// # Errors
/// All findings at once.
pub fn check_policy(policy: &Policy, names: &[String]) -> Result<(), PolicyError> {
    let mut findings = Vec::new();
    for rule in &policy.require {
        let field = format!("require {}", rule.id);
        findings.extend(find_unknown(&field, &rule.components, names));
        if rule.any_of.is_empty() {
            findings.push(report(&field, "`anyOf` names no proof", "name at least one proof"));
        }
        if rule.components.is_empty() && rule.roles.is_empty() && rule.hosts.is_empty() {
            let remedy = "name `components`, `roles` or `hosts`";
            findings.push(report(&field, "it selects nothing", remedy));
        }
        findings.extend(find_malformed_hosts(&field, &rule.hosts));
    }
    findings.extend(find_repeated(policy));
    findings.extend(find_unknown("forbiddenComponents", &policy.forbidden_components, names));
    let waived: Vec<String> = policy.waivers.iter().map(|waiver| waiver.component.clone()).collect();
    findings.extend(find_unknown("waivers", &waived, names));
    findings
        .extend(find_malformed_hosts("allowedHosts", policy.allowed_hosts.as_deref().unwrap_or_default()));
    let lists = [
        ("allowedHosts", policy.allowed_hosts.as_ref().is_some_and(Vec::is_empty)),
        ("allowedPublishers", policy.allowed_publishers.as_ref().is_some_and(Vec::is_empty)),
        ("allowedRoots", policy.allowed_roots.as_ref().is_some_and(Vec::is_empty)),
    ];
    for (field, is_empty) in lists {
        if is_empty {
            findings.push(report(field, "the list is empty", "name a member, or leave the list out"));
        }
    }
    if findings.is_empty() {
        return Ok(());
    }
    Err(PolicyError::Malformed { policy: policy.name.clone(), findings })
}

/// Patterns without members. Files and images of a definition have names of their own: `KB…`,
/// `VENDOR~DRIVER/FILE`, `REGISTRY/NAME`.
fn find_unknown(field: &str, patterns: &[String], names: &[String]) -> Vec<Finding> {
    let is_own = |pattern: &str| pattern.contains(['~', '/']) || pattern.starts_with("KB");
    let unknown = patterns
        .iter()
        .filter(|pattern| !is_own(pattern) && !names.iter().any(|name| matches_pattern(pattern, name)));
    unknown
        .map(|pattern| {
            let close = crate::model::names::format_suggestion(pattern, names.iter().map(String::as_str));
            report(field, &format!("no component or program is named `{pattern}`"), &close)
        })
        .collect()
}

fn find_malformed_hosts(field: &str, hosts: &[String]) -> Vec<Finding> {
    let is_host = |host: &str| {
        let name = host.strip_prefix("*.").unwrap_or(host);
        let own = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'[' | b']' | b':');
        !name.is_empty() && name.bytes().all(own)
    };
    let wrong = hosts.iter().filter(|host| !is_host(host));
    let remedy = "write a host name, or `*.` and a domain";
    wrong.map(|host| report(field, &format!("`{host}` is not a host"), remedy)).collect()
}

fn find_repeated(policy: &Policy) -> Vec<Finding> {
    let rules = &policy.require;
    let repeated =
        rules.iter().enumerate().filter(|(at, rule)| rules[..*at].iter().any(|other| other.id == rule.id));
    repeated
        .map(|(_, rule)| {
            report(&format!("require {}", rule.id), "two rules have this id", "give each its own")
        })
        .collect()
}

fn report(field: &str, message: &str, remedy: &str) -> Finding {
    Finding::new("policy", message, remedy).with_subject(field)
}
