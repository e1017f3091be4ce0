//! Whether bytes are the ones that were asked for.

use super::{FetchFailure, Request};
use crate::base::value::FileDigest;
use crate::io::fs::Digests;
use crate::io::http::Answer;

/// Holds the server's announcement against the request before anything is read.
pub(super) fn check_announced(request: &Request, answer: &Answer) -> Result<(), FetchFailure> {
    let Some(found) = answer.size else {
        return Ok(());
    };
    if let Some(expected) = request.size
        && expected != found
    {
        let media_type = answer.media_type.clone();
        return Err(FetchFailure::Size {
            url: request.url.to_string(),
            expected,
            found,
            media_type,
        });
    }
    if found > request.max_size {
        return Err(FetchFailure::TooLarge {
            url: request.url.to_string(),
            limit: request.max_size,
        });
    }
    Ok(())
}

/// Whether these bytes are the ones that were asked for.
pub(super) fn check_digests(
    request: &Request,
    found: &Digests,
    media_type: Option<&str>,
) -> Result<(), FetchFailure> {
    for expected in &request.digests {
        if has_digest(found, expected) {
            continue;
        }
        let mut superseded = request.superseded.iter();
        if let Some((_, seen)) = superseded.find(|(digest, _)| has_digest(found, digest)) {
            return Err(FetchFailure::Drift {
                url: request.url.to_string(),
                seen: seen.clone(),
            });
        }
        return Err(FetchFailure::Digest {
            url: request.url.to_string(),
            expected: expected.to_string(),
            found: found.digest(expected.algorithm()).to_owned(),
            media_type: media_type.map(str::to_owned),
            size: found.size,
        });
    }
    match request.size {
        Some(expected) if expected != found.size => Err(FetchFailure::Size {
            url: request.url.to_string(),
            expected,
            found: found.size,
            media_type: media_type.map(str::to_owned),
        }),
        _ if found.size == 0 => Err(FetchFailure::Empty {
            url: request.url.to_string(),
        }),
        _ => Ok(()),
    }
}

fn has_digest(found: &Digests, digest: &FileDigest) -> bool {
    found.digest(digest.algorithm()) == digest.as_str()
}
