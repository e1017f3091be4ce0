//! Scripts as services run them: a file that bash executes, without any input.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

static COUNT: AtomicUsize = AtomicUsize::new(0);

pub struct Script<'a> {
    /// Of bash, before the file.
    pub arguments: &'a [&'a str],
    pub text: &'a str,
    pub folder: &'a Path,
    pub environment: &'a BTreeMap<String, String>,
}

/// A script that ended.
#[derive(Debug)]
pub struct Ran {
    /// None after a signal.
    pub code: Option<i32>,
    pub stdout: String,
    /// Both streams, the standard output first.
    pub log: String,
}

/// Runs a script to its end. If the program that hangs says so in `$STORY/hung`, the run is cancelled with the signal of
/// `$STORY/hangs`, which the whole process group gets.
pub fn run_script(script: &Script<'_>) -> Ran {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let home = Path::new(&script.environment["HOME"]);
    let story = Path::new(&script.environment["STORY"]);
    let file = home.join(format!("script-{number}"));
    fs::write(&file, script.text).expect("script");
    let streams = ["stdout", "stderr"].map(|name| home.join(format!("{name}-{number}")));
    let [stdout, stderr] = streams
        .each_ref()
        .map(|path| File::create(path).expect("stream"));
    let mut child = Command::new("bash")
        .args(script.arguments)
        .arg(&file)
        .current_dir(script.folder)
        .env_clear()
        .envs(script.environment)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()
        .expect("bash starts");
    if story.join("hangs").exists() {
        cancel_run(&mut child, story);
    }

    let status = child.wait().expect("bash ends");
    let [stdout, stderr] = streams.map(|path| {
        let bytes = fs::read(path).expect("stream");
        String::from_utf8_lossy(&bytes).into_owned()
    });
    Ran {
        code: status.code(),
        log: format!("{stdout}{stderr}"),
        stdout,
    }
}

fn cancel_run(child: &mut Child, story: &Path) {
    let hung = story.join("hung");
    while !hung.exists() {
        if child.try_wait().expect("state").is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let signal = fs::read_to_string(story.join("hangs")).expect("signal");
    fs::remove_file(story.join("hangs")).expect("hangs");
    fs::remove_file(&hung).expect("hung");
    let group = format!("-{}", child.id());
    let sent = Command::new("kill")
        .args([&*signal, "--", &*group])
        .status();
    assert!(sent.expect("kill").success());
}
