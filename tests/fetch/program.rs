//! `imagegen fetch` and `imagegen store`, as processes that are many, are killed, and lack room.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::Value;

use super::{content, sound};
use crate::support::archives::{tar_gz, zip};
use crate::support::planned::list_artifacts;
use crate::support::server::{Asked, Server, Step, ranged, status};
use crate::support::{
    Test, files, list_waivers, override_build, program, send_signal, waive_proofs,
};

/// What a selection without pod network downloads.
const COMPONENTS: &[&str] = &["kubernetes-node", "containerd", "crictl", "cloudbase-init"];

/// Artifacts of that selection.
fn planned() -> Arc<[Value]> {
    list_artifacts("plan --target azure --k8s 1.36.0 --cni none")
}

/// Bytes of our own at a path of a mirror: for an archive, one whose first member has the size.
pub fn bytes_of(path: &str, size: usize) -> Vec<u8> {
    let mut bytes = path.as_bytes().to_vec();
    bytes.extend(content(size));
    let is_there = |artifact: &&Value| {
        artifact["url"]
            .as_str()
            .is_some_and(|url| url.ends_with(path))
    };
    let planned = planned();
    let artifact = planned.iter().find(is_there);
    let members = artifact
        .and_then(|artifact| artifact["members"].as_array())
        .into_iter()
        .flatten();
    let names = members.map(|member| member["member"].as_str().expect("member").to_owned());
    let files: Vec<(String, &[u8])> = names
        .enumerate()
        .map(|(at, name)| (name, if at == 0 { bytes.as_slice() } else { b"short" }))
        .collect();
    match artifact.and_then(|artifact| artifact["kind"].as_str()) {
        Some("tar.gz") => tar_gz(&files),
        Some("zip") => zip(&files),
        _ => bytes,
    }
}

fn serve(asked: &Asked, size: usize) -> Vec<Step> {
    let known = COMPONENTS.iter().any(|name| {
        asked.path.contains(name.trim_end_matches("-node")) || asked.path.contains("Cloudbase")
    });
    if known {
        ranged(&bytes_of(&asked.path, size), "\"a\"", asked)
    } else {
        status("404 Not Found", &[])
    }
}

/// `imagegen VERB` with everything overridden by bytes of our own at this address.
pub fn mirrored(mirror: &str, verb: &str, size: usize) -> Test {
    let mut test = Test::new().line(&format!("{verb} --target azure --k8s 1.36.0 --cni none"));
    let mut waivers = Vec::new();
    for artifact in planned().iter() {
        let name = artifact["component"].as_str().expect("component");
        assert!(COMPONENTS.contains(&name), "{name}");
        let path = artifact["url"]
            .as_str()
            .expect("url")
            .replace("https://", "/");
        let over = override_build(artifact, &format!("{mirror}{path}"), &bytes_of(&path, size));
        for (field, value) in over.as_object().expect("object") {
            let value = value.as_str().expect("a text");
            test = test.args(["--override", &format!("{name}.{field}={value}")]);
        }
        waivers.extend(list_waivers(artifact));
    }
    let test = test.env("IMAGEGEN_WAIVE", &waivers.join(","));
    let store = test.folder.join("store").display().to_string();
    test.env("IMAGEGEN_STORE", &store)
}

fn started(test: &Test) -> Child {
    test.command()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start")
}

#[test]
fn everything_that_is_planned_is_fetched_once() {
    let server = Server::new(|asked| serve(asked, 1000));
    let test = mirrored(&server.url(""), "fetch", 1000);
    let ran = test.succeeds();
    for name in COMPONENTS {
        assert!(ran.stdout.contains(name), "{}", ran.stdout);
    }
    assert_eq!(server.asked().len(), COMPONENTS.len());
    test.succeeds();
    assert_eq!(
        server.asked().len(),
        COMPONENTS.len(),
        "the store has everything"
    );
    // Without network the same, and nobody is asked.
    let offline = mirrored(&server.url(""), "fetch --offline", 1000);
    offline.fails(
        4,
        &[
            "is not in the store, and `--offline` disables downloads [offline]",
            "imagegen fetch",
        ],
    );
    let store = test.folder.join("store").display().to_string();
    offline.env("IMAGEGEN_STORE", &store).succeeds();
    assert_eq!(server.asked().len(), COMPONENTS.len());
}

#[test]
fn failures_have_their_exit_codes() {
    let missing = Server::new(|_| status("404 Not Found", &[]));
    mirrored(&missing.url(""), "fetch", 10)
        .fails(4, &["[not-found]", "hint: an override or `--mirror URL`"]);
    let wrong = Server::new(|asked| serve(asked, 11));
    let test = mirrored(&wrong.url(""), "fetch", 10);
    test.fails(5, &["[digest-mismatch]"]);
    assert_eq!(sound(&test.folder.join("store")), 0);
    assert!(
        files(&test.folder.join("store/partial")).is_empty(),
        "wrong bytes are not kept"
    );
    // `--quiet` says nothing but the error.
    let quiet = mirrored(&wrong.url(""), "fetch --quiet", 10).fails(5, &["[digest-mismatch]"]);
    assert!(!quiet.stderr.contains("fetched"), "{}", quiet.stderr);
    let plain = Test::new()
        .line("fetch --target azure --k8s 1.36.0 --cni none --mirror http://mirror.example");
    plain.fails(3, &["--allow-http mirror.example", "[plain-http]"]);
    let file = Test::new()
        .file("file", "")
        .line("store verify --store file/store");
    file.fails(
        3,
        &["file/store/objects/sha256: Not a directory (os error 20)\n"],
    );
}

/// A proxy that cannot be used is a wrong value: asking again does not help.
#[test]
fn a_proxy_of_another_scheme_is_refused_at_once() {
    for (name, proxy) in [
        ("HTTPS_PROXY", "socks5://proxy.example:1080"),
        ("ALL_PROXY", "socks4a://proxy.example:1080"),
    ] {
        let test = Test::new()
            .env(name, proxy)
            .line("fetch --target host --k8s 1.36.0 --store s");
        let ran = test.fails(
            3,
            &[
                "it has the scheme `socks",
                "hint: name an HTTP or HTTPS proxy",
            ],
        );
        assert!(!ran.stderr.contains("trying again"), "{}", ran.stderr);
    }
}

/// It is the proxy that cannot be reached, and not the publisher.
#[test]
fn a_proxy_that_refuses_is_named_without_its_password() {
    for (line, variable) in [("--proxy http://127.0.0.1:1", ""), ("", "HTTPS_PROXY")] {
        let mut test = Test::new()
            .line("fetch --target host --k8s 1.36.0 --store s")
            .line(line);
        if !variable.is_empty() {
            test = test.env(variable, "http://user:s3cretpass@127.0.0.1:1");
        }
        let said = ["by the proxy http://127.0.0.1:1: ", "hint: check the proxy"];
        let ran = test.fails(4, &said);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("set HTTPS_PROXY"), "{}", ran.stderr);
    }
}

/// A host that the policy does not name is not asked, however a redirect leads there.
#[test]
fn redirects_lead_to_hosts_of_the_policy_alone() {
    let server = Server::new(|asked| {
        let port = asked
            .header("host")
            .and_then(|host| host.split_once(':'))
            .map_or("", |(_, port)| port);
        let to = |host: &str, path: &str| {
            status(
                "302 Found",
                &[&format!("Location: http://{host}:{port}{path}?sig=s3cret")],
            )
        };
        let path = asked.path.split('?').next().expect("path");
        match path.strip_prefix("/hop") {
            Some(path) => to("localhost", &format!("/end{path}")),
            None => match path.strip_prefix("/end") {
                Some(path) => serve(
                    &Asked {
                        path: path.to_owned(),
                        ..asked.clone()
                    },
                    1000,
                ),
                // The first redirect stays where it is.
                None => to("127.0.0.1", &format!("/hop{path}")),
            },
        }
    });
    let waivers = waive_proofs("plan --target azure --k8s 1.36.0 --cni none");
    let policy = |hosts: &str| {
        format!(
            r#"{{"name": "ours", "allowedHosts": ["registry.k8s.io", "releases.hashicorp.com", {hosts}], "waivers": {waivers}}}"#
        )
    };
    let test = mirrored(&server.url(""), "fetch --policy policy.json", 1000)
        .file("policy.json", &policy(r#""127.0.0.1""#));
    let said = [
        "kubernetes-node 1.36.0: http://127.0.0.1:",
        "redirects to http://localhost:",
        "rule `allowedHosts` of policy ours does not allow localhost [host-not-allowed]",
        "hint: add the host to the policy",
    ];
    let ran = test.fails(5, &said);
    assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    assert!(
        !server
            .asked()
            .iter()
            .any(|asked| asked.path.starts_with("/end")),
        "localhost was asked"
    );
    assert_eq!(sound(&test.folder.join("store")), 0);
    let test = test.file("policy.json", &policy(r#""127.0.0.1", "LocalHost""#));
    test.succeeds();
    assert_eq!(sound(&test.folder.join("store")), COMPONENTS.len());
    // What is in the store came by a way that was allowed, or is what the pins say: nobody is asked.
    let asked = server.asked().len();
    test.file("policy.json", &policy(r#""127.0.0.1""#))
        .succeeds();
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn the_environment_names_proxies_and_what_is_near() {
    let server = Server::new(|asked| serve(asked, 10));
    let url = server.url("");
    let proxy = Server::new(move |asked| {
        let path = asked
            .path
            .strip_prefix(&url)
            .or(asked.path.strip_prefix("http://mirror.example"));
        let path = path.expect("the whole URL").to_owned();
        serve(
            &Asked {
                path,
                ..asked.clone()
            },
            10,
        )
    });
    let proxied = mirrored(
        "http://mirror.example",
        "fetch --allow-http mirror.example",
        10,
    );
    proxied.env("http_proxy", &proxy.url("/")).succeeds();
    assert_eq!(
        (server.asked().len(), proxy.asked().len()),
        (0, COMPONENTS.len())
    );
    // This machine is asked without proxy: there, its address would be the proxy's own.
    mirrored(&server.url(""), "fetch", 10)
        .env("http_proxy", &proxy.url("/"))
        .succeeds();
    assert_eq!(
        (server.asked().len(), proxy.asked().len()),
        (COMPONENTS.len(), COMPONENTS.len())
    );
    let own = mirrored(
        &server.url(""),
        &format!("fetch --proxy {}", proxy.url("/")),
        10,
    );
    own.succeeds();
    assert_eq!(
        (server.asked().len(), proxy.asked().len()),
        (COMPONENTS.len(), 2 * COMPONENTS.len())
    );
    own.env("no_proxy", "127.0.0.1")
        .line("--store other")
        .succeeds();
    assert_eq!(
        (server.asked().len(), proxy.asked().len()),
        (2 * COMPONENTS.len(), 2 * COMPONENTS.len())
    );
}

#[test]
fn two_processes_fetch_one_file_once() {
    // The server answers when both processes are there.
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let (waits, opens) = (Arc::clone(&gate), gate);
    let server = Server::new(move |asked| {
        let open = waits.0.lock().expect("gate");
        drop(waits.1.wait_while(open, |open| !*open).expect("gate"));
        serve(asked, 1000)
    });
    let test = mirrored(&server.url(""), "fetch", 1000);
    let mut first = started(&test);
    while server.asked().len() < COMPONENTS.len() {
        std::thread::yield_now();
    }
    let mut second = started(&test);
    let mut lines = BufReader::new(second.stderr.take().expect("stderr"));
    let mut said = String::new();
    while !said.contains("waiting for another process") {
        assert_ne!(lines.read_line(&mut said).expect("line"), 0, "{said}");
    }
    *opens.0.lock().expect("gate") = true;
    opens.1.notify_all();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("stderr");
    assert!(first.wait().expect("first").success());
    assert!(second.wait().expect("second").success(), "{said}{rest}");
    assert_eq!(
        server.asked().len(),
        COMPONENTS.len(),
        "each file is asked for once"
    );
    assert_eq!(sound(&test.folder.join("store")), COMPONENTS.len());
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_parts_for_the_next_run() {
    let gate = Arc::new(Mutex::new(true));
    let stalls = Arc::clone(&gate);
    let server = Server::new(move |asked| {
        let mut steps = serve(asked, 100_000);
        if *stalls.lock().expect("gate")
            && let Some(Step::Send(bytes)) = steps.first_mut()
        {
            bytes.truncate(50_000);
            steps.push(Step::Hang);
        }
        steps
    });
    let test = mirrored(&server.url(""), "fetch", 100_000);
    let mut child = started(&test);
    let part = || {
        let folder = test
            .folder
            .join("store/partial")
            .read_dir()
            .into_iter()
            .flatten();
        let size = |entry: std::fs::DirEntry| entry.metadata().map_or(0, |metadata| metadata.len());
        folder.flatten().any(|entry| size(entry) > 40_000)
    };
    while !part() {
        std::thread::yield_now();
    }
    send_signal(&child, "-INT");
    let mut said = String::new();
    child
        .stderr
        .take()
        .expect("stderr")
        .read_to_string(&mut said)
        .expect("text");
    assert_eq!(child.wait().expect("end").code(), Some(130), "{said}");
    assert!(said.contains("the next run resumes"), "{said}");
    assert_eq!(sound(&test.folder.join("store")), 0);
    *gate.lock().expect("gate") = false;
    test.succeeds();
    assert!(
        server.asked().iter().any(|asked| asked.range().is_some()),
        "the part was continued"
    );
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    if program("unshare").is_none() {
        return;
    }
    let server = Server::new(|asked| serve(asked, 700_000));
    let test = mirrored(&server.url(""), "fetch", 700_000);
    std::fs::create_dir(test.folder.join("store")).expect("store");
    let script = r#"mount -t tmpfs -o size=1m,mode=700 none "$IMAGEGEN_STORE" || exit 99
"$0" "$@"; echo "exit $?"; find "$IMAGEGEN_STORE/objects" "$IMAGEGEN_STORE/partial" -type f -printf '%P\n'
mount -o remount,size=20m "$IMAGEGEN_STORE"; "$0" "$@" >/dev/null; echo "exit $?""#;
    let output = test
        .started_by(
            "unshare",
            ["--user", "--map-root-user", "--mount", "sh", "-c", script],
        )
        .output()
        .expect("unshare");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(99) || said.contains("unshare failed") {
        println!("skipped: needs unshare with a file system of its own");
        return;
    }
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("No space left on device"), "{said}");
    assert!(
        out.contains("exit 1\n") && out.ends_with("exit 0\n"),
        "{out}{said}"
    );
    assert!(
        !out.contains(".part\n"),
        "a part that fills the disk is removed: {out}"
    );
}

#[test]
fn the_store_is_verified_and_swept() {
    let server = Server::new(|asked| serve(asked, 1000));
    let fetch = mirrored(&server.url(""), "fetch", 1000);
    fetch.succeeds();
    let folder = fetch.folder.join("store");
    let store = folder.display().to_string();
    let run = |line: &str| Test::new().line(line).env("IMAGEGEN_STORE", &store);
    assert_eq!(run("store path").succeeds().stdout, format!("{store}\n"));
    assert_eq!(
        run("store verify").succeeds().stdout,
        "4 files, 0 damaged\n"
    );
    let objects: Vec<String> = files(&folder.join("objects")).into_keys().collect();
    std::fs::write(folder.join("objects").join(&objects[0]), "other").expect("write");
    // What killed processes left is no damage.
    let left = folder
        .join("objects")
        .join(&objects[0])
        .with_file_name(".x.1-1.partial");
    std::fs::write(&left, "half").expect("write");
    let part = folder.join("partial").join("0".repeat(64));
    std::fs::write(part.with_extension("part"), "half").expect("write");
    std::fs::write(part.with_extension("json"), "{}").expect("write");
    run("store verify").fails(5, &["1 damaged files were taken out of the store"]);
    assert_eq!(
        run("store verify").succeeds().stdout,
        "3 files, 0 damaged\n"
    );
    assert_eq!(
        run("store gc").succeeds().stdout,
        "0 files removed\n",
        "all is young"
    );
    assert!(left.exists());
    assert_eq!(
        run("store gc --days 0").succeeds().stdout,
        "5 files removed\n"
    );
    let rest: Vec<String> = files(&folder).into_keys().collect();
    assert!(rest.is_empty(), "{rest:?}");
    // What a lock names is kept.
    fetch.succeeds();
    let lock = mirrored(&server.url(""), "lock", 1000);
    lock.succeeds();
    let lock = lock.folder.join("imagegen.lock.json");
    let kept = run(&format!("store gc --days 0 --lock {}", lock.display())).succeeds();
    assert_eq!(kept.stdout, "0 files removed\n");
    assert_eq!(sound(&folder), 4);
}
