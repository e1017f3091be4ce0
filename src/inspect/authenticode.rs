//! Authenticode of the file, or of members of an archive.

use crate::acquire::{SIDECAR, SignedArtifact, SignedMembers};
use crate::diagnostic::{Error, Result};
use crate::io::fs;
use crate::model::evidence::Evidence;
use crate::verify::authenticode::{self, FileKind, SignatureDemand};
use crate::verify::chain::{PinnedRoots, format_time, parse_roots};
use crate::windows::resource::ArchiveFormat;

use super::{AuthenticodeRequest, Job};

impl Job<'_> {
    fn build_demand(&self, wanted: &AuthenticodeRequest) -> Result<SignatureDemand> {
        let pinned = PinnedRoots::read(self.manifests)?;
        let mut demand = SignatureDemand::new(&pinned, self.now());
        if let Some(publisher) = &wanted.publisher {
            demand.publisher = Some(publisher.parse().map_err(|error| {
                Error::value(
                    format!("--publisher {publisher}: {error}"),
                    "write it as `O=Example Inc,CN=Example Inc`",
                )
            })?);
        }
        if let Some(file) = &wanted.root {
            let own = parse_roots(&fs::read_head(file, SIDECAR)?)?;
            demand = demand.with_own_roots(own);
        }
        Ok(demand)
    }

    pub(super) fn authenticode(&self, wanted: &AuthenticodeRequest) -> Result<Vec<Evidence>> {
        let demand = self.build_demand(wanted)?;
        let format = if fs::read_head(self.path, 2)? == b"PK" {
            ArchiveFormat::Zip
        } else {
            ArchiveFormat::TarGz
        };
        let signed = &wanted.members;
        let archive = (!signed.is_empty()).then_some(SignedMembers {
            format,
            signed,
            unsigned: &[],
        });
        let file = SignedArtifact {
            path: self.path,
            name: &self.name(),
            source: None,
            archive,
        };
        Ok(file.check_authenticode(&demand)?)
    }

    /// The file's own words on its signatures, unproven.
    pub(super) fn list_offers(&self) -> Result<Vec<String>> {
        let head = fs::read_head(self.path, 8)?;
        let Some(kind) = FileKind::detect(&self.name(), &head) else {
            return Ok(Vec::new());
        };
        let mut file = fs::open_file(self.path)?;
        Ok(match authenticode::describe_signatures(kind, &mut file) {
            Ok(offers) => offers
                .iter()
                .map(|offer| {
                    let time = offer
                        .timestamp
                        .map_or("no timestamp".to_owned(), |time| format!("timestamp {}", format_time(time)));
                    format!(
                        "an Authenticode signature by {} (issuer {}, {time}), unproven: add `--authenticode`",
                        offer.signer, offer.issuer
                    )
                })
                .collect(),
            Err(error) => vec![format!("no Authenticode signature: {error}")],
        })
    }
}
