//! Guest plan → machine: the Windows that a plan makes, and what could not work on it.
//!
//! [`predict`] folds the resources, in their order, over a small model of Windows ([`Machine`])
//! and holds the outcome, and the way there, against one rule each of [`Rule`]. It knows what
//! Windows brings only as far as `inbox` says. Nothing is read or run here: whether the engine
//! keeps its word is shown by its own tests and by [`compare`] with a real machine.

mod command;
mod compare;
mod expect;
mod fold;
mod history;
mod inbox;
mod paths;
mod problem;
mod rules;
mod sddl;
mod settle;
pub mod state;
mod text;
mod upsert;

pub use compare::{Difference, compare};
pub use expect::{Expectations, LaterFile, PortUse};
pub use problem::{Problem, Rule};
pub use state::Machine;

use crate::model::resource::Resource;

/// A machine and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    pub machine: Machine,
    /// By rule, then in the order of the plan.
    pub problems: Vec<Problem>,
}

/// The machine that the resources make, applied in their order.
#[must_use]
pub fn predict(resources: &[Resource], expectations: &Expectations<'_>) -> Prediction {
    let machine = fold::fold(resources, expectations);
    let problems = rules::judge(resources, &machine, expectations);
    Prediction { machine, problems }
}
