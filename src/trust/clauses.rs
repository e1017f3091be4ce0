//! Clauses of a policy about components, hosts, versions, base images, proxies, publishers and roots.

use serde_json::Value;

use crate::base::code::Code;
use crate::base::json::format_plain;
use crate::base::url::parse_host;
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::model::evidence::{Evidence, ProofKind};
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::policy::{AllowedBaseImage, Policy, Role, matches_host, matches_pattern};

use super::subject::{Subject, SubjectSource};

/// A version that `allowedVersions` does not have for the subject.
pub(super) fn check_version(policy: &Policy, subject: &Subject<'_>) -> Option<Finding> {
    let version = subject.version?;
    let mut rules = policy.allowed_versions.iter();
    let broken = rules.find(|rule| {
        let mut names = rule.components.iter();
        !rule.versions.contains(version) && names.any(|pattern| subject.is_named(pattern))
    })?;
    let message = format!("its version is not in `{}`", broken.versions);
    let remedy = format!("choose a version in `{}`", broken.versions);
    Some(Finding::new(Code::POLICY_ALLOWED_VERSIONS, message, remedy).with_subject(&subject.title))
}

/// A base image that no entry of `allowedBaseImages` has.
pub(super) fn check_base_image(policy: &Policy, plan: &Plan) -> Option<Finding> {
    let allowed = policy.allowed_base_images.as_ref()?;
    let variables = plan.target.variables.iter();
    let names: Vec<&str> = variables
        .filter(|variable| variable.base_image)
        .map(|variable| variable.name.as_str())
        .collect();
    if names.is_empty() || allowed.iter().any(|entry| is_allowed(entry, plan, &names)) {
        return None;
    }
    let mut stated = Vec::new();
    for name in names {
        if let Some(value) = find_value(plan, name) {
            stated.push(format!("{name}={}", list_texts(value).join(",")));
        }
    }
    let message = format!("the policy has no base image `{}`", stated.join(" "));
    let remedy = "choose a base image of the policy, or add an entry to `allowedBaseImages`";
    Some(
        Finding::new(Code::POLICY_ALLOWED_BASE_IMAGES, message, remedy)
            .with_subject(&plan.target.name),
    )
}

fn is_allowed(entry: &AllowedBaseImage, plan: &Plan, names: &[&str]) -> bool {
    let values = &entry.variables;
    entry.target == plan.target.name
        && names
            .iter()
            .all(|name| match (find_value(plan, name), values.get(*name)) {
                (None, None) => true,
                (Some(value), Some(patterns)) => is_value_allowed(value, patterns),
                (None, Some(_)) | (Some(_), None) => false,
            })
}

fn is_value_allowed(value: &Value, patterns: &[String]) -> bool {
    let texts = list_texts(value);
    !texts.is_empty()
        && texts
            .iter()
            .all(|text| patterns.iter().any(|it| matches_pattern(it, text)))
}

/// The value of a variable; an empty text is none.
fn find_value<'a>(plan: &'a Plan, name: &str) -> Option<&'a Value> {
    let value = plan.variables.get(name);
    value.filter(|value| !value.is_null() && *value != "")
}

fn list_texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(format_plain).collect(),
        other => vec![format_plain(other)],
    }
}

/// A subject that `forbiddenRoles` or `forbiddenComponents` names.
pub(super) fn check_forbidden(
    policy: &Policy,
    subject: &Subject<'_>,
    catalog: &Catalog,
) -> Option<Finding> {
    let remedy = match subject.name.as_str() {
        "wins" => "choose `--host-access services` or `hostprocess`".to_owned(),
        name => {
            format!("choose an image without it (`imagegen explain {name}` shows what needs it)")
        }
    };
    let forbidden = &policy.forbidden_components;
    // A file of the definition's may be a component's, whatever it is called.
    let known: Vec<String> = match subject.role {
        Role::Update | Role::VolumePlugin if !forbidden.is_empty() => {
            let pins = subject
                .digests
                .iter()
                .filter_map(|digest| catalog.find_pins(digest.as_str()).ok());
            pins.flatten().map(|(component, _)| component).collect()
        }
        _ => Vec::new(),
    };
    if policy.forbidden_roles.contains(&subject.role) {
        let role = subject.role.as_str();
        let message = format!("the policy forbids the role `{role}`");
        let finding = Finding::new(
            Code::POLICY_FORBIDDEN_ROLES,
            message,
            "choose an image without it",
        );
        return Some(finding.with_subject(&subject.title));
    }
    forbidden
        .iter()
        .any(|pattern| {
            subject.is_named(pattern) || known.iter().any(|name| matches_pattern(pattern, name))
        })
        .then(|| {
            Finding::new(
                Code::POLICY_FORBIDDEN_COMPONENTS,
                "the component is forbidden",
                remedy,
            )
            .with_subject(&subject.title)
        })
}

/// Hosts that `allowedHosts` does not name.
pub(super) fn check_hosts(policy: &Policy, subject: &Subject<'_>) -> Vec<Finding> {
    let Some(allowed) = policy.hosts() else {
        return Vec::new();
    };
    if subject.role == Role::Update && matches!(subject.origin, SubjectSource::Platform(_)) {
        let remedy = "give updates as files with their digests (`updates.files`)";
        let message = "Windows Update decides which hosts they come from";
        return vec![
            Finding::new(Code::POLICY_ALLOWED_HOSTS, message, remedy).with_subject(&subject.title),
        ];
    }
    let mut findings = Vec::new();
    for host in subject.asked_hosts(&policy.mirrors) {
        if allowed.allows_host(&host) {
            continue;
        }
        let remedy = match subject.role {
            Role::ContainerImage => format!(
                "use images and mirrors of allowed registries (`containerImages`, `mirrors`), or add {host} to `allowedHosts`"
            ),
            _ => format!(
                "serve it from your own host: `--mirror https://{host}/=URL`, or `--mirror URL` for all hosts"
            ),
        };
        let message = format!("it comes from {host}");
        findings.push(
            Finding::new(Code::POLICY_ALLOWED_HOSTS, message, remedy).with_subject(&subject.title),
        );
    }
    findings
}

/// Proxies of the node that `allowedProxies` does not name.
pub(super) fn check_proxies(policy: &Policy, plan: &Plan) -> Vec<Finding> {
    let Some(allowed) = &policy.allowed_proxies else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for proxy in plan.proxy.http.iter().chain(&plan.proxy.https) {
        let host = parse_host(proxy);
        if !allowed.iter().any(|pattern| matches_host(pattern, &host)) {
            let message = format!("the node would use the proxy {proxy}");
            let remedy = "remove the proxy, or add its host to `allowedProxies`";
            findings.push(
                Finding::new(Code::POLICY_ALLOWED_PROXIES, message, remedy).with_subject("proxy"),
            );
        }
    }
    findings
}

pub(super) fn check_roots(
    policy: &Policy,
    artifact: &PlannedArtifact,
    evidence: &[Evidence],
) -> Vec<Finding> {
    let Some(allowed) = &policy.allowed_roots else {
        return Vec::new();
    };
    let signed = evidence
        .iter()
        .filter(|proof| proof.proof == ProofKind::Authenticode);
    let roots = signed.filter_map(|proof| proof.facts.get("rootSha256"));
    let refused = roots.filter(|root| !allowed.iter().any(|ok| ok.as_str() == root.as_str()));
    refused
        .map(|root| {
            let remedy = format!(
                "add the root to the policy, or override {} with a build of your own",
                artifact.component
            );
            Finding::new(
                Code::POLICY_ALLOWED_ROOTS,
                format!("its Authenticode chain ends in {root}"),
                remedy,
            )
            .with_subject(artifact.title())
        })
        .collect()
}

pub(super) fn check_publisher(policy: &Policy, artifact: &PlannedArtifact) -> Option<Finding> {
    let allowed = policy.allowed_publishers.as_ref()?;
    let publisher = &artifact.authenticode.as_ref()?.publisher;
    (!allowed.contains(publisher)).then(|| {
        Finding::new(
            Code::POLICY_ALLOWED_PUBLISHERS,
            format!("it is signed by `{publisher}`"),
            "add the publisher to the policy, or override the component with a build of your own"
                .to_owned(),
        )
        .with_subject(artifact.title())
    })
}
