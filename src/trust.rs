//! Who may say what: the subjects of an image, and the gate that they pass.

mod gate;
mod lint;
mod subject;

pub use gate::{
    Admitted, PolicyError, admit, check_artifact, check_evidence, check_plan, is_waived, wants_proof,
};
pub use lint::check_policy;
pub use subject::{Origin, Subject, list_subjects};
