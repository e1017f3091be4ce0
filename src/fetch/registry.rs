//! What a registry wants before it gives an image.

use tokio::runtime::Handle;

use super::{FetchError, FetchFailure, Fetcher};
use crate::io::http::Secret;
use crate::io::oci::{self, Reference};

impl Fetcher {
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
}
