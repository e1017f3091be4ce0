//! Who may say what: the subjects of an image, and the gate that they pass.

mod gate;
mod subject;

pub use gate::{Admitted, PolicyError, admit, check_evidence, check_plan, is_waived};
pub use subject::{Origin, Role, Subject, list_subjects};
