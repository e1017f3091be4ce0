//! A bootstrap token: printable by accident nowhere.

use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::diagnostic::Finding;

/// `abcdef.0123456789abcdef`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapToken(Secret);

impl BootstrapToken {
    /// Blanks and line ends around it are cut off, as files and pipes have them, and the byte-order mark with which
    /// editors of Windows begin a file.
    ///
    /// # Errors
    /// Another form. The message does not repeat the text: it may be a secret of another kind.
    pub fn parse(text: &str) -> Result<Self, Finding> {
        let text = text.trim_start_matches('\u{feff}').trim();
        let good = |part: &str, length: usize| {
            part.len() == length
                && part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        match text.split_once('.') {
            Some((id, secret)) if good(id, 6) && good(secret, 16) => Ok(Self(Secret::new(text))),
            _ => Err(Finding::new(
                Code::TOKEN_FORMAT,
                "the token does not have the form `[a-z0-9]{6}.[a-z0-9]{16}`",
                "create one with `kubeadm token create`",
            )),
        }
    }

    pub(super) fn reveal(&self) -> &str {
        self.0.reveal_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_are_tokens_and_none_is_repeated() {
        let good = BootstrapToken::parse(" abcdef.0123456789abcdef\r\n").expect("token");
        assert_eq!(good.reveal(), "abcdef.0123456789abcdef");
        let marked = BootstrapToken::parse("\u{feff}abcdef.0123456789abcdef\r\n").expect("token");
        assert_eq!(marked, good);
        assert_eq!(format!("{good:?}"), "BootstrapToken(***)");
        for bad in [
            "",
            "abcdef",
            "abcdef.0123",
            "ABCDEF.0123456789abcdef",
            "abcdef.0123456789abcdef0",
            "a b",
        ] {
            let problem = BootstrapToken::parse(bad).expect_err(bad);
            assert!(
                bad.is_empty() || !problem.message.contains(bad),
                "{problem:?}"
            );
        }
    }
}
