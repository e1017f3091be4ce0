//! Publishers' lists of releases, each asked for once in a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::url::HttpUrl;
use crate::diagnostic::Result;

/// Lists by their URL: GitHub answers 60 requests of an address in an hour, and the images of a fleet share their
/// components.
/// <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>
#[derive(Debug, Default)]
pub struct ReleaseLists(Mutex<BTreeMap<String, Option<Arc<[u8]>>>>);

impl ReleaseLists {
    /// The list at the URL; none where its publisher has none. Another image that needs the same list waits for this
    /// one. An error is not kept.
    pub(super) fn read(
        &self,
        url: &HttpUrl,
        fetch: impl FnOnce() -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<Arc<[u8]>>> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.get(url.public_url()) {
            return Ok(known.clone());
        }
        let list: Option<Arc<[u8]>> = fetch()?.map(Arc::from);
        lists.insert(url.public_url().to_owned(), list.clone());
        Ok(list)
    }
}
