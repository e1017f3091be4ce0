//! The guest's scripts in a provider's hands: given out, signed, taken back.
//!
//! Each script is the program's own, byte for byte, or that with a signature block, or
//! bytes whose digest an override names. Nothing else reaches a guest.

mod folder;
mod trust;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json::format_json;
use crate::diagnostic::{Classify, Finding, format_findings, list_remedies};
use crate::embedded::Tree;
use crate::guest::list_script_files;
use crate::model::overrides::{Overrides, SCRIPTS};
use crate::verify::ProofError;
use crate::verify::authenticode::unsigned_script;

pub use folder::{GuestScripts, read_guest_scripts};
pub use trust::{Demand, find_signing};

/// Name of the schema of `scripts.json`.
pub const SCHEMA: &str = "imagegen.dev/scripts/v1";

/// The list of scripts, in their folder.
pub const LIST: &str = "scripts.json";

/// The script of an installer for a machine that is there already.
pub const INSTALL: &str = "installer/Install.ps1";

/// `scripts.json`: what the program carries, whether signed since or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ScriptList {
    pub schema: String,
    /// Path below the folder → SHA-256 of the script without signature.
    pub files: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
#[error("{folder} does not contain the guest scripts of this version:{}", format_findings(.findings))]
pub struct ForeignScripts {
    pub folder: String,
    pub findings: Vec<Finding>,
}

impl Classify for ForeignScripts {
    fn code(&self) -> Code {
        Code::VERIFICATION
    }

    fn remedies(&self) -> Vec<String> {
        list_remedies(&self.findings)
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// Every script that PowerShell loads in a guest, by its path below `provisioners`.
pub fn collect_scripts(provisioners: &Tree) -> BTreeMap<String, Vec<u8>> {
    let install = provisioners
        .get(INSTALL)
        .map(|bytes| (INSTALL.to_owned(), bytes));
    list_script_files(provisioners)
        .into_iter()
        .chain(install)
        .map(|(path, bytes)| (path, bytes.to_vec()))
        .collect()
}

/// The scripts with their list, as `imagegen scripts export` writes them.
pub fn export_scripts(provisioners: &Tree) -> BTreeMap<String, Vec<u8>> {
    let mut files = collect_scripts(provisioners);
    let digests = files
        .iter()
        .map(|(path, bytes)| (path.clone(), sha256_hex(bytes)))
        .collect();
    let list = ScriptList {
        schema: SCHEMA.to_owned(),
        files: digests,
    };
    files.insert(LIST.to_owned(), format_json(&list).into_bytes());
    files
}

/// The provisioners with the scripts of `folder`.
///
/// # Errors
/// All scripts that are missing, unknown, or changed without an override.
pub fn accept_scripts(
    folder: &str,
    mut own: BTreeMap<String, Vec<u8>>,
    provisioners: &Tree,
    overrides: &Overrides,
) -> Result<Tree, ForeignScripts> {
    own.remove(LIST);
    let known = collect_scripts(provisioners);
    let mut findings = Vec::new();
    for path in known.keys().filter(|path| !own.contains_key(*path)) {
        findings.push(create_finding(
            path,
            Code::SCRIPT_MISSING,
            "it is not there",
        ));
    }
    for path in overrides.keys().filter_map(|key| key.strip_prefix(SCRIPTS)) {
        if !known.contains_key(path) {
            let message = "an override names it, but imagegen has no guest script of this name";
            findings.push(create_finding(path, Code::SCRIPT_UNKNOWN, message));
        }
    }
    for (path, bytes) in &own {
        let Some(known) = known.get(path) else {
            let message = "imagegen has no guest script of this name";
            findings.push(create_finding(path, Code::SCRIPT_UNKNOWN, message));
            continue;
        };
        let over = overrides.get(&format!("{SCRIPTS}{path}"));
        let named = over.and_then(|over| over.sha256.as_deref());
        if let Err((code, message)) = check_script(bytes, known, named) {
            findings.push(create_finding(path, code, message));
        }
    }
    if !findings.is_empty() {
        return Err(ForeignScripts {
            folder: folder.to_owned(),
            findings,
        });
    }

    let mut files = provisioners.files();
    files.extend(own);
    Ok(Tree::from_files(provisioners.label.clone(), files))
}

fn create_finding(file: &str, code: Code, message: impl Into<String>) -> Finding {
    Finding::new(code, message, script_remedy(file, code)).with_subject(file)
}

/// Scripts that a bundle carries against the program's own, and those that an override of its lock names.
///
/// # Errors
/// The first one that is missing, unknown or another.
pub fn check_carried(
    carried: &BTreeMap<String, Vec<u8>>,
    overrides: &Overrides,
) -> Result<(), ProofError> {
    let own = Tree::embedded_provisioners().files();
    let scripts = collect_scripts(&Tree::embedded_provisioners());
    if let Some(path) = own.keys().find(|path| !carried.contains_key(*path)) {
        return Err(ProofError::new(
            Code::SCRIPT_MISSING,
            format!("the bundle has no script {path}"),
        ));
    }
    for (path, bytes) in carried {
        let known = own.get(path).ok_or_else(|| {
            ProofError::new(
                Code::SCRIPT_UNKNOWN,
                format!("{path}: imagegen has no guest script of this name"),
            )
        })?;
        if bytes == known {
            continue;
        }
        let named = overrides
            .get(&format!("{SCRIPTS}{path}"))
            .and_then(|over| over.sha256.as_deref());
        if !scripts.contains_key(path) {
            let message = format!("{path}: it differs from imagegen's script");
            return Err(ProofError::new(Code::SCRIPT_CHANGED, message));
        }
        if let Err((_, reason)) = check_script(bytes, known, named) {
            let message = format!("{path}: {reason}");
            return Err(ProofError::new(Code::SCRIPT_CHANGED, message));
        }
    }
    Ok(())
}

fn script_remedy(file: &str, code: Code) -> String {
    match code {
        Code::SCRIPT_CHANGED => format!(
            "sign the scripts of this release (`imagegen scripts export`), or allow your own script: \
             `--override '{SCRIPTS}{file}.sha256=<64 digits>'`"
        ),
        Code::SCRIPT_MISSING | Code::SCRIPT_UNKNOWN => {
            "run `imagegen scripts export` to write the scripts of this release, and sign those"
                .to_owned()
        }
        _ => String::new(),
    }
}

/// Signed scripts end their lines with CRLF, as reports say that some versions of PowerShell want:
/// <https://github.com/PowerShell/PowerShell/issues/3361>, <https://github.com/chocolatey/choco/issues/1203>.
fn end_lines_with_lf(text: &[u8]) -> Vec<u8> {
    let next = text.iter().skip(1).map(Some).chain([None]);
    let kept = text
        .iter()
        .zip(next)
        .filter(|(byte, next)| **byte != b'\r' || *next != Some(&b'\n'));
    kept.map(|(byte, _)| *byte).collect()
}

/// A digest that was named counts for the file as it is, or as it was before it was signed. Signing may change the
/// ends of lines.
fn check_script(bytes: &[u8], known: &[u8], named: Option<&str>) -> Result<(), (Code, String)> {
    let bare = unsigned_script(bytes).map_err(|error| (error.code, error.message))?;
    let (whole, inner) = (sha256_hex(bytes), sha256_hex(&bare));
    let bare = end_lines_with_lf(&bare);
    match named {
        Some(named) if [&whole, &inner, &sha256_hex(&bare)].contains(&&named.to_owned()) => Ok(()),
        Some(named) => Err((
            Code::SCRIPT_DIGEST,
            format!("its digest is {whole}, the override states {named}"),
        )),
        None if bare == known => Ok(()),
        None => Err((
            Code::SCRIPT_CHANGED,
            format!(
                "its digest is {inner}; the digest of imagegen's script is {}",
                sha256_hex(known)
            ),
        )),
    }
}
