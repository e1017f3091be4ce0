//! Forms of the public key that a user names.

use crate::base::url::strip_secrets;
use crate::diagnostic::Error;

/// Whether the bytes begin with the packet of a public key (RFC 9580, sections 4.2 and 5): tag 6 in either form.
pub(super) fn is_keyring(key: &[u8]) -> bool {
    key.first()
        .is_some_and(|first| matches!(first, 0x98..=0x9b | 0xc6))
}

/// Whether the text has armor of OpenPGP. A publisher's list of keys (`KEYS`) has text around each of them.
pub(super) fn is_openpgp(key: &[u8]) -> bool {
    let text = String::from_utf8_lossy(key);
    let mut lines = text.lines();
    lines.any(|line| line.trim_start().starts_with("-----BEGIN PGP "))
}

pub(super) fn no_key_error(place: &str) -> Error {
    let message = format!("`--key`: {} is no public key", strip_secrets(place));
    let remedy = "give a public key in PEM (`-----BEGIN PUBLIC KEY-----`; one in DER with `openssl pkey -pubin \
                  -inform DER`), of minisign, or an OpenPGP keyring";
    Error::value(message, remedy)
}
