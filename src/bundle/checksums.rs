//! Checksum files that a bundle carries, against the bytes that it carries: whoever made it may have put others there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use super::read::read_objects;
use super::{BundleError, OBJECTS, OpenedBundle, proof_error};
use crate::acquire::SIDECAR;
use crate::base::code::Code;
use crate::base::digest::Digester;
use crate::base::stream::copy_pieces;
use crate::base::value::PinAlgorithm;
use crate::model::component::ChecksumFile;
use crate::model::plan::PlannedArtifact;
use crate::verify::{ProofError, checksums};

/// A declared checksum file that is in the bundle.
struct CarriedSums<'a> {
    artifact: &'a PlannedArtifact,
    file: &'a ChecksumFile,
    /// Name of the object that it is.
    object: &'a str,
    /// Name of the object that it is about.
    subject: &'a str,
}

impl CarriedSums<'_> {
    fn read_stated(&self, bytes: &[u8]) -> Result<String, ProofError> {
        let url = &self.artifact.url;
        let line = checksums::find_url_line(bytes, url, self.file.algorithm);
        line.map(|line| line.digest)
            .map_err(|error| self.explain(error.code, &error.message))
    }

    /// The digest that the artifact has, as far as no other file of the bundle must be read for it.
    fn find_digest(&self) -> Option<&str> {
        let algorithm = self.file.algorithm;
        if algorithm == PinAlgorithm::Sha256 {
            return Some(self.subject);
        }
        let mut pins = self.artifact.digests.iter();
        let pin = pins.find(|pin| pin.digest.algorithm() == algorithm)?;
        Some(pin.digest.as_str())
    }

    fn explain(&self, code: Code, reason: &str) -> ProofError {
        let url = crate::base::url::strip_secrets(self.file.url.public_url());
        ProofError::new(code, format!("{}: {url}: {reason}", self.artifact.title()))
    }
}

/// Compares every checksum file that a bundle carries with the artifact that it is about.
///
/// # Errors
/// A checksum file states another digest or none, or the bundle changed since.
pub(super) fn compare_checksums(file: &Path, opened: &OpenedBundle) -> Result<(), BundleError> {
    let carried = list_carried(opened);
    if carried.is_empty() {
        return Ok(());
    }

    let mut stated: Vec<(&CarriedSums<'_>, String)> = Vec::new();
    let objects = carried.iter().map(|sums| sums.object).collect();
    read_named(file, opened, &objects, &mut |object, content| {
        let bytes = read_sums(object, content)?;
        for sums in carried.iter().filter(|sums| sums.object == object) {
            stated.push((sums, sums.read_stated(&bytes)?));
        }
        Ok(())
    })?;

    let open = carried.iter().filter(|sums| sums.find_digest().is_none());
    let mut sha512: BTreeMap<String, String> = BTreeMap::new();
    let subjects = open.map(|sums| sums.subject).collect();
    read_named(file, opened, &subjects, &mut |object, content| {
        let mut hash = Digester::new(PinAlgorithm::Sha512);
        copy_pieces(content, &mut hash).map_err(|error| unreadable_error(object, &error))?;
        sha512.insert(object.to_owned(), hash.finish());
        Ok(())
    })?;

    for (sums, digest) in &stated {
        let found = sums
            .find_digest()
            .or_else(|| sha512.get(sums.subject).map(String::as_str));
        if found != Some(digest.as_str()) {
            let found = found.unwrap_or_default();
            let reason =
                format!("this checksum file of the bundle states {digest}, the file has {found}");
            let error = sums.explain(Code::CHECKSUM_MISMATCH, &reason);
            return Err(proof_error(file, error));
        }
    }
    Ok(())
}

fn list_carried(opened: &OpenedBundle) -> Vec<CarriedSums<'_>> {
    let mut carried = Vec::new();
    for artifact in &opened.lock.artifacts {
        let Some(subject) = opened.objects.get(&artifact.title()) else {
            continue;
        };
        for file in &artifact.checksums {
            if let Some(object) = opened.index.origins.get(file.url.public_url()) {
                carried.push(CarriedSums {
                    artifact,
                    file,
                    object,
                    subject,
                });
            }
        }
    }
    carried
}

/// Takes an object by its name.
type TakeObject<'a> = dyn FnMut(&str, &mut dyn Read) -> Result<(), ProofError> + 'a;

/// Reads some objects of a checked bundle.
fn read_named(
    file: &Path,
    opened: &OpenedBundle,
    objects: &BTreeSet<&str>,
    take: &mut TakeObject<'_>,
) -> Result<(), BundleError> {
    if objects.is_empty() {
        return Ok(());
    }
    let paths = objects.iter().map(|object| format!("{OBJECTS}{object}"));
    let paths: Vec<String> = paths.collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    read_objects(file, &opened.index, &paths, &mut |object, content| {
        take(object, content).map_err(|error| proof_error(file, error))?;
        Ok(true)
    })
}

fn read_sums(object: &str, content: &mut dyn Read) -> Result<Vec<u8>, ProofError> {
    let mut bytes = Vec::new();
    let read = content.take(SIDECAR + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable_error(object, &error))?;
    if bytes.len() as u64 > SIDECAR {
        let limit = SIDECAR >> 20;
        let message = format!("`{OBJECTS}{object}`: a checksum file has more than {limit} MiB");
        return Err(ProofError::new(Code::BUNDLE_SIZE, message));
    }
    Ok(bytes)
}

fn unreadable_error(object: &str, error: &std::io::Error) -> ProofError {
    let message = format!("`{OBJECTS}{object}`: {error}");
    ProofError::new(Code::BUNDLE_UNREADABLE, message)
}
