//! JSON of a verb that prints a list.

use schemars::JsonSchema;
use serde::Serialize;

/// A printed list. It is an object, so that it can name its schema as every output does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutputList<T> {
    /// `imagegen.dev/NAME/v1`: `imagegen schema NAME` describes it.
    pub schema: &'static str,
    pub items: Vec<T>,
}

impl<T> OutputList<T> {
    pub fn new(schema: &'static str, items: Vec<T>) -> Self {
        Self { schema, items }
    }
}
