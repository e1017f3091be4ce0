//! The clone of an image: made, tested, and deleted whatever happens.

mod platforms;
mod printed;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{Build, make_executable, trees};
use crate::support::{Test, send_signal};

/// A target whose program writes down what it is called with. `$HOME/says` has what its machine prints.
fn with_cloud(program: &str) -> Test {
    let source = "https://example.com";
    let hand = json!({"hand": {"reason": "a", "remedy": "b", "source": source}});
    let publication = json!({"by": {"program": {
        "name": "cloudctl", "install": source, "source": source, "images": [{
            "id": "cloud-[0-9]+", "title": "the image", "source": source,
            "promote": hand, "retire": hand, "delete": hand,
            "testClone": {"recipe": {
                "source": source,
                "values": [
                    {"name": "size", "description": "size", "pattern": "[a-z]+", "default": "small"},
                    {"name": "net", "description": "network", "pattern": "[a-z]+", "optional": true},
                ],
                "test": [
                    {
                        "arguments": ["make", "{clone}", "{id},imagegen-test-clone={run}", "{size}"], "options": [["--net={net}"]],
                        "input": ["secret {password}"], "gives": {"name": "machine", "pattern": "m-[0-9]+"},
                        "patience": {"seconds": 600, "every": 0, "errors": ["busy"]}, "source": source,
                    },
                    {
                        "arguments": ["ask", "{machine}", "[{testJson}]"], "verdict": "verdict=(?<code>-?[0-9]+)",
                        "patience": {"seconds": 600, "every": 0}, "source": source,
                    },
                ],
                "delete": [
                    {"arguments": ["find", "{clone}", "imagegen-test-clone={run}"], "gives": {"name": "machine", "pattern": "m-[0-9]+"}, "source": source},
                    {"arguments": ["delete", "{machine}"], "already": [{"text": "gone"}], "source": source},
                ],
            }},
        }],
    }}});
    let record = Build {
        target: "cloud",
        id: "cloud-7",
        ..Build::default()
    };
    // The arguments in one line each; the script of the test is too long for a line.
    let program = format!("#!/bin/sh\necho \"$1 $2 $4 $5\" >> \"$HOME/ran\"\n{program}\n");
    let target = std::str::from_utf8(
        trees()
            .packer
            .get("targets/host/target.json")
            .expect("file"),
    )
    .expect("UTF-8")
    .replace("\"host\"", "\"cloud\"");
    let test = Test::new()
        .file("targets/cloud/target.json", &target)
        .file("targets/cloud/publication.json", &publication.to_string())
        .file("image.json", &record.record().to_string())
        .file("bin/cloudctl", &program)
        .env("PATH", "bin:/usr/bin:/bin");
    make_executable(&test, "bin/cloudctl");
    test
}

const LINE: &str = "test-clone image.json --targets targets --clone c-1";

/// The verbs of the program that ran, in their order.
fn list_ran(test: &Test) -> Vec<String> {
    let ran = test.text("ran");
    let words = ran.lines().filter_map(|line| line.split(' ').next());
    words.map(str::to_owned).collect()
}

#[test]
fn the_clone_is_made_asked_and_deleted() {
    let test = with_cloud(
        r#"case $1 in
make) cat > "$HOME/input"; [ -e "$HOME/made" ] && echo m-7 && exit 0; touch "$HOME/made"; echo busy >&2; exit 1 ;;
ask) printf %s "$3" > "$HOME/script"; [ -e "$HOME/asked" ] && echo 'verdict=0' && exit 0; touch "$HOME/asked" ;;
esac"#,
    );
    let printed = test.bare().prints(LINE);
    assert!(!test.exists("ran"), "nothing runs unasked");
    for part in [
        "machine=$(printf %s 'secret '\"$PASSWORD\" | cloudctl make c-1 cloud-7,imagegen-test-clone=",
        " small | sed ",
        " | grep -E -m 1 '^(m-[0-9]+)$') &&\n",
        "| while read -r machine; do\n  cloudctl delete \"$machine\" </dev/null\ndone\n",
        "# then, whatever happened before:\n",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }

    let ran = test
        .bare()
        .run(&format!("{LINE} --run --var net=a --format json"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let output: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(output["clones"][0]["state"], "passed");
    // The machine is known, so it is not looked for.
    assert_eq!(list_ran(&test), ["make", "make", "ask", "ask", "delete"]);
    assert!(
        test.text("ran").starts_with("make c-1 small --net=a\n"),
        "{}",
        test.text("ran")
    );
    let script: Vec<String> = serde_json::from_str(&test.text("script")).expect("JSON");
    assert!(
        script[0].contains("-File 'C:\\imagegen\\node\\Test-Node.ps1'"),
        "{}",
        script[0]
    );
    assert!(
        !script[0].contains(['#', '{']) || !script[0].contains("{node}"),
        "{}",
        script[0]
    );

    // The password is in the input of the program, and nowhere else.
    let input = test.text("input");
    let password = input.strip_prefix("secret ").expect("a password");
    assert!(password.len() > 30, "{input}");
    assert!(!ran.stderr.contains(password) && !test.text("ran").contains(password));
}

#[test]
fn the_exit_code_tells_whether_the_image_passed() {
    for (said, code, parts) in [
        ("echo 'verdict=0'", 0, &[][..]),
        (
            "echo 'a service is missing'; echo 'verdict=8'",
            8,
            &[
                "does not pass: its test ended with 8",
                "a service is missing",
            ][..],
        ),
        ("echo 'verdict=8'; echo 'verdict=0'", 0, &[]),
        (
            "echo 'not permitted' >&2; exit 1",
            7,
            &["not permitted", "the machine is deleted"],
        ),
    ] {
        let test = with_cloud(&format!("case $1 in make) echo m-7 ;; ask) {said} ;; esac"));
        let ran = test.bare().run(&format!("{LINE} --run"));
        assert_eq!(ran.code, Some(code), "{said}: {}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
        assert_eq!(list_ran(&test), ["make", "ask", "delete"], "{said}");
    }
}

/// The answer of the command that makes the machine may be lost: then the machine is looked for by its name.
#[test]
fn a_machine_whose_making_failed_is_found_and_deleted() {
    let test = with_cloud("case $1 in make) echo 'lost' >&2; exit 1 ;; find) echo m-9 ;; esac");
    let ran = test.bare().run(&format!("{LINE} --run"));
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(
        test.text("ran").ends_with("find c-1  \ndelete m-9  \n"),
        "{}",
        test.text("ran")
    );

    let test = with_cloud("case $1 in make) echo 'refused' >&2; exit 1 ;; esac");
    let ran = test.bare().run(&format!("{LINE} --run"));
    assert!(
        ran.stderr.contains("there is no machine c-1"),
        "{}",
        ran.stderr
    );
    assert_eq!(list_ran(&test), ["make", "find"]);
    assert_eq!(ran.code, Some(7));

    let ran = test.bare().run(&format!("{LINE} --run --delete"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(list_ran(&test), ["make", "find", "find"]);
}

/// The same target, where only one thing can have the name.
fn with_claim(program: &str) -> Test {
    let test = with_cloud(program);
    let file = "targets/cloud/publication.json";
    let claim =
        r#""claim":[{"arguments":["claim","{clone}"],"source":"https://example.com"}],"test":["#;
    let publication = test.text(file).replacen("\"test\":[", claim, 1);
    assert!(publication.contains(claim), "{publication}");
    test.file(file, &publication)
}

/// Another machine, or that of another run, has the name: it stays.
#[test]
fn a_name_that_is_taken_deletes_nothing() {
    let taken = "claim) echo 'already exists' >&2; exit 1 ;; find) echo m-9 ;;";
    let test = with_claim(&format!("case $1 in {taken} esac"));
    let ran = test.bare().run(&format!("{LINE} --run"));
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert_eq!(list_ran(&test), ["claim"]);
    for part in [
        "the name c-1 could not be taken: `cloudctl claim c-1` failed",
        "already exists",
        "no machine was made, and nothing of another run is deleted",
        "give another `--clone`",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = test.bare().run(&format!("{LINE} --run --delete"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(list_ran(&test), ["claim", "find", "delete"]);

    let test = with_claim("case $1 in make) exit 1 ;; find) echo m-9 ;; esac");
    let printed = test.bare().prints(LINE);
    assert!(printed.contains("cloudctl claim c-1 &&\n"), "{printed}");
    let ran = test.bare().run(&format!("{LINE} --run"));
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert_eq!(list_ran(&test), ["claim", "make", "find", "delete"]);
}

/// A group is made before the claim says whose it is.
#[test]
fn what_a_claim_made_before_it_failed_is_deleted() {
    for (finds, code, ran_commands) in [
        ("echo m-9", 7, &["claim", "own", "find", "delete"][..]),
        ("true", 7, &["claim", "own", "find"]),
    ] {
        let test = with_claim(&format!(
            "case $1 in own) echo 'not mine' >&2; exit 1 ;; find) {finds} ;; esac"
        ));
        let file = "targets/cloud/publication.json";
        let own = r#"{"arguments":["own","{clone}"],"source":"https://example.com"}],"test":["#;
        let publication = test
            .text(file)
            .replacen("],\"test\":[", &format!(",{own}"), 1);
        let test = test.file(file, &publication);
        let ran = test.bare().run(&format!("{LINE} --run"));
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.contains("not mine"), "{}", ran.stderr);
        assert_eq!(list_ran(&test), ran_commands);
    }
}

/// Runs that had the same name may have left a machine each. One that cannot be deleted does not keep the others.
#[test]
fn every_machine_of_the_name_is_deleted() {
    let finds = r"find) printf 'm-9\n m-10\nthree machines:\nm-11\n' ;;";
    let test = with_cloud(&format!("case $1 in {finds} esac"));
    let ran = test.bare().run(&format!("{LINE} --run --delete"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        test.text("ran"),
        "find c-1  \ndelete m-9  \ndelete m-10  \ndelete m-11  \n"
    );

    let fails = r#"delete) [ "$2" != m-9 ] || { echo 'HTTP 500' >&2; exit 1; } ;;"#;
    let test = with_cloud(&format!("case $1 in {finds} {fails} esac"));
    let ran = test.bare().run(&format!("{LINE} --run --delete"));
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    for part in ["may still be there", "HTTP 500", "delete m-9"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(list_ran(&test), ["find", "delete", "delete", "delete"]);
}

#[test]
fn a_machine_that_stays_is_named() {
    let test = with_cloud(
        "case $1 in make) echo m-7 ;; ask) echo 'verdict=8' ;; delete) echo 'HTTP 500' >&2; exit 1 ;; esac",
    );
    let ran = test.bare().run(&format!("{LINE} --run"));
    // Whoever deletes images by their verdict finds it.
    assert_eq!(ran.code, Some(8), "{}", ran.stderr);
    for part in [
        "hint: do not promote the image",
        "before that: the clone of cloud-7 does not pass",
        "the machine c-1 may still be there",
        "HTTP 500",
        "hint: run the same with `--clone c-1 --delete`",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let test = with_cloud("case $1 in find) echo m-7 ;; delete) echo gone >&2; exit 1 ;; esac");
    let ran = test.bare().run(&format!("{LINE} --run --delete"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Starts the verb in a group of its own, and waits until a file is there.
#[cfg(unix)]
fn start_until(test: &Test, file: &str) -> Child {
    use std::os::unix::process::CommandExt as _;
    let path = format!("{}/bin:/usr/bin:/bin", test.folder.display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_imagegen"))
        .args(LINE.split(' '))
        .arg("--run")
        .current_dir(&test.folder)
        .env("PATH", path)
        .env("HOME", &test.folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("imagegen starts");
    wait_for(&test.folder.join(file), &mut child);
    child
}

#[cfg(unix)]
fn wait_for(file: &Path, child: &mut Child) {
    while !file.exists() {
        assert!(child.try_wait().expect("state").is_none(), "it ended early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// While a command runs, while the verb waits, and while it deletes, which the first interrupt does not end.
#[cfg(unix)]
#[test]
fn an_interrupt_deletes_the_machine() {
    let hangs = r#"touch "$HOME/there"; exec sleep 600"#;
    let waits = r#"touch "$HOME/there"; echo nothing yet"#;
    for (answer, signal) in [
        (hangs, "-INT"),
        (hangs, "-TERM"),
        (waits, "-INT"),
        (waits, "-HUP"),
    ] {
        let test = with_cloud(&format!(
            "case $1 in make) echo m-7 ;; ask) {answer} ;; esac"
        ));
        let child = start_until(&test, "there");
        send_signal(&child, signal);
        let ended = child.wait_with_output().expect("end");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(130), "{signal}: {said}");
        assert_eq!(
            list_ran(&test).last().expect("a command"),
            "delete",
            "{said}"
        );
        assert!(said.contains("deleting c-1"), "{said}");
    }

    let deletes = r#"touch "$HOME/deletes"; while [ ! -e "$HOME/go" ]; do sleep 0.01; done; touch "$HOME/deleted""#;
    let program =
        format!("case $1 in make) echo m-7 ;; ask) echo 'verdict=0' ;; delete) {deletes} ;; esac");
    let test = with_cloud(&program);
    let child = start_until(&test, "deletes");
    send_signal(&child, "-INT");
    std::fs::write(test.folder.join("go"), "").expect("go");
    let ended = child.wait_with_output().expect("end");
    assert!(
        test.exists("deleted"),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

/// While one run tests its machine, a second one of the same name can make none: the first keeps its own.
#[cfg(unix)]
#[test]
fn a_run_deletes_no_machine_of_another_run() {
    let program = r#"case $1 in
make) [ ! -e "$HOME/machine" ] || { echo 'already exists' >&2; exit 1; }; echo "$3" > "$HOME/machine"; echo m-7 ;;
find) ! grep -q "^cloud-7,$3" "$HOME/machine" || echo m-7 ;;
ask) touch "$HOME/asks"; while [ ! -e "$HOME/go" ]; do sleep 0.01; done; echo 'verdict=0' ;;
delete) rm "$HOME/machine" ;;
esac"#;
    let test = with_cloud(program);
    let first = start_until(&test, "asks");
    let second = test.bare().run(&format!("{LINE} --run"));
    assert_eq!(second.code, Some(7), "{}", second.stderr);
    for part in ["already exists", "there is no machine c-1"] {
        assert!(second.stderr.contains(part), "{part}: {}", second.stderr);
    }
    assert!(test.exists("machine"), "{}", second.stderr);
    std::fs::write(test.folder.join("go"), "").expect("go");
    let ended = first.wait_with_output().expect("end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(!test.exists("machine"), "{said}");

    // A run that was killed left this one.
    let test = test.file("machine", "cloud-7,imagegen-test-clone=0123abcd\n");
    let ran = test.bare().run(&format!("{LINE} --run --delete"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!test.exists("machine"), "{}", ran.stderr);
}

/// An interrupt leaves no claim half done: a name that another machine has stays its own, and one that was taken is
/// given back.
#[cfg(unix)]
#[test]
fn an_interrupt_in_a_claim_deletes_what_is_its_own_alone() {
    let waits = r#"touch "$HOME/claims"; while [ ! -e "$HOME/go" ]; do sleep 0.01; done"#;
    for (end, verbs) in [
        ("echo 'already exists' >&2; exit 1", &["claim"][..]),
        ("exit 0", &["claim", "find", "delete"]),
    ] {
        let test = with_claim(&format!(
            "case $1 in claim) {waits}; {end} ;; find) echo m-9 ;; esac"
        ));
        let child = start_until(&test, "claims");
        send_signal(&child, "-INT");
        // The signal is there before the claim ends.
        std::thread::sleep(std::time::Duration::from_millis(500));
        std::fs::write(test.folder.join("go"), "").expect("go");
        let ended = child.wait_with_output().expect("end");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(list_ran(&test), verbs, "{said}");
        assert_eq!(ended.status.code(), Some(130), "{said}");
    }
}

#[test]
fn a_recipe_is_checked() {
    let test = with_cloud("");
    let publication = test.text("targets/cloud/publication.json");
    for (from, to, expected) in [
        (
            "{machine}\",\"[",
            "{mashine}\",\"[",
            "`{mashine}` is no placeholder",
        ),
        (
            "secret {password}",
            "secret {passwort}",
            "`{passwort}` is no placeholder",
        ),
        ("{size}", "{password}", "`{password}` is no placeholder"),
        ("(?<code>", "(?<kode>", "has no group `code`"),
        ("\"small\"", "\"7\"", "the default of `size` is not valid"),
        ("\"verdict\":", "\"already\": [], \"x\":", "unknown key `x`"),
        (
            "\"{clone}\",\"imagegen-test-clone={run}\"",
            "\"{clone}\"",
            "find by `imagegen-test-clone` and `{run}` what was made",
        ),
        (
            "\"imagegen-test-clone={run}\"",
            "\"imagegen-test-clone\"",
            "find by `imagegen-test-clone` and `{run}` what was made",
        ),
        (
            "{id},imagegen-test-clone={run}",
            "{id}",
            "no command marks what it makes with `imagegen-test-clone` and `{run}`",
        ),
    ] {
        assert!(publication.contains(from), "{from}: {publication}");
        let test = with_cloud("").file(
            "targets/cloud/publication.json",
            &publication.replace(from, to),
        );
        test.line(LINE).fails(3, &[expected]);
    }
    for (options, parts) in [
        ("--var size=A", &["--var size: `A` is not valid"][..]),
        ("--var nets=a", &["did you mean `net`?"]),
        (
            "--image-id cloud-8",
            &["the record does not name the image cloud-8"],
        ),
    ] {
        with_cloud("").line(LINE).line(options).fails(3, parts);
    }
}
