//! Sigstore bundles and attestations of the public good instance, as they are and tampered with; detached
//! pairs in the manner of Kubernetes.

mod attestations;
mod logless;
mod refused;

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
