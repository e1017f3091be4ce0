//! Requests → files of the store, whose bytes are what was asked for.
//!
//! Each file is read once from the network: size limit and both digests in one pass, into a part,
//! which gets its name in the store when everything is right. What is in the store already is
//! hashed again and not downloaded.

mod error;
mod judge;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;

use crate::io::fs::{Digests, digests};
use crate::io::http::{Http, HttpError, Resume, Retry, Secret};
use crate::io::oci::{self, Reference};
use crate::io::store::{Object, Part, Store};
use crate::model::component::DigestAlgorithm;
use crate::model::resource::PinAlgorithm;
use crate::ui::{Downloads, Transfer};

use judge::{Sums, check_size, judge};

pub use error::{FetchError, FetchFailure};

/// A file that is wanted.
#[derive(Debug, Clone)]
pub struct Request {
    /// As errors and progress name it: `kubelet 1.20.0`.
    pub name: String,
    pub url: String,
    /// Bytes, where they are known.
    pub size: Option<u64>,
    /// More than this is refused.
    pub max_size: u64,
    /// Every one must fit.
    pub digests: Vec<(PinAlgorithm, String)>,
    /// Digests of bytes that once stood at this URL, with where that was seen.
    pub superseded: Vec<(DigestAlgorithm, String, String)>,
    pub headers: Vec<(String, Secret)>,
}

/// Where no size is known, a file may have this many bytes: ten times the largest component.
pub const MAX_SIZE: u64 = 4 << 30;

/// A file whose bytes fit the request. Only [`fetch`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    digests: Digests,
    url: String,
    path: PathBuf,
}

impl Fetched {
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.digests.sha256
    }

    #[must_use]
    pub fn sha512(&self) -> &str {
        &self.digests.sha512
    }

    /// Bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.digests.size
    }

    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The file in the store.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Downloads that share a store, a client and an interrupt.
#[derive(Debug)]
pub struct Fetcher {
    runtime: Runtime,
    http: Http,
    store: Store,
    interrupted: watch::Receiver<bool>,
}

impl Fetcher {
    /// # Errors
    /// The system gives no threads.
    pub fn new(http: Http, store: Store) -> Result<Self, FetchError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| FetchError::new("", FetchFailure::System(error.to_string())))?;
        let (sender, interrupted) = watch::channel(false);
        runtime.spawn(async move {
            // The first interrupt ends downloads in good order, the second at once.
            if tokio::signal::ctrl_c().await.is_ok()
                && sender.send(true).is_ok()
                && tokio::signal::ctrl_c().await.is_ok()
            {
                std::process::exit(130);
            }
            sender.closed().await;
        });
        Ok(Self { runtime, http, store, interrupted })
    }

    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Fetches files, `jobs` at a time; outcomes in the order of the requests.
    pub fn fetch(
        &self,
        requests: &[Request],
        jobs: usize,
        downloads: &Downloads,
    ) -> Vec<Result<Fetched, FetchError>> {
        let next = AtomicUsize::new(0);
        let outcomes: Mutex<Vec<Option<Result<Fetched, FetchError>>>> =
            Mutex::new(requests.iter().map(|_| None).collect());
        std::thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, requests.len().max(1)) {
                scope.spawn(|| {
                    while let Some((index, request)) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        requests.get(index).map(|request| (index, request))
                    } {
                        let outcome = self.one(request, downloads);
                        outcomes.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(outcome);
                    }
                });
            }
        });
        downloads.finish();
        let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcomes.into_iter().flatten().collect()
    }

    /// A small file, such as a checksum file: from the network, or without it the one that last
    /// came from there.
    ///
    /// # Errors
    /// As [`Fetcher::fetch`]; [`FetchFailure::Absent`] where the server has none.
    pub fn small(
        &self,
        name: &str,
        url: &str,
        limit: u64,
        headers: &[(String, Secret)],
    ) -> Result<Vec<u8>, FetchError> {
        if self.http.is_offline() {
            let object = self
                .store
                .find_url(url)
                .ok_or_else(|| FetchError::new(name, FetchFailure::Offline(url.to_owned())))?;
            let bytes =
                crate::io::fs::read(&object.path).map_err(|error| FetchError::new(name, error.into()))?;
            return Ok(bytes);
        }
        let request = Request {
            name: name.to_owned(),
            url: url.to_owned(),
            size: None,
            max_size: limit,
            digests: Vec::new(),
            superseded: Vec::new(),
            headers: headers.to_vec(),
        };
        let fetched = self.one(&request, &Downloads::silent())?;
        crate::io::fs::read(fetched.path()).map_err(|error| FetchError::new(name, error.into()))
    }

    /// Headers that a registry wants for an image. Without network none are needed: the store has
    /// the files, or it has not.
    ///
    /// # Errors
    /// The registry cannot be reached, or wants more than a token.
    pub fn authorize(&self, image: &Reference) -> Result<Vec<(String, Secret)>, FetchError> {
        if self.http.is_offline() {
            return Ok(Vec::new());
        }
        Handle::block_on(self.runtime.handle(), oci::authorize(&self.http, image))
            .map_err(|error| FetchError::new(&image.name, FetchFailure::Http(error)))
    }

    fn one(&self, request: &Request, downloads: &Downloads) -> Result<Fetched, FetchError> {
        let failed = |failure: FetchFailure| FetchError::new(&request.name, failure);
        if *self.interrupted.borrow() {
            return Err(failed(FetchFailure::Interrupted));
        }
        if let Some(stored) = self.stored(request).map_err(failed)? {
            return Ok(stored);
        }
        if self.http.is_offline() {
            return Err(failed(FetchFailure::Offline(request.url.clone())));
        }
        let mut interrupted = self.interrupted.clone();
        Handle::block_on(self.runtime.handle(), async {
            tokio::select! {
                outcome = self.download(request, downloads) => outcome.map_err(failed),
                _ = interrupted.wait_for(|interrupted| *interrupted) => Err(failed(FetchFailure::Interrupted)),
            }
        })
    }

    /// What the store has of it. A file that was changed on the disk is taken out.
    fn stored(&self, request: &Request) -> Result<Option<Fetched>, FetchFailure> {
        for (algorithm, digest) in &request.digests {
            let Some(object) = self.store.find(*algorithm, digest) else { continue };
            let found = digests(&object.path)?;
            if found.sha256 != object.sha256 {
                self.store.discard(&object)?;
                continue;
            }
            judge(request, &found, None)?;
            self.store.touch(&object);
            return Ok(Some(fetched(request, found, object)));
        }
        Ok(None)
    }

    async fn download(&self, request: &Request, downloads: &Downloads) -> Result<Fetched, FetchFailure> {
        let mut part = self.part(request, downloads).await?;
        // Whoever held the part may have finished it.
        if let Some(stored) = self.stored(request)? {
            part.remove()?;
            return Ok(stored);
        }
        let mut transfer = downloads.start(&request.name, request.size);
        let mut resumed = !part.is_empty()?;
        let mut tries = 0;
        loop {
            let outcome = self.attempt(request, &mut part, &mut transfer).await;
            let failure = match outcome {
                Ok((found, media_type)) => match judge(request, &found, media_type.as_deref()) {
                    Ok(()) => {
                        let object = part.commit(&found)?;
                        transfer.done();
                        return Ok(fetched(request, found, object));
                    }
                    // The part of an earlier run may have been of another file.
                    Err(_) if resumed => {
                        resumed = false;
                        part.clear()?;
                        transfer.restart();
                        continue;
                    }
                    Err(failure) => {
                        part.remove()?;
                        return Err(failure);
                    }
                },
                Err(failure) => failure,
            };
            tries += 1;
            let FetchFailure::Http(error) = &failure else {
                part.remove()?;
                return Err(failure);
            };
            let pause = match error.retry {
                _ if tries >= self.http.patience.tries => None,
                Retry::Never => None,
                Retry::Afresh => {
                    part.clear()?;
                    transfer.restart();
                    Some(Duration::ZERO)
                }
                Retry::After(said) => Some(self.pause(tries, said)),
            };
            let Some(pause) = pause else {
                if part.is_empty()? {
                    part.remove()?;
                }
                return Err(failure);
            };
            downloads.say(&format!("{}: {error}; trying again", request.name));
            tokio::time::sleep(pause).await;
        }
    }

    async fn part(&self, request: &Request, downloads: &Downloads) -> Result<Part, FetchFailure> {
        let mut told = false;
        loop {
            if let Some(part) = self.store.part(&request.url)? {
                return Ok(part);
            }
            if !told {
                told = true;
                downloads.say(&format!("{}: waiting for another process that fetches it", request.name));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Doubled each time, with a part left to chance, so that many clients do not come at once.
    fn pause(&self, tries: u32, said: Option<Duration>) -> Duration {
        use std::hash::{BuildHasher as _, RandomState};
        let patience = &self.http.patience;
        let doubled = patience.pause.saturating_mul(1 << tries.min(16)) / 2;
        let chance = RandomState::new().hash_one(tries) % 1000;
        let jittered = doubled.mul_f64(0.75 + f64::from(u32::try_from(chance).unwrap_or(0)) / 2000.0);
        said.unwrap_or(jittered).min(patience.longest_pause)
    }

    /// One request, and everything that comes of it into the part.
    async fn attempt(
        &self,
        request: &Request,
        part: &mut Part,
        transfer: &mut Transfer<'_>,
    ) -> Result<(Digests, Option<String>), FetchFailure> {
        let there = part.len()?;
        let etag = part.etag();
        let resume = match &etag {
            Some(etag) if there > 0 => Some(Resume { from: there, etag }),
            _ => None,
        };
        let mut answer = self.http.get(&request.url, &request.headers, resume).await?;
        let mut sums = Sums::default();
        if answer.offset == 0 {
            part.clear()?;
            transfer.restart();
        } else {
            sums.read(part.path())?;
            transfer.add(answer.offset);
        }
        check_size(request, &answer)?;
        part.note(answer.etag.clone())?;
        let mut file = part.writer()?;
        while let Some(piece) = answer.body.piece().await? {
            if sums.size + piece.len() as u64 > request.max_size.min(request.size.unwrap_or(u64::MAX)) {
                return Err(FetchFailure::TooLarge {
                    url: request.url.clone(),
                    limit: request.size.unwrap_or(request.max_size),
                });
            }
            Part::append(&mut file, &piece, part.path())?;
            sums.add(&piece);
            transfer.add(piece.len() as u64);
        }
        if let Some(size) = answer.size.or(request.size)
            && sums.size < size
        {
            return Err(HttpError::short(&request.url, sums.size, size).into());
        }
        Ok((sums.finish(), answer.media_type))
    }
}

fn fetched(request: &Request, digests: Digests, object: Object) -> Fetched {
    Fetched { digests, url: request.url.clone(), path: object.path }
}
