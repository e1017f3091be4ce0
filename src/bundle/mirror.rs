//! A bundle's files laid out as a mirror has them: any web server that serves the folder answers the URLs that
//! `--mirror` asks for.

use std::collections::BTreeMap;
use std::path::Path;

use super::read::{proof_error, read_objects};
use super::{BundleError, BundleIndex, OBJECTS, OpenedBundle, list_artifact_urls};
use crate::base::code::Code;
use crate::base::digest::Digester;
use crate::base::stream::{Tee, copy_pieces};
use crate::base::url::{decode_path, strip_secrets};
use crate::base::value::PinAlgorithm;
use crate::io::fs::{self, FileError};
use crate::lock::Lock;
use crate::model::mirrors::find_mirror_path;
use crate::verify::ProofError;
use crate::verify::archive::check_names;

/// Places of a bundle's files in a mirror.
#[derive(Debug)]
pub struct Mirrored {
    /// Path below the folder → SHA-256.
    pub files: BTreeMap<String, String>,
    /// Components that no mirror is asked for: they have an address of their own.
    pub elsewhere: Vec<String>,
}

/// Lays the artifacts, checksum files and signatures of a checked bundle out below a folder. What lies there already and is none of them stays.
///
/// # Errors
/// The bundle changed since; a URL makes no path, or two make one; the folder cannot be written.
pub fn extract_mirror(
    file: &Path,
    folder: &Path,
    opened: &OpenedBundle,
) -> Result<Mirrored, BundleError> {
    let (files, elsewhere) =
        plan_layout(&opened.lock, &opened.index).map_err(|error| proof_error(file, error))?;
    if files.is_empty() {
        return Err(BundleError::NoMirror {
            file: file.display().to_string(),
            elsewhere,
        });
    }
    for (path, digest) in &files {
        let path = folder.join(path);
        // Bytes of another release, or of somebody else, are not taken away from those who are served.
        if path.exists() && fs::digest_file(&path)?.sha256 != *digest {
            let message = format!("{} already exists with other bytes", path.display());
            return Err(proof_error(
                file,
                ProofError::new(Code::MIRROR_OCCUPIED, message),
            ));
        }
    }
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, digest) in &files {
        places.entry(digest).or_default().push(path);
    }
    read_objects(file, &opened.index, &[OBJECTS], &mut |digest, content| {
        let Some((first, others)) = places.get(digest).and_then(|paths| paths.split_first()) else {
            return Ok(true);
        };
        if !write_verified(folder, first, digest, content)? {
            return Ok(false);
        }
        for other in others {
            let mut copy = fs::open_file(&folder.join(first))?;
            if !write_verified(folder, other, digest, &mut copy)? {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    Ok(Mirrored { files, elsewhere })
}

/// Writes a file of a mirror whose digest is known. False if the digest differs.
fn write_verified(
    folder: &Path,
    path: &str,
    digest: &str,
    content: &mut dyn std::io::Read,
) -> Result<bool, BundleError> {
    enum Failure {
        Changed,
        File(FileError),
    }
    impl From<FileError> for Failure {
        fn from(error: FileError) -> Self {
            Self::File(error)
        }
    }
    let written = fs::write_below(folder, path, |output| {
        let mut hash = Digester::new(PinAlgorithm::Sha256);
        copy_pieces(content, &mut Tee(&mut hash, output))
            .map_err(fs::file_error("writing", &folder.join(path)))?;
        if hash.finish() == digest {
            Ok(())
        } else {
            Err(Failure::Changed)
        }
    });
    match written {
        Ok(()) => Ok(true),
        Err(Failure::Changed) => Ok(false),
        Err(Failure::File(error)) => Err(error.into()),
    }
}

type MirrorLayout = (BTreeMap<String, String>, Vec<String>);

fn plan_layout(lock: &Lock, index: &BundleIndex) -> Result<MirrorLayout, ProofError> {
    let overrides = &lock.selection.overrides;
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    let mut add = |url: &str| -> Result<bool, ProofError> {
        let place = url.parse().ok().as_ref().and_then(find_mirror_path);
        let (Some(digest), Some(place)) = (index.origins.get(url), place) else {
            return Ok(false);
        };
        let path = decode_path(&place).ok_or_else(|| {
            ProofError::new(
                Code::MIRROR_PATH,
                format!("{} has no safe path in a mirror", strip_secrets(url)),
            )
        })?;
        match files.insert(path, digest.clone()) {
            Some(other) if other != *digest => {
                let message = format!(
                    "{} and another URL have the same path, but different bytes",
                    strip_secrets(url)
                );
                Err(ProofError::new(Code::MIRROR_COLLISION, message))
            }
            _ => Ok(true),
        }
    };
    for artifact in &lock.artifacts {
        // An address that was given for this very component is asked as it is.
        let own = overrides
            .get(artifact.component.as_str())
            .is_some_and(|over| over.url.is_some());
        if own || !add(artifact.url.public_url())? {
            elsewhere.push(artifact.component.to_string());
            continue;
        }
        for url in list_artifact_urls(artifact).into_iter().skip(1) {
            add(url)?;
        }
    }
    for file in lock.selection.user_files() {
        add(file.url.public_url())?;
    }
    for tool in &index.tools {
        let own = overrides.get(&tool.component);
        if own.is_some_and(|over| over.url.is_some()) {
            elsewhere.push(tool.component.clone());
            continue;
        }
        for url in &tool.urls {
            add(url)?;
        }
    }
    elsewhere.dedup();
    check_names(files.keys().map(String::as_str))?;
    Ok((files, elsewhere))
}

/// Why a bundle cannot be laid out as a mirror: found where it is written, so that nobody learns it behind the air gap.
///
/// # Errors
/// As [`extract_mirror`].
pub fn check_layout(lock: &Lock, index: &BundleIndex) -> Result<(), ProofError> {
    plan_layout(lock, index).map(drop)
}
