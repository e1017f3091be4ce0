//! CMS SignedData, as far as Authenticode and its timestamps use it: one signer, content inside.

use der::oid::ObjectIdentifier;

use super::digest::Algorithm;
use super::fault::Fault;
use super::tlv::{self, Element, Elements, Malformed, context_tag};
use crate::base::code::Code;
use crate::verify::chain::{X509Certificate, oid};

/// A signature with its content and the certificates beside it.
#[derive(Debug)]
pub(crate) struct SignedData<'a> {
    pub content_type: ObjectIdentifier,
    pub content: Element<'a>,
    /// X.509 certificates only: timestamps of Microsoft hold attribute certificates too.
    pub certificates: Vec<&'a [u8]>,
    pub signer: SignerInfo<'a>,
}

#[derive(Debug)]
pub(crate) struct SignerInfo<'a> {
    identity: SignerId<'a>,
    pub digest: Algorithm,
    /// As they are hashed.
    signed_bytes: Vec<u8>,
    signed: Vec<Attribute<'a>>,
    signature_algorithm: ObjectIdentifier,
    pub signature: &'a [u8],
    pub unsigned: Vec<Attribute<'a>>,
}

#[derive(Debug)]
enum SignerId<'a> {
    IssuerAndSerial { issuer: &'a [u8], serial: &'a [u8] },
    Key(&'a [u8]),
}

#[derive(Debug)]
pub(crate) struct Attribute<'a> {
    pub kind: ObjectIdentifier,
    pub values: Vec<Element<'a>>,
}

impl From<Malformed> for Fault {
    fn from(Malformed(what): Malformed) -> Self {
        Code::CMS_MALFORMED.with_message(format!("the signature cannot be read at {what}"))
    }
}

impl<'a> SignedData<'a> {
    /// A ContentInfo that holds SignedData and nothing after it.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut outer = tlv::parse_single(bytes, tlv::SEQUENCE, "ContentInfo")?.inner();
        if outer
            .expect(tlv::OID, "content type")?
            .parse_oid("content type")?
            != oid::SIGNED_DATA
        {
            return Err(Code::CMS_MALFORMED.with_message("the signature is not a CMS SignedData"));
        }
        let wrapped = outer.expect(context_tag(0), "SignedData")?;
        outer.finish("ContentInfo")?;
        let mut data = tlv::parse_single(wrapped.body, tlv::SEQUENCE, "SignedData")?.inner();
        data.expect(tlv::INTEGER, "version")?;
        let digests = data
            .expect(tlv::SET, "digestAlgorithms")?
            .inner()
            .collect_elements("digestAlgorithms")?;
        let (content_type, content) =
            parse_content(data.expect(tlv::SEQUENCE, "encapContentInfo")?)?;
        let certificates = match data.next_if_tag(context_tag(0), "certificates")? {
            Some(set) => set.inner().collect_elements("certificates")?,
            None => Vec::new(),
        };
        data.next_if_tag(context_tag(1), "crls")?;
        let signers = data
            .expect(tlv::SET, "signerInfos")?
            .inner()
            .collect_elements("signerInfos")?;
        data.finish("SignedData")?;
        let [signer] = signers.as_slice() else {
            let count = signers.len();
            return Err(Code::SEVERAL_SIGNERS
                .with_message(format!("the signature has {count} signers, not one")));
        };
        let signer = SignerInfo::parse(signer)?;
        // RFC 5652, 5.1: readers that go by this list would not find the signer's digest.
        if !digests
            .iter()
            .any(|digest| Algorithm::parse(*digest).is_ok_and(|digest| digest == signer.digest))
        {
            return Err(
                Code::CMS_MALFORMED.with_message("digestAlgorithms lacks the signer's algorithm")
            );
        }
        let certificates = certificates
            .iter()
            .filter(|choice| choice.tag == tlv::SEQUENCE);
        let certificates = certificates.map(|choice| choice.whole).collect();
        Ok(Self {
            content_type,
            content,
            certificates,
            signer,
        })
    }

    /// The signer's certificate.
    pub(crate) fn leaf(&self) -> Result<X509Certificate<'a>, Fault> {
        self.signer.find_certificate(&self.certificates)
    }
}

fn parse_content(info: Element<'_>) -> Result<(ObjectIdentifier, Element<'_>), Malformed> {
    let mut info = info.inner();
    let kind = info
        .expect(tlv::OID, "eContentType")?
        .parse_oid("eContentType")?;
    let wrapped = info.expect(context_tag(0), "eContent")?;
    info.finish("encapContentInfo")?;
    let mut inner = wrapped.inner();
    let content = inner.next("eContent")?;
    inner.finish("eContent")?;
    Ok((kind, content))
}

impl<'a> SignerInfo<'a> {
    pub(crate) fn parse(info: &Element<'a>) -> Result<Self, Fault> {
        if info.tag != tlv::SEQUENCE {
            return Err(Malformed("SignerInfo").into());
        }
        let mut info = info.inner();
        info.expect(tlv::INTEGER, "version")?;
        let identity = SignerId::parse(info.next("sid")?)?;
        let digest = Algorithm::parse(info.expect(tlv::SEQUENCE, "digestAlgorithm")?)?;
        let signed = info
            .next_if_tag(context_tag(0), "signedAttrs")?
            .ok_or_else(|| {
                Code::SIGNED_ATTRIBUTES
                    .with_message("the signer signed the content without signed attributes")
            })?;
        let signature_algorithm = info
            .expect(tlv::SEQUENCE, "signatureAlgorithm")?
            .parse_algorithm("signatureAlgorithm")?;
        let signature = info.expect(tlv::OCTET_STRING, "signature")?.body;
        let unsigned = match info.next_if_tag(context_tag(1), "unsignedAttrs")? {
            Some(set) => parse_attributes(set.inner())?,
            None => Vec::new(),
        };
        info.finish("SignerInfo")?;
        // RFC 5652, 5.4: what is signed carries the tag of SET, not the implicit one.
        let mut signed_bytes = signed.whole.to_vec();
        if let Some(tag) = signed_bytes.first_mut() {
            *tag = tlv::SET;
        }
        let signed = parse_attributes(signed.inner())?;
        Ok(Self {
            identity,
            digest,
            signed_bytes,
            signed,
            signature_algorithm,
            signature,
            unsigned,
        })
    }

    /// The certificate of this signer among others.
    pub(crate) fn find_certificate(
        &self,
        certificates: &[&'a [u8]],
    ) -> Result<X509Certificate<'a>, Fault> {
        for der in certificates {
            let Ok(certificate) = X509Certificate::from_der(der) else {
                continue;
            };
            let is_own = match self.identity {
                SignerId::IssuerAndSerial { issuer, serial } => {
                    certificate.is_named(issuer, serial)
                }
                SignerId::Key(identifier) => certificate.has_key_identifier(identifier),
            };
            if is_own {
                return Ok(certificate);
            }
        }
        let message = "the signature does not contain its signer's certificate";
        Err(Code::SIGNER_CERTIFICATE.with_message(message))
    }

    /// The only value of a signed attribute.
    pub(crate) fn signed_value(
        &self,
        kind: ObjectIdentifier,
    ) -> Result<Option<Element<'a>>, Fault> {
        let mut found = self
            .signed
            .iter()
            .filter(|attribute| attribute.kind == kind);
        let Some(attribute) = found.next() else {
            return Ok(None);
        };
        match (attribute.values.as_slice(), found.next()) {
            ([value], None) => Ok(Some(*value)),
            _ => Err(Code::SIGNED_ATTRIBUTES
                .with_message(format!("the attribute {kind} is signed several times"))),
        }
    }

    /// Values of an attribute that nobody signed.
    pub(crate) fn unsigned_values(&self, kind: ObjectIdentifier) -> Vec<Element<'a>> {
        let found = self
            .unsigned
            .iter()
            .filter(|attribute| attribute.kind == kind);
        found
            .flat_map(|attribute| attribute.values.iter().copied())
            .collect()
    }

    /// That this signer signed these bytes as content of this type.
    pub(crate) fn verify_content(
        &self,
        content_type: ObjectIdentifier,
        content: &[u8],
        leaf: &X509Certificate<'_>,
    ) -> Result<(), Fault> {
        let Some(kind) = self.signed_value(oid::CONTENT_TYPE)? else {
            return Err(unsigned_fault("content type"));
        };
        if kind.tag != tlv::OID || kind.parse_oid("contentType")? != content_type {
            return Err(Code::SIGNED_ATTRIBUTES
                .with_message("the signed content type differs from that of the content"));
        }
        let Some(digest) = self.signed_value(oid::MESSAGE_DIGEST)? else {
            return Err(unsigned_fault("digest"));
        };
        if digest.tag != tlv::OCTET_STRING || digest.body != self.digest.digest_bytes(content) {
            return Err(Code::MESSAGE_DIGEST
                .with_message("the signed digest differs from that of the signature's content"));
        }
        let verification = self
            .digest
            .select_verification(self.signature_algorithm, leaf)?;
        aws_lc_rs::signature::UnparsedPublicKey::new(verification, leaf.key())
            .verify(&self.signed_bytes, self.signature)
            .map_err(|_| {
                Code::SIGNATURE_INVALID.with_message(format!(
                    "the signature was not made by the key of `{}`",
                    leaf.subject()
                ))
            })
    }
}

impl<'a> SignerId<'a> {
    fn parse(sid: Element<'a>) -> Result<Self, Malformed> {
        if sid.tag == 0x80 {
            return Ok(Self::Key(sid.body));
        }
        if sid.tag != tlv::SEQUENCE {
            return Err(Malformed("sid"));
        }
        let mut inner = sid.inner();
        let issuer = inner.expect(tlv::SEQUENCE, "issuer")?.whole;
        let serial = inner.expect(tlv::INTEGER, "serialNumber")?.body;
        inner.finish("sid")?;
        Ok(Self::IssuerAndSerial { issuer, serial })
    }
}

fn parse_attributes(set: Elements<'_>) -> Result<Vec<Attribute<'_>>, Malformed> {
    let mut found = Vec::new();
    for attribute in set.collect_elements("attributes")? {
        if attribute.tag != tlv::SEQUENCE {
            return Err(Malformed("attribute"));
        }
        let mut inner = attribute.inner();
        let kind = inner
            .expect(tlv::OID, "attribute type")?
            .parse_oid("attribute type")?;
        let values = inner
            .expect(tlv::SET, "attribute values")?
            .inner()
            .collect_elements("attribute values")?;
        inner.finish("attribute")?;
        found.push(Attribute { kind, values });
    }
    Ok(found)
}

fn unsigned_fault(attribute: &str) -> Fault {
    Code::SIGNED_ATTRIBUTES.with_message(format!("the signer did not sign the {attribute}"))
}
