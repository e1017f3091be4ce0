//! Attestations in sigstore bundles.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagegen::verify::sigstore::{ExpectedSigner, verify_attestation};
use serde_json::Value;

use super::{BEACON_SIGNER, GITHUB, at, bytes, digest, fixture, tampered};
use crate::detached::{agree, code};

#[test]
fn attestations_name_the_file_and_are_provenance() {
    const GOOD: &str = "provenance-v0.3.json";
    let check = |bundles: &[u8]| {
        code(verify_attestation(
            &digest(GOOD),
            bundles,
            BEACON_SIGNER,
            None,
        ))
    };
    let good = fixture(GOOD);
    let line = tampered(GOOD, |_| ());
    let conda = tampered("other-predicate.json", |_| ());
    let unsigned = |change: &dyn Fn(&mut Value)| {
        check(&tampered(GOOD, |bundle| {
            let payload = at(bundle, "/dsseEnvelope/payload");
            let mut statement: Value = serde_json::from_slice(&bytes(payload)).unwrap();
            change(&mut statement);
            *payload = STANDARD.encode(statement.to_string()).into();
        }))
    };
    let mut other = digest(GOOD);
    other[0] ^= 1;
    let stranger = ExpectedSigner {
        identity: "https://github.com/another/repository",
        issuer: GITHUB,
    };
    agree([
        ("one bundle", check(&good), "ok"),
        ("a line", check(&line), "ok"),
        (
            "lines, ours last",
            check(&[&conda[..], b"\n", &line, b"\n"].concat()),
            "ok",
        ),
        (
            "lines, ours first",
            check(&[&line[..], b"\r\n\n", &conda].concat()),
            "ok",
        ),
        ("empty", check(b""), "sigstore-malformed"),
        ("blank lines", check(b"\n\n"), "sigstore-malformed"),
        (
            "a signature over a file",
            check(&fixture("message-v0.3.json")),
            "sigstore-malformed",
        ),
        (
            "two signatures",
            check(&fixture("two-signatures.json")),
            "sigstore-malformed",
        ),
        (
            "names another file",
            code(verify_attestation(&other, &good, BEACON_SIGNER, None)),
            "sigstore-subject",
        ),
        (
            "names files by SHA-512 alone",
            check(&fixture("provenance-sha512-v0.1.json")),
            "sigstore-subject",
        ),
        (
            "of another file, among lines",
            check(&conda),
            "sigstore-subject",
        ),
        (
            "unexpected predicate",
            {
                let name = "other-predicate.json";
                let signer = ExpectedSigner {
                    identity: "https://github.com/prefix-dev/sigstore-example/.github/workflows/action.yaml@refs/heads/main",
                    issuer: GITHUB,
                };
                code(verify_attestation(
                    &digest(name),
                    &fixture(name),
                    signer,
                    None,
                ))
            },
            "sigstore-predicate",
        ),
        (
            "another signer",
            code(verify_attestation(&digest(GOOD), &good, stranger, None)),
            "sigstore-identity",
        ),
        (
            "statement altered",
            unsigned(&|s| s["predicate"] = Value::Null),
            "sigstore-bad-signature",
        ),
        (
            "subject added",
            unsigned(&|s| {
                let again = s["subject"][0].clone();
                s["subject"].as_array_mut().unwrap().push(again);
            }),
            "sigstore-bad-signature",
        ),
        (
            "no subject",
            unsigned(&|s| s["subject"] = Value::Array(vec![])),
            "sigstore-subject",
        ),
        (
            "subject without digest",
            unsigned(&|s| {
                s["subject"][0].as_object_mut().unwrap().remove("digest");
            }),
            "sigstore-subject",
        ),
        (
            "no statement",
            unsigned(&|s| *s = Value::Array(vec![])),
            "sigstore-malformed",
        ),
        (
            "statement of unknown form",
            unsigned(&|s| s["_type"] = "https://in-toto.io/Statement/v9".into()),
            "sigstore-malformed",
        ),
        (
            "payload of another type",
            check(&tampered(GOOD, |b| {
                b["dsseEnvelope"]["payloadType"] = "text/plain".into();
            })),
            "sigstore-malformed",
        ),
    ]);
}
