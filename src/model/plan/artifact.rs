//! One artifact of a plan: where it comes from, and what proves it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PinnedDigest;
use crate::base::member::MemberFile;
use crate::base::url::{HttpUrl, strip_secrets};
use crate::base::value::ComponentName;
use crate::base::version::Version;
use crate::model::component::{
    Authenticode, CcgPlugin, ChecksumFile, ChecksumFormat, DeclaredSignature, Member, PayloadKind,
};
use crate::model::evidence::{Evidence, ProofKind};

/// Reader of an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ArtifactRole {
    /// The guest installs it.
    #[default]
    Guest,
    /// The builder attaches it to the machine.
    BootMedia,
    /// The machine that builds runs it.
    BuildTool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_guest(role: &ArtifactRole) -> bool {
    *role == ArtifactRole::Guest
}

/// One published file that the image needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlannedArtifact {
    pub component: ComponentName,
    #[serde(default, skip_serializing_if = "is_guest")]
    pub role: ArtifactRole,
    pub version: Version,
    pub url: HttpUrl,
    /// Last part of the publisher's URL, which is the name that images use.
    pub file: String,
    pub kind: PayloadKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// Bytes, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Digests that decide which bytes are used; none where nobody's digest is known.
    pub digests: Vec<PinnedDigest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checksums: Vec<ChecksumFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<DeclaredSignature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authenticode: Option<Authenticode>,
    /// HTTP header → environment variable that holds its value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Proofs that the catalog declares and that an override drops with the publisher's bytes: each needs a waiver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<ProofKind>,
    /// Proofs that held when the artifact was locked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The class that Windows asks for the credentials of group managed service accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ccg_plugin: Option<CcgPlugin>,
    pub license: String,
    pub purl: String,
    /// The digests were taken from a lockfile alone, and this run has proven nothing of the bytes yet. Never part of
    /// a file.
    #[serde(skip)]
    pub unproven: bool,
    /// Computed with the plan. Never part of a file.
    #[serde(skip)]
    pub overridden: OverriddenParts,
}

/// Parts of an artifact that an override states and the catalog does not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OverriddenParts {
    /// File names of programs that it brings into the image, in lower case.
    pub programs: Vec<String>,
    /// Checksum files: their word is that of the definition.
    pub checksums: Vec<HttpUrl>,
    /// Programs that are made of another member than the publisher's.
    pub remapped: Vec<MemberFile>,
}

impl OverriddenParts {
    /// Whether a proof that was read at this address, written without secrets, is a checksum file of the definition's.
    pub fn has_checksums(&self, source: &str) -> bool {
        let mut own = self.checksums.iter();
        own.any(|url| strip_secrets(url.public_url()) == source)
    }
}

/// Declared signatures that nobody asked for, one text for each artifact.
pub fn format_unasked<'a>(artifacts: impl Iterator<Item = &'a PlannedArtifact>) -> Vec<String> {
    let mut texts = Vec::new();
    for artifact in artifacts {
        let kinds = artifact.list_unasked();
        if !kinds.is_empty() {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            texts.push(format!("{}: {}", artifact.title(), names.join(", ")));
        }
    }
    texts
}

impl PlannedArtifact {
    /// Component and version, as messages name it.
    pub fn title(&self) -> String {
        format!("{} {}", self.component, self.version)
    }

    /// File names of the programs that it brings into the image.
    pub fn list_programs(&self) -> Vec<&str> {
        if self.members.is_empty() {
            return vec![self.file.as_str()];
        }
        let members = self.members.iter();
        members.map(|member| member.file.as_str()).collect()
    }

    /// Parts that an override has added to the artifact as the catalog publishes it.
    pub(crate) fn list_overridden(&self, published: &Self) -> OverriddenParts {
        let known = published.list_programs();
        let mut programs = Vec::new();
        for program in self.list_programs() {
            // Windows tells no case apart in the names of files.
            if !known.iter().any(|own| own.eq_ignore_ascii_case(program)) {
                programs.push(program.to_ascii_lowercase());
            }
        }

        let mut checksums = Vec::new();
        for file in &self.checksums {
            if !published.checksums.iter().any(|own| own.url == file.url) {
                checksums.push(file.url.clone());
            }
        }
        let mut remapped = Vec::new();
        for member in &self.members {
            let mut known = published.members.iter();
            if !known.any(|own| own.member == member.member && own.file == member.file) {
                remapped.push(member.file.clone());
            }
        }
        OverriddenParts {
            programs,
            checksums,
            remapped,
        }
    }

    /// Kinds of the declared signatures, each once.
    pub fn list_signatures(&self) -> Vec<ProofKind> {
        let mut kinds = Vec::new();
        for signature in &self.signatures {
            kinds.push(signature.kind.proof_kind());
        }
        if self.authenticode.is_some() {
            kinds.push(ProofKind::Authenticode);
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// URLs of checksum files, signatures and certificates.
    pub fn list_proof_urls(&self) -> Vec<&str> {
        let checksums = self.checksums.iter();
        let mut urls: Vec<&str> = checksums.map(|file| file.url.public_url()).collect();
        for signature in &self.signatures {
            urls.push(signature.url.public_url());
            urls.extend(signature.certificate_url.as_ref().map(HttpUrl::public_url));
        }
        urls
    }

    /// Signatures that are declared and of which there is no evidence: nobody asked for them. A checksum file beside
    /// a pin is none: it shows no more than the pin.
    pub fn list_unasked(&self) -> Vec<ProofKind> {
        let mut kinds = self.list_signatures();
        kinds.retain(|kind| !self.evidence.iter().any(|proof| proof.proof == *kind));
        kinds
    }

    /// Whether a declared proof states the version, so that an older file does not pass for this one: the tag in a
    /// signer's identity, or the name of the file in a signed checksum file.
    pub fn states_version(&self) -> bool {
        let version = self.version.as_str();
        let mut checksums = self.checksums.iter();
        let is_listed = self.url.plain_file_name().contains(version)
            && checksums.any(|file| file.format == ChecksumFormat::Gnu);
        self.signatures.iter().any(|signature| {
            let identity = signature.identity.as_deref().unwrap_or_default();
            // Of a signature by a key, nobody has verified an identity.
            let is_tagged =
                signature.kind.proof_kind().names_signer() && identity.contains(version);
            is_listed && signature.kind.signs_checksums() || is_tagged
        })
    }

    pub fn is_pinned(&self) -> bool {
        !self.digests.is_empty()
    }

    /// Whether a signature is declared, of the file itself or beside it.
    pub fn is_signed(&self) -> bool {
        !self.signatures.is_empty() || self.authenticode.is_some()
    }

    /// Whether the publisher signs the checksum files of it.
    pub fn signs_checksums(&self) -> bool {
        let mut signatures = self.signatures.iter();
        signatures.any(|signature| signature.kind.signs_checksums())
    }

    /// Whether both are one component from one URL.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.component == other.component && self.url.public_url() == other.url.public_url()
    }

    /// Whether both are pinned by the same digests, however well these are attested.
    pub(crate) fn has_digests_of(&self, other: &Self) -> bool {
        let own = self.digests.iter().map(|pin| &pin.digest);
        own.eq(other.digests.iter().map(|pin| &pin.digest))
    }

    /// Takes over what a lockfile records of the same artifact, where the catalog pins nothing.
    pub(super) fn adopt_pins(&mut self, locked: &Self) {
        if !self.is_pinned() {
            self.unproven = locked.is_pinned();
            self.digests.clone_from(&locked.digests);
            self.evidence.clone_from(&locked.evidence);
            self.size = self.size.or(locked.size);
        }
        if self.has_digests_of(locked) {
            self.adopt_member_digests(&locked.members);
        }
    }

    /// Why nobody knows the digest, and the way to one.
    pub(super) fn describe_unpinned(&self) -> String {
        let title = self.title();
        let proof = match (self.checksums.first(), self.signatures.first()) {
            (Some(checksum), _) => Some(&checksum.url),
            (None, Some(signature)) => Some(&signature.url),
            (None, None) => None,
        };
        if proof.is_none() && self.authenticode.is_none() {
            return format!(
                "{title}: no recorded digest, and its publisher offers no proof; state one with `--override {}.sha256=…`",
                self.component
            );
        }

        let source = proof
            .map(|url| format!(" (proof: {url})"))
            .unwrap_or_default();
        let version = if self.is_signed() && !self.states_version() {
            "; its signature states no version, so that the URL alone tells it from an older release"
        } else {
            ""
        };
        format!(
            "{title}: no recorded digest; run `imagegen lock` to verify and pin it{source}{version}"
        )
    }

    /// Digests of members that nothing else states, from a record of the same archive.
    fn adopt_member_digests(&mut self, recorded: &[Member]) {
        for member in &mut self.members {
            let same = recorded
                .iter()
                .find(|it| it.member == member.member && it.file == member.file);
            member.sha256 = member.sha256.take().or_else(|| same?.sha256.clone());
        }
    }

    /// The digest that the guest checks.
    pub fn digest(&self) -> Option<&PinnedDigest> {
        self.digests.first()
    }

    /// `pinned (sha256, medium)`, `unproven (sha256)` where only a lockfile states the digest, or `unpinned`.
    pub fn format_pin_state(&self) -> String {
        match self.digest() {
            Some(digest) if self.unproven => {
                format!("unproven ({})", digest.digest.algorithm().as_str())
            }
            Some(digest) => {
                let algorithm = digest.digest.algorithm().as_str();
                format!("pinned ({algorithm}, {})", digest.confidence.as_str())
            }
            None => "unpinned".to_owned(),
        }
    }
}
