//! A large file over several connections: pieces in order of the file, so that hashing follows and
//! an interrupt loses little.

use std::collections::VecDeque;

use tokio::task::JoinHandle;

use super::FetchFailure;
use super::download::FileTransfer;
use crate::base::secret::Secret;
use crate::base::url::HttpUrl;
use crate::io::fs::FileDigester;
use crate::io::http::{Http, HttpError, Resume};
use crate::io::store::{PartWriter, PartialFile};

/// Requests under way, the first of the file first. They end with it.
#[derive(Default)]
struct UnderWay(VecDeque<JoinHandle<Result<(), FetchFailure>>>);

impl UnderWay {
    /// None of them writes any more when this returns.
    async fn stop(&mut self) {
        for handle in self.0.drain(..) {
            handle.abort();
            // How it ended is of no interest.
            drop(handle.await);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        for handle in &self.0 {
            handle.abort();
        }
    }
}

/// Reads the rest of a file of `size` bytes into the part.
pub(super) async fn split_download(
    download: &mut FileTransfer<'_>,
    part: &mut PartialFile,
    sums: &mut FileDigester,
    size: u64,
    etag: &str,
) -> Result<(), FetchFailure> {
    part.record_prefix(sums.size())?;
    let mut under_way = UnderWay::default();
    let outcome = fetch_in_order(download, part, sums, size, etag, &mut under_way).await;
    under_way.stop().await;
    part.truncate(sums.size())?;
    outcome
}

async fn fetch_in_order(
    download: &mut FileTransfer<'_>,
    part: &mut PartialFile,
    sums: &mut FileDigester,
    size: u64,
    etag: &str,
    under_way: &mut UnderWay,
) -> Result<(), FetchFailure> {
    let at_most = download.http().patience.split_piece;
    let (http, pen) = (download.http().clone(), part.share_writer());
    let mut next = sums.size();
    while sums.size() < size {
        while under_way.0.len() < download.connections && next < size {
            let piece = RangeRequest {
                http: http.clone(),
                url: download.request.url.clone(),
                headers: download.headers.clone(),
                etag: etag.to_owned(),
                pen: pen.clone(),
                from: next,
                length: (size - next).min(at_most),
            };
            next += piece.length;
            under_way.0.push_back(tokio::spawn(piece.fetch()));
        }
        let Some(first) = under_way.0.front_mut() else {
            break;
        };
        let outcome = first.await;
        under_way.0.pop_front();
        outcome.map_err(|error| FetchFailure::System(error.to_string()))??;
        let came = (size - sums.size()).min(at_most);
        part.copy_range(sums.size(), came, sums)?;
        part.record_prefix(sums.size())?;
        download.transfer.add(came);
    }
    Ok(())
}

/// One request.
struct RangeRequest {
    http: Http,
    url: HttpUrl,
    headers: Vec<(String, Secret)>,
    etag: String,
    pen: PartWriter,
    from: u64,
    length: u64,
}

impl RangeRequest {
    async fn fetch(self) -> Result<(), FetchFailure> {
        let resume = Resume {
            from: self.from,
            length: Some(self.length),
            etag: &self.etag,
        };
        let mut answer = self
            .http
            .get(self.url.request_url(), &self.headers, Some(resume))
            .await?;
        // The file is another one by now, or the server no longer knows ranges.
        if answer.offset != self.from {
            return Err(HttpError::wrong_part(self.url.public_url()).into());
        }
        let mut came = 0;
        while let Some(piece) = answer.body.next_piece().await? {
            let offset = self.from + came;
            came += piece.len() as u64;
            if came > self.length {
                return Err(HttpError::wrong_part(self.url.public_url()).into());
            }
            self.pen.write_at(&piece, offset)?;
        }
        if came < self.length {
            return Err(HttpError::short_body(self.url.public_url(), came, self.length).into());
        }
        Ok(())
    }
}
