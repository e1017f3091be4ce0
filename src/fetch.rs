//! Requests → files of the store with the requested bytes.
//!
//! A download is read once, into a part, with its size limit checked and its digests computed in the same pass; the
//! part becomes an object of the store if all match. A file of the store is hashed again, not downloaded.

mod answers;
mod check;
mod download;
mod error;
mod login;
mod mirrors;
mod retry;
mod split;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;

use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::base::url::{HttpUrl, strip_secrets};
use crate::base::value::{FileDigest, PinAlgorithm};
use crate::io::fs::{DigestSet, Digests, digest_file_with};
use crate::io::http::{Http, HttpError};
use crate::io::interrupt::{Cleanup, subscribe_downloads};
use crate::io::oci::Reference;
use crate::io::store::{Object, Store};
use crate::ui::Downloads;

use answers::find_refusal;
use check::check_digests;
use download::FileTransfer;

pub use answers::{AnswerMap, FileAnswers, FileQuestion};
pub use error::{FetchError, FetchFailure, is_unavailable};
pub use login::RegistryLogin;
pub use mirrors::{MirrorHeaders, OpenedMirrors};

/// Whether a mirror may answer for an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressing {
    /// A publisher's: the operator's mirrors stand in for it.
    Published,
    /// That very server is meant.
    Exact,
}

/// A file that is wanted.
#[derive(Debug, Clone)]
pub struct Request {
    /// As errors and progress name it: `kubelet 1.20.0`.
    pub name: String,
    pub url: HttpUrl,
    pub addressing: Addressing,
    /// Bytes, where they are known.
    pub size: Option<u64>,
    /// More than this is refused.
    pub max_size: u64,
    /// Every one must fit.
    pub digests: Vec<FileDigest>,
    /// Digests of bytes that once stood at this URL, with where that was seen.
    pub superseded: Vec<(FileDigest, String)>,
    pub headers: Vec<(String, Secret)>,
    /// Of a part of an image: the login at its registry.
    pub login: Option<RegistryLogin>,
}

/// Where no size is known, a file may have this many bytes: ten times the largest component.
pub const MAX_SIZE: u64 = 4 << 30;
/// No boot medium is larger: a DVD-9 has 8.5 GB, and installation media of Windows stay below it.
pub const MAX_MEDIUM_SIZE: u64 = 9 << 30;

/// A file as its publisher has it, and as it is asked for.
#[derive(Debug, Clone, Copy)]
struct LocatedRequest<'a> {
    published: &'a Request,
    asked: &'a Request,
}

impl Request {
    /// A file of which nothing is known but where it is, and how large it may be.
    pub fn without_digest(name: &str, url: &HttpUrl, max_size: u64) -> Self {
        Self {
            name: name.to_owned(),
            url: url.clone(),
            addressing: Addressing::Published,
            size: None,
            max_size,
            digests: Vec::new(),
            superseded: Vec::new(),
            headers: Vec::new(),
            login: None,
        }
    }

    /// Digests to compute while the bytes come: those of the request, and both of a file that is yet to be pinned.
    fn digest_set(&self) -> DigestSet {
        let superseded = self.superseded.iter().map(|(digest, _)| digest);
        let named = self.digests.iter().chain(superseded);
        let sha512 = named
            .into_iter()
            .any(|digest| digest.algorithm() == PinAlgorithm::Sha512);
        if sha512 || self.digests.is_empty() {
            DigestSet::Both
        } else {
            DigestSet::Sha256
        }
    }
}

/// A file whose bytes fit the request. Only [`Fetcher::fetch_all`] makes one.
#[derive(Debug, Clone)]
pub struct FetchedArtifact {
    digests: Digests,
    /// Its publisher's address.
    url: String,
    /// The address that was asked for it.
    place: String,
    headers: Vec<(String, Secret)>,
    path: PathBuf,
}

impl FetchedArtifact {
    fn new(request: &LocatedRequest<'_>, digests: Digests, object: Object) -> Self {
        let published = request.published;
        let headers = published.headers.clone();
        Self {
            digests,
            url: strip_secrets(published.url.public_url()),
            place: strip_secrets(request.asked.url.public_url()),
            headers,
            path: object.path,
        }
    }

    pub fn sha256(&self) -> &str {
        &self.digests.sha256
    }

    /// SHA-256 and SHA-512. Of a file that a SHA-256 pinned, the other is computed now, if its bytes are still the same.
    ///
    /// # Errors
    /// The file cannot be read, or changed since it was verified.
    pub fn read_both(&self) -> Result<Digests, FetchError> {
        if self.digests.sha512.is_some() {
            return Ok(self.digests.clone());
        }
        let found = digest_file_with(&self.path, DigestSet::Both)
            .map_err(|error| FetchError::new(&self.url, error.into()))?;
        if found.sha256 == self.digests.sha256 {
            return Ok(found);
        }
        let (url, expected) = (self.url.clone(), self.digests.sha256.clone());
        let size = found.size;
        let failure = FetchFailure::Digest {
            url,
            expected,
            found: found.sha256,
            media_type: None,
            size,
        };
        Err(FetchError::new(&self.url, failure))
    }

    /// Both as what may pin the file.
    ///
    /// # Errors
    /// As [`FetchedArtifact::read_both`].
    pub fn file_digests(&self) -> Result<Vec<FileDigest>, FetchError> {
        let digests = self.read_both()?.file_digests();
        digests.map_err(|_| self.empty_error())
    }

    fn store_digest(&self) -> Result<FileDigest, FetchError> {
        let digest = FileDigest::new(PinAlgorithm::Sha256, self.digests.sha256.clone());
        digest.map_err(|_| self.empty_error())
    }

    fn empty_error(&self) -> FetchError {
        let url = self.url.clone();
        FetchError::new(&self.url, FetchFailure::Empty { url })
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.digests.size
    }

    /// Its publisher's address, as it may be shown.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address that it came from: its publisher's, or a mirror's.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Headers for the file's own host alone.
    pub fn headers(&self) -> &[(String, Secret)] {
        &self.headers
    }

    /// The file in the store.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Files below this size have a shorter deadline.
const SMALL: u64 = 64 << 20;

/// Downloads that share a store, a client and an interrupt.
#[derive(Debug)]
pub struct Fetcher {
    runtime: Runtime,
    http: Http,
    store: Store,
    mirrors: OpenedMirrors,
    answers: Arc<FileAnswers>,
    interrupted: watch::Receiver<bool>,
}

impl Fetcher {
    /// # Errors
    /// The system gives no threads.
    pub fn new(http: Http, store: Store, mirrors: OpenedMirrors) -> Result<Self, FetchError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| FetchError::new("", FetchFailure::System(error.to_string())))?;
        Ok(Self {
            runtime,
            http,
            store,
            mirrors,
            answers: Arc::default(),
            interrupted: subscribe_downloads(),
        })
    }

    /// With the files of other downloads of the run, which are not asked for again.
    #[must_use]
    pub fn with_answers(self, answers: Arc<FileAnswers>) -> Self {
        Self { answers, ..self }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether nothing may be asked for.
    pub fn is_offline(&self) -> bool {
        self.http.is_offline()
    }

    /// Whether a mirror answers for an address.
    pub fn is_mirrored(&self, url: &HttpUrl) -> bool {
        self.mirrors.find(url).is_some()
    }

    /// The address that is asked for a publisher's file: its own, or a mirror's.
    pub fn locate_url(&self, url: &HttpUrl) -> HttpUrl {
        self.mirrors.locate(url)
    }

    /// The last file of an address, or of the mirror that answers for it.
    pub fn find_url(&self, url: &HttpUrl) -> Option<Object> {
        let asked = self.locate_url(url);
        let found = self.store.find_url(asked.public_url());
        found.or_else(|| self.store.find_url(url.public_url()))
    }

    /// The image where it is asked for, and the login there.
    pub fn locate_image(&self, image: Reference) -> (Reference, RegistryLogin) {
        let (image, headers) = self.mirrors.locate_image(image);
        let login = if headers.is_empty() {
            RegistryLogin::by_token(image.clone())
        } else {
            RegistryLogin::with_headers(headers)
        };
        (image, login)
    }

    /// Fetches files, `jobs` at a time; outcomes in the order of the requests.
    pub fn fetch_all(
        &self,
        requests: &[Request],
        jobs: usize,
        downloads: &Downloads,
    ) -> Vec<Result<FetchedArtifact, FetchError>> {
        let next = AtomicUsize::new(0);
        // Few files have several connections each.
        let connections = (jobs / requests.len().max(1)).max(1);
        let outcomes: Mutex<Vec<Option<Result<FetchedArtifact, FetchError>>>> =
            Mutex::new(requests.iter().map(|_| None).collect());
        std::thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, requests.len().max(1)) {
                scope.spawn(|| {
                    while let Some((index, request)) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        requests.get(index).map(|request| (index, request))
                    } {
                        let outcome = self.fetch_file(request, downloads, connections);
                        outcomes.lock().unwrap_or_else(PoisonError::into_inner)[index] =
                            Some(outcome);
                    }
                });
            }
        });
        downloads.finish();
        let outcomes = outcomes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        outcomes.into_iter().flatten().collect()
    }

    /// A small file, such as a checksum file: from the network, or, offline, its last download.
    ///
    /// # Errors
    /// As [`Fetcher::fetch_all`]; [`FetchError::is_absent`] is true if the server does not have it.
    pub fn fetch_small(
        &self,
        name: &str,
        url: &HttpUrl,
        limit: u64,
        headers: &[(String, Secret)],
    ) -> Result<Vec<u8>, FetchError> {
        self.read_small(&Request {
            headers: headers.to_vec(),
            ..Request::without_digest(name, url, limit)
        })
    }

    /// As [`Fetcher::fetch_small`], with a login.
    ///
    /// # Errors
    /// As [`Fetcher::fetch_small`].
    pub fn read_small(&self, request: &Request) -> Result<Vec<u8>, FetchError> {
        let Request { name, url, .. } = request;
        if self.http.is_offline() {
            let content = match self.find_url(url) {
                Some(object) => self.store.read_object(&object),
                None => Ok(None),
            };
            return match content {
                Ok(Some(content)) => Ok(content),
                Ok(None) => Err(FetchError::new(
                    name,
                    FetchFailure::without_network(request),
                )),
                Err(error) => Err(FetchError::new(name, error.into())),
            };
        }
        let fetched = self.fetch_file(request, &Downloads::new_silent(), 1)?;
        crate::io::fs::read_file(fetched.path())
            .map_err(|error| FetchError::new(name, error.into()))
    }

    fn fetch_file(
        &self,
        published: &Request,
        downloads: &Downloads,
        connections: usize,
    ) -> Result<FetchedArtifact, FetchError> {
        let failed = |failure: FetchFailure| FetchError::new(&published.name, failure);
        let asked = self.mirrors.locate_request(published);
        let located = LocatedRequest {
            published,
            asked: &asked,
        };
        let request = located.asked;
        if *self.interrupted.borrow() {
            return Err(failed(FetchFailure::Interrupted));
        }
        if let Some(stored) = self.find_stored(located).map_err(failed)? {
            downloads.skip_file(&request.name, request.size);
            return Ok(stored);
        }
        if self.http.is_offline() {
            return Err(failed(FetchFailure::without_network(request)));
        }
        if request.login.is_some() {
            return self.download(located, downloads, connections);
        }

        let mut own = None;
        let question = FileQuestion::new(request, &self.http.format_rules());
        let answer = self.answers.files.read(question, || {
            match self.download(located, downloads, connections) {
                Ok(fetched) => {
                    let digest = fetched.store_digest()?;
                    own = Some(fetched);
                    Ok(Ok(digest))
                }
                Err(error) => find_refusal(error).map(Err),
            }
        })?;
        if let Some(fetched) = own {
            return Ok(fetched);
        }
        let digest = answer.map_err(|refusal| failed(refusal.into()))?;
        if let Some(known) = self.take_known(located, &digest).map_err(failed)? {
            downloads.skip_file(&request.name, request.size);
            return Ok(known);
        }
        self.download(located, downloads, connections)
    }

    /// The file of an earlier download of the run, if it is still in the store.
    fn take_known(
        &self,
        located: LocatedRequest<'_>,
        digest: &FileDigest,
    ) -> Result<Option<FetchedArtifact>, FetchFailure> {
        let request = located.asked;
        let Some(object) = self.store.find_object(digest) else {
            return Ok(None);
        };
        let found = self.store.digest_object(&object, request.digest_set())?;
        let Some(found) = found.filter(|found| found.size <= request.max_size) else {
            return Ok(None);
        };
        check_digests(request, &found, None)?;
        Ok(Some(FetchedArtifact::new(&located, found, object)))
    }

    fn download(
        &self,
        located: LocatedRequest<'_>,
        downloads: &Downloads,
        connections: usize,
    ) -> Result<FetchedArtifact, FetchError> {
        let request = located.asked;
        let failed = |failure: FetchFailure| FetchError::new(&located.published.name, failure);
        // The part remembers how far it came.
        let _cleanup = Cleanup::start().map_err(|_| failed(FetchFailure::Interrupted))?;
        let mut interrupted = self.interrupted.clone();
        let download = FileTransfer::new(self, located, downloads, connections);
        let deadline = match request.max_size {
            ..SMALL => self.http.patience.deadline / 36,
            _ => self.http.patience.deadline,
        };
        let outcome = Handle::block_on(self.runtime.handle(), async {
            tokio::select! {
                outcome = download.run() => outcome.map_err(failed),
                () = tokio::time::sleep(deadline) => {
                    let message = format!("it did not arrive within {} s", deadline.as_secs_f32());
                    Err(failed(HttpError::new(Code::DEADLINE, request.url.public_url(), message).into()))
                }
                _ = interrupted.wait_for(|interrupted| *interrupted) => Err(failed(FetchFailure::Interrupted)),
            }
        });
        self.answers
            .record_end(&request.url, outcome.as_ref().err());
        outcome
    }

    /// The store's copy. A file that was changed on the disk is taken out.
    fn find_stored(
        &self,
        located: LocatedRequest<'_>,
    ) -> Result<Option<FetchedArtifact>, FetchFailure> {
        let request = located.asked;
        let by_digest = request
            .digests
            .iter()
            .filter_map(|digest| self.store.find_object(digest));
        // Without digest and network, what last came from there is all there is.
        let alone = self.http.is_offline() && request.digests.is_empty();
        let by_url = || self.find_url(&located.published.url);
        for object in by_digest.chain(alone.then(by_url).flatten()) {
            let Some(found) = self.store.digest_object(&object, request.digest_set())? else {
                continue;
            };
            check_digests(request, &found, None)?;
            self.store.touch(&object);
            return Ok(Some(FetchedArtifact::new(&located, found, object)));
        }
        // What a SHA-256 brought is not listed by its SHA-512.
        let mut digests = request.digests.iter();
        let has_sha512 = digests.any(|digest| digest.algorithm() == PinAlgorithm::Sha512);
        let Some(object) = has_sha512.then(by_url).flatten() else {
            return Ok(None);
        };
        let Some(found) = self.store.digest_object(&object, DigestSet::Both)? else {
            return Ok(None);
        };
        if check_digests(request, &found, None).is_err() {
            return Ok(None);
        }
        self.store.record_sha512(&found)?;
        self.store.touch(&object);
        Ok(Some(FetchedArtifact::new(&located, found, object)))
    }
}
