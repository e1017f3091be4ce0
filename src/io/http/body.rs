//! The bytes of an answer, as long as they come fast enough.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::{HttpError, Patience};
use crate::base::code::Code;

/// A body that is read piece by piece.
#[derive(Debug)]
pub struct Body {
    url: String,
    response: Response,
    window: Duration,
    least: u64,
    /// When the window ends that is being looked at, and what has come in it.
    ends: Instant,
    came: u64,
}

/// Bytes of a body.
pub type Piece = bytes::Bytes;

impl Body {
    pub(super) fn new(url: &str, response: Response, patience: &Patience) -> Self {
        Self {
            url: url.to_owned(),
            response,
            window: patience.window,
            least: patience.least,
            ends: Instant::now() + patience.window,
            came: 0,
        }
    }

    /// The next piece, or none at the end.
    ///
    /// # Errors
    /// The connection broke, the body is shorter than announced, or it comes too slowly.
    pub async fn next_piece(&mut self) -> Result<Option<Piece>, HttpError> {
        loop {
            match timeout_at(self.ends, self.response.chunk()).await {
                Ok(Ok(Some(piece))) => {
                    self.came += piece.len() as u64;
                    return Ok(Some(piece));
                }
                Ok(Ok(None)) => return Ok(None),
                Ok(Err(error)) => return Err(HttpError::from_client(&self.url, error)),
                // Slow is: a whole window in which less came than must.
                Err(_) if self.came < self.least => {
                    let message = format!(
                        "received only {} bytes in {} s",
                        self.came,
                        self.window.as_secs_f32()
                    );
                    return Err(HttpError::new(Code::TOO_SLOW, &self.url, message).with_retry());
                }
                Err(_) => {
                    self.came = 0;
                    self.ends = Instant::now() + self.window;
                }
            }
        }
    }
}
