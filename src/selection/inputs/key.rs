//! Forms of public keys and certificates. Nothing else of a file that a definition names is kept or printed.

use crate::base::public_key::is_minisign_comment;
use crate::base::text::is_alphanumeric_or;

/// Largest file of keys or certificates.
pub(super) const LARGEST: u64 = 256 << 10;

const BLOCKS: &[&str] = &["PUBLIC KEY", "CERTIFICATE", "PGP PUBLIC KEY BLOCK"];

/// Whether a value is the key itself and not the name of a file.
pub(super) fn is_content(text: &str) -> bool {
    text.contains('\n') || text.starts_with("-----BEGIN") || is_minisign(text)
}

/// Whether a text is made of public keys or certificates and of nothing else.
pub(super) fn is_public(text: &str) -> bool {
    let mut open: Option<&str> = None;
    let mut found = false;
    for line in text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
    {
        match open {
            Some(name) if line == format!("-----END {name}-----") => open = None,
            Some(name) if is_inner(line, name) => {}
            None if is_minisign_comment(line) => {}
            None if is_minisign(line) => found = true,
            None => {
                open = BLOCKS
                    .iter()
                    .copied()
                    .find(|name| line == format!("-----BEGIN {name}-----"));
                if open.is_none() {
                    return false;
                }
                found = true;
            }
            Some(_) => return false,
        }
    }
    found && open.is_none()
}

/// Whether a text is made of certificates in PEM and of nothing else.
pub(super) fn is_certificates(text: &str) -> bool {
    let begins = text.matches("-----BEGIN ").count();
    is_public(text) && begins > 0 && begins == text.matches("-----BEGIN CERTIFICATE-----").count()
}

fn is_inner(line: &str, name: &str) -> bool {
    // Of a header without text, the blank behind its colon is gone.
    let header = ["Comment", "Version", "Hash", "Charset"];
    let (key, text) = line.split_once(':').unwrap_or_default();
    let is_header = header.contains(&key) && (text.is_empty() || text.starts_with(' '));
    is_alphanumeric_or(line, "+/=") || name.starts_with("PGP") && is_header
}

fn is_minisign(line: &str) -> bool {
    line.starts_with("RW") && line.len() == 56 && line.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_are_keys() {
        let pem = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n";
        let minisign = format!(
            "untrusted comment: minisign public key\nRW{}\n",
            "a".repeat(54)
        );
        let pgp = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: \nComment: x\n\nmQ==\n=aBcD\n-----END PGP PUBLIC KEY BLOCK-----\n";
        for good in [pem, &minisign, pgp, &format!("{pem}{pem}")] {
            assert!(is_public(good), "{good}");
        }
        for bad in [
            "",
            "TOKEN=s3cret\0PATH=/bin",
            "root:x:0:0:root:/root:/bin/sh\n",
            &format!("{pem}TOKEN=s3cret\n"),
            &format!("TOKEN=s3cret\n{pem}"),
            "-----BEGIN PUBLIC KEY-----\nTOKEN: s3cret\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nMFkw\n",
            &minisign.replace("comment: ", "comment: -----BEGIN -----MFkw-----END -----"),
            "-----BEGIN EC PRIVATE KEY-----\nMFkw\n-----END EC PRIVATE KEY-----\n",
        ] {
            assert!(!is_public(bad), "{bad}");
        }
    }
}
