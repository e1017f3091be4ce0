//! `WWW-Authenticate`: what a registry requires before it answers (RFC 9110, 11.6.1). A server sends one header or
//! several, each with one challenge or several; values are words or quoted.

/// `Bearer realm="…",service="…",scope="…"`
#[derive(Debug, PartialEq, Eq)]
pub struct Challenge {
    pub(super) realm: String,
    pub(super) service: Option<String>,
    pub(super) scope: Option<String>,
}

impl Challenge {
    /// The first challenge that a token answers. None where the headers have only other schemes, or are no challenges.
    pub fn parse<S: AsRef<str>>(headers: &[S]) -> Option<Self> {
        let mut challenges = headers
            .iter()
            .flat_map(|header| read_challenges(header.as_ref()));
        challenges.find_map(|challenge| {
            if !challenge.scheme.eq_ignore_ascii_case("Bearer") {
                return None;
            }
            Some(Self {
                realm: challenge.find("realm")?,
                service: challenge.find("service"),
                scope: challenge.find("scope"),
            })
        })
    }
}

/// A challenge of any scheme.
struct AnyChallenge<'a> {
    scheme: &'a str,
    parameters: Vec<(&'a str, String)>,
}

impl AnyChallenge<'_> {
    fn find(&self, name: &str) -> Option<String> {
        let mut parameters = self.parameters.iter();
        let (_, value) = parameters.find(|(own, _)| own.eq_ignore_ascii_case(name))?;
        Some(value.clone())
    }
}

/// The challenges of a header, up to the first place that is none.
fn read_challenges(header: &str) -> Vec<AnyChallenge<'_>> {
    let mut rest = Rest(header);
    let mut challenges: Vec<AnyChallenge<'_>> = Vec::new();
    loop {
        rest.skip(|c| matches!(c, ' ' | '\t' | ','));
        let Some(word) = rest.take_token() else {
            return challenges;
        };
        if let Some(value) = rest.take_value() {
            let Some(challenge) = challenges.last_mut() else {
                return challenges;
            };
            challenge.parameters.push((word, value));
            continue;
        }
        challenges.push(AnyChallenge {
            scheme: word,
            parameters: Vec::new(),
        });
        rest.skip_token68();
    }
}

/// The part of a header that is not read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        self.0 = self.0.trim_start_matches(is_skipped);
    }

    /// A token (RFC 9110, 5.6.2).
    fn take_token(&mut self) -> Option<&'a str> {
        let behind = self.0.trim_start_matches(is_token_character);
        let end = self.0.len() - behind.len();
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        (!token.is_empty()).then_some(token)
    }

    /// `=` and a token or a quoted text. Nothing is taken where none follows.
    fn take_value(&mut self) -> Option<String> {
        let mut behind = Self(self.0.trim_start_matches([' ', '\t']).strip_prefix('=')?);
        behind.skip(|c| matches!(c, ' ' | '\t'));
        let value = match behind.0.strip_prefix('"') {
            Some(quoted) => {
                behind.0 = quoted;
                behind.take_quoted()?
            }
            None => behind.take_token()?.to_owned(),
        };
        self.0 = behind.0;
        Some(value)
    }

    /// The rest of a quoted text (RFC 9110, 5.6.4): `\` stands before a character that is meant as it is.
    fn take_quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.0.char_indices();
        loop {
            match characters.next()? {
                (at, '"') => {
                    self.0 = &self.0[at + 1..];
                    return Some(text);
                }
                (_, '\\') => text.push(characters.next()?.1),
                (_, other) => text.push(other),
            }
        }
    }

    /// The one value of schemes such as `Negotiate` (RFC 9110, 11.2), if a comma or the end follows it.
    fn skip_token68(&mut self) {
        let start = self.0.trim_start_matches(' ');
        let behind = start.trim_start_matches(is_token68_character);
        let behind = behind.trim_start_matches('=');
        let behind = behind.trim_start_matches([' ', '\t']);
        if behind.is_empty() || behind.starts_with(',') {
            self.0 = behind;
        }
    }
}

/// `tchar` of RFC 9110, 5.6.2.
fn is_token_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// RFC 9110, 11.2.
fn is_token68_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~+/".contains(c)
}

#[cfg(test)]
mod tests {
    use super::Challenge;

    fn challenge(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenge {
        Challenge {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
        }
    }

    #[test]
    fn challenges_are_read_in_every_form_of_the_standard() {
        let whole = challenge(
            "https://a.example/token",
            Some("a"),
            Some("repository:b:pull,push"),
        );
        let realm = || challenge("https://a.example/token", None, None);
        let rows: [(&[&str], Challenge); 9] = [
            (
                &[
                    "Bearer realm=\"https://a.example/token\",service=\"a\", scope=\"repository:b:pull,push\"",
                ],
                whole,
            ),
            (&["BEARER realm=\"https://a.example/token\""], realm()),
            (&["Bearer  Realm = \"https://a.example/token\""], realm()),
            (
                &["Bearer error=invalid, realm=\"https://a.example/token\""],
                realm(),
            ),
            (
                &[
                    "Basic realm=\"x\"",
                    "Bearer realm=\"https://a.example/token\"",
                ],
                realm(),
            ),
            (
                &["Basic realm=\"x, Bearer realm=y\", Bearer realm=\"https://a.example/token\""],
                realm(),
            ),
            (
                &["Negotiate, NTLM abc==, Bearer realm=\"https://a.example/token\""],
                realm(),
            ),
            (
                &[", ,Bearer realm=\"https:\\//a.example/token\" ,"],
                realm(),
            ),
            (
                &["Bearer realm=token,service=a"],
                challenge("token", Some("a"), None),
            ),
        ];
        for (headers, expected) in rows {
            assert_eq!(Challenge::parse(headers), Some(expected), "{headers:?}");
        }
        for bad in [
            "",
            "Bearer",
            "Bearer abc==",
            "Basic realm=\"x\"",
            "Bearer service=\"x\"",
            "Bearer realm=\"x",
            "realm=\"x\"",
            "Bearerrealm=\"x\"",
            "Basic x=\"Bearer realm=y\"",
        ] {
            assert_eq!(Challenge::parse(&[bad]), None, "{bad}");
        }
    }
}
