//! Trusted roots: the built-in one of the public good instance, or those of a file, one JSON on each line, as
//! `gh attestation trusted-root` writes those of its instances.

use sigstore_verify::Verifier;
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::Bundle;

use super::{ProofError, flatten_text};
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json::is_one_json;

/// The roots of a text; the built-in one without a text.
pub(in crate::verify) fn load_trusted_roots(
    json: Option<&str>,
) -> Result<Vec<TrustedRoot>, ProofError> {
    let json = json.unwrap_or(SIGSTORE_PRODUCTION_TRUSTED_ROOT);
    let mut texts: Vec<&str> = json
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if texts.is_empty() || is_one_json(json.as_bytes()) {
        texts = vec![json];
    }
    let roots = texts.into_iter().map(TrustedRoot::from_json);
    roots
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable_error(&error.to_string()))
}

/// Checks roots with everything in them, before a signature is verified by them.
///
/// # Errors
/// `sigstore-root`
pub(in crate::verify) fn check_root(json: &str) -> Result<(), ProofError> {
    for root in load_trusted_roots(Some(json))? {
        Verifier::new(&root).map_err(|error| unreadable_error(&error.to_string()))?;
    }
    Ok(())
}

fn unreadable_error(why: &str) -> ProofError {
    let message = format!("the trusted root cannot be read: {why}");
    ProofError::new(Code::SIGSTORE_ROOT, flatten_text(&message))
}

/// Facts of a proof about the root that it holds by.
pub(super) fn describe_root(
    trusted: &TrustedRoot,
    json: Option<&str>,
) -> impl Iterator<Item = (String, String)> {
    let kind = if json.is_some() {
        "given"
    } else {
        "public good instance, built in"
    };
    let json = json.unwrap_or(SIGSTORE_PRODUCTION_TRUSTED_ROOT);
    let newest = find_newest_key_time(trusted);
    [
        ("root".to_owned(), kind.to_owned()),
        ("rootSha256".to_owned(), sha256_hex(json.as_bytes())),
    ]
    .into_iter()
    .chain(newest.map(|newest| ("rootNewestKey".to_owned(), newest)))
}

/// When the newest of a root's keys began: what it cannot know is what came later.
fn find_newest_key_time(root: &TrustedRoot) -> Option<String> {
    let mut periods = Vec::new();
    for log in &root.tlogs {
        periods.extend(log.public_key.valid_for);
    }
    for log in &root.ctlogs {
        periods.extend(log.public_key.valid_for);
    }
    for authority in &root.certificate_authorities {
        periods.extend(authority.valid_for);
    }
    for authority in &root.timestamp_authorities {
        periods.extend(authority.valid_for);
    }
    let newest = periods.iter().map(|range| range.start).max()?;
    Some(newest.to_string())
}

/// A log that the root does not know may be one that came after it.
pub(super) fn check_known_logs(bundle: &Bundle, root: &TrustedRoot) -> Result<(), ProofError> {
    let entries = &bundle.verification_material.tlog_entries;
    let unknown = entries.iter().find(|entry| {
        root.tlogs
            .iter()
            .all(|log| log.log_id.key_id != entry.log_id.key_id)
    });
    match unknown {
        Some(entry) => Err(stale_root_error(
            &format!("the log {} is unknown", entry.log_id.key_id),
            root,
        )),
        None => Ok(()),
    }
}

pub(super) fn stale_root_error(why: &str, root: &TrustedRoot) -> ProofError {
    let newest = find_newest_key_time(root).unwrap_or_else(|| "an unknown time".to_owned());
    let message = format!("{why}; the newest key of the trusted root is of {newest}");
    ProofError::new(Code::SIGSTORE_ROOT, flatten_text(&message))
}
