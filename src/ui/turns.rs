//! Several images at once, whose output comes in the order of the definition.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Images whose output waits for its turn, for each one at work: memory does not grow with the number of images.
const AHEAD: usize = 4;

/// Main threads have this much; others would have less.
const STACK: usize = 8 << 20;

/// Reaction to the end of one image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    GoOn,
    /// No further image is begun.
    Stop,
}

#[derive(Debug)]
struct Schedule<T> {
    /// The next image to begin.
    next: usize,
    /// The next image whose output comes.
    turn: usize,
    count: usize,
    at_work: usize,
    ended: BTreeMap<usize, T>,
}

/// Runs `work` for each index below `count`, `jobs` at a time, and hands its outcomes to `show` in their order.
///
/// # Panics
/// The system gives no thread.
pub fn run_in_order<T: Send>(
    count: usize,
    jobs: usize,
    work: impl Fn(usize) -> T + Sync,
    mut show: impl FnMut(usize, T) -> Next,
) {
    let state = Mutex::new(Schedule {
        next: 0,
        turn: 0,
        count,
        at_work: 0,
        ended: BTreeMap::new(),
    });
    let changed = Condvar::new();
    let wait = |guard| changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            let worker = || {
                loop {
                    let mut now = lock_state(&state);
                    while now.next < now.count && now.next >= now.turn + jobs * AHEAD {
                        now = wait(now);
                    }
                    if now.next >= now.count {
                        return;
                    }
                    let index = now.next;
                    now.next += 1;
                    now.at_work += 1;
                    drop(now);

                    let outcome = work(index);
                    let mut now = lock_state(&state);
                    now.ended.insert(index, outcome);
                    now.at_work -= 1;
                    drop(now);
                    changed.notify_all();
                }
            };
            let started = thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, worker);
            started.expect("the system gives threads");
        }

        loop {
            let mut now = lock_state(&state);
            while !now.ended.contains_key(&now.turn) && now.turn < now.next.max(now.count) {
                if now.next >= now.count && now.at_work == 0 {
                    break;
                }
                now = wait(now);
            }
            let turn = now.turn;
            let Some(outcome) = now.ended.remove(&turn) else {
                return;
            };
            now.turn += 1;
            drop(now);
            changed.notify_all();
            if show(turn, outcome) == Next::Stop {
                let mut now = lock_state(&state);
                now.count = now.next;
                drop(now);
                changed.notify_all();
            }
        }
    });
}

/// A thread that panicked did not hold the lock.
fn lock_state<T>(state: &Mutex<Schedule<T>>) -> MutexGuard<'_, Schedule<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn outcomes_come_in_order_and_few_wait() {
        for jobs in [1, 2, 7] {
            let (begun, shown) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let mut order = Vec::new();
            run_in_order(
                200,
                jobs,
                |index| {
                    begun.fetch_add(1, Ordering::SeqCst);
                    let ahead = index.saturating_sub(shown.load(Ordering::SeqCst));
                    assert!(ahead <= jobs * AHEAD + 1, "{ahead}");
                    index
                },
                |index, outcome| {
                    assert_eq!(index, outcome);
                    order.push(index);
                    shown.fetch_add(1, Ordering::SeqCst);
                    Next::GoOn
                },
            );
            assert_eq!(order, (0..200).collect::<Vec<_>>());
        }
        run_in_order(0, 3, |_| (), |_, ()| unreachable!());
    }

    #[test]
    fn a_stop_begins_nothing_further() {
        let begun = AtomicUsize::new(0);
        let mut shown = 0;
        run_in_order(
            10_000,
            2,
            |_| begun.fetch_add(1, Ordering::SeqCst),
            |index, _| {
                shown += 1;
                if index == 3 { Next::Stop } else { Next::GoOn }
            },
        );
        // What was at work ends, and is shown.
        assert_eq!(shown, begun.load(Ordering::SeqCst));
        assert!(shown <= 4 + 3 * 2 * AHEAD, "{shown}");
    }
}
