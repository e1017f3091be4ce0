//! `lock` that is killed at any moment.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::site::Site;
use crate::fetch::crash::{Chance, killed_after};
use crate::fetch::sound;
use crate::support::files;

const SELECTION: &str = "--target host --k8s 1.36.4";
const POINTS: u32 = 25;

/// The lock is the old one or the new one, whole; the store holds whole files; the next run succeeds.
#[test]
fn a_killed_lock_leaves_the_old_one_or_the_new_one() {
    let Some(mut site) = Site::new() else { return };
    site.stock(SELECTION);
    site.succeeds(&format!("lock {SELECTION}"));
    let old = site.home.read("imagegen.lock.json");
    let line = format!("lock {SELECTION} --prove");
    site.afresh();
    let began = Instant::now();
    site.succeeds(&line);
    let took = began.elapsed();
    let new = site.home.read("imagegen.lock.json");
    // What a lock pinned already is held against that pin, too, and the evidence says so.
    site.succeeds(&line);
    let news = [new, site.home.read("imagegen.lock.json")];
    assert!(!news.contains(&old), "what was proven stands in the lock");
    let objects = sound(&site.home.folder.join("store"));
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let (mut killed, mut before, mut within) = (0, 0, 0);
    while killed < POINTS {
        // In turn with and without what others left.
        match killed % 4 {
            0 => site.afresh(),
            1 => site.write("imagegen.lock.json", &old),
            _ => {}
        }
        let there = fs::read(site.home.folder.join("imagegen.lock.json")).ok();
        let mut command = site.command(&line);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start");
        let ended = killed_after(child, took.mul_f64(chance.next()).max(Duration::from_millis(1)));
        let found = fs::read(site.home.folder.join("imagegen.lock.json")).ok();
        let whole = found.as_ref().is_some_and(|found| news.contains(found));
        assert!(whole || (found == there && !ended), "point {killed}: part of a lock stands under its name");
        let store = site.home.folder.join("store");
        let complete = store.join("objects").exists() && sound(&store) == objects;
        if !ended {
            killed += 1;
            before += u32::from(!whole && !complete);
            within += u32::from(!whole && store.join("objects").exists());
        }
    }
    println!("killed: {before} before everything was fetched, {within} before the lock was written");
    assert!(within > POINTS / 4, "{within}");
    site.succeeds(&line);
    assert!(news.contains(&site.home.read("imagegen.lock.json")));
    let mut left = files(&site.home.folder).into_keys();
    assert!(!left.any(|name| name.starts_with(".imagegen")), "the next run clears away what is half written");
}
