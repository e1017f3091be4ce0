//! Anchors: keys, signers, roots and publishers by which a signature holds.
//!
//! The catalog names its own. Under a policy, one that an override names counts only if the policy names it, too.

use std::collections::BTreeSet;

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::public_key::{CosignKey, MinisignKey, decode_certificates, parse_fingerprint};
use crate::catalog::{Catalog, Keys};
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
    fn policy_entry(&self, subject: &Subject<'_>) -> (Code, &'static str, String) {
        let trusted = subject.list_trusted_names().join(r#"", ""#);
        let named = format!(r#""components": ["{trusted}"]"#);
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
    // A list that cannot be read is an error wherever a signature is verified.
    let keys = Keys::load(tree).unwrap_or_default();
    let mut anchors = BTreeSet::new();
    for signature in &artifact.signatures {
        anchors.insert(find_signer(signature, &keys));
    }
    anchors.extend(artifact.authenticode.iter().flat_map(list_roots));
    anchors
}

/// The key or signer that the verifier of this kind holds a signature against. A text that is no key of the kind
/// verifies nothing, and is named as it is.
fn find_signer(signature: &DeclaredSignature, keys: &Keys) -> Anchor {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let named = text(&signature.key);
    let key = keys.resolve_key(&named);
    let unread = || sha256_hex(key.as_bytes());
    match signature.kind {
        SignatureKind::Openpgp | SignatureKind::OpenpgpOverChecksums => {
            let identity = text(&signature.identity);
            Anchor::OpenPgpKey(parse_fingerprint(&identity).unwrap_or(identity))
        }
        SignatureKind::CosignKeyless | SignatureKind::GithubAttestation => Anchor::Identity {
            identity: text(&signature.identity),
            issuer: text(&signature.issuer),
        },
        SignatureKind::SigstoreBundle if !signature.is_by_key() => Anchor::Identity {
            identity: text(&signature.identity),
            issuer: text(&signature.issuer),
        },
        SignatureKind::SigstoreBundle
        | SignatureKind::CosignKey
        | SignatureKind::CosignKeyOverChecksums => {
            Anchor::Key(CosignKey::parse(key).map_or_else(|_| unread(), |key| key.sha256()))
        }
        SignatureKind::Minisign | SignatureKind::MinisignOverChecksums => {
            Anchor::Key(MinisignKey::parse(key).map_or_else(|_| unread(), |key| key.sha256()))
        }
    }
}

fn list_roots(authenticode: &Authenticode) -> Vec<Anchor> {
    let mut anchors = vec![Anchor::Publisher(authenticode.publisher.clone())];
    // One that is damaged makes all of them an error of the verifier.
    for der in authenticode
        .roots
        .iter()
        .flat_map(|pem| decode_certificates(pem))
    {
        anchors.extend(der.map(|der| Anchor::Root(sha256_hex(&der))));
    }
    anchors
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
            let (code, field, entry) = anchor.policy_entry(&subject);
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
                subject.list_trusted_names().join(" as ")
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
    use serde_json::json;

    use super::*;

    /// The policy judges the key by which the verifier of the kind verifies.
    #[test]
    fn a_key_is_the_one_that_verifies() {
        let trusted = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==";
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{trusted}\n-----END PUBLIC KEY-----\n");
        let own = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
        let other = format!("RW{}", "A".repeat(54));
        let name_key = |kind: &str, key: &str| {
            let signature = json!({"kind": kind, "url": "https://x.example/s", "key": key});
            let signature = serde_json::from_value(signature).expect("a signature");
            find_signer(&signature, &Keys::default())
        };

        let cosign = name_key("cosign-key", &pem);
        assert_eq!(cosign, name_key("sigstore-bundle", &pem));
        assert_eq!(cosign, name_key("cosign-key", &pem.replace('\n', "\r\n")));
        let minisign = name_key("minisign", own);
        let commented = format!("untrusted comment: ours\n{own}\n");
        assert_eq!(minisign, name_key("minisign-over-checksums", &commented));

        let hidden = format!("untrusted comment: -----BEGIN -----{trusted}-----END -----");
        for (kind, key) in [
            ("minisign", format!("{hidden}\n{other}\n")),
            ("minisign", format!("untrusted comment: {own}\n{other}\n")),
            ("minisign", format!("{other}\n{own}\n")),
            ("minisign", pem.clone()),
            ("cosign-key", own.to_owned()),
            ("cosign-key", format!("{pem}{pem}")),
            ("cosign-key", format!("{own}\n{pem}")),
        ] {
            let named = name_key(kind, &key);
            assert!(named != cosign && named != minisign, "{kind}: {key}");
        }
    }
}
