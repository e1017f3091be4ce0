//! OpenPGP signatures made by GnuPG at faked times.

mod forge;
mod policy;
mod revoked;

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;

use imagegen::embedded::Tree;
use imagegen::verify::{ProofError, Proven, openpgp};

use super::tools::{Bench, bench};
use super::{agree, code};

/// 2026-11-20
const NOW: u64 = 1_795_132_800;

const BORN: &str = "20240101T000000";

const SIGNED: &str = "20240601T000000";

const LATER: &str = "20250601T000000";
const MESSAGE: &[u8] = b"6ad0  packer_1.15.4_windows_amd64.zip\n";

fn gpg(bench: &Bench, time: &str, arguments: &[&str]) -> Vec<u8> {
    gpg_told(bench, time, arguments, "")
}

fn gpg_told(bench: &Bench, time: &str, arguments: &[&str], told: &str) -> Vec<u8> {
    let time = format!("{time}!");
    let always = [
        "--batch",
        "--yes",
        "--quiet",
        "--no-tty",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
    ];
    let always = always
        .into_iter()
        .chain(["--faked-system-time", &time, "--ignore-time-conflict"]);
    bench.fed(
        "gpg",
        always.chain(arguments.iter().copied()),
        told.as_bytes(),
    )
}

/// The fingerprint of a new key.
fn key(bench: &Bench, name: &str, algorithm: &str, usage: &str) -> String {
    gpg(
        bench,
        BORN,
        &["--quick-gen-key", name, algorithm, usage, "never"],
    );
    let listing = gpg(
        bench,
        BORN,
        &["--with-colons", "--list-keys", &format!("={name}")],
    );
    let listing = String::from_utf8(listing).unwrap();
    let line = listing
        .lines()
        .find(|line| line.starts_with("fpr:"))
        .unwrap();
    line.split(':').nth(9).unwrap().to_owned()
}

fn exported(bench: &Bench, name: &str) -> Vec<u8> {
    gpg(bench, BORN, &["--export", &format!("={name}")])
}

fn signed(bench: &Bench, time: &str, name: &str, more: &[&str]) -> Vec<u8> {
    bench.write("message", MESSAGE);
    let signer = format!("={name}");
    let mut arguments = vec!["--local-user", &signer, "--output", "-"];
    arguments.extend(more);
    arguments.extend(["--detach-sign", "message"]);
    gpg(bench, time, &arguments)
}

fn check(
    message: &[u8],
    signature: &[u8],
    keyring: &[u8],
    fingerprint: &str,
) -> Result<Proven, ProofError> {
    let pieces = |each: &mut dyn FnMut(&[u8])| {
        message.chunks(7).for_each(each);
        Ok(())
    };
    openpgp::verify_detached(pieces, signature, keyring, fingerprint, NOW)
}

fn workplace() -> Option<Bench> {
    let bench = bench(&["gpg"])?;
    fs::DirBuilder::new()
        .mode(0o700)
        .create(bench.path("gnupg"))
        .unwrap();
    Some(bench)
}

struct Row {
    title: &'static str,
    message: Vec<u8>,
    signature: Vec<u8>,
    keyring: Vec<u8>,
    fingerprint: String,
    code: &'static str,
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn signatures_are_held_against_the_key_that_is_expected() {
    let Some(bench) = workplace() else { return };
    let plain = key(&bench, "plain", "ed25519", "sign,cert");
    let other = key(&bench, "other", "ed25519", "sign,cert");
    let (plain_key, other_key) = (exported(&bench, "plain"), exported(&bench, "other"));
    let armored_key = gpg(&bench, BORN, &["--armor", "--export", "=plain"]);
    let both = [plain_key.clone(), other_key.clone()].concat();
    let secret = gpg(&bench, BORN, &["--armor", "--export-secret-keys", "=plain"]);
    let good = signed(&bench, SIGNED, "plain", &[]);
    let armored = signed(&bench, SIGNED, "plain", &["--armor"]);
    let by_other = signed(&bench, SIGNED, "other", &[]);
    bench.write("another", b"another file\n");
    let over_another = gpg(
        &bench,
        SIGNED,
        &[
            "--local-user",
            "=plain",
            "--output",
            "-",
            "--detach-sign",
            "another",
        ],
    );
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    // Version, kind, algorithm and digest are the first bytes behind a header of two.
    let patched = |at: usize, value: u8| {
        let mut patched = good.clone();
        patched[2 + at] = value;
        patched
    };
    assert_eq!(good[2..4], [4, 0], "a signature of version 4 over a file");
    let text = String::from_utf8(armored.clone()).unwrap();
    let row = |title, signature: &[u8], keyring: &[u8], fingerprint: &str, code| Row {
        title,
        message: MESSAGE.to_vec(),
        signature: signature.to_vec(),
        keyring: keyring.to_vec(),
        fingerprint: fingerprint.to_owned(),
        code,
    };
    let spaced: String = plain
        .as_bytes()
        .chunks(4)
        .map(|part| format!("{} ", std::str::from_utf8(part).unwrap()))
        .collect();
    let mut rows = vec![
        row("binary", &good, &plain_key, &plain, "ok"),
        row("armored", &armored, &armored_key, &plain, "ok"),
        row(
            "armored, CRLF",
            text.replace('\n', "\r\n").as_bytes(),
            &armored_key,
            &plain,
            "ok",
        ),
        row(
            "armored, a header without text",
            text.replacen("SIGNATURE-----\n", "SIGNATURE-----\nComment: \n", 1)
                .as_bytes(),
            &armored_key,
            &plain,
            "ok",
        ),
        row("two keys in the ring", &good, &both, &plain, "ok"),
        row(
            "text of another encoding around the keys",
            &good,
            &[b"Keys of J\xfcrgen\n\n", &armored_key[..], b"\n"].concat(),
            &plain,
            "ok",
        ),
        row(
            "fingerprint with blanks, small letters",
            &good,
            &both,
            &spaced.to_lowercase(),
            "ok",
        ),
        row(
            "two signatures",
            &[by_other.clone(), good.clone()].concat(),
            &both,
            &plain,
            "ok",
        ),
        row(
            "two armored signatures",
            format!("{text}\n{text}").as_bytes(),
            &both,
            &plain,
            "ok",
        ),
        row("empty", b"", &plain_key, &plain, "openpgp-malformed"),
        row("blank", b"\n \n", &plain_key, &plain, "openpgp-malformed"),
        row(
            "web page",
            b"<!DOCTYPE html>",
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "cut",
            &good[..good.len() - 9],
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "cut to a header",
            &good[..1],
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "armored and cut",
            &armored[..armored.len() / 2],
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "bytes behind it",
            &[&good[..], b"\0"].concat(),
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "cut packet behind it",
            &[&good[..], &good[..7]].concat(),
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "key behind it",
            &[&good[..], &plain_key].concat(),
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "text behind it",
            format!("{text}trust me\n").as_bytes(),
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "a key in its place",
            &plain_key,
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "an armored key in its place",
            &armored_key,
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "one bit off",
            &damaged,
            &plain_key,
            &plain,
            "openpgp-bad-signature",
        ),
        row(
            "over another file",
            &over_another,
            &plain_key,
            &plain,
            "openpgp-bad-signature",
        ),
        row(
            "bad, then good",
            &[over_another.clone(), good.clone()].concat(),
            &both,
            &plain,
            "openpgp-bad-signature",
        ),
        row(
            "good, then bad",
            &[good.clone(), over_another].concat(),
            &both,
            &plain,
            "openpgp-bad-signature",
        ),
        row(
            "by another key",
            &by_other,
            &both,
            &plain,
            "openpgp-no-signature",
        ),
        row(
            "key not in the ring",
            &good,
            &other_key,
            &plain,
            "openpgp-key",
        ),
        row(
            "another fingerprint",
            &good,
            &plain_key,
            &other,
            "openpgp-key",
        ),
        row(
            "short key id",
            &good,
            &plain_key,
            &plain[24..],
            "openpgp-key",
        ),
        row("no fingerprint", &good, &plain_key, "", "openpgp-key"),
        row(
            "key twice",
            &good,
            &[&plain_key[..], &plain_key].concat(),
            &plain,
            "openpgp-key",
        ),
        row("private key", &good, &secret, &plain, "openpgp-key"),
        row("no keyring", &good, b"", &plain, "openpgp-key"),
        row(
            "signature for a keyring",
            &good,
            &armored,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "cleartext",
            b"-----BEGIN PGP SIGNED MESSAGE-----\n",
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
    ];
    let twice = [&plain_key[..], &plain_key].concat();
    for (signature, keyring, fingerprint, said) in [
        (patched(0, 6), &plain_key, &plain, "other versions than 4"),
        (good.clone(), &plain_key, &"0a".repeat(32), "version 5 or 6"),
        (good.clone(), &twice, &plain, "gpg --export"),
    ] {
        let error = check(MESSAGE, &signature, keyring, fingerprint).expect_err(said);
        assert!(error.message.contains(said), "{error}");
    }
    rows.extend([
        row(
            "unknown version",
            &patched(0, 9),
            &plain_key,
            &plain,
            "openpgp-no-signature",
        ),
        row(
            "another kind",
            &patched(1, 0x10),
            &plain_key,
            &plain,
            "openpgp-malformed",
        ),
        row(
            "unknown algorithm",
            &patched(2, 99),
            &plain_key,
            &plain,
            "openpgp-bad-signature",
        ),
        row("MD5", &patched(3, 1), &plain_key, &plain, "openpgp-weak"),
        row(
            "unknown digest",
            &patched(3, 99),
            &plain_key,
            &plain,
            "openpgp-weak",
        ),
        row(
            "another digest",
            &patched(3, 9),
            &plain_key,
            &plain,
            "openpgp-bad-signature",
        ),
    ]);
    rows.push(Row {
        message: b"another file\n".to_vec(),
        ..row(
            "right key, wrong file",
            &good,
            &plain_key,
            &plain,
            "openpgp-bad-signature",
        )
    });
    judge(&rows);
    let proven = check(MESSAGE, &good, &plain_key, &plain).unwrap();
    assert_eq!(proven.facts["signer"], plain.to_lowercase());
    assert_eq!(proven.facts["time"], "2024-06-01T00:00:00Z");
    let error = check(MESSAGE, &good, &secret, &plain).unwrap_err();
    assert!(
        error.message.contains("private key") && !error.message.contains("BEGIN"),
        "{error}"
    );
}

/// Of a signature only the part that says who might have made it is not signed, and how many bits
/// its numbers have can be said in more than one way; of a key, every byte is altered too.
#[test]
fn no_altered_byte_is_taken_for_good() {
    let Some(bench) = workplace() else { return };
    let plain = key(&bench, "plain", "ed25519", "sign,cert");
    let ring = exported(&bench, "plain");
    let good = signed(&bench, SIGNED, "plain", &[]);
    let hint = good
        .windows(4)
        .position(|bytes| bytes == [0, 10, 9, 16])
        .unwrap();
    let first = hint + 14;
    let bits = usize::from(good[first]) << 8 | usize::from(good[first + 1]);
    let second = first + 2 + bits.div_ceil(8);
    let free = [hint..hint + 12, first..first + 2, second..second + 2];
    for at in (0..good.len()).filter(|at| !free.iter().any(|range| range.contains(at))) {
        let mut altered = good.clone();
        altered[at] ^= 1 << (at % 8);
        assert!(
            check(MESSAGE, &altered, &ring, &plain).is_err(),
            "byte {at}"
        );
    }
    let mut refused = 0;
    for at in 0..ring.len() {
        let mut altered = ring.clone();
        altered[at] ^= 1;
        refused += usize::from(check(MESSAGE, &good, &altered, &plain).is_err());
    }
    // The same holds for the key's own signature.
    assert!(refused >= ring.len() - 16, "{refused} of {}", ring.len());
}

#[track_caller]
fn judge(rows: &[Row]) {
    agree(rows.iter().map(|row| {
        let outcome = check(&row.message, &row.signature, &row.keyring, &row.fingerprint);
        (row.title, code(outcome), row.code)
    }));
}

/// The catalog's own key is the one of the fingerprint, and still says that it may sign.
#[test]
fn the_key_of_hashicorp_is_the_one_that_components_name() {
    let manifests = Tree::embedded_manifests();
    let ring = manifests.get("trust/hashicorp.asc").unwrap();
    let fingerprint = "C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F";
    let Some(bench) = workplace() else { return };
    key(&bench, "stranger", "ed25519", "sign,cert");
    let signature = signed(&bench, SIGNED, "stranger", &[]);
    let error = check(MESSAGE, &signature, ring, fingerprint).unwrap_err();
    assert_eq!(error.code.as_str(), "openpgp-no-signature", "{error}");
    // With another last digit it is another key.
    let near = format!("{}E", &fingerprint[..fingerprint.len() - 1]);
    assert_eq!(code(check(MESSAGE, &signature, ring, &near)), "openpgp-key");
}
