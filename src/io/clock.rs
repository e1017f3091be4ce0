//! The time: signatures and certificates hold for a while, and a bake has a beginning and an end. No other output
//! holds it.

#![expect(clippy::disallowed_methods, reason = "the one owner of the clock")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds of a day.
pub const DAY: u64 = 24 * 60 * 60;

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

/// Seconds since 1970, in UTC, and later than what this program took before: images that are built at the same time
/// have different names.
pub fn take_second() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = current_time();
    let later = |last: u64| now.max(last.saturating_add(1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
        Some(later(last))
    });
    last.map_or(now, later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_is_taken_twice() {
        let threads = [0; 4].map(|_| std::thread::spawn(|| [0; 5].map(|_| take_second())));
        let mut taken = Vec::new();
        for thread in threads {
            taken.extend(thread.join().expect("seconds"));
        }
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 20);
    }
}
