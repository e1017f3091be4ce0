//! Faults of the keys and roots of a catalog, found before a signature is verified by them.

use crate::base::code::Code;
use crate::base::public_key::{CosignKey, MinisignKey};
use crate::base::text::is_alphanumeric_or;
use crate::catalog::{Catalog, KEY_LIST, Keys, SIGSTORE_ROOT};
use crate::diagnostic::Finding;
use crate::model::component::{DeclaredSignature, SignatureKind};

use super::chain::PinnedRoots;
use super::{ProofError, cosign, openpgp, sigstore};

/// Everything that is wrong with the keys and roots of a catalog, and with the keys that its components name. `now` is
/// in seconds since 1970.
#[must_use]
pub fn lint_anchors(catalog: &Catalog, now: u64) -> Vec<Finding> {
    let tree = catalog.tree();
    let mut findings = lint_keys(catalog, now);
    if findings.is_empty()
        && let Ok(keys) = Keys::load(tree)
    {
        findings.extend(lint_signers(catalog, &keys, now));
    }

    if let Some(root) = tree.get(SIGSTORE_ROOT)
        && let Err(error) = sigstore::check_root(&String::from_utf8_lossy(root))
    {
        findings.push(report(catalog, SIGSTORE_ROOT, error));
    }
    if let Err(error) = PinnedRoots::read(tree) {
        let error = ProofError::new(Code::ROOTS, error.to_string());
        findings.push(report(catalog, "trust/roots.json", error));
    }
    findings
}

fn report(catalog: &Catalog, path: &str, error: ProofError) -> Finding {
    Finding::new(error.code, error.message, "").with_subject(catalog.file_label(path))
}

/// Keys without file, and files that do not have the key of the list.
fn lint_keys(catalog: &Catalog, now: u64) -> Vec<Finding> {
    let listed = match Keys::read_list(catalog.tree()) {
        Ok(listed) => listed,
        Err(error) => {
            let error = ProofError::new(Code::UNREADABLE, error.to_string());
            return vec![report(catalog, KEY_LIST, error)];
        }
    };

    let mut findings = Vec::new();
    for (at, key) in listed.iter().enumerate() {
        let (name, path) = (&key.name, key.path());
        if listed[..at].iter().any(|other| other.name == *name) {
            let error = ProofError::new(Code::UNREADABLE, format!("two keys are named `{name}`"));
            findings.push(report(catalog, KEY_LIST, error));
        }
        let Some(bytes) = catalog.tree().get(&path) else {
            let error = ProofError::new(Code::DANGLING_REFERENCE, format!("{name}: no {path}"));
            findings.push(report(catalog, KEY_LIST, error));
            continue;
        };
        let text = String::from_utf8_lossy(bytes);
        if let Err(error) = check_fingerprint(&text, &key.fingerprint, now) {
            findings.push(report(catalog, &path, error));
        }
    }
    findings
}

/// The fingerprint of an OpenPGP key is that of the primary key, that of another key the SHA-256 by which a policy names
/// it.
fn check_fingerprint(key: &str, fingerprint: &str, now: u64) -> Result<(), ProofError> {
    let (code, found) = if let Ok(key) = CosignKey::parse(key) {
        (Code::COSIGN_KEY, key.sha256())
    } else if let Ok(key) = MinisignKey::parse(key) {
        (Code::MINISIGN_KEY, key.sha256())
    } else {
        return openpgp::check_key(key.as_bytes(), fingerprint, now);
    };
    if found.eq_ignore_ascii_case(fingerprint) {
        return Ok(());
    }
    let message = format!("the key has the SHA-256 {found}, and {KEY_LIST} states {fingerprint}");
    Err(ProofError::new(code, message))
}

/// Signatures of components by a key that is not there, or by which nothing can be verified.
fn lint_signers(catalog: &Catalog, keys: &Keys, now: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in catalog.component_names() {
        // One that cannot be read is a finding already.
        let Ok(component) = catalog.load_component(&name) else {
            continue;
        };
        let releases = &component.definition.releases;
        for signature in releases.iter().flat_map(|release| &release.signatures) {
            let Err(error) = check_signer(signature, keys, now) else {
                continue;
            };
            let finding = report(catalog, &format!("components/{name}.json"), error);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

fn check_signer(signature: &DeclaredSignature, keys: &Keys, now: u64) -> Result<(), ProofError> {
    // What a declaration lacks is a finding of the catalog's own lint.
    let Some(named) = &signature.key else {
        return Ok(());
    };
    let key = keys.resolve_key(named);
    let outcome = match signature.kind {
        SignatureKind::Openpgp | SignatureKind::OpenpgpOverChecksums => {
            let fingerprint = signature.identity.as_deref().unwrap_or_default();
            openpgp::check_key(key.as_bytes(), fingerprint, now)
        }
        SignatureKind::CosignKey | SignatureKind::CosignKeyOverChecksums => {
            cosign::parse_public_key(key).map(drop)
        }
        SignatureKind::SigstoreBundle => cosign::parse_p256_key(key).map(drop),
        SignatureKind::Minisign | SignatureKind::MinisignOverChecksums => {
            let parsed = MinisignKey::parse(key).map(drop);
            parsed.map_err(|why| ProofError::new(Code::MINISIGN_KEY, why))
        }
        SignatureKind::CosignKeyless | SignatureKind::GithubAttestation => Ok(()),
    };

    let is_name = !keys.contains(named) && is_alphanumeric_or(named, "-_.");
    outcome.map_err(|error| {
        if is_name {
            let message = format!("{KEY_LIST} has no key `{named}`");
            ProofError::new(Code::DANGLING_REFERENCE, message)
        } else {
            ProofError::new(error.code, format!("{}: {}", signature.url, error.message))
        }
    })
}
