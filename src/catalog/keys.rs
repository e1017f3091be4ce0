//! Public keys of publishers, as `manifests/trust/keys.json` lists them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::json::JsonError;
use crate::embedded::Tree;

/// Public keys by name.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    keys: BTreeMap<String, String>,
    sigstore_root: Option<String>,
}

/// An entry of `manifests/trust/keys.json`.
#[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KnownKey {
    /// As components name it.
    pub name: String,
    /// Of the primary key, in hexadecimal.
    pub fingerprint: String,
    /// File beside the list.
    pub file: String,
    pub source: String,
}

/// The list, in the catalog.
const LIST: &str = "trust/keys.json";
/// A trusted root of Sigstore, as `cosign trusted-root create` writes it, in a catalog of the user's own: one that is newer
/// than the built-in root, or of another instance.
const SIGSTORE_ROOT: &str = "trust/sigstore-root.json";

impl Keys {
    /// The keys of a catalog, which are read once.
    ///
    /// # Errors
    /// The list or a key of it cannot be read.
    pub fn load(manifests: &Tree) -> Result<Arc<Self>, JsonError> {
        manifests.keep(LIST, || Self::read(manifests))
    }

    fn read(manifests: &Tree) -> Result<Self, JsonError> {
        let list = manifests.read_json::<Vec<KnownKey>>(LIST)?;
        let mut keys = BTreeMap::new();
        for key in list.unwrap_or_default() {
            let text = manifests
                .get(&format!("trust/{}", key.file))
                .unwrap_or_default();
            keys.insert(key.name, String::from_utf8_lossy(text).into_owned());
        }
        let root = manifests.get(SIGSTORE_ROOT);
        Ok(Self {
            keys,
            sigstore_root: root.map(|text| String::from_utf8_lossy(text).into_owned()),
        })
    }

    /// The root against which certificates and logs of Sigstore are verified; none for the built-in one.
    pub fn sigstore_root(&self) -> Option<&str> {
        self.sigstore_root.as_deref()
    }

    /// The key of this name, or the text itself where it is a key.
    pub fn resolve_key<'a>(&'a self, text: &'a str) -> &'a str {
        self.keys.get(text).map_or(text, String::as_str)
    }
}
