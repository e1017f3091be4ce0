//! Gathers what a lock needs into a bundle: artifacts, their proofs, scripts and container images.

use std::collections::BTreeMap;
use std::path::Path;

use super::images::{
    Descriptor, LARGEST_MANIFEST, Manifest, build_layout, choose_manifest, hex, manifest_error,
};
use super::{BLOBS, Content, EVIDENCE, Index, IndexedImage, LOCK, OBJECTS, Part};
use crate::cli::NetworkArgs;
use crate::diagnostic::{InputError, Result};
use crate::embedded::sha256_hex;
use crate::fetch::{Fetched, Fetcher, MAX_SIZE, Request};
use crate::io::fs;
use crate::io::http::public;
use crate::io::oci::{MANIFESTS, Reference};
use crate::lock::Lock;
use crate::model::evidence::Verdict;
use crate::model::json;
use crate::model::plan::PlannedArtifact;
use crate::model::policy::Policy;
use crate::model::url::HttpUrl;
use crate::model::value::ImageReference;
use crate::model::value::{FileDigest, Sha256, ValueError};
use crate::ui::{Downloads, Printer};

use crate::acquire::collect_outcomes;
use crate::acquire::{open_fetcher, read_headers, request_artifact, request_user_files};
use crate::catalog::Trees;
use crate::model::secret::Secret;

/// # Errors
/// The lock is not pinned, or something cannot be downloaded or written.
pub fn gather_bundle(
    out: &Path,
    lock: &Lock,
    images: &[ImageReference],
    network: &NetworkArgs,
    trees: &Trees,
    printer: &Printer,
) -> Result<Index> {
    lock.require_pins()?;
    lock.require_admission()?;
    let mut gatherer = Gatherer {
        fetcher: open_fetcher(network, &Policy::default())?,
        jobs: network.jobs,
        printer,
        parts: Vec::new(),
        origins: BTreeMap::new(),
    };
    gatherer.add_text(LOCK, lock.encode().into_bytes());
    gatherer.add_text(EVIDENCE, json::format_json(&super::collect_evidence(lock)).into_bytes());
    for (path, bytes) in trees.provisioners.files() {
        gatherer.add_text(&format!("scripts/{path}"), bytes);
    }
    gatherer.add_artifacts(lock, trees)?;
    let mut added = Vec::new();
    let build = trees.catalog.load_windows_release(&windows_release(lock)?)?.build;
    let mut names: Vec<&ImageReference> = lock.selection.images.iter().chain(images).collect();
    names.sort();
    names.dedup();
    for name in names {
        let image = Reference::parse(name).map_err(|message| InputError { message, remedy: None })?;
        added.push(gatherer.add_image(name, &image, build)?);
    }
    if !added.is_empty() {
        gatherer.parts.extend(build_layout(&added));
    }
    let added = added.into_iter().map(|(image, _)| image).collect();
    Ok(super::create_bundle(out, gatherer.parts, gatherer.origins, added)?)
}

fn windows_release(lock: &Lock) -> Result<String> {
    Ok(lock.selection.windows.clone().ok_or_else(|| InputError {
        message: "the lock names no Windows release".to_owned(),
        remedy: Some("run `imagegen lock` to write a new one".to_owned()),
    })?)
}

/// What is gathered for a bundle.
struct Gatherer<'a> {
    fetcher: Fetcher,
    jobs: usize,
    printer: &'a Printer,
    parts: Vec<Part>,
    origins: BTreeMap<String, String>,
}

impl Gatherer<'_> {
    fn add_text(&mut self, path: &str, bytes: Vec<u8>) {
        self.parts.push(Part { path: path.to_owned(), content: Content::Text(bytes) });
    }

    fn add_file(&mut self, folder: &str, fetched: &Fetched) {
        self.parts.push(Part::from_fetched(format!("{folder}{}", fetched.sha256()), fetched));
    }

    fn fetch_files(&self, requests: &[Request]) -> Result<Vec<Fetched>> {
        let total = requests.iter().filter_map(|request| request.size).sum();
        let downloads = Downloads::new(self.printer, requests.len(), total);
        collect_outcomes(self.fetcher.fetch_all(requests, self.jobs, &downloads), self.printer)
    }

    fn add_artifacts(&mut self, lock: &Lock, trees: &Trees) -> Result<()> {
        let requests = lock
            .artifacts
            .iter()
            .map(|artifact| request_artifact(artifact, trees))
            .collect::<Result<Vec<Request>>>()?;
        let own = request_user_files(&lock.selection)?;
        for (request, fetched) in own.iter().zip(self.fetch_files(&own)?) {
            self.add_file(OBJECTS, &fetched);
            self.origins.insert(request.url.to_string(), fetched.sha256().to_owned());
        }
        for (artifact, fetched) in lock.artifacts.iter().zip(self.fetch_files(&requests)?) {
            self.add_file(OBJECTS, &fetched);
            self.origins.insert(artifact.url.to_string(), fetched.sha256().to_owned());
            self.add_proofs(artifact)?;
        }
        Ok(())
    }

    /// The files that proved an artifact, so that it can be proven again without network.
    fn add_proofs(&mut self, artifact: &PlannedArtifact) -> Result<()> {
        let proved = |url: &HttpUrl| {
            let source = public(url.public_url());
            let mut evidence = artifact.evidence.iter();
            evidence
                .any(|one| one.verdict >= Verdict::SignedTimeUnproven && one.source.as_ref() == Some(&source))
        };
        let checksums = artifact.checksums.iter().map(|file| &file.url).filter(|url| proved(url));
        // A signature is nothing without the certificate of its key.
        let signatures = artifact.signatures.iter().filter(|signature| proved(&signature.url));
        let signatures = signatures
            .flat_map(|signature| std::iter::once(&signature.url).chain(&signature.certificate_url));
        for url in checksums.chain(signatures) {
            let name = artifact.title();
            let headers = read_headers(&artifact.headers, &artifact.component)?;
            let store = self.fetcher.store();
            let carried = store
                .find_url(&super::carried(url.public_url()))
                .map(|object| store.read_object(&object))
                .transpose()?;
            let bytes = match carried.flatten() {
                Some(bytes) => bytes,
                None => self.fetcher.fetch_small(&name, url, 16 << 20, &headers)?,
            };
            let digest = sha256_hex(&bytes);
            self.origins.insert(url.to_string(), digest.clone());
            self.parts.push(Part { path: format!("{OBJECTS}{digest}"), content: Content::Bytes(bytes) });
        }
        Ok(())
    }

    /// An image with the manifest that was asked for, and the one for Windows.
    fn add_image(&mut self, name: &str, image: &Reference, build: u32) -> Result<(IndexedImage, Descriptor)> {
        let login = self.fetcher.authorize(image)?;
        let (asked, bytes) = self.fetch_manifest(name, image, &image.digest, &login)?;
        let (descriptor, bytes, os_version) = match Manifest::decode(name, &bytes)? {
            Manifest::Image { .. } => {
                let media_type = read_media_type(&bytes);
                let size = asked.size();
                (Descriptor { media_type, digest: image.digest.clone(), size, platform: None }, bytes, None)
            }
            Manifest::List(list) => {
                let chosen = choose_manifest(name, &list, build)?;
                let (_, bytes) = self.fetch_manifest(name, image, &chosen.digest, &login)?;
                let os_version = chosen.platform.as_ref().and_then(|platform| platform.os_version.clone());
                (chosen.clone(), bytes, os_version)
            }
        };
        let Manifest::Image { config, layers } = Manifest::decode(name, &bytes)? else {
            return Err(
                InputError { message: format!("{name}: a list of lists of images"), remedy: None }.into()
            );
        };
        let requests = std::iter::once(&config)
            .chain(&layers)
            .map(|blob| {
                Ok(Request {
                    size: Some(blob.size),
                    max_size: blob.size,
                    ..request_by_digest(
                        name,
                        &image.blob_url(&blob.digest),
                        blob_sha256(&blob.digest)?,
                        &login,
                    )?
                })
            })
            .collect::<Result<Vec<Request>>>()?;
        for fetched in self.fetch_files(&requests)? {
            self.add_file(BLOBS, &fetched);
        }
        let manifest = descriptor.digest.clone();
        Ok((IndexedImage { name: name.to_owned(), manifest, os_version }, descriptor))
    }

    fn fetch_manifest(
        &mut self,
        name: &str,
        image: &Reference,
        digest: &str,
        login: &[(String, Secret)],
    ) -> Result<(Fetched, Vec<u8>)> {
        let mut request = request_by_digest(name, &image.manifest_url(digest), blob_sha256(digest)?, login)?;
        request.max_size = LARGEST_MANIFEST;
        request.headers.push(("Accept".to_owned(), Secret::from_constant(MANIFESTS)));
        let fetched = self.fetch_files(std::slice::from_ref(&request))?.swap_remove(0);
        self.add_file(BLOBS, &fetched);
        let bytes = fs::read_file(fetched.path())?;
        Ok((fetched, bytes))
    }
}

/// The digest of a blob that is wanted; an image has no empty blobs.
fn blob_sha256(digest: &str) -> Result<Sha256> {
    hex(digest)?.parse().map_err(|error: ValueError| manifest_error(error.to_string()).into())
}

fn request_by_digest(name: &str, url: &str, digest: Sha256, login: &[(String, Secret)]) -> Result<Request> {
    let request = Request::without_digest(name.split('@').next().unwrap_or(name), &url.parse()?, MAX_SIZE);
    Ok(Request { digests: vec![FileDigest::Sha256(digest)], headers: login.to_vec(), ..request })
}

/// As the manifest says it of itself.
fn read_media_type(manifest: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(manifest).unwrap_or_default();
    value["mediaType"].as_str().unwrap_or("application/vnd.oci.image.manifest.v1+json").to_owned()
}
