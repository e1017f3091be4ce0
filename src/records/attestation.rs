//! Statements about a recorded image: made, signed, written, and verified.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::attest::diff::DescribedImage;
use crate::attest::inventory::Item;
use crate::attest::key::AttestationKey;
use crate::attest::sbom::format_cyclonedx;
use crate::attest::statement::{
    DigestedFile, NamedSubject, Provenance, describe_checks, describe_provenance, format_statement,
};
use crate::bake::CHECK_REPORT;
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json::{format_json, parse_foreign, to_bytes};
use crate::base::program::ProgramVersion;
use crate::base::shell::quote_argument;
use crate::base::text::parent_folder;
use crate::base::url::is_plain_uri;
use crate::base::value::Sha256;
use crate::diagnostic::{Error, Result};
use crate::guest::GUEST_PLAN_FILE;
use crate::io::fs::{self, Scratch};
use crate::lock::LOCK_FILE;
use crate::model::evidence::StatementKind;
use crate::selection::SourceFolders;
use crate::ui::Printer;
use crate::verify::{ProofError, cosign, dsse};
use crate::workspace::{ATTESTATIONS, IMAGE_RECORD};

use super::image::ImageRecord;
use super::tool::run_and_collect;
use super::{WorkspaceFiles, describe_record, list_bill, read_bill_sources};

/// Name of the schema of `imagegen attest --format json`.
pub const ATTEST_SCHEMA: &str = "imagegen.dev/attest/v1";

/// Files of a record that its provenance names.
const BYPRODUCTS: &[&str] = &[
    CHECK_REPORT,
    "packer.log",
    "packer-manifest.json",
    "timeline.json",
];

/// `imagegen attest --format json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestOutput {
    pub schema: &'static str,
    pub image: String,
    /// Subjects of the statements: name and SHA-256.
    pub subjects: Vec<AttestedSubject>,
    pub statements: Vec<WrittenStatement>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestedSubject {
    pub name: String,
    pub sha256: String,
}

/// One statement, as files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenStatement {
    pub kind: StatementKind,
    pub predicate_type: &'static str,
    pub statement: String,
    /// The predicate alone, as `cosign attest-blob --predicate` reads it.
    pub predicate: String,
    /// The signed statement; absent if nothing signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// Command of a pipeline that signs it; absent if it is signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The statements that a user asks for.
#[derive(Debug, Clone, Default)]
pub struct AttestRequest {
    /// Workspace, folder of a record, or `image.json`.
    pub image: PathBuf,
    /// Folder for the statements; beside the record if it is not named.
    pub out: Option<PathBuf>,
    /// Private key in PEM.
    pub key: Option<PathBuf>,
    /// Program that signs, and its public key in PEM.
    pub sign_command: Option<(String, PathBuf)>,
    /// The builder in the provenance.
    pub builder_id: Option<BuilderId>,
    /// Digest of the record, as the build printed it.
    pub sha256: Option<Sha256>,
}

/// URI of a builder, which provenance publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuilderId(String);

impl BuilderId {
    /// # Errors
    /// The text is no URI, or has a part that may be a secret; the error does not show it.
    pub fn new(text: &str) -> Result<Self> {
        if is_plain_uri(text) {
            return Ok(Self(text.to_owned()));
        }
        let message = "the builder's id is no URI without user, query and fragment";
        let remedy = "provenance is published; name the builder alone, such as `https://ci.example.com/runners/images`";
        Err(Error::value(message, remedy))
    }
}

/// The signer of statements.
enum StatementSigner {
    Nobody,
    Key(Box<AttestationKey>, String),
    Command { command: String, public_key: String },
}

/// Writes the statements about an image, signed if there is a signer.
///
/// # Errors
/// The image has no record, its build failed, or the signature cannot be made.
pub fn attest_image(
    request: &AttestRequest,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<AttestOutput> {
    let file = find_record(&request.image);
    let bytes = fs::read_file(&file).map_err(|error| {
        let remedy = "name a workspace with an image, or a folder `builds/VERSION`";
        Error::value(error.to_string(), remedy)
    })?;
    let record = ImageRecord::decode(&file.display().to_string(), &bytes)?;
    if let Some(error) = &record.error {
        let message = format!("{}: the build failed: {}", file.display(), error.message);
        let remedy = "attest an image that was built: `imagegen history` lists them";
        return Err(Error::value(message, remedy));
    }
    let signer = read_signer(request)?;
    let folder = parent_folder(&file).to_owned();
    compare_record(request, &file, &bytes, printer)?;
    let mut files = read_files(&folder, &record, printer)?;
    let subjects = list_subjects_of(&record, &bytes);
    let beside = WorkspaceFiles {
        lock: files.kept.remove(LOCK_FILE),
        guest: files.kept.remove(GUEST_PLAN_FILE),
    };
    let image = describe_record(&file, &bytes, &beside, sources)?;
    let predicates = make_predicates(request, &image, &files, &record, sources)?;

    let out = request
        .out
        .clone()
        .unwrap_or_else(|| folder.join(ATTESTATIONS));
    let mut statements = Vec::new();
    for (kind, predicate) in predicates {
        let statement = format_statement(kind, &subjects, &predicate);
        statements.push(write_statement(kind, &statement, &out, &file, &signer)?);
    }
    Ok(AttestOutput {
        schema: ATTEST_SCHEMA,
        image: file.display().to_string(),
        subjects: subjects
            .into_iter()
            .map(|it| AttestedSubject {
                name: it.name,
                sha256: it.sha256,
            })
            .collect(),
        statements,
    })
}

/// The `image.json` of a folder, or the file itself.
pub fn find_record(image: &Path) -> PathBuf {
    if image.is_dir() {
        image.join(IMAGE_RECORD)
    } else {
        image.to_owned()
    }
}

/// The record against the digest that the build printed. Nothing beside a record can protect it.
fn compare_record(
    request: &AttestRequest,
    file: &Path,
    bytes: &[u8],
    printer: &Printer,
) -> Result<()> {
    let Some(expected) = &request.sha256 else {
        let message = format!(
            "{} was taken as it lies there; `--sha256 HEX` compares it with what `imagegen build` printed",
            file.display()
        );
        printer.print_note(&message);
        return Ok(());
    };
    let found = sha256_hex(bytes);
    if found == expected.as_str() {
        return Ok(());
    }
    let message = format!(
        "{} is not the record of the build: it has the SHA-256 {found}, not {expected}",
        file.display()
    );
    Err(ProofError::new(Code::FILE_DIFFERS, message).into())
}

/// Files of which a statement has more than the digest.
const KEPT: &[&str] = &[LOCK_FILE, CHECK_REPORT, GUEST_PLAN_FILE];

/// Files beside a record. Each is read once: what was compared is what is signed.
#[derive(Default)]
struct ReadFiles {
    digests: BTreeMap<String, String>,
    kept: BTreeMap<String, Vec<u8>>,
}

impl ReadFiles {
    /// Reads a file, and says whether it is there.
    fn add(&mut self, folder: &Path, name: &str) -> Result<bool> {
        let path = folder.join(name);
        if self.digests.contains_key(name) {
            return Ok(true);
        }
        if !fs::is_file(&path) {
            return Ok(false);
        }
        let digest = if KEPT.contains(&name) {
            let bytes = fs::read_text(&path)?;
            let digest = sha256_hex(&bytes);
            self.kept.insert(name.to_owned(), bytes);
            digest
        } else {
            fs::digest_file(&path)?.sha256
        };
        self.digests.insert(name.to_owned(), digest);
        Ok(true)
    }

    /// Digests of those files that are there.
    fn list_digests(&self, names: &[&str]) -> Vec<DigestedFile> {
        let mut files = Vec::new();
        for name in names {
            if let Some(sha256) = self.digests.get(*name) {
                files.push(DigestedFile {
                    name: (*name).to_owned(),
                    sha256: sha256.clone(),
                });
            }
        }
        files
    }
}

/// The files beside the record against the digests that it names: they are signed with it. One of an image may be
/// elsewhere, which is said.
fn read_files(folder: &Path, record: &ImageRecord, printer: &Printer) -> Result<ReadFiles> {
    let refuse = |name: &str, reason: &str| {
        let place = folder.join(name);
        let message = format!(
            "{}: {reason}; attest the folder as the build left it",
            place.display()
        );
        Err(ProofError::new(Code::FILE_DIFFERS, message).into())
    };
    let mut files = ReadFiles::default();
    let mut missing: Vec<&str> = Vec::new();
    for (name, sha256) in record.list_files() {
        if !files.add(folder, name)? {
            missing.push(name);
        } else if files.digests[name] != sha256 {
            let found = &files.digests[name];
            let reason = format!("the record names the SHA-256 {sha256}, the file has {found}");
            return refuse(name, &reason);
        }
    }
    // The statement of the check would be about them.
    for name in [CHECK_REPORT, GUEST_PLAN_FILE] {
        let is_checked = name == CHECK_REPORT || record.files.contains_key(CHECK_REPORT);
        if is_checked && missing.contains(&name) {
            return refuse(name, "the record names this file, and it is missing");
        }
    }
    if !missing.is_empty() {
        printer.print_note(&format!(
            "not compared, because they are not beside the record: {}",
            missing.join(", ")
        ));
    }

    let is_older = record.files.is_empty();
    for name in BYPRODUCTS.iter().copied().chain([GUEST_PLAN_FILE]) {
        if is_older {
            files.add(folder, name)?;
        } else if !record.files.contains_key(name) && fs::is_file(&folder.join(name)) {
            return refuse(name, "the record does not name this file");
        }
    }
    if is_older {
        let message = "the record is of an older imagegen and names no files of the build: they are taken as they lie there";
        printer.print_warning(message);
    }
    Ok(files)
}

/// The files of an image by their digests; an image of a cloud by its id with the digest of its lock; the record
/// itself, which names both.
fn list_subjects_of(record: &ImageRecord, bytes: &[u8]) -> Vec<NamedSubject> {
    let mut subjects = Vec::new();
    for artifact in &record.artifacts {
        for file in &artifact.files {
            subjects.push(NamedSubject {
                name: file.path.clone(),
                sha256: file.sha256.clone(),
            });
        }
        if artifact.files.is_empty() {
            subjects.push(NamedSubject {
                name: artifact.id.clone(),
                sha256: record.lock.clone(),
            });
        }
    }
    subjects.push(NamedSubject {
        name: IMAGE_RECORD.to_owned(),
        sha256: sha256_hex(bytes),
    });
    subjects
}

fn make_predicates(
    request: &AttestRequest,
    image: &DescribedImage,
    files: &ReadFiles,
    record: &ImageRecord,
    sources: &SourceFolders,
) -> Result<Vec<(StatementKind, Value)>> {
    let parts = read_bill_sources(image, sources)?;
    let bill = list_bill(image, &parts);
    let items: &[Item] = &bill.items;
    let value = serde_json::to_value(record).unwrap_or_default();
    let provenance = describe_provenance(&Provenance {
        lock: bill.lock,
        record: &value,
        items,
        builder: request
            .builder_id
            .as_ref()
            .map_or_else(|| name_builder(record), |id| id.0.clone()),
        byproducts: files.list_digests(BYPRODUCTS),
        program: ProgramVersion::current(),
    });
    let mut predicates = vec![
        (StatementKind::Provenance, provenance),
        (StatementKind::Sbom, format_cyclonedx(&bill)),
    ];
    if let Some(bytes) = files.kept.get(CHECK_REPORT) {
        let report: Value = parse_foreign(bytes).map_err(|error| {
            let message = format!("{CHECK_REPORT}: {error}");
            Error::value(message, "it is what the bake left; build the image again")
        })?;
        let configuration = files.list_digests(&[GUEST_PLAN_FILE]);
        let predicate = describe_checks(&report, &configuration, record.run_url.as_deref());
        predicates.push((StatementKind::CheckReport, predicate));
    }
    Ok(predicates)
}

/// The server of the pipeline that ran the build; a URN for a build outside of one.
fn name_builder(record: &ImageRecord) -> String {
    let url = record.run_url.as_deref().unwrap_or_default();
    let server = url.split_once("://").map(|(scheme, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        format!("{scheme}://{host}")
    });
    server.unwrap_or_else(|| "urn:imagegen:builder".to_owned())
}

fn read_signer(request: &AttestRequest) -> Result<StatementSigner> {
    if let Some(path) = &request.key {
        let pem = crate::base::secret::Secret::new(fs::read_file(path)?);
        let key = AttestationKey::parse(&pem).map_err(|error| {
            crate::diagnostic::Error::from(error).with_context(path.display().to_string())
        })?;
        let public_key = key.format_public_key();
        return Ok(StatementSigner::Key(Box::new(key), public_key));
    }
    match &request.sign_command {
        Some((command, path)) => Ok(StatementSigner::Command {
            command: command.clone(),
            public_key: String::from_utf8_lossy(&fs::read_file(path)?).into_owned(),
        }),
        None => Ok(StatementSigner::Nobody),
    }
}

fn write_statement(
    kind: StatementKind,
    statement: &Value,
    out: &Path,
    record: &Path,
    signer: &StatementSigner,
) -> Result<WrittenStatement> {
    let file = |end: &str| out.join(format!("{}.{end}", kind.as_str()));
    let (plain, predicate) = (file("intoto.json"), file("predicate.json"));
    let payload = to_bytes(statement);
    fs::write_file(&plain, &payload)?;
    fs::write_file(&predicate, format_json(&statement["predicate"]).as_bytes())?;
    let bundle = file("sigstore.json");
    let envelope = sign_payload(&payload, signer)?;
    if let Some(envelope) = &envelope {
        fs::write_file(&bundle, format_json(envelope).as_bytes())?;
    }
    let shown = bundle.display().to_string();
    let predicate = predicate.display().to_string();
    // Cosign 2 writes its old format without the flag, which `verify` does not read.
    let command = format!(
        "cosign attest-blob --yes --new-bundle-format --type {} --predicate {} --bundle {} {}",
        kind.predicate_type(),
        quote_argument(&predicate),
        quote_argument(&shown),
        quote_argument(&record.display().to_string())
    );
    Ok(WrittenStatement {
        kind,
        predicate_type: kind.predicate_type(),
        statement: plain.display().to_string(),
        predicate,
        command: envelope.is_none().then_some(command),
        bundle: envelope.map(|_| shown),
    })
}

/// A sigstore bundle; none if nobody signs. Whatever signed, the public key verifies it first.
fn sign_payload(payload: &[u8], signer: &StatementSigner) -> Result<Option<Value>> {
    let message = dsse::encode_preauth(payload);
    let (signature, public_key) = match signer {
        StatementSigner::Nobody => return Ok(None),
        StatementSigner::Key(key, public_key) => (key.sign(&message)?, public_key),
        StatementSigner::Command {
            command,
            public_key,
        } => {
            let scratch = Scratch::new("attest")?;
            let path = scratch.path().join("message");
            fs::write_file(&path, &message)?;
            let printed = run_and_collect("--sign-command", command, &path, |_| {})?;
            (
                cosign::decode_signature_of(printed.as_bytes(), public_key)?,
                public_key,
            )
        }
    };
    Ok(Some(dsse::format_bundle(payload, &signature, public_key)?))
}
