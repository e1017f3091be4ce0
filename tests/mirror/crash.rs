//! `lock` that is killed at any moment.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::site::Site;
use crate::fetch::crash::{Chance, killed_after};
use crate::fetch::sound;
use crate::support::files;

const SELECTION: &str = "--target host --k8s 1.36.4";
const POINTS: usize = 25;

/// The lock is the old one or the new one, whole; the store holds whole files; the next run succeeds.
#[test]
fn a_killed_lock_leaves_the_old_one_or_the_new_one() {
    let Some(mut site) = Site::new() else { return };
    site.stock(SELECTION);
    site.succeeds(&format!("lock {SELECTION}"));
    let old = site.home.read("imagegen.lock.json");
    let line = format!("lock {SELECTION} --prove");
    site.afresh();
    let (began, before) = (Instant::now(), site.requests());
    site.succeeds(&line);
    let (took, requests) = (began.elapsed(), site.requests() - before);
    let new = site.home.read("imagegen.lock.json");
    // What a lock pinned already is held against that pin, too, and the evidence says so.
    site.succeeds(&line);
    let news = [new, site.home.read("imagegen.lock.json")];
    assert!(!news.contains(&old), "what was proven stands in the lock");
    let store = site.home.folder.join("store");
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let mut killed = 0;
    for point in 0..POINTS {
        // In turn with and without what others left.
        match point % 4 {
            0 => site.afresh(),
            1 => site.write("imagegen.lock.json", &old),
            _ => {}
        }
        let there = fs::read(site.home.folder.join("imagegen.lock.json")).ok();
        let asked = site.requests();
        let mut command = site.command(&line);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("start");
        let wanted = requests * point / POINTS;
        let ended = if point % 2 == 0 {
            while site.requests() - asked < wanted && child.try_wait().expect("state").is_none() {
                std::thread::yield_now();
            }
            killed_after(child, Duration::ZERO)
        } else {
            killed_after(child, took.mul_f64(chance.next()))
        };
        let found = fs::read(site.home.folder.join("imagegen.lock.json")).ok();
        let whole = found.as_ref().is_some_and(|found| news.contains(found));
        assert!(
            whole || (found == there && !ended),
            "point {point}: part of a lock stands under its name"
        );
        if store.join("objects").exists() {
            sound(&store);
        }
        killed += usize::from(!ended);
    }
    println!("{killed} of {POINTS} were killed");
    assert!(killed > POINTS / 5, "{killed}");
    site.succeeds(&line);
    assert!(news.contains(&site.home.read("imagegen.lock.json")));
    let mut left = files(&site.home.folder).into_keys();
    assert!(
        !left.any(|name| name.starts_with(".imagegen")),
        "the next run clears away what is half written"
    );
}
