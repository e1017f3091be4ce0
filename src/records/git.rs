//! A commit of the user's repository, read with the user's git into a folder of its own.
//!
//! Git starts here alone. A folder with `HEAD`, `config`, `objects` and `refs` is a repository to git, and its `config`
//! names programs; a pull request can bring such a folder, but none with a `.git` in it. So git starts where `.git` is,
//! accepts that repository alone, and runs neither hooks nor filters.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::base::code::Code;
use crate::base::text::format_path;
use crate::base::url::strip_secrets;
use crate::diagnostic::{Classify, Error, Result};
use crate::io::exec::{self, ExecError, Inherited, Run, Stream};
use crate::io::fs::Scratch;

use super::image::GitState;

/// Mode of a symbolic link (gitformat-index, "32-bit mode").
const LINK_MODE: &str = "120000 ";

/// Settings of every command. They count before those of any file.
/// <https://git-scm.com/docs/git-config#Documentation/git-config.txt-safebareRepository> (from 2.38 on)
const SETTINGS: &[&str] = &[
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.symlinks=false",
    "core.autocrlf=false",
];

/// Variables of this process that git gets: programs, languages, and where the user's own settings are.
const INHERITED: &[&str] = &[
    "GIT_CONFIG_GLOBAL",
    "HOME",
    "LANG",
    "LC_ALL",
    "PATH",
    "SYSTEMROOT",
    "USERPROFILE",
    "XDG_CONFIG_HOME",
];

/// Something that git refused.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git {verb}: {message}")]
    Failed { verb: String, message: String },
    #[error("git rev-parse: the repository has no commit `{0}`")]
    NoCommit(String),
    #[error("{} is in no git repository", .0.display())]
    NoRepository(PathBuf),
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
            Self::NoRepository(_) => {
                "use a clone, whose top folder has `.git`, or compare two files instead of `--base`"
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
    let git = Git::find(&folder, Some(scratch.path().join("index")))?;
    let commit = git.find_commit(reference)?;
    // A definition names files below its own folder alone.
    let tree = format!("{commit}:{}", git.prefix);
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
    let git = Git::find(folder, None).ok()?;
    let commit = git.run("rev-parse", &["--verify", "--quiet", "HEAD"]);
    // Of a submodule the commit counts: git would start once more in its folder.
    let changes = git.run(
        "status",
        &[
            "--porcelain",
            "--untracked-files=no",
            "--ignore-submodules=dirty",
        ],
    );
    let remote = git.run("remote", &["get-url", "origin"]).ok();
    Some(GitState {
        commit: commit.ok()?.trim().to_owned(),
        dirty: !changes.ok()?.trim().is_empty(),
        repository: remote.map(|url| strip_secrets(url.trim())),
    })
}

/// By its whole path: a relative folder of `PATH` would be one of the repository.
fn find_git() -> PathBuf {
    let found = exec::resolve_program(Path::new("git"));
    dunce::canonicalize(&found).unwrap_or(found)
}

/// The lines of a message in one; those that a colon announces follow it.
fn join_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ")
}

/// The user's git in one repository.
struct Git {
    /// The folder with `.git`.
    top: PathBuf,
    /// Path of the folder below the top, with `/` between its parts.
    prefix: String,
    /// An index of its own: the user's stays as it is.
    index: Option<PathBuf>,
    /// Settings that turn off the filters of this repository.
    filters: Vec<String>,
}

impl Git {
    fn find(folder: &Path, index: Option<PathBuf>) -> std::result::Result<Self, GitError> {
        let none = || GitError::NoRepository(folder.to_owned());
        let folder = dunce::canonicalize(folder).map_err(|_| none())?;
        let top = folder.ancestors().find(|it| it.join(".git").exists());
        let top = top.ok_or_else(none)?;
        let below = folder.strip_prefix(top).map_err(|_| none())?;
        let mut git = Self {
            top: top.to_owned(),
            prefix: format_path(below),
            index,
            filters: Vec::new(),
        };
        git.require_own_folder()?;
        git.filters = git.list_filters();
        Ok(git)
    }

    /// Where `.git` is no repository, git before 2.38 takes the folder itself or one above it.
    fn require_own_folder(&self) -> std::result::Result<(), GitError> {
        let used = self.run("rev-parse", &["--absolute-git-dir"])?;
        let own = self.top.join(".git");
        let is_own = match (
            dunce::canonicalize(used.trim_end()),
            dunce::canonicalize(&own),
        ) {
            (Ok(used), Ok(own)) => used == own,
            _ => false,
        };
        // A file names the folder of a worktree or submodule; git ends where it does not.
        if is_own || own.is_file() {
            Ok(())
        } else {
            Err(GitError::NoRepository(self.top.clone()))
        }
    }

    /// Attributes are files of a commit, and choose among the user's filters.
    fn list_filters(&self) -> Vec<String> {
        let names = self.run("config", &["--name-only", "--get-regexp", r"^filter\."]);
        // Git ends with 1 where there is none.
        let names = names.unwrap_or_default();
        let settings = names.lines().map(|name| {
            let value = if name.ends_with(".required") {
                "false"
            } else {
                ""
            };
            format!("{name}={value}")
        });
        settings.collect()
    }

    /// Runs a command at the top, where it sees all files, and returns what it printed.
    fn run(&self, verb: &str, arguments: &[&str]) -> std::result::Result<String, GitError> {
        let own = self.filters.iter().map(String::as_str);
        let settings = SETTINGS
            .iter()
            .copied()
            .chain(own)
            .flat_map(|it| ["-c", it]);
        let words: Vec<&str> = settings
            .chain([verb])
            .chain(arguments.iter().copied())
            .collect();
        let run = Run {
            folder: self.top.clone(),
            inherited: Inherited::Nothing,
            environment: self.build_environment(),
            ..Run::new(find_git(), words)
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

    fn build_environment(&self) -> BTreeMap<String, OsString> {
        let mut result = BTreeMap::from([("GIT_OPTIONAL_LOCKS".to_owned(), "0".into())]);
        for name in INHERITED {
            result.extend(env::var_os(name).map(|value| ((*name).to_owned(), value)));
        }
        if let Some(index) = &self.index {
            result.insert("GIT_INDEX_FILE".to_owned(), index.clone().into_os_string());
        }
        result
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
}
