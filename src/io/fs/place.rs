//! Directories that imagegen writes as a whole. It replaces and removes what it wrote and nobody changed
//! since, which a list of digests in the directory tells, and leaves the user's values for Packer alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::folder::{Folder, Kind};
use super::write::{remove_leftovers, split_path, temporary_prefix};
use super::{DigestSet, FileError, LARGEST_READ, PlaceClaim, digest_stream, file_error};
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::diagnostic::{Classify, ErrorClass, Location};

/// Lists the files that imagegen wrote, in the form that `sha256sum -c` reads.
pub(super) const WRITTEN: &str = ".imagegen.sha256";

/// A folder of a directory that stays when the directory is replaced: the records of builds.
pub const BUILDS: &str = "builds";

/// A directory that may not be replaced.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} is not empty: it contains `{found}`, which imagegen did not write", .path.display())]
    Foreign { path: PathBuf, found: String },
    #[error("{}: `{found}` has changed since imagegen wrote it", .path.display())]
    Changed { path: PathBuf, found: String },
    #[error("{} contains the result of a bake (`{found}`)", .path.display())]
    Result { path: PathBuf, found: String },
    #[error("{} is not a directory", .path.display())]
    NotADirectory { path: PathBuf },
    #[error("another imagegen writes {}", .path.display())]
    Busy { path: PathBuf },
    #[error(
        "{} has content, and a lock of imagegen has none: imagegen did not write it",
        .path.display()
    )]
    ForeignLock { path: PathBuf },
}

impl Classify for PlaceError {
    fn remedies(&self) -> Vec<String> {
        vec![match self {
            Self::Foreign { found, .. } | Self::Changed { found, .. } => {
                format!("choose another `--out`, or move `{found}` away: imagegen never removes it")
            }
            Self::Result { .. } => {
                "choose another `--out`, or replace it with `--force`".to_owned()
            }
            Self::NotADirectory { .. } => "choose another `--out`".to_owned(),
            Self::Busy { .. } => {
                "wait until that run has ended, or choose another `--out`".to_owned()
            }
            Self::ForeignLock { path } => format!(
                "choose another `--out`, or move `{}` away: imagegen never removes it",
                path.display()
            ),
            Self::File(_) => return Vec::new(),
        }]
    }

    fn code(&self) -> Code {
        match self {
            Self::File(error) => error.code(),
            Self::Foreign { .. } | Self::ForeignLock { .. } => Code::WORKSPACE_FOREIGN,
            Self::Changed { .. } => Code::WORKSPACE_CHANGED,
            Self::Result { .. } => Code::WORKSPACE_RESULT,
            Self::NotADirectory { .. } => Code::NOT_A_DIRECTORY,
            Self::Busy { .. } => Code::WORKSPACE_BUSY,
        }
    }

    /// A file that cannot be written is the workspace's, too.
    fn class(&self) -> ErrorClass {
        match self {
            Self::File(error) if error.class() == ErrorClass::Interrupted => error.class(),
            _ => ErrorClass::Render,
        }
    }

    fn location(&self) -> Option<Location> {
        let file = match self {
            Self::File(error) => return error.location(),
            Self::Foreign { path, found }
            | Self::Changed { path, found }
            | Self::Result { path, found } => path.join(found),
            Self::NotADirectory { path } | Self::Busy { path } | Self::ForeignLock { path } => {
                path.clone()
            }
        };
        Some(Location::from_file(file.display().to_string()))
    }
}

/// Whether imagegen wrote the directory as a whole.
pub fn is_written(path: &Path) -> bool {
    path.join(WRITTEN).symlink_metadata().is_ok()
}

/// As [`place_digested_directory`]. Returns the digest of each file.
///
/// # Errors
/// The directory contains other files, or cannot be written.
pub fn place_directory(
    path: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    traces: &[&str],
    results: &[&str],
    force: bool,
) -> Result<BTreeMap<String, String>, PlaceError> {
    let digests = files
        .iter()
        .map(|(name, bytes)| (name.clone(), sha256_hex(bytes)))
        .collect();
    let claim = PlaceClaim::take(path)?;
    place_digested_directory(&claim, files, &digests, traces, results, force)?;
    Ok(digests)
}

/// Puts a directory of files with their digests in its place, whole or not at all.
///
/// The directory may contain unchanged files of the last call, files with a name of `traces`, with `force` files
/// with a name of `results`, and the user's own values for Packer and the folder [`BUILDS`], which are kept. Other files
/// are refused.
///
/// # Errors
/// The place is taken, or cannot be written.
pub fn place_digested_directory(
    claim: &PlaceClaim,
    files: &BTreeMap<String, Vec<u8>>,
    digests: &BTreeMap<String, String>,
    traces: &[&str],
    results: &[&str],
    force: bool,
) -> Result<(), PlaceError> {
    let path = claim.path();
    let (parent, name) = split_path(path)?;
    let own_name = path.file_name().unwrap_or_default();

    let place = Folder::open(parent).map_err(file_error("creating", path))?;
    let old = open_old(&place, path)?;
    let replaceable = if force {
        [traces, results].concat()
    } else {
        traces.to_vec()
    };
    let kept = match &old {
        Some(old) => find_kept_files(path, old, files, &replaceable, results)?,
        None => Vec::new(),
    };
    // Leftovers of other processes are no reason not to write.
    if claim.has_leftovers() {
        let _ = remove_leftovers(&place, &name);
    }
    let partial = place
        .create_temporary_folder(&temporary_prefix(&name))
        .map_err(file_error("creating", path))?;
    write_files(path, &partial.folder, files, digests)?;
    let Some(old) = old else {
        let persisted = partial.persist(own_name);
        return Ok(persisted.map_err(file_error("writing", path))?);
    };
    for name in kept {
        copy_file(&old, &partial.folder, &name)
            .map_err(file_error("copying", &path.join(&name)))?;
    }
    let replaced = partial.replace(own_name, &old, BUILDS);
    Ok(replaced.map_err(file_error("replacing", path))?)
}

/// The refusals of [`place_digested_directory`] for what lies in the place, but not for a result.
///
/// # Errors
/// The place is taken, or cannot be read.
pub fn check_directory(
    claim: &PlaceClaim,
    files: &BTreeMap<String, Vec<u8>>,
    traces: &[&str],
    results: &[&str],
) -> Result<(), PlaceError> {
    let path = claim.path();
    let (parent, _) = split_path(path)?;
    let place = Folder::open(parent).map_err(file_error("creating", path))?;
    if let Some(old) = open_old(&place, path)? {
        find_kept_files(path, &old, files, &[traces, results].concat(), results)?;
    }
    Ok(())
}

/// The directory that lies in a place; none where nothing does.
fn open_old(place: &Folder, path: &Path) -> Result<Option<Folder>, PlaceError> {
    let own_name = path.file_name().unwrap_or_default();
    let found = place.find_kind(own_name);
    match found.map_err(file_error("reading", path))? {
        Kind::Folder => {
            let opened = place.open_folder(own_name);
            Ok(Some(opened.map_err(file_error("reading", path))?))
        }
        Kind::Nothing => Ok(None),
        _ => Err(PlaceError::NotADirectory {
            path: path.to_owned(),
        }),
    }
}

/// A copy with the rights of the file.
fn copy_file(from: &Folder, to: &Folder, name: &str) -> io::Result<()> {
    let mut source = from.open_below(name)?;
    let mut copy = to.create_below(name, 0o600)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_permissions(source.metadata()?.permissions())
}

/// Files that are kept; an error where one may be neither kept nor removed.
fn find_kept_files(
    path: &Path,
    folder: &Folder,
    files: &BTreeMap<String, Vec<u8>>,
    replaceable: &[&str],
    results: &[&str],
) -> Result<Vec<String>, PlaceError> {
    let written = parse_written(&read_list(folder).map_err(file_error("reading", path))?);
    let folders = collect_parent_folders(written.keys().chain(files.keys()));
    // What lies in a folder of somebody else's is not looked at.
    let entries = folder
        .list_tree(&|name| folders.contains(name))
        .map_err(file_error("reading", path))?;

    let mut kept = Vec::new();
    for (found, kind) in entries {
        let path = path.to_owned();
        if kind == Kind::Folder && found == BUILDS {
        } else if kind == Kind::Folder {
            if !folders.contains(&found) {
                return Err(PlaceError::Foreign { path, found });
            }
        } else if replaceable.contains(&found.as_str()) || found == WRITTEN {
        } else if results.contains(&found.as_str()) {
            return Err(PlaceError::Result { path, found });
        } else if let Some(digest) = written.get(&found) {
            if kind != Kind::File || read_digest(&path, folder, &found)? != *digest {
                return Err(PlaceError::Changed { path, found });
            }
        } else if kind == Kind::File && is_user_values(&found) && !files.contains_key(&found) {
            kept.push(found);
        } else {
            return Err(PlaceError::Foreign { path, found });
        }
    }
    Ok(kept)
}

fn read_digest(path: &Path, folder: &Folder, name: &str) -> Result<String, FileError> {
    digest_below(folder, name).map_err(file_error("reading", &path.join(name)))
}

/// Packer reads these by itself, and imagegen tells the user to write them.
fn is_user_values(name: &str) -> bool {
    !name.contains('/')
        && (name.ends_with(".auto.pkrvars.json") || name.ends_with(".auto.pkrvars.hcl"))
}

/// Every folder that one of these paths lies in.
fn collect_parent_folders<'a>(paths: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for path in paths {
        folders.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
    }
    folders
}

/// SHA-256 of a file.
fn digest_below(folder: &Folder, name: &str) -> io::Result<String> {
    Ok(digest_stream(
        &mut folder.open_below(name)?,
        DigestSet::Sha256,
        &mut io::sink(),
    )?
    .sha256)
}

/// The list of what the last call wrote; empty where there is none.
fn read_list(folder: &Folder) -> io::Result<Vec<u8>> {
    let mut list = Vec::new();
    if folder.find_kind(OsStr::new(WRITTEN))? == Kind::File {
        folder
            .open_below(WRITTEN)?
            .take(LARGEST_READ)
            .read_to_end(&mut list)?;
    }
    Ok(list)
}

/// Path → SHA-256 of what the last call wrote.
fn parse_written(list: &[u8]) -> BTreeMap<String, String> {
    let list = String::from_utf8_lossy(list);
    let lines = list.lines().filter_map(|line| line.split_once("  "));
    lines
        .map(|(digest, name)| (name.to_owned(), digest.to_owned()))
        .collect()
}

/// Everything below a directory that is no directory, links too, without the list of what imagegen wrote.
///
/// # Errors
/// The directory cannot be read.
pub fn list_entries(root: &Path) -> Result<Vec<String>, FileError> {
    let entries = Folder::open(root).and_then(|folder| folder.list_tree(&|_| true));
    let entries = entries.map_err(file_error("reading", root))?.into_iter();
    Ok(entries
        .filter(|(name, kind)| *kind != Kind::Folder && name != WRITTEN)
        .map(|(name, _)| name)
        .collect())
}

fn write_files(
    path: &Path,
    folder: &Folder,
    files: &BTreeMap<String, Vec<u8>>,
    digests: &BTreeMap<String, String>,
) -> Result<(), FileError> {
    let list = digests
        .iter()
        .map(|(name, digest)| format!("{digest}  {name}\n"))
        .collect::<String>();
    let written = (WRITTEN.to_owned(), list.into_bytes());
    let all: Vec<(&String, &Vec<u8>)> = files.iter().chain([(&written.0, &written.1)]).collect();
    // Together: the first file makes the file system write what the others need too. A process has few open files.
    for some in all.chunks(128) {
        let mut open = Vec::new();
        for (name, bytes) in some {
            let created = folder.create_below(name, 0o666).and_then(|mut file| {
                file.write_all(bytes)?;
                Ok(file)
            });
            open.push((
                name,
                created.map_err(file_error("writing", &path.join(name)))?,
            ));
        }
        for (name, file) in open {
            file.sync_all()
                .map_err(file_error("writing", &path.join(name)))?;
        }
    }
    Ok(())
}
