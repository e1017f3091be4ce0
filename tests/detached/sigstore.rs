//! Bundles and attestations of the public good instance, as they are and tampered with; detached
//! pairs in the manner of Kubernetes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagegen::verify::sigstore::{
    ExpectedSigner, verify_attestation, verify_bundle, verify_bundle_by_key,
};
use imagegen::verify::{ProofError, Proven, keyless};
use serde_json::Value;

use super::tools::{Bench, bench};
use super::{agree, code};
use crate::support::root;

const GITHUB: &str = "https://token.actions.githubusercontent.com";
const BEACON: &str = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const BEACON_SIGNER: ExpectedSigner<'_> = ExpectedSigner {
    identity: BEACON,
    issuer: GITHUB,
};
const WHEEL_SIGNER: ExpectedSigner<'_> = ExpectedSigner {
    identity: "https://github.com/trailofbits/rfc8785.py/.github/workflows/release.yml@refs/tags/v0.1.2",
    issuer: GITHUB,
};
const BLOB_SIGNER: ExpectedSigner<'_> = ExpectedSigner {
    identity: "w.vollprecht@gmail.com",
    issuer: "https://github.com/login/oauth",
};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(root().join("tests/fixtures/sigstore").join(name)).unwrap()
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&fixture(name)).unwrap()
}

fn bytes(text: &Value) -> Vec<u8> {
    STANDARD.decode(text.as_str().unwrap()).unwrap()
}

/// The digest of the file that a bundle is over.
fn digest(name: &str) -> [u8; 32] {
    let bundle = json(name);
    if let Some(digest) = bundle["messageSignature"]["messageDigest"]["digest"].as_str() {
        return STANDARD.decode(digest).unwrap().try_into().unwrap();
    }
    let statement: Value =
        serde_json::from_slice(&bytes(&bundle["dsseEnvelope"]["payload"])).unwrap();
    let hex = statement["subject"][0]["digest"]["sha256"]
        .as_str()
        .unwrap();
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    bytes.try_into().unwrap()
}

fn tampered(name: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut bundle = json(name);
    change(&mut bundle);
    serde_json::to_vec(&bundle).unwrap()
}

/// A value in base64 with one bit altered near its end.
fn altered(value: &mut Value) {
    let mut content = bytes(value);
    let at = content.len() - 5;
    content[at] ^= 1;
    *value = STANDARD.encode(content).into();
}

const ENTRY: &str = "/verificationMaterial/tlogEntries/0";

fn at<'a>(bundle: &'a mut Value, path: &str) -> &'a mut Value {
    bundle.pointer_mut(path).unwrap_or_else(|| panic!("{path}"))
}

#[test]
fn bundles_of_every_version_hold_without_network() {
    for (name, signer, time) in [
        ("message-v0.1.json", BEACON_SIGNER, "2023-07-12T15:56:36Z"),
        ("message-v0.2.json", WHEEL_SIGNER, "2024-03-19T22:41:16Z"),
        ("message-v0.3.json", BLOB_SIGNER, "2025-12-03T18:36:42Z"),
    ] {
        let proven = verify_bundle(&digest(name), &fixture(name), signer, None);
        let proven = proven.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(code(Ok(proven.clone())), "ok", "{name}");
        assert_eq!(proven.facts["signer"], signer.identity);
        assert_eq!(proven.facts["issuer"], signer.issuer);
        assert_eq!(proven.facts["time"], time, "{name}");
        assert_eq!(
            proven.facts["logIndex"],
            json(name).pointer(ENTRY).unwrap()["logIndex"]
                .as_str()
                .unwrap()
        );
        assert!(
            proven.facts["root"].contains("built in")
                && proven.facts["rootNewestKey"].starts_with("202")
        );
    }
    let name = "provenance-v0.3.json";
    let proven = verify_attestation(&digest(name), &fixture(name), BEACON_SIGNER, None).unwrap();
    assert_eq!(proven.facts["predicate"], "https://slsa.dev/provenance/v1");
    assert_eq!(proven.facts["subject"], "a.txt");
    assert!(
        proven.facts["sourceRepository"].starts_with("https://github.com/sigstore-conformance/")
    );
}

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
fn bundles_by_a_key_are_held_against_it() {
    const GOOD: &str = "by-key.json";
    let Some(bench) = bench(&["openssl"]) else {
        return;
    };
    let key = String::from_utf8(fixture("by-key.pub")).unwrap();
    bench.run(
        "openssl",
        [
            "ecparam",
            "-name",
            "prime256v1",
            "-genkey",
            "-noout",
            "-out",
            "other.key",
        ],
    );
    let other =
        String::from_utf8(bench.run("openssl", ["ec", "-in", "other.key", "-pubout"])).unwrap();
    let private = String::from_utf8(bench.read("other.key")).unwrap();
    let check =
        |bundle: &[u8], key: &str| code(verify_bundle_by_key(&digest(GOOD), bundle, key, None));
    let mut another = digest(GOOD);
    another[3] ^= 1;
    agree([
        ("as it is", check(&fixture(GOOD), &key), "ok"),
        (
            "another key",
            check(&fixture(GOOD), &other),
            "sigstore-bad-signature",
        ),
        ("private key", check(&fixture(GOOD), &private), "cosign-key"),
        ("no key", check(&fixture(GOOD), ""), "cosign-key"),
        (
            "other artifact",
            code(verify_bundle_by_key(&another, &fixture(GOOD), &key, None)),
            "sigstore-subject",
        ),
        (
            "promise altered",
            check(
                &tampered(GOOD, |b| {
                    altered(at(
                        b,
                        &format!("{ENTRY}/inclusionPromise/signedEntryTimestamp"),
                    ));
                }),
                &key,
            ),
            "sigstore-log",
        ),
        (
            "by a certificate",
            check(&fixture("message-v0.3.json"), &key),
            "sigstore-malformed",
        ),
    ]);
    let proven = verify_bundle_by_key(&digest(GOOD), &fixture(GOOD), &key, None).unwrap();
    assert_eq!(proven.facts["keySha256"].len(), 64);
    assert!(proven.facts.contains_key("time") && proven.facts.contains_key("logIndex"));
}

#[test]
fn another_trusted_root_is_taken_for_what_it_is() {
    const GOOD: &str = "message-v0.1.json";
    let check =
        |root: &str| verify_bundle(&digest(GOOD), &fixture(GOOD), BEACON_SIGNER, Some(root));
    let foreign = String::from_utf8(fixture("root-of-another-certificate-log.json")).unwrap();
    assert_eq!(code(check(&foreign)), "sigstore-certificate");
    assert_eq!(code(check("{}")), "sigstore-root");
    assert_eq!(code(check("")), "sigstore-root");
    let mut old: Value = serde_json::from_str(&foreign).unwrap();
    old["tlogs"] = Value::Array(vec![]);
    let error = check(&old.to_string()).unwrap_err();
    assert_eq!(error.code.as_str(), "sigstore-root");
    assert!(
        error
            .message
            .contains("the newest key of the trusted root is of 2023-04-14"),
        "{error}"
    );
}

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

/// A bundle taken apart into what Kubernetes publishes: signature and certificate.
pub fn pair(name: &str) -> (Vec<u8>, Vec<u8>) {
    let bundle = json(name);
    let material = &bundle["verificationMaterial"];
    let certificate = material["certificate"]["rawBytes"]
        .as_str()
        .or_else(|| material["x509CertificateChain"]["certificates"][0]["rawBytes"].as_str())
        .unwrap();
    let signature = bundle["messageSignature"]["signature"].as_str().unwrap();
    (
        signature.as_bytes().to_vec(),
        STANDARD.encode(pem(certificate)).into_bytes(),
    )
}

fn pem(der: &str) -> String {
    let lines: Vec<&str> = der
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

#[test]
fn a_pair_without_bundle_proves_the_signer_and_not_the_time() {
    const GOOD: &str = "message-v0.3.json";
    let (signature, certificate) = pair(GOOD);
    let proven =
        keyless::verify_signature(&digest(GOOD), &signature, &certificate, BLOB_SIGNER, None)
            .unwrap();
    assert_eq!(code(Ok(proven.clone())), "ok, time unproven");
    assert_eq!(proven.facts["certificateFrom"], "2025-12-03T18:36:42Z");
    assert_eq!(proven.facts["certificateTo"], "2025-12-03T18:46:42Z");
    assert!(
        proven.facts["certificateLogged"].starts_with("2025-12-03T18:36:"),
        "{:?}",
        proven.facts
    );
    for (name, signer) in [
        ("message-v0.1.json", BEACON_SIGNER),
        ("message-v0.2.json", WHEEL_SIGNER),
    ] {
        let (signature, certificate) = pair(name);
        let outcome =
            keyless::verify_signature(&digest(name), &signature, &certificate, signer, None);
        assert_eq!(
            code(outcome.clone()),
            "ok, time unproven",
            "{name}: {outcome:?}"
        );
    }
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

/// A private authority by openssl: what the public one does not issue.
#[test]
fn certificates_of_a_private_authority_keep_to_the_same_rules() {
    let Some(bench) = bench(&["openssl"]) else {
        return;
    };
    let file = b"kubelet";
    let digest: [u8; 32] = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, file)
        .as_ref()
        .try_into()
        .unwrap();
    bench.write("file", file);
    bench.run(
        "openssl",
        [
            "ecparam",
            "-name",
            "prime256v1",
            "-genkey",
            "-noout",
            "-out",
            "ca.key",
        ],
    );
    bench.run(
        "openssl",
        [
            "req",
            "-x509",
            "-new",
            "-key",
            "ca.key",
            "-subj",
            "/CN=Fulcio",
            "-days",
            "30",
            "-out",
            "ca.pem",
        ],
    );
    let authority = bench.run("openssl", ["x509", "-in", "ca.pem", "-outform", "DER"]);
    let trusted = |from: &str| {
        serde_json::json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [], "ctlogs": [], "timestampAuthorities": [],
            "certificateAuthorities": [{
                "subject": {"organization": "test", "commonName": "Fulcio"},
                "uri": "https://fulcio.example.com",
                "certChain": {"certificates": [{"rawBytes": STANDARD.encode(&authority)}]},
                "validFor": {"start": from},
            }],
        })
        .to_string()
    };
    let signer = ExpectedSigner {
        identity: "release@example.com",
        issuer: "https://issuer.example.com",
    };
    let old = "1.3.6.1.4.1.57264.1.1=DER:68:74:74:70:73:3a:2f:2f:69:73:73:75:65:72:2e:65:78:61:6d:70:6c:65:2e:63:6f:6d\n";
    let new = "1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:https://issuer.example.com\n";
    let odd = "1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:https://elsewhere.example.com\n";
    let san = "subjectAltName=critical,email:release@example.com\n";
    let eku = "extendedKeyUsage=codeSigning\n";
    let check = |curve: &str, extensions: &str, root: &str| -> Result<Proven, ProofError> {
        let (signature, certificate) = leaf(&bench, curve, extensions);
        keyless::verify_signature(&digest, &signature, &certificate, signer, Some(root))
    };
    let root = trusted("2020-01-01T00:00:00Z");
    let p256 = "prime256v1";
    let rows = [
        (
            "issuer in the old form",
            p256,
            format!("{san}{eku}{old}"),
            &root,
            "ok, time unproven",
        ),
        (
            "issuer in the new form",
            p256,
            format!("{san}{eku}{new}"),
            &root,
            "ok, time unproven",
        ),
        (
            "in both",
            p256,
            format!("{san}{eku}{old}{new}"),
            &root,
            "ok, time unproven",
        ),
        (
            "forms that disagree",
            p256,
            format!("{san}{eku}{old}{odd}"),
            &root,
            "keyless-identity",
        ),
        (
            "no issuer",
            p256,
            format!("{san}{eku}"),
            &root,
            "keyless-identity",
        ),
        (
            "no name",
            p256,
            format!("{eku}{new}"),
            &root,
            "keyless-identity",
        ),
        (
            "two names",
            p256,
            format!("subjectAltName=email:release@example.com,email:b@example.com\n{eku}{new}"),
            &root,
            "keyless-identity",
        ),
        (
            "not for signing code",
            p256,
            format!("{san}extendedKeyUsage=serverAuth\n{new}"),
            &root,
            "keyless-certificate",
        ),
        (
            "for nothing in particular",
            p256,
            format!("{san}{new}"),
            &root,
            "keyless-certificate",
        ),
        (
            "key of another curve",
            "secp384r1",
            format!("{san}{eku}{new}"),
            &root,
            "cosign-key",
        ),
        (
            "authority not yet trusted",
            p256,
            format!("{san}{eku}{new}"),
            &trusted("2099-01-01T00:00:00Z"),
            "keyless-certificate",
        ),
    ];
    agree(rows.map(|(title, curve, extensions, root, wanted)| {
        (title, code(check(curve, &extensions, root)), wanted)
    }));
}

/// Signature and certificate of a new key.
fn leaf(bench: &Bench, curve: &str, extensions: &str) -> (Vec<u8>, Vec<u8>) {
    bench.write("extensions", extensions.as_bytes());
    bench.run(
        "openssl",
        [
            "ecparam", "-name", curve, "-genkey", "-noout", "-out", "leaf.key",
        ],
    );
    bench.run(
        "openssl",
        [
            "req", "-new", "-key", "leaf.key", "-subj", "/", "-out", "leaf.csr",
        ],
    );
    bench.run(
        "openssl",
        [
            "x509",
            "-req",
            "-in",
            "leaf.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "1",
            "-extfile",
            "extensions",
            "-out",
            "leaf.pem",
        ],
    );
    let signature = bench.run("openssl", ["dgst", "-sha256", "-sign", "leaf.key", "file"]);
    (
        STANDARD.encode(signature).into_bytes(),
        bench.read("leaf.pem"),
    )
}
