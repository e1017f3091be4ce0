//! Gathers what a lock needs into a bundle: artifacts, their proofs, scripts and container images.

use std::collections::BTreeMap;
use std::path::Path;

use super::images::build_layout;
use super::registry::ImageSource;
use super::{BLOBS, Content, EVIDENCE, Index, LOCK, OBJECTS, Part};
use crate::cli::NetworkArgs;
use crate::diagnostic::{InputError, Result};
use crate::embedded::sha256_hex;
use crate::fetch::{Fetched, Fetcher, Request};
use crate::io::http::public;
use crate::lock::Lock;
use crate::model::evidence::Verdict;
use crate::model::json;
use crate::model::plan::PlannedArtifact;
use crate::model::policy::Policy;
use crate::model::url::HttpUrl;
use crate::model::value::ImageReference;
use crate::ui::{Downloads, Printer};

use crate::acquire::collect_outcomes;
use crate::acquire::{open_fetcher, read_headers, request_artifact, request_user_files};
use crate::catalog::Trees;

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
    let build = trees.catalog.load_windows_release(&windows_release(lock)?)?.build;
    let mut names: Vec<&ImageReference> = lock.images.iter().chain(images).collect();
    names.sort();
    names.dedup();
    let source = ImageSource { fetcher: &gatherer.fetcher, jobs: network.jobs, printer };
    let asked =
        |name: &ImageReference| images.contains(name) || lock.selection.container_images.contains(name);
    let carried = source.fetch_images(&names, asked, build)?;
    for image in &carried {
        gatherer.parts.extend(image.list_parts(BLOBS));
    }
    if !carried.is_empty() {
        gatherer.parts.extend(build_layout(&carried));
    }
    let images = carried.into_iter().map(|image| image.indexed).collect();
    Ok(super::create_bundle(out, gatherer.parts, gatherer.origins, images)?)
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
}
