//! A store on a file system without locks.

use std::process::{Command, Stdio};

use super::program::{bytes_of, mirrored};
use super::sound;
use crate::support::files;
use crate::support::server::{Server, ranged};

/// A network file system may have no locks, and `flock(2)` says ENOLCK there.
#[test]
fn a_store_without_locks_is_filled_and_swept() {
    let server = Server::new(|asked| ranged(&bytes_of(&asked.path, 1000), "\"a\"", asked));
    let test = mirrored(&server.url(""), "fetch", 1000).file(
        "lock.c",
        "#include <errno.h>\nint flock(int f, int o) { errno = ENOLCK; return -1; }\n",
    );
    let library = test.folder.join("lock.so").display().to_string();
    let compiled = Command::new("cc")
        .current_dir(&test.folder)
        .args(["-shared", "-fPIC", "-o", "lock.so", "lock.c"])
        .status();
    assert!(compiled.expect("cc").success());
    let test = test.env("LD_PRELOAD", &library);
    let mut two = [(); 2].map(|()| {
        let mut command = test.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("start")
    });
    for child in &mut two {
        assert!(child.wait().expect("end").success());
    }
    assert_eq!(sound(&test.folder.join("store")), 4);
    let asked = server.asked().len();
    test.succeeds();
    assert_eq!(server.asked().len(), asked);
    test.bare().prints("store gc --days 0");
    assert!(files(&test.folder.join("store/partial")).is_empty());
}
