//! A provider's demands on every artifact, beyond that its bytes are pinned.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::component::Confidence;
use super::evidence::{ProofKind, StatementKind, Verdict};
use super::mirrors::Mirrors;
use crate::base::choice::words;
use crate::base::url::{HttpUrl, normalize_host};
use crate::base::value::{HostPattern, Sha256, StepId};
use crate::base::version::{Version, VersionRange};

/// A policy file (`--policy FILE`). Everything that it does not name is allowed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"name\": \"production\", \"allowedHosts\": [\"dl.k8s.io\"]}`"
)]
pub struct Policy {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// As errors and locks name it.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Proofs that components must have; every rule that fits an artifact counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<Requirement>,
    /// Host names that artifacts may come from, redirects included; `*.example.com` takes in those below.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = ["dl.k8s.io"])]
    pub allowed_hosts: Option<Vec<HostPattern>>,
    /// Publishers (`O=…,CN=…`) that Authenticode signatures may name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_publishers: Option<Vec<String>>,
    /// SHA-256 of the certificates that Authenticode chains may end in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_roots: Option<Vec<Sha256>>,
    /// Components that no image may hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden_components: Vec<String>,
    /// Roles that no image and no build may have, such as `own-file`: steps, targets and components of the user's own,
    /// whether the definition, a flag or the environment names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden_roles: Vec<Role>,
    /// Versions that components, Packer and its plugins may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_versions: Vec<AllowedVersions>,
    /// Base images, by target. A target with base images that no entry names is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_base_images: Option<Vec<AllowedBaseImage>>,
    /// Hosts of proxies that a node may be given, whoever names them; none where the list is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_proxies: Option<Vec<HostPattern>>,
    /// How well a digest must be attested that the catalog pins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_confidence: Option<Confidence>,
    /// Refuse a base image that the platform chooses anew in each build, such as `latest`.
    #[serde(default)]
    pub refuse_floating_base_image: bool,
    /// Refuse a Kubernetes line, a Windows release and components whose support has ended on the day of the run.
    #[serde(default)]
    pub refuse_unsupported: bool,
    /// Steps that must be part of the plan, by id: the program's or your own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_steps: Vec<StepId>,
    /// Guest scripts must be signed, and the guest runs them under `AllSigned`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_scripts: Option<SignedScripts>,
    /// Statements about an image that `verify --attestation` must find signed, by `trustedKeys` or
    /// `trustedIdentities`: `provenance`, `sbom`, `check-report`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_attestations: Vec<StatementKind>,
    /// The worst verdict that a proof may have which `require` or `minimumConfidence` counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_verdict: Option<Verdict>,
    /// Proofs that components declare and that may be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<Waiver>,
    /// Public keys that overrides of the named components may use, beside those of the catalog.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_keys: Vec<TrustedKey>,
    /// Signers with a certificate that overrides of the named components may use, beside those of the catalog.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_identities: Vec<TrustedIdentity>,
    /// Publishers of Authenticode signatures that overrides of the named components may use, beside those of the
    /// catalog. A publisher counts together with `allowedRoots`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_publishers: Vec<TrustedPublisher>,
    /// Files that you have checked yourself, each for the components that it may stand for: programs, the program of
    /// `--packer`, files of your own targets, steps and components, and the catalog of `--manifests`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_digests: Vec<TrustedDigest>,
    /// Environment variables that overrides may send as HTTP headers, each with its hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub header_grants: Vec<HeaderGrant>,
    /// Hosts that the command line allows to be asked over plain HTTP (`--allow-http`). Never part of the file.
    #[serde(skip)]
    pub plain_http: Vec<String>,
    /// Where the operator takes the publishers' bytes from. Never part of the file.
    #[serde(skip)]
    pub mirrors: Mirrors,
}

/// Name of the baked image in `components` of a trusted key or identity, which may then sign statements about it.
pub const BAKED_IMAGE: &str = "baked-image";

/// The subjects that an anchor is trusted for: they have one of the names, one of the roles where some are given, and
/// a version of the range where one is given.
#[derive(Debug, Clone, Copy)]
pub struct TrustScope<'a> {
    pub components: &'a [String],
    pub roles: &'a [Role],
    pub versions: Option<&'a VersionRange>,
}

impl TrustScope<'_> {
    /// Whether a subject is one of them: `is_named` says that a name of the scope means it.
    pub fn holds(self, is_named: bool, role: Option<Role>, version: Option<&Version>) -> bool {
        let is_version = match (self.versions, version) {
            (Some(range), Some(version)) => range.contains(version),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let has_role = role.is_some_and(|role| self.roles.contains(&role));
        is_named && is_version && (self.roles.is_empty() || has_role)
    }

    /// Whether it takes in the baked image, which has neither a role nor a version. `*` means components alone.
    pub fn names_baked_image(self) -> bool {
        let is_named = self.components.iter().any(|name| name == BAKED_IMAGE);
        self.holds(is_named, None, None)
    }
}

/// Declares anchors, each with the subjects that it is trusted for. Serde cannot flatten a struct into one that
/// refuses unknown fields.
macro_rules! anchors {
    ($(
        $(#[$meta:meta])*
        $name:ident {
            $($(#[$field_meta:meta])* $field:ident,)+
        }
    )+) => {$(
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "camelCase")]
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: String,)+
            /// Names of components, files or images that it is trusted for, as in `require`. Of an archive that is
            /// named by its programs, each program must be named.
            pub components: Vec<String>,
            /// Roles that it is trusted for; every role where none is given.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub roles: Vec<Role>,
            /// Versions that it is trusted for; every version where no range is given.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub versions: Option<VersionRange>,
        }

        impl $name {
            #[must_use]
            pub fn scope(&self) -> TrustScope<'_> {
                TrustScope {
                    components: &self.components,
                    roles: &self.roles,
                    versions: self.versions.as_ref(),
                }
            }
        }
    )+};
}

anchors! {
    /// A public key, and what it may sign.
    #[serde(
        expecting = "an object such as `{\"key\": \"…\", \"components\": [\"kubelet\"]}`: trust is for named components"
    )]
    TrustedKey {
        /// SHA-256 of the key in DER, of the 42 bytes of a minisign key, or the fingerprint of an OpenPGP key.
        key,
    }

    /// A signer with a certificate, and what he may sign: identity and issuer must be as named.
    #[serde(
        expecting = "an object such as `{\"identity\": \"…\", \"issuer\": \"https://…\", \"components\": [\"kubelet\"]}`"
    )]
    TrustedIdentity {
        /// E-mail address or URI of the signer.
        identity,
        /// OIDC issuer of the identity.
        issuer,
    }

    /// A publisher of Authenticode signatures, and what it may sign.
    #[serde(
        expecting = "an object such as `{\"publisher\": \"O=Example Inc,CN=Example Inc\", \"components\": [\"kubelet\"]}`"
    )]
    TrustedPublisher {
        /// `O=…,CN=…`
        publisher,
    }

    /// A file, and what it may stand for.
    #[serde(
        expecting = "an object such as `{\"digest\": \"…\", \"components\": [\"kubelet\"]}`: trust is for named components"
    )]
    TrustedDigest {
        /// SHA-256 or SHA-512, in hexadecimal.
        digest,
    }
}

/// Versions that some components may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"components\": [\"packer\"], \"versions\": \">=1.11.0\"}`"
)]
pub struct AllowedVersions {
    /// Names as in `require`.
    pub components: Vec<String>,
    pub versions: VersionRange,
}

/// Base images of a target: each variable that names the base image has one of its patterns, and no other such
/// variable has a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"target\": \"NAME\", \"variables\": {\"VARIABLE\": [\"VALUE\"]}}`"
)]
pub struct AllowedBaseImage {
    pub target: String,
    /// Variable → values; `*` at the end stands for any rest.
    pub variables: BTreeMap<String, Vec<String>>,
}

/// An environment variable whose value may be sent to some hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HeaderGrant {
    pub environment: String,
    /// Host names; `*.example.com` takes in those below.
    pub hosts: Vec<HostPattern>,
}

impl HeaderGrant {
    /// Whether the variable may be sent to the host.
    pub fn allows(&self, variable: &str, host: &str) -> bool {
        self.environment == variable && self.hosts.iter().any(|pattern| matches_host(pattern, host))
    }
}

/// A declared proof that may be missing. One that is there must hold all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Waiver {
    pub component: String,
    pub proof: ProofKind,
    /// Why it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Policy {
    /// Rules where no policy is in force: plain HTTP to these hosts.
    pub fn from_hosts(plain_http: &[String]) -> Self {
        Self {
            name: "default".to_owned(),
            plain_http: plain_http.to_vec(),
            ..Self::default()
        }
    }

    /// The worst verdict of a proof that counts.
    pub fn least_verdict(&self) -> Verdict {
        self.minimum_verdict.unwrap_or(Verdict::LEAST)
    }

    /// Whether it wants more of some bytes than that they have their digest.
    pub fn demands_proofs(&self) -> bool {
        let judges_signers = self.allowed_publishers.is_some() || self.allowed_roots.is_some();
        let has_minimum = self.minimum_confidence.is_some() || self.minimum_verdict.is_some();
        !self.require.is_empty() || judges_signers || has_minimum
    }

    /// Whether it says something of the content of an image, beside whom it trusts and which statements it wants.
    pub fn judges_contents(&self) -> bool {
        let clauses = Self {
            schema: None,
            name: String::new(),
            note: None,
            required_attestations: Vec::new(),
            waivers: Vec::new(),
            trusted_keys: Vec::new(),
            trusted_identities: Vec::new(),
            trusted_publishers: Vec::new(),
            trusted_digests: Vec::new(),
            header_grants: Vec::new(),
            plain_http: Vec::new(),
            mirrors: Mirrors::default(),
            ..self.clone()
        };
        clauses != Self::default()
    }

    /// Whether the URL may be asked: over HTTPS, on this machine itself, or on a host of `--allow-http`.
    pub fn allows_transport(&self, url: &HttpUrl) -> bool {
        url.is_protected() || self.allows_unproven_host(&url.host())
    }

    /// Whether the operator takes what a host says without a certificate that proves it (`--allow-http`).
    pub fn allows_unproven_host(&self, name: &str) -> bool {
        let mut hosts = self.plain_http.iter();
        hosts.any(|host| normalize_host(host) == name)
    }

    /// The hosts that may be asked; none where every host may.
    pub fn hosts(&self) -> Option<AllowedHosts> {
        let patterns = self.allowed_hosts.clone()?;
        Some(AllowedHosts {
            policy: self.name.clone(),
            patterns,
        })
    }
}

/// `allowedHosts` of a policy, as downloads are held against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHosts {
    pub policy: String,
    pub patterns: Vec<HostPattern>,
}

impl AllowedHosts {
    pub fn allows_host(&self, host: &str) -> bool {
        self.patterns
            .iter()
            .any(|pattern| matches_host(pattern, host))
    }
}

/// Whether a host is the pattern's, or below `*.DOMAIN`, however both are written.
pub fn matches_host(pattern: &str, host: &str) -> bool {
    let host = normalize_host(host);
    match pattern.strip_prefix("*.") {
        Some(domain) => host
            .strip_suffix(&normalize_host(domain))
            .is_some_and(|rest| rest.ends_with('.')),
        None => normalize_host(pattern) == host,
    }
}

words!(
    /// Role of a subject in an image or a build.
    Role {
        /// A published file of a component: a program, an archive, an installer.
        Artifact = "artifact",
        /// A Windows update, as a file or by a search.
        Update = "update",
        /// A part of a volume plugin.
        VolumePlugin = "volume-plugin",
        ContainerImage = "container-image",
        /// A certificate that the guest is told to trust: of the policy's signers, or of a host of `registries`.
        Certificate = "certificate",
        /// A variable that names the base image.
        BaseImage = "base-image",
        /// Packer or a plugin of it, which runs on the building machine.
        BuildTool = "build-tool",
        /// A medium that the builder attaches to the machine.
        Medium = "medium",
        /// A guest script of the user's own in the place of the program's.
        GuestScript = "guest-script",
        /// A file of the user's own: catalog, component, target, step, part of containerd's configuration.
        OwnFile = "own-file",
    }
);

/// Whether a name fits a pattern: `*` at the end stands for any rest.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// Accepted signers of the guest scripts (`--scripts DIR`). One of the two lists is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"publishers\": [\"O=Example\"]}`")]
pub struct SignedScripts {
    /// Publishers (`O=…,CN=…`), one of which the signer must be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub publishers: Vec<String>,
    /// Certificates in PEM, or a file of them beside the policy, that signer and timestamp must lead to; in the
    /// place of the catalog's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// Without a timestamp the scripts of a node stop to run when the signer's certificate ends.
    #[serde(default)]
    pub require_timestamp: bool,
}

/// Proofs that are demanded of some components.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"id\": \"signed\", \"components\": [\"*\"], \"anyOf\": [\"authenticode\"]}`"
)]
pub struct Requirement {
    /// As errors name it.
    pub id: String,
    /// Names of components, files or images, or of programs without `.exe`, whatever archive they come in; `*` at
    /// the end stands for any rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<String>,
    /// Everything that has one of these roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Everything that comes from one of these hosts; `*.example.com` takes in those below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPattern>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionRange>,
    /// One of these must hold.
    pub any_of: Vec<ProofKind>,
    /// A proof counts only if it says that it is over this program in this version: by the record of the catalog or
    /// of the policy, by the line of a checksum file, by the signer's identity, or from inside the signed file.
    #[serde(default)]
    pub require_version: bool,
}

/// The policy that a plan was held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PolicyUsed {
    pub name: String,
    /// SHA-256 of the policy.
    pub sha256: String,
}

#[cfg(test)]
mod tests {
    use super::{AllowedHosts, matches_pattern};

    #[test]
    fn patterns_end_in_a_star() {
        assert!(matches_pattern("kube*", "kubelet"));
        assert!(matches_pattern("kubelet", "kubelet"));
        assert!(!matches_pattern("kubelet", "kubelet2"));
        assert!(!matches_pattern("*kube", "kube"));
    }

    #[test]
    fn hosts_are_matched_whole() {
        let hosts = AllowedHosts {
            policy: "p".to_owned(),
            patterns: ["a.example", "*.B.example"]
                .map(|text| text.parse().expect(text))
                .into(),
        };
        for (host, allowed) in [
            ("a.example", true),
            ("A.Example", true),
            ("x.a.example", false),
            ("a.example.evil", false),
            ("x.b.example", true),
            ("x.y.b.example", true),
            ("b.example", false),
            ("xb.example", false),
        ] {
            assert_eq!(hosts.allows_host(host), allowed, "{host}");
        }
    }
}
