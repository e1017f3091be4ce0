//! Why a file could not be fetched.

use crate::base::code::Code;
use crate::base::url::strip_secrets;
use crate::diagnostic::{Classify, ErrorClass};
use crate::io::fs::FileError;
use crate::io::http::HttpError;

use super::Request;

/// Error of one file's download.
#[derive(Debug, thiserror::Error)]
#[error("{}{failure} [{}]", if .name.is_empty() { String::new() } else { format!("{name}: ") }, .failure.code())]
pub struct FetchError {
    pub name: String,
    pub failure: Box<FetchFailure>,
}

impl Classify for FetchError {
    fn class(&self) -> ErrorClass {
        match &*self.failure {
            FetchFailure::File(error) => error.class(),
            _ => self.code().class(),
        }
    }

    fn remedies(&self) -> Vec<String> {
        self.failure.hint().into_iter().map(str::to_owned).collect()
    }

    fn code(&self) -> Code {
        self.failure.code()
    }
}

/// URLs in the texts are without query.
#[derive(Debug, thiserror::Error)]
pub enum FetchFailure {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} has the digest {found}, expected {expected}{}", strip_secrets(.url), describe_html(.media_type.as_deref(), *.size))]
    Digest {
        url: String,
        expected: String,
        found: String,
        media_type: Option<String>,
        size: u64,
    },
    /// Bytes that the publisher has replaced since.
    #[error("{} serves a file that its publisher has replaced ({seen})", strip_secrets(.url))]
    Drift { url: String, seen: String },
    #[error("{} has {found} bytes, expected {expected}{}", strip_secrets(.url), describe_html(.media_type.as_deref(), *.found))]
    Size {
        url: String,
        expected: u64,
        found: u64,
        media_type: Option<String>,
    },
    #[error("{} has more than {limit} bytes", strip_secrets(.url))]
    TooLarge { url: String, limit: u64 },
    #[error("{} is empty", strip_secrets(.url))]
    Empty { url: String },
    /// A file of an image, which `imagegen fetch` brings into the store.
    #[error("{} is not in the store, and `--offline` disables downloads", strip_secrets(.0))]
    Offline(String),
    /// A list of releases, a record or a part of a container image, which `imagegen fetch` does not ask for.
    #[error("{} is not in the store, and `--offline` disables downloads", strip_secrets(.0))]
    OfflineAnswer(String),
    #[error("interrupted; the next run resumes partial downloads")]
    Interrupted,
    #[error("{0}")]
    System(String),
}

fn describe_html(media_type: Option<&str>, size: u64) -> String {
    match media_type {
        Some(kind) if kind.starts_with("text/html") => {
            format!(" (it is a web page of {size} bytes, as login pages and proxies send)")
        }
        _ => String::new(),
    }
}

impl FetchError {
    pub(super) fn new(name: &str, failure: FetchFailure) -> Self {
        Self {
            name: name.to_owned(),
            failure: Box::new(failure),
        }
    }

    /// Whether only the network could tell.
    pub fn is_offline(&self) -> bool {
        matches!(
            *self.failure,
            FetchFailure::Offline(_) | FetchFailure::OfflineAnswer(_)
        )
    }

    /// The error of a file that no image holds: `imagegen fetch` does not ask for it.
    #[must_use]
    pub fn of_answer(self) -> Self {
        match *self.failure {
            FetchFailure::Offline(url) => Self {
                name: self.name,
                failure: Box::new(FetchFailure::OfflineAnswer(url)),
            },
            _ => self,
        }
    }

    /// Whether the server does not have the file, or cannot be asked: nothing is wrong with bytes, login, policy or this
    /// machine.
    pub fn is_unavailable(&self) -> bool {
        is_unavailable(self.failure.code())
    }

    /// Whether the server says that there is no such file.
    pub fn is_absent(&self) -> bool {
        matches!(&*self.failure, FetchFailure::Http(error) if matches!(error.code, Code::NOT_FOUND | Code::GONE))
    }
}

/// Whether a code says of a server that it does not have a file, or that it cannot be asked for it now.
pub fn is_unavailable(code: Code) -> bool {
    const CODES: &[Code] = &[
        Code::BUSY,
        Code::CONNECT,
        Code::CONNECTION,
        Code::DNS,
        Code::GONE,
        Code::NOT_FOUND,
        Code::OFFLINE,
        Code::RATE_LIMIT,
        Code::SERVER_ERROR,
        Code::TIMEOUT,
    ];
    CODES.contains(&code)
}

impl FetchFailure {
    /// No server may be asked for a file. Parts of container images are no files of `imagegen fetch`.
    pub(super) fn without_network(request: &Request) -> Self {
        let url = request.url.to_string();
        match request.login {
            Some(_) => Self::OfflineAnswer(url),
            None => Self::Offline(url),
        }
    }

    /// Stable: scripts and tests tell errors apart by it.
    pub fn code(&self) -> Code {
        match self {
            Self::Http(error) => error.code,
            Self::File(error) => error.code(),
            Self::Digest { .. } => Code::DIGEST_MISMATCH,
            Self::Drift { .. } => Code::DRIFT,
            Self::Size { .. } => Code::SIZE_MISMATCH,
            Self::TooLarge { .. } => Code::TOO_LARGE,
            Self::Empty { .. } => Code::EMPTY,
            Self::Offline(_) | Self::OfflineAnswer(_) => Code::OFFLINE,
            Self::Interrupted => Code::INTERRUPTED,
            Self::System(_) => Code::SYSTEM,
        }
    }

    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Digest { .. } => {
                "compare with the publisher's own record; if it was replaced, or is a build of your own, \
                 `imagegen pin` or an override states the new digest, of the same algorithm"
            }
            Self::Drift { .. } => {
                "a mirror or cache is out of date: clear it, or fetch from the publisher"
            }
            Self::Size { .. } => {
                "a login page or a cut download often has another size: open the URL yourself"
            }
            Self::Offline(_) => {
                "run `imagegen fetch` with network first, or extract a bundle into the store"
            }
            Self::OfflineAnswer(_) => {
                "run the same command without `--offline` first: the store keeps what it downloads"
            }
            Self::Http(error) => return error.hint(),
            _ => return None,
        })
    }
}
