//! A provider's overrides over what the catalog says of an artifact.

use std::collections::BTreeMap;

use crate::base::code::Code;
use crate::base::text::is_alphanumeric_or;
use crate::base::url::HttpUrl;
use crate::base::value::{FileDigest, PinAlgorithm};
use crate::base::version::Version;
use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::Finding;
use crate::model::component::{
    Authenticode, ChecksumFile, ChecksumFormat, Confidence, DeclaredSignature, SignatureKind,
};
use crate::model::definition::ImageDefinition;
use crate::model::overrides::{Override, Overrides, SCRIPTS, SignatureOverride, is_prefix};
use crate::model::plan::{PinnedDigest, PlannedArtifact, PlannedGroup, PlannedPacker, Warning};

use super::artifacts::{fill, fill_url};

const SOURCE: &str = "the image definition's overrides";

/// Whether a key of the overrides is a guest script.
pub(super) fn is_script(key: &str) -> bool {
    key.starts_with(SCRIPTS)
}

/// Checks the overrides independently of the artifacts to which they apply.
pub(super) fn check_overrides(overrides: &Overrides, refusals: &mut Vec<Finding>) {
    for (key, over) in overrides {
        if is_script(key)
            && (Override {
                sha256: None,
                ..over.clone()
            }) != Override::default()
        {
            let instead = "give `sha256` alone; the files come from `--scripts DIR`";
            refusals.push(refuse_override(
                key,
                "an override of a guest script takes a digest only",
                instead,
            ));
        }
        if let Some(header) = over.headers.keys().find(|name| !is_free_header(name)) {
            let instead = "name a header such as `Authorization`";
            let reason = &format!("`{header}` is not a header for credentials");
            refusals.push(refuse_override(key, reason, instead));
        }
        if let Some(signature) = &over.signature {
            refusals.extend(check_signature(key, signature));
        }
        if is_prefix(key) {
            let url = over
                .url
                .as_ref()
                .map(HttpUrl::public_url)
                .unwrap_or_default();
            let has_query = url.contains('?') || over.url.as_ref().is_some_and(HttpUrl::has_secret);
            if !key.ends_with('/') || !url.ends_with('/') || has_query {
                let reason = "an override of a URL prefix needs another URL prefix, without query";
                refusals.push(refuse_override(key, reason, "end both with `/`"));
            }
            if (Override {
                url: None,
                headers: BTreeMap::new(),
                ..over.clone()
            }) != Override::default()
            {
                let reason = "a mirror serves the same bytes: it takes only `url` and `headers`";
                let remedy = "override the component to give your own digests or signatures";
                refusals.push(refuse_override(key, reason, remedy));
            }
        }
    }
}

/// A signature that names something which is not verified with it, or no key that it must be by.
fn check_signature(key: &str, signature: &SignatureOverride) -> Option<Finding> {
    let kind = signature.kind.as_str();
    if let Some(field) = signature.declare().find_unverified() {
        let reason =
            format!("`signature.{field}` is not verified with a signature of the kind `{kind}`");
        let instead = format!(
            "remove `{field}`, or name the kind of signature that has it, such as `\"kind\": \"sigstore-bundle\"` for an \
             identity"
        );
        return Some(refuse_override(key, &reason, &instead));
    }
    let is_openpgp = matches!(
        signature.kind,
        SignatureKind::Openpgp | SignatureKind::OpenpgpOverChecksums
    );
    let identity = signature.identity.as_deref().unwrap_or_default();
    (is_openpgp && identity.trim().is_empty()).then(|| {
        let reason = format!("a signature of the kind `{kind}` needs the fingerprint of its key");
        let instead = "add it: `\"identity\": \"<40 hexadecimal digits>\"` (`gpg --show-keys FILE` prints it)";
        refuse_override(key, &reason, instead)
    })
}

/// Overrides against what is planned: tools that the target is not built with, and bytes that the catalog knows.
pub(super) fn check_planned_overrides(
    catalog: &Catalog,
    groups: &[PlannedGroup],
    packer: Option<&PlannedPacker>,
    selection: &ImageDefinition,
    refusals: &mut Vec<Finding>,
) -> Result<(), CatalogError> {
    check_tool_overrides(packer, selection, refusals);
    let artifacts = groups.iter().flat_map(|group| &group.artifacts);
    let artifacts = artifacts.map(|artifact| (artifact.component.to_string(), &artifact.version));
    let tools = packer.into_iter().flat_map(PlannedPacker::list_tools);
    let versions = artifacts.chain(tools).collect();
    check_known_digests(catalog, &selection.overrides, &versions, refusals)
}

/// Refuses overrides of tools that the target is not built with.
fn check_tool_overrides(
    packer: Option<&PlannedPacker>,
    selection: &ImageDefinition,
    refusals: &mut Vec<Finding>,
) {
    let tools = packer.into_iter().flat_map(PlannedPacker::list_tools);
    let used: BTreeMap<String, &Version> = tools.collect();
    let unused = selection
        .overrides
        .keys()
        .filter(|key| super::groups::is_tool(key) && !used.contains_key(*key));
    refusals.extend(unused.map(|name| {
        let message = format!("an override names {name}, which this target is not built with");
        Finding::new(Code::OVERRIDE_UNUSED, message, "remove the override").with_subject(name)
    }));
}

/// Headers that say which bytes are asked for, of which host, and how they travel.
const RESERVED_HEADERS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "if-match",
    "if-none-match",
    "if-range",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether an override may set a header: a token of RFC 9110, section 5.6.2, that frames no message.
fn is_free_header(name: &str) -> bool {
    !name.is_empty()
        && is_alphanumeric_or(name, "!#$%&'*+-.^_`|~")
        && !RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

fn refuse_override(key: &str, reason: &str, instead: &str) -> Finding {
    Finding::new(
        Code::OVERRIDE,
        format!("override of {key}: {reason}"),
        instead.to_owned(),
    )
    .with_subject(key)
    .with_source(SOURCE)
}

/// The artifact as the overrides have it, and what is worth knowing of that.
pub(super) fn apply_overrides(
    artifact: &mut PlannedArtifact,
    overrides: &Overrides,
) -> Vec<Warning> {
    let Some(over) = overrides.get(artifact.component.as_str()) else {
        return Vec::new();
    };
    let published = artifact.clone();
    let warnings = override_artifact(artifact, over);
    artifact.overridden = artifact.list_overridden(&published);
    warnings
}

fn override_artifact(artifact: &mut PlannedArtifact, over: &Override) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let own_url = over.url.as_ref();
    let published_elsewhere = own_url
        .map(|pattern| fill_url(pattern, &artifact.version))
        .filter(|url| *url != artifact.url);
    let own = override_digests(over);
    let has_other_bytes = brings_bytes(artifact, over, &own);
    if has_other_bytes {
        rename_file(artifact, over, published_elsewhere.as_ref());
    }
    if let Some(url) = published_elsewhere {
        if has_other_bytes {
            drop_proofs(artifact, over);
            warnings.extend(warn_dropped_proofs(artifact, &url));
        }
        artifact.url = url;
    } else if let Some(known) = find_contradicted(artifact, &own) {
        let message = format!(
            "the override's digest of {} {} differs from the catalog's digest for {}: {} ({})",
            artifact.component,
            artifact.version,
            artifact.url,
            known.digest,
            known.source.join("; ")
        );
        warnings.push(Warning::new(
            Code::OVERRIDE_CONTRADICTS_CATALOG,
            artifact.component.to_string(),
            message,
        ));
        // Other bytes have another size, and no digest of the catalog.
        artifact.size = None;
        artifact.digests.clear();
    }
    add_digests(&mut artifact.digests, own);
    artifact.size = over.size.or(artifact.size);
    artifact.kind = over.kind.unwrap_or(artifact.kind);
    if let Some(members) = &over.members {
        artifact.members.clone_from(members);
        for member in &mut artifact.members {
            member.member = member
                .member
                .fill_placeholders(|text| fill(text, &artifact.version));
        }
    }
    override_proofs(artifact, over);
    artifact.headers.clone_from(&over.headers);
    warnings
}

/// Whether an override with another address is a build of the provider's own: it names another digest than the catalog,
/// a signature or a publisher for it, or any proof of a version that the catalog does not pin. An address alone, with
/// another algorithm's digest or with a checksum file, has the publisher's bytes: the catalog's digest still holds.
fn brings_bytes(artifact: &PlannedArtifact, over: &Override, own: &[PinnedDigest]) -> bool {
    for known in &artifact.digests {
        if own.iter().any(|own| own.digest == known.digest) {
            return false;
        }
    }
    if find_contradicted(artifact, own).is_some() || brings_signer(artifact, over) {
        return true;
    }
    let is_described = !own.is_empty()
        || over.checksums.is_some()
        || over.kind.is_some()
        || over.members.is_some()
        || over.size.is_some();
    is_described && !artifact.is_pinned()
}

/// Whether an override names a signature, or another publisher than the catalog.
fn brings_signer(artifact: &PlannedArtifact, over: &Override) -> bool {
    let known = artifact.authenticode.as_ref();
    let publisher = over.publisher.as_ref();
    over.signature.is_some()
        || publisher.is_some_and(|own| known.is_none_or(|known| known.publisher != *own))
}

/// The catalog's digest that one of the override's contradicts.
fn find_contradicted<'a>(
    artifact: &'a PlannedArtifact,
    own: &[PinnedDigest],
) -> Option<&'a PinnedDigest> {
    artifact.digests.iter().find(|known| {
        own.iter().any(|own| {
            known.digest.algorithm() == own.digest.algorithm() && known.digest != own.digest
        })
    })
}

/// Other bytes have none of the publisher's digests and proofs. A signature or a publisher that the override names
/// replaces them; without one they are dropped.
fn drop_proofs(artifact: &mut PlannedArtifact, over: &Override) {
    if !brings_signer(artifact, over) {
        artifact.dropped = artifact.list_signatures();
    }
    artifact.digests.clear();
    artifact.size = None;
    artifact.checksums.clear();
    artifact.signatures.clear();
    artifact.authenticode = None;
}

/// A provider may call a file as he likes: images use the name that their services know.
fn rename_file(artifact: &mut PlannedArtifact, over: &Override, url: Option<&HttpUrl>) {
    let kind = over.kind.unwrap_or(artifact.kind);
    let name = match artifact.members.as_slice() {
        _ if kind.archive_format().is_some() => url.map(HttpUrl::local_file_name),
        // The publisher's archive contains only this program.
        [only] if artifact.kind.archive_format().is_some() => Some(only.file.as_str().to_owned()),
        _ if artifact.kind.archive_format().is_some() => url.map(HttpUrl::local_file_name),
        _ => None,
    };
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        artifact.file = name;
    }
}

/// Refuses digests of overrides that the catalog knows as those of something else.
///
/// # Errors
/// The catalog cannot be read.
pub(super) fn check_known_digests(
    catalog: &Catalog,
    overrides: &Overrides,
    planned: &BTreeMap<String, &Version>,
    refusals: &mut Vec<Finding>,
) -> Result<(), CatalogError> {
    for (name, over) in overrides {
        let Some(version) = planned.get(name) else {
            continue;
        };
        for own in override_digests(over) {
            let known = catalog.find_pins(own.digest.as_str())?;
            let is_same = known
                .iter()
                .any(|(component, known)| component == name && known == *version);
            let Some((component, other)) = known.first().filter(|_| !is_same) else {
                continue;
            };
            let reason =
                format!("its digest is that of {component} {other}, not of {name} {version}");
            let instead =
                format!("give the digest of {name} {version}, or choose the release that you mean");
            refusals.push(refuse_override(name, &reason, &instead));
        }
    }
    Ok(())
}

/// An archive that replaces a program must list its members.
pub(super) fn check_members(artifact: &PlannedArtifact, refusals: &mut Vec<Finding>) {
    if artifact.kind.archive_format().is_some() && artifact.members.is_empty() {
        let name = &artifact.component;
        let file = if name.contains('.') {
            name.to_string()
        } else {
            format!("{name}.exe")
        };
        let example = format!(r#"{{"member": "bin/{file}", "file": "{file}"}}"#);
        let reason = "`members` is missing: it lists the files of the archive to install";
        let remedy =
            &format!("name them in the overrides file, such as `\"members\": [{example}]`");
        refusals.push(refuse_override(&artifact.component, reason, remedy));
    }
}

/// An override's digests beside those that are recorded: another algorithm's digest adds.
fn add_digests(digests: &mut Vec<PinnedDigest>, own: Vec<PinnedDigest>) {
    for pin in &own {
        digests.retain(|known| known.digest.algorithm() != pin.digest.algorithm());
    }
    digests.extend(own);
    digests.sort_by_key(|pin| pin.digest.algorithm() != PinAlgorithm::Sha256);
}

/// Other bytes have none of the publisher's proofs: which ones, where there were some.
fn warn_dropped_proofs(artifact: &PlannedArtifact, url: &HttpUrl) -> Option<Warning> {
    let kinds: Vec<&str> = artifact.dropped.iter().map(|kind| kind.as_str()).collect();
    let component = &artifact.component;
    let waivers: Vec<String> = kinds
        .iter()
        .map(|kind| format!("`--waive {component}={kind}`"))
        .collect();
    let message = format!(
        "an override takes {} from {url}: its publisher's {} is not asked for, which {} accepts",
        artifact.title(),
        kinds.join(", "),
        waivers.join(" ")
    );
    let id = Code::OVERRIDE_DROPS_PROOFS;
    (!kinds.is_empty()).then(|| Warning::new(id, component.to_string(), message))
}

/// A publisher's signature that the catalog declares stays: other bytes have another address.
pub(super) fn check_publisher(
    artifact: &PlannedArtifact,
    overrides: &Overrides,
    refusals: &mut Vec<Finding>,
) {
    let over = overrides.get(artifact.component.as_str());
    let own = over.and_then(|over| over.publisher.as_ref());
    if let (Some(own), Some(known)) = (own, &artifact.authenticode)
        && known.publisher != *own
    {
        let reason = format!(
            "its publisher is `{}`, and the same file has no other",
            known.publisher
        );
        let remedy = "name the address of your own build (`url`), or remove `publisher`";
        refusals.push(refuse_override(&artifact.component, &reason, remedy));
    }
}

fn override_proofs(artifact: &mut PlannedArtifact, over: &Override) {
    let version = artifact.version.clone();
    let filled = |pattern: &HttpUrl| fill_url(pattern, &version);
    if let Some(url) = &over.checksums {
        artifact.checksums.push(ChecksumFile {
            url: filled(url),
            algorithm: guess_algorithm(url),
            format: ChecksumFormat::Gnu,
        });
    }
    if let Some(signature) = &over.signature {
        artifact.signatures.push(DeclaredSignature {
            url: filled(&signature.url),
            certificate_url: signature.certificate_url.as_ref().map(filled),
            ..signature.declare()
        });
    }
    if let Some(publisher) = over
        .publisher
        .as_ref()
        .filter(|_| artifact.authenticode.is_none())
    {
        artifact.authenticode = Some(Authenticode {
            publisher: publisher.clone(),
            members: over.signed_members.clone(),
            unsigned: Vec::new(),
            roots: over.roots.clone(),
        });
    }
    if let (Some(roots), Some(known)) = (&over.roots, &mut artifact.authenticode) {
        known.roots = Some(roots.clone());
    }
}

/// The algorithm of a checksum file, by its name (`SHA512SUMS`, `agent.zip.sha256`) or else by its folders. A number
/// alone says nothing: ports and versions have it, too.
fn guess_algorithm(checksums: &HttpUrl) -> PinAlgorithm {
    let address = checksums.public_url().to_ascii_lowercase();
    let name = checksums.file_name().to_ascii_lowercase();
    if names_algorithm(&address, "512") && !names_algorithm(&name, "256") {
        PinAlgorithm::Sha512
    } else {
        PinAlgorithm::Sha256
    }
}

/// Whether a text in lower case names SHA-2 of this length.
fn names_algorithm(text: &str, length: &str) -> bool {
    let mut spellings = ["sha", "sha-", "sha_", "sha2-"].into_iter();
    spellings.any(|spelling| text.contains(&format!("{spelling}{length}")))
}

/// Digests that the definition states. It is the party that is judged: only proofs and a policy attest them better.
fn override_digests(over: &Override) -> Vec<PinnedDigest> {
    let sha256 = over.sha256.clone().map(FileDigest::Sha256);
    let sha512 = over.sha512.clone().map(FileDigest::Sha512);
    let mut digests = Vec::new();
    for digest in sha256.into_iter().chain(sha512) {
        digests.push(PinnedDigest {
            digest,
            confidence: Confidence::Low,
            source: vec![SOURCE.to_owned()],
        });
    }
    digests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_checksum_file_names_its_algorithm() {
        for (path, algorithm) in [
            (":35125/SHA512SUMS", PinAlgorithm::Sha512),
            ("/agent-5.512.zip.sha512", PinAlgorithm::Sha512),
            ("/SHA512/checksums.txt", PinAlgorithm::Sha512),
            ("/sha-512/agent.txt", PinAlgorithm::Sha512),
            ("/sha512/agent.zip.sha256", PinAlgorithm::Sha256),
            (":35125/agent.zip.sha256", PinAlgorithm::Sha256),
            ("/agent_5.512.0_checksums.txt", PinAlgorithm::Sha256),
            ("/SHA256SUMS-5.512", PinAlgorithm::Sha256),
            ("/512/checksums.txt", PinAlgorithm::Sha256),
        ] {
            let url = format!("https://a.example{path}").parse();
            assert_eq!(guess_algorithm(&url.expect(path)), algorithm, "{path}");
        }
    }
}
