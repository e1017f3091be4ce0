//! Files of the user's own in the place of the program's: the definition of a component, or its pins.

use crate::base::digest::sha256_hex;
use crate::catalog::Catalog;
use crate::embedded::Tree;
use crate::model::plan::PlannedArtifact;
use crate::model::policy::Policy;

use super::confidence::is_trusted_digest;
use super::subject::Subject;

/// The file that defines the component of an artifact.
fn definition_file(artifact: &PlannedArtifact) -> String {
    format!("components/{}.json", artifact.component)
}

/// The file with the pins of the component.
fn pin_file(artifact: &PlannedArtifact) -> String {
    format!("pins/{}.json", artifact.component)
}

/// Whether the user defines the component: its addresses, and what proves its bytes.
pub(super) fn has_own_definition(artifact: &PlannedArtifact, catalog: &Catalog) -> bool {
    let own = catalog.tree().own_files();
    own.contains_key(&definition_file(artifact))
}

/// Whether the user states the digests of the component.
pub(super) fn has_own_pins(artifact: &PlannedArtifact, catalog: &Catalog) -> bool {
    let own = catalog.tree().own_files();
    own.contains_key(&pin_file(artifact))
}

/// Whether files of the user's own stand in the place of those of a component that the program carries.
pub(super) fn replaces_component(artifact: &PlannedArtifact, catalog: &Catalog) -> bool {
    let published = Tree::embedded_manifests();
    let is_published = published.get(&definition_file(artifact)).is_some();
    is_published && (has_own_definition(artifact, catalog) || has_own_pins(artifact, catalog))
}

/// Whether the policy names each file of the user's own about the component, and so what stands in it.
pub(super) fn is_vetted(policy: &Policy, artifact: &PlannedArtifact, catalog: &Catalog) -> bool {
    let own_files = catalog.tree().own_files();
    let mut found = Vec::new();
    for file in [definition_file(artifact), pin_file(artifact)] {
        if let Some(own) = own_files.get(&file) {
            let sha256 = sha256_hex(&own.bytes);
            let subject = Subject::from_own_file(&file, &sha256);
            found.push(is_trusted_digest(policy, &sha256, &subject));
        }
    }
    !found.is_empty() && found.iter().all(|is_trusted| *is_trusted)
}
