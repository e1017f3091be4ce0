//! Faults of signatures, by stable codes.

use crate::base::code::Code;
use crate::verify::ProofError;
use crate::verify::chain::ChainError;

/// A [`ProofError`] in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub code: Code,
    pub message: String,
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
            Code::CMS_MALFORMED
            | Code::SEVERAL_SIGNERS
            | Code::WRONG_CONTENT
            | Code::SIGNED_ATTRIBUTES => Code::TIMESTAMP_MALFORMED,
            Code::MESSAGE_DIGEST | Code::SIGNATURE_INVALID | Code::SIGNER_CERTIFICATE => {
                Code::TIMESTAMP_SIGNATURE
            }
            Code::WRONG_USAGE => Code::TIMESTAMP_USAGE,
            Code::CERTIFICATE_EXPIRED
            | Code::CERTIFICATE_NOT_YET_VALID
            | Code::UNTRUSTED_ROOT
            | Code::CHAIN_INVALID => Code::TIMESTAMP_CHAIN,
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
        Self::new(fault.code, fault.message)
    }
}

impl From<ChainError> for Fault {
    fn from(error: ChainError) -> Self {
        let code = match error {
            ChainError::Malformed => Code::SIGNER_CERTIFICATE,
            ChainError::Expired { .. } => Code::CERTIFICATE_EXPIRED,
            ChainError::NotYetValid { .. } => Code::CERTIFICATE_NOT_YET_VALID,
            ChainError::UntrustedRoot { .. } => Code::UNTRUSTED_ROOT,
            ChainError::Usage { .. } => Code::WRONG_USAGE,
            ChainError::WeakKey { .. } => Code::WEAK_KEY,
            ChainError::Sha1 { .. } => Code::SHA1,
            ChainError::Invalid { .. } => Code::CHAIN_INVALID,
        };
        code.with_message(error.to_string())
    }
}
