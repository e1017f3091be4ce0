//! Parts of a store that a lockfile needs: artifacts by each of their digests, their proofs, the user's files and
//! container images with their layers, and the programs that bake.

use std::collections::BTreeSet;

use serde_json::Value;

use super::images::LARGEST_MANIFEST;
use super::list_artifact_urls;
use super::tools::plan_locked_tools;
use crate::base::json::parse_foreign;
use crate::base::url::file_name;
use crate::base::value::{FileDigest, ImageReference, NamedImage, Sha256};
use crate::catalog::Catalog;
use crate::diagnostic::Result;
use crate::io::fs;
use crate::io::store::{Object, Store};
use crate::lock::Lock;

/// SHA-256 of every object that the lockfile names. Its tools are those of every machine that bakes.
///
/// # Errors
/// An object cannot be read, or the catalog does not have a tool that the lockfile names.
pub fn list_kept_objects(
    lock: &Lock,
    catalog: &Catalog,
    store: &Store,
) -> Result<BTreeSet<String>> {
    let tools = plan_locked_tools(lock, catalog)?;
    let mut kept = BTreeSet::new();
    let mut file_names = BTreeSet::new();
    let mut keep = |object: Option<Object>| kept.extend(object.map(|object| object.sha256));
    for artifact in lock.artifacts.iter().chain(&tools) {
        artifact
            .digests
            .iter()
            .for_each(|pin| keep(store.find_object(&pin.digest)));
        file_names.extend(list_artifact_urls(artifact).into_iter().map(file_name));
    }
    for file in lock.selection.user_files() {
        keep(store.find_object(&FileDigest::Sha256(file.sha256.clone())));
    }
    // A mirror has an address of its own for a file, which ends as the publisher's does.
    for (url, sha256) in store.list_origins()? {
        if file_names.contains(file_name(&url)) {
            kept.insert(sha256);
        }
    }

    let mut open: Vec<Sha256> = lock.images.iter().map(ImageReference::digest).collect();
    let named = lock.selection.container_images.iter();
    open.extend(
        named
            .filter_map(NamedImage::reference)
            .map(|image| image.digest()),
    );
    while let Some(digest) = open.pop() {
        let Some(object) = store.find_object(&FileDigest::Sha256(digest)) else {
            continue;
        };
        if kept.insert(object.sha256.clone()) {
            open.extend(list_blobs(&fs::read_head(&object.path, LARGEST_MANIFEST)?));
        }
    }
    Ok(kept)
}

/// Digests that a manifest or a list of manifests names; none in a layer.
fn list_blobs(bytes: &[u8]) -> Vec<Sha256> {
    let Ok(manifest) = parse_foreign::<Value>(bytes) else {
        return Vec::new();
    };
    let lists = ["manifests", "layers"]
        .into_iter()
        .filter_map(|name| manifest[name].as_array())
        .flatten();
    let blobs = lists.chain(manifest.get("config"));
    let digests = blobs.filter_map(|blob| blob["digest"].as_str()?.strip_prefix("sha256:"));
    digests.filter_map(|digest| digest.parse().ok()).collect()
}
