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

/// A schedule that threads share, and a sign for each change of it.
struct Turns<T> {
    schedule: Mutex<Schedule<T>>,
    changed: Condvar,
    jobs: usize,
}

/// Runs `work` for each index below `count`, `jobs` at a time, and hands its outcomes to `show` in their order. Either
/// may say that no further one is begun: what is at work ends, and is shown.
///
/// # Panics
/// The system gives no thread.
pub fn run_in_order<T: Send>(
    count: usize,
    jobs: usize,
    work: impl Fn(usize) -> (T, Next) + Sync,
    mut show: impl FnMut(usize, T) -> Next,
) {
    let turns = Turns {
        schedule: Mutex::new(Schedule {
            next: 0,
            turn: 0,
            count,
            at_work: 0,
            ended: BTreeMap::new(),
        }),
        changed: Condvar::new(),
        jobs,
    };
    thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            let started = thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || turns.work(&work));
            started.expect("the system gives threads");
        }

        while let Some((turn, outcome)) = turns.take() {
            if show(turn, outcome) == Next::Stop {
                let mut now = turns.lock();
                now.count = now.next;
                drop(now);
                turns.changed.notify_all();
            }
        }
    });
}

impl<T> Turns<T> {
    /// A thread that panicked did not hold the lock.
    fn lock(&self) -> MutexGuard<'_, Schedule<T>> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, Schedule<T>>) -> MutexGuard<'a, Schedule<T>> {
        let waited = self.changed.wait(guard);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one image after another until none is left.
    fn work(&self, work: impl Fn(usize) -> (T, Next)) {
        loop {
            let mut now = self.lock();
            while now.next < now.count && now.next >= now.turn + self.jobs * AHEAD {
                now = self.wait(now);
            }
            if now.next >= now.count {
                return;
            }
            let index = now.next;
            now.next += 1;
            now.at_work += 1;
            drop(now);

            let (outcome, next) = work(index);
            let mut now = self.lock();
            if next == Next::Stop {
                now.count = now.next;
            }
            now.ended.insert(index, outcome);
            now.at_work -= 1;
            drop(now);
            self.changed.notify_all();
        }
    }

    /// Waits for the image whose turn it is, and gives it with its outcome; none after the last.
    fn take(&self) -> Option<(usize, T)> {
        let mut now = self.lock();
        while !now.ended.contains_key(&now.turn) && now.turn < now.next.max(now.count) {
            if now.next >= now.count && now.at_work == 0 {
                break;
            }
            now = self.wait(now);
        }
        let turn = now.turn;
        let outcome = now.ended.remove(&turn)?;
        now.turn += 1;
        drop(now);
        self.changed.notify_all();
        Some((turn, outcome))
    }
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
                    (index, Next::GoOn)
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
        run_in_order(0, 3, |_| ((), Next::GoOn), |_, ()| unreachable!());
    }

    #[test]
    fn a_stop_begins_nothing_further() {
        let begun = AtomicUsize::new(0);
        let mut shown = 0;
        run_in_order(
            10_000,
            2,
            |_| (begun.fetch_add(1, Ordering::SeqCst), Next::GoOn),
            |index, _| {
                shown += 1;
                if index == 3 { Next::Stop } else { Next::GoOn }
            },
        );
        // What was at work ends, and is shown.
        assert_eq!(shown, begun.load(Ordering::SeqCst));
        assert!(shown <= 4 + 3 * 2 * AHEAD, "{shown}");
    }

    #[test]
    fn work_that_stops_waits_for_no_turn() {
        let (begun, changed) = (AtomicUsize::new(0), Condvar::new());
        // The second has failed; its outcome was shown, which comes after the stop.
        let (failed, stopped) = (1, 2);
        let state = Mutex::new(0);
        let set_state = |to| {
            *state.lock().expect("no panic") = to;
            changed.notify_all();
        };
        let mut shown = Vec::new();
        run_in_order(
            10,
            2,
            |index| {
                begun.fetch_add(1, Ordering::SeqCst);
                if index == 1 {
                    set_state(failed);
                    return ((), Next::Stop);
                }
                // The first goes on until the second has failed: its turn comes last.
                let awaited = if index == 0 { failed } else { stopped };
                let mut now = state.lock().expect("no panic");
                while *now < awaited {
                    now = changed.wait(now).expect("no panic");
                }
                ((), Next::GoOn)
            },
            |index, ()| {
                shown.push(index);
                if index == 1 {
                    set_state(stopped);
                }
                Next::GoOn
            },
        );
        // One more may have begun between the end of the first and the stop.
        assert!(begun.load(Ordering::SeqCst) <= 3);
        assert_eq!(shown, (0..begun.into_inner()).collect::<Vec<_>>());
    }
}
