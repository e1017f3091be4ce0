//! minisign: Ed25519 over a BLAKE2b digest, with a comment that is signed too.
//!
//! Codes: `minisign-key`, `minisign-malformed`, `minisign-bad-signature`.

use std::collections::BTreeMap;

use minisign_verify::{PublicKey, Signature};

use super::{ProofError, Proven};
use crate::model::evidence::Verdict;

/// Verifies a signature. `each` hands every piece of the file to its argument.
///
/// # Errors
/// See the module's codes. Signatures of the old kind, which are over the file itself and not over
/// its digest, are refused.
pub fn verify<E: From<ProofError>>(
    each: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), E>,
    signature: &[u8],
    key: &str,
) -> Result<Proven, E> {
    let wrong = |code, reason: &str| ProofError::new(code, reason.to_owned());
    let public =
        if key.contains('\n') { PublicKey::decode(key.trim()) } else { PublicKey::from_base64(key.trim()) };
    let public = public.map_err(|_| wrong("minisign-key", "it is no public key of minisign"))?;
    let text = std::str::from_utf8(signature)
        .map_err(|_| wrong("minisign-malformed", "the signature is no text"))?;
    let signature =
        Signature::decode(text).map_err(|_| wrong("minisign-malformed", "it is no signature of minisign"))?;
    let refused = |_| wrong("minisign-bad-signature", "the signature is not over these bytes by this key");
    let mut stream = public.verify_stream(&signature).map_err(refused)?;
    each(&mut |piece| stream.update(piece))?;
    stream.finalize().map_err(refused)?;
    Ok(Proven {
        verdict: Verdict::Verified,
        detail: "signed by the expected minisign key".to_owned(),
        facts: BTreeMap::from([("trustedComment".to_owned(), signature.trusted_comment().to_owned())]),
    })
}
