//! Signatures by minisign itself.

use imagegen::verify::{ProofError, Proven, minisign};

use super::tools::{Bench, bench};
use super::{agree, code};

const FILE: &[u8] = b"containerd-2.3.4-windows-amd64.tar.gz";

fn check(file: &[u8], signature: &[u8], key: &str) -> Result<Proven, ProofError> {
    let pieces = |each: &mut dyn FnMut(&[u8])| {
        file.chunks(7).for_each(each);
        Ok(())
    };
    minisign::verify_minisign(pieces, signature, key)
}

fn key(bench: &Bench, name: &str) -> String {
    let (public, secret) = (format!("{name}.pub"), format!("{name}.key"));
    bench.run("minisign", ["-G", "-W", "-p", &public, "-s", &secret]);
    String::from_utf8(bench.read(&public)).unwrap()
}

fn signed(bench: &Bench, name: &str, kind: &str) -> String {
    bench.write("file", FILE);
    bench.run(
        "minisign",
        [
            "-S",
            kind,
            "-s",
            &format!("{name}.key"),
            "-m",
            "file",
            "-t",
            "file:containerd",
            "-x",
            "sig",
        ],
    );
    String::from_utf8(bench.read("sig")).unwrap()
}

#[test]
fn signatures_are_by_the_key_and_over_the_file() {
    let Some(bench) = bench(&["minisign"]) else {
        return;
    };
    let (ours, other) = (key(&bench, "ours"), key(&bench, "other"));
    let secret = String::from_utf8(bench.read("ours.key")).unwrap();
    let good = signed(&bench, "ours", "-H");
    let legacy = signed(&bench, "ours", "-l");
    let line = ours.lines().nth(1).unwrap();
    let comment = good.replace("file:containerd", "file:kubelet");
    let lines: Vec<&str> = good.lines().collect();
    let mut damaged = lines[1].to_owned();
    damaged.replace_range(
        30..31,
        if damaged.as_bytes()[30] == b'A' {
            "B"
        } else {
            "A"
        },
    );
    let damaged = good.replace(lines[1], &damaged);
    let crlf = good.replace('\n', "\r\n");
    let rows: &[(&str, &str, &str, &'static str)] = &[
        ("good", &good[..], &ours[..], "ok"),
        ("key as one line", &good, line, "ok"),
        ("CRLF", &crlf, &ours, "ok"),
        ("old kind", &legacy, &ours, "minisign-legacy"),
        ("another key", &good, &other, "minisign-other-key"),
        ("comment altered", &comment, &ours, "minisign-bad-signature"),
        ("one bit off", &damaged, &ours, "minisign-bad-signature"),
        ("empty", "", &ours, "minisign-malformed"),
        (
            "web page",
            "<html>\n<body>\n</body>\n</html>\n",
            &ours,
            "minisign-malformed",
        ),
        ("cut", &good[..good.len() / 2], &ours, "minisign-malformed"),
        (
            "text behind it",
            &format!("{good}more\n"),
            &ours,
            "minisign-malformed",
        ),
        ("no key", &good, "", "minisign-key"),
        ("secret key", &good, &secret, "minisign-key"),
        ("cut key", &good, &line[..20], "minisign-key"),
    ];
    agree(rows.iter().map(|&(title, signature, key, wanted)| {
        (title, code(check(FILE, signature.as_bytes(), key)), wanted)
    }));
    assert_eq!(
        code(check(b"another file", good.as_bytes(), &ours)),
        "minisign-bad-signature"
    );
    assert_eq!(code(check(FILE, b"\xff\xfe", &ours)), "minisign-malformed");
    let error = check(FILE, good.as_bytes(), &secret).unwrap_err();
    assert!(
        !secret.lines().any(|line| error.message.contains(line)),
        "the key is told"
    );
    let proven = check(FILE, good.as_bytes(), &ours).unwrap();
    assert_eq!(proven.facts["trustedComment"], "file:containerd");
    assert!(
        ours.contains(&proven.facts["signer"]),
        "{:?} is not in {ours}",
        proven.facts
    );
}
