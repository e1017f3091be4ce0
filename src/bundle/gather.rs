//! Gathers what a lock needs into a bundle: artifacts, their proofs, scripts and container images.

use std::collections::BTreeMap;
use std::path::Path;

use super::images::{build_layout, check_image_names};
use super::mirror::check_layout;
use super::registry::{FetchedImages, ImageSource};
use super::{ArchivePart, BLOBS, BundleIndex, Content, IndexedTool, OBJECTS, SCHEMA};
use crate::base::digest::sha256_hex;
use crate::base::url::{HttpUrl, strip_secrets};
use crate::base::value::ImageReference;
use crate::diagnostic::{Error, InternalError, Result};
use crate::fetch::FetchedArtifact;
use crate::lock::{LOCK_FILE, Lock};
use crate::model::evidence::{Evidence, Verdict};
use crate::model::plan::PlannedArtifact;

use crate::acquire::{Acquirer, PlatformTool, ProvenPlan, SIDECAR, find_sidecar};
use crate::trust::parse_origin;

/// Parts of a bundle beside those that its lockfile names.
#[derive(Debug, Clone, Copy)]
pub struct CarriedExtras<'a> {
    pub images: &'a [ImageReference],
    pub tools: &'a [PlatformTool],
}

/// # Errors
/// The lock is not pinned, or something cannot be downloaded or written.
pub fn gather_bundle(
    out: &Path,
    lock: &Lock,
    proven: &ProvenPlan,
    extras: CarriedExtras<'_>,
    acquirer: &Acquirer<'_>,
) -> Result<BundleIndex> {
    let CarriedExtras { images, tools } = extras;
    let trees = acquirer.trees;
    check_image_names(lock, images.iter().map(ImageReference::as_str))?;
    let mut gatherer = Gatherer {
        acquirer,
        parts: Vec::new(),
        origins: BTreeMap::new(),
    };
    gatherer.add_text(LOCK_FILE, lock.encode().into_bytes());
    for (path, bytes) in trees.provisioners.files() {
        gatherer.add_text(&format!("scripts/{path}"), bytes);
    }
    gatherer.add_artifacts(lock, proven)?;
    gatherer.add_tools(tools)?;
    let build = trees
        .catalog
        .load_windows_release(&windows_release(lock)?)?
        .build;
    let mut names: Vec<&ImageReference> = lock.images.iter().chain(images).collect();
    names.sort();
    names.dedup();
    let source = ImageSource {
        fetcher: acquirer.fetcher,
        jobs: acquirer.network.downloads(),
        printer: acquirer.printer,
    };
    let plan = proven.plan();
    let FetchedImages { carried, omitted } = source.fetch_images(
        &names,
        |name| images.contains(name) || plan.selects_image(name),
        build,
    )?;
    for image in &carried {
        gatherer.parts.extend(image.list_parts(BLOBS));
    }
    if !carried.is_empty() {
        gatherer.parts.extend(build_layout(&carried));
    }
    let images = carried.into_iter().map(|image| image.indexed).collect();
    let index = BundleIndex {
        schema: SCHEMA.to_owned(),
        files: Vec::new(),
        origins: gatherer.origins,
        images,
        omitted,
        tools: index_tools(tools)?,
    };
    if let Err(error) = check_layout(lock, &index) {
        acquirer.printer.print_warning(&format!(
            "`bundle extract --as-mirror` will refuse this bundle, and only `--store` takes it: {error}"
        ));
    }
    Ok(super::create_bundle(out, gatherer.parts, index)?)
}

fn windows_release(lock: &Lock) -> Result<String> {
    lock.selection.windows.clone().ok_or_else(|| {
        Error::value(
            "the lock names no Windows release",
            "run `imagegen lock` to write a new one",
        )
    })
}

fn index_tools(tools: &[PlatformTool]) -> Result<Vec<IndexedTool>> {
    let indexed: Result<Vec<IndexedTool>, _> = tools.iter().map(IndexedTool::new).collect();
    Ok(indexed.map_err(|error| InternalError(error.to_string()))?)
}

/// Files gathered for a bundle, and their sources.
struct Gatherer<'a> {
    acquirer: &'a Acquirer<'a>,
    parts: Vec<ArchivePart>,
    origins: BTreeMap<String, String>,
}

impl Gatherer<'_> {
    fn add_text(&mut self, path: &str, bytes: Vec<u8>) {
        self.parts.push(ArchivePart {
            path: path.to_owned(),
            content: Content::Bytes(bytes),
        });
    }

    fn add_file(&mut self, folder: &str, fetched: &FetchedArtifact) {
        self.parts.push(ArchivePart::from_fetched(
            format!("{folder}{}", fetched.sha256()),
            fetched,
        ));
    }

    fn add_artifacts(&mut self, lock: &Lock, proven: &ProvenPlan) -> Result<()> {
        for (file, fetched) in proven
            .plan()
            .selection
            .user_files()
            .zip(proven.user_files())
        {
            self.add_file(OBJECTS, fetched);
            self.origins
                .insert(file.url.to_string(), fetched.sha256().to_owned());
        }
        for verified in proven.artifacts() {
            let (artifact, fetched) = (verified.artifact(), verified.fetched());
            self.add_file(OBJECTS, fetched);
            self.origins
                .insert(artifact.url.to_string(), fetched.sha256().to_owned());
            // What was proven when it was locked, and what was proven now.
            let locked = lock
                .artifacts
                .iter()
                .find(|it| it.component == artifact.component);
            let evidence = locked
                .iter()
                .flat_map(|it| &it.evidence)
                .chain(&artifact.evidence);
            self.add_proofs(artifact, &evidence.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn add_tools(&mut self, tools: &[PlatformTool]) -> Result<()> {
        for tool in tools {
            let (artifact, fetched) = (tool.verified.artifact(), tool.verified.fetched());
            self.add_file(OBJECTS, fetched);
            let digest = fetched.sha256().to_owned();
            self.origins.insert(artifact.url.to_string(), digest);
            self.add_proofs(artifact, &artifact.evidence.iter().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// The files that proved an artifact, so that it can be proven again without network.
    fn add_proofs(&mut self, artifact: &PlannedArtifact, evidence: &[&Evidence]) -> Result<()> {
        let fetcher = self.acquirer.fetcher;
        let proved = |url: &HttpUrl| {
            let source = strip_secrets(url.public_url());
            evidence.iter().any(|one| {
                one.verdict >= Verdict::SignedTimeUnproven && one.source.as_ref() == Some(&source)
            })
        };
        let checksums = artifact
            .checksums
            .iter()
            .map(|file| &file.url)
            .filter(|url| proved(url));
        // A signature is nothing without the certificate of its key.
        let signatures = artifact
            .signatures
            .iter()
            .filter(|signature| proved(&signature.url));
        let signatures = signatures.flat_map(|signature| {
            std::iter::once(&signature.url).chain(&signature.certificate_url)
        });
        for url in checksums.chain(signatures) {
            let name = artifact.title();
            let beside = parse_origin(url.public_url()) == parse_origin(artifact.url.public_url());
            let names = if beside {
                artifact.headers.clone()
            } else {
                BTreeMap::new()
            };
            let headers = self
                .acquirer
                .grants()
                .read_headers(&names, &artifact.component, url)?;
            // What was verified a moment ago is what is packed.
            let bytes = match find_sidecar(url, fetcher)? {
                Some(bytes) => bytes,
                None => fetcher.fetch_small(&name, url, SIDECAR, &headers)?,
            };
            let digest = sha256_hex(&bytes);
            self.origins.insert(url.to_string(), digest.clone());
            self.parts.push(ArchivePart {
                path: format!("{OBJECTS}{digest}"),
                content: Content::Bytes(bytes),
            });
        }
        Ok(())
    }
}
