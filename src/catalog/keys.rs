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

impl KnownKey {
    /// Its file, in the catalog.
    pub fn path(&self) -> String {
        format!("trust/{}", self.file)
    }
}

/// The list, in the catalog.
pub const KEY_LIST: &str = "trust/keys.json";
/// A trusted root of Sigstore, as `cosign trusted-root create` writes it, in a catalog of the user's own: one that is newer
/// than the built-in root, or of another instance.
pub const SIGSTORE_ROOT: &str = "trust/sigstore-root.json";

impl Keys {
    /// The keys of a catalog, which are read once.
    ///
    /// # Errors
    /// The list or a key of it cannot be read.
    pub fn load(manifests: &Tree) -> Result<Arc<Self>, JsonError> {
        manifests.keep(KEY_LIST, || Self::read(manifests))
    }

    /// The entries of the list, in its order.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn read_list(manifests: &Tree) -> Result<Vec<KnownKey>, JsonError> {
        let list = manifests.read_json::<Vec<KnownKey>>(KEY_LIST)?;
        Ok(list.unwrap_or_default())
    }

    /// A file that is not there counts as an empty key, by which nothing holds; the lint names it.
    fn read(manifests: &Tree) -> Result<Self, JsonError> {
        let mut keys = BTreeMap::new();
        for key in Self::read_list(manifests)? {
            let text = manifests.get(&key.path()).unwrap_or_default();
            let text = String::from_utf8_lossy(text).into_owned();
            keys.insert(key.name, text);
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

    /// Whether the list has a key of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.keys.contains_key(name)
    }

    /// The key of this name, or the text itself where it is a key.
    pub fn resolve_key<'a>(&'a self, text: &'a str) -> &'a str {
        self.keys.get(text).map_or(text, String::as_str)
    }
}
