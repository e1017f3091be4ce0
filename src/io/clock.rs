//! The time: signatures and certificates hold for a while, and a bake has a beginning and an end. No other output
//! holds it.

#![expect(clippy::disallowed_methods, reason = "the one owner of the clock")]

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, in UTC.
pub fn current_millis() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}

/// Seconds since 1970, in UTC.
pub fn current_time() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
