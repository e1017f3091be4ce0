//! The time: signatures and certificates hold for a while. No output holds it.

#![expect(clippy::disallowed_methods, reason = "the one owner of the clock")]

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, in UTC.
pub fn current_time() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
