//! Small files beside an artifact: its publisher's checksum files, signatures and certificates.

use crate::base::digest::sha256_hex;
use crate::base::secret::Secret;
use crate::base::url::HttpUrl;
use crate::fetch::Fetcher;
use crate::io::fs::FileError;
use crate::io::store::Object;
use crate::model::plan::PlannedArtifact;
use crate::trust::parse_origin;

use super::ProveError;

/// Largest checksum file or signature.
pub const SIDECAR: u64 = 4 << 20;

/// A file beside an artifact.
pub(super) struct Sidecar {
    pub bytes: Vec<u8>,
    /// It came out of a bundle: it is not its publisher's word, but a signature in it can be verified.
    pub carried: bool,
    /// A mirror gave it.
    pub mirrored: bool,
}

/// The name by which a store remembers what a bundle said of a URL.
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
        Ok(bytes) => {
            let mirrored = fetcher.is_mirrored(url);
            if mirrored {
                // Without the mirror, it is found as something that was brought.
                let digest = sha256_hex(&bytes);
                let name = carried_name(url.public_url());
                fetcher.store().record_origin(&name, &digest)?;
            }
            Ok(Some(Sidecar {
                bytes,
                carried: false,
                mirrored,
            }))
        }
        Err(error) if error.is_absent() => Ok(None),
        Err(error) if error.is_offline() => {
            match read_stored(find_carried(url, fetcher), fetcher)? {
                Some(bytes) => Ok(Some(Sidecar {
                    bytes,
                    carried: true,
                    mirrored: false,
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
    let stored = read_stored(fetcher.find_url(url), fetcher)?;
    if stored.is_some() {
        Ok(stored)
    } else {
        read_stored(find_carried(url, fetcher), fetcher)
    }
}

/// Whether [`find_sidecar`] finds something.
pub(in crate::acquire) fn is_stored(url: &HttpUrl, fetcher: &Fetcher) -> bool {
    let found = fetcher.find_url(url);
    found.or_else(|| find_carried(url, fetcher)).is_some()
}

fn find_carried(url: &HttpUrl, fetcher: &Fetcher) -> Option<Object> {
    fetcher.store().find_url(&carried_name(url.public_url()))
}

fn read_stored(object: Option<Object>, fetcher: &Fetcher) -> Result<Option<Vec<u8>>, FileError> {
    let store = fetcher.store();
    Ok(object
        .map(|object| store.read_object(&object))
        .transpose()?
        .flatten())
}
