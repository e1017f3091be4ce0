//! Public keys of publishers, as `manifests/trust/keys.json` lists them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::json::JsonError;
use crate::embedded::Tree;

/// Public keys by name.
#[derive(Debug, Clone, Default)]
pub struct Keys(BTreeMap<String, String>);

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

impl Keys {
    /// The keys of a catalog, which are read once.
    ///
    /// # Errors
    /// The list or a key of it cannot be read.
    pub fn load(manifests: &Tree) -> Result<Arc<Self>, JsonError> {
        manifests.keep(LIST, || Self::read(manifests))
    }

    fn read(manifests: &Tree) -> Result<Self, JsonError> {
        let Some(list) = manifests.read_json::<Vec<KnownKey>>(LIST)? else {
            return Ok(Self::default());
        };
        let mut keys = BTreeMap::new();
        for key in list {
            let text = manifests
                .get(&format!("trust/{}", key.file))
                .unwrap_or_default();
            keys.insert(key.name, String::from_utf8_lossy(text).into_owned());
        }
        Ok(Self(keys))
    }

    /// The key of this name, or the text itself where it is a key.
    pub fn resolve_key<'a>(&'a self, text: &'a str) -> &'a str {
        self.0.get(text).map_or(text, String::as_str)
    }
}
