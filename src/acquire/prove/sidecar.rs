//! Small files beside an artifact: its publisher's checksum files, signatures and certificates.

use crate::fetch::Fetcher;
use crate::model::plan::PlannedArtifact;
use crate::model::secret::Secret;
use crate::model::url::HttpUrl;
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
    let headers =
        if parse_origin(url.public_url()) == parse_origin(artifact.url.public_url()) { headers } else { &[] };
    match fetcher.fetch_small(&artifact.title(), url, SIDECAR, headers) {
        Ok(bytes) => Ok(Some(Sidecar { bytes, carried: false })),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) if error.is_offline() => match find_carried(url.public_url(), fetcher)? {
            Some(bytes) => Ok(Some(Sidecar { bytes, carried: true })),
            None => Err(error.into()),
        },
        Err(error) => Err(error.into()),
    }
}

fn find_carried(url: &str, fetcher: &Fetcher) -> Result<Option<Vec<u8>>, ProveError> {
    let store = fetcher.store();
    let object = store.find_url(&carried_name(url));
    Ok(object.map(|object| store.read_object(&object)).transpose()?.flatten())
}
