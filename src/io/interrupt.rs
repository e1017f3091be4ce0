//! Ctrl-C and requests to end, outside of programs that run: work that leaves something behind ends in good order,
//! everything else at once.

use std::io;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Once, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

use super::exec;
use super::signals::{SignalSet, forward_signals};
use crate::base::code::ErrorClass;
use crate::base::interrupt::{check_interrupt, is_requested, request_end};

static INSTALLED: Once = Once::new();

/// Values that remove or complete something when they are dropped.
static CLEANUPS: AtomicUsize = AtomicUsize::new(0);

/// True after the first interrupt, whatever it ends.
static DOWNLOADS: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::channel(false).0);

/// Says on stderr that the run was interrupted.
static LAST_WORDS: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Longest wait for them: the main thread may hold a stream that nobody reads.
const LONGEST_FAREWELL: Duration = Duration::from_secs(1);

/// As long as it lives, the first interrupt does not end the process: [`crate::base::interrupt`] tells of it, and what
/// is half-written is removed on the way out. The second one ends it.
#[derive(Debug)]
pub struct Cleanup(());

impl Cleanup {
    /// # Errors
    /// The user wants the program to end, and nothing is half-written: no further work is begun.
    pub fn start() -> io::Result<Self> {
        let others = CLEANUPS.load(Ordering::SeqCst);
        let cleanup = Self::start_at_end();
        if others == 0 {
            check_interrupt()?;
        }
        Ok(cleanup)
    }

    /// For what an interrupted run still writes, such as its report.
    pub fn start_at_end() -> Self {
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

/// As [`watch_interrupts`]; where an interrupt ends the process at once, it first says so.
pub fn announce_interrupts(last_words: impl Fn() + Send + Sync + 'static) {
    // One for the process, as its interrupts are.
    let _ = LAST_WORDS.set(Box::new(last_words));
    watch_interrupts();
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
    // Downloads end as soon as they are told, and with them what they clean up.
    let is_at_work = CLEANUPS.load(Ordering::SeqCst) > 0;
    DOWNLOADS.send_replace(true);
    // A program that runs, such as Packer, is to end before, and what it leaves is to be said.
    if exec::handles_interrupts() {
        return;
    }
    if is_requested() {
        end_process();
    }
    request_end();
    if !is_at_work && CLEANUPS.load(Ordering::SeqCst) == 0 {
        say_last_words();
        end_process();
    }
}

fn say_last_words() {
    let Some(last_words) = LAST_WORDS.get() else {
        return;
    };
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        last_words();
        // Nobody waits any longer for what took too long.
        let _ = sender.send(());
    });
    let _ = receiver.recv_timeout(LONGEST_FAREWELL);
}

fn end_process() -> ! {
    exit(i32::from(ErrorClass::Interrupted.exit_code()));
}
