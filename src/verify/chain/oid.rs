//! Object identifiers of certificates, CMS and Authenticode.

use der::oid::ObjectIdentifier as Oid;

// Attributes of names.
pub(crate) const COMMON_NAME: Oid = Oid::new_unwrap("2.5.4.3");
pub(crate) const SERIAL_NUMBER: Oid = Oid::new_unwrap("2.5.4.5");
pub(crate) const COUNTRY: Oid = Oid::new_unwrap("2.5.4.6");
pub(crate) const LOCALITY: Oid = Oid::new_unwrap("2.5.4.7");
pub(crate) const STATE: Oid = Oid::new_unwrap("2.5.4.8");
pub(crate) const STREET: Oid = Oid::new_unwrap("2.5.4.9");
pub(crate) const ORGANIZATION: Oid = Oid::new_unwrap("2.5.4.10");
pub(crate) const ORGANIZATIONAL_UNIT: Oid = Oid::new_unwrap("2.5.4.11");
pub(crate) const DOMAIN_COMPONENT: Oid = Oid::new_unwrap("0.9.2342.19200300.100.1.25");
pub(crate) const EMAIL: Oid = Oid::new_unwrap("1.2.840.113549.1.9.1");

// Uses of a key.
pub(crate) const CODE_SIGNING: Oid = Oid::new_unwrap("1.3.6.1.5.5.7.3.3");
pub(crate) const TIME_STAMPING: Oid = Oid::new_unwrap("1.3.6.1.5.5.7.3.8");
/// The signature ends with the certificate, whatever a timestamp says.
pub(crate) const LIFETIME_SIGNING: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.10.3.13");

// Keys, digests and signatures.
pub(crate) const RSA: Oid = Oid::new_unwrap("1.2.840.113549.1.1.1");
pub(crate) const SHA1_WITH_RSA: Oid = Oid::new_unwrap("1.2.840.113549.1.1.5");
pub(crate) const SHA256_WITH_RSA: Oid = Oid::new_unwrap("1.2.840.113549.1.1.11");
pub(crate) const SHA384_WITH_RSA: Oid = Oid::new_unwrap("1.2.840.113549.1.1.12");
pub(crate) const SHA512_WITH_RSA: Oid = Oid::new_unwrap("1.2.840.113549.1.1.13");
pub(crate) const EC: Oid = Oid::new_unwrap("1.2.840.10045.2.1");
pub(crate) const P256: Oid = Oid::new_unwrap("1.2.840.10045.3.1.7");
pub(crate) const P384: Oid = Oid::new_unwrap("1.3.132.0.34");
pub(crate) const P521: Oid = Oid::new_unwrap("1.3.132.0.35");
pub(crate) const ECDSA_WITH_SHA1: Oid = Oid::new_unwrap("1.2.840.10045.4.1");
pub(crate) const ECDSA_WITH_SHA256: Oid = Oid::new_unwrap("1.2.840.10045.4.3.2");
pub(crate) const ECDSA_WITH_SHA384: Oid = Oid::new_unwrap("1.2.840.10045.4.3.3");
pub(crate) const ECDSA_WITH_SHA512: Oid = Oid::new_unwrap("1.2.840.10045.4.3.4");
pub(crate) const SHA1: Oid = Oid::new_unwrap("1.3.14.3.2.26");
pub(crate) const SHA256: Oid = Oid::new_unwrap("2.16.840.1.101.3.4.2.1");
pub(crate) const SHA384: Oid = Oid::new_unwrap("2.16.840.1.101.3.4.2.2");
pub(crate) const SHA512: Oid = Oid::new_unwrap("2.16.840.1.101.3.4.2.3");

// CMS.
pub(crate) const DATA: Oid = Oid::new_unwrap("1.2.840.113549.1.7.1");
pub(crate) const SIGNED_DATA: Oid = Oid::new_unwrap("1.2.840.113549.1.7.2");
pub(crate) const CONTENT_TYPE: Oid = Oid::new_unwrap("1.2.840.113549.1.9.3");
pub(crate) const MESSAGE_DIGEST: Oid = Oid::new_unwrap("1.2.840.113549.1.9.4");
pub(crate) const SIGNING_TIME: Oid = Oid::new_unwrap("1.2.840.113549.1.9.5");
pub(crate) const COUNTERSIGNATURE: Oid = Oid::new_unwrap("1.2.840.113549.1.9.6");
pub(crate) const TIMESTAMP_INFO: Oid = Oid::new_unwrap("1.2.840.113549.1.9.16.1.4");

// Authenticode.
pub(crate) const INDIRECT_DATA: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.2.1.4");
pub(crate) const PE_IMAGE: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.2.1.15");
pub(crate) const CABINET: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.2.1.25");
/// Data of a subject interface package, which a class id names.
pub(crate) const SUBJECT_PACKAGE: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.2.1.30");
/// SpcSpOpusInfo: the program's description, among the signed attributes.
pub(crate) const OPUS_INFO: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.2.1.12");
pub(crate) const NESTED_SIGNATURE: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.2.4.1");
pub(crate) const TIMESTAMP_TOKEN: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.3.3.1");
pub(crate) const TRUST_LIST: Oid = Oid::new_unwrap("1.3.6.1.4.1.311.10.1");
