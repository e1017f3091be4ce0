//! Writing a bundle: sorted, without times, whole or not at all.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use zip::ZipWriter;

use super::output::ArchiveOutput;
use super::{BundleError, BundleIndex, INDEX, IndexedFile};
use crate::base::code::Code;
use crate::base::digest::{Digester, sha256_hex};
use crate::base::json;
use crate::base::stream::{Tee, copy_pieces};
use crate::base::value::PinAlgorithm;
use crate::fetch::FetchedArtifact;
use crate::io::fs;
use crate::lock::LOCK_FILE;
use crate::verify::ProofError;
use crate::verify::archive::own_options;

/// A file of the bundle.
#[derive(Debug, Clone)]
pub struct ArchivePart {
    pub path: String,
    pub content: Content,
}

#[derive(Debug, Clone)]
pub enum Content {
    Bytes(Vec<u8>),
    /// A file on the disk, with the digest it must have.
    File {
        path: PathBuf,
        sha256: String,
        size: u64,
    },
}

impl ArchivePart {
    /// A file of the store.
    pub fn from_fetched(path: String, file: &FetchedArtifact) -> Self {
        let sha256 = file.sha256().to_owned();
        Self {
            path,
            content: Content::File {
                path: file.path().to_owned(),
                sha256,
                size: file.size(),
            },
        }
    }

    fn size(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File { size, .. } => *size,
        }
    }

    fn to_indexed(&self) -> IndexedFile {
        let sha256 = match &self.content {
            Content::Bytes(bytes) => sha256_hex(bytes),
            Content::File { sha256, .. } => sha256.clone(),
        };
        IndexedFile {
            path: self.path.clone(),
            sha256,
            size: self.size(),
        }
    }
}

/// Writes a bundle; parts of the same path are one.
///
/// # Errors
/// A file is not what its digest says, or the bundle cannot be written.
pub fn create_bundle(
    file: &Path,
    mut parts: Vec<ArchivePart>,
    index: BundleIndex,
) -> Result<BundleIndex, BundleError> {
    // The lock first: who reads from the front then knows what is to come.
    parts.sort_by(|one, other| {
        (one.path != LOCK_FILE, &one.path).cmp(&(other.path != LOCK_FILE, &other.path))
    });
    parts.dedup_by(|one, other| one.path == other.path);
    let index = BundleIndex {
        files: parts.iter().map(ArchivePart::to_indexed).collect(),
        ..index
    };
    let head = ArchivePart {
        path: INDEX.to_owned(),
        content: Content::Bytes(json::format_json(&index).into_bytes()),
    };
    write_zip(file, std::iter::once(&head).chain(&parts))?;
    Ok(index)
}

/// Files into a zip, in this order: the same bytes for the same files.
///
/// # Errors
/// A file is not what its digest says, or the zip cannot be written.
pub fn write_zip<'a>(
    file: &Path,
    parts: impl IntoIterator<Item = &'a ArchivePart>,
) -> Result<(), BundleError> {
    fs::write_with(file, |output| {
        let mut output = ArchiveOutput {
            file: output,
            refusal: None,
        };
        let written = write_parts(&mut output, parts, file);
        match output.refusal {
            Some(refusal) => Err(fs::file_error("writing", file)(refusal).into()),
            None => written,
        }
    })
}

fn write_parts<'a>(
    output: &mut ArchiveOutput<'_>,
    parts: impl IntoIterator<Item = &'a ArchivePart>,
    file: &Path,
) -> Result<(), BundleError> {
    let mut zip = ZipWriter::new(BufWriter::with_capacity(1 << 18, output));
    for part in parts {
        write_part(&mut zip, part, file)?;
    }
    let mut output = zip.finish().map_err(|error| write_error(file, &error))?;
    output.flush().map_err(|error| write_error(file, &error))
}

type ArchiveWriter<'a, 'b> = ZipWriter<BufWriter<&'b mut ArchiveOutput<'a>>>;

fn write_error(file: &Path, error: &dyn std::fmt::Display) -> BundleError {
    BundleError::Write {
        file: file.display().to_string(),
        reason: error.to_string(),
    }
}

fn write_part(
    zip: &mut ArchiveWriter<'_, '_>,
    part: &ArchivePart,
    file: &Path,
) -> Result<(), BundleError> {
    zip.start_file(part.path.as_str(), own_options(part.size()))
        .map_err(|error| write_error(file, &error))?;
    match &part.content {
        Content::Bytes(bytes) => zip
            .write_all(bytes)
            .map_err(|error| write_error(file, &error)),
        Content::File { path, sha256, size } => copy_file(zip, path, sha256, *size),
    }
}

/// A file of the store is hashed while it is copied: the disk may have changed it since.
fn copy_file(
    zip: &mut ArchiveWriter<'_, '_>,
    path: &Path,
    sha256: &str,
    size: u64,
) -> Result<(), BundleError> {
    let source = fs::open_file(path)?;
    let mut hash = Digester::new(PinAlgorithm::Sha256);
    let copied =
        copy_pieces(source, &mut Tee(&mut hash, zip)).map_err(fs::file_error("reading", path))?;
    let found = hash.finish();
    if found == sha256 && copied == size {
        return Ok(());
    }
    let message = format!("its digest is {found}, expected {sha256}; run `imagegen store verify`");
    let error = ProofError::new(Code::BUNDLE_OBJECT_DAMAGED, message);
    Err(BundleError::Proof {
        file: path.display().to_string(),
        error,
    })
}
