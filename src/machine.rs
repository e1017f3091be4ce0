//! Guest plan → machine: the state of Windows after the plan, and the parts of it that cannot work.
//!
//! [`predict_state`] folds the resources, in their order, over a small model of Windows ([`Machine`])
//! and checks the result and each step against [`RULES`](crate::base::code::RULES). `inbox` lists what Windows itself
//! contains. This module reads and runs nothing.

mod command;
mod expect;
mod fold;
mod history;
mod inbox;
mod ports;
mod rules;
mod state;
mod text;

pub use expect::{
    ArgumentNeed, Expectations, FeatureNeed, ForeignWrite, LaterFile, PackageService, PortUse,
};
pub use fold::{fold_resources, start_machine};
pub use state::{
    Machine, PlacedResource, Port, PresentFile, PresentResource, ResourceOrigin, SCHEMA,
};

use crate::diagnostic::Finding;
use crate::windows::resource::Resource;

/// A machine and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    pub machine: Machine,
    /// By rule, then in the order of the plan.
    pub problems: Vec<Finding>,
}

/// The machine that the resources make, applied in their order.
pub fn predict_state(resources: &[Resource], expectations: &Expectations<'_>) -> Prediction {
    let machine = fold_resources(start_machine(expectations), resources, expectations);
    let problems = rules::find_problems(resources, &machine, expectations);
    Prediction { machine, problems }
}
