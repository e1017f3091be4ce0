//! Ctrl-C while large files are read and written.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use imagegen::io::fs::digest_file;
use imagegen::io::store::Store;
use serde_json::json;

use crate::support::{Test, send_signal};

/// Files of zeros, which take no room on the disk.
fn write_zeros(path: &Path, size: u64) {
    fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    File::create(path)
        .expect("file")
        .set_len(size)
        .expect("size");
}

fn object_path(test: &Test, digest: &str) -> PathBuf {
    let folder = test.folder.join("store/objects/sha256");
    folder.join(&digest[..2]).join(digest)
}

/// Exit code and messages after one interrupt, sent as soon as the process is seen at work.
fn interrupt_when(test: &Test, is_at_work: impl Fn(&Child) -> bool) -> (Option<i32>, String) {
    end_when(test, "-INT", is_at_work)
}

/// The same after another signal.
fn end_when(
    test: &Test,
    signal: &str,
    is_at_work: impl Fn(&Child) -> bool,
) -> (Option<i32>, String) {
    let mut child = test
        .command()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start");
    while !is_at_work(&child) {
        let status = child.try_wait().expect("status");
        assert!(status.is_none(), "it ended early: {status:?}");
        thread::sleep(Duration::from_millis(1));
    }
    send_signal(&child, signal);
    let output = child.wait_with_output().expect("end");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

/// Whether the process has the file open.
fn has_open(child: &Child, path: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{}/fd", child.id()));
    let mut links = files
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| fs::read_link(entry.path()));
    links.any(|link| link.is_ok_and(|link| link == path))
}

/// An archive with artifacts has gigabytes: one interrupt ends the build, and nothing of the archive stays.
#[test]
fn an_interrupt_ends_an_archive_that_is_written() {
    let line = "--target host --k8s 1.36.0";
    let test = Test::new()
        .line(&format!("build {line} --delivery media --out o"))
        .stocked(&format!("plan {line}"));
    let update = test.folder.join("update");
    write_zeros(&update, 1 << 30);
    let digest = digest_file(&update).expect("digest").sha256;
    let object = object_path(&test, &digest);
    fs::create_dir_all(object.parent().expect("parent")).expect("folder");
    fs::rename(&update, &object).expect("move");
    let file =
        json!({"kb": "KB5058411", "url": "https://catalog.example.com/a.msu", "sha256": digest});
    let test = test.file(
        "imagegen.json",
        &json!({"updates": {"files": [file]}}).to_string(),
    );

    let folder = test.folder.join("o");
    let list_archives = || {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.path());
        names
            .filter(|path| path.to_string_lossy().contains(".zip"))
            .collect::<Vec<_>>()
    };
    let (code, stderr) = interrupt_when(&test, |_| {
        let mut archives = list_archives().into_iter();
        archives.any(|path| path.metadata().is_ok_and(|found| found.len() > 1 << 20))
    });
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert_eq!(list_archives(), Vec::<PathBuf>::new(), "{stderr}");
}

/// A file of the store is hashed before it is used, which takes a while.
#[test]
fn an_interrupt_ends_a_file_that_is_hashed() {
    let digest = "0".repeat(64);
    let url = "https://files.example.com/a.iso";
    let test = Test::new().line(&format!(
        "verify {url} --sha256 {digest} --offline --store store"
    ));
    let store = Store::open(test.folder.join("store")).expect("store");
    store.record_origin(url, &digest).expect("origin");
    let object = object_path(&test, &digest);
    write_zeros(&object, 8 << 30);
    let object = object.canonicalize().expect("path");

    let (code, stderr) = interrupt_when(&test, |child| has_open(child, &object));
    assert_eq!(code, Some(130), "{stderr}");
    assert!(object.exists(), "a file that was not read is not damaged");
}

/// Of many images, no further one is begun: each is written in a moment, between which nothing is half-written.
#[test]
fn an_interrupt_ends_a_run_of_many_images() {
    let images: BTreeMap<String, serde_json::Value> = (0..300)
        .map(|number| (format!("i{number:03}"), json!({})))
        .collect();
    let definition = json!({"target": "host", "kubernetes": "1.36.0", "images": images});
    for jobs in ["1", "2", "1", "2"] {
        let line = format!("build --all --no-bake --jobs {jobs} --format json");
        let test = Test::new()
            .line(&line)
            .file("imagegen.json", &definition.to_string());
        let folder = test.folder.join("imagegen-out");
        let list = || {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name());
            names
                .map(|name| name.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        let (code, stderr) = interrupt_when(&test, |_| list().len() > 2);
        assert_eq!(code, Some(130), "{jobs}: {stderr}");
        let last = stderr.lines().last().unwrap_or_default();
        let last: serde_json::Value = serde_json::from_str(last).expect("the error document");
        assert_eq!(last["class"], "interrupted", "{last}");
        let names = list();
        assert!(names.len() < 300, "{jobs}");
        let hidden = names.iter().filter(|name| name.starts_with('.'));
        assert_eq!(hidden.count(), 0, "nothing temporary stays: {names:?}");
    }
}

/// Makes a pipe in the folder of a test.
#[cfg(unix)]
fn make_pipe(test: &Test) -> PathBuf {
    let pipe = test.folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    pipe
}

/// Opens a pipe once the program does, and keeps it open.
#[cfg(unix)]
fn opens_for_writing(pipe: &Path, held: &OnceCell<File>) -> bool {
    let opened = File::options().write(true).open(pipe).expect("pipe");
    held.set(opened).is_ok()
}

/// Whether a thread of the process waits for somebody who writes a pipe.
#[cfg(unix)]
fn waits_for_writer(child: &Child) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id()));
    let mut places = threads
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| fs::read(entry.path().join("wchan")));
    places.any(|place| place.is_ok_and(|place| place == b"wait_for_partner"))
}

/// Nobody writes the pipe, or nobody writes on: one interrupt ends the wait.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_wait_for_a_pipe() {
    for line in [
        "verify pipe",
        "store add pipe --store store",
        "history --from pipe",
    ] {
        for is_opened in [false, true] {
            let test = Test::new().line(line);
            let pipe = make_pipe(&test);
            let (held, began) = (OnceCell::new(), Instant::now());
            let (code, stderr) = interrupt_when(&test, |child| {
                if is_opened {
                    opens_for_writing(&pipe, &held)
                } else {
                    // Not every system tells where a thread waits.
                    waits_for_writer(child) || began.elapsed() > Duration::from_secs(10)
                }
            });
            assert_eq!(code, Some(130), "{line}, {is_opened}: {stderr}");
        }
    }
}

/// The terminal is gone: what is half-written goes, too. What was started to outlive it goes on.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_is_gone_ends_a_preview() {
    let images: BTreeMap<String, serde_json::Value> = (0..60)
        .map(|number| (format!("i{number:03}"), json!({})))
        .collect();
    let definition = json!({"target": "host", "kubernetes": "1.36.0", "images": images});
    for outlives in [false, true] {
        let test = Test::new()
            .line("build --all --no-bake --jobs 1")
            .file("imagegen.json", &definition.to_string());
        let folder = test.folder.join("imagegen-out");
        let mut command = test.command();
        if outlives {
            let own = test.command();
            command = Command::new("nohup");
            command.arg(own.get_program()).args(own.get_args());
            command.current_dir(&test.folder);
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("start");
        while fs::read_dir(&folder).map_or(0, Iterator::count) < 3 {
            thread::sleep(Duration::from_millis(1));
        }
        send_signal(&child, "-HUP");
        let output = child.wait_with_output().expect("end");
        let expected = if outlives { 0 } else { 130 };
        assert_eq!(output.status.code(), Some(expected));
        let names = fs::read_dir(&folder).expect("folder").flatten();
        let hidden = names.filter(|name| name.file_name().to_string_lossy().starts_with('.'));
        assert_eq!(hidden.count(), 0, "nothing temporary stays");
    }
}

/// A run that waits for its input leaves nothing behind: it ends at once, and says so as any error.
#[cfg(unix)]
#[test]
fn a_request_to_end_is_an_interrupt() {
    let test = Test::new().line("plan --config pipe --format json");
    let pipe = make_pipe(&test);
    let held = OnceCell::new();
    let (code, stderr) = end_when(&test, "-TERM", |_| opens_for_writing(&pipe, &held));
    assert_eq!(code, Some(130));
    let said: serde_json::Value = serde_json::from_str(&stderr).expect("one document");
    assert_eq!(said["code"], "interrupted");
}
