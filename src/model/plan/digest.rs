//! Digests that decide which bytes of an artifact are used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::value::{FileDigest, PinAlgorithm, ValueError};
use crate::model::component::Confidence;

/// A digest with where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "PinnedDigestRecord", into = "PinnedDigestRecord")]
#[schemars(with = "PinnedDigestRecord")]
pub struct PinnedDigest {
    pub digest: FileDigest,
    pub confidence: Confidence,
    pub source: Vec<String>,
}

/// The same in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinnedDigestRecord {
    algorithm: PinAlgorithm,
    digest: String,
    confidence: Confidence,
    source: Vec<String>,
}

impl TryFrom<PinnedDigestRecord> for PinnedDigest {
    type Error = ValueError;

    fn try_from(record: PinnedDigestRecord) -> Result<Self, ValueError> {
        let PinnedDigestRecord {
            algorithm,
            digest,
            confidence,
            source,
        } = record;
        Ok(Self {
            digest: FileDigest::new(algorithm, digest)?,
            confidence,
            source,
        })
    }
}

impl From<PinnedDigest> for PinnedDigestRecord {
    fn from(pin: PinnedDigest) -> Self {
        let (algorithm, digest) = (pin.digest.algorithm(), pin.digest.to_string());
        Self {
            algorithm,
            digest,
            confidence: pin.confidence,
            source: pin.source,
        }
    }
}
