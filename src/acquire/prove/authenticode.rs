//! Authenticode of an artifact, or of the members of one.

use std::time::Duration;

use rustls_pki_types::UnixTime;

use crate::fetch::Fetched;
use crate::io::fs;
use crate::model::component::Authenticode;
use crate::model::evidence::{Evidence, ProofKind};
use crate::model::plan::PlannedArtifact;
use crate::verify::archive::{self, Limits, Wanted};
use crate::verify::authenticode::{Policy, Publisher, verify_source};
use crate::verify::chain::{PinnedRoots, parse_roots};
use crate::verify::{ProofError, record_evidence};

use super::ProveError;

/// Largest file whose signature is looked at.
const LARGEST: u64 = 1 << 30;

pub(super) fn check_authenticode(
    artifact: &PlannedArtifact,
    fetched: &Fetched,
    pinned: &PinnedRoots,
    now: u64,
    found: &mut Vec<Evidence>,
) -> Result<(), ProveError> {
    let Some(wanted) = &artifact.authenticode else {
        return Ok(());
    };
    let policy = build_policy(wanted, pinned, now)?;
    let Some(format) = artifact
        .kind
        .archive_format()
        .filter(|_| !wanted.members.is_empty())
    else {
        let outcome = verify_source(&artifact.file, &mut fs::open_file(fetched.path())?, &policy);
        found.push(record_evidence(
            ProofKind::Authenticode,
            &artifact.file,
            Some(fetched.url()),
            outcome,
        ));
        return Ok(());
    };
    let file = fs::open_file(fetched.path())?;
    let mut all = Vec::new();
    let members = archive::read_members(
        file,
        format,
        &Wanted::from_globs(&wanted.members),
        &Limits {
            entry: LARGEST,
            ..Limits::default()
        },
        &mut |entry, content| {
            let name = &entry.name;
            let mut member = fs::spool_stream(content)
                .map_err(|error| archive::unreadable_error(entry, &error))?;
            let excepted = wanted
                .unsigned
                .iter()
                .any(|glob| archive::matches_glob(glob, name));
            let subject = format!("{}!{name}", artifact.file);
            let outcome = match (verify_source(name, &mut member, &policy), excepted) {
                (Err(error), true) if error.code == "unsigned" => return Ok(()),
                (Ok(_), true) => Err(ProofError::new(
                    "exception-unnecessary",
                    "it is signed; remove it from `unsigned`",
                )),
                (outcome, _) => outcome,
            };
            all.push(record_evidence(
                ProofKind::Authenticode,
                &subject,
                Some(fetched.url()),
                outcome,
            ));
            Ok(())
        },
    );
    found.append(&mut all);
    if let Err(error) = members {
        found.push(record_evidence(
            ProofKind::Authenticode,
            &artifact.file,
            Some(fetched.url()),
            Err(error),
        ));
    }
    Ok(())
}

fn build_policy(
    wanted: &Authenticode,
    pinned: &PinnedRoots,
    now: u64,
) -> Result<Policy, ProofError> {
    let mut policy = Policy::new(pinned, UnixTime::since_unix_epoch(Duration::from_secs(now)));
    let publisher: Publisher = wanted
        .publisher
        .parse()
        .map_err(|error| ProofError::new("publisher", format!("{error}")))?;
    policy.publisher = Some(publisher);
    if let Some(pem) = &wanted.roots {
        let own = parse_roots(pem.as_bytes())
            .map_err(|error| ProofError::new("roots", error.to_string()))?;
        policy.timestamp_roots.extend(own.iter().cloned());
        policy.roots = own;
    }
    Ok(policy)
}
