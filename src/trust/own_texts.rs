//! Texts of a definition that reach the node as they are, and that nobody but their author vouches for: parts of
//! containerd's configuration, which name programs and hosts, and certificates that it trusts.

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::value::{FileDigest, Sha256};
use crate::model::containerd::ConfigFragment;
use crate::model::definition::ImageDefinition;
use crate::model::plan::Warning;
use crate::model::policy::Role;

use super::subject::{Subject, SubjectSource};

/// Name that policies have for every part of containerd's configuration: their digests tell them apart.
pub const FRAGMENTS: &str = "containerd.fragments";

/// The texts as subjects: each fragment, and the certificates of each host of a registry.
pub fn list_own_texts<'a>(selection: &ImageDefinition) -> Vec<Subject<'a>> {
    let mut subjects = list_fragments(selection);
    subjects.extend(list_certificates(selection));
    subjects
}

fn list_fragments<'a>(selection: &ImageDefinition) -> Vec<Subject<'a>> {
    let options = selection.containerd.iter();
    let fragments = options.flat_map(|options| &options.fragments);
    let mut subjects = Vec::new();
    for (index, fragment) in fragments.enumerate() {
        // The text of a file that is not there is never read: its name stands for it until the selection is refused.
        let text = match fragment {
            ConfigFragment::Text(text) => text.as_str(),
            ConfigFragment::File(path) => path,
        };
        subjects.push(Subject {
            title: format!("{FRAGMENTS}[{index}]"),
            digests: digest_text(text),
            ..Subject::new(Role::OwnFile, FRAGMENTS, SubjectSource::Given)
        });
    }
    subjects
}

/// Policies name them by the host that has them: `registries/HOST`.
fn list_certificates<'a>(selection: &ImageDefinition) -> Vec<Subject<'a>> {
    let mut subjects = Vec::new();
    for (registry, known) in &selection.registries {
        for host in known.list_hosts() {
            if let Some(ca) = &host.ca {
                let host = host.url.host();
                let name = format!("registries/{host}");
                subjects.push(Subject {
                    title: format!("`ca` of {host} for the registry {registry}"),
                    digests: digest_text(ca),
                    ..Subject::new(Role::Certificate, name, SubjectSource::Given)
                });
            }
        }
    }
    subjects
}

fn digest_text(text: &str) -> Vec<FileDigest> {
    let digest = sha256_hex(text.as_bytes()).parse::<Sha256>();
    digest.into_iter().map(FileDigest::Sha256).collect()
}

/// Texts of the definition, where no policy decides about them.
#[must_use]
pub fn warn_own_texts(selection: &ImageDefinition) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for subject in list_own_texts(selection) {
        let digests: Vec<&str> = subject.digests.iter().map(FileDigest::as_str).collect();
        let (title, digest) = (&subject.title, digests.join(" "));
        let (code, act) = match subject.role {
            Role::Certificate => (Code::OWN_CERTIFICATE, "nodes trust"),
            _ => (
                Code::OWN_CONFIGURATION,
                "containerd runs the programs and asks the hosts of",
            ),
        };
        let message =
            format!("{act} {title}, which the image definition brings (SHA-256 {digest})");
        warnings.push(Warning::new(code, subject.name, message));
    }
    warnings
}
