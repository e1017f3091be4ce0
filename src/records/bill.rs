//! Inputs of a bill of materials beside the image: the Windows release of the catalog, and a time.

use std::time::Duration;

use serde_json::Value;

use crate::attest::diff::DescribedImage;
use crate::attest::inventory::{WindowsIdentity, list_items};
use crate::attest::sbom::BillOfMaterials;
use crate::base::digest::sha256_hex;
use crate::base::program::ProgramVersion;
use crate::catalog::Trees;
use crate::diagnostic::{Error, Result};
use crate::lock::Lock;
use crate::model::image_version::ImageVersion;
use crate::selection::{SourceFolders, read_source_date, read_sources};

/// Everything of a bill but the image.
#[derive(Debug)]
pub struct BillSources {
    lock: Lock,
    windows: WindowsIdentity,
    time: Option<String>,
}

/// # Errors
/// The image has no lockfile, the catalog does not know its Windows release, or `SOURCE_DATE_EPOCH` is no time.
pub fn read_bill_sources(image: &DescribedImage, sources: &SourceFolders) -> Result<BillSources> {
    read_bill_sources_of(image, &read_sources(sources, &[])?)
}

/// The same with a catalog that was read already.
///
/// # Errors
/// As [`read_bill_sources`].
pub(super) fn read_bill_sources_of(image: &DescribedImage, trees: &Trees) -> Result<BillSources> {
    let Some(lock) = image.lock.clone() else {
        let message = format!("{}: its lockfile is not beside it", image.name);
        let remedy = "name the lockfile, or the folder `builds/VERSION` of the workspace";
        return Err(Error::value(message, remedy));
    };
    let release = lock.selection.windows.as_deref().unwrap_or_default();
    let windows = trees.catalog.load_windows_release(release)?;
    let finished = image
        .baked
        .as_ref()
        .and_then(|baked| baked["finished"].as_str());
    let time = match (finished, read_source_date()?) {
        (Some(time), _) => Some(time.to_owned()),
        (None, Some(ImageVersion::Time(seconds))) => format_time(seconds),
        (None, _) => None,
    };
    Ok(BillSources {
        lock,
        windows: WindowsIdentity {
            title: windows.title.clone(),
            build: windows.build,
            cpe: windows.cpe.clone(),
        },
        time,
    })
}

/// Seconds since 1970 as `2026-01-31T00:00:00Z`.
pub fn format_time(seconds: u64) -> Option<String> {
    let time = der::DateTime::from_unix_duration(Duration::from_secs(seconds)).ok()?;
    Some(time.to_string())
}

/// `2026-01-31T00:00:00Z` as seconds since 1970; none if it is no such time.
pub fn parse_time(text: &str) -> Option<u64> {
    let time: der::DateTime = text.parse().ok()?;
    Some(time.unix_duration().as_secs())
}

/// The bill of an image.
pub fn list_bill<'a>(image: &'a DescribedImage, parts: &'a BillSources) -> BillOfMaterials<'a> {
    let lock = &parts.lock;
    let baked: Option<&Value> = image.baked.as_ref();
    BillOfMaterials {
        lock,
        lock_digest: sha256_hex(lock.encode().as_bytes()),
        items: list_items(image, lock, &parts.windows),
        baked,
        time: parts.time.clone(),
        program: ProgramVersion::current(),
    }
}
