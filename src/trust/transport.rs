//! Addresses that others on the way could answer for: plain HTTP, and hosts whose certificate is not verified. The
//! operator alone allows them, by `--allow-http`.

use crate::base::code::Code;
use crate::base::url::{HttpUrl, is_loopback};
use crate::diagnostic::Finding;
use crate::model::plan::Plan;
use crate::model::policy::Policy;

use super::gate::{PolicyError, PolicyFault};
use super::subject::{Subject, list_mirrors};
use super::subjects::list_subjects;

/// Checks that every URL of a plan and of its mirrors is HTTPS, and that nodes verify the certificates of registries,
/// except for loopback and the hosts of `--allow-http`.
///
/// # Errors
/// All findings at once.
pub fn check_addresses(policy: &Policy, plan: &Plan) -> Result<(), PolicyError> {
    check_transport(policy, &[list_subjects(plan), list_mirrors(plan)].concat())?;
    PolicyFault::Address.refuse(policy, find_unverified(policy, plan))
}

pub(super) fn check_transport(
    policy: &Policy,
    subjects: &[Subject<'_>],
) -> Result<(), PolicyError> {
    let findings: Vec<Finding> = subjects
        .iter()
        .flat_map(|subject| {
            let urls = subject.asked_urls(&policy.mirrors);
            urls.into_iter().map(move |url| (subject, url))
        })
        .filter_map(|(subject, url)| Some((subject, url.parse::<HttpUrl>().ok()?)))
        .filter(|(_, url)| !policy.allows_transport(url))
        .map(|(subject, url)| report_plain_http(subject, &url))
        .collect();
    PolicyFault::Address.refuse(policy, findings)
}

fn report_plain_http(subject: &Subject<'_>, url: &HttpUrl) -> Finding {
    let host = url.host();
    let remedy =
        format!("give an address with `https://`, or accept plain HTTP: `--allow-http {host}`");
    Finding::new(Code::PLAIN_HTTP, format!("{url} is plain HTTP"), remedy)
        .with_subject(&subject.title)
}

/// Hosts of `registries` whose certificate nodes would not verify.
fn find_unverified(policy: &Policy, plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (registry, known) in &plan.selection.registries {
        for host in known.list_hosts().filter(|host| host.skip_verify) {
            let name = host.url.host();
            if is_loopback(&name) || policy.allows_unproven_host(&name) {
                continue;
            }
            let message = format!(
                "`skipVerify` of {}: whoever is between a node and the host could answer",
                host.url
            );
            let remedy = format!(
                "give the certificate of its authority as `ca`, or accept it: `--allow-http {name}`"
            );
            let finding = Finding::new(Code::UNVERIFIED_REGISTRY, message, remedy);
            findings.push(finding.with_subject(format!("registry {registry}")));
        }
    }
    findings
}
