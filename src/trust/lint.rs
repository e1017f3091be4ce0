//! Faults of a policy without effect: names that never select anything, lists without members.

use crate::base::code::Code;
use crate::base::names::format_suggestion;
use crate::base::text::{is_digits, is_hex};
use crate::base::value::{Sha256, Sha512};
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::model::component::{ChecksumFile, Confidence, DeclaredSignature};
use crate::model::evidence::ProofKind;
use crate::model::plan::Plan;
use crate::model::policy::{BAKED_IMAGE, Policy, Requirement, TrustScope, Waiver, matches_pattern};
use crate::windows::value::KbId;

use super::gate::{PolicyError, PolicyFault};
use super::waived::list_dropped;

/// Refuses a policy with rules that have no effect. `names` are the components, groups and programs of the catalog.
///
/// # Errors
/// All findings at once.
pub fn check_policy(policy: &Policy, names: &[String]) -> Result<(), PolicyError> {
    let forbidden = &policy.forbidden_components;
    let mut findings = Vec::new();

    for rule in &policy.require {
        findings.extend(find_idle_rule(rule, names));
    }
    if policy.name.trim().is_empty() {
        findings.push(report(
            "name",
            "the policy has no name",
            "name it: errors and lockfiles say which policy held",
        ));
    }
    findings.extend(find_repeated(policy));
    findings.extend(find_unknown("forbiddenComponents", forbidden, names));
    for allowed in &policy.allowed_versions {
        findings.extend(find_unknown("allowedVersions", &allowed.components, names));
    }
    findings.extend(find_idle_waivers(&policy.waivers, names));
    findings.extend(find_empty_lists(policy));
    findings.extend(find_malformed_trust(policy));
    findings.extend(find_idle_scopes(policy, names));
    findings.extend(find_empty_ranges(policy));
    findings.extend(find_low_minimums(policy));
    findings.extend(find_malformed_publishers(policy));

    PolicyFault::Malformed.refuse(policy, findings)
}

/// A requirement that has no name, demands nothing or selects nothing.
fn find_idle_rule(rule: &Requirement, names: &[String]) -> Vec<Finding> {
    let field = format!("require {}", rule.id);
    let mut findings = find_unknown(&field, &rule.components, names);

    if rule.id.trim().is_empty() {
        findings.push(report(
            "require",
            "a rule has no id",
            "name it: errors say which rule is not met",
        ));
    }
    if rule.any_of.is_empty() {
        findings.push(report(
            &field,
            "`anyOf` names no proof",
            "name at least one proof",
        ));
    }
    if rule.components.is_empty() && rule.roles.is_empty() && rule.hosts.is_empty() {
        findings.push(report(
            &field,
            "it selects nothing",
            "name `components`, `roles` or `hosts`",
        ));
    }
    findings
}

/// Waivers of components that do not exist, and of proofs that are inside the file.
fn find_idle_waivers(waivers: &[Waiver], names: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for waiver in waivers {
        if !names.contains(&waiver.component) {
            findings.push(report(
                "waivers",
                &format!("no component is named `{}`", waiver.component),
                &suggest_name(&waiver.component, names),
            ));
        }
        if !waiver.proof.is_waivable() {
            let proof = waiver.proof.as_str();
            findings.push(report(
                "waivers",
                &format!(
                    "{proof} of {} is no file that can be missing",
                    waiver.component
                ),
                "name a checksum file or a detached signature",
            ));
        }
    }
    findings
}

/// Lists that allow nothing at all.
fn find_empty_lists(policy: &Policy) -> Vec<Finding> {
    let lengths = [
        ("allowedHosts", policy.allowed_hosts.as_ref().map(Vec::len)),
        (
            "allowedPublishers",
            policy.allowed_publishers.as_ref().map(Vec::len),
        ),
        ("allowedRoots", policy.allowed_roots.as_ref().map(Vec::len)),
    ];
    let mut findings = Vec::new();
    for (field, length) in lengths {
        if length == Some(0) {
            findings.push(report(
                field,
                "the list is empty",
                "add a member, or remove the list",
            ));
        }
    }
    findings
}

/// Publishers that no certificate's subject can match.
fn find_malformed_publishers(policy: &Policy) -> Vec<Finding> {
    let mut findings = Vec::new();
    for publisher in policy.allowed_publishers.iter().flatten() {
        if let Some((key, value)) = publisher.split_once('=')
            && !key.trim().is_empty()
            && !value.trim().is_empty()
        {
            continue;
        }
        findings.push(report(
            "allowedPublishers",
            &format!("`{publisher}` is not a publisher"),
            "write attributes of the certificate's subject, such as `O=Example Inc,CN=Example Inc`",
        ));
    }
    findings
}

/// A waiver of the command line that accepts nothing: no such component declares such a proof.
pub fn find_idle_waiver<'a>(
    waivers: &'a [Waiver],
    plan: &Plan,
    catalog: &Catalog,
) -> Option<&'a Waiver> {
    let is_declared =
        |checksums: &[ChecksumFile], signatures: &[DeclaredSignature], proof: ProofKind| {
            let kinds = checksums.iter().map(|_| ProofKind::ChecksumFile);
            kinds
                .chain(signatures.iter().map(|one| one.kind.proof_kind()))
                .any(|kind| kind == proof)
        };
    let mut declared = waivers
        .iter()
        .filter(|waiver| waiver.proof != ProofKind::Statement);
    declared.find(
        |Waiver {
             component, proof, ..
         }| {
            let mut planned = plan
                .artifacts()
                .filter(|artifact| artifact.component == component.as_str());
            let known = catalog.load_component(component).ok();
            let mut releases = known
                .iter()
                .flat_map(|component| &component.definition.releases);
            let is_embedded = *proof == ProofKind::Authenticode;
            !planned.any(|artifact| {
                list_dropped(artifact, catalog).contains(proof)
                    || is_declared(&artifact.checksums, &artifact.signatures, *proof)
            }) && !releases.any(|release| {
                is_embedded && release.authenticode.is_some()
                    || is_declared(&release.checksums, &release.signatures, *proof)
            })
        },
    )
}

/// Patterns without members. Files and images of a definition have names of their own: `KB…`,
/// `VENDOR~DRIVER/FILE`, `REGISTRY/NAME`.
fn find_unknown(field: &str, patterns: &[String], names: &[String]) -> Vec<Finding> {
    let unknown = patterns.iter().filter(|pattern| {
        let is_own = pattern.contains(['~', '/']) || names_update(pattern);
        !is_own && !names.iter().any(|name| matches_pattern(pattern, name))
    });
    unknown
        .map(|pattern| {
            report(
                field,
                &format!("no component or program is named `{pattern}`"),
                &suggest_name(pattern, names),
            )
        })
        .collect()
}

fn suggest_name(written: &str, names: &[String]) -> String {
    format_suggestion(written, names.iter().map(String::as_str))
}

fn names_update(pattern: &str) -> bool {
    let Some(start) = pattern.strip_suffix('*') else {
        return pattern.parse::<KbId>().is_ok();
    };
    start
        .strip_prefix("KB")
        .is_some_and(|digits| digits.len() <= 7 && !digits.starts_with('0') && is_digits(digits))
}

/// Digests, fingerprints and grants that can never fit anything.
fn find_malformed_trust(policy: &Policy) -> Vec<Finding> {
    let keys = policy
        .trusted_keys
        .iter()
        .map(|own| &own.key)
        .filter(|key| ![40, 64].contains(&key.len()) || !is_hex(key));
    let keys = keys.map(|key| {
        let remedy =
            "write the 64 hexadecimal digits of a SHA-256, or the 40 of an OpenPGP fingerprint";
        report(
            "trustedKeys",
            &format!("`{key}` is not the digest of a key"),
            remedy,
        )
    });
    // The digest of an empty file is what a broken download leaves.
    let digests = policy
        .trusted_digests
        .iter()
        .map(|own| &own.digest)
        .filter(|digest| {
            let digest = digest.to_ascii_lowercase();
            digest.parse::<Sha256>().is_err() && digest.parse::<Sha512>().is_err()
        });
    let digests = digests.map(|digest| {
        let remedy = "write the 64 hexadecimal digits of a SHA-256, or the 128 of a SHA-512";
        report(
            "trustedDigests",
            &format!("`{digest}` is not the digest of a file"),
            remedy,
        )
    });
    let signers = policy
        .trusted_identities
        .iter()
        .filter(|it| it.identity.is_empty() || it.issuer.is_empty());
    let signers = signers.map(|it| {
        let message = format!("`{}` of `{}` is not a signer", it.identity, it.issuer);
        report(
            "trustedIdentities",
            &message,
            "name both identity and issuer",
        )
    });
    let mut findings: Vec<Finding> = keys.chain(digests).chain(signers).collect();
    for grant in &policy.header_grants {
        if grant.environment.is_empty() || grant.environment.contains('=') || grant.hosts.is_empty()
        {
            let remedy = "name the environment variable and the hosts that receive it";
            findings.push(report(
                "headerGrants",
                "a grant has no variable or no hosts",
                remedy,
            ));
        }
    }
    findings
}

/// Scopes of everything that the policy trusts, with the field that names it.
fn list_scopes(policy: &Policy) -> Vec<(&'static str, TrustScope<'_>)> {
    let mut scopes = Vec::new();
    scopes.extend(
        policy
            .trusted_keys
            .iter()
            .map(|own| ("trustedKeys", own.scope())),
    );
    let identities = policy.trusted_identities.iter();
    scopes.extend(identities.map(|own| ("trustedIdentities", own.scope())));
    let publishers = policy.trusted_publishers.iter();
    scopes.extend(publishers.map(|own| ("trustedPublishers", own.scope())));
    let digests = policy.trusted_digests.iter();
    scopes.extend(digests.map(|own| ("trustedDigests", own.scope())));
    scopes
}

/// Trust for nothing, and digests that are trusted for anything.
fn find_idle_scopes(policy: &Policy, names: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (field, scope) in list_scopes(policy) {
        if scope.components.is_empty() {
            let remedy = "name what it is trusted for, such as `\"components\": [\"kubelet\"]`";
            findings.push(report(field, "an entry names no component", remedy));
        }
        if field == "trustedDigests" && scope.components.iter().any(|name| name == "*") {
            let remedy = "name the component or the file that has these bytes";
            findings.push(report(field, "one file is not every component", remedy));
        }
        // Files of the user's own are called by their paths, and the baked image is no component.
        let patterns = scope.components.iter().filter(|name| !is_own_file(name));
        let patterns: Vec<String> = patterns.cloned().collect();
        findings.extend(find_unknown(field, &patterns, names));
    }
    findings
}

fn is_own_file(name: &str) -> bool {
    name == BAKED_IMAGE
        || name.starts_with("--")
        || [".json", ".hcl"].iter().any(|end| name.ends_with(end))
}

/// Ranges of versions that no version fits.
fn find_empty_ranges(policy: &Policy) -> Vec<Finding> {
    let rules = policy.require.iter();
    let rules = rules.map(|rule| (format!("require {}", rule.id), rule.versions.as_ref()));
    let allowed = policy.allowed_versions.iter();
    let allowed = allowed.map(|it| ("allowedVersions".to_owned(), Some(&it.versions)));
    let scopes = list_scopes(policy).into_iter();
    let scopes = scopes.map(|(field, scope)| (field.to_owned(), scope.versions));
    let empty = rules
        .chain(scopes)
        .chain(allowed)
        .filter_map(|(field, range)| Some((field, range?)))
        .filter(|(_, range)| !range.overlaps(range));
    empty
        .map(|(field, range)| {
            let message = format!("no version fits `{range}`");
            report(&field, &message, "write a range that some version fits")
        })
        .collect()
}

/// Minimums that everything reaches, or that nothing is compared with.
fn find_low_minimums(policy: &Policy) -> Vec<Finding> {
    let verdict = policy.minimum_verdict.filter(|verdict| !verdict.holds());
    let verdict = verdict.map(|verdict| {
        let message = format!(
            "`{}` is not the verdict of a proof that holds",
            verdict.as_str()
        );
        report(
            "minimumVerdict",
            &message,
            "write `verified` or `signed-time-unproven`",
        )
    });
    let counts_proofs = !policy.require.is_empty() || policy.minimum_confidence.is_some();
    let idle = policy.minimum_verdict.filter(|_| !counts_proofs);
    let idle = idle.map(|_| {
        report(
            "minimumVerdict",
            "no proof is required, so that no verdict is compared with it",
            "add a rule to `require`, or `minimumConfidence`",
        )
    });
    let confidence = policy
        .minimum_confidence
        .filter(|confidence| *confidence < Confidence::Low);
    let confidence = confidence.map(|confidence| {
        let message = format!(
            "digests that are `{}` never pin anything",
            confidence.as_str()
        );
        report(
            "minimumConfidence",
            &message,
            "write `low`, `medium`, `high` or `authoritative`",
        )
    });
    verdict.into_iter().chain(idle).chain(confidence).collect()
}

fn find_repeated(policy: &Policy) -> Vec<Finding> {
    let rules = &policy.require;
    let repeated = rules
        .iter()
        .enumerate()
        .filter(|(at, rule)| rules[..*at].iter().any(|other| other.id == rule.id));
    repeated
        .map(|(_, rule)| {
            report(
                &format!("require {}", rule.id),
                "two rules have this id",
                "give each its own",
            )
        })
        .collect()
}

fn report(field: &str, message: &str, remedy: &str) -> Finding {
    Finding::new(Code::POLICY, message, remedy).with_subject(field)
}
