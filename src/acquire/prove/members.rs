//! Digests of the members that images use: the guest compares them after unpacking, so that what was verified is
//! what is unpacked, whatever the program that unpacks makes of the archive.

use std::fs::File;

use crate::base::code::Code;
use crate::base::value::Sha256;
use crate::fetch::FetchedArtifact;
use crate::io::fs;
use crate::model::plan::PlannedArtifact;
use crate::verify::ProofError;
use crate::verify::archive::{self, Limits, WantedMembers};
use crate::windows::resource::ArchiveFormat;

use super::ProveError;

/// Reads the archive whole, and records the digest of each member that is used.
///
/// # Errors
/// The archive is damaged, ambiguous or hostile, lacks a member, or a member has another digest than its record.
pub(super) fn verify_members(
    artifact: &mut PlannedArtifact,
    fetched: &FetchedArtifact,
) -> Result<(), ProveError> {
    let format = artifact.kind.archive_format();
    let Some(format) = format.filter(|_| !artifact.members.is_empty()) else {
        return Ok(());
    };
    let name = artifact.title();
    let file = fs::open_file(fetched.path())?;
    record_members(artifact, file, format).map_err(|error| ProveError::Archive { name, error })
}

fn record_members(
    artifact: &mut PlannedArtifact,
    file: File,
    format: ArchiveFormat,
) -> Result<(), ProofError> {
    let names = artifact.members.iter().map(|member| member.member.as_str());
    let wanted = WantedMembers::from_names(names);
    let digests =
        archive::read_members(
            file,
            format,
            &wanted,
            &Limits::default(),
            &mut |_, _| Ok(()),
        )?;
    for member in &mut artifact.members {
        let own = member.member.as_str();
        let Some(digest) = digests.iter().find(|digest| digest.name == own) else {
            continue;
        };
        let found: Sha256 = digest.sha256.parse().map_err(|_| empty_member_error(own))?;
        let stated = member.sha256.replace(found.clone());
        if let Some(stated) = stated
            && stated != found
        {
            let message = format!("the member `{own}` has the digest {found}, expected {stated}");
            return Err(ProofError::new(Code::MEMBER_DIGEST, message));
        }
    }
    Ok(())
}

fn empty_member_error(name: &str) -> ProofError {
    ProofError::new(
        Code::ARCHIVE_MEMBER_EMPTY,
        format!("the member `{name}` is empty"),
    )
}
