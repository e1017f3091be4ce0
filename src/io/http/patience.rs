//! How long a server may take.

use std::time::Duration;

/// Bounds of patience. Tests shorten them.
#[derive(Debug, Clone)]
pub struct Patience {
    pub connect: Duration,
    /// Until the answer's head is there.
    pub head: Duration,
    /// A window in which at least `least` bytes must come.
    pub window: Duration,
    pub least: u64,
    /// Requests for one artifact in all.
    pub tries: u32,
    /// For one artifact with all its tries; a small file has a fraction of it.
    pub deadline: Duration,
    /// First pause between two tries; doubled each time.
    pub pause: Duration,
    pub longest_pause: Duration,
    /// A file of this size comes over several connections, where there are any to spare.
    pub split_from: u64,
    /// Bytes that one request asks for then.
    pub split_piece: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            head: Duration::from_secs(60),
            window: Duration::from_secs(30),
            least: 30 * 1024,
            tries: 6,
            deadline: Duration::from_secs(6 * 60 * 60),
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(120),
            split_from: 64 << 20,
            split_piece: 8 << 20,
        }
    }
}
