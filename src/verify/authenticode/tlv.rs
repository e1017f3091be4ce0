//! DER, element by element.
//!
//! Typed decoders refuse real signatures: attribute certificates in a set of certificates, unordered sets, content
//! that is not an octet string. Here an element is a tag and bytes; the caller states the expected tag.

use der::oid::ObjectIdentifier;
use der::{Reader as _, SliceReader};

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const NULL: u8 = 0x05;
pub(crate) const OID: u8 = 0x06;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// Constructed and context-specific.
pub(crate) const fn context_tag(number: u8) -> u8 {
    0xa0 | number
}

/// The bytes are not the DER that was expected; says of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub tag: u8,
    /// With tag and length.
    pub whole: &'a [u8],
    pub body: &'a [u8],
}

impl<'a> Element<'a> {
    pub(crate) fn inner(&self) -> Elements<'a> {
        Elements { rest: self.body }
    }

    /// The algorithm of an AlgorithmIdentifier whose parameters are absent or NULL (RFC 5754, section 2).
    pub(crate) fn parse_algorithm(
        &self,
        what: &'static str,
    ) -> Result<ObjectIdentifier, Malformed> {
        let mut inner = self.inner();
        let algorithm = inner.expect(OID, what)?.parse_oid(what)?;
        if let Some(parameters) = inner.next_if_tag(NULL, what)?
            && !parameters.body.is_empty()
        {
            return Err(Malformed(what));
        }
        inner.finish(what)?;
        Ok(algorithm)
    }

    pub(crate) fn parse_oid(&self, what: &'static str) -> Result<ObjectIdentifier, Malformed> {
        ObjectIdentifier::from_bytes(self.body).map_err(|_| Malformed(what))
    }
}

/// Elements that follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn next(&mut self, what: &'static str) -> Result<Element<'a>, Malformed> {
        let element = parse_first(self.rest).ok_or(Malformed(what))?;
        self.rest = &self.rest[element.whole.len()..];
        Ok(element)
    }

    pub(crate) fn expect(&mut self, tag: u8, what: &'static str) -> Result<Element<'a>, Malformed> {
        self.next(what).and_then(|found| {
            if found.tag == tag {
                Ok(found)
            } else {
                Err(Malformed(what))
            }
        })
    }

    /// The next element where it has this tag.
    pub(crate) fn next_if_tag(
        &mut self,
        tag: u8,
        what: &'static str,
    ) -> Result<Option<Element<'a>>, Malformed> {
        if self.rest.first() == Some(&tag) {
            self.next(what).map(Some)
        } else {
            Ok(None)
        }
    }

    pub(crate) fn finish(&self, what: &'static str) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed(what))
        }
    }

    pub(crate) fn collect_elements(
        mut self,
        what: &'static str,
    ) -> Result<Vec<Element<'a>>, Malformed> {
        let mut found = Vec::new();
        while !self.is_empty() {
            found.push(self.next(what)?);
        }
        Ok(found)
    }
}

/// The element at the start of the bytes, whatever comes after it.
pub(crate) fn parse_first(bytes: &[u8]) -> Option<Element<'_>> {
    let mut reader = SliceReader::new(bytes).ok()?;
    let header = reader.peek_header().ok()?;
    let whole = reader.tlv_bytes().ok()?;
    let length = usize::try_from(header.length).ok()?;
    let body = whole.get(whole.len().checked_sub(length)?..)?;
    Some(Element {
        tag: header.tag.octet(),
        whole,
        body,
    })
}

/// The only element of the bytes.
pub(crate) fn parse_single<'a>(
    bytes: &'a [u8],
    tag: u8,
    what: &'static str,
) -> Result<Element<'a>, Malformed> {
    let mut elements = Elements::new(bytes);
    let element = elements.expect(tag, what)?;
    elements.finish(what)?;
    Ok(element)
}
