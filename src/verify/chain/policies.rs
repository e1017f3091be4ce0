//! Critical certificate policies (RFC 5280, 4.2.1.4).
//!
//! webpki refuses each critical extension that it does not process. This one is processed here, for a user who accepts
//! any policy: the extension must be well formed, name no policy twice, and hold the two qualifiers that RFC 5280
//! defines alone. Then path validation gets the certificate with the extension marked as not critical, and each
//! signature is verified over the bytes that the issuer signed.
//!
//! With a policy mapping or constraint anywhere in the set, any policy is no answer: nothing is changed, and webpki
//! decides.

use std::collections::BTreeSet;

use der::asn1::Ia5StringRef;
use der::oid::{AssociatedOid as _, ObjectIdentifier};
use der::{AnyRef, Decode as _, Encode as _, Reader as _, Tag, Tagged as _};
use rustls_pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use x509_cert::Certificate;
use x509_cert::ext::pkix::{
    CertificatePolicies, InhibitAnyPolicy, PolicyConstraints, PolicyMappings,
};

/// RFC 5280, 4.2.1.4
const CPS_POINTER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.2.1");
const USER_NOTICE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.2.2");

/// Certificates of a path that are shown to webpki in another form than their own.
#[derive(Debug, Default)]
pub(super) struct PolicyView(Vec<ShownCertificate>);

#[derive(Debug)]
struct ShownCertificate {
    original: Vec<u8>,
    shown: Vec<u8>,
    /// TBSCertificate as the issuer signed it, and as it is shown.
    signed: Vec<u8>,
    shown_part: Vec<u8>,
}

impl PolicyView {
    pub(super) fn new<'a>(certificates: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut shown = Vec::new();
        for der in certificates {
            let Ok(certificate) = Certificate::from_der(der) else {
                continue;
            };
            if restricts_policies(&certificate) {
                return Self::default();
            }
            shown.extend(show_certificate(der, certificate));
        }
        Self(shown)
    }

    /// The certificate as webpki takes it.
    pub(super) fn show<'a>(&'a self, der: &'a [u8]) -> &'a [u8] {
        let found = self.0.iter().find(|it| it.original == der);
        found.map_or(der, |it| &it.shown)
    }

    /// The certificate that was shown.
    pub(super) fn restore(&self, der: &[u8]) -> Vec<u8> {
        let found = self.0.iter().find(|it| it.shown == der);
        found.map_or(der, |it| &it.original).to_vec()
    }
}

/// Whether a certificate says how policies of the path count.
fn restricts_policies(certificate: &Certificate) -> bool {
    let kinds = [
        PolicyConstraints::OID,
        PolicyMappings::OID,
        InhibitAnyPolicy::OID,
    ];
    let extensions = certificate.tbs_certificate.extensions.iter().flatten();
    extensions.into_iter().any(|it| kinds.contains(&it.extn_id))
}

/// None where nothing is to be changed, or nothing may be.
fn show_certificate(der: &[u8], mut certificate: Certificate) -> Option<ShownCertificate> {
    // What is written again must be what was read.
    if certificate.to_der().ok()? != der {
        return None;
    }
    let extensions = certificate.tbs_certificate.extensions.as_mut()?;
    let mut policies = extensions
        .iter_mut()
        .filter(|it| it.extn_id == CertificatePolicies::OID);
    let (only, None) = (policies.next()?, policies.next()) else {
        return None;
    };
    if !only.critical || !is_understood(only.extn_value.as_bytes()) {
        return None;
    }
    only.critical = false;
    Some(ShownCertificate {
        original: der.to_vec(),
        shown: certificate.to_der().ok()?,
        signed: read_signed_part(der)?,
        shown_part: certificate.tbs_certificate.to_der().ok()?,
    })
}

/// The TBSCertificate of a certificate, as its bytes have it.
fn read_signed_part(der: &[u8]) -> Option<Vec<u8>> {
    let whole = AnyRef::from_der(der).ok()?;
    let mut reader = der::SliceReader::new(whole.value()).ok()?;
    Some(reader.tlv_bytes().ok()?.to_vec())
}

fn is_understood(value: &[u8]) -> bool {
    let Ok(policies) = CertificatePolicies::from_der(value) else {
        return false;
    };
    let mut named = BTreeSet::new();
    !policies.0.is_empty()
        && policies.0.iter().all(|policy| {
            let qualifiers = policy.policy_qualifiers.iter().flatten();
            named.insert(policy.policy_identifier)
                && qualifiers.into_iter().all(|it| {
                    let value = it.qualifier.as_ref();
                    match it.policy_qualifier_id {
                        CPS_POINTER => value.is_some_and(|it| Ia5StringRef::try_from(it).is_ok()),
                        USER_NOTICE => value.is_some_and(|it| it.tag() == Tag::Sequence),
                        _ => false,
                    }
                })
        })
}

/// An algorithm of webpki that verifies what the issuer signed in the place of what is shown.
#[derive(Debug)]
pub(super) struct SignedPartAlgorithm<'a> {
    pub inner: &'static dyn SignatureVerificationAlgorithm,
    pub view: &'a PolicyView,
}

impl SignatureVerificationAlgorithm for SignedPartAlgorithm<'_> {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.inner.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.inner.signature_alg_id()
    }

    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        // Another certificate may stand in the set as it is shown here, and be signed so.
        for it in self.view.0.iter().filter(|it| it.shown_part == message) {
            if self
                .inner
                .verify_signature(key, &it.signed, signature)
                .is_ok()
            {
                return Ok(());
            }
        }
        self.inner.verify_signature(key, message, signature)
    }
}
