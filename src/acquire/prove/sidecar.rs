//! Small files beside an artifact: its publisher's checksum files, signatures and certificates.

use crate::base::secret::Secret;
use crate::base::url::HttpUrl;
use crate::fetch::Fetcher;
use crate::io::fs::FileError;
use crate::model::plan::PlannedArtifact;
use crate::trust::parse_origin;

use super::ProveError;

/// Largest checksum file or signature.
pub const SIDECAR: u64 = 4 << 20;

/// A file beside an artifact.
pub(super) struct Sidecar {
    pub(super) bytes: Vec<u8>,
    /// It came out of a bundle: it is not its publisher's word, but a signature in it can be verified.
    pub(super) carried: bool,
}

/// The name by which a store remembers what a bundle said of a URL.
#[must_use]
pub fn carried_name(url: &str) -> String {
    format!("carried:{url}")
}

/// None if the server has no such file. The headers of the artifact's host go to that host alone.
pub(super) fn fetch_sidecar(
    artifact: &PlannedArtifact,
    headers: &[(String, Secret)],
    url: &HttpUrl,
    fetcher: &Fetcher,
) -> Result<Option<Sidecar>, ProveError> {
    let headers = if parse_origin(url.public_url()) == parse_origin(artifact.url.public_url()) {
        headers
    } else {
        &[]
    };
    match fetcher.fetch_small(&artifact.title(), url, SIDECAR, headers) {
        Ok(bytes) => Ok(Some(Sidecar {
            bytes,
            carried: false,
        })),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) if error.is_offline() => {
            match read_stored(&carried_name(url.public_url()), fetcher)? {
                Some(bytes) => Ok(Some(Sidecar {
                    bytes,
                    carried: true,
                })),
                None => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The store's copy of a URL, or a bundle's in its place.
///
/// # Errors
/// The store cannot be read.
pub fn find_sidecar(url: &HttpUrl, fetcher: &Fetcher) -> Result<Option<Vec<u8>>, FileError> {
    let stored = read_stored(url.public_url(), fetcher)?;
    if stored.is_some() {
        Ok(stored)
    } else {
        read_stored(&carried_name(url.public_url()), fetcher)
    }
}

/// Whether [`find_sidecar`] finds something.
pub(super) fn is_stored(url: &HttpUrl, fetcher: &Fetcher) -> bool {
    let (store, url) = (fetcher.store(), url.public_url());
    store
        .find_url(url)
        .or_else(|| store.find_url(&carried_name(url)))
        .is_some()
}

fn read_stored(url: &str, fetcher: &Fetcher) -> Result<Option<Vec<u8>>, FileError> {
    let store = fetcher.store();
    let object = store.find_url(url);
    Ok(object
        .map(|object| store.read_object(&object))
        .transpose()?
        .flatten())
}
