//! The signatures of guest scripts against a policy, and what a guest must trust for them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::UnixTime;

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::value::Sha256;
use crate::diagnostic::Finding;
use crate::embedded::Tree;
use crate::model::plan::Warning;
use crate::model::policy::{Policy, SignedScripts};
use crate::model::signing::{Signer, Signing, TrustedCertificate};
use crate::trust::{PolicyError, PolicyFault};
use crate::verify::ProofError;
use crate::verify::authenticode::{Publisher, SignatureDemand, SignedBy, verify_signer};
use crate::verify::chain::{PinnedRoots, format_time, parse_roots};
use crate::windows::resource::CertificateStore;

use super::collect_scripts;

/// A policy's rule, and what it is held against.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    pub policy: &'a Policy,
    pub rule: &'a SignedScripts,
    pub roots: &'a PinnedRoots,
    /// Seconds since 1970.
    pub now: u64,
}

impl<'a> Demand<'a> {
    pub fn new(
        policy: &'a Policy,
        rule: &'a SignedScripts,
        roots: &'a PinnedRoots,
        now: u64,
    ) -> Self {
        Self {
            policy,
            rule,
            roots,
            now,
        }
    }

    fn allows_root(&self, root: &[u8]) -> bool {
        let digest = sha256_hex(root);
        let allowed = self.policy.allowed_roots.as_ref();
        allowed.is_none_or(|roots| roots.iter().any(|own| own.as_str() == digest))
    }
}

/// Signers of the scripts of `provisioners`, with warnings about them.
///
/// # Errors
/// A script is not signed as the rule demands: all of these at once, by reason.
pub fn find_signing(
    provisioners: &Tree,
    demand: Demand<'_>,
) -> Result<(Signing, Vec<Warning>), PolicyError> {
    let demands = build_demands(&demand)
        .map_err(|finding| PolicyError::new(PolicyFault::Proof, demand.policy, vec![finding]))?;
    let mut found = Vec::new();
    let mut failed: BTreeMap<(Code, String), Vec<String>> = BTreeMap::new();
    for (path, bytes) in collect_scripts(provisioners) {
        match verify_script(&path, &bytes, &demands) {
            Ok(signer) if demand.allows_root(&signer.root) => found.push(signer),
            Ok(signer) => {
                let message = format!(
                    "its chain ends in {}, which is not in `allowedRoots`",
                    sha256_hex(&signer.root)
                );
                failed
                    .entry((Code::UNTRUSTED_ROOT, message))
                    .or_default()
                    .push(path);
            }
            Err(error) => failed
                .entry((error.code, error.message))
                .or_default()
                .push(path),
        }
    }
    let mut findings = Vec::new();
    for ((code, message), paths) in failed {
        findings.push(build_finding(code, &message, &paths));
    }
    PolicyFault::Proof.refuse(demand.policy, findings)?;
    Ok((collect_trust(&found), warn_expiry(&found)))
}

fn build_finding(code: Code, message: &str, paths: &[String]) -> Finding {
    let subject = match paths {
        [only] => format!("guest script {only}"),
        [first, rest @ ..] => format!("guest script {first} and {} more", rest.len()),
        [] => "guest scripts".to_owned(),
    };
    let remedy = match code {
        Code::UNSIGNED => {
            "export them (`imagegen scripts export --out DIR`), sign them, with osslsigncode or by your own signer, and add `--scripts DIR`"
        }
        Code::PUBLISHER | Code::UNTRUSTED_ROOT => {
            "sign them as the policy requires, or add the signer's `publishers` and `roots` in it"
        }
        Code::TIMESTAMP_MISSING => "sign them with a timestamp (`-ts URL` of osslsigncode)",
        _ => "export the scripts of this release and sign them again",
    };
    Finding::new(
        Code::POLICY_SIGNED_SCRIPTS,
        format!("{message} [{code}]"),
        remedy.to_owned(),
    )
    .with_subject(subject)
}

/// One for each publisher that is allowed.
fn build_demands(demand: &Demand<'_>) -> Result<Vec<SignatureDemand>, Finding> {
    let rule = demand.rule;
    let mut any = SignatureDemand::new(demand.roots, demand.now);
    any.require_timestamp = rule.require_timestamp;
    if let Some(pem) = &rule.roots {
        let own = parse_roots(pem.as_bytes())
            .map_err(|error| refuse_rule(format!("its `roots`: {error}")))?;
        any = any.with_own_roots(own);
    } else if rule.publishers.is_empty() {
        return Err(refuse_rule(
            "it has neither publishers nor roots, so any signer would be accepted".to_owned(),
        ));
    }
    if rule.publishers.is_empty() {
        return Ok(vec![any]);
    }

    let mut demands = Vec::new();
    for text in &rule.publishers {
        let publisher: Publisher = text
            .parse()
            .map_err(|error| refuse_rule(format!("{error}")))?;
        demands.push(SignatureDemand {
            publisher: Some(publisher),
            ..any.clone()
        });
    }
    Ok(demands)
}

fn refuse_rule(reason: String) -> Finding {
    Finding::new(
        Code::POLICY_SIGNED_SCRIPTS,
        reason,
        "give `publishers` (`O=…,CN=…`), `roots` (PEM, or a file of it), or both",
    )
    .with_subject("the policy")
}

/// By the first demand that holds; the first one's reason where none does.
fn verify_script(
    path: &str,
    bytes: &[u8],
    demands: &[SignatureDemand],
) -> Result<SignedBy, ProofError> {
    let mut first = None;
    for demand in demands {
        match verify_signer(path, bytes.to_vec(), demand) {
            Ok(signer) => return Ok(signer),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| ProofError::new(Code::UNSIGNED, "the policy allows no signer")))
}

fn collect_trust(found: &[SignedBy]) -> Signing {
    let mut signers = BTreeSet::new();
    let mut certificates = BTreeSet::new();
    for signed in found {
        signers.insert(Signer {
            subject: signed.subject.clone(),
            sha256: digest_certificate(&signed.leaf),
        });
        let mut trusted = vec![
            (CertificateStore::TrustedPublisher, &signed.leaf),
            (CertificateStore::Root, &signed.root),
        ];
        for authority in &signed.authorities {
            trusted.push((CertificateStore::Authority, authority));
        }
        for (store, der) in trusted {
            certificates.insert(TrustedCertificate {
                store,
                sha256: digest_certificate(der),
                content: STANDARD.encode(der),
            });
        }
    }
    Signing {
        signers: signers.into_iter().collect(),
        certificates: certificates.into_iter().collect(),
    }
}

fn digest_certificate(der: &[u8]) -> Sha256 {
    sha256_hex(der).parse().expect("a certificate is not empty")
}

fn warn_expiry(found: &[SignedBy]) -> Vec<Warning> {
    let end = found
        .iter()
        .filter(|signed| signed.timestamp.is_none())
        .min_by_key(|signed| signed.not_after);
    end.map(|signed| Warning::new(Code::SCRIPTS_EXPIRE, signed.subject.clone(), format!(
            "guest scripts are signed without timestamp: nodes refuse them from {} on, when the certificate of `{}` expires",
            format_time(UnixTime::since_unix_epoch(Duration::from_secs(signed.not_after))),
            signed.subject
        )))
    .into_iter()
    .collect()
}
