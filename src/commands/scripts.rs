//! `imagegen scripts`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rustls_pki_types::UnixTime;
use serde::Serialize;

use crate::cli::{ScriptsArgs, ScriptsWhat, SourceArgs};
use crate::diagnostic::Result;
use crate::embedded::sha256_hex;
use crate::io::{clock, fs};
use crate::scripts::{self, Key, LIST, read_exported, read_passphrase};
use crate::selection::read_sources;
use crate::ui::Printer;
use crate::verify::authenticode::Policy;
use crate::verify::chain::PinnedRoots;

/// What `scripts export` and `scripts sign` print.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptsOutput {
    pub folder: String,
    /// Path → SHA-256 of the file as it is now.
    pub files: BTreeMap<String, String>,
}

pub(super) fn run_scripts(args: &ScriptsArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let trees = read_sources(sources, None)?;
    match &args.what {
        ScriptsWhat::Export { out, force } => {
            let files = scripts::export_scripts(&trees.provisioners);
            fs::place_directory(out, &files, &[], &[], *force)?;
            print_files(out, files, printer)
        }
        ScriptsWhat::Sign { folder, key, certificate, passphrase_env, timestamp, root } => {
            let key = Key {
                key: key.clone(),
                certificates: certificate.clone(),
                passphrase: read_passphrase(key, passphrase_env.as_deref())?,
                timestamp: timestamp.as_ref().map(|url| url.request_url().to_owned()),
            };
            let at = UnixTime::since_unix_epoch(Duration::from_secs(clock::current_time()));
            let pinned = PinnedRoots::read(trees.catalog.tree())?;
            let policy = scripts::build_policy(&key, root.as_deref(), Policy::new(&pinned, at), at)?;
            let signed = scripts::sign_scripts(&read_exported(folder)?, &key, &policy)?;
            for (path, bytes) in &signed {
                fs::write_file(&folder.join(path), bytes)?;
            }
            print_files(folder, signed, printer)
        }
    }
}

fn print_files(folder: &Path, files: BTreeMap<String, Vec<u8>>, printer: &Printer) -> Result<()> {
    let files = files.into_iter().filter(|(path, _)| path != LIST);
    let files: BTreeMap<String, String> = files.map(|(path, bytes)| (path, sha256_hex(&bytes))).collect();
    let output = ScriptsOutput { folder: folder.display().to_string(), files };
    printer.print_result(&output, || {
        output.files.iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect()
    })
}
