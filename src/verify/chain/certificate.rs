//! Statements of a certificate about itself.

use der::asn1::{Ia5StringRef, PrintableStringRef, TeletexStringRef, Utf8StringRef};
use der::oid::ObjectIdentifier;
use der::{Decode as _, Encode as _, Tag, Tagged as _};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectKeyIdentifier};
use x509_cert::name::Name;
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::{ChainError, oid};
use crate::base::digest::sha256_hex;

/// A certificate with the bytes it was read from.
#[derive(Debug, Clone)]
pub struct X509Certificate<'a> {
    pub der: &'a [u8],
    parsed: x509_cert::Certificate,
}

impl<'a> X509Certificate<'a> {
    /// # Errors
    ///
    /// Bytes that are no X.509 certificate.
    pub fn from_der(der: &'a [u8]) -> Result<Self, ChainError> {
        let parsed = x509_cert::Certificate::from_der(der).map_err(|_| ChainError::Malformed)?;
        Ok(Self { der, parsed })
    }

    /// The subject as text, the most specific part first.
    pub fn subject(&self) -> String {
        format_name(&self.parsed.tbs_certificate.subject)
    }

    pub fn issuer(&self) -> String {
        format_name(&self.parsed.tbs_certificate.issuer)
    }

    /// Values of one attribute of the subject.
    pub fn subject_values(&self, kind: ObjectIdentifier) -> Vec<String> {
        let mut values = Vec::new();
        for part in &self.parsed.tbs_certificate.subject.0 {
            for attribute in part.0.iter() {
                if attribute.oid == kind {
                    values.push(decode_string(&attribute.value));
                }
            }
        }
        values
    }

    /// Of the whole certificate, lower case.
    pub fn sha256(&self) -> String {
        sha256_hex(self.der)
    }

    /// Whether issuer (as DER) and serial number (its bytes as they stand) are this certificate's.
    pub fn is_named(&self, issuer: &[u8], serial: &[u8]) -> bool {
        let certificate = &self.parsed.tbs_certificate;
        certificate.serial_number.as_bytes() == serial
            && certificate.issuer.to_der().is_ok_and(|der| der == issuer)
    }

    pub fn has_key_identifier(&self, identifier: &[u8]) -> bool {
        matches!(self.parsed.tbs_certificate.get::<SubjectKeyIdentifier>(),
            Ok(Some((_, found))) if found.0.as_bytes() == identifier)
    }

    /// Seconds since 1970.
    pub fn not_before(&self) -> u64 {
        self.parsed
            .tbs_certificate
            .validity
            .not_before
            .to_unix_duration()
            .as_secs()
    }

    pub fn not_after(&self) -> u64 {
        self.parsed
            .tbs_certificate
            .validity
            .not_after
            .to_unix_duration()
            .as_secs()
    }

    /// Extended key usage; `None` where the certificate does not say.
    ///
    /// # Errors
    ///
    /// The extension cannot be read or stands there twice.
    pub fn purposes(&self) -> Result<Option<Vec<ObjectIdentifier>>, ChainError> {
        let found = self.parsed.tbs_certificate.get::<ExtendedKeyUsage>();
        Ok(found
            .map_err(|_| ChainError::Malformed)?
            .map(|(_, usage)| usage.0))
    }

    /// Whether the key may sign data: it may where the certificate does not say.
    ///
    /// # Errors
    ///
    /// The extension cannot be read or stands there twice.
    pub fn may_sign(&self) -> Result<bool, ChainError> {
        let found = self
            .parsed
            .tbs_certificate
            .get::<KeyUsage>()
            .map_err(|_| ChainError::Malformed)?;
        Ok(found.is_none_or(|(_, usage)| usage.digital_signature()))
    }

    pub fn is_authority(&self) -> bool {
        matches!(self.parsed.tbs_certificate.get::<BasicConstraints>(), Ok(Some((_, found))) if found.ca)
    }

    pub fn key_algorithm(&self) -> &AlgorithmIdentifierOwned {
        &self
            .parsed
            .tbs_certificate
            .subject_public_key_info
            .algorithm
    }

    /// The key itself, without its algorithm.
    pub fn key(&self) -> &[u8] {
        self.parsed
            .tbs_certificate
            .subject_public_key_info
            .subject_public_key
            .raw_bytes()
    }

    /// By which the certificate was signed.
    pub fn signature_algorithm(&self) -> ObjectIdentifier {
        self.parsed.signature_algorithm.oid
    }

    /// Bits of an RSA key; `None` for others.
    pub fn rsa_bits(&self) -> Option<usize> {
        if self.key_algorithm().oid != oid::RSA {
            return None;
        }
        let key = der::asn1::AnyRef::from_der(self.key()).ok()?;
        let modulus = key.sequence(|reader| {
            let modulus = der::asn1::UintRef::decode(reader)?;
            der::asn1::UintRef::decode(reader).map(|_| modulus)
        });
        let bytes = modulus.ok()?.as_bytes();
        let leading = match bytes.first() {
            Some(byte) => byte.leading_zeros() as usize,
            None => 8,
        };
        Some((bytes.len() * 8).saturating_sub(leading))
    }
}

/// A name as publishers are written: `CN=…,O=…,C=…`.
fn format_name(name: &Name) -> String {
    let mut parts = Vec::new();
    for attribute in name.0.iter().rev().flat_map(|part| part.0.iter()) {
        parts.push(format!(
            "{}={}",
            key(attribute.oid),
            escape_value(&decode_string(&attribute.value))
        ));
    }
    parts.join(",")
}

/// Attribute types with the names that people write.
const KEYS: &[(&str, ObjectIdentifier)] = &[
    ("CN", oid::COMMON_NAME),
    ("O", oid::ORGANIZATION),
    ("OU", oid::ORGANIZATIONAL_UNIT),
    ("L", oid::LOCALITY),
    ("S", oid::STATE),
    ("ST", oid::STATE),
    ("C", oid::COUNTRY),
    ("STREET", oid::STREET),
    ("SERIALNUMBER", oid::SERIAL_NUMBER),
    ("DC", oid::DOMAIN_COMPONENT),
    ("E", oid::EMAIL),
];

fn key(kind: ObjectIdentifier) -> String {
    // `ST` is RFC 4514's name of it; `S` is what Windows shows and is only understood.
    match KEYS.iter().rev().find(|(_, oid)| *oid == kind) {
        Some((name, _)) => (*name).to_owned(),
        None => kind.to_string(),
    }
}

/// The type that a key of a written name means.
pub(crate) fn find_attribute_type(key: &str) -> Option<ObjectIdentifier> {
    for (name, oid) in KEYS {
        if name.eq_ignore_ascii_case(key) {
            return Some(*oid);
        }
    }
    parse_dotted_oid(key)
}

/// `2.5.4.3`. The parser of `const_oid` lets a number overflow into another one, and calls itself for each digit.
fn parse_dotted_oid(text: &str) -> Option<ObjectIdentifier> {
    let fits = text.len() <= 128 && text.split('.').all(|arc| arc.parse::<u32>().is_ok());
    fits.then(|| text.parse().ok()).flatten()
}

fn escape_value(value: &str) -> String {
    let mut text = String::new();
    for (position, letter) in value.chars().enumerate() {
        let edge = position == 0 || position + 1 == value.chars().count();
        if matches!(letter, ',' | '+' | '"' | '\\' | '<' | '>' | ';') || (letter == ' ' && edge) {
            text.push('\\');
        }
        text.push(if letter.is_control() {
            '\u{fffd}'
        } else {
            letter
        });
    }
    text
}

fn decode_string(value: &der::Any) -> String {
    let known = match value.tag() {
        Tag::Utf8String => Utf8StringRef::try_from(value)
            .map(|text| text.as_str().to_owned())
            .ok(),
        Tag::PrintableString => PrintableStringRef::try_from(value)
            .map(|text| text.as_str().to_owned())
            .ok(),
        Tag::Ia5String => Ia5StringRef::try_from(value)
            .map(|text| text.as_str().to_owned())
            .ok(),
        Tag::TeletexString => TeletexStringRef::try_from(value)
            .map(|text| text.as_str().to_owned())
            .ok(),
        Tag::BmpString => decode_bmp(value.value()),
        _ => None,
    };
    known.unwrap_or_else(|| {
        let hex = crate::base::digest::encode_hex(value.value());
        format!("#{hex}")
    })
}

fn decode_bmp(bytes: &[u8]) -> Option<String> {
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
        .collect();
    String::from_utf16(&units).ok()
}
