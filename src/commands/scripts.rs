//! `imagegen scripts`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::{ScriptsArgs, ScriptsWhat};
use crate::diagnostic::Result;
use crate::io::fs;
use crate::scripts::{LIST, export_scripts};
use crate::selection::{SourceFolders, read_sources};
use crate::ui::Printer;

use crate::view::WrittenFolder;

pub(super) fn run_scripts(
    args: &ScriptsArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let trees = read_sources(sources, &[])?;
    match &args.what {
        ScriptsWhat::Export { out } => {
            let files = export_scripts(&trees.provisioners);
            fs::place_directory(out, &files, &[], &[], false)?;
            print_files(out, files, printer)
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
