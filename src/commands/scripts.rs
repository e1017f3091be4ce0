//! `imagegen scripts`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::catalog::Trees;
use crate::cli::{ScriptsArgs, ScriptsWhat, SignArgs};
use crate::diagnostic::{Error, Result};
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
        ScriptsWhat::Sign(args) => sign_folder(args, &trees, printer),
    }
}

fn sign_folder(args: &SignArgs, trees: &Trees, printer: &Printer) -> Result<()> {
    if let Some(url) = args.timestamp.as_ref().filter(|url| url.has_secret()) {
        let message = format!("--timestamp: `{url}` has a query that may be a secret");
        let remedy =
            "other users of this machine see the arguments of the signer: use a URL without it";
        return Err(Error::value(message, remedy));
    }
    let policy = read_policy(&name_policy(&args.policy))?;
    let folder = &args.folder;
    let exported = read_exported(folder)?;
    // What carries your signature runs as administrator on every node.
    require_own_scripts(folder, &exported, &args.changed, &trees.provisioners)?;
    let timestamp = args.timestamp.as_ref();
    let key = Key {
        key: args.key.clone(),
        certificates: args.certificate.clone(),
        passphrase: read_passphrase(&args.key, args.passphrase_env.as_deref())?,
        timestamp: timestamp.map(|url| url.request_url().to_owned()),
    };
    let now = clock::current_time();
    let pinned = PinnedRoots::read(trees.catalog.tree())?;
    let demand = SignatureDemand::new(&pinned, now);
    let demand = scripts::build_demand(&key, args.root.as_deref(), demand)?;
    let signed = scripts::sign_scripts(&exported, &key, &demand)?;
    if let Some(rule) = &policy.signed_scripts {
        let tree = Tree::from_files(folder.display().to_string(), signed.clone());
        let now = clock::current_time();
        find_signing(&tree, Demand::new(&policy, rule, &pinned, now))?;
    }
    fs::replace_files(folder, &signed)?;
    print_files(folder, signed, printer)
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
