//! A commit of the user's repository, read with the user's git into a folder of its own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::base::code::Code;
use crate::base::url::strip_secrets;
use crate::diagnostic::{Classify, Error, Result};
use crate::io::exec::{self, ExecError, Run, Stream};
use crate::io::fs::Scratch;

use super::image::GitState;

/// Mode of a symbolic link (gitformat-index, "32-bit mode").
const LINK_MODE: &str = "120000 ";

/// Something that git refused.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git {verb}: {message}")]
    Failed { verb: String, message: String },
    #[error("git rev-parse: the repository has no commit `{0}`")]
    NoCommit(String),
    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl Classify for GitError {
    fn remedies(&self) -> Vec<String> {
        let remedy = match self {
            Self::Failed { .. } => {
                "correct what git says, or compare two files instead of `--base`"
            }
            Self::NoCommit(_) => {
                "name a commit, branch or tag of the repository, such as `origin/main`; a shallow clone has no other \
                 commits"
            }
            Self::Exec(_) => "install git, or compare two files instead of `--base`",
        };
        vec![remedy.to_owned()]
    }

    fn code(&self) -> Code {
        Code::GIT_FAILED
    }
}

/// The files of a commit. They go with the value.
#[derive(Debug)]
pub struct Checkout {
    path: PathBuf,
    _scratch: Scratch,
}

impl Checkout {
    /// Where the file that was asked for lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes the folder of a file, as a commit has it, into a new folder. Links become plain files.
///
/// # Errors
/// Git is missing, the file is in no repository, or there is no such commit or file.
pub fn checkout_commit(reference: &str, file: &Path) -> Result<Checkout> {
    if reference.starts_with('-') || reference.is_empty() {
        let message = format!("`{reference}` names no commit");
        return Err(Error::value(message, "give a commit, branch or tag"));
    }
    let folder = if file.is_dir() {
        file.to_owned()
    } else {
        match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }
    };
    let scratch = Scratch::new("base")?;
    let index = scratch.path().join("index");
    let git = Git {
        folder: &folder,
        index: index.into_os_string(),
    };
    // Fails where there is no repository, or one that git does not trust.
    let prefix = git.run("rev-parse", &["--show-prefix"])?;
    let commit = git.find_commit(reference)?;
    // A definition names files below its own folder alone.
    let tree = format!("{commit}:{}", prefix.trim_end_matches('\n'));
    git.run("read-tree", &[&tree])?;
    // The trailing slash makes the prefix a folder.
    let target = format!("--prefix={}/tree/", scratch.path().display());
    git.run("checkout-index", &["--all", "--quiet", &target])?;

    let inner = scratch.path().join("tree");
    let path = match file.file_name().filter(|_| !file.is_dir()) {
        Some(name) => inner.join(name),
        None => inner,
    };
    if !path.exists() {
        let message = format!("{} does not exist in {reference}", file.display());
        return Err(Error::value(message, "name a path that the commit has"));
    }
    if let Some(name) = file.file_name().filter(|_| !file.is_dir())
        && git.is_link(name)?
    {
        let message = format!("{} is a symbolic link in {reference}", file.display());
        return Err(Error::value(message, "name the file that it leads to"));
    }
    Ok(Checkout {
        path,
        _scratch: scratch,
    })
}

/// The commit of the folder's repository, and whether tracked files differ from it; none outside of a repository, or
/// without git.
pub fn read_git_state(folder: &Path) -> Option<GitState> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let commit = ask_git(folder, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let changes = ask_git(folder, &["status", "--porcelain", "--untracked-files=no"])?;
    let remote = ask_git(folder, &["remote", "get-url", "origin"]);
    Some(GitState {
        commit: commit.trim().to_owned(),
        dirty: !changes.trim().is_empty(),
        repository: remote.map(|url| strip_secrets(url.trim())),
    })
}

/// Output of a command of git; none if it fails.
fn ask_git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let run = Run {
        folder: folder.to_owned(),
        environment: BTreeMap::from([("GIT_OPTIONAL_LOCKS".to_owned(), OsString::from("0"))]),
        ..Run::new("git", arguments)
    };
    let printed = exec::collect_lines(&run, |_| ()).ok()?;
    let success = printed.outcome.success;
    success.then(|| printed.join_stream(Stream::Stdout))
}

/// The lines of a message in one; those that a colon announces follow it.
fn join_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ")
}

struct Git<'a> {
    folder: &'a Path,
    /// An index of its own: the user's stays as it is.
    index: OsString,
}

impl Git<'_> {
    /// Runs a command and returns what it printed.
    fn run(&self, verb: &str, arguments: &[&str]) -> std::result::Result<String, GitError> {
        let settings = ["-c", "core.symlinks=false", "-c", "core.autocrlf=false"];
        // From the root: otherwise a command sees the working folder's part alone.
        let top = if verb == "rev-parse" {
            None
        } else {
            Some(self.find_top()?)
        };
        let words = settings.iter().chain([&verb]).chain(arguments);
        let run = Run {
            folder: top.unwrap_or_else(|| self.folder.to_owned()),
            environment: BTreeMap::from([("GIT_INDEX_FILE".to_owned(), self.index.clone())]),
            ..Run::new("git", words)
        };
        let printed = exec::collect_lines(&run, |_| ())?;
        if printed.outcome.success {
            return Ok(printed.join_stream(Stream::Stdout));
        }
        let message = printed.join_stream(Stream::Stderr);
        let message = if message.trim().is_empty() {
            format!("it refused {}", arguments.join(" "))
        } else {
            join_lines(&message)
        };
        Err(GitError::Failed {
            verb: verb.to_owned(),
            message,
        })
    }

    fn find_commit(&self, reference: &str) -> std::result::Result<String, GitError> {
        let name = format!("{reference}^{{commit}}");
        match self.run("rev-parse", &["--verify", "--quiet", &name]) {
            Ok(commit) => Ok(commit.trim().to_owned()),
            Err(GitError::Failed { .. }) => Err(GitError::NoCommit(reference.to_owned())),
            Err(error) => Err(error),
        }
    }

    /// Whether the index has a link of this name: in the folder that it was read from, all names are relative to that.
    fn is_link(&self, name: &OsStr) -> std::result::Result<bool, GitError> {
        let path = format!(":(top,literal){}", name.to_string_lossy());
        let entry = self.run("ls-files", &["--stage", "--", &path])?;
        Ok(entry.starts_with(LINK_MODE))
    }

    fn find_top(&self) -> std::result::Result<PathBuf, GitError> {
        let top = self.run("rev-parse", &["--show-toplevel"])?;
        Ok(PathBuf::from(top.trim_end_matches('\n')))
    }
}
