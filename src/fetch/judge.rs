//! Whether what came is what was asked for.

use std::path::Path;

use sha2::{Digest as _, Sha256, Sha512};

use crate::embedded::hex;
use crate::io::fs::{Digests, FileError};
use crate::io::http::Answer;
use crate::model::resource::PinAlgorithm;

use super::{FetchFailure, Request};

pub(super) fn check_size(request: &Request, answer: &Answer) -> Result<(), FetchFailure> {
    let Some(announced) = answer.size else { return Ok(()) };
    if let Some(size) = request.size
        && size != announced
    {
        return Err(FetchFailure::Size { url: request.url.clone(), expected: size, found: announced });
    }
    if announced > request.max_size {
        return Err(FetchFailure::TooLarge { url: request.url.clone(), limit: request.max_size });
    }
    Ok(())
}

#[derive(Default)]
pub(super) struct Sums {
    sha256: Sha256,
    sha512: Sha512,
    pub(super) size: u64,
}

impl Sums {
    pub(super) fn add(&mut self, piece: &[u8]) {
        self.sha256.update(piece);
        self.sha512.update(piece);
        self.size += piece.len() as u64;
    }

    pub(super) fn read(&mut self, path: &Path) -> Result<(), FileError> {
        crate::io::fs::pieces(path, |piece| self.add(piece))
    }

    pub(super) fn finish(self) -> Digests {
        Digests {
            sha256: hex(&self.sha256.finalize()),
            sha512: hex(&self.sha512.finalize()),
            size: self.size,
        }
    }
}

/// Whether these bytes are the ones that were asked for.
pub(super) fn judge(
    request: &Request,
    found: &Digests,
    media_type: Option<&str>,
) -> Result<(), FetchFailure> {
    let wrong = request.digests.iter().find(|(algorithm, digest)| of(*algorithm, found) != digest);
    if let Some((algorithm, expected)) = wrong {
        let drift = request.superseded.iter().find(|(algorithm, digest, _)| {
            algorithm.pin().is_some_and(|algorithm| of(algorithm, found) == digest)
        });
        return Err(match drift {
            Some((_, _, seen)) => FetchFailure::Drift { url: request.url.clone(), seen: seen.clone() },
            None => FetchFailure::Digest {
                url: request.url.clone(),
                expected: expected.clone(),
                found: of(*algorithm, found).to_owned(),
                media_type: media_type.map(str::to_owned),
                size: found.size,
            },
        });
    }
    match request.size {
        Some(size) if size != found.size => {
            Err(FetchFailure::Size { url: request.url.clone(), expected: size, found: found.size })
        }
        _ if found.size == 0 => Err(FetchFailure::Empty { url: request.url.clone() }),
        _ => Ok(()),
    }
}

fn of(algorithm: PinAlgorithm, found: &Digests) -> &String {
    match algorithm {
        PinAlgorithm::Sha256 => &found.sha256,
        PinAlgorithm::Sha512 => &found.sha512,
    }
}
