//! Ctrl-C and requests to end, outside of programs that run: work that leaves something behind ends in good order,
//! everything else at once.

use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Once};

use tokio::sync::watch;

use super::exec;
use super::signals::{SignalSet, forward_signals};
use crate::base::code::ErrorClass;
use crate::base::interrupt::{is_requested, request_end};

static INSTALLED: Once = Once::new();

/// Values that remove or complete something when they are dropped.
static CLEANUPS: AtomicUsize = AtomicUsize::new(0);

/// True after the first interrupt, whatever it ends.
static DOWNLOADS: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::channel(false).0);

/// As long as it lives, the first interrupt does not end the process: [`crate::base::interrupt`] tells of it, and what
/// is half-written is removed on the way out. The second one ends it.
#[derive(Debug)]
pub struct Cleanup(());

impl Cleanup {
    pub fn start() -> Self {
        watch_interrupts();
        CLEANUPS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        CLEANUPS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Handles interrupts from now on, if the system allows it; else they end the process, as before.
pub fn watch_interrupts() {
    INSTALLED.call_once(|| {
        let watching = forward_signals(SignalSet::End, || {
            handle_interrupt();
            true
        });
        // It lasts as long as the process.
        drop(watching);
    });
}

/// Becomes true with the first interrupt, for downloads that wait.
pub fn subscribe_downloads() -> watch::Receiver<bool> {
    watch_interrupts();
    DOWNLOADS.subscribe()
}

fn handle_interrupt() {
    DOWNLOADS.send_replace(true);
    // A program that runs, such as Packer, is to end before, and what it leaves is to be said.
    if exec::handles_interrupts() {
        return;
    }
    if is_requested() || CLEANUPS.load(Ordering::SeqCst) == 0 {
        exit(i32::from(ErrorClass::Interrupted.exit_code()));
    }
    request_end();
}
