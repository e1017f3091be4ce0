//! Output of verbs about the catalog and a plan: values for JSON, and their text.

mod explain;
mod history;
mod list;
mod plan;

pub use explain::{Explanation, explain_name, index_names, read_words};
pub use history::{format_build, format_history};
pub use list::{Rows, list_entries};
pub use plan::{PlanOutput, format_details, format_lock, format_plan};
