//! Embeds the data trees, and packs the guest's scripts once: they are the same in every build, and
//! compressing them took a quarter of the time of a preview.

#![expect(clippy::disallowed_methods, reason = "`io::fs` belongs to the program, not to its build")]

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let mut source = String::new();
    for tree in ["manifests", "packer", "provisioners"] {
        println!("cargo::rerun-if-changed={tree}");
        let folder = root.join(tree);
        writeln!(source, "static {}: &[(&str, &[u8])] = &[", tree.to_uppercase())?;
        for path in list_files(&folder)? {
            let file = folder.join(&path);
            let file = file.to_str().ok_or("the path of the sources is not UTF-8")?;
            writeln!(source, "    ({path:?}, include_bytes!({file:?})),")?;
        }
        writeln!(source, "];")?;
    }
    fs::write(out.join("embedded.rs"), source)?;
    fs::write(out.join("scripts.zip"), pack_scripts(&root.join("provisioners"))?)?;
    Ok(())
}

/// Every file below `root`, sorted, with `/` between the parts.
fn list_files(root: &Path) -> Outcome<Vec<String>> {
    let mut folders = vec![root.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let parts: Option<Vec<&str>> =
                path.strip_prefix(root)?.iter().map(|part| part.to_str()).collect();
            files.push(parts.ok_or("a file name is not UTF-8")?.join("/"));
        }
    }
    files.sort();
    Ok(files)
}

/// As `render::payload` packs scripts; a test compares the two.
fn pack_scripts(provisioners: &Path) -> Outcome<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(6))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for path in list_files(provisioners)? {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        if ["ps1", "psm1"].contains(&extension) && ["engine", "node", "resources"].contains(&folder) {
            zip.start_file(path.as_str(), options)?;
            zip.write_all(&fs::read(provisioners.join(path))?)?;
        }
    }
    Ok(zip.finish()?.into_inner())
}
