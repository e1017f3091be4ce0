//! Answers of publishers and registries, each asked for once in a run: the images of a fleet share their components.

use std::sync::Arc;

use crate::diagnostic::Result;
use crate::fetch::{AnswerMap, Fetcher, FileAnswers};
use crate::model::tagged_image::ImagePin;

/// Questions of a run with their answers.
#[derive(Debug, Default)]
pub struct Answers {
    files: Arc<FileAnswers>,
    tags: AnswerMap<TagQuestion, ImagePin>,
}

/// A tag of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TagQuestion {
    /// The address that is asked for the manifest.
    pub url: String,
    /// Build of Windows that the manifest is chosen for.
    pub build: u32,
}

impl Answers {
    /// The downloads of an image, which take what those of another brought.
    pub fn share(&self, fetcher: Fetcher) -> Fetcher {
        fetcher.with_answers(Arc::clone(&self.files))
    }

    /// The pin of a tag.
    ///
    /// # Errors
    /// As those of `ask`, which are not kept.
    pub(super) fn read_tag(
        &self,
        question: TagQuestion,
        ask: impl FnOnce() -> Result<ImagePin>,
    ) -> Result<ImagePin> {
        self.tags.read(question, ask)
    }
}
