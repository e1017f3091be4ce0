//! A provider's replacements for a publisher's: other addresses, digests, signers, layouts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::component::{DeclaredSignature, Member, PayloadKind, SignatureKind};
use crate::base::json;
use crate::base::url::HttpUrl;
use crate::base::value::{Sha256, Sha512};

/// Component name, or the beginning of a URL that ends with `/`, → what replaces it. A guest script
/// is named `scripts/<path>` and takes `sha256` alone.
pub type Overrides = BTreeMap<String, Override>;

/// Start of the key of a guest script.
pub const SCRIPTS: &str = "scripts/";

/// Replaces parts of how a component is published. In URLs `{version}` and `{version_}` stand for
/// the version, as in the catalog.
///
/// A field that is not named keeps the catalog's value. Another `url` is another place of the same bytes, also with a
/// checksum file or another algorithm's digest: the catalog's digest still holds. With a digest that contradicts the
/// catalog's, or with a signature or a publisher of your own, it means other bytes: the catalog's pins do not apply,
/// and each proof that the catalog declares and the override does not replace needs a waiver.
/// Another `url` of a URL prefix is a mirror: the same bytes and pins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"url\": \"https://…\", \"sha256\": \"…\"}`")]
pub struct Override {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<HttpUrl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha512: Option<Sha512>,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Kind of the published file: `exe`, `zip`, `tar.gz`, `msi`, `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<PayloadKind>,
    /// Files of an archive that is laid out another way; empty for one that is not an archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<Member>>,
    /// URL of a checksum file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksums: Option<HttpUrl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureOverride>,
    /// Publisher that the Authenticode signature must name: `O=…,CN=…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// Globs of the archive's members that carry the Authenticode signature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signed_members: Vec<String>,
    /// Certificates in PEM, or a file of them, that Authenticode chains may end in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// HTTP header → environment variable that holds its value. Values are never stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// A detached signature of a provider's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"kind\": \"cosign-key\", \"url\": \"https://…\", \"key\": \"cosign.pub\"}`"
)]
pub struct SignatureOverride {
    pub kind: SignatureKind,
    pub url: HttpUrl,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_url: Option<HttpUrl>,
    /// Public key, or a file that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Signer: e-mail or workflow in the certificate, or the fingerprint of an OpenPGP key. Signatures of other kinds by
    /// a key have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

impl SignatureOverride {
    /// As a publisher declares one, for every version.
    pub fn declare(&self) -> DeclaredSignature {
        let Self {
            kind,
            url,
            certificate_url,
            key,
            identity,
            issuer,
        } = self.clone();
        DeclaredSignature {
            kind,
            versions: None,
            url,
            certificate_url,
            identity,
            issuer,
            key,
        }
    }
}

impl Override {
    /// `self` where it names a field, else `base`.
    #[must_use]
    fn merge_over(self, mut base: Self) -> Self {
        base.headers.extend(self.headers);
        Self {
            url: self.url.or(base.url),
            sha256: self.sha256.or(base.sha256),
            sha512: self.sha512.or(base.sha512),
            size: self.size.or(base.size),
            kind: self.kind.or(base.kind),
            members: self.members.or(base.members),
            checksums: self.checksums.or(base.checksums),
            signature: self.signature.or(base.signature),
            publisher: self.publisher.or(base.publisher),
            signed_members: if self.signed_members.is_empty() {
                base.signed_members
            } else {
                self.signed_members
            },
            roots: self.roots.or(base.roots),
            headers: base.headers,
        }
    }
}

/// The overrides of two layers, field by field: what the upper one does not name stays.
pub fn merge_overrides(mut base: Overrides, over: Overrides) -> Overrides {
    for (key, fields) in over {
        let known = base.remove(&key).unwrap_or_default();
        base.insert(key, fields.merge_over(known));
    }
    base
}

/// Whether a key of the overrides is the beginning of a URL.
pub fn is_prefix(key: &str) -> bool {
    key.contains("://")
}

/// Names that [`set_overrides`] knows.
pub const FIELDS: &[&str] = &[
    "url",
    "sha256",
    "sha512",
    "size",
    "kind",
    "checksums",
    "publisher",
    "roots",
    "signature.kind",
    "signature.url",
    "signature.certificateUrl",
    "signature.key",
    "signature.identity",
    "signature.issuer",
];

/// Sets fields as `kubelet.url=https://…` gives them, over what is set already.
///
/// # Errors
/// A text is not of that form, or a field or its value is unknown.
pub fn set_overrides(overrides: &mut Overrides, texts: &[String]) -> Result<(), String> {
    let mut entries: BTreeMap<&str, Value> = BTreeMap::new();
    for text in texts {
        let Some((component, field, value)) = split_override(text) else {
            let fields = FIELDS.join(", ");
            // What follows an unknown field may be a token.
            let path = text.split('=').next().unwrap_or(text);
            return Err(format!(
                "--override {path}: write it as COMPONENT.FIELD=VALUE, where FIELD is one of {fields}"
            ));
        };
        let entry = entries
            .entry(component)
            .or_insert_with(|| to_json(overrides.get(component)));
        let value = match field {
            "size" => match value.parse::<u64>() {
                Ok(bytes) => bytes.into(),
                Err(_) => {
                    return Err(format!(
                        "--override {text}: `{value}` is not a number of bytes"
                    ));
                }
            },
            _ => Value::String(value.to_owned()),
        };
        match field.split_once('.') {
            Some((outer, inner)) => {
                if entry[outer].is_null() {
                    // The kind most providers use; `signature.kind` changes it.
                    entry[outer] = json!({ "kind": "cosign-key" });
                }
                entry[outer][inner] = value;
            }
            None => entry[field] = value,
        }
    }
    for (component, entry) in entries {
        let entry: Override = json::parse_json("--override", entry.to_string().as_bytes())
            .map_err(|json::JsonError { fault, .. }| {
                format!("--override {component}.{}: {}", fault.path, fault.message)
            })?;
        overrides.insert(component.to_owned(), entry);
    }
    Ok(())
}

/// Component, field and value.
fn split_override(text: &str) -> Option<(&str, &'static str, &str)> {
    let (path, value) = text.split_once('=')?;
    let mut longest = None;
    for field in FIELDS {
        let rest = path.strip_suffix(field);
        if let Some(component) = rest.and_then(|rest| rest.strip_suffix('.'))
            && longest.is_none_or(|(_, other): (&str, &str)| field.len() >= other.len())
        {
            longest = Some((component, *field));
        }
    }
    let (path, field) = longest?;
    let component = path.trim_end_matches('.');
    (!component.is_empty()).then_some((component, field, value))
}

/// An override as JSON with the whole queries of its URLs, which serde leaves out.
fn to_json(over: Option<&Override>) -> Value {
    let Some(over) = over else { return json!({}) };
    let mut value = json!(over);
    let mut urls = vec![
        ("/url", over.url.as_ref()),
        ("/checksums", over.checksums.as_ref()),
    ];
    if let Some(signature) = &over.signature {
        urls.push(("/signature/url", Some(&signature.url)));
        let certificate = signature.certificate_url.as_ref();
        urls.push(("/signature/certificateUrl", certificate));
    }
    for (pointer, url) in urls {
        if let (Some(slot), Some(url)) = (value.pointer_mut(pointer), url) {
            *slot = url.request_url().into();
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::{Overrides, set_overrides};
    use crate::base::url::HttpUrl;
    use crate::model::component::{PayloadKind, SignatureKind};

    #[test]
    fn fields_are_set_one_by_one() {
        let mut overrides = Overrides::new();
        let digest = format!("kubelet.sha256={}", "a".repeat(64));
        let texts = [
            "kubelet.url=https://x.example/{version}/kubelet.exe?sig=s3cret",
            &digest,
            "kubelet.size=12",
            "hns.psm1.url=https://x.example/a=b",
            "kubelet.signature.url=https://x.example/kubelet.sig",
            "kubelet.signature.key=cosign.pub",
            "kubelet.signature.kind=minisign",
            "kubelet.kind=tar.gz",
        ];
        for text in texts {
            set_overrides(&mut overrides, &[text.to_owned()]).expect(text);
        }
        let kubelet = &overrides["kubelet"];
        assert_eq!(kubelet.size, Some(12));
        let url = kubelet.url.as_ref().expect("url");
        assert_eq!(
            url.request_url(),
            "https://x.example/{version}/kubelet.exe?sig=s3cret"
        );
        assert_eq!(kubelet.kind, Some(PayloadKind::TarGz));
        let signature = kubelet.signature.as_ref().expect("signature");
        assert_eq!(signature.kind, SignatureKind::Minisign);
        assert_eq!(signature.key.as_deref(), Some("cosign.pub"));
        assert_eq!(
            overrides["hns.psm1"].url.as_ref().map(HttpUrl::public_url),
            Some("https://x.example/a=b")
        );
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, part) in [
            ("kubelet", "COMPONENT.FIELD=VALUE"),
            ("kubelet=1", "COMPONENT.FIELD=VALUE"),
            ("kubelet.uri=x", "one of url, sha256"),
            (".url=x", "COMPONENT.FIELD=VALUE"),
            ("kubelet.size=many", "not a number"),
            ("kubelet.kind=rar", "unknown value `rar`"),
            (
                "kubelet.url=mirror.example",
                "expected `https://` and a host",
            ),
            ("kubelet.sha256=aa", "64 lower-case hexadecimal digits"),
            ("kubelet.signature.key=cosign.pub", "missing field `url`"),
        ] {
            let error = set_overrides(&mut Overrides::new(), &[text.to_owned()]).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_value_of_an_unknown_field_is_not_shown() {
        let text = "kubelet.headers=secret9f2c".to_owned();
        let error = set_overrides(&mut Overrides::new(), &[text]).expect_err("headers");
        assert!(!error.contains("secret9f2c"), "{error}");
    }
}
