//! What a provider puts in the place of a publisher: other addresses, digests, signers, layouts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::component::{Member, PayloadKind, SignatureKind};

/// Component name, or the beginning of a URL that ends with `/`, → what replaces it. A guest script
/// is named `scripts/<path>` and takes `sha256` alone.
pub type Overrides = BTreeMap<String, Override>;

/// What the key of a guest script begins with.
pub const SCRIPTS: &str = "scripts/";

/// Replaces parts of how a component is published. In URLs `{version}` and `{version_}` stand for
/// the version, as in the catalog.
///
/// A component that gets another `url` gets other bytes: what the catalog pins no longer counts.
/// A URL prefix that gets another `url` is a mirror: same bytes, same pins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"url\": \"https://…\", \"sha256\": \"…\"}`")]
pub struct Override {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha512: Option<String>,
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What is published: `exe`, `zip`, `tar.gz`, `msi`, `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PayloadKind>,
    /// Files of an archive that is laid out another way; empty for one that is not an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<Member>>,
    /// URL of a checksum file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksums: Option<String>,
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
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_url: Option<String>,
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

/// Where a mirror has the bytes of this URL, with the headers that it wants. The longest prefix
/// that fits counts.
#[must_use]
pub fn mirrored<'a>(overrides: &'a Overrides, url: &str) -> Option<(String, &'a BTreeMap<String, String>)> {
    let (prefix, over) = overrides
        .iter()
        .filter(|(key, _)| is_prefix(key) && url.starts_with(key.as_str()))
        .max_by_key(|(key, _)| key.len())?;
    Some((format!("{}{}", over.url.as_deref()?, &url[prefix.len()..]), &over.headers))
}

/// The URL where mirrors have it, or itself.
#[must_use]
pub fn moved(overrides: &Overrides, url: &str) -> String {
    mirrored(overrides, url).map_or_else(|| url.to_owned(), |(url, _)| url)
}

/// Names that [`set`] knows.
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

/// `kubelet.url=https://…`: one field of one component, as JSON merged into `overrides`.
///
/// # Errors
/// The text is not of that form, or the field or its value unknown.
pub fn set(overrides: &mut Overrides, text: &str) -> Result<(), String> {
    let form = || format!("write it as COMPONENT.FIELD=VALUE, where FIELD is one of {}", FIELDS.join(", "));
    let (path, value) = text.split_once('=').ok_or_else(form)?;
    let field = FIELDS
        .iter()
        .filter(|field| path.strip_suffix(*field).is_some_and(|rest| rest.ends_with('.')))
        .max_by_key(|field| field.len())
        .ok_or_else(form)?;
    let component = path[..path.len() - field.len()].trim_end_matches('.');
    if component.is_empty() {
        return Err(form());
    }
    let entry = overrides.entry(component.to_owned()).or_default();
    let mut json = serde_json::to_value(&*entry).map_err(|error| error.to_string())?;
    let value = match *field {
        "size" => value.parse::<u64>().map_err(|_| format!("`{value}` is no number of bytes"))?.into(),
        _ => serde_json::Value::String(value.to_owned()),
    };
    match field.split_once('.') {
        Some((outer, inner)) => {
            if json[outer].is_null() {
                // The kind most providers use; `signature.kind` changes it.
                json[outer] = serde_json::json!({"kind": "cosign-key", "url": ""});
            }
            json[outer][inner] = value;
        }
        None => json[*field] = value,
    }
    *entry = serde_json::from_value(json).map_err(|error| format!("{path}: {error}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_set_one_by_one() {
        let mut overrides = Overrides::new();
        for text in [
            "kubelet.url=https://x.example/{version}/kubelet.exe",
            "kubelet.sha256=aa",
            "kubelet.size=12",
            "hns.psm1.url=https://x.example/a=b",
            "kubelet.signature.url=https://x.example/kubelet.sig",
            "kubelet.signature.key=cosign.pub",
            "kubelet.signature.kind=minisign",
            "kubelet.kind=tar.gz",
        ] {
            set(&mut overrides, text).expect(text);
        }
        let kubelet = &overrides["kubelet"];
        assert_eq!(kubelet.size, Some(12));
        assert_eq!(kubelet.kind, Some(PayloadKind::TarGz));
        let signature = kubelet.signature.as_ref().expect("signature");
        assert_eq!(signature.kind, SignatureKind::Minisign);
        assert_eq!(signature.key.as_deref(), Some("cosign.pub"));
        assert_eq!(overrides["hns.psm1"].url.as_deref(), Some("https://x.example/a=b"));
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, part) in [
            ("kubelet", "COMPONENT.FIELD=VALUE"),
            ("kubelet=1", "COMPONENT.FIELD=VALUE"),
            ("kubelet.uri=x", "one of url, sha256"),
            (".url=x", "COMPONENT.FIELD=VALUE"),
            ("kubelet.size=many", "no number"),
            ("kubelet.kind=rar", "unknown variant"),
        ] {
            let error = set(&mut Overrides::new(), text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
