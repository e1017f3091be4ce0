//! Anchors: keys, signers, roots and publishers by which a signature holds.
//!
//! The catalog names its own. Under a policy, one that an override names counts only if the policy names it, too.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::embedded::Tree;
use crate::model::component::{Authenticode, DeclaredSignature, SignatureKind};
use crate::model::overrides::Overrides;
use crate::model::plan::{Plan, PlannedArtifact, Warning};
use crate::model::policy::Policy;
use crate::resolve::plan_artifact;

use super::own_files::{has_own_definition, has_own_pins, replaces_component};
use super::subject::Subject;

/// Key, identity or certificate that a signature is held against.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anchor {
    /// SHA-256 of a public key.
    Key(String),
    /// Fingerprint of an OpenPGP key.
    OpenPgpKey(String),
    Identity {
        identity: String,
        issuer: String,
    },
    /// SHA-256 of a certificate.
    Root(String),
    /// Subject of an Authenticode signer.
    Publisher(String),
}

impl Anchor {
    /// As messages name it.
    pub fn describe(&self) -> String {
        match self {
            Self::Key(sha256) => format!("the key with SHA-256 {sha256}"),
            Self::OpenPgpKey(fingerprint) => format!("the OpenPGP key {fingerprint}"),
            Self::Identity { identity, issuer } => format!("the signer {identity} of {issuer}"),
            Self::Root(sha256) => format!("the root with SHA-256 {sha256}"),
            Self::Publisher(publisher) => format!("the publisher `{publisher}`"),
        }
    }

    /// The clause of a policy that names such anchors: its code, its field, and the entry to add.
    fn policy_entry(&self, component: &str) -> (Code, &'static str, String) {
        let named = format!(r#""components": ["{component}"]"#);
        match self {
            Self::Key(text) | Self::OpenPgpKey(text) => (
                Code::POLICY_TRUSTED_KEYS,
                "trustedKeys",
                format!(r#"{{"key": "{text}", {named}}}"#),
            ),
            Self::Identity { identity, issuer } => (
                Code::POLICY_TRUSTED_IDENTITIES,
                "trustedIdentities",
                format!(r#"{{"identity": "{identity}", "issuer": "{issuer}", {named}}}"#),
            ),
            Self::Root(sha256) => (
                Code::POLICY_ALLOWED_ROOTS,
                "allowedRoots",
                format!("\"{sha256}\""),
            ),
            Self::Publisher(publisher) => (
                Code::POLICY_TRUSTED_PUBLISHERS,
                "trustedPublishers",
                format!(r#"{{"publisher": "{publisher}", {named}}}"#),
            ),
        }
    }

    /// Whether the policy names it, and names it for this subject. A publisher's name without the roots that vouch
    /// for it is no anchor.
    fn is_trusted(&self, policy: &Policy, subject: &Subject<'_>) -> bool {
        let roots = policy.allowed_roots.as_deref();
        match self {
            Self::Key(text) | Self::OpenPgpKey(text) => policy
                .trusted_keys
                .iter()
                .any(|own| own.key.eq_ignore_ascii_case(text) && subject.is_within(own.scope())),
            Self::Identity { identity, issuer } => policy.trusted_identities.iter().any(|own| {
                own.identity == *identity && own.issuer == *issuer && subject.is_within(own.scope())
            }),
            Self::Root(sha256) => {
                roots.is_some_and(|roots| roots.iter().any(|own| own.as_str() == sha256))
            }
            Self::Publisher(publisher) => {
                let mut named = policy.trusted_publishers.iter();
                roots.is_some()
                    && named
                        .any(|own| own.publisher == *publisher && subject.is_within(own.scope()))
            }
        }
    }
}

/// The artifact as the program's catalog publishes it, without overrides. A component file of the user's own is not
/// the program's.
fn plan_published(artifact: &PlannedArtifact, catalog: &Catalog) -> Option<PlannedArtifact> {
    if has_own_definition(artifact, catalog) {
        return None;
    }
    plan_component(artifact, catalog)
}

pub(super) fn plan_component(
    artifact: &PlannedArtifact,
    catalog: &Catalog,
) -> Option<PlannedArtifact> {
    let component = catalog.load_component(&artifact.component).ok()?;
    plan_artifact(&component, &artifact.version, &Overrides::new())
        .ok()
        .map(|(published, _)| published)
}

/// Anchors of an artifact that its component in the catalog does not name.
pub fn list_own_anchors(artifact: &PlannedArtifact, catalog: &Catalog) -> Vec<Anchor> {
    let anchors = list_anchors(artifact, catalog.tree());
    if anchors.is_empty() {
        return Vec::new();
    }
    let published = plan_published(artifact, catalog);
    let known = published
        .map(|published| list_anchors(&published, catalog.tree()))
        .unwrap_or_default();
    anchors.difference(&known).cloned().collect()
}

/// Whether an override declares proofs, or the publisher does so of bytes that a file of the user's pins: these are
/// asked for even if a digest is pinned.
pub fn declares_own_proof(artifact: &PlannedArtifact, catalog: &Catalog) -> bool {
    if has_own_pins(artifact, catalog) && has_proofs(artifact) {
        return true;
    }
    let published = plan_published(artifact, catalog);
    let known = published
        .map(|published| published.checksums)
        .unwrap_or_default();
    // A mirror keeps the names of its files.
    let known: Vec<&str> = known.iter().map(|file| file.url.file_name()).collect();
    let mut checksums = artifact.checksums.iter();
    checksums.any(|file| !known.contains(&file.url.file_name()))
        || !list_own_anchors(artifact, catalog).is_empty()
}

fn has_proofs(artifact: &PlannedArtifact) -> bool {
    artifact.is_signed() || !artifact.checksums.is_empty()
}

fn list_anchors(artifact: &PlannedArtifact, tree: &Tree) -> BTreeSet<Anchor> {
    let signatures = artifact
        .signatures
        .iter()
        .flat_map(|signature| list_signers(signature, tree));
    signatures
        .chain(artifact.authenticode.iter().flat_map(list_roots))
        .collect()
}

fn list_signers(signature: &DeclaredSignature, tree: &Tree) -> Vec<Anchor> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let keys = || {
        digest_keys(&text(&signature.key), tree)
            .into_iter()
            .map(Anchor::Key)
            .collect()
    };
    match signature.kind {
        SignatureKind::Openpgp | SignatureKind::OpenpgpOverChecksums => {
            let fingerprint = text(&signature.identity).to_ascii_lowercase();
            vec![Anchor::OpenPgpKey(fingerprint.replace([' ', ':'], ""))]
        }
        SignatureKind::SigstoreBundle
            if signature.key.is_some() && signature.identity.is_none() =>
        {
            keys()
        }
        SignatureKind::CosignKeyless
        | SignatureKind::GithubAttestation
        | SignatureKind::SigstoreBundle => {
            vec![Anchor::Identity {
                identity: text(&signature.identity),
                issuer: text(&signature.issuer),
            }]
        }
        SignatureKind::CosignKey
        | SignatureKind::CosignKeyOverChecksums
        | SignatureKind::Minisign
        | SignatureKind::MinisignOverChecksums => keys(),
    }
}

fn list_roots(authenticode: &Authenticode) -> Vec<Anchor> {
    let roots = authenticode.roots.iter().flat_map(|pem| decode_pem(pem));
    let roots = roots.map(|der| Anchor::Root(sha256_hex(&der)));
    roots
        .chain([Anchor::Publisher(authenticode.publisher.clone())])
        .collect()
}

/// SHA-256 of each key of a text, or of the catalog's key of this name.
fn digest_keys(text: &str, tree: &Tree) -> Vec<String> {
    let named = find_named_key(text, tree);
    let text = named.as_deref().unwrap_or(text);
    let keys = decode_pem(text);
    if !keys.is_empty() {
        return keys.iter().map(|key| sha256_hex(key)).collect();
    }
    let minisign = text
        .lines()
        .rev()
        .find_map(|line| STANDARD.decode(line.trim()).ok());
    vec![sha256_hex(
        &minisign
            .filter(|key| key.len() == 42)
            .unwrap_or_else(|| text.as_bytes().to_vec()),
    )]
}

fn find_named_key(name: &str, tree: &Tree) -> Option<String> {
    let list: Value = tree.read_json("trust/keys.json").ok().flatten()?;
    let key = list.as_array()?.iter().find(|key| key["name"] == name)?;
    let bytes = tree.get(&format!("trust/{}", key["file"].as_str()?))?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// Content of each PEM block.
fn decode_pem(text: &str) -> Vec<Vec<u8>> {
    let blocks = text
        .split("-----BEGIN ")
        .skip(1)
        .filter_map(|block| block.split_once("-----"));
    let bodies = blocks.filter_map(|(_, rest)| rest.split_once("-----END ").map(|(body, _)| body));
    bodies
        .filter_map(|body| {
            let base64: String = body.split_ascii_whitespace().collect();
            STANDARD.decode(base64).ok()
        })
        .collect()
}

/// Anchors that neither the catalog nor the policy names.
pub(super) fn check_anchors(
    policy: &Policy,
    artifact: &PlannedArtifact,
    catalog: &Catalog,
) -> Vec<Finding> {
    // The policy names the file of a component of the user's own, and so what stands in it.
    let known = if has_own_definition(artifact, catalog) {
        plan_component(artifact, catalog)
    } else {
        None
    };
    let known = known
        .map(|known| list_anchors(&known, catalog.tree()))
        .unwrap_or_default();
    let own = list_own_anchors(artifact, catalog)
        .into_iter()
        .filter(|anchor| !known.contains(anchor));
    let subject = Subject::from_artifact(artifact);
    let refused = own.filter(|anchor| !anchor.is_trusted(policy, &subject));
    refused
        .map(|anchor| {
            let (code, field, entry) = anchor.policy_entry(&artifact.component);
            let mut remedy = format!(
                "add it to the policy (`\"{field}\": [{entry}]`), or remove it from the override of {}",
                artifact.component
            );
            if matches!(anchor, Anchor::Publisher(_)) && policy.allowed_roots.is_none() {
                remedy += "; a publisher counts together with `allowedRoots`";
            }
            let message = format!(
                "an override uses {}, which the policy does not trust for {}",
                anchor.describe(),
                artifact.component
            );
            Finding::new(code, message, remedy).with_subject(artifact.title())
        })
        .collect()
}

/// Anchors that overrides name, where no policy decides about them.
#[must_use]
pub fn warn_own_anchors(plan: &Plan, catalog: &Catalog) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if plan.selection.overrides.is_empty() && catalog.tree().own_files().is_empty() {
        return warnings;
    }
    for artifact in plan.artifacts() {
        if replaces_component(artifact, catalog) {
            let title = artifact.title();
            let message = if has_own_definition(artifact, catalog) {
                format!(
                    "{title} is described by a component file of your own in the place of the program's: it states \
                     the address, the digests and their sources"
                )
            } else {
                format!(
                    "{title} is pinned by a file of your own in the place of the program's: it states the digests \
                     and their sources, and may state the address"
                )
            };
            warnings.push(Warning::new(
                Code::OWN_COMPONENT,
                artifact.component.to_string(),
                message,
            ));
        }
        for anchor in list_own_anchors(artifact, catalog) {
            warnings.push(Warning {
                id: Code::OWN_ANCHOR.into(),
                subject: artifact.component.to_string(),
                message: format!(
                    "{} is verified by {}, which the image definition chooses",
                    artifact.title(),
                    anchor.describe()
                ),
            });
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_by_its_content() {
        let tree = Tree::embedded_manifests();
        let pem = "-----BEGIN PUBLIC KEY-----\nMFkw\nEwYH\n-----END PUBLIC KEY-----\n";
        let wide = pem.replace("MFkw\nEwYH", "MFkwEwYH").replace('\n', "\r\n");
        assert_eq!(digest_keys(pem, &tree), digest_keys(&wide, &tree));
        let two = format!("{pem}{}", pem.replace("MFkw", "MFkx"));
        assert_eq!(
            digest_keys(&two, &tree).len(),
            2,
            "each key of a file is an anchor"
        );
        let minisign = format!("RW{}", "A".repeat(54));
        let commented = format!("untrusted comment: one\n{minisign}\n");
        assert_eq!(
            digest_keys(&minisign, &tree),
            digest_keys(&commented, &tree)
        );
        assert_ne!(
            digest_keys("hashicorp", &tree),
            digest_keys("hashicorp2", &tree)
        );
    }
}
