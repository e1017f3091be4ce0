//! Reading a bundle: every byte against the index, the index against the lock.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use super::tools::check_tools;
use super::{BLOBS, BundleError, BundleIndex, INDEX, OBJECTS, SCHEMA, SCRIPTS};
use super::{collect_urls, images};
use crate::acquire::carried_name;
use crate::base::code::Code;
use crate::base::digest::Digester;
use crate::base::json;
use crate::base::stream::copy_pieces;
use crate::base::text::last_segment;
use crate::base::value::{FileDigest, ImageReference, PinAlgorithm};
use crate::catalog::Catalog;
use crate::io::fs;
use crate::io::store::Store;
use crate::lock::{LOCK_FILE, Lock};
use crate::verify::ProofError;
use crate::verify::archive::{Limits, MemberDigest, WantedMembers, read_members, read_own_members};
use crate::windows::resource::ArchiveFormat;

/// A bundle holds whole releases of Windows images.
const LIMITS: Limits = Limits {
    entries: 100_000,
    entry: 64 << 30,
    total: 512 << 30,
    ratio: 250,
};

/// Index, lock and evidence; nothing of them is larger.
const LARGEST_DOCUMENT: u64 = fs::LARGEST_TEXT;

/// Everything that is kept in memory: these documents, guest scripts and image manifests.
const LARGEST_KEPT: u64 = 24 << 20;

/// A bundle in which everything is as index and lock say.
#[derive(Debug)]
pub struct OpenedBundle {
    pub index: BundleIndex,
    pub lock: Lock,
    /// Guest scripts, by path.
    pub scripts: BTreeMap<String, Vec<u8>>,
}

/// Checks a whole bundle.
///
/// # Errors
/// The first thing that is not as it must be.
pub fn verify_bundle(file: &Path, catalog: &Catalog) -> Result<OpenedBundle, BundleError> {
    let mut seen = ReadRecord::default();
    let reader = fs::open_file(file)?;
    let read = read_own_members(reader, &LIMITS, &mut |entry, content| {
        seen.add_member(&entry.name, content)
    });
    let checked = read.and_then(|found| seen.check_members(&found, catalog));
    checked.map_err(|error| proof_error(file, error))
}

pub(crate) fn proof_error(file: &Path, error: ProofError) -> BundleError {
    BundleError::Proof {
        file: file.display().to_string(),
        error,
    }
}

/// Puts what a checked bundle carries in some of its folders into a store: [`OBJECTS`], [`BLOBS`].
///
/// # Errors
/// The bundle changed since, or the store cannot be written.
pub fn extract_bundle(
    file: &Path,
    store: &Store,
    opened: &OpenedBundle,
    folders: &[&str],
) -> Result<(), BundleError> {
    read_objects(file, &opened.index, folders, &mut |digest, content| {
        Ok(store.insert_stream(content, digest)?.is_some())
    })?;
    // Whoever carries a bundle does not speak for a publisher's address: what came out of one is known as such.
    for (url, digest) in &opened.index.origins {
        store.record_origin(&carried_name(url), digest)?;
    }
    Ok(())
}

impl OpenedBundle {
    /// Whether it brings a checksum file or a signature of an artifact.
    pub fn carries_proofs(&self) -> bool {
        let origins = &self.index.origins;
        let mut artifacts = self.lock.artifacts.iter();
        artifacts.any(|artifact| {
            let sums = artifact.checksums.iter().map(|file| &file.url);
            let mut urls = sums.chain(artifact.signatures.iter().map(|one| &one.url));
            urls.any(|url| origins.contains_key(url.public_url()))
        })
    }

    /// Container images that its lockfile does not name.
    pub fn list_extra_images(&self) -> impl Iterator<Item = &str> {
        images::list_extra_images(&self.index, &self.lock)
    }

    /// # Errors
    /// The bundle has a container image that neither its lockfile nor the user names.
    pub fn require_images(&self, file: &Path, named: &[ImageReference]) -> Result<(), BundleError> {
        let mut extra = self.list_extra_images();
        let Some(image) = extra.find(|image| !named.iter().any(|name| name == *image)) else {
            return Ok(());
        };
        let message = format!("{image}: the lockfile of `--lock` does not name it");
        Err(proof_error(
            file,
            ProofError::new(Code::BUNDLE_IMAGE_EXTRA, message),
        ))
    }

    /// # Errors
    /// The bundle's lock is not the one that was reviewed.
    pub fn require_lock(&self, file: &Path, reviewed: &Lock) -> Result<(), BundleError> {
        if reviewed.encode() == self.lock.encode() {
            return Ok(());
        }
        let message = "its lockfile differs from the one of `--lock`";
        Err(proof_error(
            file,
            ProofError::new(Code::BUNDLE_LOCK_DIFFERS, message),
        ))
    }
}

/// Takes the bytes of an object by its digest, and says whether they have it.
type Take<'a> = dyn FnMut(&str, &mut dyn Read) -> Result<bool, BundleError> + 'a;

/// Reads the objects of a bundle that was checked: those of its index, all of them and no others, even if another bundle
/// has its name by now.
pub(super) fn read_objects(
    file: &Path,
    index: &BundleIndex,
    folders: &[&str],
    take: &mut Take<'_>,
) -> Result<(), BundleError> {
    let reader = fs::open_file(file)?;
    let mut listed: BTreeSet<&str> = index.files.iter().map(|it| it.path.as_str()).collect();
    listed.retain(|path| folders.iter().any(|folder| path.starts_with(folder)));
    let wanted = WantedMembers::from_globs(folders.iter().map(|folder| format!("{folder}*")));
    let mut failure = None;
    let read = read_members(
        reader,
        ArchiveFormat::Zip,
        &wanted,
        &LIMITS,
        &mut |entry, content| {
            if !listed.remove(entry.name.as_str()) {
                return Err(changed_error(&entry.name));
            }
            let digest = last_segment(&entry.name);
            match take(digest, content) {
                Ok(true) => Ok(()),
                Ok(false) => Err(changed_error(&entry.name)),
                Err(error) => {
                    failure = Some(error);
                    Err(ProofError::new(
                        Code::BUNDLE_EXTRACT,
                        "it cannot be extracted",
                    ))
                }
            }
        },
    );
    let outcome = read.and_then(|_| match listed.first() {
        Some(path) => Err(changed_error(path)),
        None => Ok(()),
    });
    match failure {
        Some(error) => Err(error),
        None => outcome.map_err(|error| proof_error(file, error)),
    }
}

fn changed_error(name: &str) -> ProofError {
    let message = format!("`{name}` changed since the bundle was verified");
    ProofError::new(Code::BUNDLE_DIGEST, message)
}

/// Records of the files, kept while they pass.
#[derive(Default)]
struct ReadRecord {
    small: BTreeMap<String, Vec<u8>>,
    /// SHA-512 of objects, if the lock pins by it: name → digest.
    sha512: BTreeMap<String, String>,
    by_sha512: bool,
    /// Files that run in the guest, by path below `scripts/`.
    scripts: BTreeMap<String, Vec<u8>>,
    /// Bytes that are kept.
    kept: u64,
}

impl ReadRecord {
    fn add_member(&mut self, name: &str, content: &mut dyn Read) -> Result<(), ProofError> {
        let unreadable = |error: std::io::Error| {
            ProofError::new(Code::BUNDLE_UNREADABLE, format!("`{name}`: {error}"))
        };
        if let Some(path) = name.strip_prefix(SCRIPTS) {
            let bytes = self.keep_bytes(name, content, LARGEST_KEPT)?;
            self.scripts.insert(path.to_owned(), bytes);
        } else if matches!(name, INDEX | LOCK_FILE) || images::is_document(name) {
            let bytes = self.keep_bytes(name, content, LARGEST_DOCUMENT)?;
            if name == LOCK_FILE {
                let lock = decode_lock(&bytes)?;
                self.by_sha512 = lock
                    .artifacts
                    .iter()
                    .flat_map(|artifact| &artifact.digests)
                    .any(|pin| matches!(pin.digest, FileDigest::Sha512(_)));
            }
            self.small.insert(name.to_owned(), bytes);
        } else if let Some(digest) = name.strip_prefix(OBJECTS).filter(|_| self.by_sha512) {
            let mut hash = Digester::new(PinAlgorithm::Sha512);
            copy_pieces(content, &mut hash).map_err(unreadable)?;
            self.sha512.insert(hash.finish(), digest.to_owned());
        } else if name.starts_with(BLOBS) {
            // Manifests are small; a layer is not kept.
            let mut bytes = Vec::new();
            content
                .take(images::LARGEST_MANIFEST + 1)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            if bytes.len() as u64 <= images::LARGEST_MANIFEST && images::is_manifest(&bytes) {
                self.count_kept(name, bytes.len())?;
                self.small.insert(name.to_owned(), bytes);
            }
        }
        Ok(())
    }

    fn keep_bytes(
        &mut self,
        name: &str,
        content: &mut dyn Read,
        limit: u64,
    ) -> Result<Vec<u8>, ProofError> {
        let mut bytes = Vec::new();
        let read = content.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| {
            ProofError::new(Code::BUNDLE_UNREADABLE, format!("`{name}`: {error}"))
        })?;
        if bytes.len() as u64 > limit {
            let message = format!("`{name}` is larger than {} MiB", limit >> 20);
            return Err(ProofError::new(Code::BUNDLE_SIZE, message));
        }
        self.count_kept(name, bytes.len())?;
        Ok(bytes)
    }

    /// Counts what stays in memory until the whole bundle is read.
    fn count_kept(&mut self, name: &str, length: usize) -> Result<(), ProofError> {
        self.kept += length as u64;
        if self.kept <= LARGEST_KEPT {
            return Ok(());
        }
        let limit = LARGEST_KEPT >> 20;
        let message =
            format!("`{name}`: documents, scripts and manifests have more than {limit} MiB");
        Err(ProofError::new(Code::BUNDLE_SIZE, message))
    }

    fn check_members(
        self,
        found: &[MemberDigest],
        catalog: &Catalog,
    ) -> Result<OpenedBundle, ProofError> {
        let index = self.parse_index()?;
        let lock = decode_lock(
            self.small
                .get(LOCK_FILE)
                .ok_or_else(|| absent_error(LOCK_FILE))?,
        )?;
        check_files(&index, found)?;
        let named = index.files.iter();
        let objects: BTreeSet<&str> = named
            .filter(|file| file.path.strip_prefix(OBJECTS) == Some(&file.sha256))
            .map(|file| file.sha256.as_str())
            .collect();
        self.check_artifacts(&index, &lock, &objects)?;
        check_tools(&index, &lock, &objects)?;
        check_origins(&index, &lock, &objects)?;
        images::check_images(&index, &lock, &self.small, catalog)?;
        images::check_locked_images(&index, &lock)?;
        self.check_named(&index, &lock)?;
        crate::scripts::check_carried(&self.scripts, &lock.selection.overrides)?;
        Ok(OpenedBundle {
            index,
            lock,
            scripts: self.scripts,
        })
    }

    fn parse_index(&self) -> Result<BundleIndex, ProofError> {
        let bytes = self.small.get(INDEX).ok_or_else(|| absent_error(INDEX))?;
        let index: BundleIndex = json::parse_json(INDEX, bytes)
            .map_err(|error| ProofError::new(Code::BUNDLE_INDEX, error.to_string()))?;
        if index.schema == SCHEMA {
            return Ok(index);
        }
        let message = format!(
            "unsupported schema `{}`; this version reads `{SCHEMA}`",
            index.schema
        );
        Err(ProofError::new(Code::BUNDLE_SCHEMA, message))
    }

    /// Every file of the lock is there, by every digest that pins it.
    fn check_artifacts(
        &self,
        index: &BundleIndex,
        lock: &Lock,
        objects: &BTreeSet<&str>,
    ) -> Result<(), ProofError> {
        for own in lock.selection.user_files() {
            if !objects.contains(own.sha256.as_str()) {
                return Err(missing_error(own.url.public_url(), &own.sha256));
            }
        }
        for artifact in &lock.artifacts {
            let name = artifact.title();
            let origin = index.origins.get(artifact.url.public_url());
            let mut known = origin.map(String::as_str);
            for pin in &artifact.digests {
                let object = self.find_name(&pin.digest);
                let object = object.filter(|object| objects.contains(object));
                let object = object.ok_or_else(|| missing_error(&name, &pin.digest))?;
                if *known.get_or_insert(object) != object {
                    let message = format!("{name}: the index gives its URL to another file");
                    return Err(ProofError::new(Code::BUNDLE_ORIGIN, message));
                }
            }
            if artifact.digests.is_empty() {
                let message = format!("{name}: the lock does not pin it");
                return Err(ProofError::new(Code::BUNDLE_UNPINNED, message));
            }
        }
        Ok(())
    }

    /// The name that an object with this digest has: its SHA-256.
    fn find_name<'a>(&'a self, digest: &'a FileDigest) -> Option<&'a str> {
        match digest {
            FileDigest::Sha256(digest) => Some(digest.as_str()),
            FileDigest::Sha512(digest) => self.sha512.get(digest.as_str()).map(String::as_str),
        }
    }

    /// A bundle brings nothing that neither its lock nor an address of its lock names.
    fn check_named(&self, index: &BundleIndex, lock: &Lock) -> Result<(), ProofError> {
        let mut named: BTreeSet<&str> = index.origins.values().map(String::as_str).collect();
        named.extend(lock.selection.user_files().map(|file| file.sha256.as_str()));
        let pins = lock.artifacts.iter().flat_map(|artifact| &artifact.digests);
        named.extend(pins.filter_map(|pin| self.find_name(&pin.digest)));
        for file in &index.files {
            let path = file.path.as_str();
            let is_known = if let Some(object) = path.strip_prefix(OBJECTS) {
                named.contains(object)
            } else {
                let is_blob = path.strip_prefix(BLOBS) == Some(&file.sha256);
                path == LOCK_FILE
                    || path.starts_with(SCRIPTS)
                    || (is_blob || images::is_document(path)) && !index.images.is_empty()
            };
            if !is_known {
                let message = format!("`{path}`: the lock does not name it");
                return Err(ProofError::new(Code::BUNDLE_FILE_EXTRA, message));
            }
        }
        Ok(())
    }
}

fn decode_lock(bytes: &[u8]) -> Result<Lock, ProofError> {
    Lock::decode(LOCK_FILE, bytes)
        .map_err(|error| ProofError::new(Code::BUNDLE_LOCK, error.to_string()))
}

fn absent_error(name: &str) -> ProofError {
    ProofError::new(
        Code::BUNDLE_FILE_ABSENT,
        format!("`{name}` is not in the bundle"),
    )
}

fn missing_error(name: &str, digest: &dyn std::fmt::Display) -> ProofError {
    let message = format!("{name}: no file has the digest {digest} of the lockfile");
    ProofError::new(Code::BUNDLE_ARTIFACT_ABSENT, message)
}

/// The files are those of the index, neither more nor fewer nor others.
fn check_files(index: &BundleIndex, found: &[MemberDigest]) -> Result<(), ProofError> {
    let mut rest: BTreeMap<&str, &MemberDigest> = BTreeMap::new();
    for file in found {
        rest.insert(&file.name, file);
    }
    rest.remove(INDEX);
    for listed in &index.files {
        let path = listed.path.as_str();
        let file = rest.remove(path).ok_or_else(|| absent_error(path))?;
        if (file.size, &file.sha256) != (listed.size, &listed.sha256) {
            let (found, expected) = (&file.sha256, &listed.sha256);
            let message = format!("`{path}` has the digest {found}, expected {expected}");
            return Err(ProofError::new(Code::BUNDLE_DIGEST, message));
        }
    }
    let Some(name) = rest.into_keys().next() else {
        return Ok(());
    };
    let message = format!("`{name}` is not in the index");
    Err(ProofError::new(Code::BUNDLE_FILE_EXTRA, message))
}

/// A bundle may say where files came from, but only of what its lock names: nobody's URL can be
/// given other bytes by way of a store.
fn check_origins(
    index: &BundleIndex,
    lock: &Lock,
    objects: &BTreeSet<&str>,
) -> Result<(), ProofError> {
    let mut known: BTreeSet<String> = collect_urls(lock).into_iter().collect();
    let tools = index.tools.iter();
    known.extend(tools.flat_map(|tool| tool.urls.iter().cloned()));
    for (url, digest) in &index.origins {
        if !known.contains(url.as_str()) || !objects.contains(digest.as_str()) {
            let url = crate::base::url::strip_secrets(url);
            let message = format!("{url}: the lock does not name it, or its file is not there");
            return Err(ProofError::new(Code::BUNDLE_ORIGIN, message));
        }
    }
    Ok(())
}
