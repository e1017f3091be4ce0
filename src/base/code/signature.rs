//! Faults of Authenticode signatures.

use super::codes;

codes! {
    "signature error"
    Verification ALGORITHM "algorithm" "The digest or signature algorithm is not accepted.",
    Verification CERTIFICATE_EXPIRED "certificate-expired" "The certificate had expired at the time of the signature or, without timestamp, of the check.",
    Verification CERTIFICATE_NOT_YET_VALID "certificate-not-yet-valid" "The certificate was not yet valid at the time of the signature or, without timestamp, of the check.",
    Verification CERTIFICATE_TABLE "certificate-table" "The table of the signature has a wrong offset, size or type.",
    Verification CHAIN_INVALID "chain-invalid" "The chain is invalid.",
    Verification CMS_MALFORMED "cms-malformed" "The signature is not valid DER.",
    Verification ENCODING "encoding" "The script is neither UTF-8 nor UTF-16LE.",
    Verification FILE_DIGEST "file-digest" "The file differs from the signed file.",
    Verification FILE_MALFORMED "file-malformed" "The file does not have the format of its kind.",
    Verification MESSAGE_DIGEST "message-digest" "The signed digest differs from that of the signature's content.",
    Verification MSI_METADATA "msi-metadata" "Names, sizes or times in the MSI differ from the signed ones.",
    Verification PADDING "padding" "Bytes beside the signature are not padding.",
    Verification SEVERAL_SIGNATURES "several-signatures" "The file has several signatures side by side.",
    Verification SEVERAL_SIGNERS "several-signers" "The signature does not have exactly one signer.",
    Verification SHA1 "sha1" "A digest is SHA-1, which proves nothing.",
    Verification SIGNATURE_BLOCK "signature-block" "The signature block of the script has other content, or no end.",
    Verification SIGNATURE_INVALID "signature-invalid" "The signature was not made by the signer's key.",
    Verification SIGNED_ATTRIBUTES "signed-attributes" "The signed attributes lack the content type or the digest.",
    Verification SIGNER_CERTIFICATE "signer-certificate" "The signature does not contain the signer's certificate, or it cannot be parsed.",
    Verification TEXT_AFTER_SIGNATURE "text-after-signature" "Text follows the signature block of the script.",
    Verification TIMESTAMP_CHAIN "timestamp-chain" "The timestamp's chain is invalid or does not end in a trusted root.",
    Verification TIMESTAMP_FUTURE "timestamp-future" "The timestamp is later than the time of the check.",
    Verification TIMESTAMP_IMPRINT "timestamp-imprint" "The timestamp belongs to another signature.",
    Verification TIMESTAMP_MALFORMED "timestamp-malformed" "The timestamp cannot be read.",
    Verification TIMESTAMP_SEVERAL "timestamp-several" "The signature has several timestamps.",
    Verification TIMESTAMP_SIGNATURE "timestamp-signature" "The timestamp's own signature is invalid.",
    Verification TIMESTAMP_USAGE "timestamp-usage" "The timestamp's certificate is not only for timestamping.",
    Verification WEAK_KEY "weak-key" "An RSA key has fewer than 2048 bits.",
    Verification WRONG_CONTENT "wrong-content" "The signature is not over a file of this kind.",
    Verification WRONG_USAGE "wrong-usage" "The certificate is not for code signing.",
}
