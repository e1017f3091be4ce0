//! Who may say what: the subjects of an image, and the gate that they pass.

mod anchor;
mod confidence;
mod gate;
mod lint;
mod subject;

pub use anchor::{Anchor, declares_own_proof, list_own_anchors, warn_own_anchors};
pub use confidence::{parse_origin, rate_confidence};
pub use gate::{
    Admitted, PolicyError, admit, check_addresses, check_evidence, check_own_tool, check_plan, check_steps,
    check_subjects, is_waived, wants_proof,
};
pub use lint::check_policy;
pub use subject::{Origin, Subject, list_subjects};
