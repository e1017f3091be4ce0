//! Everything that is in an image, was used to build it, or that nodes made of it pull: what a bill of materials lists.

use std::collections::BTreeMap;

use crate::base::json::format_plain;
use crate::base::value::{FileDigest, Sha256};
use crate::lock::Lock;
use crate::model::component::PayloadKind;
use crate::model::evidence::Evidence;
use crate::model::overrides::Override;
use crate::model::plan::PlannedArtifact;
use crate::model::policy::Role;
use crate::trust::{Subject, SubjectSource, list_lock_subjects};

use super::diff::{ComponentNote, DescribedImage};
use super::license::format_license;
use super::purl;

/// A subject of an image as a bill of materials describes it.
#[derive(Debug, Clone)]
pub struct Item {
    /// Unique in an inventory: `artifact/kubelet`.
    pub id: String,
    pub role: Role,
    pub name: String,
    pub version: Option<String>,
    pub kind: ItemKind,
    /// Publisher, if the catalog knows it.
    pub supplier: Option<String>,
    pub summary: Option<String>,
    /// SPDX expression.
    pub license: Option<String>,
    pub purl: Option<String>,
    /// The Go module that it is built from, in the case that advisories write.
    pub module: Option<String>,
    pub cpe: Option<String>,
    /// Algorithm (`sha256`) and digest.
    pub hashes: Vec<(String, String)>,
    pub url: Option<String>,
    /// Where the digests were published.
    pub sources: Vec<String>,
    pub evidence: Vec<Evidence>,
    /// The evidence stands in the lockfile alone, which a person can edit: no bake has proven it again.
    pub is_recorded: bool,
    /// Only the lockfile states its digests.
    pub unproven: bool,
    /// The published package in whose place an override put other bytes.
    pub replaces: Option<String>,
    /// It is not part of the image.
    pub outside: bool,
    /// Files inside it.
    pub members: Vec<Item>,
}

impl Item {
    /// The words before a proof that no bake has made again.
    pub fn describe_recorded(&self) -> &'static str {
        if self.is_recorded {
            "recorded in the lockfile: "
        } else {
            ""
        }
    }

    /// Whether its digests are those that pin the artifact.
    pub fn hashes_of(&self, artifact: &PlannedArtifact) -> bool {
        let pins = artifact.digests.iter();
        let hashes: Vec<_> = pins.map(|pin| format_digest(&pin.digest)).collect();
        self.hashes == hashes
    }
}

/// The form of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    Application,
    Archive,
    ContainerImage,
    File,
    OperatingSystem,
    Update,
}

/// Identity of a Windows release, from the catalog.
#[derive(Debug, Clone)]
pub struct WindowsIdentity {
    pub title: String,
    pub build: u32,
    /// With the placeholder `{version}`.
    pub cpe: Option<String>,
}

/// Items of an image: Windows first, then by role in the order of the lockfile, guest scripts last.
pub fn list_items(image: &DescribedImage, lock: &Lock, windows: &WindowsIdentity) -> Vec<Item> {
    let mut items = vec![describe_windows(image, lock, windows)];
    for subject in list_lock_subjects(lock) {
        // The variables that name the base image are properties of Windows.
        if subject.role != Role::BaseImage {
            let mut item = describe_subject(&subject, lock, image);
            item.unproven = subject.artifact.is_some() && image.unproven.contains(&subject.name);
            items.push(item);
        }
    }
    for (path, sha256) in &lock.own_files {
        items.push(describe_file(Role::OwnFile, path, sha256));
    }
    if let Some(guest) = &image.guest {
        let baked = image.baked.iter();
        let mut versions = baked.filter_map(|baked| baked["builtBy"]["version"].as_str());
        items.push(describe_scripts(&guest.scripts, versions.next()));
    }
    make_ids_unique(&mut items);
    items
}

fn empty_item(role: Role, name: &str) -> Item {
    Item {
        id: format!("{role}/{name}"),
        role,
        name: name.to_owned(),
        version: None,
        kind: ItemKind::File,
        supplier: None,
        summary: None,
        license: None,
        purl: None,
        module: None,
        cpe: None,
        hashes: Vec::new(),
        url: None,
        sources: Vec::new(),
        evidence: Vec::new(),
        is_recorded: false,
        unproven: false,
        replaces: None,
        outside: false,
        members: Vec::new(),
    }
}

/// `10.0.20348`, with the revision if the base image names one.
fn describe_windows(image: &DescribedImage, lock: &Lock, windows: &WindowsIdentity) -> Item {
    let mut version = format!("10.0.{}", windows.build);
    let start = format!("{}.", windows.build);
    let chosen = lock.base_image.values().filter_map(|value| value.as_str());
    // The builder may have said what it resolved.
    let baked = image.baked.iter();
    let resolved = baked.filter_map(|baked| baked["baseImage"]["id"].as_str());
    for text in chosen.chain(resolved) {
        let Some((_, rest)) = text.split_once(&start) else {
            continue;
        };
        let revision: String = rest.chars().take_while(char::is_ascii_digit).collect();
        if !revision.is_empty() {
            version = format!("{version}.{revision}");
            break;
        }
    }
    let mut cpe = windows.cpe.clone();
    if let Some(cpe) = &mut cpe {
        *cpe = cpe.replace("{version}", &version);
    }
    Item {
        kind: ItemKind::OperatingSystem,
        supplier: Some("Microsoft Corporation".to_owned()),
        summary: Some(format!("Base image: {}", format_base_image(lock))),
        cpe,
        version: Some(version),
        ..empty_item(Role::BaseImage, &windows.title)
    }
}

fn format_base_image(lock: &Lock) -> String {
    let mut parts = Vec::new();
    for (name, value) in &lock.base_image {
        parts.push(format!("{name} {}", format_plain(value)));
    }
    if parts.is_empty() {
        "the machine's own".to_owned()
    } else {
        parts.join(", ")
    }
}

fn describe_subject(subject: &Subject<'_>, lock: &Lock, image: &DescribedImage) -> Item {
    if let Some(artifact) = subject.artifact {
        return describe_artifact(subject, artifact, lock, image);
    }
    let url = match &subject.origin {
        SubjectSource::Url(url) => Some(url.clone()),
        _ => None,
    };
    let hashes: Vec<(String, String)> = subject.digests.iter().map(format_digest).collect();
    let sha256 = hashes.iter().find(|(algorithm, _)| algorithm == "sha256");
    let sha256 = sha256.map(|(_, digest)| digest.as_str());
    let start = format!("{} ", subject.name);
    let version = match subject.role {
        Role::ContainerImage => purl::find_image_version(&subject.name),
        _ => subject.title.strip_prefix(&start),
    };
    let (kind, purl) = match subject.role {
        Role::ContainerImage => (ItemKind::ContainerImage, purl::format_image(&subject.name)),
        Role::Update => (
            ItemKind::Update,
            purl::format_generic(&subject.name, version, sha256, url.as_deref()),
        ),
        Role::BuildTool => (
            ItemKind::Application,
            purl::format_generic(&subject.name, version, sha256, url.as_deref()),
        ),
        _ => (
            ItemKind::File,
            purl::format_generic(&subject.name, version, sha256, url.as_deref()),
        ),
    };
    Item {
        kind,
        version: version.map(str::to_owned),
        purl: Some(purl),
        hashes,
        url,
        // Texts of the definition are part of the image, though `*` selects none of them.
        outside: subject.outside && !matches!(subject.role, Role::OwnFile | Role::Certificate),
        ..empty_item(subject.role, &subject.name)
    }
}

fn format_digest(digest: &FileDigest) -> (String, String) {
    (
        digest.algorithm().as_str().to_owned(),
        digest.as_str().to_owned(),
    )
}

fn describe_artifact(
    subject: &Subject<'_>,
    artifact: &PlannedArtifact,
    lock: &Lock,
    image: &DescribedImage,
) -> Item {
    let note = image.notes.get(artifact.component.as_str());
    let identity = note.and_then(|note| note.identity.as_ref());
    let component = artifact.component.as_str();
    let over = lock.selection.overrides.get(component);
    let overridden = over.is_some_and(|over| has_other_bytes(artifact, over, note));
    let own = identity.filter(|_| !overridden);
    let supplier = own.and_then(|identity| identity.supplier.clone());
    let members: Vec<Item> = artifact
        .members
        .iter()
        .map(|member| {
            let sha256 = member.sha256.as_ref().map(Sha256::as_str);
            let hashes = sha256.map(|digest| ("sha256".to_owned(), digest.to_owned()));
            Item {
                id: format!("{}/{component}/{}", subject.role, member.member.as_str()),
                kind: ItemKind::Application,
                version: Some(artifact.version.to_string()),
                supplier: supplier.clone(),
                summary: Some(format!("{} in the archive", member.member.as_str())),
                license: format_license(&artifact.license),
                hashes: hashes.into_iter().collect(),
                ..empty_item(subject.role, member.file.as_str())
            }
        })
        .collect();
    let kind = match artifact.kind {
        PayloadKind::Zip | PayloadKind::TarGz => ItemKind::Archive,
        PayloadKind::Exe | PayloadKind::Msi => ItemKind::Application,
        PayloadKind::File => ItemKind::File,
    };
    let cpe = own.and_then(|identity| identity.cpe.as_ref());
    let module = own.and_then(|it| purl::find_module(it, artifact.version.as_str()));
    let sources = artifact.digests.iter().flat_map(|pin| pin.source.clone());
    let proofs = image.proofs.get(component);
    Item {
        kind,
        version: Some(artifact.version.to_string()),
        supplier,
        summary: note.and_then(|note| note.summary.clone()),
        license: format_license(&artifact.license),
        purl: Some(purl::format_artifact(artifact, identity, overridden)),
        module: module.map(|(name, _)| name),
        cpe: cpe.map(|cpe| cpe.replace("{version}", artifact.version.as_str())),
        hashes: subject.digests.iter().map(format_digest).collect(),
        url: Some(artifact.url.public_url().to_owned()),
        sources: sources.collect(),
        evidence: proofs.unwrap_or(&artifact.evidence).clone(),
        is_recorded: proofs.is_none(),
        replaces: overridden.then(|| purl::format_artifact(artifact, identity, false)),
        outside: subject.outside,
        members,
        ..empty_item(subject.role, component)
    }
}

/// Whether an override puts other bytes in the place of the publisher's: no digest is one of the catalog's, and the
/// override names another address, or a digest where the catalog has one.
fn has_other_bytes(
    artifact: &PlannedArtifact,
    over: &Override,
    note: Option<&ComponentNote>,
) -> bool {
    let known = note.map(|note| &note.digests);
    let mut digests = artifact.digests.iter();
    if known.is_some_and(|known| digests.any(|pin| known.contains(pin.digest.as_str()))) {
        return false;
    }
    let states_digest = over.sha256.is_some() || over.sha512.is_some();
    over.url.is_some() || states_digest && known.is_some_and(|known| !known.is_empty())
}

fn describe_file(role: Role, path: &str, sha256: &str) -> Item {
    Item {
        purl: Some(purl::format_generic(path, None, Some(sha256), None)),
        hashes: vec![("sha256".to_owned(), sha256.to_owned())],
        ..empty_item(role, path)
    }
}

/// The engine and its resources, file by file. Their version is that of the program that baked them into an image.
fn describe_scripts(scripts: &BTreeMap<String, String>, version: Option<&str>) -> Item {
    let name = "imagegen guest scripts";
    Item {
        kind: ItemKind::Application,
        version: version.map(str::to_owned),
        summary: Some("PowerShell scripts that apply the guest plan".to_owned()),
        members: scripts
            .iter()
            .map(|(path, sha256)| Item {
                purl: None,
                version: version.map(str::to_owned),
                ..describe_file(Role::GuestScript, path, sha256)
            })
            .collect(),
        ..empty_item(Role::GuestScript, name)
    }
}

/// Two subjects may have one name; the later ones get a number.
fn make_ids_unique(items: &mut [Item]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let members = items.iter_mut().flat_map(|item| {
        let Item { id, members, .. } = item;
        std::iter::once(id).chain(members.iter_mut().map(|member| &mut member.id))
    });
    for id in members {
        let count = seen.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *id = format!("{id}#{count}");
        }
    }
}
