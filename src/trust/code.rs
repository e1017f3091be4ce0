//! Code that is not the catalog's: tools of the building machine, scripts and files of the user's own.

use crate::base::code::Code;
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::model::mirrors::Mirrors;
use crate::model::overrides::Overrides;
use crate::model::plan::{ArtifactRole, PlannedArtifact};
use crate::model::policy::{Policy, Role};
use crate::resolve::{BuildHost, plan_tool};

use super::confidence::{format_trusted, is_trusted_digest};
use super::gate::{PolicyError, PolicyFault};
use super::own_texts::FRAGMENTS;
use super::subject::{Subject, SubjectSource};

/// A tool runs with the cloud's credentials: its bytes are the catalog's, or those that the policy names.
pub(super) fn check_tool_bytes(
    policy: &Policy,
    artifact: &PlannedArtifact,
    catalog: &Catalog,
) -> Option<Finding> {
    if artifact.role != ArtifactRole::BuildTool {
        return None;
    }
    let subject = Subject::from_artifact(artifact);
    let component = catalog.load_component(&artifact.component).ok();
    if artifact.digests.is_empty()
        && artifact.signatures.is_empty()
        && !is_published(artifact, &policy.mirrors, catalog)
    {
        let message = "an override brings a program that runs on the building machine, and neither a digest nor a \
                       signature attests it";
        let remedy =
            "give its digest in the override, and add it to the policy: `\"trustedDigests\": […]`";
        return Some(
            Finding::new(Code::POLICY_TRUSTED_DIGESTS, message, remedy)
                .with_subject(artifact.title()),
        );
    }
    let own = artifact.digests.iter().find(|own| {
        let mut pins = component
            .iter()
            .flat_map(|component| component.pins.find_digest(own.digest.as_str()));
        !pins.any(|pin| pin.is_usable())
            && !is_trusted_digest(policy, own.digest.as_str(), &subject)
    })?;
    Some(report_untrusted(
        &subject,
        "an override brings a program that runs on the building machine",
        own.digest.as_str(),
    ))
}

/// Whether a tool comes from where its publisher has it, with the checksum files that the catalog names.
fn is_published(artifact: &PlannedArtifact, mirrors: &Mirrors, catalog: &Catalog) -> bool {
    let mut sums = artifact.checksums.iter();
    // Whoever runs a mirror has both the program and its checksums.
    if mirrors.find(&artifact.url).is_some() || sums.any(|file| mirrors.find(&file.url).is_some()) {
        return false;
    }
    let Ok(component) = catalog.load_component(&artifact.component) else {
        return false;
    };
    let this = BuildHost::host();
    std::iter::once(&this).chain(BuildHost::ALL).any(|host| {
        let published = plan_tool(&component, &artifact.version, *host, &Overrides::new());
        published.is_ok_and(|published| {
            published.url == artifact.url && published.checksums == artifact.checksums
        })
    })
}

/// Scripts and files of the user's own run as administrator in the guest, or on the building machine; containerd runs
/// what its configuration names, and trusts certificates.
pub(super) fn check_own_code(policy: &Policy, subject: &Subject<'_>) -> Option<Finding> {
    let signed = subject.role == Role::GuestScript && policy.signed_scripts.is_some();
    if signed || !subject.needs_trust() {
        return None;
    }
    let digest = subject
        .digests
        .iter()
        .find(|it| !is_trusted_digest(policy, it.as_str(), subject))?;
    let reason = match subject.role {
        Role::Certificate => "nodes would trust what it signs",
        _ if subject.name == FRAGMENTS => {
            "containerd would run programs and ask hosts that it names"
        }
        _ => "its code is not imagegen's",
    };
    Some(report_untrusted(subject, reason, digest.as_str()))
}

fn report_untrusted(subject: &Subject<'_>, reason: &str, digest: &str) -> Finding {
    let remedy = format!(
        "verify it and add it to the policy: `\"trustedDigests\": [{}]`",
        format_trusted(subject, digest)
    );
    let message = format!("{reason} (SHA-256 {digest}), and the policy does not trust it");
    Finding::new(Code::POLICY_TRUSTED_DIGESTS, message, remedy).with_subject(&subject.title)
}

/// The program that the user names with `--packer`.
///
/// # Errors
/// The policy does not name its digest.
pub fn check_own_tool(policy: &Policy, path: &str, sha256: &str) -> Result<(), PolicyError> {
    let subject = Subject {
        title: format!("--packer {path}"),
        ..Subject::new(Role::BuildTool, "packer", SubjectSource::Given)
    };
    if is_trusted_digest(policy, sha256, &subject) {
        return Ok(());
    }
    let reason = "it runs on the building machine with the credentials of the build";
    let finding = report_untrusted(&subject, reason, sha256);
    PolicyFault::Selection.refuse(policy, vec![finding])
}
