//! Rules of trust: the subjects of an image, and the gate that they pass.

mod anchor;
mod clauses;
mod code;
mod confidence;
mod gate;
mod lint;
mod own_files;
mod own_texts;
mod subject;
mod subjects;
mod support;
mod transport;
mod waived;

pub use anchor::{declares_own_proof, warn_own_anchors};
pub use code::check_own_tool;
pub use confidence::{
    check_unproven, find_record, find_unfounded_confidence, find_unfounded_pins, is_unproven,
    parse_origin, pin_digests, raise_confidence,
};
pub use gate::{
    Admitted, PolicyError, PolicyFault, admit, check_evidence, check_plan, check_steps,
    check_subjects, wants_proof,
};
pub use lint::{check_policy, find_idle_waiver};
pub use own_texts::{FRAGMENTS, list_own_texts, warn_own_texts};
pub use subject::{Subject, SubjectSource, complete_image};
pub use subjects::list_lock_subjects;
pub use support::check_support;
pub use transport::check_addresses;
pub use waived::{check_dropped, is_waived, list_dropped};
