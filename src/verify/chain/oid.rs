//! Object identifiers of certificates, CMS and Authenticode.

use der::oid::ObjectIdentifier as Oid;

pub(crate) use crate::base::public_key::P256;

/// Declares object identifiers by name.
macro_rules! oids {
    ($($(#[$doc:meta])* $name:ident = $oid:literal;)+) => {
        $($(#[$doc])* pub(crate) const $name: Oid = Oid::new_unwrap($oid);)+
    };
}

oids! {
    // Attributes of names.
    COMMON_NAME = "2.5.4.3";
    SERIAL_NUMBER = "2.5.4.5";
    COUNTRY = "2.5.4.6";
    LOCALITY = "2.5.4.7";
    STATE = "2.5.4.8";
    STREET = "2.5.4.9";
    ORGANIZATION = "2.5.4.10";
    ORGANIZATIONAL_UNIT = "2.5.4.11";
    DOMAIN_COMPONENT = "0.9.2342.19200300.100.1.25";
    EMAIL = "1.2.840.113549.1.9.1";

    // Uses of a key.
    CODE_SIGNING = "1.3.6.1.5.5.7.3.3";
    TIME_STAMPING = "1.3.6.1.5.5.7.3.8";
    /// The signature ends with the certificate, whatever a timestamp says.
    LIFETIME_SIGNING = "1.3.6.1.4.1.311.10.3.13";

    // Keys, digests and signatures.
    RSA = "1.2.840.113549.1.1.1";
    SHA1_WITH_RSA = "1.2.840.113549.1.1.5";
    SHA256_WITH_RSA = "1.2.840.113549.1.1.11";
    SHA384_WITH_RSA = "1.2.840.113549.1.1.12";
    SHA512_WITH_RSA = "1.2.840.113549.1.1.13";
    EC = "1.2.840.10045.2.1";
    P384 = "1.3.132.0.34";
    P521 = "1.3.132.0.35";
    ECDSA_WITH_SHA1 = "1.2.840.10045.4.1";
    ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
    ECDSA_WITH_SHA384 = "1.2.840.10045.4.3.3";
    ECDSA_WITH_SHA512 = "1.2.840.10045.4.3.4";
    SHA1 = "1.3.14.3.2.26";
    SHA256 = "2.16.840.1.101.3.4.2.1";
    SHA384 = "2.16.840.1.101.3.4.2.2";
    SHA512 = "2.16.840.1.101.3.4.2.3";

    // CMS.
    DATA = "1.2.840.113549.1.7.1";
    SIGNED_DATA = "1.2.840.113549.1.7.2";
    CONTENT_TYPE = "1.2.840.113549.1.9.3";
    MESSAGE_DIGEST = "1.2.840.113549.1.9.4";
    SIGNING_TIME = "1.2.840.113549.1.9.5";
    COUNTERSIGNATURE = "1.2.840.113549.1.9.6";
    TIMESTAMP_INFO = "1.2.840.113549.1.9.16.1.4";

    // Authenticode.
    INDIRECT_DATA = "1.3.6.1.4.1.311.2.1.4";
    PE_IMAGE = "1.3.6.1.4.1.311.2.1.15";
    /// Data of a subject interface package, which a class id names.
    SUBJECT_PACKAGE = "1.3.6.1.4.1.311.2.1.30";
    /// SpcSpOpusInfo: the program's description, among the signed attributes.
    OPUS_INFO = "1.3.6.1.4.1.311.2.1.12";
    NESTED_SIGNATURE = "1.3.6.1.4.1.311.2.4.1";
    TIMESTAMP_TOKEN = "1.3.6.1.4.1.311.3.3.1";
}
