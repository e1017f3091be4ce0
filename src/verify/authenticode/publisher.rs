//! The demanded publisher: attributes of the certificate's subject, each exactly.

use std::str::FromStr;

use der::oid::ObjectIdentifier;

use super::fault::Fault;
use crate::base::code::Code;
use crate::diagnostic::classify;
use crate::verify::chain::{X509Certificate, find_attribute_type};

/// `O=Microsoft Corporation`, `CN=…,O=…`, or any other part of a subject, in any order.
///
/// For each attribute that is named, the certificate has these values and no others: so neither a
/// part of a name nor a second name beside it will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publisher {
    /// As it was written.
    text: String,
    wanted: Vec<(String, ObjectIdentifier, Vec<String>)>,
}

/// A publisher that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a publisher: {why}")]
pub struct PublisherError {
    text: String,
    why: String,
}

classify!(PublisherError => VALUE);

impl FromStr for Publisher {
    type Err = PublisherError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match parse_attributes(text) {
            Ok(wanted) => Ok(Self {
                text: text.to_owned(),
                wanted,
            }),
            Err(why) => Err(PublisherError {
                text: text.to_owned(),
                why,
            }),
        }
    }
}

impl Publisher {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn check_certificate(&self, leaf: &X509Certificate<'_>) -> Result<(), Fault> {
        for (key, oid, wanted) in &self.wanted {
            let mut found = leaf.subject_values(*oid);
            found.sort();
            if found != *wanted {
                let subject = leaf.subject();
                let wanted = wanted.join("`, `");
                return Err(Code::PUBLISHER.with_message(format!(
                    "the signer is `{subject}`; its {key} is not exactly `{wanted}`"
                )));
            }
        }
        Ok(())
    }
}

/// `key=value` parts. A value stands plain, with `\` before what is special, or in quotes.
fn parse_parts(text: &str) -> Result<Vec<(String, String)>, &'static str> {
    let mut found = Vec::new();
    let mut letters = text.chars().peekable();
    loop {
        let mut key = String::new();
        loop {
            match letters.next() {
                Some('=') => break,
                Some(',' | '"' | '\\') | None => return Err("a part is not `KEY=value`"),
                Some(letter) => key.push(letter),
            }
        }
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        let quoted = letters.next_if_eq(&'"').is_some();
        let mut value = String::new();
        // Blanks at the end are no part of a plain value; an escaped one is.
        let mut kept = 0;
        let more = loop {
            match letters.next() {
                Some('\\') => {
                    value.push(letters.next().ok_or("it ends in `\\`")?);
                    kept = value.len();
                }
                Some('"') if quoted => {
                    kept = value.len();
                    while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
                    break match letters.next() {
                        Some(',') => true,
                        None => false,
                        Some(_) => return Err("text after a quoted value"),
                    };
                }
                Some(letter) if quoted => value.push(letter),
                None if quoted => return Err("a quote is not closed"),
                Some(',') => break true,
                None => break false,
                Some(letter) => {
                    value.push(letter);
                    if !letter.is_whitespace() {
                        kept = value.len();
                    }
                }
            }
        };
        value.truncate(kept);
        found.push((key.trim().to_owned(), value));
        if !more {
            return Ok(found);
        }
    }
}

/// Each attribute with its key as it was written, its type, and its values in order.
fn parse_attributes(text: &str) -> Result<Vec<(String, ObjectIdentifier, Vec<String>)>, String> {
    let mut attributes: Vec<(String, ObjectIdentifier, Vec<String>)> = Vec::new();
    for (key, value) in parse_parts(text)? {
        let Some(oid) = find_attribute_type(&key) else {
            return Err(format!("`{key}` is not an attribute of a name"));
        };
        if value.is_empty() {
            return Err(format!("`{key}` has no value"));
        }
        match attributes.iter_mut().find(|(_, known, _)| *known == oid) {
            Some((_, _, values)) => values.push(value),
            None => attributes.push((key, oid, vec![value])),
        }
    }
    for (_, _, values) in &mut attributes {
        values.sort();
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_subject_in_any_order_and_quoting() {
        let read = |text: &str| {
            let publisher: Publisher = text.parse().unwrap();
            publisher
                .wanted
                .into_iter()
                .map(|(key, _, values)| (key, values))
                .collect::<Vec<_>>()
        };
        let one = |key: &str, value: &str| (key.to_owned(), vec![value.to_owned()]);
        assert_eq!(
            read("O=Microsoft Corporation"),
            [one("O", "Microsoft Corporation")]
        );
        assert_eq!(read(" CN = A B , O=C "), [one("CN", "A B"), one("O", "C")]);
        assert_eq!(
            read("O=Foo\\, Inc.,CN=x"),
            [one("O", "Foo, Inc."), one("CN", "x")]
        );
        assert_eq!(
            read("O=\"Foo, Inc.\", CN=x"),
            [one("O", "Foo, Inc."), one("CN", "x")]
        );
        assert_eq!(read("O=a\\ "), [one("O", "a ")]);
        assert_eq!(read("2.5.4.10=C"), [one("2.5.4.10", "C")]);
        assert_eq!(
            read("OU=b,OU=a"),
            [("OU".to_owned(), vec!["a".to_owned(), "b".to_owned()])]
        );
    }
}
