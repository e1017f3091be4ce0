//! Components: what can be put into an image, where it is published, what is known of its bytes.

mod signature;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::kubernetes::ComponentChoice;
use super::line::Minor;
use super::pins::PinList;
use super::published_digest::{DigestAlgorithm, PublishedDigest};
use super::stage::ServiceAccount;
use super::step::When;
use super::support::BranchEnd;
use super::upstream::Upstream;
use crate::base::choice::words;
use crate::base::member::{MemberFile, MemberName};
use crate::base::url::HttpUrl;
use crate::base::value::{ComponentName, FileName, PinAlgorithm, Sha256, ValueError};
use crate::base::version::{Version, VersionRange};
use crate::windows::resource::ArchiveFormat;
use crate::windows::value::{Guid, ServiceName};

pub use signature::{DeclaredSignature, SignatureKind};

/// A component of the catalog, with its pins.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    pub definition: ComponentDefinition,
    pub pins: PinList,
}

/// `manifests/components/<name>.json`
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ComponentDefinition {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// File name without suffix.
    pub name: ComponentName,
    pub summary: String,
    /// SPDX expression.
    pub license: String,
    /// Package URL with the placeholder `{version}`.
    pub purl: String,
    pub note: Option<String>,
    /// By what scanners and bills of materials know it.
    pub identity: Option<ComponentIdentity>,
    /// Where newer releases are listed.
    pub upstream: Option<Upstream>,
    /// Address of a release's notes, with the placeholders `{version}` and `{minor}`; by default those of `upstream`.
    pub release_notes: Option<HttpUrl>,
    /// Default version and allowed range by Kubernetes line, where the component depends on it.
    #[serde(default)]
    pub choices: Vec<ComponentChoice>,
    /// Until when its publisher supports its branches.
    #[serde(default)]
    pub end_of_support: Vec<BranchEnd>,
    /// Why an image holds it where the user or the pod network names it; of what stands alone and in no group of
    /// `contents.json`.
    pub contents: Option<ComponentConditions>,
    /// The oldest release that is used unless the operator names it; of programs of the machine that builds.
    pub floor: Option<VersionFloor>,
    /// How releases are published, by version; the first range that holds a version counts.
    pub releases: Vec<Release>,
    /// The class by which it gives Windows' container credential guard the credentials of group managed service accounts.
    pub ccg_plugin: Option<CcgPlugin>,
    /// Services that its installer creates; a step can set what they have not set.
    #[serde(default)]
    pub services: Vec<InstalledService>,
    /// Refused: pins have a file of their own.
    #[serde(default, rename = "pins", deserialize_with = "refuse_pins")]
    #[schemars(skip)]
    pub moved_pins: (),
}

fn refuse_pins<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    let file = r#"`{"component": "NAME", "pins": […]}`"#;
    Err(D::Error::custom(format!(
        "pins do not stand in the component's file; move the list to `pins/NAME.json`: {file}"
    )))
}

/// The oldest release of which protocol and known holes are right.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct VersionFloor {
    pub version: Version,
    /// Defect of older releases, as errors say it.
    pub reason: String,
    pub source: String,
}

/// Names under which vulnerabilities of a component are published.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ComponentIdentity {
    /// The organization that publishes it.
    pub supplier: Option<String>,
    /// Go module that it is built from, with the package behind `#`: `k8s.io/kubernetes#cmd/kubelet`. `{goMajor}` stands
    /// for `/v2` and so on where the version has that major number.
    pub module: Option<String>,
    /// CPE 2.3 name with the placeholder `{version}`.
    pub cpe: Option<String>,
    pub source: String,
}

/// The conditions of a component that no group of `contents.json` names.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ComponentConditions {
    #[serde(default)]
    pub when: When,
    pub reason: String,
    pub source: String,
}

impl Component {
    /// The default and the allowed range on a Kubernetes line.
    pub fn find_choice(&self, minor: Minor) -> Option<&ComponentChoice> {
        self.definition
            .choices
            .iter()
            .find(|choice| choice.kubernetes.contains(minor))
    }

    /// Address of the notes of a release.
    pub fn release_notes_url(&self, version: &Version) -> Option<String> {
        let template = match &self.definition.release_notes {
            Some(url) => url.to_string(),
            None => self.definition.upstream.as_ref()?.release_page()?,
        };
        let text = template.replace("{version}", version.as_str());
        Some(text.replace("{minor}", &version.minor()))
    }
}

/// Where and how the versions of a range are published. In URLs and names of members `{version}`
/// stands for the version, `{version_}` for the version with underscores in the place of dots; for
/// tools of the machine that builds, `{os}`, `{arch}` and `{exe}` for what that machine is.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Release {
    pub versions: VersionRange,
    pub url: HttpUrl,
    pub kind: PayloadKind,
    /// Files of an archive that images use. Empty for anything else.
    #[serde(default)]
    pub members: Vec<Member>,
    /// Publisher's checksum files.
    #[serde(default)]
    pub checksums: Vec<ChecksumFile>,
    #[serde(default)]
    pub signatures: Vec<DeclaredSignature>,
    pub authenticode: Option<Authenticode>,
    pub source: String,
}

words!(
    PayloadKind {
        /// A program that is used as it is.
        Exe = "exe",
        Zip = "zip",
        TarGz = "tar.gz",
        Msi = "msi",
        /// A script or any other file that is used as it is.
        File = "file",
    }
);

impl PayloadKind {
    pub fn archive_format(self) -> Option<ArchiveFormat> {
        match self {
            Self::Zip => Some(ArchiveFormat::Zip),
            Self::TarGz => Some(ArchiveFormat::TarGz),
            Self::Exe | Self::Msi | Self::File => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Member {
    /// Name inside the archive; placeholders as in URLs.
    pub member: MemberName,
    /// File name that images use.
    pub file: MemberFile,
    /// SHA-256 of the member's bytes: compared when the archive is read, and again in the guest after
    /// unpacking. A lock records it where the archive was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ChecksumFile {
    pub url: HttpUrl,
    pub algorithm: PinAlgorithm,
    pub format: ChecksumFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChecksumFormat {
    /// The digest and nothing else.
    Bare,
    /// `digest  name`, one or more lines.
    Gnu,
}

/// Signatures inside the files themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Authenticode {
    /// Subject of the signing certificate, as far as it is demanded.
    pub publisher: String,
    /// Globs of archive members that carry a signature; empty for the file itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Members that match and are unsigned. One that turns out to be signed is an error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsigned: Vec<String>,
    /// Certificates in PEM that chains may end in; the catalog's own where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
}

/// A COM class that `ICcgDomainAuthCredentials` is asked of, for machines outside of a domain.
/// Source: <https://learn.microsoft.com/windows/win32/api/ccgplugins/nn-ccgplugins-iccgdomainauthcredentials>.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CcgPlugin {
    /// The class, as credential specifications name it.
    pub clsid: Guid,
    /// The application whose surrogate process loads it.
    pub app_id: Guid,
    /// The 64-bit library with the class: a member of the archive, or the file itself.
    pub library: FileName,
    pub source: String,
}

/// A service that an installer creates.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct InstalledService {
    pub name: ServiceName,
    /// Accounts that it can belong to; the first row that holds counts, and without a row `LocalSystem`.
    #[serde(default)]
    pub accounts: Vec<ServiceAccount>,
    pub source: String,
}

/// One published digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "PinRecord", into = "PinRecord")]
#[schemars(with = "PinRecord")]
pub struct Pin {
    pub version: Version,
    pub platform: Option<String>,
    pub digest: PublishedDigest,
    pub size: Option<u64>,
    pub url: Option<HttpUrl>,
    pub confidence: Confidence,
    pub source: Vec<String>,
    pub note: Option<String>,
}

/// The same in JSON, where the algorithm stands beside the digest.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PinRecord {
    version: Version,
    /// `windows_amd64`, of tools that run on the machine that builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    algorithm: DigestAlgorithm,
    digest: String,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Where it differs from the release's pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<HttpUrl>,
    confidence: Confidence,
    source: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl TryFrom<PinRecord> for Pin {
    type Error = ValueError;

    fn try_from(record: PinRecord) -> Result<Self, ValueError> {
        let PinRecord {
            version,
            platform,
            algorithm,
            digest,
            size,
            url,
            confidence,
            source,
            note,
        } = record;
        Ok(Self {
            version,
            platform,
            digest: PublishedDigest::new(algorithm, digest)?,
            size,
            url,
            confidence,
            source,
            note,
        })
    }
}

impl From<Pin> for PinRecord {
    fn from(pin: Pin) -> Self {
        let Pin {
            version,
            platform,
            digest,
            size,
            url,
            confidence,
            source,
            note,
        } = pin;
        let (algorithm, digest) = (digest.algorithm(), digest.as_str().to_owned());
        Self {
            version,
            platform,
            algorithm,
            digest,
            size,
            url,
            confidence,
            source,
            note,
        }
    }
}

words!(
    /// How well a digest is attested.
    Confidence {
        /// A later record of the same source disagrees: tells drift, never pins.
        Superseded = "superseded",
        /// The publisher replaced the bytes at this URL: tells drift, never pins.
        Mutable = "mutable",
        /// One unrelated public repository.
        Low = "low",
        /// One package manager's manifest or a thin CI pin.
        Medium = "medium",
        /// Two independent sources, or a build that runs the check.
        High = "high",
        /// The publisher's own record.
        Authoritative = "authoritative",
    }
);

impl Pin {
    /// Whether the digest may decide which bytes are used.
    pub fn is_usable(&self) -> bool {
        matches!(self.digest, PublishedDigest::File(_)) && self.confidence >= Confidence::Low
    }
}
