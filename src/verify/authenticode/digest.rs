//! Digest and signature algorithms that are accepted.

use aws_lc_rs::digest;
use aws_lc_rs::signature as check;
use der::oid::ObjectIdentifier;

use super::fault::Fault;
use super::tlv::{self, Element};
use crate::base::code::Code;
use crate::verify::chain::{LEAST_RSA_BITS, X509Certificate, oid};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// An AlgorithmIdentifier.
    pub(crate) fn parse(element: Element<'_>) -> Result<Self, Fault> {
        if element.tag != tlv::SEQUENCE {
            return Err(tlv::Malformed("digest algorithm").into());
        }
        match element.parse_algorithm("digest algorithm")? {
            oid::SHA1 => Err(Code::SHA1.with_message("its digest is SHA-1, which proves nothing")),
            oid::SHA256 => Ok(Self::Sha256),
            oid::SHA384 => Ok(Self::Sha384),
            oid::SHA512 => Ok(Self::Sha512),
            other => Err(Code::ALGORITHM
                .with_message(format!("the digest algorithm {other} is not accepted"))),
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    pub(crate) fn new_context(self) -> digest::Context {
        digest::Context::new(match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
        })
    }

    pub(crate) fn digest_bytes(self, bytes: &[u8]) -> Vec<u8> {
        let mut context = self.new_context();
        context.update(bytes);
        context.finish().as_ref().to_vec()
    }

    /// How a signature with this digest by the key of a certificate is checked. The signature's
    /// algorithm may name the key alone or key and digest, and has to agree with both.
    pub(crate) fn select_verification(
        self,
        signature: ObjectIdentifier,
        leaf: &X509Certificate<'_>,
    ) -> Result<&'static dyn check::VerificationAlgorithm, Fault> {
        let key = leaf.key_algorithm();
        let digest = self.as_str();
        let refused = Code::ALGORITHM.with_message(format!(
            "the signature algorithm {signature} by a key {} over {digest} is not accepted",
            key.oid
        ));
        if key.oid == oid::RSA {
            if let Some(bits) = leaf.rsa_bits().filter(|bits| *bits < LEAST_RSA_BITS) {
                let subject = leaf.subject();
                return Err(Code::WEAK_KEY
                    .with_message(format!("`{subject}` has an RSA key of {bits} bits")));
            }
            let (own, algorithm) = self.select_rsa();
            return if [oid::RSA, own].contains(&signature) {
                Ok(algorithm)
            } else {
                Err(refused)
            };
        }
        let curve = key
            .parameters
            .as_ref()
            .and_then(|curve| curve.decode_as::<ObjectIdentifier>().ok());
        let Some(curve) = curve.filter(|_| key.oid == oid::EC) else {
            return Err(refused);
        };
        if ![oid::EC, self.ecdsa_oid()].contains(&signature) {
            return Err(refused);
        }
        let algorithm: &'static dyn check::VerificationAlgorithm = match (curve, self) {
            (oid::P256, Self::Sha256) => &check::ECDSA_P256_SHA256_ASN1,
            (oid::P256, Self::Sha384) => &check::ECDSA_P256_SHA384_ASN1,
            (oid::P256, Self::Sha512) => &check::ECDSA_P256_SHA512_ASN1,
            (oid::P384, Self::Sha256) => &check::ECDSA_P384_SHA256_ASN1,
            (oid::P384, Self::Sha384) => &check::ECDSA_P384_SHA384_ASN1,
            (oid::P384, Self::Sha512) => &check::ECDSA_P384_SHA512_ASN1,
            (oid::P521, Self::Sha256) => &check::ECDSA_P521_SHA256_ASN1,
            (oid::P521, Self::Sha384) => &check::ECDSA_P521_SHA384_ASN1,
            (oid::P521, Self::Sha512) => &check::ECDSA_P521_SHA512_ASN1,
            _ => return Err(refused),
        };
        Ok(algorithm)
    }

    fn select_rsa(self) -> (ObjectIdentifier, &'static dyn check::VerificationAlgorithm) {
        match self {
            Self::Sha256 => (oid::SHA256_WITH_RSA, &check::RSA_PKCS1_2048_8192_SHA256),
            Self::Sha384 => (oid::SHA384_WITH_RSA, &check::RSA_PKCS1_2048_8192_SHA384),
            Self::Sha512 => (oid::SHA512_WITH_RSA, &check::RSA_PKCS1_2048_8192_SHA512),
        }
    }

    fn ecdsa_oid(self) -> ObjectIdentifier {
        match self {
            Self::Sha256 => oid::ECDSA_WITH_SHA256,
            Self::Sha384 => oid::ECDSA_WITH_SHA384,
            Self::Sha512 => oid::ECDSA_WITH_SHA512,
        }
    }
}
