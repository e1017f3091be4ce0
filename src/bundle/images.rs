//! Container images as an OCI layout: which manifest fits a Windows release, and whether a layout
//! holds all that it speaks of.
//!
//! <https://github.com/opencontainers/image-spec> has the formats.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ArchivePart, BLOBS, BundleIndex, CarriedImage, Content, IndexedImage};
use crate::base::code::Code;
use crate::base::json as text;
use crate::base::value::{ImageReference, is_digest};
use crate::catalog::Catalog;
use crate::lock::Lock;
use crate::model::plan::is_selected_image;
use crate::trust::complete_image;
use crate::verify::ProofError;

/// The largest manifest that registries take.
pub const LARGEST_MANIFEST: u64 = 4 << 20;

const LAYOUT: &str = "images/oci-layout";
const LIST: &str = "images/index.json";

/// A reference to a blob or manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    pub digest: String,
    pub size: u64,
    #[serde(default)]
    pub platform: Option<ImagePlatform>,
    /// Where the publisher serves a layer that registries do not.
    #[serde(default)]
    pub urls: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
pub struct ImagePlatform {
    #[serde(default)]
    pub architecture: String,
    #[serde(default)]
    pub os: String,
    #[serde(default, rename = "os.version")]
    pub os_version: Option<String>,
}

/// A manifest of one image, or of several platforms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageManifest {
    Image {
        config: Descriptor,
        layers: Vec<Descriptor>,
    },
    List(Vec<Descriptor>),
}

pub(super) fn manifest_error(message: impl Into<String>) -> ProofError {
    ProofError::new(Code::IMAGE_MANIFEST, message)
}

impl ImageManifest {
    /// # Errors
    /// Not a manifest of a kind that is known.
    pub fn decode(name: &str, bytes: &[u8]) -> Result<Self, ProofError> {
        #[derive(Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase")]
        struct Raw {
            schema_version: u32,
            config: Option<Descriptor>,
            layers: Option<Vec<Descriptor>>,
            manifests: Option<Vec<Descriptor>>,
        }
        let raw: Raw =
            text::parse_json(name, bytes).map_err(|error| manifest_error(error.to_string()))?;
        match raw {
            Raw {
                schema_version: 2,
                config: Some(config),
                layers: Some(layers),
                manifests: None,
            } => Ok(Self::Image { config, layers }),
            Raw {
                schema_version: 2,
                config: None,
                layers: None,
                manifests: Some(manifests),
            } => Ok(Self::List(manifests)),
            _ => Err(manifest_error(format!(
                "{name} is neither an image's manifest nor a list of them"
            ))),
        }
    }

    /// The configuration and the layers of one image.
    ///
    /// # Errors
    /// As [`ImageManifest::decode`]; a list, where a list led here.
    pub fn decode_image(
        name: &str,
        bytes: &[u8],
    ) -> Result<(Descriptor, Vec<Descriptor>), ProofError> {
        match Self::decode(name, bytes)? {
            Self::Image { config, layers } => Ok((config, layers)),
            Self::List(_) => {
                let message = format!("{name}: nested indexes are not supported");
                Err(manifest_error(message))
            }
        }
    }
}

impl Descriptor {
    /// Whether it is a layer that its publisher does not let others distribute:
    /// <https://github.com/opencontainers/image-spec/blob/main/layer.md#non-distributable-layers>; of Docker's manifests
    /// `application/vnd.docker.image.rootfs.foreign.diff.tar.gzip`.
    pub fn is_foreign(&self) -> bool {
        self.media_type.contains(".nondistributable.") || self.media_type.contains(".foreign.")
    }

    /// The 64 digits.
    ///
    /// # Errors
    /// The digest is of another algorithm.
    pub fn hex(&self) -> Result<&str, ProofError> {
        hex(&self.digest)
    }

    /// The version of Windows that a list has for the image.
    pub fn os_version(&self) -> Option<String> {
        self.platform.as_ref()?.os_version.clone()
    }
}

/// The digits of `sha256:…`.
///
/// # Errors
/// It is no such digest.
pub fn hex(digest: &str) -> Result<&str, ProofError> {
    digest
        .strip_prefix("sha256:")
        .filter(|hex| is_digest(hex, 64))
        .ok_or_else(|| {
            manifest_error(format!(
                "`{digest}` is not a digest: expected sha256:<64 digits>"
            ))
        })
}

/// The manifest for windows/amd64 of a build: process isolation wants the same build as the node.
///
/// # Errors
/// The list has none; says which builds it has.
pub fn choose_manifest<'a>(
    name: &str,
    list: &'a [Descriptor],
    build: u32,
) -> Result<&'a Descriptor, ProofError> {
    let windows: Vec<(&Descriptor, &ImagePlatform)> = list
        .iter()
        .filter_map(|descriptor| Some((descriptor, descriptor.platform.as_ref()?)))
        .filter(|(_, platform)| platform.os == "windows" && platform.architecture == "amd64")
        .collect();
    let version = |platform: &ImagePlatform| -> Vec<u32> {
        platform
            .os_version
            .iter()
            .flat_map(|version| version.split('.'))
            .map_while(|part| part.parse().ok())
            .collect()
    };
    // Several updates of one build: the newest.
    let fitting = windows
        .iter()
        .filter(|(_, platform)| version(platform).get(2) == Some(&build));
    if let Some((descriptor, _)) = fitting.max_by_key(|(_, platform)| version(platform)) {
        return Ok(descriptor);
    }
    // An image without `os.version` says that it runs on every build, as pause-like programs do.
    if let [(descriptor, platform)] = windows.as_slice()
        && platform.os_version.is_none()
    {
        return Ok(descriptor);
    }
    let has: Vec<&str> = windows
        .iter()
        .filter_map(|(_, platform)| platform.os_version.as_deref())
        .collect();
    let has = if has.is_empty() {
        "none for windows/amd64".to_owned()
    } else {
        has.join(", ")
    };
    let message = format!("{name} has no image for Windows build {build}: it has {has}");
    Err(ProofError::new(Code::IMAGE_PLATFORM, message))
}

/// The name that the kubelet asks for: with its tag, where the reference has one beside its digest.
fn choose_name(reference: &str) -> &str {
    let named = reference.split('@').next().unwrap_or(reference);
    let is_tagged = named
        .rsplit('/')
        .next()
        .is_some_and(|last| last.contains(':'));
    if is_tagged { named } else { reference }
}

/// Files of an image layout beside its blobs.
pub fn build_layout(images: &[CarriedImage]) -> Vec<ArchivePart> {
    let manifests: Vec<Value> = images
        .iter()
        .map(
            |CarriedImage {
                 indexed, manifest, ..
             }| {
                list_entry(
                    &indexed.name,
                    &manifest.media_type,
                    &manifest.digest,
                    manifest.size,
                )
            },
        )
        .collect();
    let list = format_list(&manifests);
    let part = |path: &str, value: &Value| ArchivePart {
        path: path.to_owned(),
        content: Content::Bytes(text::format_json(value).into_bytes()),
    };
    vec![part(LAYOUT, &format_version()), part(LIST, &list)]
}

pub(super) fn is_document(name: &str) -> bool {
    matches!(name, LAYOUT | LIST)
}

pub(super) fn is_manifest(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{") && ImageManifest::decode("", bytes).is_ok()
}

/// Every image is there with all its blobs, is the one that its list has for the lockfile's Windows, and the layout
/// lists these images.
pub(super) fn check_images(
    index: &BundleIndex,
    lock: &Lock,
    small: &BTreeMap<String, Vec<u8>>,
    catalog: &Catalog,
) -> Result<(), ProofError> {
    let blobs: BTreeMap<&str, u64> = index
        .files
        .iter()
        .filter_map(|file| Some((file.path.strip_prefix(BLOBS)?, file.size)))
        .collect();
    let mut used = BTreeSet::new();
    let mut listed = Vec::new();
    for image in &index.images {
        let absent = |digest: &str| {
            ProofError::new(
                Code::IMAGE_BLOB_ABSENT,
                format!("{}: {digest} is not there", image.name),
            )
        };
        let asked = image
            .name
            .rsplit_once('@')
            .map(|(_, digest)| digest)
            .unwrap_or_default();
        let list = small
            .get(&format!("{BLOBS}{}", hex(asked)?))
            .ok_or_else(|| absent(asked))?;
        let (fitting, os_version) = match ImageManifest::decode(&image.name, list)? {
            ImageManifest::List(manifests) => {
                let fitting = choose_manifest(&image.name, &manifests, find_build(lock, catalog)?)?;
                (fitting.digest.clone(), fitting.os_version())
            }
            ImageManifest::Image { .. } => (asked.to_owned(), None),
        };
        if (&image.manifest, &image.os_version) != (&fitting, &os_version) {
            return Err(manifest_error(format!(
                "{}: {} is not its manifest for the Windows release of the lockfile",
                image.name, image.manifest
            )));
        }
        used.insert(hex(asked)?.to_owned());
        used.insert(hex(&image.manifest)?.to_owned());
        let manifest = small
            .get(&format!("{BLOBS}{}", hex(&image.manifest)?))
            .ok_or_else(|| absent(&image.manifest))?;
        let ImageManifest::Image { config, layers } = ImageManifest::decode(&image.name, manifest)?
        else {
            return Err(manifest_error(format!(
                "{}: {} is a nested index, which is not supported",
                image.name, image.manifest
            )));
        };
        for blob in std::iter::once(&config).chain(&layers) {
            if blobs.get(blob.hex()?) != Some(&blob.size) {
                return Err(absent(&blob.digest));
            }
            used.insert(blob.hex()?.to_owned());
        }
        listed.push((image, manifest.len()));
    }
    if let Some(extra) = blobs.keys().find(|blob| !used.contains(**blob)) {
        return Err(manifest_error(format!(
            "the blob {extra} belongs to no image"
        )));
    }
    check_layout(&listed, small)
}

fn find_build(lock: &Lock, catalog: &Catalog) -> Result<u32, ProofError> {
    let release = lock.selection.windows.as_deref().unwrap_or_default();
    let found = catalog.load_windows_release(release);
    let release =
        found.map_err(|error| ProofError::new(Code::IMAGE_PLATFORM, error.to_string()))?;
    Ok(release.build)
}

/// Every image of the lock is there, or is one that nobody asked for and that the index names as left out.
pub(super) fn check_locked_images(index: &BundleIndex, lock: &Lock) -> Result<(), ProofError> {
    let refuse = |name: &str, why: &str| {
        let message = format!("{name}: {why}");
        Err(ProofError::new(Code::BUNDLE_IMAGE_ABSENT, message))
    };
    let mut carried = BTreeSet::new();
    for IndexedImage { name, .. } in &index.images {
        let is_reference = name.parse::<ImageReference>().is_ok();
        if !is_reference || !carried.insert(name.as_str()) {
            let message = format!("{name}: the index has it twice, or it is no name of an image");
            return Err(ProofError::new(Code::BUNDLE_IMAGE_NAME, message));
        }
    }
    check_image_names(lock, list_extra_images(index, lock))?;
    let mut omitted = BTreeSet::new();
    for name in &index.omitted {
        if !lock.images.contains(name) || carried.contains(name.as_str()) || !omitted.insert(name) {
            return refuse(
                name,
                "the index says that it was left out, which it was not",
            );
        }
    }

    for name in &lock.images {
        if carried.contains(name.as_str()) {
            continue;
        }
        if !omitted.contains(name) {
            return refuse(name, "it is an image of the lockfile and not in the bundle");
        }
        if is_selected_image(&lock.selection, &lock.tagged_images, name) {
            return refuse(name, "the selection names it, so it cannot be left out");
        }
    }
    Ok(())
}

/// Images of a bundle that its lockfile does not name.
pub fn list_extra_images<'a>(
    index: &'a BundleIndex,
    lock: &'a Lock,
) -> impl Iterator<Item = &'a str> {
    let names = index.images.iter().map(|image| image.name.as_str());
    names.filter(|name| !lock.images.iter().any(|locked| locked == *name))
}

/// A node asks for an image by its name and tag, so that no image beside those of the lockfile may have those of
/// another one.
pub(super) fn check_image_names<'a>(
    lock: &'a Lock,
    extra: impl Iterator<Item = &'a str>,
) -> Result<(), ProofError> {
    let name_for_node = |image: &str| complete_image(choose_name(image), true);
    let mut named = BTreeMap::new();
    for image in &lock.images {
        named.insert(name_for_node(image), image.as_str());
    }
    for image in extra {
        if let Some(other) = named.insert(name_for_node(image), image)
            && other != image
        {
            let message = format!("{image} and {other} would be one image to a node");
            return Err(ProofError::new(Code::BUNDLE_IMAGE_NAME, message));
        }
    }
    Ok(())
}

/// The layout is the one that this program writes: a node imports each image under the name that it says there.
fn check_layout(
    images: &[(&IndexedImage, usize)],
    small: &BTreeMap<String, Vec<u8>>,
) -> Result<(), ProofError> {
    let read = |path: &str| {
        let bytes = small.get(path).map(Vec::as_slice).unwrap_or_default();
        text::parse_foreign::<Value>(bytes).unwrap_or_default()
    };
    let found = read(LIST);
    let entries = images.iter().enumerate().map(|(at, (image, size))| {
        let media_type = found["manifests"][at]["mediaType"].as_str();
        list_entry(
            &image.name,
            media_type.unwrap_or_default(),
            &image.manifest,
            *size as u64,
        )
    });
    let expected = format_list(&entries.collect::<Vec<_>>());
    if images.is_empty() && found.is_null() {
        return Ok(());
    }
    if found == expected && read(LAYOUT) == format_version() {
        return Ok(());
    }
    Err(manifest_error(
        "the layout lists other images than the bundle's index".to_owned(),
    ))
}

fn list_entry(image: &str, media_type: &str, digest: &str, size: u64) -> Value {
    let name = choose_name(image);
    json!({
        "mediaType": media_type,
        "digest": digest,
        "size": size,
        "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name},
    })
}

fn format_list(manifests: &[Value]) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    })
}

fn format_version() -> Value {
    json!({"imageLayoutVersion": "1.0.0"})
}
