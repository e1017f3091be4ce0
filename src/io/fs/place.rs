//! Directories that imagegen keeps as it renders them. It replaces and removes what it wrote and nobody changed
//! since, which a list of digests in the directory tells, and leaves the user's values for Packer alone.
//!
//! A run may be killed at any moment. The list then has the digests of both runs, so that the next one knows every file,
//! and there is no `build.pkr.hcl`, without which Packer builds nothing: it goes first and comes last.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::folder::{Folder, Kind};
use super::write::{is_leftover, remove_leftovers, split_path, temporary_prefix};
use super::{DigestSet, FileError, LARGEST_READ, PlaceClaim, digest_stream, file_error};
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::diagnostic::{Classify, ErrorClass, Location};

/// Lists the files that imagegen wrote, in the form that `sha256sum -c` reads.
pub(super) const WRITTEN: &str = ".imagegen.sha256";

/// A folder of a directory that is never touched: the records of builds.
pub const BUILDS: &str = "builds";

/// The file without which Packer refuses a folder: "Missing build block".
const BUILD: &str = "build.pkr.hcl";

/// Temporary files of a directory lie in it, under this name.
const TEMPORARY: &str = "imagegen";

/// Path → SHA-256 of what earlier calls wrote: of several if one of them was killed.
type Written = BTreeMap<String, BTreeSet<String>>;

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

/// Writes files with their digests into a directory, and removes what earlier calls wrote there besides.
///
/// The directory may contain unchanged files of earlier calls, files with a name of `traces`, with `force` files
/// with a name of `results`, and the user's own values for Packer and the folder [`BUILDS`], which are kept. Other files
/// are refused before anything is written.
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
    let (parent, _) = split_path(path)?;
    let place = Folder::open(parent).map_err(file_error("creating", path))?;
    let folder = if let Some(folder) = open_old(&place, path)? {
        folder
    } else {
        let name = path.file_name().unwrap_or_default();
        let created = place.create_folder(name);
        let opened = created.and_then(|()| place.open_folder(name));
        opened.map_err(file_error("creating", path))?
    };
    let replaceable = if force {
        [traces, results].concat()
    } else {
        traces.to_vec()
    };
    // Leftovers of other processes are no reason not to write.
    let _ = remove_leftovers(&folder, TEMPORARY);
    let found = judge_entries(path, &folder, digests, &replaceable, results)?;
    for step in plan_steps(files, digests, &found) {
        step.run(&folder)
            .map_err(|(name, error)| file_error("writing", &path.join(name))(error))?;
    }
    Ok(())
}

/// Entries of a directory that may be replaced.
#[derive(Default)]
struct JudgedEntries {
    written: Written,
    /// Files that have the bytes of this call.
    same: BTreeSet<String>,
    removed: Vec<String>,
    folders: Vec<String>,
}

/// A change of a directory. After each of them, a process may be killed.
enum PlaceStep<'a> {
    Remove(&'a str),
    /// An empty folder; one with something in it stays.
    RemoveFolder(&'a str),
    Write(Vec<(&'a str, &'a [u8])>),
    WriteList(String),
}

/// A process has few open files.
const MOST_OPEN: usize = 128;

fn plan_steps<'a>(
    files: &'a BTreeMap<String, Vec<u8>>,
    digests: &'a BTreeMap<String, String>,
    found: &'a JudgedEntries,
) -> Vec<PlaceStep<'a>> {
    let mut both = found.written.clone();
    for (name, digest) in digests {
        both.entry(name.clone()).or_default().insert(digest.clone());
    }
    let mut steps = vec![
        PlaceStep::Remove(BUILD),
        PlaceStep::WriteList(format_list(&both)),
    ];
    steps.extend(found.removed.iter().map(|name| PlaceStep::Remove(name)));
    let folders = found.folders.iter().rev();
    steps.extend(folders.map(|name| PlaceStep::RemoveFolder(name)));

    let open = |name: &str| name != BUILD && !found.same.contains(name);
    let files = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    let (open, last): (Vec<_>, Vec<_>) = files.partition(|(name, _)| open(name));
    steps.extend(
        open.chunks(MOST_OPEN)
            .map(|some| PlaceStep::Write(some.to_vec())),
    );
    let build = last.into_iter().filter(|(name, _)| *name == BUILD);
    steps.push(PlaceStep::Write(build.collect()));

    let own = digests.iter();
    let own = own.map(|(name, digest)| (name.clone(), BTreeSet::from([digest.clone()])));
    steps.push(PlaceStep::WriteList(format_list(&own.collect())));
    steps
}

type StepResult = Result<(), (String, io::Error)>;

impl PlaceStep<'_> {
    fn run(&self, folder: &Folder) -> StepResult {
        match self {
            Self::Remove(name) => folder.remove_below(name).map_err(name_error(name)),
            Self::RemoveFolder(name) => {
                let _ = folder.remove_folder_below(name);
                Ok(())
            }
            Self::Write(files) => write_files(folder, files),
            Self::WriteList(list) => write_files(folder, &[(WRITTEN, list.as_bytes())]),
        }
    }
}

fn name_error(name: &str) -> impl FnOnce(io::Error) -> (String, io::Error) {
    let name = name.to_owned();
    |error| (name, error)
}

/// Together: the first file makes the file system write what the others need too.
fn write_files(folder: &Folder, files: &[(&str, &[u8])]) -> StepResult {
    let mut open = Vec::new();
    for (name, bytes) in files {
        let created = folder.create_temporary(&temporary_prefix(TEMPORARY), 0o666);
        let written = created.and_then(|mut temporary| {
            temporary.file.write_all(bytes)?;
            Ok(temporary)
        });
        open.push((name, written.map_err(name_error(name))?));
    }
    for (name, temporary) in open {
        let persisted = temporary.file.sync_all();
        let entered = persisted.and_then(|()| folder.enter_parent(name));
        let persisted =
            entered.and_then(|(parent, own)| temporary.persist_in(&parent, OsStr::new(&own)));
        persisted.map_err(name_error(name))?;
    }
    Ok(())
}

/// The refusals of [`place_digested_directory`] for what lies in the place, but not for a result.
///
/// # Errors
/// The place is taken, or cannot be read.
pub fn check_directory(
    claim: &PlaceClaim,
    digests: &BTreeMap<String, String>,
    traces: &[&str],
    results: &[&str],
) -> Result<(), PlaceError> {
    let path = claim.path();
    let (parent, _) = split_path(path)?;
    let place = Folder::open(parent).map_err(file_error("creating", path))?;
    if let Some(old) = open_old(&place, path)? {
        judge_entries(path, &old, digests, &[traces, results].concat(), results)?;
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

/// Entries that this call may replace; an error for one that may be neither kept nor removed.
fn judge_entries(
    path: &Path,
    folder: &Folder,
    digests: &BTreeMap<String, String>,
    replaceable: &[&str],
    results: &[&str],
) -> Result<JudgedEntries, PlaceError> {
    let written = parse_written(&read_list(folder).map_err(file_error("reading", path))?);
    let parents = collect_parent_folders(written.keys().chain(digests.keys()));
    // What lies in a folder of somebody else's is not looked at.
    let entries = folder
        .list_tree(&|name| parents.contains(name))
        .map_err(file_error("reading", path))?;

    let mut judged = JudgedEntries::default();
    for (found, kind) in entries {
        let path = path.to_owned();
        if kind == Kind::Folder && found == BUILDS || found == WRITTEN || is_temporary(&found) {
        } else if kind == Kind::Folder {
            if !parents.contains(&found) {
                return Err(PlaceError::Foreign { path, found });
            }
            judged.folders.push(found);
        } else if replaceable.contains(&found.as_str()) {
            judged.removed.push(found);
        } else if results.contains(&found.as_str()) {
            return Err(PlaceError::Result { path, found });
        } else if let Some(known) = written.get(&found) {
            if kind != Kind::File {
                return Err(PlaceError::Changed { path, found });
            }
            let digest = read_digest(&path, folder, &found)?;
            match digests.get(&found) {
                _ if !known.contains(&digest) => {
                    return Err(PlaceError::Changed { path, found });
                }
                Some(own) if *own == digest => {
                    judged.same.insert(found);
                }
                Some(_) => {}
                None => judged.removed.push(found),
            }
        } else if kind != Kind::File || !is_user_values(&found) || digests.contains_key(&found) {
            return Err(PlaceError::Foreign { path, found });
        }
    }
    judged.written = written;
    Ok(judged)
}

/// Whether a file is one that another run left: it is swept once nobody can write it any more.
fn is_temporary(name: &str) -> bool {
    is_leftover(OsStr::new(name), &format!(".{TEMPORARY}."))
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

fn parse_written(list: &[u8]) -> Written {
    let mut written = Written::new();
    for line in String::from_utf8_lossy(list).lines() {
        if let Some((digest, name)) = line.split_once("  ") {
            let known = written.entry(name.to_owned()).or_default();
            known.insert(digest.to_owned());
        }
    }
    written
}

fn format_list(written: &Written) -> String {
    let lines = written.iter().flat_map(|(name, known)| {
        known
            .iter()
            .map(move |digest| format!("{digest}  {name}\n"))
    });
    lines.collect()
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn list_files(content: &str, names: &[&str]) -> BTreeMap<String, Vec<u8>> {
        let names = names.iter().map(|name| (*name).to_owned());
        names.map(|name| (name, content.into())).collect()
    }

    /// After each change of the second run the process is killed.
    #[test]
    fn a_run_that_was_killed_builds_nothing_and_the_next_one_completes_it() {
        let one = list_files("1", &["a/b", "build.pkr.hcl", "c", "gone/x"]);
        let two = list_files("2", &["a/b", "build.pkr.hcl", "c/d", "gone"]);
        let three = list_files("3", &["a/b", "build.pkr.hcl", "c"]);
        let place = |path: &Path, files| place_directory(path, files, &[], &[], false).unwrap();
        let reads = |path: &Path, files: &BTreeMap<String, Vec<u8>>| {
            files
                .iter()
                .all(|(name, bytes)| fs::read(path.join(name)).is_ok_and(|found| found == *bytes))
        };
        for (next, absent) in [(&two, "none"), (&three, "gone"), (&one, "c/d")] {
            let mut killed = 0;
            loop {
                let above = tempfile::tempdir().unwrap();
                let path = above.path().join("out");
                let digests = place(&above.path().join("digests"), &two);
                place(&path, &one);
                let folder = Folder::open(&path).unwrap();
                let found = judge_entries(&path, &folder, &digests, &[], &[]).unwrap();
                let steps = plan_steps(&two, &digests, &found);
                for step in &steps[..killed] {
                    step.run(&folder).unwrap();
                }
                let builds = path.join(BUILD).exists();
                assert!(!builds || killed == 0 || reads(&path, &two), "{killed}");

                place(&path, next);
                assert!(reads(&path, next), "{killed}");
                assert!(!path.join(absent).exists(), "{killed}");
                if killed == steps.len() {
                    break;
                }
                killed += 1;
            }
            assert!(killed > 6, "{killed}");
        }
    }
}
