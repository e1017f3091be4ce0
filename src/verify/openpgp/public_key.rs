//! A public key or subkey packet of version 4, and signatures by it (RFC 9580, 5.5 and 9).

use aws_lc_rs::digest::{self, Digest};
use aws_lc_rs::signature as check;
use aws_lc_rs::signature::{ParsedPublicKey, VerificationAlgorithm};
use der::Encode as _;
use der::asn1::UintRef;

use super::packets::{Cursor, malformed_error};
use crate::base::code::Code;
use crate::base::digest::encode_hex;
use crate::verify::ProofError;
use crate::verify::chain::LEAST_RSA_BITS;

#[derive(Debug, Clone)]
pub(super) struct PublicKey {
    body: Vec<u8>,
    /// Seconds since 1970.
    pub created: u64,
    algorithm: u8,
    material: Material,
    /// Of version 4, in hexadecimal.
    pub fingerprint: String,
}

#[derive(Debug, Clone)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    Ecdsa { curve: Curve, point: Vec<u8> },
    Ed25519(Vec<u8>),
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
    P521,
}

/// Object identifiers of RFC 9580, 9.2, without tag and length.
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];
const ED25519_LEGACY: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01];

impl PublicKey {
    /// None where the packet is of another version than 4.
    pub(super) fn parse(body: &[u8]) -> Result<Option<Self>, ProofError> {
        if body.first() != Some(&4) {
            return Ok(None);
        }
        Self::parse_body(body)
            .map(Some)
            .ok_or_else(|| malformed_error("a key of the keyring is damaged"))
    }

    fn parse_body(body: &[u8]) -> Option<Self> {
        let mut cursor = Cursor(&body[1..]);
        let created = cursor.read_number(4)? as u64;
        let algorithm = cursor.read_byte()?;
        let material = Material::parse(algorithm, &mut cursor)?;
        let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
        feed(body, &mut |piece| context.update(piece));
        let fingerprint = encode_hex(context.finish().as_ref());
        Some(Self {
            body: body.to_vec(),
            created,
            algorithm,
            material,
            fingerprint,
        })
    }

    /// The last eight bytes of the fingerprint.
    pub(super) fn id(&self) -> &str {
        &self.fingerprint[24..]
    }

    pub(super) fn feed(&self, update: &mut dyn FnMut(&[u8])) {
        feed(&self.body, update);
    }

    /// As RFC 9580, 9.1 calls it.
    pub(super) fn algorithm_name(&self) -> &'static str {
        match self.algorithm {
            1 | 3 => "RSA",
            19 => "ECDSA",
            22 => "EdDSALegacy",
            27 => "Ed25519",
            _ => "other",
        }
    }

    pub(super) fn check_strength(&self) -> Result<(), ProofError> {
        let message = match &self.material {
            Material::Rsa { modulus, .. } => {
                let zeros = modulus
                    .first()
                    .map_or(0, |byte| byte.leading_zeros() as usize);
                let bits = modulus.len() * 8 - zeros;
                if bits >= LEAST_RSA_BITS {
                    return Ok(());
                }
                format!("an RSA key of {bits} bits is too short")
            }
            Material::Ecdsa { .. } | Material::Ed25519(_) => return Ok(()),
            Material::Other => "the key's algorithm is not accepted".to_owned(),
        };
        Err(ProofError::new(Code::OPENPGP_WEAK, message))
    }

    /// Whether signatures of this key over a digest of this kind can be checked.
    pub(super) fn can_verify(&self, hash: u8) -> bool {
        match &self.material {
            Material::Rsa { .. } => matches!(hash, 2 | 8..=10),
            Material::Ecdsa { curve, .. } => curve.select_verification(hash).is_some(),
            Material::Ed25519(_) => true,
            Material::Other => false,
        }
    }

    /// Whether this key signed a digest. `algorithm` and `hash` are the signature's.
    pub(super) fn verify_digest(
        &self,
        algorithm: u8,
        hash: u8,
        digest: &Digest,
        values: &[u8],
    ) -> bool {
        algorithm == self.algorithm && self.material.verify_digest(hash, digest, values).is_some()
    }
}

/// A key as signatures over it and its fingerprint take it (RFC 9580, 5.2.4).
fn feed(body: &[u8], update: &mut dyn FnMut(&[u8])) {
    update(&[0x99]);
    update(&u16::try_from(body.len()).unwrap_or(u16::MAX).to_be_bytes());
    update(body);
}

impl Material {
    fn parse(algorithm: u8, cursor: &mut Cursor<'_>) -> Option<Self> {
        let material = match algorithm {
            1 | 3 => Self::Rsa {
                modulus: cursor.read_integer()?.to_vec(),
                exponent: cursor.read_integer()?.to_vec(),
            },
            19 | 22 => {
                let length = cursor.read_number(1)?;
                let curve = cursor.take(length)?;
                let point = cursor.read_integer()?;
                match (algorithm, curve, point) {
                    (19, P256, _) => Self::Ecdsa {
                        curve: Curve::P256,
                        point: point.to_vec(),
                    },
                    (19, P384, _) => Self::Ecdsa {
                        curve: Curve::P384,
                        point: point.to_vec(),
                    },
                    (19, P521, _) => Self::Ecdsa {
                        curve: Curve::P521,
                        point: point.to_vec(),
                    },
                    (22, ED25519_LEGACY, [0x40, point @ ..]) => Self::Ed25519(point.to_vec()),
                    _ => Self::Other,
                }
            }
            27 => Self::Ed25519(cursor.take(32)?.to_vec()),
            _ => return Some(Self::Other),
        };
        cursor.is_empty().then_some(material)
    }

    fn verify_digest(&self, hash: u8, digest: &Digest, values: &[u8]) -> Option<()> {
        let mut values = Cursor(values);
        match self {
            Self::Rsa { modulus, exponent } => {
                let key = encode_integers(modulus, exponent)?;
                let signature = pad_integer(values.read_integer()?, modulus.len())?;
                let algorithm: &dyn VerificationAlgorithm = match hash {
                    2 => &check::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
                    8 => &check::RSA_PKCS1_2048_8192_SHA256,
                    9 => &check::RSA_PKCS1_2048_8192_SHA384,
                    10 => &check::RSA_PKCS1_2048_8192_SHA512,
                    _ => return None,
                };
                let key = ParsedPublicKey::new(algorithm, key).ok()?;
                key.verify_digest_sig(digest, &signature).ok()?;
            }
            Self::Ecdsa { curve, point } => {
                let signature = encode_integers(values.read_integer()?, values.read_integer()?)?;
                let key = ParsedPublicKey::new(curve.select_verification(hash)?, point).ok()?;
                key.verify_digest_sig(digest, &signature).ok()?;
            }
            Self::Ed25519(point) => {
                // Algorithm 27 has 64 bytes, 22 two integers; the integers lose zeros in front.
                let signature = match values.0.len() {
                    64 => values.take(64)?.to_vec(),
                    _ => [
                        pad_integer(values.read_integer()?, 32)?,
                        pad_integer(values.read_integer()?, 32)?,
                    ]
                    .concat(),
                };
                let key = ParsedPublicKey::new(&check::ED25519, point).ok()?;
                key.verify_sig(digest.as_ref(), &signature).ok()?;
            }
            Self::Other => return None,
        }
        values.is_empty().then_some(())
    }
}

impl Curve {
    fn select_verification(self, hash: u8) -> Option<&'static dyn VerificationAlgorithm> {
        Some(match (self, hash) {
            (Self::P256, 8) => &check::ECDSA_P256_SHA256_ASN1,
            (Self::P256, 9) => &check::ECDSA_P256_SHA384_ASN1,
            (Self::P256, 10) => &check::ECDSA_P256_SHA512_ASN1,
            (Self::P384, 8) => &check::ECDSA_P384_SHA256_ASN1,
            (Self::P384, 9) => &check::ECDSA_P384_SHA384_ASN1,
            (Self::P384, 10) => &check::ECDSA_P384_SHA512_ASN1,
            (Self::P521, 8) => &check::ECDSA_P521_SHA256_ASN1,
            (Self::P521, 9) => &check::ECDSA_P521_SHA384_ASN1,
            (Self::P521, 10) => &check::ECDSA_P521_SHA512_ASN1,
            _ => return None,
        })
    }
}

/// Two integers as DER has them: an RSA key (RFC 8017, A.1.1), an ECDSA signature (RFC 3279, 2.2.3).
fn encode_integers(first: &[u8], second: &[u8]) -> Option<Vec<u8>> {
    #[derive(der::Sequence)]
    struct Integers<'a> {
        first: UintRef<'a>,
        second: UintRef<'a>,
    }
    let integers = Integers {
        first: UintRef::new(first).ok()?,
        second: UintRef::new(second).ok()?,
    };
    integers.to_der().ok()
}

/// With the zeros in front that an integer loses.
fn pad_integer(integer: &[u8], length: usize) -> Option<Vec<u8>> {
    Some(
        [
            vec![0; length.checked_sub(integer.len())?],
            integer.to_vec(),
        ]
        .concat(),
    )
}
