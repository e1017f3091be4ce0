//! Public keys, fingerprints and certificates as texts. Verifiers and policies take what is read here, so that the key
//! by which a signature is verified is the key that a policy names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use der::Decode as _;
use der::asn1::{AnyRef, ObjectIdentifier};
use x509_cert::spki::SubjectPublicKeyInfoRef;

use super::digest::sha256_hex;
use super::text::is_hex;

/// The curve P-256, of cosign's keys (RFC 5480, section 2.1.1.1).
pub(crate) const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
/// Of RFC 3279, section 2.3.1.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

/// Algorithms of keys by which cosign signs: P-256 are its own, the others those of key services and hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CosignAlgorithm {
    P256,
    P384,
    P521,
    Rsa,
}

impl CosignAlgorithm {
    /// Whether its signatures may be over another digest than SHA-256.
    pub fn has_own_digest(self) -> bool {
        matches!(self, Self::P384 | Self::P521)
    }
}

/// Bytes of a minisign key: the algorithm, the id, and the key of Ed25519.
const MINISIGN: usize = 42;

/// A public key as cosign writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CosignKey {
    spki: Vec<u8>,
    algorithm: CosignAlgorithm,
}

impl CosignKey {
    /// The key of a text that is one block of PEM and nothing else.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(pem: &str) -> Result<Self, &'static str> {
        if pem.contains("PRIVATE KEY") {
            return Err("it is a private key; give the public key");
        }
        let body = pem
            .trim()
            .strip_prefix("-----BEGIN PUBLIC KEY-----")
            .and_then(|rest| rest.strip_suffix("-----END PUBLIC KEY-----"))
            .ok_or("it is not a public key in PEM")?;
        let base64: String = body.split_whitespace().collect();
        let spki = STANDARD
            .decode(base64)
            .map_err(|_| "it is not one public key in PEM")?;
        let info =
            SubjectPublicKeyInfoRef::from_der(&spki).map_err(|_| "it is not a public key")?;
        let parameters = info.algorithm.parameters.as_ref();
        let curve = parameters.and_then(|it: &AnyRef<'_>| it.decode_as().ok());
        let algorithm = match (info.algorithm.oid, curve) {
            (EC, Some(P256)) => CosignAlgorithm::P256,
            (EC, Some(P384)) => CosignAlgorithm::P384,
            (EC, Some(P521)) => CosignAlgorithm::P521,
            (RSA, _) => CosignAlgorithm::Rsa,
            _ => {
                return Err(
                    "it is neither RSA nor on the curve P-256, P-384 or P-521; others are not verified",
                );
            }
        };
        Ok(Self { spki, algorithm })
    }

    pub fn algorithm(&self) -> CosignAlgorithm {
        self.algorithm
    }

    /// The same of a signature that is known by its SHA-256 alone.
    ///
    /// # Errors
    /// The key is on another curve than P-256.
    pub fn require_p256(self) -> Result<Self, &'static str> {
        if self.algorithm == CosignAlgorithm::P256 {
            return Ok(self);
        }
        Err(
            "it is not on the curve P-256, as `cosign generate-key-pair` makes keys; others are not verified here",
        )
    }

    /// DER of the key with its algorithm.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// SHA-256 of the key in DER, by which a policy names it.
    pub fn sha256(&self) -> String {
        sha256_hex(&self.spki)
    }
}

/// A public key of minisign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinisignKey {
    bytes: [u8; MINISIGN],
}

impl MinisignKey {
    /// The key of minisign's key file, or of its second line alone.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains("secret key") {
            return Err("it is a secret key; give the public key");
        }
        let malformed = "it is not a minisign public key";
        let line = match text.trim().lines().collect::<Vec<_>>()[..] {
            [line] => line,
            [comment, line] if is_minisign_comment(comment) => line,
            _ => return Err(malformed),
        };
        let decoded = STANDARD.decode(line.trim()).map_err(|_| malformed)?;
        let bytes = decoded.try_into().map_err(|_| malformed)?;
        Ok(Self { bytes })
    }

    /// As minisign writes it, without its comment.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.bytes)
    }

    /// The id as minisign prints it.
    pub fn id(&self) -> String {
        let mut digits = [0; 8];
        digits.copy_from_slice(&self.bytes[2..10]);
        format!("{:X}", u64::from_le_bytes(digits))
    }

    /// SHA-256 of the 42 bytes, by which a policy names it.
    pub fn sha256(&self) -> String {
        sha256_hex(&self.bytes)
    }
}

/// Whether a line may stand over a minisign key: no key of another form hides in it.
pub fn is_minisign_comment(line: &str) -> bool {
    line.starts_with("untrusted comment:") && line.len() < 200 && !line.contains("-----")
}

/// The fingerprint of a primary OpenPGP key: 40 hexadecimal digits in lower case. Short key ids can be made at will, so
/// they name nobody.
///
/// # Errors
/// Why it is none.
pub fn parse_fingerprint(text: &str) -> Result<String, String> {
    let digits: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect::<String>()
        .to_lowercase();
    let digits = digits.strip_prefix("0x").unwrap_or(&digits).to_owned();
    if digits.len() == 40 && is_hex(&digits) {
        return Ok(digits);
    }
    // RFC 9580, 5.5.4.3; GnuPG's version 5 has as many.
    if digits.len() == 64 && is_hex(&digits) {
        return Err(format!(
            "`{text}` is the fingerprint of a key of version 5 or 6; only those of version 4 are read, with 40 digits"
        ));
    }
    Err(format!(
        "`{text}` is not a whole fingerprint; give all 40 digits of the primary key"
    ))
}

/// The content of each certificate of a PEM text; none where a block is damaged. Text around them is skipped.
pub fn decode_certificates(pem: &str) -> Vec<Option<Vec<u8>>> {
    let mut found = Vec::new();
    for part in pem.split("-----BEGIN CERTIFICATE-----").skip(1) {
        let body = part.split_once("-----END CERTIFICATE-----");
        let base64: Option<String> = body.map(|(body, _)| body.split_ascii_whitespace().collect());
        found.push(base64.and_then(|base64| STANDARD.decode(base64).ok()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVIDER: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==";
    const MINISIGN_LINE: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

    /// Whatever stands around a key may be another key to another reader.
    #[test]
    fn a_key_stands_alone() {
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{PROVIDER}\n-----END PUBLIC KEY-----\n");
        let wide = pem.replace('\n', "\r\n");
        let key = CosignKey::parse(&pem).expect("a key");
        assert_eq!(CosignKey::parse(&wide), Ok(key));
        for bad in [
            format!("{pem}{pem}"),
            format!("key\n{pem}"),
            format!("{pem}key\n"),
            pem.replace("PUBLIC KEY", "X"),
            pem.replace("MFkw", "AAAA"),
            MINISIGN_LINE.to_owned(),
        ] {
            CosignKey::parse(&bad).expect_err(&bad);
        }

        let key = MinisignKey::parse(MINISIGN_LINE).expect("a key");
        let commented = format!("untrusted comment: ours\r\n{MINISIGN_LINE}\r\n");
        assert_eq!(MinisignKey::parse(&commented), Ok(key.clone()));
        assert_eq!(key.to_base64(), MINISIGN_LINE);
        for bad in [
            format!(
                "untrusted comment: -----BEGIN -----{PROVIDER}-----END -----\n{MINISIGN_LINE}\n"
            ),
            format!("{MINISIGN_LINE}\n{MINISIGN_LINE}\n"),
            format!("untrusted comment: ours\n{MINISIGN_LINE}\n{MINISIGN_LINE}\n"),
            format!("{pem}{MINISIGN_LINE}\n"),
            format!("{MINISIGN_LINE}AAAA"),
        ] {
            MinisignKey::parse(&bad).expect_err(&bad);
        }
    }
}
