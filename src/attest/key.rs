//! Private keys on P-256 in PEM: the public key, and signatures over SHA-256.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base::secret::Secret;
use crate::diagnostic::classify;

/// SubjectPublicKeyInfo of a P-256 key up to its point (RFC 5480, section 2).
const SPKI_HEAD: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A private key that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the key is encrypted; sign with `--sign-command`, such as cosign's own")]
    Encrypted,
    #[error("it is not a private key in PEM (`-----BEGIN PRIVATE KEY-----`)")]
    Form,
    #[error("it is not a private key on the curve P-256, which cosign's keys have")]
    Curve,
    #[error("the key cannot sign")]
    Sign,
}

classify!(KeyError => SIGNING_KEY);

/// A private key on P-256.
#[derive(Debug)]
pub struct AttestationKey(EcdsaKeyPair);

impl AttestationKey {
    /// PKCS #8 or SEC 1, in PEM without a password.
    ///
    /// # Errors
    /// It is no such key.
    pub fn parse(pem: &Secret) -> Result<Self, KeyError> {
        let text = std::str::from_utf8(pem.reveal()).map_err(|_| KeyError::Form)?;
        if text.contains("ENCRYPTED") {
            return Err(KeyError::Encrypted);
        }
        // Parameters of the curve may stand before the key, as openssl writes them.
        let start = text.find("PRIVATE KEY-----").ok_or(KeyError::Form)?;
        let rest = &text[start + "PRIVATE KEY-----".len()..];
        let body = rest.split("-----END").next().ok_or(KeyError::Form)?;
        let body: String = body.split_whitespace().collect();
        let Ok(der) = STANDARD.decode(body) else {
            return Err(KeyError::Form);
        };
        EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, &der)
            .map(Self)
            .map_err(|_| KeyError::Curve)
    }

    /// The public key in PEM.
    pub fn format_public_key(&self) -> String {
        let point = self.0.public_key().as_ref();
        let encoded = STANDARD.encode([SPKI_HEAD, point].concat());
        let mut text = "-----BEGIN PUBLIC KEY-----\n".to_owned();
        for line in encoded.as_bytes().chunks(64) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        text + "-----END PUBLIC KEY-----\n"
    }

    /// A signature in DER over the SHA-256 of the message.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.0.sign(&SystemRandom::new(), message);
        signature
            .map(|it| it.as_ref().to_vec())
            .map_err(|_| KeyError::Sign)
    }
}
