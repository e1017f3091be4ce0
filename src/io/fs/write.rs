//! The one writer: a temporary file of a random name, created exclusively beside its final place, then
//! a rename. Only regular files are replaced: never a device, a pipe, a folder or a link. The folder is opened once:
//! a link that takes its place in the meantime leads nowhere.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use tempfile::{Builder, NamedTempFile};

use super::folder::{Folder, Kind};
use super::{FileError, file_error, remove_if_exists};
use crate::io::exec;

/// On a file system without locks, what has not changed for this long is not being written.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// Writes a file whole or not at all.
///
/// # Errors
/// The folder cannot be written, or something else than a regular file is there.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_with(path, |file| {
        file.write_all(bytes).map_err(file_error("writing", path))
    })
}

/// The same for what is too large to be held: `fill` writes it.
///
/// # Errors
/// As [`write_file()`], or whatever `fill` says.
pub fn write_with<E: From<FileError>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    write_as(path, 0o666, fill)
}

/// As [`write_file()`], and readable by the owner alone from the first byte on.
///
/// # Errors
/// As [`write_file()`].
pub fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_as(path, 0o600, |file| {
        file.write_all(bytes).map_err(file_error("writing", path))
    })
}

/// As [`write_with()`], for a program. None is started meanwhile: until it is another program, a child holds whatever is
/// open here, and the system runs no file that somebody has open to write (`ETXTBSY`).
///
/// # Errors
/// As [`write_with()`].
pub fn write_program_with<E: From<FileError>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let _nobody_starts = exec::hold_starts();
    write_as(path, 0o777, fill)
}

/// The process's umask takes bits from `mode`.
fn write_as<E: From<FileError>>(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let (parent, name) = split_path(path)?;
    let folder = Folder::open(parent).map_err(file_error("writing", path))?;
    write_in(&folder, &name, path, mode, fill)
}

/// As [`write_with()`], at a path below a folder, with `/` between its parts. The folder itself may be a link; no part
/// below it is followed as one, so that nothing is written elsewhere than below the folder that was named.
///
/// # Errors
/// As [`write_with()`]; a part of the path is a link or no folder.
pub fn write_below<E: From<FileError>>(
    root: &Path,
    path: &str,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let whole = root.join(path);
    fs::create_dir_all(root).map_err(file_error("creating", root))?;
    let entered = Folder::open(root).and_then(|folder| folder.enter_parent(path));
    let (folder, name) = entered.map_err(|error| {
        let error = match error.kind() {
            io::ErrorKind::NotADirectory => {
                io::Error::other("a part of the path is a link or no directory")
            }
            _ => error,
        };
        file_error("writing", &whole)(error)
    })?;
    write_in(&folder, &name, &whole, 0o666, fill)
}

/// Writes a file of a folder that was opened; its path is for messages.
fn write_in<E: From<FileError>>(
    folder: &Folder,
    name: &str,
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let final_name = path.file_name().unwrap_or_default();
    let kind = folder.find_kind(final_name);
    check_kind(path, kind.map_err(file_error("writing", path))?)?;
    // Leftovers of other processes are no reason not to write.
    let _ = remove_leftovers(folder, name);
    let mut temporary = folder
        .create_temporary(&temporary_prefix(name), mode)
        .map_err(file_error("writing", path))?;
    fill(&mut temporary.file)?;
    let synced = temporary.file.sync_all();
    synced
        .and_then(|()| temporary.persist(final_name))
        .map_err(file_error("writing", path))?;
    Ok(())
}

/// Refuses to replace what is no regular file.
fn check_kind(path: &Path, kind: Kind) -> Result<(), FileError> {
    let reason = match kind {
        Kind::Nothing | Kind::File => return Ok(()),
        Kind::Link => "it is a symbolic link: name the file itself",
        Kind::Folder => "it is a directory",
        Kind::Device => "it is a device, pipe or socket, not a regular file",
    };
    Err(file_error("writing", path)(io::Error::other(reason)))
}

/// The folder of a path, made where it is not there, and the path's name.
pub(super) fn split_path(path: &Path) -> Result<(&Path, String), FileError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        // The file that stands in the way is named by the path, and by what it is.
        io::ErrorKind::AlreadyExists => {
            file_error("writing", path)(io::ErrorKind::NotADirectory.into())
        }
        _ => file_error("creating", folder)(error),
    })?;
    Ok((
        folder,
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    ))
}

/// A file that is removed unless it is persisted. Its name says which process writes it.
pub(in crate::io) fn create_temporary(
    folder: &Path,
    name: &str,
    mode: u32,
) -> Result<NamedTempFile, FileError> {
    let prefix = temporary_prefix(name);
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(".partial").rand_bytes(12);
    set_mode(&mut builder, mode);
    builder
        .tempfile_in(folder)
        .map_err(file_error("writing", &folder.join(name)))
}

pub(super) fn temporary_prefix(name: &str) -> String {
    format!(".{name}.{}-", std::process::id())
}

#[cfg(unix)]
pub(super) fn set_mode(builder: &mut Builder<'_, '_>, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(fs::Permissions::from_mode(mode));
}

#[cfg(not(unix))]
pub(super) fn set_mode(_: &mut Builder<'_, '_>, _: u32) {}

/// Removes what processes that were killed left of writing `name`.
pub(super) fn remove_leftovers(folder: &Folder, name: &str) -> io::Result<()> {
    let beginning = format!(".{name}.");
    let mut names = folder.list_names()?;
    names.retain(|left| is_leftover(left, &beginning));
    for left in names {
        if let Some(_held) = open_abandoned(folder, &left) {
            folder.remove_tree(&left)?;
        }
    }
    Ok(())
}

/// Whether a name is that of a temporary file whose name begins so.
pub(super) fn is_leftover(left: &OsStr, beginning: &str) -> bool {
    let left = left.to_str().unwrap_or_default();
    let Some(rest) = left.strip_prefix(beginning) else {
        return false;
    };
    let unique = rest.strip_suffix(".partial");
    let process = unique.and_then(|unique| unique.split_once('-'));
    process.is_some_and(|(process, _)| process.parse::<u32>().is_ok())
}

/// The leftover with its lock; none if a process writes it. The number in its name does not tell: the process may run
/// in another container.
fn open_abandoned(folder: &Folder, left: &OsStr) -> Option<File> {
    let file = folder.open_file(left).ok()?;
    let is_abandoned = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => has_long_paused(&file),
    };
    is_abandoned.then_some(file)
}

/// Whether a file or folder has not changed for long: where there are no locks, nobody writes it then.
fn has_long_paused(file: &File) -> bool {
    let modified = file.metadata().and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age >= LONGEST_PAUSE)
}

/// A new file that its owner alone can read.
pub(in crate::io) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A log that is written line by line. Other users cannot read it: programs print more than they should.
#[derive(Debug)]
pub struct Log(File);

impl Log {
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let (parent, _) = split_path(path)?;
        let found = Folder::open(parent)
            .and_then(|folder| folder.find_kind(path.file_name().unwrap_or_default()));
        check_kind(path, found.map_err(file_error("writing", path))?)?;
        remove_if_exists(path)?;
        create_private(path)
            .map(Self)
            .map_err(file_error("writing", path))
    }

    /// A log that cannot be written must not end the build that it tells of.
    pub fn write_line(&mut self, text: &str) {
        let _ = writeln!(self.0, "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_file(&path, b"old").unwrap();
        assert!(write_file(&path.join("below"), b"new").is_err());
        let failed = write_with(&path, |_| {
            Err(file_error("writing", &path)(io::Error::other("full")))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_replaced() {
        use std::os::unix::fs::{MetadataExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        for path in [link.as_path(), &pipe, folder.path(), Path::new("/dev/full")] {
            assert!(write_file(path, b"new").is_err(), "{}", path.display());
            assert!(write_secret(path, b"new").is_err(), "{}", path.display());
            assert!(
                write_program_with::<FileError>(path, |_| Ok(())).is_err(),
                "{}",
                path.display()
            );
            assert!(Log::create(path).is_err(), "{}", path.display());
        }
        assert_eq!(fs::read(&file).unwrap(), b"old");
        write_secret(&file, b"new").unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    /// Somebody who may write to the folder above exchanges the folder while a file is written.
    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_exchanged_gets_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (own, moved, other) = (
            folder.path().join("own"),
            folder.path().join("moved"),
            folder.path().join("other"),
        );
        for path in [&own, &other] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("file"), "old").unwrap();
        }
        let exchange = || {
            fs::rename(&own, &moved).unwrap();
            std::os::unix::fs::symlink(&other, &own).unwrap();
        };
        write_with(&own.join("file"), |file| -> Result<(), FileError> {
            exchange();
            file.write_all(b"new").map_err(file_error("writing", &own))
        })
        .unwrap();
        assert_eq!(fs::read(other.join("file")).unwrap(), b"old");
        assert_eq!(fs::read(moved.join("file")).unwrap(), b"new");
        for path in [&moved, &other] {
            assert_eq!(
                fs::read_dir(path).unwrap().count(),
                1,
                "no temporary file stays"
            );
        }
        // A write that fails leaves none either.
        fs::remove_file(&own).unwrap();
        fs::rename(&moved, &own).unwrap();
        let failed = write_with(&own.join("file"), |_| {
            exchange();
            Err(file_error("writing", &own)(io::Error::other("full")))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 1);
    }

    /// Somebody put a link to another folder where a mirror has the folder of a host.
    #[cfg(unix)]
    #[test]
    fn links_below_the_named_folder_are_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (root, other) = (folder.path().join("root"), folder.path().join("other"));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir(&other).unwrap();
        symlink(&other, root.join("a/link")).unwrap();
        symlink(&root, folder.path().join("named")).unwrap();
        let write = |path: &str| {
            write_below(&folder.path().join("named"), path, |file| {
                file.write_all(b"new").map_err(file_error("writing", &root))
            })
        };
        write("a/b/file").unwrap();
        write("file").unwrap();
        for path in ["a/link/file", "a/link", "a/link/b/file"] {
            let error = write(path).unwrap_err().to_string();
            assert!(error.contains("link"), "{error}");
        }
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        assert_eq!(fs::read(root.join("a/b/file")).unwrap(), b"new");
    }

    #[test]
    fn no_error_names_a_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent");
        let error = create_temporary(&absent, "file", 0o666).unwrap_err();
        let (text, place) = (error.to_string(), absent.join("file"));
        let begin = format!("writing {}: ", place.display());
        assert!(
            text.starts_with(&begin) && !text.contains(".partial"),
            "{text}"
        );
        assert_eq!(error.source.kind(), io::ErrorKind::NotFound);

        // A handle for reading refuses to be written.
        let mut made = create_temporary(folder.path(), "file", 0o666).unwrap();
        *made.as_file_mut() = File::open(made.path()).unwrap();
        let refused = made
            .write_all(b"new")
            .map_err(file_error("writing", &place));
        let text = refused.unwrap_err().to_string();
        assert!(
            text.starts_with(&begin) && !text.contains(".partial"),
            "{text}"
        );
    }

    #[test]
    fn temporary_names_cannot_be_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let created = [(); 2].map(|()| create_temporary(folder.path(), "file", 0o666).unwrap());
        assert_ne!(created[0].path(), created[1].path());
    }

    /// The number is that of a process of another container.
    #[cfg(unix)]
    #[test]
    fn leftovers_are_swept_and_what_is_written_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // No process has this number: it is above the kernel's limit.
        let [used, used_folder] =
            ["file", "folder"].map(|it| path(&format!(".file.2147483600-{it}.partial")));
        let [left, left_folder] =
            ["file", "folder"].map(|it| path(&format!(".file.1-{it}.partial")));
        let other = path(".other.2147483600-x.partial");
        for folder in [&used_folder, &left_folder] {
            fs::create_dir(folder).unwrap();
        }
        for file in [&used, &left, &other] {
            fs::write(file, "").unwrap();
        }
        // Until it is another program, a child of another test would hold the locks.
        let nobody_starts = exec::hold_starts();
        let locks = [&used, &used_folder].map(|path| File::open(path).unwrap());
        for lock in &locks {
            lock.lock().unwrap();
        }

        write_file(&path("file"), b"new").unwrap();
        assert!(used.exists() && used_folder.exists() && other.exists());
        assert!(!left.exists() && !left_folder.exists());
        drop(locks);
        drop(nobody_starts);

        write_file(&path("file"), b"newer").unwrap();
        assert!(!used.exists() && !used_folder.exists());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let place = Folder::open(folder.path()).unwrap();
        let file = place.create_temporary(".file.1-", 0o666).unwrap();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let opened = File::open(entry.unwrap().path()).unwrap();
            assert!(matches!(opened.try_lock(), Err(TryLockError::WouldBlock)));
        }
        drop(file);
    }
}
