//! Embeds the data trees with the digest of each file, and packs the guest's scripts once: they are the same in
//! every build, and compressing and hashing them took a third of the time of a preview.

#![expect(
    clippy::disallowed_methods,
    reason = "`io::fs` belongs to the program, not to its build"
)]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipArchive, ZipWriter};

/// Folders below `provisioners` whose scripts go into the guest. The crate gets the same list.
const SCRIPT_FOLDERS: [&str; 4] = ["engine", "engine/windows", "node", "resources"];

fn main() -> Result<()> {
    let root =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("cargo sets CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    let mut source = String::new();
    for tree in ["help", "manifests", "packer", "provisioners"] {
        println!("cargo::rerun-if-changed={tree}");
        let folder = root.join(tree);
        writeln!(
            source,
            "static {}: &[EmbeddedFile] = &[",
            tree.to_uppercase()
        )?;
        for path in list_files(&folder)? {
            let bytes = read_file(&folder.join(&path))?;
            let digest = format_sha256(&bytes);
            // Not the whole path: the sources may be moved, and Cargo does not run this script again for that.
            let file = format!(
                "concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?})",
                format!("/{tree}/{path}")
            );
            let json = if find_extension(&path) == "json" {
                format!("{:?}", strip_layout(std::str::from_utf8(&bytes)?))
            } else {
                "\"\"".to_owned()
            };
            writeln!(
                source,
                "    EmbeddedFile {{ path: {path:?}, bytes: include_bytes!({file}), sha256: {digest:?}, json: {json} }},"
            )?;
        }
        writeln!(source, "];")?;
    }
    writeln!(
        source,
        "pub static SCRIPT_FOLDERS: &[&str] = &{SCRIPT_FOLDERS:?};"
    )?;
    // The tests start the program thousands of times: a third of a short run went to the
    // relocation of 176,000 addresses.
    let is_debug = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let is_linux = env::var("TARGET").is_ok_and(|target| target.ends_with("linux-gnu"));
    if is_debug && is_linux {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    let (commit, date) = find_commit(&root);
    println!("cargo::rustc-env=IMAGEGEN_COMMIT={commit}");
    println!("cargo::rustc-env=IMAGEGEN_DATE={date}");
    println!("cargo::rustc-env=IMAGEGEN_TARGET={}", env::var("TARGET")?);
    println!(
        "cargo::rustc-env=IMAGEGEN_CATALOG={}",
        digest_tree(&root.join("manifests"))?
    );
    let scripts = pack_scripts(&root.join("provisioners"))?;
    let entries = find_entries(&scripts)?;
    let state = Sha256::new_with_prefix(entries).serialize();
    writeln!(
        source,
        "#[allow(clippy::unreadable_literal, reason = \"written by a program\")]
pub static SCRIPTS_DIGEST: DigestedStart = DigestedStart {{ length: {}, state: &{:?} }};",
        entries.len(),
        state.as_slice(),
    )?;
    fs::write(out.join("embedded.rs"), source)?;
    fs::write(out.join("scripts.zip"), scripts)?;
    Ok(())
}

/// Commit and date of what is built: from the environment of a release, from git, or from the record in a packaged
/// crate. Only a release build asks git: otherwise each commit would compile everything again.
fn find_commit(root: &Path) -> (String, String) {
    println!("cargo::rerun-if-env-changed=IMAGEGEN_COMMIT");
    println!("cargo::rerun-if-env-changed=IMAGEGEN_DATE");
    let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let git = |format: &str| {
        // Of a packaged crate, the folder may lie in another repository.
        if !root.join(".git").exists() {
            return None;
        }
        let format = format!("--format={format}");
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["show", "-s", &format, "HEAD"])
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (is_release && output.status.success() && !text.is_empty()).then_some(text)
    };
    if is_release && root.join(".git").is_dir() {
        println!("cargo::rerun-if-changed=.git/logs/HEAD");
    }
    let commit = given("IMAGEGEN_COMMIT")
        .or_else(|| packaged_commit(root))
        .or_else(|| git("%H"));
    let date = given("IMAGEGEN_DATE").or_else(|| git("%cs"));
    (commit.unwrap_or_default(), date.unwrap_or_default())
}

/// `cargo package` records the commit beside the sources.
fn packaged_commit(root: &Path) -> Option<String> {
    let record = fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = record.split_once("\"sha1\": \"")?;
    rest.split('"').next().map(str::to_owned)
}

/// Every file below `root` but READMEs, whose wording changes no digest, and schemas, which the program makes from its
/// types; sorted, with `/` between the parts.
fn list_files(root: &Path) -> Result<Vec<String>> {
    let mut folders = vec![root.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let parts: Option<Vec<&str>> = path
                .strip_prefix(root)?
                .iter()
                .map(|part| part.to_str())
                .collect();
            let path = parts
                .with_context(|| format!("{} is not UTF-8", path.display()))?
                .join("/");
            if !path.ends_with("README.md") && !path.starts_with("schema/") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// JSON without the spaces and line breaks between its values, which are a fifth of our files.
fn strip_layout(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let (mut is_string, mut is_escaped) = (false, false);
    for character in json.chars() {
        if is_string || !character.is_ascii_whitespace() {
            text.push(character);
        }
        if character == '"' && !is_escaped {
            is_string = !is_string;
        }
        is_escaped = is_string && character == '\\' && !is_escaped;
    }
    text
}

/// The digest of a catalog: the SHA-256 of one line `SHA256  PATH` for each file, in the order of the paths, as
/// `sha256sum` prints them in an exported catalog. A test computes it again.
fn digest_tree(folder: &Path) -> Result<String> {
    let mut lines = String::new();
    for path in list_files(folder)? {
        writeln!(
            lines,
            "{}  {path}",
            format_sha256(&read_file(&folder.join(&path))?)
        )?;
    }
    Ok(format_sha256(lines.as_bytes()))
}

fn find_extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

fn format_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// As `render::payload` packs scripts; a test compares the two.
fn pack_scripts(provisioners: &Path) -> Result<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(6))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .system(System::Unix);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for path in list_files(provisioners)? {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if ["ps1", "psm1"].contains(&find_extension(&path)) && SCRIPT_FOLDERS.contains(&folder) {
            zip.start_file(path.as_str(), options)?;
            zip.write_all(&read_file(&provisioners.join(path))?)?;
        }
    }
    Ok(zip.finish()?.into_inner())
}

/// The bytes of an archive that hold its files, which its directory follows: each payload begins with them.
fn find_entries(archive: &[u8]) -> Result<&[u8]> {
    let directory = ZipArchive::new(Cursor::new(archive))?.central_directory_start();
    let entries = archive.get(..usize::try_from(directory)?);
    entries.context("the directory is inside the archive")
}
