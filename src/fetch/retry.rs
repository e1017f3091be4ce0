//! How often a request is tried, and the pauses between the tries.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::io::http::Patience;

/// Tries of one file, of its login and of the requests of its parts.
pub(super) struct RetryPlan<'a> {
    patience: &'a Patience,
    /// Tries since the file last came further.
    tries: u32,
    most: u32,
}

impl<'a> RetryPlan<'a> {
    pub(super) fn new(patience: &'a Patience) -> Self {
        Self {
            patience,
            tries: 0,
            most: patience.tries,
        }
    }

    /// One try, of a server that may answer as little as before.
    pub(super) fn with_one_try(patience: &'a Patience) -> Self {
        Self {
            most: 1,
            ..Self::new(patience)
        }
    }

    /// The server answers: all tries are worth it.
    pub(super) fn allow_all(&mut self) {
        self.most = self.patience.tries;
    }

    /// After progress a file may be tried as often as before.
    pub(super) fn start_over(&mut self) {
        self.tries = 0;
    }

    /// Whether another try is left.
    pub(super) fn count_try(&mut self) -> bool {
        self.tries += 1;
        self.tries < self.most
    }

    /// Doubled each time, with a part left to chance, so that many clients do not come at once. The server may have said
    /// how long.
    pub(super) fn backoff_delay(&self, said: Option<Duration>) -> Duration {
        let patience = self.patience;
        let doubled = patience.pause.saturating_mul(1 << self.tries.min(16)) / 2;
        let chance = RandomState::new().hash_one(self.tries) % 1000;
        let jittered =
            doubled.mul_f64(0.75 + f64::from(u32::try_from(chance).unwrap_or(0)) / 2000.0);
        said.unwrap_or(jittered).min(patience.longest_pause)
    }
}
