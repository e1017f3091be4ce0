//! The catalog, Packer's templates and the provisioners together.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::base::json::JsonError;
use crate::embedded::Tree;

use super::Catalog;

/// The catalog and the trees that go with it. Copies share what was read.
#[derive(Debug, Clone)]
pub struct Trees {
    pub catalog: Catalog,
    pub packer: Tree,
    pub provisioners: Tree,
    /// Targets, steps and components that the user brought: path → SHA-256.
    pub own_files: BTreeMap<String, String>,
    /// SHA-256 over paths and digests of the catalog that the user brought (`--manifests`).
    pub own_catalog: Option<String>,
}

impl Trees {
    /// Paths and addresses of the guest, `paths.json` of the provisioners.
    ///
    /// # Errors
    /// The file is no JSON.
    pub fn read_paths(&self) -> Result<Arc<Value>, JsonError> {
        let paths = self.provisioners.share_json("paths.json")?;
        Ok(paths.unwrap_or_default())
    }
}
