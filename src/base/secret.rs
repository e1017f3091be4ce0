//! Secrets, and the mask that removes them from every output.
//!
//! A [`Secret`] cannot be printed or serialized, and its memory is cleared. The mask learns each secret where it
//! enters: terminal, `packer.log` and error messages show `<sensitive>` instead of it and of the forms in which
//! programs repeat it (`forms`). The list of secrets is global, so that no output can miss it.

mod forms;
mod mask;

use std::ffi::OsString;
use std::fmt;

use zeroize::Zeroizing;

use super::text::is_digits;
use super::url::{decode_path, find_password};

pub use forms::SHORTEST;
use mask::mask_value;
pub use mask::{Masker, mask_text};

/// A value that is never shown: `Debug` prints stars, and there is no `Display` and no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// The mask knows the value from now on.
    pub fn new(value: impl Into<Vec<u8>>) -> Self {
        let secret = Self(Zeroizing::new(value.into()));
        mask_value(secret.reveal());
        secret
    }

    /// A text with a secret in it that the mask knows already.
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

/// Masks what environment variables hold whose names say that they are secret, and the passwords of URLs such as
/// proxies. Programs that imagegen starts inherit them and may print them.
pub fn mask_environment(variables: impl Iterator<Item = (OsString, OsString)>) {
    for (name, value) in variables {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if mask_passwords(&value, names_address(&name)) {
            continue;
        }
        if is_secret_name(&name) && !is_ordinary_word(&value) {
            mask_value(value.as_bytes());
        }
    }
}

/// Flags whose value is an address, perhaps behind a prefix.
const ADDRESS_FLAGS: &[&str] = &[
    "from",
    "http-proxy",
    "https-proxy",
    "mirror",
    "proxy",
    "registry-mirror",
];

/// Masks the passwords of addresses on the command line: in the values of these flags, and in every argument that is
/// no `NAME=VALUE` and no text.
pub fn mask_arguments(arguments: impl Iterator<Item = OsString>) {
    let mut is_address = false;
    for argument in arguments {
        let argument = argument.to_string_lossy();
        let flag = argument.strip_prefix("--").unwrap_or_default();
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        let takes_address = ADDRESS_FLAGS.contains(&name);
        let value = if flag.is_empty() { &*argument } else { value };
        let is_plain = !value.contains(['=', ' ']);
        mask_passwords(value, is_address || takes_address || is_plain);
        is_address = value.is_empty() && takes_address;
    }
}

/// Whether a variable's value is an address, which may have no scheme: `HTTPS_PROXY`, `IMAGEGEN_MIRROR`.
fn names_address(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["proxy", "mirror", "url", "uri"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// Masks the passwords of the addresses in a list; of those without a scheme only if the list is known to hold
/// addresses. Whether it has one.
fn mask_passwords(list: &str, holds_addresses: bool) -> bool {
    let mut is_found = false;
    for address in list.split(',') {
        let is_address = holds_addresses || address.contains("://");
        let Some(password) = find_password(address).filter(|_| is_address) else {
            continue;
        };
        mask_value(password.as_bytes());
        mask_value(decode_path(password).unwrap_or_default().as_bytes());
        is_found = true;
    }
    is_found
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
    value.len() < 8 || lower || is_digits(value)
}

#[cfg(test)]
mod tests {
    use super::{Masker, Secret, is_secret_name, mask_arguments, mask_environment, mask_text};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use std::ffi::OsString;

    #[test]
    fn secrets_do_not_show() {
        assert_eq!(format!("{:?}", Secret::from_constant("token")), "***");
    }

    #[test]
    fn names_say_what_is_secret() {
        for (name, expected) in [
            ("ARM_CLIENT_SECRET", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("AWS_SESSION_TOKEN", true),
            ("OS_PASSWORD", true),
            ("private_key", true),
            ("client-key-data", true),
            ("GOOGLE_CREDENTIALS", true),
            ("AWS_ACCESS_KEY_ID", false),
            ("GOOGLE_APPLICATION_CREDENTIALS", false),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", false),
            ("TOKEN_URL", false),
            ("PATH", false),
            ("PWD", false),
        ] {
            assert_eq!(is_secret_name(name), expected, "{name}");
        }
    }

    #[test]
    fn environment_is_masked_by_names_and_users_of_urls() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        mask_environment(
            [
                pair("SOME_TOKEN", "aQ7-environment"),
                pair("TOKEN_KIND", "kubernetes"),
                pair(
                    "HTTPS_PROXY",
                    "http://someone:pr%40xyW0rd@proxy.example:3128",
                ),
            ]
            .into_iter(),
        );
        assert_eq!(
            mask_text("a aQ7-environment b kubernetes"),
            "a <sensitive> b kubernetes"
        );
        assert_eq!(
            mask_text("x pr@xyW0rd pr%40xyW0rd"),
            "x <sensitive> <sensitive>"
        );
        mask_environment(
            [
                pair("HTTP_PROXY", "someone:Bare-pAssw0rd@proxy.example:3128"),
                pair("PROMPT", "someone:Prompt-w0rd@host"),
                pair(
                    "IMAGEGEN_MIRROR",
                    "m.example,https://a.example/=someone:Mirror-w0rd@m.example",
                ),
                pair("https_proxy", "someone:Sla/sh-w0rd@proxy.example:3128"),
                pair("ALL_PROXY", "someone:P4th-w0rd@proxy.example:3128//"),
            ]
            .into_iter(),
        );
        assert_eq!(
            mask_text("Bare-pAssw0rd Prompt-w0rd Mirror-w0rd"),
            "<sensitive> Prompt-w0rd <sensitive>"
        );
        assert_eq!(
            mask_text("Sla/sh-w0rd P4th-w0rd"),
            "<sensitive> <sensitive>"
        );
    }

    #[test]
    fn arguments_are_masked_by_flags() {
        let arguments = [
            "--proxy",
            "someone:Proxy-w0rd@p.example",
            "--from=someone:From-w0rd@h.example/history.json",
            "--var",
            "account=service:Account-w0rd@project",
            "someone:File-w0rd@h.example/kubelet.exe",
        ];
        mask_arguments(arguments.into_iter().map(OsString::from));
        assert_eq!(
            mask_text("Proxy-w0rd From-w0rd Account-w0rd File-w0rd"),
            "<sensitive> <sensitive> Account-w0rd <sensitive>"
        );
    }

    const MASK: &str = "<sensitive>";

    /// No other test has these values: all of a process share the list.
    const PASSWORD: &str = "pA\"ss<W0rd>&'%41\u{fc}+/=1";
    const PLAIN: &str = "Zq8-plain-0123456789";
    const LINES: &str = "first-line-Qx1\nsecond-line-Qx2\r\n";

    fn known() -> [Secret; 3] {
        [PASSWORD, PLAIN, LINES].map(Secret::new)
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn encode_json(text: &str) -> String {
        serde_json::to_string(text)
            .unwrap()
            .trim_matches('"')
            .to_owned()
    }

    /// The forms in which Packer, a cloud's SDK, WinRM and PowerShell repeat a value.
    fn forms(secret: &str) -> Vec<String> {
        let mut forms = vec![
            secret.to_owned(),
            encode_json(secret),
            encode_json(secret)
                .replace('<', "\\u003c")
                .replace('>', "\\u003e")
                .replace('&', "\\u0026"),
            url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        ];
        for before in ["", "a", "ab", "abc"] {
            let inside = format!("{before}{secret}; exit 0");
            forms.push(STANDARD.encode(&inside));
            forms.push(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&inside));
            forms.push(STANDARD.encode(wide(&inside)));
        }
        forms
    }

    /// The visible part of a form holds no six characters of it in a row.
    fn assert_masked(lines: &[String], form: &str) {
        let shown = lines
            .join("")
            .replace(MASK, "\u{1}")
            .split_whitespace()
            .collect::<String>();
        let bare: Vec<char> = form.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(
            lines.iter().any(|line| line.contains(MASK)),
            "{form}: {lines:?}"
        );
        let middle: String = bare[bare.len() / 3..bare.len() * 2 / 3].iter().collect();
        assert!(!shown.contains(&middle), "{form}: {lines:?}");
    }

    fn mask(lines: &[String]) -> Vec<String> {
        let mut masker = Masker::default();
        let mut shown: Vec<String> = lines
            .iter()
            .flat_map(|line| masker.push_line(line))
            .collect();
        shown.extend(masker.finish());
        assert_eq!(shown.len(), lines.len());
        shown
    }

    #[test]
    fn every_form_of_a_secret_is_masked() {
        let _known = known();
        for secret in [PLAIN, PASSWORD] {
            for form in forms(secret) {
                assert_masked(&mask(&[format!("before \"{form}\" behind")]), &form);
            }
        }
    }

    #[test]
    fn secrets_are_masked_over_line_ends() {
        let _known = known();
        for form in forms(PLAIN) {
            for width in [1, 3, 5, 7, 16] {
                let cut = form.as_bytes().chunks(width);
                let lines: Vec<String> = cut
                    .map(|cut| {
                        let text = std::str::from_utf8(cut).unwrap();
                        format!("    imagegen.builder.node: {text}")
                    })
                    .collect();
                let bare: String = mask(&lines)
                    .iter()
                    .map(|line| line.trim_start_matches("    imagegen.builder.node: "))
                    .collect();
                // Of a few characters in a line, those of the first lines may be out already.
                let middle = &form[form.len() / 2..form.len() / 2 + 6];
                assert!(!bare.contains(middle), "{width}: {form}: {bare}");
            }
        }
    }

    #[test]
    fn each_line_of_a_secret_is_masked() {
        let _known = known();
        assert_eq!(mask_text("a first-line-Qx1 b"), "a <sensitive> b");
        assert_eq!(mask_text("a second-line-Qx2 b"), "a <sensitive> b");
        assert_eq!(
            mask_text("x first-line-Qx1\nsecond-line-Qx2 y"),
            "x <sensitive>\n<sensitive> y"
        );
        let json = "{\"key\": \"first-line-Qx1\\r\\nsecond-line-Qx2\\r\\n\"}";
        assert_eq!(
            mask_text(json),
            "{\"key\": \"<sensitive>\\r\\n<sensitive>\\r\\n\"}"
        );
    }

    #[test]
    fn fields_of_a_secret_document_are_masked() {
        let _known =
            Secret::new(r#"{"type": "service_account", "private_key": "MIIprivate/key+of=test"}"#);
        let _file = Secret::new(
            "apiVersion: v1\nusers:\n- user:\n    client-key-data: TFMwdExTMUNSVWRKVGlC\n",
        );
        assert_eq!(
            mask_text("service_account MIIprivate/key+of=test"),
            "service_account <sensitive>"
        );
        assert_eq!(mask_text("x TFMwdExTMUNSVWRKVGlC"), "x <sensitive>");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        let _known = known();
        for text in [
            "",
            "\n",
            "==> imagegen.builder.node: Zq8 plain\n\nfirst\n",
            "grün — 100 % \\n &amp; \u{1f4a9}",
        ] {
            assert_eq!(mask_text(text), text);
        }
        assert_eq!(
            mask_text("GET https://user:pw@a.example/x?v=1&sig=abc failed"),
            "GET https://<sensitive>@a.example/x?v=1&sig=<sensitive> failed"
        );
    }

    #[test]
    fn lines_are_held_back_no_longer_than_needed() {
        let _known = known();
        let mut masker = Masker::default();
        assert_eq!(masker.push_line("a line"), ["a line"]);
        assert_eq!(masker.push_line("ends in Zq8-pl"), Vec::<String>::new());
        assert_eq!(masker.push_line("atform"), ["ends in Zq8-pl", "atform"]);
        assert_eq!(masker.push_line("x Zq"), ["x Zq"]);
        assert_eq!(masker.push_line("8-plain-0123456789 y"), ["<sensitive> y"]);
    }
}
