//! Packer and its plugins in a bundle: a lockfile names their versions, the index their bytes.
//!
//! Nothing here says that a program is its publisher's. A bake proves that again, out of the store, by the catalog's
//! digest or by the publisher's signature, which the bundle carries.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BundleIndex, list_artifact_urls};
use crate::acquire::PlatformTool;
use crate::base::code::Code;
use crate::base::value::{FileDigest, Sha256};
use crate::base::version::Version;
use crate::catalog::Catalog;
use crate::diagnostic::Result;
use crate::lock::Lock;
use crate::model::plan::{PlannedArtifact, PlannedPacker};
use crate::resolve::{BuildHost, plan_tool, refuse_image};
use crate::verify::ProofError;

/// Packer or a plugin for a machine that bakes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct IndexedTool {
    /// Machine that it runs on.
    pub host: BuildHost,
    /// Component of the catalog: Packer, or a plugin.
    pub component: String,
    pub version: Version,
    /// Digest of the published archive.
    pub sha256: Sha256,
    /// URL of the archive, then those of its checksum files and signatures.
    pub urls: Vec<String>,
}

impl IndexedTool {
    /// # Errors
    /// The digest of the fetched file is none.
    pub fn new(tool: &PlatformTool) -> Result<Self, ProofError> {
        let artifact = tool.verified.artifact();
        let sha256 = tool.verified.fetched().sha256();
        let sha256: Result<Sha256, _> = sha256.parse();
        Ok(Self {
            host: tool.host,
            component: artifact.component.to_string(),
            version: artifact.version.clone(),
            sha256: sha256
                .map_err(|error| ProofError::new(Code::BUNDLE_TOOL, error.to_string()))?,
            urls: copy_urls(artifact),
        })
    }

    /// Name, version and machine, as messages name it.
    pub fn title(&self) -> String {
        format!("{} {} for {}", self.component, self.version, self.host)
    }

    /// Whether it has the URLs and the digest that the catalog and the lockfile's overrides publish.
    pub fn is_published_as(&self, artifact: &PlannedArtifact) -> bool {
        for pin in &artifact.digests {
            if let FileDigest::Sha256(known) = &pin.digest
                && *known != self.sha256
            {
                return false;
            }
        }
        self.urls == copy_urls(artifact)
    }
}

fn copy_urls(artifact: &PlannedArtifact) -> Vec<String> {
    let urls = list_artifact_urls(artifact);
    urls.into_iter().map(str::to_owned).collect()
}

/// Packer and the plugins that a lockfile names, by component.
fn list_locked_tools(lock: &Lock) -> BTreeMap<String, &Version> {
    let tools = lock.packer.iter().flat_map(PlannedPacker::list_tools);
    tools.collect()
}

/// The tools of a lockfile as the catalog and the lockfile's overrides publish them for every machine that bakes.
///
/// # Errors
/// The catalog does not have a tool in the version of the lockfile.
pub(super) fn plan_locked_tools(lock: &Lock, catalog: &Catalog) -> Result<Vec<PlannedArtifact>> {
    let mut planned = Vec::new();
    for (name, version) in list_locked_tools(lock) {
        let component = catalog.load_component(&name)?;
        for host in BuildHost::ALL {
            let tool = plan_tool(&component, version, *host, &lock.selection.overrides);
            planned.push(tool.map_err(|refusal| refuse_image(vec![refusal]))?);
        }
    }
    Ok(planned)
}

/// Each machine has exactly the tools that the lockfile names, and the bundle has their bytes.
pub(super) fn check_tools(
    index: &BundleIndex,
    lock: &Lock,
    objects: &BTreeSet<&str>,
) -> Result<(), ProofError> {
    let refuse = |message: String| Err(ProofError::new(Code::BUNDLE_TOOL, message));
    let locked = list_locked_tools(lock);
    let mut hosts: BTreeMap<BuildHost, BTreeSet<&str>> = BTreeMap::new();
    for tool in &index.tools {
        let title = tool.title();
        if locked.get(&tool.component) != Some(&&tool.version) {
            return refuse(format!("{title}: the lockfile does not name it"));
        }
        let names = hosts.entry(tool.host).or_default();
        if !names.insert(tool.component.as_str()) {
            return refuse(format!("{title}: the index names it twice"));
        }
        let origin = tool.urls.first().and_then(|url| index.origins.get(url));
        let digest = tool.sha256.as_str();
        if origin.map(String::as_str) != Some(digest) || !objects.contains(digest) {
            return refuse(format!("{title}: no file has its digest {digest}"));
        }
    }

    for (host, names) in hosts {
        let missing = locked.keys().find(|name| !names.contains(name.as_str()));
        if let Some(name) = missing {
            return refuse(format!("{name} for {host} is not in the bundle"));
        }
    }
    Ok(())
}
