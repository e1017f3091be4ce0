//! Container images out of their registries, whole: every layer is there, and the image fits the build of Windows.

use super::images::{
    Descriptor, ImageManifest, LARGEST_MANIFEST, choose_manifest, hex, manifest_error,
};
use super::platform::{check_build, check_platform};
use super::{ArchivePart, IndexedImage, describe_omitted};
use crate::acquire::collect_outcomes;
use crate::base::code::Code;
use crate::base::json::parse_foreign;
use crate::base::secret::Secret;
use crate::base::value::{FileDigest, ImageReference, Sha256, ValueError};
use crate::diagnostic::{CodedError, Result};
use crate::fetch::{
    Addressing, FetchError, FetchedArtifact, Fetcher, MAX_SIZE, RegistryLogin, Request,
    is_unavailable,
};
use crate::io::fs;
use crate::io::oci::{MANIFESTS, Reference};
use crate::ui::{Downloads, Printer};

/// An image with the manifest that was asked for, the one that fits Windows, its configuration and layers.
#[derive(Debug)]
pub struct CarriedImage {
    pub indexed: IndexedImage,
    pub manifest: Descriptor,
    blobs: Vec<FetchedArtifact>,
}

impl CarriedImage {
    /// Its blobs in a folder, each under its digest.
    pub fn list_parts(&self, folder: &str) -> impl Iterator<Item = ArchivePart> {
        self.blobs
            .iter()
            .map(move |blob| ArchivePart::from_fetched(format!("{folder}{}", blob.sha256()), blob))
    }
}

/// Images that were fetched, and those that no registry served.
#[derive(Debug, Default)]
pub struct FetchedImages {
    pub carried: Vec<CarriedImage>,
    pub omitted: Vec<ImageReference>,
}

/// Sources of images: the store first, then their registries.
#[derive(Debug, Clone, Copy)]
pub struct ImageSource<'a> {
    pub fetcher: &'a Fetcher,
    pub jobs: usize,
    pub printer: &'a Printer,
}

impl ImageSource<'_> {
    /// Images for a build of Windows. An image of the catalog that its registry does not have, or that cannot be asked for
    /// it, is left out.
    ///
    /// # Errors
    /// An image of the user cannot be fetched, is incomplete, or has another Windows build. An image of the catalog has
    /// other bytes than its digest says, policy or login refuse it, or this machine fails.
    pub fn fetch_images(
        &self,
        names: &[&ImageReference],
        is_asked: impl Fn(&ImageReference) -> bool,
        build: u32,
    ) -> Result<FetchedImages> {
        let mut images = FetchedImages::default();
        for name in names {
            match self.fetch_image(name, build) {
                Ok(image) => images.carried.push(image),
                Err(error) if is_asked(name) || !is_omissible(error.code()) => return Err(error),
                Err(error) => {
                    let line = describe_omitted(name);
                    self.printer.print_warning(&format!("{line}: {error}"));
                    images.omitted.push((*name).clone());
                }
            }
        }
        Ok(images)
    }

    fn fetch_image(&self, name: &str, build: u32) -> Result<CarriedImage> {
        let image =
            Reference::parse(name).map_err(|message| CodedError::new(Code::VALUE, message))?;
        let (image, login) = self.fetcher.locate_image(image);
        let (asked, bytes) = self.fetch_manifest(name, &image, &image.version, &login)?;
        let mut blobs = vec![asked.clone()];
        let (manifest, bytes, os_version) = match ImageManifest::decode(name, &bytes)? {
            ImageManifest::Image { .. } => {
                let media_type = read_media_type(&bytes);
                let size = asked.size();
                (
                    Descriptor {
                        media_type,
                        digest: image.version.clone(),
                        size,
                        platform: None,
                        urls: Vec::new(),
                    },
                    bytes,
                    None,
                )
            }
            ImageManifest::List(list) => {
                let chosen = choose_manifest(name, &list, build)?;
                let (fetched, bytes) = self.fetch_manifest(name, &image, &chosen.digest, &login)?;
                blobs.push(fetched);
                (chosen.clone(), bytes, chosen.os_version())
            }
        };
        let (config, layers) = ImageManifest::decode_image(name, &bytes)?;
        let requests = std::iter::once(&config)
            .chain(&layers)
            .map(|blob| request_blob(name, &image, blob, &login))
            .collect::<Result<Vec<_>>>()?;
        let parts = self.fetch_files(&requests)?;
        if blobs.len() == 1 {
            // The manifest that was asked for is of one image, and no list says for which Windows.
            let config = fs::read_head(parts[0].path(), LARGEST_MANIFEST)?;
            let version = check_platform(name, &config)?.unwrap_or_default();
            if let Err(error) = check_build(name, &version, build) {
                self.printer.print_warning(&error.message);
            }
        }
        blobs.extend(parts);

        let foreign = layers.iter().filter(|layer| layer.is_foreign());
        let indexed = IndexedImage {
            name: name.to_owned(),
            manifest: manifest.digest.clone(),
            os_version,
            foreign_layers: foreign.map(|layer| layer.digest.clone()).collect(),
        };
        self.warn_foreign_layers(&indexed);
        Ok(CarriedImage {
            indexed,
            manifest,
            blobs,
        })
    }

    /// Foreign layers make a bundle one for the user alone.
    fn warn_foreign_layers(&self, image: &IndexedImage) {
        if image.foreign_layers.is_empty() {
            return;
        }
        self.printer.print_warning(&format!(
            "{}: its publisher does not let others distribute the layers {}; do not give the bundle to others",
            image.name,
            image.foreign_layers.join(", ")
        ));
    }

    fn fetch_manifest(
        &self,
        name: &str,
        image: &Reference,
        digest: &str,
        login: &RegistryLogin,
    ) -> Result<(FetchedArtifact, Vec<u8>)> {
        let mut request = request_by_digest(
            name,
            &image.manifest_url(digest),
            blob_sha256(digest)?,
            Some(login),
        )?;
        request.max_size = LARGEST_MANIFEST;
        request
            .headers
            .push(("Accept".to_owned(), Secret::from_constant(MANIFESTS)));
        let fetched = self
            .fetch_files(std::slice::from_ref(&request))?
            .swap_remove(0);
        let bytes = fs::read_file(fetched.path())?;
        Ok((fetched, bytes))
    }

    fn fetch_files(&self, requests: &[Request]) -> Result<Vec<FetchedArtifact>> {
        let sizes: Vec<Option<u64>> = requests.iter().map(|request| request.size).collect();
        let downloads = Downloads::new(self.printer, &sizes);
        let mut outcomes = self.fetcher.fetch_all(requests, self.jobs, &downloads);
        // The first error decides whether the image may be left out: one of the bytes outweighs one of the server.
        let grave = outcomes.iter().position(is_grave);
        if let Some(at) = grave {
            outcomes.swap(0, at);
        }
        collect_outcomes(outcomes, self.printer)
    }
}

fn is_grave(outcome: &Result<FetchedArtifact, FetchError>) -> bool {
    outcome.as_ref().is_err_and(|error| !error.is_unavailable())
}

/// Whether an image of the catalog may be left out for this error: its registry has no such image.
fn is_omissible(code: Code) -> bool {
    code == Code::IMAGE_PLATFORM || is_unavailable(code)
}

/// A blob out of its registry. Registries do not serve foreign layers: their publisher does.
fn request_blob(
    name: &str,
    image: &Reference,
    blob: &Descriptor,
    login: &RegistryLogin,
) -> Result<Request> {
    let digest = blob_sha256(&blob.digest)?;
    let publisher = blob.urls.first().filter(|_| blob.is_foreign());
    let request = if let Some(url) = publisher {
        // The login is for the registry alone.
        request_by_digest(name, url, digest, None)?
    } else {
        request_by_digest(name, &image.blob_url(&blob.digest), digest, Some(login))?
    };
    Ok(Request {
        size: Some(blob.size),
        max_size: blob.size,
        ..request
    })
}

/// The digest of a blob that is wanted; an image has no empty blobs.
pub(super) fn blob_sha256(digest: &str) -> Result<Sha256> {
    hex(digest)?
        .parse()
        .map_err(|error: ValueError| manifest_error(error.to_string()).into())
}

fn request_by_digest(
    name: &str,
    url: &str,
    digest: Sha256,
    login: Option<&RegistryLogin>,
) -> Result<Request> {
    let request = Request::without_digest(
        name.split('@').next().unwrap_or(name),
        &url.parse()?,
        MAX_SIZE,
    );
    Ok(Request {
        addressing: Addressing::Exact,
        digests: vec![FileDigest::Sha256(digest)],
        login: login.cloned(),
        ..request
    })
}

/// As the manifest says it of itself.
fn read_media_type(manifest: &[u8]) -> String {
    let value: serde_json::Value = parse_foreign(manifest).unwrap_or_default();
    value["mediaType"]
        .as_str()
        .unwrap_or("application/vnd.oci.image.manifest.v1+json")
        .to_owned()
}
