//! A process that is killed at any moment leaves a store that the next one can use.

use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::program::{bytes_of, mirrored};
use super::sound;
use crate::support::server::{Server, ranged};

const SIZE: usize = 300_000;
const POINTS: u32 = 100;

/// Numbers that are the same in every run of the test.
pub struct Chance(pub u64);

/// Ends a process after a while, if it is still there. True where it came to its end by itself, well.
pub fn killed_after(mut child: Child, while_: Duration) -> bool {
    // Nothing is ever sent: this is the moment of the kill.
    let (_never, moment) = mpsc::channel::<()>();
    let _ = moment.recv_timeout(while_.max(Duration::from_millis(1)));
    child.kill().expect("kill");
    let status = child.wait().expect("end");
    assert!(
        status.code().is_none() || status.success(),
        "{status} after {while_:?}"
    );
    status.success()
}

impl Chance {
    /// Between 0 and 1.
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from(u32::try_from(self.0 >> 40).expect("24 bits")) / f64::from(1 << 24)
    }
}

#[test]
fn a_process_killed_at_any_point_leaves_a_sound_store() {
    let server = Server::new(|asked| ranged(&bytes_of(&asked.path, SIZE), "\"a\"", asked));
    let test = mirrored(&server.url(""), "fetch", SIZE);
    let store = test.folder.join("store");
    let began = Instant::now();
    test.succeeds();
    let whole = began.elapsed();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut killed, mut done) = (0, 0);
    while killed < POINTS {
        // Now and then from the beginning, else with what the last one left.
        if store.join("objects").exists() && sound(&store) == 4 {
            std::fs::remove_dir_all(&store).expect("store");
        }
        let child = test
            .command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("start");
        if killed_after(child, whole.mul_f64(chance.next())) {
            done += 1;
            assert_eq!(sound(&store), 4);
        } else {
            killed += 1;
            if store.join("objects").exists() {
                sound(&store);
            }
        }
    }
    println!("{killed} killed within {whole:?}, {done} came to their end");
    test.succeeds();
    assert_eq!(sound(&store), 4);
}
