//! Signatures as `cosign sign-blob --key` makes them, by openssl: cosign's public key is plain PEM.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagegen::verify::cosign::{verify_content, verify_key};

use super::tools::{Bench, bench};
use super::{agree, code};

/// Order of P-256.
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6,
    0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

fn sha256(bytes: &[u8]) -> [u8; 32] {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes)
        .as_ref()
        .try_into()
        .unwrap()
}

/// Both numbers of a DER signature, 32 bytes each.
fn numbers(der: &[u8]) -> ([u8; 32], [u8; 32]) {
    let wide = |bytes: &[u8]| {
        let bytes = bytes.strip_prefix(&[0]).unwrap_or(bytes);
        let mut number = [0; 32];
        number[32 - bytes.len()..].copy_from_slice(bytes);
        number
    };
    let first = usize::from(der[3]);
    let second = usize::from(der[5 + first]);
    (
        wide(&der[4..4 + first]),
        wide(&der[6 + first..6 + first + second]),
    )
}

fn der(r: &[u8; 32], s: &[u8; 32]) -> Vec<u8> {
    let number = |bytes: &[u8; 32]| {
        let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(31);
        let mut short = bytes[start..].to_vec();
        if short[0] >= 0x80 {
            short.insert(0, 0);
        }
        [vec![2, u8::try_from(short.len()).unwrap()], short].concat()
    };
    let content = [number(r), number(s)].concat();
    [vec![0x30, u8::try_from(content.len()).unwrap()], content].concat()
}

/// The other value of `s` that ECDSA allows.
fn mirrored(s: &[u8; 32]) -> [u8; 32] {
    let mut out = [0; 32];
    let mut borrow = 0;
    for at in (0..32).rev() {
        let difference = i16::from(ORDER[at]) - i16::from(s[at]) - borrow;
        borrow = i16::from(difference < 0);
        out[at] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    out
}

/// Makes the private key `NAME.key`, and gives the public one in PEM.
fn make_key(bench: &Bench, name: &str, options: &[&str]) -> String {
    let private = format!("{name}.key");
    let arguments = [&["genpkey", "-out", &private], options].concat();
    bench.run("openssl", arguments);
    let public = bench.run("openssl", ["pkey", "-in", &private, "-pubout"]);
    String::from_utf8(public).expect("PEM")
}

#[test]
fn signatures_are_by_the_key_and_over_the_file() {
    let Some(bench) = bench(&["openssl"]) else {
        return;
    };
    let file = b"MZ kubelet.exe";
    bench.write("file", file);
    let key = make_key(
        &bench,
        "p256",
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    );
    let other = make_key(
        &bench,
        "other",
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    );
    let p384 = make_key(
        &bench,
        "p384",
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
    );
    let ed25519 = make_key(&bench, "ed25519", &["-algorithm", "ED25519"]);
    let rsa = make_key(
        &bench,
        "rsa",
        &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    );
    let private = String::from_utf8(bench.read("p256.key")).unwrap();
    let encrypted = bench.run(
        "openssl",
        ["pkcs8", "-topk8", "-in", "p256.key", "-passout", "pass:x"],
    );
    let encrypted = String::from_utf8(encrypted).unwrap();
    let traditional = String::from_utf8(bench.run("openssl", ["ec", "-in", "p256.key"])).unwrap();
    let cosign = "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n";
    let good = bench.run("openssl", ["dgst", "-sha256", "-sign", "p256.key", "file"]);
    let by_sha512 = bench.run("openssl", ["dgst", "-sha512", "-sign", "p256.key", "file"]);
    let (r, s) = numbers(&good);
    let (low, high) = (s.min(mirrored(&s)), s.max(mirrored(&s)));
    let text = STANDARD.encode(&good);
    let folded = format!("{}\r\n{}\n", &text[..40], &text[40..]);
    let crlf = key.replace('\n', "\r\n");
    let raw = STANDARD.encode([r, s].concat());
    let behind = STANDARD.encode([&good[..], b"\0"].concat());
    let zero = der(&r, &[0; 32]);
    let rows: &[(&str, &[u8], &str, &'static str)] = &[
        ("base64", text.as_bytes(), &key[..], "ok"),
        ("DER", &good, &key, "ok"),
        ("base64 with line ends", folded.as_bytes(), &key, "ok"),
        ("key with CRLF", text.as_bytes(), &crlf, "ok"),
        ("low s", &der(&r, &low), &key, "ok"),
        ("high s", &der(&r, &high), &key, "ok"),
        (
            "another key",
            text.as_bytes(),
            &other,
            "cosign-bad-signature",
        ),
        ("over SHA-512", &by_sha512, &key, "cosign-bad-signature"),
        ("s of nothing", &zero, &key, "cosign-bad-signature"),
        (
            "numbers changed over",
            &der(&s, &r),
            &key,
            "cosign-bad-signature",
        ),
        ("empty", b"", &key, "cosign-malformed"),
        ("blank", b" \n", &key, "cosign-malformed"),
        ("web page", b"<html>no</html>", &key, "cosign-malformed"),
        ("cut", &good[..good.len() - 1], &key, "cosign-malformed"),
        (
            "base64 and cut",
            &text.as_bytes()[..40],
            &key,
            "cosign-malformed",
        ),
        ("raw numbers", raw.as_bytes(), &key, "cosign-malformed"),
        (
            "byte behind it",
            behind.as_bytes(),
            &key,
            "cosign-malformed",
        ),
        (
            "twice",
            &[&good[..], &good].concat(),
            &key,
            "cosign-malformed",
        ),
        ("P-384", text.as_bytes(), &p384, "cosign-key"),
        ("Ed25519", text.as_bytes(), &ed25519, "cosign-key"),
        ("RSA", text.as_bytes(), &rsa, "cosign-key"),
        ("private key", text.as_bytes(), &private, "cosign-key"),
        (
            "encrypted private key",
            text.as_bytes(),
            &encrypted,
            "cosign-key",
        ),
        (
            "private key of the old form",
            text.as_bytes(),
            &traditional,
            "cosign-key",
        ),
        (
            "cosign's private key",
            text.as_bytes(),
            cosign,
            "cosign-key",
        ),
        ("no key", text.as_bytes(), "", "cosign-key"),
        ("key cut", text.as_bytes(), &key[..60], "cosign-key"),
        (
            "two keys",
            text.as_bytes(),
            &format!("{key}{other}"),
            "cosign-key",
        ),
    ];
    agree(rows.iter().map(|&(title, signature, key, wanted)| {
        (
            title,
            code(verify_key(&sha256(file), signature, key)),
            wanted,
        )
    }));
    assert_eq!(
        code(verify_key(&sha256(b"another file"), &good, &key)),
        "cosign-bad-signature"
    );
    for at in 0..good.len() {
        let mut altered = good.clone();
        altered[at] ^= 1;
        assert!(
            verify_key(&sha256(file), &altered, &key).is_err(),
            "byte {at}"
        );
    }
    let error = verify_key(&sha256(file), &good, &private).unwrap_err();
    assert!(error.message.contains("private key"), "{error}");
    assert!(
        !private.lines().any(|line| error.message.contains(line)),
        "the key is told"
    );
    let proven = verify_key(&sha256(file), &good, &key).unwrap();
    let der = bench.run(
        "openssl",
        ["pkey", "-in", "p256.key", "-pubout", "-outform", "DER"],
    );
    assert_eq!(
        proven.facts["keySha256"],
        imagegen::base::digest::sha256_hex(&der)
    );
}

/// Hardware and key services have other keys than cosign makes. Older versions of cosign sign over SHA-256 by all of
/// them, newer ones by the digest of the curve.
#[test]
fn keys_of_services_sign_over_the_digest_of_their_curve() {
    let Some(bench) = bench(&["openssl"]) else {
        return;
    };
    let file = b"MZ kubelet.exe";
    bench.write("file", file);
    let mut keys = Vec::new();
    for (name, algorithm, option) in [
        ("p384", "EC", "ec_paramgen_curve:P-384"),
        ("p521", "EC", "ec_paramgen_curve:P-521"),
        ("rsa", "RSA", "rsa_keygen_bits:2048"),
        ("short", "RSA", "rsa_keygen_bits:1024"),
    ] {
        let options = ["-algorithm", algorithm, "-pkeyopt", option];
        keys.push((name, make_key(&bench, name, &options)));
    }
    let find_key = |name: &str| &keys.iter().find(|(own, _)| *own == name).expect(name).1;
    let sign = |name: &str, digest: &str, more: &[&str]| {
        let private = format!("{name}.key");
        let arguments = [&["dgst", digest, "-sign", &private], more, &["file"]].concat();
        bench.run("openssl", arguments)
    };
    let verify = |bytes: &[u8], signature: &[u8], name: &str| {
        let each = |each: &mut dyn FnMut(&[u8])| {
            for piece in bytes.chunks(5) {
                each(piece);
            }
            Ok(())
        };
        verify_content(&sha256(bytes), each, signature, find_key(name))
    };
    let pss = &["-sigopt", "rsa_padding_mode:pss"];
    let rows = [
        ("p384", sign("p384", "-sha384", &[]), "ok"),
        ("p384", sign("p384", "-sha256", &[]), "ok"),
        ("p384", sign("p384", "-sha512", &[]), "cosign-bad-signature"),
        ("p384", sign("p521", "-sha512", &[]), "cosign-bad-signature"),
        ("p384", sign("rsa", "-sha256", &[]), "cosign-malformed"),
        ("p521", sign("p521", "-sha512", &[]), "ok"),
        ("p521", sign("p521", "-sha256", &[]), "ok"),
        ("rsa", sign("rsa", "-sha256", &[]), "ok"),
        ("rsa", sign("rsa", "-sha512", &[]), "cosign-bad-signature"),
        ("rsa", sign("rsa", "-sha256", pss), "cosign-bad-signature"),
        ("rsa", sign("p384", "-sha384", &[]), "cosign-bad-signature"),
    ];
    for (name, signature, wanted) in &rows {
        assert_eq!(code(verify(file, signature, name)), *wanted, "{name}");
        let text = STANDARD.encode(signature);
        assert_eq!(
            code(verify(file, text.as_bytes(), name)),
            *wanted,
            "{name} in base64"
        );
        if *wanted == "ok" {
            let other = code(verify(b"another file", signature, name));
            assert_eq!(other, "cosign-bad-signature", "{name}");
        }
    }
    let short = sign("short", "-sha256", &[]);
    assert!(verify(file, &short, "short").is_err());
}
