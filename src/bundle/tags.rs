//! Container images by tag: what their registry serves for a build of Windows.

use super::images::{Descriptor, ImageManifest, LARGEST_MANIFEST, choose_manifest, manifest_error};
use super::platform::{check_build, check_platform};
use super::registry::{ImageSource, blob_sha256};
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::secret::Secret;
use crate::base::value::{FileDigest, NamedImage, Sha256, ValueError};
use crate::diagnostic::{CodedError, Result};
use crate::fetch::{RegistryLogin, Request};
use crate::io::oci::{MANIFESTS, Reference};
use crate::model::tagged_image::ImagePin;

impl ImageSource<'_> {
    /// The address that is asked for the manifest of a tag: that of its registry, or of a mirror.
    ///
    /// # Errors
    /// The name has no tag.
    pub fn locate_tag(&self, name: &NamedImage) -> Result<String> {
        let (image, _) = self.fetcher.locate_image(read_tag_reference(name)?);
        Ok(image.manifest_url(&image.version))
    }

    /// Asks the registry for a tag, and reads the manifest for a build of Windows by its digest.
    ///
    /// # Errors
    /// A registry cannot be reached, does not have the tag, or has no image for this build of Windows.
    pub fn ask_tag(&self, name: &NamedImage, build: u32) -> Result<ImagePin> {
        let (image, login) = self.fetcher.locate_image(read_tag_reference(name)?);
        let bytes = self.read_manifest(name, &image, &image.version, &login)?;
        let index = digest_manifest(&bytes)?;
        let (manifest, bytes, os_version) = match ImageManifest::decode(name, &bytes)? {
            ImageManifest::Image { config, .. } => {
                let config = self.read_config(name, &image, &config, &login)?;
                let os_version = check_platform(name, &config)?;
                if let Some(version) = &os_version {
                    check_build(name, version, build)?;
                }
                (index.clone(), bytes, os_version)
            }
            ImageManifest::List(list) => {
                let chosen = choose_manifest(name, &list, build)?;
                let bytes = self.read_manifest(name, &image, &chosen.digest, &login)?;
                let found = digest_manifest(&bytes)?;
                if found != blob_sha256(&chosen.digest)? {
                    let message = format!(
                        "{name}: the registry serves other bytes as {}",
                        chosen.digest
                    );
                    return Err(manifest_error(message).into());
                }
                (found, bytes, chosen.os_version())
            }
        };

        let (config, layers) = ImageManifest::decode_image(name, &bytes)?;
        let blobs = std::iter::once(&config).chain(&layers);
        let foreign = layers.iter().filter(|layer| layer.is_foreign());
        Ok(ImagePin {
            index,
            manifest,
            build,
            os_version,
            size: blobs.fold(0, |sum: u64, blob: &Descriptor| {
                sum.saturating_add(blob.size)
            }),
            foreign_layers: foreign
                .map(|layer| blob_sha256(&layer.digest))
                .collect::<Result<_>>()?,
        })
    }

    fn read_config(
        &self,
        name: &NamedImage,
        image: &Reference,
        config: &Descriptor,
        login: &RegistryLogin,
    ) -> Result<Vec<u8>> {
        let url = image.blob_url(&config.digest).parse()?;
        let digest = blob_sha256(&config.digest)?;
        let request = Request {
            digests: vec![FileDigest::Sha256(digest)],
            login: Some(login.clone()),
            ..Request::without_digest(name, &url, LARGEST_MANIFEST)
        };
        Ok(self.fetcher.read_small(&request)?)
    }

    fn read_manifest(
        &self,
        name: &NamedImage,
        image: &Reference,
        version: &str,
        login: &RegistryLogin,
    ) -> Result<Vec<u8>> {
        let url = image.manifest_url(version).parse()?;
        let request = Request {
            headers: vec![("Accept".to_owned(), Secret::from_constant(MANIFESTS))],
            login: Some(login.clone()),
            ..Request::without_digest(name, &url, LARGEST_MANIFEST)
        };
        Ok(self.fetcher.read_small(&request)?)
    }
}

fn read_tag_reference(name: &NamedImage) -> Result<Reference> {
    let image = Reference::parse_tag(name);
    Ok(image.map_err(|message| CodedError::new(Code::VALUE, message))?)
}

fn digest_manifest(bytes: &[u8]) -> Result<Sha256> {
    let digest = sha256_hex(bytes).parse();
    digest.map_err(|error: ValueError| manifest_error(error.to_string()).into())
}
