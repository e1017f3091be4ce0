//! Over which name and version a proof was made: as the catalog, the policy, a checksum file, a signer's identity or the
//! file itself says it.
//!
//! A signature shows whose bytes they are, not which: an older release, or another program of the same publisher, is
//! signed as well. Each proof therefore records what it states, and a file that calls itself otherwise than the plan
//! does is refused, unless the catalog or the policy records its digest.

use std::collections::BTreeMap;

use crate::base::code::Code;
use crate::base::names::is_same_program;
use crate::base::version::{Version, read_numbers};
use crate::catalog::CatalogError;
use crate::fetch::FetchedArtifact;
use crate::io::fs;
use crate::model::component::Member;
use crate::model::evidence::{
    Evidence, ProofKind, STATED_BY, STATED_NAME, STATED_VERSION, Verdict,
};
use crate::model::plan::PlannedArtifact;
use crate::trust::{find_record, is_waived};
use crate::verify::archive::{self, Limits, WantedMembers};
use crate::verify::checksums::LINE;
use crate::verify::statement::{Agreement, FileStatement, read_statement};

use super::{ProveError, Trust, WAIVED};

/// Name, version, and where they are said.
struct Stated {
    name: Option<String>,
    version: Option<String>,
    by: String,
}

/// Names by which a plan calls an artifact. A signer that a definition declares is no part of it: a proof states what
/// its verifier found, and nothing else.
struct PlannedName<'a> {
    component: &'a str,
    version: &'a Version,
    members: &'a [Member],
}

impl<'a> PlannedName<'a> {
    fn from_artifact(artifact: &'a PlannedArtifact) -> Self {
        Self {
            component: &artifact.component,
            version: &artifact.version,
            members: &artifact.members,
        }
    }

    /// Whether a program has the component's own name, or is the only one.
    fn is_main(&self, program: &ProgramStatement) -> bool {
        self.members.len() <= 1 || is_same_program(&program.program, self.component)
    }

    /// The names that a program may call itself.
    fn list_own_names(
        &self,
        program: &'a ProgramStatement,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let component = Some(self.component).filter(|_| self.is_main(program));
        component.into_iter().chain([program.program.as_str()])
    }
}

/// Statement of a program of an artifact.
struct ProgramStatement {
    /// As evidence names it: the file, or `archive!member`.
    subject: String,
    /// Its name in the image.
    program: String,
    statement: FileStatement,
}

/// Adds to each proof which name and version it states, and the statements of the files themselves.
///
/// # Errors
/// The artifact cannot be read again.
pub(super) fn record_statements(
    artifact: &PlannedArtifact,
    fetched: &FetchedArtifact,
    trust: Trust<'_>,
    found: &mut Vec<Evidence>,
) -> Result<(), ProveError> {
    let record = find_record(trust.policy, artifact, trust.catalog);
    let remapped = &artifact.overridden.remapped;
    let programs = if record.is_none() || !remapped.is_empty() {
        read_programs(artifact, fetched)?
    } else {
        Vec::new()
    };
    let planned = PlannedName::from_artifact(artifact);
    for proof in found.iter_mut().filter(|proof| proof.verdict.holds()) {
        let stated = match record {
            Some(record) => Some(Stated {
                name: Some(artifact.component.to_string()),
                version: Some(artifact.version.to_string()),
                by: record.to_owned(),
            }),
            None if is_own_checksum(artifact, proof) => None,
            None => find_stated(&planned, proof, &programs),
        };
        record_stated(proof, stated);
    }
    for program in &programs {
        let judged = judge_program(artifact, fetched, program, trust)?;
        let is_free = record.is_none();
        found.extend(judged.filter(|judged| is_free || is_other_use(artifact, program, judged)));
    }
    Ok(())
}

/// Whether a program of a recorded archive is another one than its member says: the record is of the archive, and the
/// definition says what becomes of its members.
fn is_other_use(artifact: &PlannedArtifact, program: &ProgramStatement, judged: &Evidence) -> bool {
    let mut remapped = artifact.overridden.remapped.iter();
    let is_named = judged.code.as_deref() == Some(Code::STATES_OTHER_NAME.as_str());
    remapped.any(|file| file.as_str() == program.program) && (is_named || judged.is_waived())
}

/// Whether a proof is a checksum file that an override names: what it says of name and version is the word of the
/// definition.
fn is_own_checksum(artifact: &PlannedArtifact, proof: &Evidence) -> bool {
    let source = proof.source.as_deref().unwrap_or_default();
    proof.proof == ProofKind::ChecksumFile && artifact.overridden.has_checksums(source)
}

fn record_stated(proof: &mut Evidence, stated: Option<Stated>) {
    let Some(stated) = stated else {
        proof
            .facts
            .insert(STATED_BY.to_owned(), "nothing".to_owned());
        return;
    };
    let facts = [
        (STATED_NAME, stated.name),
        (STATED_VERSION, stated.version),
        (STATED_BY, Some(stated.by)),
    ];
    for (name, value) in facts {
        proof
            .facts
            .extend(value.map(|value| (name.to_owned(), value)));
    }
}

/// Statement of a proof itself, or else the program that it covers.
fn find_stated(
    planned: &PlannedName<'_>,
    proof: &Evidence,
    programs: &[ProgramStatement],
) -> Option<Stated> {
    let by_proof = match proof.facts.get(LINE) {
        Some(line) => Some(read_line(planned, line)),
        None => read_identity(proof),
    };
    by_proof
        .filter(|stated| stated.version.is_some())
        .or_else(|| find_program(planned, proof, programs))
        .or_else(|| read_description(proof))
}

/// The name and the version in a line such as `containerd-2.3.4-windows-amd64.tar.gz`.
fn read_line(planned: &PlannedName<'_>, line: &str) -> Stated {
    let file = line.rsplit(['/', '\\']).next().unwrap_or(line);
    let lower = file.to_ascii_lowercase();
    let members = planned.members.iter().map(|member| member.file.as_str());
    let mut programs = members.chain([planned.component]);
    // The name ends where another word begins.
    let found = programs.find(|name| {
        let name = name.trim_end_matches(".exe").to_ascii_lowercase();
        let rest = lower.strip_prefix(&name);
        rest.is_some_and(ends_name)
    });
    let version = read_version(file, planned.version);
    Stated {
        name: Some(found.map_or_else(|| file.to_owned(), str::to_owned)),
        version,
        by: "line of the checksum file".to_owned(),
    }
}

/// Whether what follows a name in a file's name belongs to it no more: a version, a platform, the ending.
fn ends_name(rest: &str) -> bool {
    let word = rest.trim_start_matches(['-', '_', '.']);
    let word = word.trim_start_matches('v');
    let ends = [
        "", "windows", "win", "amd64", "x86_64", "x64", "exe", "zip", "tar", "tgz", "msi",
    ];
    word.starts_with(|c: char| c.is_ascii_digit())
        || ends.contains(&word.split(['-', '_', '.']).next().unwrap_or_default())
}

/// The numbers with a dot in a text: the planned version's, or else the first.
fn read_version(text: &str, planned: &Version) -> Option<String> {
    let parts = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut numbers: Vec<&str> = parts
        .map(|part| part.trim_matches('.'))
        .filter(|part| read_numbers(part).len() > 1)
        .collect();
    numbers.sort_by_key(|part| !planned.is_stated_by(part));
    numbers.first().map(|part| (*part).to_owned())
}

/// A workflow states its repository and the tag that it ran for:
/// `https://github.com/OWNER/NAME/.github/workflows/FILE@refs/tags/vVERSION`. Only a verified certificate says it.
fn read_identity(proof: &Evidence) -> Option<Stated> {
    let (workflow, tag) = proof.certified_identity()?.split_once("@refs/tags/")?;
    let path = workflow.split_once("://")?.1;
    Some(Stated {
        name: path.split('/').nth(2).map(str::to_owned),
        version: Some(tag.to_owned()),
        by: "signer's identity".to_owned(),
    })
}

/// The program that a proof covers: a member, the file, or of an archive the program that the component is called by.
fn find_program(
    planned: &PlannedName<'_>,
    proof: &Evidence,
    programs: &[ProgramStatement],
) -> Option<Stated> {
    let covered = programs.iter().find(|one| one.subject == proof.subject);
    let mut main = programs.iter().filter(|one| planned.is_main(one));
    let program = covered.or_else(|| main.next())?;
    let FileStatement {
        names,
        versions,
        places,
    } = &program.statement;
    // Of several names and versions, those that agree with the plan are what it is called; a pre-release is none.
    let name = names.iter().find(|name| {
        planned
            .list_own_names(program)
            .any(|own| is_same_program(own, name))
    });
    let other = versions
        .iter()
        .find(|text| planned.version.is_other_prerelease(text));
    let version = other.or_else(|| {
        let mut texts = versions.iter();
        texts.find(|text| planned.version.is_stated_by(text))
    });
    (!places.is_empty()).then(|| Stated {
        name: name.or(names.first()).cloned(),
        version: version.or(versions.first()).cloned(),
        by: places.join(", "),
    })
}

/// Description of an Authenticode signature, such as `Example Agent 1.2.3`.
fn read_description(proof: &Evidence) -> Option<Stated> {
    let description = proof.facts.get("description")?;
    let mut words = description.split_whitespace();
    let version = words.clone().find(|word| read_numbers(word).len() > 1);
    Some(Stated {
        name: words.next().map(str::to_owned),
        version: version.map(str::to_owned),
        by: "Authenticode description".to_owned(),
    })
}

/// A statement as evidence: it fails where a program calls itself another one, or is of another version.
fn judge_program(
    artifact: &PlannedArtifact,
    fetched: &FetchedArtifact,
    program: &ProgramStatement,
    trust: Trust<'_>,
) -> Result<Option<Evidence>, CatalogError> {
    let statement = &program.statement;
    if statement.places.is_empty() {
        return Ok(None);
    }
    let planned_name = PlannedName::from_artifact(artifact);
    let own: Vec<&str> = planned_name.list_own_names(program).collect();
    let name = statement.compare_name(&own);
    let version = statement.compare_version(&artifact.version);
    let said = statement.describe();
    let place = statement.places.join(" and ");
    let code = match (name, version) {
        (Agreement::Same, Agreement::Other) if planned_name.is_main(program) => {
            Some(Code::STATES_OTHER_VERSION)
        }
        (Agreement::Other, _) if is_known_program(statement, trust)? => {
            Some(Code::STATES_OTHER_NAME)
        }
        _ => None,
    };
    let planned = format!("{} {}", program.program, artifact.version);
    let (verdict, code, detail) = match code {
        Some(_) if is_waived(trust.policy, artifact, ProofKind::Statement) => (
            Verdict::Absent,
            Some(WAIVED),
            format!("its {place} says {said}; a waiver accepts it as {planned}"),
        ),
        Some(code) => (
            Verdict::Failed,
            Some(code),
            format!("its {place} says {said}, and the plan has {planned}"),
        ),
        None if name == Agreement::Same && version == Agreement::Same => {
            (Verdict::Verified, None, format!("its {place} says {said}"))
        }
        None => {
            let detail = format!("its {place} says {said}, which does not tell it as {planned}");
            (Verdict::Absent, None, detail)
        }
    };
    let mut evidence = Evidence {
        proof: ProofKind::Statement,
        verdict,
        subject: program.subject.clone(),
        code: code.map(String::from),
        detail,
        source: Some(fetched.url().to_owned()),
        facts: BTreeMap::new(),
    };
    let stated = Stated {
        name: statement.names.first().cloned(),
        version: statement.versions.first().cloned(),
        by: statement.places.join(", "),
    };
    record_stated(&mut evidence, Some(stated));
    Ok(Some(evidence))
}

/// Whether a name is that of a program or a component of the catalog.
fn is_known_program(statement: &FileStatement, trust: Trust<'_>) -> Result<bool, CatalogError> {
    let known = trust.catalog.list_program_names()?;
    Ok(statement
        .names
        .iter()
        .any(|name| known.iter().any(|known| is_same_program(known, name))))
}

fn read_programs(
    artifact: &PlannedArtifact,
    fetched: &FetchedArtifact,
) -> Result<Vec<ProgramStatement>, ProveError> {
    let Some(format) = artifact.kind.archive_format() else {
        let statement = read_statement(&mut fs::open_file(fetched.path())?)
            .map_err(|error| ProveError::Unreadable(artifact.title(), error))?;
        return Ok(vec![ProgramStatement {
            subject: artifact.file.clone(),
            program: artifact.file.clone(),
            statement,
        }]);
    };
    let members = &artifact.members;
    let wanted = WantedMembers::from_names(members.iter().map(|member| member.member.as_str()));
    let mut programs = Vec::new();
    let walked = archive::read_members(
        fs::open_file(fetched.path())?,
        format,
        &wanted,
        &Limits::default(),
        &mut |entry, content| {
            let unreadable = |error: std::io::Error| archive::unreadable_error(entry, &error);
            let mut member = fs::spool_stream(content).map_err(unreadable)?;
            let statement = read_statement(&mut member).map_err(unreadable)?;
            // One member may become several programs: each of them is judged.
            for own in members {
                if own.member.as_str() == entry.name {
                    programs.push(ProgramStatement {
                        subject: format!("{}!{}", artifact.file, own.member),
                        program: own.file.to_string(),
                        statement: statement.clone(),
                    });
                }
            }
            Ok(())
        },
    );
    walked.map_err(|error| ProveError::Archive {
        name: artifact.title(),
        error,
    })?;
    Ok(programs)
}
