//! `imagegen pin`: adds a published digest to a catalog's component file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::catalog::{Catalog, CatalogError, Finding, lint};
use crate::cli::PinArgs;
use crate::embedded::Tree;
use crate::error::UsageError;
use crate::io::fs;
use crate::model::component::{Component, DigestAlgorithm, Pin};
use crate::model::json;
use crate::ui::Printer;

pub(super) fn pin(args: &PinArgs, manifests: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let Some(folder) = manifests else {
        return Err(UsageError {
            message: "the built-in catalog cannot be changed".to_owned(),
            hint: Some(
                "write it to a folder with `imagegen catalog export --out DIR`, then `--manifests DIR`"
                    .to_owned(),
            ),
        }
        .into());
    };
    let mut files = fs::read_tree(folder)?;
    let catalog = Catalog::new(Tree::loaded(folder.display().to_string(), files.clone()));
    let component = catalog.component(&args.component)?;
    let name = format!("components/{}.json", args.component);
    let path = folder.join(&name);
    let added = pins(args, &component)?;
    let text = with_pins(&path, &files[&name], &added)?;
    let known = lint(&catalog);
    files.insert(name, text.clone().into_bytes());
    let found: Vec<Finding> = lint(&Catalog::new(Tree::loaded(folder.display().to_string(), files)))
        .into_iter()
        .filter(|finding| !known.contains(finding))
        .collect();
    if let Some(first) = found.first() {
        return Err(anyhow::Error::new(CatalogError::Lint {
            catalog: folder.display().to_string(),
            findings: found.len(),
        })
        .context(format!("not written: {first}")));
    }
    fs::write(&path, text.as_bytes())?;
    printer.result(&added, || {
        added.iter().map(|pin| format!("{} {} {}\n", args.component, pin.version, pin.digest)).collect()
    })
}

/// What is to be added: the digests that were given, or those of a file.
fn pins(args: &PinArgs, component: &Component) -> anyhow::Result<Vec<Pin>> {
    let mut digests = BTreeMap::new();
    let mut size = args.size;
    if let Some(file) = &args.from {
        let read = fs::digests(file)?;
        digests.insert(DigestAlgorithm::Sha256, read.sha256);
        digests.insert(DigestAlgorithm::Sha512, read.sha512);
        size = Some(read.size);
    }
    for (algorithm, given) in
        [(DigestAlgorithm::Sha256, &args.sha256), (DigestAlgorithm::Sha512, &args.sha512)]
    {
        let Some(given) = given else { continue };
        if let Some(read) = digests.insert(algorithm, given.clone())
            && read != *given
        {
            return Err(UsageError {
                message: format!("the file's digest is {read}, not {given}"),
                hint: Some("one of them is of another version".to_owned()),
            }
            .into());
        }
    }
    if digests.is_empty() {
        return Err(UsageError {
            message: "no digest is given".to_owned(),
            hint: Some("name the file (`--from FILE`), or its digest (`--sha256 HEX`)".to_owned()),
        }
        .into());
    }
    if !component.releases.iter().any(|release| release.versions.contains(&args.version)) {
        return Err(UsageError {
            message: format!("no release of {} holds version {}", component.name, args.version),
            hint: Some(format!("add a range to `releases` in components/{}.json first", component.name)),
        }
        .into());
    }
    Ok(digests
        .into_iter()
        .map(|(algorithm, digest)| Pin {
            version: args.version.clone(),
            platform: None,
            algorithm,
            digest,
            size,
            url: None,
            confidence: args.confidence,
            source: args.source.clone(),
            note: args.note.clone(),
        })
        .collect())
}

/// The file with the pins in their places: behind those of the same and of lower versions. All
/// else keeps its order.
fn with_pins(path: &Path, bytes: &[u8], added: &[Pin]) -> anyhow::Result<String> {
    let file = path.display().to_string();
    let mut whole: Value = json::parse(&file, bytes)?;
    let mut pins: Vec<(Pin, Value)> = Vec::new();
    for value in whole["pins"].as_array().into_iter().flatten() {
        pins.push((serde_json::from_value(value.clone())?, value.clone()));
    }
    for pin in added {
        if pins.iter().any(|(known, _)| {
            (&known.version, known.algorithm, &known.digest) == (&pin.version, pin.algorithm, &pin.digest)
        }) {
            continue;
        }
        let place = pins.iter().rposition(|(known, _)| known.version <= pin.version).map_or(0, |at| at + 1);
        pins.insert(place, (pin.clone(), serde_json::to_value(pin)?));
    }
    whole["pins"] = pins.into_iter().map(|(_, value)| value).collect();
    Ok(json::pretty(&whole))
}
