//! Why a signature proves nothing, by stable codes.

use crate::verify::ProofError;
use crate::verify::chain::ChainError;

macro_rules! codes {
    ($($name:ident $text:literal $meaning:literal,)+) => {
        /// The fault of a signed file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $meaning] $name,)+
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// For people, a part of a sentence.
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
    TooLarge "too-large" "a part of the file is larger than its limit",
    FileMalformed "file-malformed" "the file does not have the format of its kind",
    CertificateTable "certificate-table" "the table of the signature has a wrong offset, size or type",
    Padding "padding" "bytes beside the signature are not padding",
    SeveralSignatures "several-signatures" "the file has several signatures side by side",
    SignatureBlock "signature-block" "the signature block of the script has other content, or no end",
    TextAfterSignature "text-after-signature" "text follows the signature block of the script",
    Encoding "encoding" "the script is neither UTF-8 nor UTF-16LE",
    MsiMetadata "msi-metadata" "names, sizes or times in the MSI differ from the signed ones",
    CmsMalformed "cms-malformed" "the signature is not valid DER",
    SeveralSigners "several-signers" "the signature does not have exactly one signer",
    WrongContent "wrong-content" "the signature is not over a file of this kind",
    SignedAttributes "signed-attributes" "the signed attributes lack the content type or the digest",
    MessageDigest "message-digest" "the signed digest differs from that of the signature's content",
    FileDigest "file-digest" "the file differs from the signed file",
    SignatureInvalid "signature-invalid" "the signature was not made by the signer's key",
    Algorithm "algorithm" "the digest or signature algorithm is not accepted",
    Sha1 "sha1" "a digest is SHA-1, which the policy does not allow",
    WeakKey "weak-key" "an RSA key has fewer than 2048 bits",
    SignerCertificate "signer-certificate" "the signature does not contain the signer's certificate, or it cannot be parsed",
    WrongUsage "wrong-usage" "the certificate is not for code signing",
    Expired "certificate-expired" "the certificate had expired at the time of the signature or, without timestamp, of the check",
    NotYetValid "certificate-not-yet-valid" "the certificate was not yet valid at the time of the signature or, without timestamp, of the check",
    UntrustedRoot "untrusted-root" "the chain does not end in a trusted root",
    ChainInvalid "chain-invalid" "the chain is invalid",
    Publisher "publisher" "the signer is another publisher",
    CertificatePin "certificate-pin" "neither the signer's certificate nor an authority of its chain is pinned",
    TimestampMissing "timestamp-missing" "the signature has no timestamp, which the policy requires",
    TimestampMalformed "timestamp-malformed" "the timestamp cannot be read",
    TimestampSeveral "timestamp-several" "the signature has several timestamps",
    TimestampImprint "timestamp-imprint" "the timestamp belongs to another signature",
    TimestampSignature "timestamp-signature" "the timestamp's own signature is invalid",
    TimestampUsage "timestamp-usage" "the timestamp's certificate is not only for timestamping",
    TimestampChain "timestamp-chain" "the timestamp's chain is invalid or does not end in a trusted root",
    TimestampFuture "timestamp-future" "the timestamp is later than the time of the check",
}

/// A [`ProofError`] in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Code {
    pub(crate) fn with_message(self, message: impl Into<String>) -> Fault {
        Fault {
            code: self,
            message: message.into(),
        }
    }
}

impl Fault {
    /// The same fault, met inside a timestamp.
    pub(crate) fn for_timestamp(self) -> Self {
        let code = match self.code {
            Code::CmsMalformed
            | Code::SeveralSigners
            | Code::WrongContent
            | Code::SignedAttributes => Code::TimestampMalformed,
            Code::MessageDigest | Code::SignatureInvalid | Code::SignerCertificate => {
                Code::TimestampSignature
            }
            Code::WrongUsage => Code::TimestampUsage,
            Code::Expired | Code::NotYetValid | Code::UntrustedRoot | Code::ChainInvalid => {
                Code::TimestampChain
            }
            other => other,
        };
        Self {
            code,
            message: format!("timestamp: {}", self.message),
        }
    }

    pub(crate) fn for_nested(self, number: usize) -> Self {
        Self {
            message: format!("nested signature {number}: {}", self.message),
            ..self
        }
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
