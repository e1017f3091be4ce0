//! Signals of the system that ask the program to end.

#[cfg(unix)]
pub(super) use unix::{Forwarding, forward_signals, pass_interrupt};
#[cfg(windows)]
pub(super) use windows::{Forwarding, forward_signals, pass_interrupt};

/// Signals that are forwarded; on Windows, Ctrl-C and Ctrl-Break are all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalSet {
    /// SIGINT and SIGTERM; on Linux SIGHUP, too.
    End,
    /// These, and SIGHUP: the terminal is gone.
    EndOrHangUp,
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::path::Path;
    use std::process::Child;
    use std::sync::LazyLock;
    use std::thread;

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::{Handle, Signals};

    use super::SignalSet;
    use crate::io::fs::read_head;

    /// Whether the process was started to outlive its terminal, as `nohup` does; asked before the first signal is taken.
    static IGNORES_HANG_UP: LazyLock<bool> = LazyLock::new(|| {
        let status = read_head(Path::new("/proc/self/status"), LONGEST_STATUS).unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        let mut lines = status.lines();
        let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // proc_pid_status(5): a bit for each signal, from 1 on.
        mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
    });

    /// Real ones have some 1,500 bytes.
    const LONGEST_STATUS: u64 = 64 << 10;

    #[derive(Debug)]
    pub(in crate::io) struct Forwarding(Handle);

    impl Forwarding {
        pub(in crate::io) fn close(&self) {
            self.0.close();
        }
    }

    /// Calls `deliver` for each signal, until it is closed or `deliver` says false.
    pub(in crate::io) fn forward_signals(
        set: SignalSet,
        mut deliver: impl FnMut() -> bool + Send + 'static,
    ) -> io::Result<Forwarding> {
        let takes_hang_up = if cfg!(target_os = "linux") {
            !*IGNORES_HANG_UP
        } else {
            set == SignalSet::EndOrHangUp
        };
        let mut signals = if takes_hang_up {
            Signals::new([SIGINT, SIGTERM, SIGHUP])?
        } else {
            Signals::new([SIGINT, SIGTERM])?
        };
        let handle = signals.handle();
        thread::spawn(move || {
            for _ in &mut signals {
                if !deliver() {
                    return;
                }
            }
        });
        Ok(Forwarding(handle))
    }

    /// Passes the first interrupt to a child, and kills it by the second.
    pub(in crate::io) fn pass_interrupt(child: &mut Child, interrupts: u32, interactive: bool) {
        let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return;
        };
        // A child that is gone already needs no signal: errors are of no interest.
        if interrupts > 1 {
            let _ = if interactive {
                kill_process(pid, Signal::KILL)
            } else {
                kill_process_group(pid, Signal::KILL)
            };
        } else if !interactive {
            // Packer waits for its plugins, which are processes of the group: it alone does nothing.
            let _ = kill_process_group(pid, Signal::INT);
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::io;
    use std::process::Child;
    use std::sync::Arc;
    use std::thread;

    use tokio::runtime::Builder;
    use tokio::signal::windows::{ctrl_break, ctrl_c};
    use tokio::sync::Notify;

    use super::SignalSet;

    #[derive(Debug)]
    pub(in crate::io) struct Forwarding(Arc<Notify>);

    impl Forwarding {
        pub(in crate::io) fn close(&self) {
            self.0.notify_one();
        }
    }

    /// Calls `deliver` for each signal, until it is closed or `deliver` says false.
    pub(in crate::io) fn forward_signals(
        _: SignalSet,
        mut deliver: impl FnMut() -> bool + Send + 'static,
    ) -> io::Result<Forwarding> {
        let runtime = Builder::new_current_thread().build()?;
        // From here on, before the child starts, no interrupt ends this process. Pipelines send Ctrl-Break.
        let (mut interrupts, mut breaks) = (ctrl_c()?, ctrl_break()?);
        let closed = Arc::new(Notify::new());
        let until = Arc::clone(&closed);
        thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    let received = tokio::select! {
                        () = until.notified() => return,
                        received = interrupts.recv() => received,
                        received = breaks.recv() => received,
                    };
                    if received.is_none() || !deliver() {
                        return;
                    }
                }
            });
        });
        Ok(Forwarding(closed))
    }

    /// The console hands its interrupt to every process that is attached to it: the first one reaches the child
    /// without us.
    pub(in crate::io) fn pass_interrupt(child: &mut Child, interrupts: u32, _: bool) {
        if interrupts > 1 {
            // A child that is gone already needs no end.
            let _ = child.kill();
        }
    }
}
