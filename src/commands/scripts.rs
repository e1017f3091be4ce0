//! `imagegen scripts`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rustls_pki_types::UnixTime;

use crate::cli::{ScriptsArgs, ScriptsWhat};
use crate::diagnostic::{InputError, Result};
use crate::embedded::Tree;
use crate::io::{clock, fs};
use crate::scripts::{
    self, Demand, Key, LIST, find_signing, read_exported, read_passphrase, require_own_scripts,
};
use crate::selection::{SourceFolders, read_policy, read_sources};
use crate::ui::Printer;
use crate::verify::authenticode::SignatureDemand;
use crate::verify::chain::PinnedRoots;

use crate::view::WrittenFolder;

use super::flags::name_policy;

pub(super) fn run_scripts(
    args: &ScriptsArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let trees = read_sources(sources, &[])?;
    match &args.what {
        ScriptsWhat::Export { out } => {
            let files = scripts::export_scripts(&trees.provisioners);
            fs::place_directory(out, &files, &[], &[], false)?;
            print_files(out, files, printer)
        }
        ScriptsWhat::Sign {
            folder,
            key,
            certificate,
            passphrase_env,
            timestamp,
            root,
            changed,
            policy,
        } => {
            if let Some(url) = timestamp.as_ref().filter(|url| url.has_secret()) {
                let message = format!("--timestamp: `{url}` has a query that may be a secret");
                let remedy = "other users of this machine see the arguments of the signer: use a URL without it";
                return Err(InputError::new(message, remedy).into());
            }
            let demanded = read_policy(&name_policy(policy))?;
            let exported = read_exported(folder)?;
            // What carries your signature runs as administrator on every node.
            require_own_scripts(folder, &exported, changed, &trees.provisioners)?;
            let key = Key {
                key: key.clone(),
                certificates: certificate.clone(),
                passphrase: read_passphrase(key, passphrase_env.as_deref())?,
                timestamp: timestamp.as_ref().map(|url| url.request_url().to_owned()),
            };
            let at = UnixTime::since_unix_epoch(Duration::from_secs(clock::current_time()));
            let pinned = PinnedRoots::read(trees.catalog.tree())?;
            let verifier = scripts::build_policy(
                &key,
                root.as_deref(),
                SignatureDemand::new(&pinned, at),
                at,
            )?;
            let signed = scripts::sign_scripts(&exported, &key, &verifier)?;
            if let Some(rule) = &demanded.signed_scripts {
                let tree = Tree::from_files(folder.display().to_string(), signed.clone());
                find_signing(
                    &tree,
                    Demand::new(&demanded, rule, &pinned, clock::current_time()),
                )?;
            }
            fs::replace_files(folder, &signed)?;
            print_files(folder, signed, printer)
        }
    }
}

fn print_files(folder: &Path, files: BTreeMap<String, Vec<u8>>, printer: &Printer) -> Result<()> {
    let mut scripts = files;
    scripts.remove(LIST);
    let output = WrittenFolder::new(folder, &scripts);
    printer.print_summary(&output, || {
        let lines = output.files.iter();
        lines
            .map(|(path, digest)| format!("{digest}  {path}\n"))
            .collect()
    })
}
