//! Output of verbs about the catalog and a plan: values for JSON, and their text.

mod explain;
mod history;
pub mod list;
mod outputs;
mod plan;

pub use explain::{Explanation, NameIndex, OptionHelp, explain_name, index_names, read_words};
pub use history::{format_build, format_history};
pub use list::{
    ComponentRow, ImageRow, KubernetesRow, RuleRow, StepRow, TargetRow, VariableRow, WindowsRow,
};
pub use outputs::{
    CompletionsOutput, FetchOutput, ImagesOutput, InitOutput, JoinOutput, ManifestsOutput,
    StoreOutput, StoredFile, VersionOutput, WrittenFolder,
};
pub use plan::{PlanOutput, format_details, format_lock, format_plan};
