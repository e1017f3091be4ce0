//! `imagegen bundle`: across the air gap and out of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::bundle::images::{Descriptor, Manifest, choose, hex, layout};
use crate::bundle::{self, Content, EVIDENCE, Index, IndexedImage, LOCK, OBJECTS, Opened, Part};
use crate::cli::{BundleArgs, BundleWhat, NetworkArgs};
use crate::diagnostic::{Result, UsageError};
use crate::embedded::sha256;
use crate::fetch::{Fetched, Fetcher, MAX_SIZE, Request};
use crate::io::fs;
use crate::io::http::{Secret, public};
use crate::io::oci::{MANIFESTS, Reference};
use crate::lock::Lock;
use crate::model::evidence::Verdict;
use crate::model::json;
use crate::model::plan::PlannedArtifact;
use crate::model::policy::Policy;
use crate::model::resource::PinAlgorithm;
use crate::ui::{Downloads, Printer};

use super::scripts::replace;
use crate::acquire::collect_outcomes;
use crate::acquire::{open_fetcher, open_store, read_headers, request_artifact, request_user_files};
use crate::catalog::Trees;
use crate::selection::read_trees;

/// What `imagegen bundle` says.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleOutput {
    pub bundle: String,
    pub files: usize,
    /// Bytes of the files.
    pub size: u64,
    pub artifacts: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<IndexedImage>,
    /// Where the files were put: a store, or the folder of a mirror.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

pub(super) fn bundle(args: &BundleArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    match &args.what {
        BundleWhat::Create { out, lock, images, scripts, network } => {
            let bytes = fs::read(lock)?;
            let lock = Lock::decode(&lock.display().to_string(), &bytes)?;
            let mut trees = read_trees(manifests)?;
            replace(scripts, &lock.selection.overrides, &mut trees)?;
            let index = create(out, &lock, images, network, &trees, printer)?;
            told(out, &index, lock.artifacts.len(), None, printer)
        }
        BundleWhat::Verify { file } => {
            let opened = bundle::verify(file)?;
            told(file, &opened.index, opened.lock.artifacts.len(), None, printer)
        }
        BundleWhat::Extract { file, store: path, as_mirror, lock } => {
            let (opened, place) = if let Some(folder) = as_mirror {
                (mirror(file, folder, printer)?, folder.display().to_string())
            } else {
                let store = open_store(path.as_ref())?;
                (bundle::extract(file, &store)?, store.root().display().to_string())
            };
            if let Some(path) = lock {
                fs::write(path, opened.lock.encode().as_bytes())?;
            }
            told(file, &opened.index, opened.lock.artifacts.len(), Some(place), printer)
        }
    }
}

fn mirror(file: &Path, folder: &Path, printer: &Printer) -> Result<Opened> {
    let mirrored = bundle::extract_mirror(file, folder)?;
    if !mirrored.elsewhere.is_empty() {
        let own = mirrored.elsewhere.join(", ");
        printer.note(&format!("not in the mirror, for they have addresses of their own: {own}"));
    }
    let known = mirrored.opened.lock.selection.overrides.get("https://").and_then(|over| over.url.as_deref());
    printer.note(&format!(
        "{} files; serve {} at {}, and build with `--delivery mirror --mirror {}`",
        mirrored.files.len(),
        folder.display(),
        known.unwrap_or("an HTTPS URL"),
        known.unwrap_or("URL")
    ));
    Ok(mirrored.opened)
}

fn told(
    file: &Path,
    index: &Index,
    artifacts: usize,
    store: Option<String>,
    printer: &Printer,
) -> Result<()> {
    let output = BundleOutput {
        bundle: file.display().to_string(),
        files: index.files.len(),
        size: index.files.iter().map(|file| file.size).sum(),
        artifacts,
        images: index.images.clone(),
        store,
    };
    printer.result(&output, || {
        let place = output.store.as_ref().map(|store| format!(", now in {store}")).unwrap_or_default();
        format!(
            "{}: {artifacts} artifacts, {} images, {} bytes{place}\n",
            output.bundle,
            output.images.len(),
            output.size
        )
    })
}

fn create(
    out: &Path,
    lock: &Lock,
    images: &[String],
    network: &NetworkArgs,
    trees: &Trees,
    printer: &Printer,
) -> Result<Index> {
    lock.require_pins()?;
    let mut carry = Carry {
        fetcher: open_fetcher(network, &Policy::default())?,
        jobs: network.jobs,
        printer,
        parts: Vec::new(),
        origins: BTreeMap::new(),
    };
    carry.text(LOCK, lock.encode().into_bytes());
    carry.text(EVIDENCE, json::pretty(&bundle::evidence(lock)).into_bytes());
    for (path, bytes) in trees.provisioners.files() {
        carry.text(&format!("scripts/{path}"), bytes);
    }
    carry.artifacts(lock, trees)?;
    let mut carried = Vec::new();
    let build = trees.catalog.windows(&windows(lock)?)?.build;
    let mut names: Vec<&String> = lock.selection.images.iter().chain(images).collect();
    names.sort();
    names.dedup();
    for name in names {
        let image = Reference::parse(name).map_err(|message| UsageError { message, remedy: None })?;
        carried.push(carry.image(name, &image, build)?);
    }
    if !carried.is_empty() {
        carry.parts.extend(layout(&carried));
    }
    let carried = carried.into_iter().map(|(image, _)| image).collect();
    Ok(bundle::create(out, carry.parts, carry.origins, carried)?)
}

fn windows(lock: &Lock) -> Result<String> {
    Ok(lock.selection.windows.clone().ok_or_else(|| UsageError {
        message: "the lock names no Windows release".to_owned(),
        remedy: Some("run `imagegen lock` to write a new one".to_owned()),
    })?)
}

/// What is gathered for a bundle.
struct Carry<'a> {
    fetcher: Fetcher,
    jobs: usize,
    printer: &'a Printer,
    parts: Vec<Part>,
    origins: BTreeMap<String, String>,
}

impl Carry<'_> {
    fn text(&mut self, path: &str, bytes: Vec<u8>) {
        self.parts.push(Part { path: path.to_owned(), content: Content::Text(bytes) });
    }

    fn file(&mut self, folder: &str, fetched: &Fetched) {
        self.parts.push(Part::fetched(format!("{folder}{}", fetched.sha256()), fetched));
    }

    fn fetch(&self, requests: &[Request]) -> Result<Vec<Fetched>> {
        let total = requests.iter().filter_map(|request| request.size).sum();
        let downloads = Downloads::new(self.printer, requests.len(), total);
        collect_outcomes(self.fetcher.fetch(requests, self.jobs, &downloads), self.printer)
    }

    fn artifacts(&mut self, lock: &Lock, trees: &Trees) -> Result<()> {
        let requests = lock
            .artifacts
            .iter()
            .map(|artifact| request_artifact(artifact, trees))
            .collect::<Result<Vec<Request>>>()?;
        let own = request_user_files(&lock.selection)?;
        for (request, fetched) in own.iter().zip(self.fetch(&own)?) {
            self.file(OBJECTS, &fetched);
            self.origins.insert(request.url.clone(), fetched.sha256().to_owned());
        }
        for (artifact, fetched) in lock.artifacts.iter().zip(self.fetch(&requests)?) {
            self.file(OBJECTS, &fetched);
            self.origins.insert(artifact.url.clone(), fetched.sha256().to_owned());
            self.sidecars(artifact)?;
        }
        Ok(())
    }

    /// The files that proved an artifact, so that it can be proven again without network.
    fn sidecars(&mut self, artifact: &PlannedArtifact) -> Result<()> {
        let proved = |url: &String| {
            let source = public(url);
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
            let bytes = self.fetcher.small(&name, url, 16 << 20, &headers)?;
            let digest = sha256(&bytes);
            self.origins.insert(url.clone(), digest.clone());
            self.parts.push(Part { path: format!("{OBJECTS}{digest}"), content: Content::Bytes(bytes) });
        }
        Ok(())
    }

    /// An image with the manifest that was asked for, and the one for Windows.
    fn image(&mut self, name: &str, image: &Reference, build: u32) -> Result<(IndexedImage, Descriptor)> {
        let login = self.fetcher.authorize(image)?;
        let (asked, bytes) = self.manifest(name, image, &image.digest, &login)?;
        let (descriptor, bytes, os_version) = match Manifest::decode(name, &bytes)? {
            Manifest::Image { .. } => {
                let media_type = media_type(&bytes);
                let size = asked.size();
                (Descriptor { media_type, digest: image.digest.clone(), size, platform: None }, bytes, None)
            }
            Manifest::List(list) => {
                let chosen = choose(name, &list, build)?;
                let (_, bytes) = self.manifest(name, image, &chosen.digest, &login)?;
                let os_version = chosen.platform.as_ref().and_then(|platform| platform.os_version.clone());
                (chosen.clone(), bytes, os_version)
            }
        };
        let Manifest::Image { config, layers } = Manifest::decode(name, &bytes)? else {
            return Err(
                UsageError { message: format!("{name}: a list of lists of images"), remedy: None }.into()
            );
        };
        let requests = std::iter::once(&config)
            .chain(&layers)
            .map(|blob| {
                Ok(Request {
                    size: Some(blob.size),
                    max_size: blob.size,
                    ..by_digest(name, &image.blob(&blob.digest), hex(&blob.digest)?, &login)
                })
            })
            .collect::<Result<Vec<Request>>>()?;
        for fetched in self.fetch(&requests)? {
            self.file(bundle::BLOBS, &fetched);
        }
        let manifest = descriptor.digest.clone();
        Ok((IndexedImage { name: name.to_owned(), manifest, os_version }, descriptor))
    }

    fn manifest(
        &mut self,
        name: &str,
        image: &Reference,
        digest: &str,
        login: &[(String, Secret)],
    ) -> Result<(Fetched, Vec<u8>)> {
        let mut request = by_digest(name, &image.manifest(digest), hex(digest)?, login);
        request.max_size = bundle::images::LARGEST_MANIFEST;
        request.headers.push(("Accept".to_owned(), Secret::new(MANIFESTS.to_owned())));
        let fetched = self.fetch(std::slice::from_ref(&request))?.swap_remove(0);
        self.file(bundle::BLOBS, &fetched);
        let bytes = fs::read(fetched.path())?;
        Ok((fetched, bytes))
    }
}

fn by_digest(name: &str, url: &str, digest: &str, login: &[(String, Secret)]) -> Request {
    Request {
        digests: vec![(PinAlgorithm::Sha256, digest.to_owned())],
        headers: login.to_vec(),
        ..Request::unknown(name.split('@').next().unwrap_or(name), url, MAX_SIZE)
    }
}

/// As the manifest says it of itself.
fn media_type(manifest: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(manifest).unwrap_or_default();
    value["mediaType"].as_str().unwrap_or("application/vnd.oci.image.manifest.v1+json").to_owned()
}
