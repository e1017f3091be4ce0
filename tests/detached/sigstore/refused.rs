//! Sigstore bundles and pairs that do not prove what they should.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagegen::verify::keyless;
use imagegen::verify::sigstore::{ExpectedSigner, verify_bundle};
use serde_json::Value;

use super::{
    BEACON, BLOB_SIGNER, ENTRY, GITHUB, altered, at, digest, fixture, json, pair, pem, tampered,
};
use crate::detached::{agree, code};

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn bundles_that_prove_something_else_are_refused() {
    const GOOD: &str = "message-v0.3.json";
    let bundle = |signer, bytes: &[u8]| code(verify_bundle(&digest(GOOD), bytes, signer, None));
    let blob = |change: &dyn Fn(&mut Value)| bundle(BLOB_SIGNER, &tampered(GOOD, change));
    let signer = |identity, issuer| bundle(ExpectedSigner { identity, issuer }, &fixture(GOOD));
    let (mail, login) = (BLOB_SIGNER.identity, BLOB_SIGNER.issuer);
    let own = |name: &str, identity| {
        let issuer = "https://accounts.google.com";
        code(verify_bundle(
            &digest(name),
            &fixture(name),
            ExpectedSigner { identity, issuer },
            None,
        ))
    };
    let mut other = digest(GOOD);
    other[31] ^= 1;
    let staging = ExpectedSigner {
        identity: BEACON,
        issuer: GITHUB,
    };
    agree([
        ("as it is", bundle(BLOB_SIGNER, &fixture(GOOD)), "ok"),
        ("empty", bundle(BLOB_SIGNER, b""), "sigstore-malformed"),
        (
            "web page",
            bundle(BLOB_SIGNER, b"<!DOCTYPE html>"),
            "sigstore-malformed",
        ),
        (
            "cut",
            bundle(BLOB_SIGNER, &fixture(GOOD)[..3000]),
            "sigstore-malformed",
        ),
        (
            "other identity",
            signer("w.vollprecht@gmail.co", login),
            "sigstore-identity",
        ),
        (
            "identity with other case",
            signer("W.vollprecht@gmail.com", login),
            "sigstore-identity",
        ),
        (
            "end of the identity",
            signer("vollprecht@gmail.com", login),
            "sigstore-identity",
        ),
        (
            "other issuer",
            signer(mail, "https://accounts.google.com"),
            "sigstore-identity",
        ),
        ("no identity", signer("", login), "sigstore-identity"),
        ("no issuer", signer(mail, ""), "sigstore-identity"),
        (
            "pattern for the identity",
            signer(".*", login),
            "sigstore-identity",
        ),
        (
            "anchored pattern",
            signer("^w.vollprecht@gmail.com$", login),
            "sigstore-identity",
        ),
        (
            "pattern for the issuer",
            signer(mail, "https://*"),
            "sigstore-identity",
        ),
        (
            "other artifact",
            code(verify_bundle(&other, &fixture(GOOD), BLOB_SIGNER, None)),
            "sigstore-subject",
        ),
        (
            "signature altered",
            blob(&|b| altered(at(b, "/messageSignature/signature"))),
            "sigstore-time",
        ),
        (
            "certificate altered",
            blob(&|b| altered(at(b, "/verificationMaterial/certificate/rawBytes"))),
            "sigstore-certificate",
        ),
        (
            "no log entry",
            blob(&|b| *at(b, "/verificationMaterial/tlogEntries") = Value::Array(vec![])),
            "sigstore-malformed",
        ),
        (
            "no inclusion proof",
            blob(&|b| {
                at(b, ENTRY)
                    .as_object_mut()
                    .unwrap()
                    .remove("inclusionProof");
            }),
            "sigstore-malformed",
        ),
        (
            "proof of another path",
            blob(&|b| altered(at(b, &format!("{ENTRY}/inclusionProof/hashes/0")))),
            "sigstore-log",
        ),
        (
            "proof of another root",
            blob(&|b| altered(at(b, &format!("{ENTRY}/inclusionProof/rootHash")))),
            "sigstore-malformed",
        ),
        (
            "index of another entry",
            blob(&|b| *at(b, &format!("{ENTRY}/inclusionProof/logIndex")) = "1".into()),
            "sigstore-log",
        ),
        (
            "promise altered",
            blob(&|b| {
                altered(at(
                    b,
                    &format!("{ENTRY}/inclusionPromise/signedEntryTimestamp"),
                ));
            }),
            "sigstore-log",
        ),
        (
            "time altered",
            blob(&|b| *at(b, &format!("{ENTRY}/integratedTime")) = "1764787004".into()),
            "sigstore-log",
        ),
        (
            "unknown log",
            blob(&|b| *at(b, &format!("{ENTRY}/logId/keyId")) = STANDARD.encode([7; 32]).into()),
            "sigstore-root",
        ),
        (
            "timestamp altered",
            blob(&|b| {
                altered(at(
                    b,
                    "/verificationMaterial/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp",
                ));
            }),
            "sigstore-time",
        ),
        (
            "no log entry, as published",
            own("no-log-entry.json", "alex.cameron@trailofbits.com"),
            "sigstore-malformed",
        ),
        (
            "no checkpoint",
            blob(&|b| {
                at(b, &format!("{ENTRY}/inclusionProof"))
                    .as_object_mut()
                    .unwrap()
                    .remove("checkpoint");
            }),
            "sigstore-malformed",
        ),
        (
            "no signed time",
            own("no-signed-time.json", "william@yossarian.net"),
            "sigstore-time",
        ),
        (
            "body of another entry",
            blob(&|b| {
                let body =
                    json("message-v0.2.json").pointer(ENTRY).unwrap()["canonicalizedBody"].clone();
                *at(b, &format!("{ENTRY}/canonicalizedBody")) = body;
            }),
            "sigstore-log",
        ),
        (
            "entry of another signature",
            bundle(
                BLOB_SIGNER,
                &tampered(GOOD, |b| {
                    *at(b, ENTRY) = json("message-v0.2.json").pointer(ENTRY).unwrap().clone();
                }),
            ),
            "sigstore-certificate",
        ),
        (
            "no certificate",
            own("no-certificate.json", "william@yossarian.net"),
            "sigstore-malformed",
        ),
        (
            "unknown version",
            own("unknown-version.json", "william@yossarian.net"),
            "sigstore-malformed",
        ),
        (
            "by a key",
            own("by-key.json", "william@yossarian.net"),
            "sigstore-malformed",
        ),
        (
            "two signatures",
            code(verify_bundle(
                &other,
                &fixture("two-signatures.json"),
                BLOB_SIGNER,
                None,
            )),
            "sigstore-malformed",
        ),
        (
            "statement of another kind",
            {
                let name = "other-predicate.json";
                code(verify_bundle(
                    &digest(name),
                    &fixture(name),
                    BLOB_SIGNER,
                    None,
                ))
            },
            "sigstore-predicate",
        ),
        (
            "of the staging instance",
            code(verify_bundle(
                &digest("staging.json"),
                &fixture("staging.json"),
                staging,
                None,
            )),
            "sigstore-root",
        ),
    ]);
}

#[test]
fn pairs_that_do_not_hold_are_refused() {
    const GOOD: &str = "message-v0.3.json";
    let (signature, certificate) = pair(GOOD);
    let (other_signature, other_certificate) = pair("message-v0.2.json");
    let check = |signature: &[u8], certificate: &[u8], signer, root: Option<&str>| {
        code(keyless::verify_signature(
            &digest(GOOD),
            signature,
            certificate,
            signer,
            root,
        ))
    };
    let ours =
        |signature: &[u8], certificate: &[u8]| check(signature, certificate, BLOB_SIGNER, None);
    let by = |identity, issuer| {
        check(
            &signature,
            &certificate,
            ExpectedSigner { identity, issuer },
            None,
        )
    };
    let text = STANDARD.decode(&certificate).unwrap();
    let mut changed = json(GOOD)["verificationMaterial"]["certificate"]["rawBytes"].clone();
    altered(&mut changed);
    let changed = pem(changed.as_str().unwrap());
    let raw = STANDARD.encode([7; 64]);
    let empty = r#"{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1","tlogs":[],"certificateAuthorities":[],"ctlogs":[],"timestampAuthorities":[]}"#;
    let foreign = String::from_utf8(fixture("root-of-another-certificate-log.json")).unwrap();
    let wrapped: Vec<u8> = certificate
        .chunks(76)
        .flat_map(|line| [line, b"\n"].concat())
        .collect();
    let mut other = digest(GOOD);
    other[7] ^= 1;
    agree([
        (
            "as published",
            ours(&signature, &certificate),
            "ok, time unproven",
        ),
        (
            "certificate in PEM",
            ours(&signature, &text),
            "ok, time unproven",
        ),
        (
            "with line ends",
            ours(&[&signature[..], b"\n"].concat(), &wrapped),
            "ok, time unproven",
        ),
        (
            "signature in DER",
            ours(&STANDARD.decode(&signature).unwrap(), &certificate),
            "ok, time unproven",
        ),
        (
            "other artifact",
            code(keyless::verify_signature(
                &other,
                &signature,
                &certificate,
                BLOB_SIGNER,
                None,
            )),
            "cosign-bad-signature",
        ),
        (
            "signature by another",
            ours(&other_signature, &certificate),
            "cosign-bad-signature",
        ),
        (
            "certificate of another",
            ours(&signature, &other_certificate),
            "keyless-identity",
        ),
        (
            "identity",
            by("someone@example.com", BLOB_SIGNER.issuer),
            "keyless-identity",
        ),
        (
            "issuer",
            by(BLOB_SIGNER.identity, "https://accounts.google.com"),
            "keyless-identity",
        ),
        ("empty identity", by("", ""), "keyless-identity"),
        (
            "pattern",
            by(".*@gmail.com", BLOB_SIGNER.issuer),
            "keyless-identity",
        ),
        (
            "empty signature",
            ours(b"", &certificate),
            "cosign-malformed",
        ),
        (
            "raw numbers",
            ours(raw.as_bytes(), &certificate),
            "cosign-malformed",
        ),
        (
            "no certificate",
            ours(&signature, b""),
            "keyless-certificate",
        ),
        (
            "web page for certificate",
            ours(&signature, b"<html>"),
            "keyless-certificate",
        ),
        (
            "certificate cut",
            ours(&signature, &certificate[..800]),
            "keyless-certificate",
        ),
        (
            "certificate altered",
            ours(&signature, changed.as_bytes()),
            "keyless-certificate",
        ),
        (
            "root without authorities",
            check(&signature, &certificate, BLOB_SIGNER, Some(empty)),
            "keyless-certificate",
        ),
        (
            "root that does not know the log",
            check(&signature, &certificate, BLOB_SIGNER, Some(&foreign)),
            "keyless-log",
        ),
        (
            "root unreadable",
            check(&signature, &certificate, BLOB_SIGNER, Some("{")),
            "keyless-root",
        ),
    ]);
}

/// Files beside releases that look like sigstore bundles: the error says what they are.
#[test]
fn other_forms_of_signatures_are_named() {
    let envelope =
        r#""payloadType": "application/vnd.in-toto+json", "payload": "e30=", "signatures": []"#;
    for (text, said) in [
        (
            r#"{"base64Signature": "MEQ=", "cert": ""}"#.to_owned(),
            "old cosign",
        ),
        (format!("{{{envelope}}}"), "slsa-verifier"),
        (
            format!(
                r#"{{"attestations": [{{"verification_material": {{}}, "envelope": {{{envelope}}}}}]}}"#
            ),
            "PEP 740",
        ),
        (
            format!(r#"{{"attestations": [{{"bundle": {{"dsseEnvelope": {{{envelope}}}}}}}]}}"#),
            "gh attestation download",
        ),
        (
            format!(r#"{{"dsseEnvelope": {{{envelope}}}}}"#),
            "missing field",
        ),
    ] {
        let outcome = verify_bundle(
            &digest("message-v0.3.json"),
            text.as_bytes(),
            BLOB_SIGNER,
            None,
        );
        let error = outcome.expect_err("no bundle");
        assert_eq!(error.code.as_str(), "sigstore-malformed");
        assert!(error.message.contains(said), "{text}: {error}");
    }
}
