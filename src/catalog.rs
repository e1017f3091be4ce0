//! The pinned catalog: `manifests/*` as checked values.
//!
//! Files are parsed when they are asked for, so that a preview reads a few and the lint all.
//! Nothing here decides which of them an image gets: that is `resolve`.

mod components;
mod error;
mod keys;
mod line;
mod lint;
mod targets;
mod trees;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::base::names::format_suggestion;
use crate::embedded::{OverlayFile, Tree};
use crate::model::cluster::ClusterIndex;
use crate::model::feature::Features;
use crate::model::kubernetes::{
    BakedFlags, FlagTable, KubernetesLine, LineFile, Program, ProgramTable, Support,
};
use crate::model::line::Minor;
use crate::model::pod_network::PodNetwork;
use crate::model::rules::{Contents, Rules};
use crate::model::windows::{WindowsRelease, WindowsSupport};

pub use error::CatalogError;
pub use keys::{KEY_LIST, Keys, KnownKey, SIGSTORE_ROOT};
pub use lint::{lint_catalog, lint_sources, lint_targets, names_notes};
pub use targets::{load_target, load_targets};
pub use trees::Trees;

const LINES: &str = "kubernetes/lines";
const SUPPORT: &str = "kubernetes/support.json";
const PROGRAMS: &str = "kubernetes/programs.json";
const FLAGS: &str = "kubernetes/flags.json";
const RULES: &str = "rules.json";
const FEATURES: &str = "features.json";
const CONTENTS: &str = "contents.json";

/// Tables that decide about every image, whatever its target and line.
pub const TABLES: [&str; 4] = [FLAGS, RULES, FEATURES, CONTENTS];

/// The catalog, over a tree of files. Copies share what was parsed.
#[derive(Debug, Clone)]
pub struct Catalog {
    tree: Tree,
}

impl Catalog {
    pub fn new(tree: Tree) -> Self {
        Self { tree }
    }

    /// The catalog with the user's component files and pins over it. A component that the user defines has no pin of
    /// the one that it replaces: they are of other bytes.
    #[must_use]
    pub fn with_components(self, own: &BTreeMap<String, OverlayFile>) -> Self {
        let tree = self.tree.lay_over(own.clone(), |path| {
            let name = path.strip_prefix("pins/");
            name.is_some_and(|name| own.contains_key(&format!("components/{name}")))
        });
        Self::new(tree)
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Every file of the catalog.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.tree.files()
    }

    pub fn label(&self) -> &str {
        &self.tree.label
    }

    fn share_json<T: DeserializeOwned + schemars::JsonSchema + Any + Send + Sync>(
        &self,
        path: &str,
    ) -> Result<Arc<T>, CatalogError> {
        self.tree
            .share_json(path)?
            .ok_or_else(|| self.missing_error(path))
    }

    /// Name of a catalog's file in messages.
    pub fn file_label(&self, path: &str) -> String {
        self.tree.file_label(path)
    }

    /// A Kubernetes line with everything that holds for it.
    ///
    /// # Errors
    /// No such line, or a table that it is made from cannot be read.
    pub fn load_kubernetes_line(&self, minor: Minor) -> Result<Arc<KubernetesLine>, CatalogError> {
        self.tree.keep(&format!("line {minor}"), || {
            line::assemble_line(
                &*self.load_line_file(minor)?,
                &*self.load_support()?,
                &self.load_windows_support()?,
            )
            .ok_or_else(|| CatalogError::NoPause {
                file: self.file_label(SUPPORT),
                minor,
            })
        })
    }

    /// # Errors
    /// No such line, or its file is not one.
    pub fn load_line_file(&self, minor: Minor) -> Result<Arc<LineFile>, CatalogError> {
        let name = minor.to_string();
        let path = self.find_path("Kubernetes version", &name, LINES)?;
        let line: Arc<LineFile> = self.share_json(&path)?;
        self.check_name(&path, "minor", &name, &line.minor.to_string())?;
        Ok(line)
    }

    /// # Errors
    /// The file is missing or not a support table.
    pub fn load_support(&self) -> Result<Arc<Support>, CatalogError> {
        self.share_json(SUPPORT)
    }

    /// Known lines, ascending.
    pub fn kubernetes_minors(&self) -> Vec<Minor> {
        let mut minors: Vec<Minor> = self
            .list_names(LINES)
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
        minors.sort();
        minors
    }

    /// Flags, feature gates and configuration fields of the programs of all lines.
    ///
    /// # Errors
    /// The file is missing or not a table of programs.
    pub fn load_programs(&self) -> Result<Arc<ProgramTable>, CatalogError> {
        self.share_json(PROGRAMS)
    }

    /// The programs of a surveyed line; empty for other lines.
    ///
    /// # Errors
    /// As [`Catalog::load_programs`].
    pub fn list_programs(
        &self,
        minor: Minor,
    ) -> Result<Arc<BTreeMap<String, Program>>, CatalogError> {
        self.tree.keep(&format!("programs {minor}"), || {
            Ok(self.load_programs()?.list_programs(minor))
        })
    }

    /// Which Kubernetes releases each Windows release supports.
    fn load_windows_support(&self) -> Result<Vec<Arc<WindowsSupport>>, CatalogError> {
        self.windows_names()
            .iter()
            .map(|name| self.share_json(&format!("windows/{name}.json")))
            .collect()
    }

    /// # Errors
    /// The file is missing or not a flag table.
    pub fn load_flags(&self) -> Result<Arc<FlagTable>, CatalogError> {
        self.share_json(FLAGS)
    }

    /// The part of [`Catalog::load_flags`] that an image needs. Of another catalog the whole file is read, so that each
    /// fault in it is told.
    ///
    /// # Errors
    /// As [`Catalog::load_flags`].
    pub fn load_baked_flags(&self) -> Result<Arc<BakedFlags>, CatalogError> {
        if !self.tree.is_embedded() {
            self.load_flags()?;
        }
        self.share_json(FLAGS)
    }

    /// # Errors
    /// No such release, or its file is not one.
    pub fn load_windows_release(&self, release: &str) -> Result<Arc<WindowsRelease>, CatalogError> {
        let path = self.find_path("Windows release", release, "windows")?;
        let windows: Arc<WindowsRelease> = self.share_json(&path)?;
        self.check_name(&path, "release", release, &windows.release)?;
        Ok(windows)
    }

    pub fn windows_names(&self) -> Vec<String> {
        self.list_names("windows")
    }

    /// # Errors
    /// No such pod network, or its file is not one.
    pub fn network(&self, name: &str) -> Result<Arc<PodNetwork>, CatalogError> {
        let path = match self.find_path("pod network", name, "networks") {
            Ok(path) => path,
            Err(error) => return Err(self.explain_foreign_network(name)?.unwrap_or(error)),
        };
        let network: Arc<PodNetwork> = self.share_json(&path)?;
        self.check_name(&path, "name", name, &network.name)?;
        Ok(network)
    }

    /// Advice in place of a pod network that people know and no file makes.
    fn explain_foreign_network(&self, name: &str) -> Result<Option<CatalogError>, CatalogError> {
        let rules = self.load_rules()?;
        let found = rules.networks.iter().find(|network| network.name == name);
        Ok(found.map(|network| CatalogError::Unknown {
            what: "pod network",
            name: name.to_owned(),
            suggestion: format!(
                "{}; {} ({})",
                network.reason, network.instead, network.source
            ),
        }))
    }

    pub fn network_names(&self) -> Vec<String> {
        self.list_names("networks")
    }

    /// # Errors
    /// The file is missing or not a set of rules.
    pub fn load_rules(&self) -> Result<Arc<Rules>, CatalogError> {
        self.share_json(RULES)
    }

    /// Optional features, in the order of their file.
    ///
    /// # Errors
    /// The file is missing or not a table of features.
    pub fn load_features(&self) -> Result<Arc<Features>, CatalogError> {
        self.share_json(FEATURES)
    }

    /// # Errors
    /// The file is missing or not a table of contents.
    pub fn load_contents(&self) -> Result<Arc<Contents>, CatalogError> {
        self.share_json(CONTENTS)
    }

    /// # Errors
    /// The file is missing or not an index of manifests.
    pub fn load_cluster_index(&self) -> Result<Arc<ClusterIndex>, CatalogError> {
        self.share_json("cluster/index.json")
    }

    /// A text of the catalog, such as a template.
    ///
    /// # Errors
    /// No such file, or one that is no text.
    pub fn read_text(&self, path: &str) -> Result<&str, CatalogError> {
        let bytes = self.tree.get(path);
        let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.ok_or_else(|| self.missing_error(path))
    }

    fn missing_error(&self, path: &str) -> CatalogError {
        CatalogError::Missing {
            catalog: self.tree.label.clone(),
            path: path.to_owned(),
        }
    }

    /// SHA-256 of a file of the catalog.
    ///
    /// # Errors
    /// No such file.
    pub fn digest_file(&self, path: &str) -> Result<String, CatalogError> {
        let digest = self.tree.digest(path);
        digest.ok_or_else(|| self.missing_error(path))
    }

    /// Paths directly inside a folder of the catalog, sorted.
    pub fn files_in(&self, folder: &str) -> Vec<String> {
        self.tree.list_files(folder)
    }

    fn list_names(&self, folder: &str) -> Vec<String> {
        self.tree
            .list_files(folder)
            .iter()
            .filter_map(|path| path.rsplit('/').next()?.strip_suffix(".json"))
            .map(str::to_owned)
            .collect()
    }

    fn find_path(
        &self,
        what: &'static str,
        name: &str,
        folder: &str,
    ) -> Result<String, CatalogError> {
        let path = format!("{folder}/{name}.json");
        if !name.contains('/') && self.tree.get(&path).is_some() {
            return Ok(path);
        }
        let names = self.list_names(folder);
        Err(CatalogError::Unknown {
            what,
            name: name.to_owned(),
            suggestion: format_suggestion(name, names.iter().map(String::as_str)),
        })
    }

    fn check_name(
        &self,
        path: &str,
        field: &'static str,
        name: &str,
        found: &str,
    ) -> Result<(), CatalogError> {
        if name == found {
            return Ok(());
        }
        Err(CatalogError::Name {
            file: self.file_label(path),
            field,
            found: found.to_owned(),
            place: "file",
        })
    }
}
