//! MSI packages and other compound files.
//!
//! The digest is over the content of every stream, storage by storage, in the order of their
//! names in UTF-16LE bytes, each storage closed by its class id. A package may also carry a digest
//! of names, sizes and times, and then that goes first. Sectors that no stream owns are in no
//! digest: only a pin of the whole file covers them. A file whose structures contradict each other is refused, and so is
//! one with anything behind its last sector.

mod layout;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::Context;
use cfb::{CompoundFile, Entry};

use super::digest::Algorithm;
use super::fault::Fault;
use super::source::{LIMIT, ReadSeek, encode_utf16_le};
use crate::base::code::Code;
use crate::base::stream::{EachPiece, copy_pieces};

const SIGNATURE: &str = "\u{5}DigitalSignature";
const METADATA: &str = "\u{5}MsiDigitalSignatureEx";
/// Storages inside storages; installers nest one level.
const DEEPEST: usize = 16;

#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub signature: Vec<u8>,
    /// Digest of names, sizes and times.
    metadata: Option<Vec<u8>>,
}

type Compound<'a> = CompoundFile<&'a mut dyn ReadSeek>;

pub(crate) fn read_package(source: &mut dyn ReadSeek) -> Result<Package, Fault> {
    let mut compound = open_compound(source)?;
    let metadata = read_stream(&mut compound, METADATA)?;
    match read_stream(&mut compound, SIGNATURE)? {
        Some(signature) => Ok(Package {
            signature,
            metadata,
        }),
        None => Err(Code::UNSIGNED.with_message("no embedded signature")),
    }
}

impl Package {
    pub(crate) fn digest(
        &self,
        source: &mut dyn ReadSeek,
        algorithm: Algorithm,
    ) -> Result<Vec<u8>, Fault> {
        let mut compound = open_compound(source)?;
        let root = compound.root_entry();
        let mut context = algorithm.new_context();
        if let Some(signed) = &self.metadata {
            let mut metadata = algorithm.new_context();
            add_metadata(&compound, &root, &mut metadata, 0)?;
            if metadata.finish().as_ref() != signed.as_slice() {
                return Err(Code::MSI_METADATA.with_message(
                    "names, sizes or times in the package differ from the signed ones",
                ));
            }
            context.update(signed);
        }
        add_content(&mut compound, &root, &mut context, 0)?;
        Ok(context.finish().as_ref().to_vec())
    }
}

fn open_compound(source: &mut dyn ReadSeek) -> Result<Compound<'_>, Fault> {
    layout::check_layout(source)?;
    CompoundFile::open(source).map_err(|error| compound_fault(&error.to_string()))
}

fn compound_fault(why: &str) -> Fault {
    Code::FILE_MALFORMED.with_message(format!("not a compound file: {why}"))
}

fn read_stream(compound: &mut Compound<'_>, name: &str) -> Result<Option<Vec<u8>>, Fault> {
    let path = Path::new("/").join(name);
    if !compound.is_stream(&path) {
        return Ok(None);
    }
    let mut stream = compound.open_stream(&path)?;
    if stream.len() > LIMIT {
        return Err(
            Code::TOO_LARGE.with_message("the stream of the signature is larger than the limit")
        );
    }
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Members of a storage, in the order of the digest; the signature's own streams are no part.
fn list_members(
    compound: &Compound<'_>,
    storage: &Entry,
    depth: usize,
) -> Result<Vec<Entry>, Fault> {
    if depth > DEEPEST {
        return Err(compound_fault("storages are nested too deep"));
    }
    let mut found: Vec<(Vec<u8>, Entry)> = Vec::new();
    for entry in compound.read_storage(storage_path(storage))? {
        if depth > 0 || ![SIGNATURE, METADATA].contains(&entry.name()) {
            found.push((encode_utf16_le(entry.name()), entry));
        }
    }
    // Where one name starts with the other, the longer one comes first.
    found.sort_by(|(a, _), (b, _)| {
        let common = a.len().min(b.len());
        a[..common].cmp(&b[..common]).then(b.len().cmp(&a.len()))
    });
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

fn storage_path(entry: &Entry) -> PathBuf {
    entry.path().to_path_buf()
}

fn add_content(
    compound: &mut Compound<'_>,
    storage: &Entry,
    context: &mut Context,
    depth: usize,
) -> Result<(), Fault> {
    for entry in list_members(compound, storage, depth)? {
        if entry.is_stream() {
            let stream = compound.open_stream(storage_path(&entry))?;
            let mut pieces = EachPiece(|piece: &[u8]| context.update(piece));
            copy_pieces(stream, &mut pieces)?;
        } else {
            add_content(compound, &entry, context, depth + 1)?;
        }
    }
    context.update(&storage.clsid().to_bytes_le());
    Ok(())
}

fn add_metadata(
    compound: &Compound<'_>,
    storage: &Entry,
    context: &mut Context,
    depth: usize,
) -> Result<(), Fault> {
    add_entry_metadata(storage, context);
    for entry in list_members(compound, storage, depth)? {
        if entry.is_stream() {
            add_entry_metadata(&entry, context);
        } else {
            add_metadata(compound, &entry, context, depth + 1)?;
        }
    }
    Ok(())
}

fn add_entry_metadata(entry: &Entry, context: &mut Context) {
    if !entry.is_root() {
        context.update(&encode_utf16_le(entry.name()));
    }
    if entry.is_stream() {
        // The lower half of the size.
        context.update(&entry.len().to_le_bytes()[..4]);
    } else {
        context.update(&entry.clsid().to_bytes_le());
    }
    context.update(&entry.state_bits().to_le_bytes());
    if !entry.is_root() {
        context.update(&to_filetime(entry.created()));
        context.update(&to_filetime(entry.modified()));
    }
}

/// Tenths of microseconds since 1601, as the file holds them.
fn to_filetime(time: SystemTime) -> [u8; 8] {
    const SECONDS_TO_1970: u64 = 11_644_473_600;
    let start = SystemTime::UNIX_EPOCH - Duration::from_secs(SECONDS_TO_1970);
    let since = time.duration_since(start).unwrap_or_default();
    u64::try_from(since.as_nanos() / 100)
        .unwrap_or(u64::MAX)
        .to_le_bytes()
}
