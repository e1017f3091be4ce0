//! One file from the network: tries, resumes, and ends with a whole file or an error.

use std::time::Duration;

use super::answers::is_silence;
use super::check::{check_announced, check_digests};
use super::retry::RetryPlan;
use super::split::split_download;
use super::{FetchFailure, FetchedArtifact, Fetcher, LocatedRequest, Request};
use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::io::fs::{Digests, FileDigester};
use crate::io::http::{HttpError, Resume, Retry};
use crate::io::store::PartialFile;
use crate::ui::{Downloads, Transfer};

/// Bytes after which a download may be tried as often as before.
const PROGRESS: u64 = 1 << 20;

/// A download under way.
pub(super) struct FileTransfer<'a> {
    fetcher: &'a Fetcher,
    located: LocatedRequest<'a>,
    pub(super) request: &'a Request,
    downloads: &'a Downloads,
    pub(super) transfer: Transfer<'a>,
    /// How many requests may be under way for this file.
    pub(super) connections: usize,
    /// Headers of the latest try, with those of its login.
    pub(super) headers: Vec<(String, Secret)>,
    /// Token of the latest try, and how far the file was when one was refused.
    token: Option<u64>,
    refused_at: Option<u64>,
    plan: RetryPlan<'a>,
    /// How far the file was when it last came further.
    furthest: u64,
}

/// The file that one try brought.
struct WholeFile {
    digests: Digests,
    media_type: Option<String>,
}

impl<'a> FileTransfer<'a> {
    pub(super) fn new(
        fetcher: &'a Fetcher,
        located: LocatedRequest<'a>,
        downloads: &'a Downloads,
        connections: usize,
    ) -> Self {
        let request = located.asked;
        let transfer = downloads.start_transfer(&request.name, request.size);
        let patience = &fetcher.http.patience;
        let plan = if fetcher.answers.is_silent(&request.url) {
            RetryPlan::with_one_try(patience)
        } else {
            RetryPlan::new(patience)
        };
        Self {
            fetcher,
            located,
            request,
            downloads,
            transfer,
            connections,
            headers: Vec::new(),
            token: None,
            refused_at: None,
            plan,
            furthest: 0,
        }
    }

    pub(super) fn http(&self) -> &crate::io::http::Http {
        &self.fetcher.http
    }

    pub(super) async fn run(mut self) -> Result<FetchedArtifact, FetchFailure> {
        let mut part = self.open_part().await?;
        // Whoever held the part may have finished it.
        if let Some(stored) = self.fetcher.find_stored(self.located)? {
            part.remove()?;
            self.transfer.finish_transfer();
            return Ok(stored);
        }
        let mut resumed = !part.is_empty()?;
        self.furthest = part.len()?;
        loop {
            let failure = match self.attempt_download(&mut part).await {
                Ok(whole) => {
                    match check_digests(self.request, &whole.digests, whole.media_type.as_deref()) {
                        Ok(()) => {
                            let object = part.commit(&whole.digests)?;
                            self.transfer.finish_transfer();
                            let digests = whole.digests;
                            return Ok(FetchedArtifact::new(&self.located, digests, object));
                        }
                        // The part of an earlier run may have been of another file.
                        Err(_) if resumed => {
                            resumed = false;
                            part.clear()?;
                            continue;
                        }
                        Err(failure) => failure,
                    }
                }
                Err(failure) => self.name_registry(failure),
            };
            let Some(pause) = self.plan_retry(&failure, &mut part).await? else {
                // Only bytes that may become the right ones are kept.
                if !matches!(failure, FetchFailure::Http(_)) || part.is_empty()? {
                    part.remove()?;
                }
                return Err(failure);
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// How long to wait before the next try, if there is to be one.
    async fn plan_retry(
        &mut self,
        failure: &FetchFailure,
        part: &mut PartialFile,
    ) -> Result<Option<Duration>, FetchFailure> {
        let FetchFailure::Http(error) = failure else {
            return Ok(None);
        };
        let length = part.len()?;
        if length >= self.furthest + PROGRESS {
            self.furthest = length;
            self.plan.start_over();
        }
        if !is_silence(error.code) {
            self.plan.allow_all();
        }
        if !self.plan.count_try() {
            return Ok(None);
        }
        let pause = match error.retry {
            Retry::Never => return Ok(None),
            Retry::Login => {
                let is_renewed = self.renew_login(length).await;
                return Ok(is_renewed.then_some(Duration::ZERO));
            }
            Retry::Afresh => {
                part.clear()?;
                Duration::ZERO
            }
            Retry::After(said) => self.plan.backoff_delay(said),
        };
        // Many connections may be what the server does not like.
        self.connections = (self.connections / 2).max(1);
        self.downloads
            .print_line(&format!("{}: {error}; trying again", self.request.name));
        Ok(Some(pause))
    }

    /// Gives the refused token of a registry up for a new one. False where there is none, or where the file came no
    /// further with the one before.
    async fn renew_login(&mut self, length: u64) -> bool {
        let (Some(login), Some(token)) = (&self.request.login, self.token) else {
            return false;
        };
        if self.refused_at.replace(length) == Some(length) {
            return false;
        }
        login.forget_token(token).await;
        true
    }

    /// A registry refuses for want of a login, which is named otherwise than the headers of a file.
    fn name_registry(&self, failure: FetchFailure) -> FetchFailure {
        match failure {
            FetchFailure::Http(error)
                if self.request.login.is_some() && error.code == Code::FORBIDDEN =>
            {
                let code = Code::REGISTRY_LOGIN;
                FetchFailure::Http(HttpError { code, ..error })
            }
            other => other,
        }
    }

    /// Reads the headers of a try: those of the file, and those of the login that the registry wants now.
    async fn read_headers(&mut self) -> Result<(), HttpError> {
        self.headers.clone_from(&self.request.headers);
        if let Some(login) = &self.request.login {
            let own = login.read_headers(&self.fetcher.http).await?;
            self.token = own.token;
            self.headers.extend(own.headers);
        }
        Ok(())
    }

    async fn open_part(&self) -> Result<PartialFile, FetchFailure> {
        let mut told = false;
        loop {
            if let Some(part) = self
                .fetcher
                .store
                .open_part(self.request.url.public_url())?
            {
                return Ok(part);
            }
            if !told {
                told = true;
                self.downloads.print_line(&format!(
                    "{}: waiting for another process that downloads it",
                    self.request.name
                ));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// One request, or several at once, and everything that comes of it into the part.
    async fn attempt_download(
        &mut self,
        part: &mut PartialFile,
    ) -> Result<WholeFile, FetchFailure> {
        self.transfer.restart();
        let request = self.request;
        let there = part.len()?;
        let mut sums = FileDigester::new(request.digest_set());
        // A process that died before it could name the file left all of it.
        if there > 0 && request.size == Some(there) && !request.digests.is_empty() {
            part.copy_range(0, there, &mut sums)?;
            return Ok(WholeFile {
                digests: sums.finish(),
                media_type: None,
            });
        }
        let resume = match part.etag() {
            Some(etag) if there > 0 => Some(Resume {
                from: there,
                length: None,
                etag,
            }),
            _ => None,
        };
        self.read_headers().await?;
        let mut answer = self
            .http()
            .get(request.url.request_url(), &self.headers, resume)
            .await?;
        if answer.offset == 0 {
            part.clear()?;
        } else {
            part.copy_range(0, answer.offset, &mut sums)?;
            self.transfer.add(answer.offset);
        }
        check_announced(request, &answer)?;
        answer
            .size
            .into_iter()
            .for_each(|size| self.transfer.announce_size(size));
        part.record_etag(answer.etag.as_deref())?;
        let media_type = answer.media_type.take();
        if let Some((size, etag)) = self.find_split(&answer) {
            drop(answer);
            split_download(self, part, &mut sums, size, &etag).await?;
            return Ok(WholeFile {
                digests: sums.finish(),
                media_type,
            });
        }
        let limit = request.max_size.min(request.size.unwrap_or(u64::MAX));
        part.seek_end()?;
        while let Some(piece) = answer.body.next_piece().await? {
            if sums.size() + piece.len() as u64 > limit {
                return Err(FetchFailure::TooLarge {
                    url: request.url.to_string(),
                    limit,
                });
            }
            part.append(&piece)?;
            sums.add(&piece);
            self.transfer.add(piece.len() as u64);
        }
        match answer.size.or(request.size) {
            Some(size) if sums.size() < size => {
                Err(HttpError::short_body(request.url.public_url(), sums.size(), size).into())
            }
            _ => Ok(WholeFile {
                digests: sums.finish(),
                media_type,
            }),
        }
    }

    /// Size and tag of a file that is worth several connections.
    fn find_split(&self, answer: &crate::io::http::Answer) -> Option<(u64, String)> {
        let (size, etag) = (answer.size?, answer.etag.clone()?);
        let worth = size.saturating_sub(answer.offset) >= self.http().patience.split_from;
        (worth && answer.ranges && self.connections > 1).then_some((size, etag))
    }
}
