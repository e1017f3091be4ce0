//! Why a signature proves nothing, by stable codes.

use crate::verify::ProofError;
use crate::verify::chain::ChainError;

macro_rules! codes {
    ($($name:ident $text:literal $meaning:literal,)+) => {
        /// What is wrong with a signed file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $meaning] $name,)+
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// For people, a part of a sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)+
                }
            }
        }
    };
}

codes! {
    Unsigned "unsigned" "the file has no embedded signature",
    Unreadable "unreadable" "the file cannot be read to its end",
    TooLarge "too-large" "a part that must be held in memory is over its limit",
    FileMalformed "file-malformed" "the file is not of its kind",
    CertificateTable "certificate-table" "the table that holds the signature has a wrong place, size or type",
    Padding "padding" "bytes beside the signature that are no padding",
    SeveralSignatures "several-signatures" "more than one signature side by side",
    SignatureBlock "signature-block" "a script's signature block holds something else, or has no end",
    TextAfterSignature "text-after-signature" "a script goes on after its signature block",
    Encoding "encoding" "a script's text is neither UTF-8 nor UTF-16LE",
    MsiMetadata "msi-metadata" "names, sizes or times in an MSI are not the signed ones",
    CmsMalformed "cms-malformed" "the signature is not the DER it must be",
    SeveralSigners "several-signers" "the signature has none or several signers",
    WrongContent "wrong-content" "the signature is over something else than a file of this kind",
    SignedAttributes "signed-attributes" "what the signer signed lacks content type or digest",
    MessageDigest "message-digest" "the signed digest is not that of the signature's content",
    FileDigest "file-digest" "the file is not the one that was signed",
    SignatureInvalid "signature-invalid" "the signer's key did not make this signature",
    Algorithm "algorithm" "a digest or signature algorithm that is not accepted",
    Sha1 "sha1" "SHA-1 where the policy does not allow it",
    WeakKey "weak-key" "an RSA key under 2048 bits",
    SignerCertificate "signer-certificate" "the signer's certificate is not in the signature or cannot be read",
    WrongUsage "wrong-usage" "the certificate is not for signing code",
    Expired "certificate-expired" "the certificate had expired at the time that counts",
    NotYetValid "certificate-not-yet-valid" "the certificate did not hold yet at the time that counts",
    UntrustedRoot "untrusted-root" "the chain leads to no trusted root",
    ChainInvalid "chain-invalid" "the chain does not hold",
    Publisher "publisher" "the signer is another publisher",
    CertificatePin "certificate-pin" "no pinned certificate signed or issued",
    TimestampMissing "timestamp-missing" "no timestamp where the policy wants one",
    TimestampMalformed "timestamp-malformed" "the timestamp cannot be read",
    TimestampSeveral "timestamp-several" "more than one timestamp",
    TimestampImprint "timestamp-imprint" "the timestamp is of another signature",
    TimestampSignature "timestamp-signature" "the timestamp's own signature does not hold",
    TimestampUsage "timestamp-usage" "the timestamp's certificate is not for timestamping alone",
    TimestampChain "timestamp-chain" "the timestamp's chain did not hold or leads to no trusted root",
    TimestampFuture "timestamp-future" "the timestamp lies after the time of the check",
}

/// A [`ProofError`] in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Code {
    pub(crate) fn with_message(self, message: impl Into<String>) -> Fault {
        Fault { code: self, message: message.into() }
    }
}

impl Fault {
    /// The same fault, met inside a timestamp.
    pub(crate) fn for_timestamp(self) -> Self {
        let code = match self.code {
            Code::CmsMalformed | Code::SeveralSigners | Code::WrongContent | Code::SignedAttributes => {
                Code::TimestampMalformed
            }
            Code::MessageDigest | Code::SignatureInvalid | Code::SignerCertificate => {
                Code::TimestampSignature
            }
            Code::WrongUsage => Code::TimestampUsage,
            Code::Expired | Code::NotYetValid | Code::UntrustedRoot | Code::ChainInvalid => {
                Code::TimestampChain
            }
            other => other,
        };
        Self { code, message: format!("timestamp: {}", self.message) }
    }

    pub(crate) fn for_nested(self, number: usize) -> Self {
        Self { message: format!("nested signature {number}: {}", self.message), ..self }
    }
}

impl From<Fault> for ProofError {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code.as_str(), fault.message)
    }
}

impl From<ChainError> for Fault {
    fn from(error: ChainError) -> Self {
        let code = match error {
            ChainError::Malformed => Code::SignerCertificate,
            ChainError::Expired { .. } => Code::Expired,
            ChainError::NotYetValid { .. } => Code::NotYetValid,
            ChainError::UntrustedRoot { .. } => Code::UntrustedRoot,
            ChainError::Usage { .. } => Code::WrongUsage,
            ChainError::WeakKey { .. } => Code::WeakKey,
            ChainError::Sha1 { .. } => Code::Sha1,
            ChainError::Invalid { .. } => Code::ChainInvalid,
        };
        code.with_message(error.to_string())
    }
}
