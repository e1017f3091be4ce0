//! The policy for keys and times of OpenPGP.

use super::{
    BORN, LATER, MESSAGE, Row, SIGNED, check, exported, gpg, gpg_told, judge, key, signed,
    workplace,
};

/// What the key says of itself, and when, decides with the signature.
#[test]
fn keys_and_times_have_a_policy() {
    let Some(bench) = workplace() else { return };
    let mut rows = Vec::new();
    let mut row = |title, (signature, keyring): (Vec<u8>, Vec<u8>), fingerprint: &str, code| {
        let fingerprint = fingerprint.to_owned();
        rows.push(Row {
            title,
            message: MESSAGE.to_vec(),
            signature,
            keyring,
            fingerprint,
            code,
        });
    };

    let rsa = key(&bench, "rsa", "rsa2048", "sign,cert");
    let ring = || exported(&bench, "rsa");
    let by = |time, more: &[&str]| (signed(&bench, time, "rsa", more), ring());
    row("RSA 2048", by(SIGNED, &[]), &rsa, "ok");
    row(
        "SHA-512",
        by(SIGNED, &["--digest-algo", "SHA512"]),
        &rsa,
        "ok",
    );
    row(
        "SHA-1",
        by(SIGNED, &["--digest-algo", "SHA1"]),
        &rsa,
        "openpgp-weak",
    );
    row(
        "RIPEMD-160",
        by(SIGNED, &["--digest-algo", "RIPEMD160"]),
        &rsa,
        "openpgp-weak",
    );
    row(
        "over text",
        by(SIGNED, &["--textmode"]),
        &rsa,
        "openpgp-malformed",
    );
    row(
        "from the future",
        by("20270101T000000", &[]),
        &rsa,
        "openpgp-time",
    );
    row(
        "older than the key",
        by("20231231T000000", &[]),
        &rsa,
        "openpgp-time",
    );
    row("of today", by("20261119T000000", &[]), &rsa, "ok");
    row(
        "expired",
        by(SIGNED, &["--default-sig-expire", "30d"]),
        &rsa,
        "openpgp-time",
    );
    row(
        "lasts",
        by(SIGNED, &["--default-sig-expire", "10y"]),
        &rsa,
        "ok",
    );

    let short = key(&bench, "short", "rsa1024", "sign,cert");
    row(
        "RSA 1024",
        (
            signed(&bench, SIGNED, "short", &[]),
            exported(&bench, "short"),
        ),
        &short,
        "openpgp-weak",
    );
    let dsa = key(&bench, "dsa", "dsa2048", "sign,cert");
    row(
        "DSA",
        (signed(&bench, SIGNED, "dsa", &[]), exported(&bench, "dsa")),
        &dsa,
        "openpgp-weak",
    );
    let weak = [
        "--cert-digest-algo",
        "SHA1",
        "--quick-gen-key",
        "old",
        "rsa2048",
        "sign,cert",
        "never",
    ];
    gpg(&bench, BORN, &weak);
    let listing =
        String::from_utf8(gpg(&bench, BORN, &["--with-colons", "--list-keys", "=old"])).unwrap();
    let old = listing
        .lines()
        .find_map(|line| line.strip_prefix("fpr:::::::::"))
        .unwrap()
        .trim_end_matches(':');
    row(
        "key that SHA-1 vouches for",
        (signed(&bench, SIGNED, "old", &[]), exported(&bench, "old")),
        old,
        "openpgp-weak",
    );

    let dies = key(&bench, "dies", "ed25519", "sign,cert");
    let (before, after) = (
        signed(&bench, SIGNED, "dies", &[]),
        signed(&bench, LATER, "dies", &[]),
    );
    row(
        "key does not expire",
        (after.clone(), exported(&bench, "dies")),
        &dies,
        "ok",
    );
    gpg(
        &bench,
        "20240201T000000",
        &["--quick-set-expire", &dies, "2025-01-01"],
    );
    let ring = exported(&bench, "dies");
    row(
        "key expired before it signed",
        (after.clone(), ring.clone()),
        &dies,
        "openpgp-time",
    );
    row("key expired after it signed", (before, ring), &dies, "ok");
    gpg(
        &bench,
        "20240301T000000",
        &["--quick-set-expire", &dies, "2028-01-01"],
    );
    row(
        "key was renewed",
        (after, exported(&bench, "dies")),
        &dies,
        "ok",
    );

    let subs = key(&bench, "subs", "ed25519", "cert");
    gpg(
        &bench,
        BORN,
        &["--quick-add-key", &subs, "ed25519", "sign", "never"],
    );
    let by_subkey = signed(&bench, SIGNED, "subs", &[]);
    row(
        "by a subkey",
        (by_subkey.clone(), exported(&bench, "subs")),
        &subs,
        "ok",
    );
    let listing = String::from_utf8(gpg(
        &bench,
        BORN,
        &["--with-colons", "--list-keys", "=subs"],
    ))
    .unwrap();
    let subkey = listing
        .lines()
        .filter_map(|line| line.strip_prefix("fpr:::::::::"))
        .nth(1)
        .unwrap();
    let subkey = subkey.trim_end_matches(':').to_owned();
    row(
        "the subkey's fingerprint",
        (by_subkey.clone(), exported(&bench, "subs")),
        &subkey,
        "openpgp-key",
    );
    gpg(
        &bench,
        "20240201T000000",
        &["--quick-set-expire", &subs, "2024-05-01", &subkey],
    );
    row(
        "subkey expired before it signed",
        (by_subkey.clone(), exported(&bench, "subs")),
        &subs,
        "openpgp-time",
    );
    gpg(
        &bench,
        "20240202T000000",
        &["--quick-set-expire", &subs, "2028-05-01", &subkey],
    );
    gpg(
        &bench,
        "20240202T000000",
        &["--quick-set-expire", &subs, "2024-05-01"],
    );
    row(
        "primary key expired before its subkey signed",
        (by_subkey.clone(), exported(&bench, "subs")),
        &subs,
        "openpgp-time",
    );
    gpg(
        &bench,
        "20240203T000000",
        &["--quick-set-expire", &subs, "2028-05-01"],
    );
    row(
        "both renewed",
        (by_subkey.clone(), exported(&bench, "subs")),
        &subs,
        "ok",
    );
    row(
        "subkey that does not confirm it",
        (by_subkey.clone(), unconfirmed(&exported(&bench, "subs"))),
        &subs,
        "openpgp-key",
    );
    let told = "key 1\nrevkey\ny\n2\n\ny\nsave\n";
    gpg_told(
        &bench,
        LATER,
        &["--command-fd", "0", "--edit-key", &subs],
        told,
    );
    row(
        "subkey revoked",
        (by_subkey, exported(&bench, "subs")),
        &subs,
        "openpgp-revoked",
    );

    let gone = key(&bench, "gone", "ed25519", "sign,cert");
    let by_gone = signed(&bench, SIGNED, "gone", &[]);
    row(
        "not revoked yet",
        (by_gone.clone(), exported(&bench, "gone")),
        &gone,
        "ok",
    );
    let certificate = bench.read(&format!("gnupg/openpgp-revocs.d/{gone}.rev"));
    let certificate = String::from_utf8(certificate)
        .unwrap()
        .replace(":-----BEGIN", "-----BEGIN");
    bench.write("revocation", certificate.as_bytes());
    gpg(&bench, LATER, &["--import", "revocation"]);
    row(
        "revoked",
        (by_gone, exported(&bench, "gone")),
        &gone,
        "openpgp-revoked",
    );

    assert!(rows.len() >= 24, "{}", rows.len());
    judge(&rows);
}

/// A key whose subkeys' own signatures go under a type of subpacket for private use (RFC 9580, 5.2.3.7):
/// they are not part of what the key signed.
fn unconfirmed(key: &[u8]) -> Vec<u8> {
    let mut key = key.to_vec();
    // Embedded signature, version 4, over a primary key.
    let embedded = [32, 4, 0x19];
    let places: Vec<usize> = (0..key.len())
        .filter(|at| key[*at..].starts_with(&embedded))
        .collect();
    assert!(!places.is_empty());
    for at in places {
        key[at] = 100;
    }
    key
}

/// Other output of GnuPG than a detached signature, and a signature that demands what is not known.
#[test]
fn the_error_says_what_a_signature_is_instead() {
    let Some(bench) = workplace() else { return };
    let plain = key(&bench, "plain", "ed25519", "sign,cert");
    let keyring = exported(&bench, "plain");
    let demand = ["--sig-notation", "!demand@example.com=yes"];
    let notation = signed(&bench, SIGNED, "plain", &demand);
    let signer = ["--local-user", "=plain", "--output", "-"];
    let write = |mode: &[&str]| gpg(&bench, SIGNED, &[&signer, mode, &["message"]].concat());
    for (signature, said) in [
        (notation, "a critical subpacket"),
        (write(&["--sign"]), "gpg --detach-sign"),
        (write(&["--armor", "--sign"]), "gpg --detach-sign"),
        (write(&["--clearsign"]), "gpg --detach-sign"),
    ] {
        let error = check(MESSAGE, &signature, &keyring, &plain).expect_err(said);
        assert_eq!(error.code.as_str(), "openpgp-malformed", "{error}");
        assert!(error.message.contains(said), "{error}");
    }
}
