//! Secrets, and the mask that removes them from every output.
//!
//! A [`Secret`] cannot be printed or serialized, and its memory is cleared. The mask registers each secret when it
//! is created: terminal, `packer.log` and error messages show `<sensitive>` instead, in every encoding that a
//! program may print (`forms`, `view`). The list of secrets is global, so that no output can miss it.

mod forms;
mod mask;
mod view;

use std::ffi::OsString;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use zeroize::Zeroizing;

pub use forms::SHORTEST;
pub use mask::{Masker, mask_text};

use mask::KnownSecrets;

static KNOWN: RwLock<KnownSecrets> = RwLock::new(KnownSecrets::new());

/// A value that is never shown: `Debug` prints stars, and there is no `Display` and no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// The mask knows the value from now on.
    #[must_use]
    pub fn new(value: impl Into<Vec<u8>>) -> Self {
        let secret = Self(Zeroizing::new(value.into()));
        mask_value(secret.reveal());
        secret
    }

    /// A text with a secret in it that the mask knows already.
    #[must_use]
    pub fn from_parts(text: Vec<u8>) -> Self {
        Self(Zeroizing::new(text))
    }

    /// A value of the program's own in the place of a secret. It is not masked.
    pub fn from_constant(value: &'static str) -> Self {
        Self(Zeroizing::new(value.as_bytes().to_vec()))
    }

    /// The value itself, for the one program or server that it is meant for.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// The value as text; empty where it is none.
    pub fn reveal_text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Masks a value in every output from now on.
fn mask_value(value: &[u8]) {
    KNOWN
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .add(value);
}

/// Masks what environment variables hold whose names say that they are secret, and the users of URLs such as
/// proxies. Programs that imagegen starts inherit them and may print them.
pub fn mask_environment(variables: impl Iterator<Item = (OsString, OsString)>) {
    for (name, value) in variables {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if let Some(user) = find_url_user(&value) {
            let password = user.split_once(':').map_or(user, |(_, password)| password);
            mask_value(password.as_bytes());
            mask_value(
                super::url::decode_path(password)
                    .unwrap_or_default()
                    .as_bytes(),
            );
        } else if is_secret_name(&name) && !is_ordinary_word(&value) {
            mask_value(value.as_bytes());
        }
    }
}

fn find_url_user(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit_once('@').map(|(user, _)| user)
}

/// Parts of names of variables, fields and URL parameters whose value is a secret.
const SECRET_WORDS: &[&str] = &[
    "accesskey",
    "accountkey",
    "apikey",
    "clientkey",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "sastoken",
    "secret",
    "sharedkey",
    "token",
];

/// Endings of names whose value says where a secret is or whose it is.
const PUBLIC_ENDINGS: &[&str] = &[
    "file",
    "path",
    "dir",
    "sock",
    "url",
    "uri",
    "accesskeyid",
    "name",
    "env",
];

/// Whether a name says that its value is a secret: `ARM_CLIENT_SECRET`, `client-key-data`, `private_key`.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
        && !PUBLIC_ENDINGS.iter().any(|ending| name.ends_with(ending))
        && name != "googleapplicationcredentials"
}

/// A word such as `kubernetes` or `true` is not masked because of a variable's name: it would be masked in every
/// sentence.
fn is_ordinary_word(value: &str) -> bool {
    let lower = value
        .chars()
        .all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_' | '.'));
    value.len() < 8 || lower || value.chars().all(|c| c.is_ascii_digit())
}
