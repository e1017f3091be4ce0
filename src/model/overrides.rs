//! A provider's replacements for a publisher's: other addresses, digests, signers, layouts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::component::{Member, PayloadKind, SignatureKind};
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
/// Another `url` of a component means other bytes: the catalog's pins do not apply. Another `url` of a URL
/// prefix is a mirror: the same bytes and pins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"url\": \"https://…\", \"sha256\": \"…\"}`")]
pub struct Override {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<HttpUrl>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha512: Option<Sha512>,
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Kind of the published file: `exe`, `zip`, `tar.gz`, `msi`, `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PayloadKind>,
    /// Files of an archive that is laid out another way; empty for one that is not an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<Member>>,
    /// URL of a checksum file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksums: Option<HttpUrl>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureOverride>,
    /// Publisher that the Authenticode signature must name: `O=…,CN=…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// Globs of the archive's members that carry the Authenticode signature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signed_members: Vec<String>,
    /// Certificates in PEM, or a file of them, that Authenticode chains may end in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_url: Option<HttpUrl>,
    /// Public key, or a file that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Signer: e-mail, workflow, or key fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// Whether a key of the overrides is the beginning of a URL.
#[must_use]
pub fn is_prefix(key: &str) -> bool {
    key.contains("://")
}

/// Where a mirror has the bytes of this URL, with the headers that it needs. The longest prefix
/// that matches counts.
pub fn find_mirror<'a>(
    overrides: &'a Overrides,
    url: &HttpUrl,
) -> Option<(HttpUrl, &'a BTreeMap<String, String>)> {
    let (prefix, over) = overrides
        .iter()
        .filter(|(key, _)| is_prefix(key) && url.public_url().starts_with(key.as_str()))
        .max_by_key(|(key, _)| key.len())?;
    let rest = &url.request_url()[prefix.len()..];
    let url = format!("{}{rest}", over.url.as_ref()?.request_url())
        .parse()
        .ok()?;
    Some((url, &over.headers))
}

/// The URL of a mirror, or the URL itself.
pub fn resolve_mirror(overrides: &Overrides, url: &HttpUrl) -> HttpUrl {
    find_mirror(overrides, url).map_or_else(|| url.clone(), |(url, _)| url)
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
        let error = |message: String| format!("--override {text}: {message}");
        let (component, field, value) = split_override(text).map_err(error)?;
        let entry = entries
            .entry(component)
            .or_insert_with(|| to_json(overrides.get(component)));
        let value = match field {
            "size" => value
                .parse::<u64>()
                .map_err(|_| error(format!("`{value}` is not a number of bytes")))?
                .into(),
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
            .map_err(|error| format!("--override {component}.{}: {}", error.path, error.message))?;
        overrides.insert(component.to_owned(), entry);
    }
    Ok(())
}

/// Component, field and value.
fn split_override(text: &str) -> Result<(&str, &'static str, &str), String> {
    let form = || {
        format!(
            "write it as COMPONENT.FIELD=VALUE, where FIELD is one of {}",
            FIELDS.join(", ")
        )
    };
    let (path, value) = text.split_once('=').ok_or_else(form)?;
    let field = FIELDS
        .iter()
        .filter(|field| {
            path.strip_suffix(*field)
                .is_some_and(|rest| rest.ends_with('.'))
        })
        .max_by_key(|field| field.len())
        .ok_or_else(form)?;
    let component = path[..path.len() - field.len()].trim_end_matches('.');
    if component.is_empty() {
        Err(form())
    } else {
        Ok((component, field, value))
    }
}

/// An override as JSON with the whole queries of its URLs, which serde leaves out.
fn to_json(over: Option<&Override>) -> Value {
    let Some(over) = over else { return json!({}) };
    let mut value = json!(over);
    let mut put = |pointer: &str, url: Option<&HttpUrl>| {
        if let (Some(slot), Some(url)) = (value.pointer_mut(pointer), url) {
            *slot = url.request_url().into();
        }
    };
    put("/url", over.url.as_ref());
    put("/checksums", over.checksums.as_ref());
    if let Some(signature) = &over.signature {
        put("/signature/url", Some(&signature.url));
        put(
            "/signature/certificateUrl",
            signature.certificate_url.as_ref(),
        );
    }
    value
}
