//! Adds a published digest to a catalog's file of pins.

use std::collections::BTreeMap;
use std::path::Path;

use crate::acquire::{Acquirer, NetworkOptions, ProofScope, open_fetcher};
use crate::base::json;
use crate::base::text::is_web_page;
use crate::base::url::{HttpUrl, strip_secrets};
use crate::base::value::{FileDigest, PinAlgorithm, Sha256, Sha512};
use crate::base::version::Version;
use crate::catalog::{Catalog, CatalogError, Trees, lint_catalog};
use crate::diagnostic::{Error, Result};
use crate::embedded::Tree;
use crate::fetch::{MAX_SIZE, Request};
use crate::io::fs::{self, DigestSet};
use crate::model::component::{Component, Confidence, Pin};
use crate::model::evidence::Verdict;
use crate::model::mirrors::MirrorPrefix;
use crate::model::overrides::Overrides;
use crate::model::pins::PinFile;
use crate::model::policy::Policy;
use crate::resolve::{plan_artifact, refuse_image};
use crate::ui::{Downloads, Printer};

use crate::selection::{read_mirrors, read_trees};

use super::plannable;

/// A digest to add to the catalog.
#[derive(Debug, Clone)]
pub struct PinRequest {
    pub component: String,
    pub version: Version,
    /// File or URL to digest, or `publisher`.
    pub from: Option<String>,
    pub sha256: Option<Sha256>,
    pub sha512: Option<Sha512>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Sources of the digest.
    pub source: Vec<String>,
    pub confidence: Option<Confidence>,
    pub note: Option<String>,
    pub mirrors: Vec<(MirrorPrefix, HttpUrl)>,
    /// Hosts that may be asked over plain HTTP.
    pub allow_http: Vec<String>,
    pub network: NetworkOptions,
}

/// # Errors
/// The catalog is the built-in one, the digest cannot be had or proven, or the pin breaks a rule of the catalog.
pub fn pin_digest(
    args: &PinRequest,
    manifests: Option<&Path>,
    printer: &Printer,
) -> Result<Vec<Pin>> {
    let Some(folder) = manifests else {
        let remedy =
            "write it to a folder with `imagegen catalog export --out DIR`, then `--manifests DIR`";
        return Err(Error::usage(
            "the built-in catalog cannot be changed",
            remedy,
        ));
    };
    let mut files = fs::read_tree(folder)?;
    let trees = read_trees(manifests)?;
    let component = trees.catalog.load_component(&args.component)?;
    let name = format!("pins/{}.json", args.component);
    let path = folder.join(&name);
    let added = collect_pins(args, &component, &trees, printer)?;
    plannable::check_contradiction(&component, &added)?;
    let file = match files.get(&name) {
        Some(bytes) => json::parse_json(&path.display().to_string(), bytes)?,
        None => PinFile {
            schema: Some("../schema/component-pins.json".to_owned()),
            component: component.definition.name.clone(),
            pins: Vec::new(),
        },
    };
    let text = insert_pins(file, &added).format();
    let known = lint_catalog(&trees.catalog);
    files.insert(name, text.clone().into_bytes());
    let found: Vec<_> = lint_catalog(&Catalog::new(Tree::from_files(
        folder.display().to_string(),
        files,
    )))
    .into_iter()
    .filter(|finding| !known.contains(finding))
    .collect();
    if let Some(first) = found.first() {
        return Err(Error::from(CatalogError::Lint {
            catalog: folder.display().to_string(),
            findings: found.len(),
        })
        .with_context(format!("not written: {first}")));
    }
    fs::write_file(&path, text.as_bytes())?;
    Ok(added)
}

/// A file's digests, and who says so.
#[derive(Default)]
struct KnownDigests {
    digests: BTreeMap<PinAlgorithm, FileDigest>,
    size: Option<u64>,
    source: Vec<String>,
    confidence: Option<Confidence>,
}

impl KnownDigests {
    fn new(digests: Vec<FileDigest>, size: u64) -> Self {
        let digests = digests
            .into_iter()
            .map(|digest| (digest.algorithm(), digest))
            .collect();
        Self {
            digests,
            size: Some(size),
            ..Self::default()
        }
    }
}

/// Digests to add: those that were given, or those of a file.
fn collect_pins(
    args: &PinRequest,
    component: &Component,
    trees: &Trees,
    printer: &Printer,
) -> Result<Vec<Pin>> {
    plannable::check_version(&trees.catalog, component, &args.version)?;
    let mut known = match args.from.as_deref() {
        None => KnownDigests {
            size: args.size,
            ..KnownDigests::default()
        },
        Some("publisher") => digest_published(args, component, trees, printer)?,
        Some(url) if url.contains("://") => digest_download(args, url)?,
        Some(file) => {
            refuse_web_page(file, Path::new(file))?;
            let read = fs::digest_file_with(Path::new(file), DigestSet::Both)?;
            KnownDigests::new(read.file_digests()?, read.size)
        }
    };
    let given = args.sha256.clone().map(FileDigest::Sha256).into_iter();
    for given in given.chain(args.sha512.clone().map(FileDigest::Sha512)) {
        if let Some(read) = known.digests.insert(given.algorithm(), given.clone())
            && read != given
        {
            let message = format!("the file's digest is {read}, not {given}");
            return Err(Error::value(
                message,
                "one of them belongs to another version",
            ));
        }
    }
    known.source.extend(args.source.iter().cloned());
    if known.digests.is_empty() {
        let remedy = "give the file (`--from FILE`), or its digest (`--sha256 HEX`)";
        return Err(Error::usage("no digest is given", remedy));
    }
    if known.source.is_empty() {
        let remedy = "add `--source TEXT`; `--from publisher` sets it";
        return Err(Error::usage("the source of the file is missing", remedy));
    }
    let confidence = args
        .confidence
        .or(known.confidence)
        .unwrap_or(Confidence::Medium);
    Ok(known
        .digests
        .into_values()
        .map(|digest| Pin {
            version: args.version.clone(),
            platform: None,
            digest: digest.into(),
            size: known.size,
            url: None,
            confidence,
            source: known.source.clone(),
            note: args.note.clone(),
        })
        .collect())
}

/// Logins and proxies send pages in the place of files.
fn refuse_web_page(name: &str, path: &Path) -> Result<()> {
    if !is_web_page(&fs::read_head(path, 512)?) {
        return Ok(());
    }
    let message = format!("{} is a web page", strip_secrets(name));
    Err(Error::value(
        message,
        "download the file itself, and open it before you pin it",
    ))
}

/// A file behind a URL of the user's.
fn digest_download(args: &PinRequest, url: &str) -> Result<KnownDigests> {
    let request = Request::without_digest(
        &format!("{} {}", args.component, args.version),
        &url.parse()?,
        MAX_SIZE,
    );
    let fetched = open_fetcher(&args.network, &Policy::from_hosts(&args.allow_http))?
        .fetch_all(&[request], 1, &Downloads::new_silent())
        .swap_remove(0)?;
    refuse_web_page(url, fetched.path())?;
    Ok(KnownDigests::new(fetched.file_digests()?, fetched.size()))
}

/// The publisher's own file, by the proofs that the catalog knows.
fn digest_published(
    args: &PinRequest,
    component: &Component,
    trees: &Trees,
    printer: &Printer,
) -> Result<KnownDigests> {
    let (mut artifact, _) = plan_artifact(component, &args.version, &Overrides::new())
        .map_err(|refusal| refuse_image(vec![refusal]))?;
    // It is asked what it is, not whether it is what the catalog says.
    artifact.digests.clear();
    artifact.size = None;
    let policy = Policy {
        mirrors: read_mirrors(&args.mirrors)?,
        ..Policy::from_hosts(&args.allow_http)
    };
    let network = open_fetcher(&args.network, &policy)?;
    let acquirer = Acquirer {
        trees,
        policy: &policy,
        fetcher: &network,
        network: &args.network,
        printer,
    };
    let verified = acquirer
        .prove_artifacts(&[&artifact], ProofScope::Publisher)?
        .swap_remove(0);
    let fetched = verified.fetched();
    let proven = verified
        .artifact()
        .evidence
        .iter()
        .filter(|proof| proof.verdict >= Verdict::SignedTimeUnproven);
    let source = proven
        .map(|proof| match &proof.source {
            Some(source) => format!("{source} ({})", proof.proof.as_str()),
            None => format!("{} ({})", fetched.url(), proof.proof.as_str()),
        })
        .collect();
    Ok(KnownDigests {
        source,
        confidence: verified
            .artifact()
            .digests
            .first()
            .map(|pin| pin.confidence),
        ..KnownDigests::new(fetched.file_digests()?, fetched.size())
    })
}

/// The file with the pins in their places: behind those of the same and of lower versions.
fn insert_pins(mut file: PinFile, added: &[Pin]) -> PinFile {
    for pin in added {
        let mut known = file.pins.iter();
        if known.any(|known| (&known.version, &known.digest) == (&pin.version, &pin.digest)) {
            continue;
        }
        let mut known = file.pins.iter();
        let before = known.rposition(|known| known.version <= pin.version);
        let place = before.map_or(0, |place| place + 1);
        file.pins.insert(place, pin.clone());
    }
    file
}
