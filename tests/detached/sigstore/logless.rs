//! Instances of Sigstore without logs, as GitHub's own is: a timestamp stands in the place of the entry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagegen::verify::proof::{ExpectedSignature, SignedContent, verify_detached};
use imagegen::verify::sigstore::{ExpectedSigner, verify_bundle, verify_statement};
use imagegen::verify::{ProofError, Proven, keyless};
use serde_json::{Value, json};
use sigstore_verify::trust_root::{SIGSTORE_GITHUB_TRUSTED_ROOT, SIGSTORE_PRODUCTION_TRUSTED_ROOT};

use super::{BLOB_SIGNER, digest, fixture, json as read_json, leaf, tampered};
use crate::detached::tools::{Bench, bench};
use crate::detached::{agree, code};

const SIGNER: ExpectedSigner<'_> = ExpectedSigner {
    identity: "release@example.com",
    issuer: "https://issuer.example.com",
};

const EXTENSIONS: &str = "subjectAltName=critical,email:release@example.com\nextendedKeyUsage=codeSigning\n\
    1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:https://issuer.example.com\n";

const STAMPING: &str = "[tsa]\ndefault_tsa = t\n[t]\nserial = serial\ncrypto_device = builtin\n\
    signer_digest = sha256\ndefault_policy = 1.3.6.1.4.1.57264.2\ndigests = sha256\nordering = no\ntsa_name = no\n\
    ess_cert_id_chain = no\ness_cert_id_alg = sha256\n";

/// An authority for certificates and times, by openssl.
struct Instance {
    bench: Bench,
}

impl Instance {
    fn new() -> Option<Self> {
        let bench = bench(&["openssl"])?;
        let key = [
            "-algorithm",
            "EC",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-out",
        ];
        for name in ["ca.key", "tsa.key"] {
            bench.run("openssl", ["genpkey"].into_iter().chain(key).chain([name]));
        }
        let root = "req -x509 -new -key ca.key -subj /CN=Authority -days 30 -out ca.pem";
        bench.run("openssl", root.split(' '));
        bench.write(
            "stamper",
            b"basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=critical,timeStamping\n",
        );
        let asks = "req -new -key tsa.key -subj /CN=Stamper -out tsa.csr";
        bench.run("openssl", asks.split(' '));
        let issue = "x509 -req -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile stamper -out tsa.pem";
        bench.run("openssl", issue.split(' '));
        bench.write("serial", b"01\n");
        bench.write("ts.cnf", STAMPING.as_bytes());
        Some(Self { bench })
    }

    fn encode(&self, pem: &str) -> String {
        let der = ["x509", "-in", pem, "-outform", "DER"];
        STANDARD.encode(self.bench.run("openssl", der))
    }

    /// Its trusted root, which names no log.
    fn trusted_root(&self) -> Value {
        let chain = |names: &[&str]| {
            let certificates: Vec<Value> = names
                .iter()
                .map(|name| json!({"rawBytes": self.encode(name)}))
                .collect();
            json!({
                "subject": {"organization": "test", "commonName": "Authority"},
                "uri": "https://fulcio.example.com",
                "certChain": {"certificates": certificates},
                "validFor": {"start": "2020-01-01T00:00:00Z"},
            })
        };
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [], "ctlogs": [],
            "certificateAuthorities": [chain(&["ca.pem"])],
            "timestampAuthorities": [chain(&["tsa.pem", "ca.pem"])],
        })
    }

    /// A sigstore bundle over a file, with a timestamp of its signature.
    fn sign(&self, file: &[u8]) -> Value {
        self.bench.write("file", file);
        let (signature, certificate) = leaf(&self.bench, "prime256v1", EXTENSIONS);
        self.bench.write("leaf.pem", &certificate);
        self.bench
            .write("signature", &STANDARD.decode(&signature).expect("base64"));
        let query = "ts -query -data signature -sha256 -cert -no_nonce -out query";
        self.bench.run("openssl", query.split(' '));
        let reply =
            "ts -reply -config ts.cnf -queryfile query -inkey tsa.key -signer tsa.pem -out reply";
        self.bench.run("openssl", reply.split(' '));
        let stamp = STANDARD.encode(self.bench.read("reply"));
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, file);
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": self.encode("leaf.pem")},
                "timestampVerificationData": {"rfc3161Timestamps": [{"signedTimestamp": stamp}]},
            },
            "messageSignature": {
                "messageDigest": {"algorithm": "SHA2_256", "digest": STANDARD.encode(hash.as_ref())},
                "signature": String::from_utf8(signature).expect("base64"),
            },
        })
    }
}

fn check(
    bundle: &Value,
    signer: ExpectedSigner<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"kubelet");
    let hash = hash.as_ref().try_into().expect("32 bytes");
    verify_bundle(&hash, bundle.to_string().as_bytes(), signer, root)
}

/// Of such an instance a bundle proves what one of the public instance does, by another witness of the time.
#[test]
fn a_timestamp_proves_the_time_where_the_root_names_no_log() {
    let Some(instance) = Instance::new() else {
        return;
    };
    let own = instance.trusted_root();
    let bundle = instance.sign(b"kubelet");
    let root = own.to_string();
    let proven = check(&bundle, SIGNER, Some(&root)).expect("a proof");
    assert!(
        proven.detail.contains("its root has no log"),
        "{}",
        proven.detail
    );
    assert!(proven.facts.contains_key("time") && !proven.facts.contains_key("logIndex"));

    let both = format!("{SIGSTORE_PRODUCTION_TRUSTED_ROOT}\n").replace('\n', " ")
        + "\r\n\n"
        + &root
        + "\n";
    let without = |pointer: &str| {
        let mut bundle = bundle.clone();
        let value = bundle.pointer_mut(pointer).expect(pointer);
        *value = json!([]);
        bundle
    };
    let mut no_stamper = own.clone();
    no_stamper["timestampAuthorities"] = json!([]);
    let stamps = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps";
    let stranger = ExpectedSigner {
        identity: "joe@example.com",
        ..SIGNER
    };
    let name = "message-v0.3.json";
    let public = |root: &str| verify_bundle(&digest(name), &fixture(name), BLOB_SIGNER, Some(root));
    let other = instance.sign(b"another file");
    agree([
        (
            "by the built-in root",
            code(check(&bundle, SIGNER, None)),
            "sigstore-malformed",
        ),
        (
            "by lines of roots",
            code(check(&bundle, SIGNER, Some(&both))),
            "ok",
        ),
        (
            "of the public instance, by lines",
            code(public(&both)),
            "ok",
        ),
        (
            "of the public instance, by the root without logs",
            code(public(&root)),
            "sigstore-root",
        ),
        (
            "without timestamp",
            code(check(&without(stamps), SIGNER, Some(&root))),
            "sigstore-malformed",
        ),
        (
            "root without authority of times",
            code(check(&bundle, SIGNER, Some(&no_stamper.to_string()))),
            "sigstore-time",
        ),
        (
            "another signer, by lines",
            code(check(&bundle, stranger, Some(&both))),
            "sigstore-identity",
        ),
        (
            "over another file",
            code(check(&other, SIGNER, Some(&root))),
            "sigstore-subject",
        ),
        (
            "a line that is none",
            code(check(&bundle, SIGNER, Some(&format!("{both}x\n")))),
            "sigstore-root",
        ),
        (
            "no root at all",
            code(check(&bundle, SIGNER, Some("\n"))),
            "sigstore-root",
        ),
    ]);
}

/// The log entry of a bundle of the public instance is no matter of choice.
#[test]
fn a_root_with_logs_demands_an_entry() {
    for name in ["message-v0.3.json", "no-log-entry.json"] {
        let bare = tampered(name, |bundle| {
            let entries = bundle.pointer_mut("/verificationMaterial/tlogEntries");
            *entries.expect("entries") = json!([]);
        });
        let both = [
            SIGSTORE_PRODUCTION_TRUSTED_ROOT,
            SIGSTORE_GITHUB_TRUSTED_ROOT,
        ];
        let both = both.map(|root| root.replace('\n', " ")).join("\n");
        for root in [None, Some(both.as_str())] {
            let outcome = verify_bundle(&digest(name), &bare, BLOB_SIGNER, root);
            assert_ne!(code(outcome), "ok", "{name}");
        }
    }
}

/// GitHub signs releases itself: no identity was vouched for, and nobody can be expected as the issuer.
#[test]
fn a_bundle_of_github_s_instance_is_read_as_far_as_its_issuer() {
    let name = "github-release.json";
    let statement = read_json(name)["dsseEnvelope"]["payload"]
        .as_str()
        .map(|text| STANDARD.decode(text).expect("base64"))
        .expect("a payload");
    let statement: Value = serde_json::from_slice(&statement).expect("JSON");
    let kind = statement["predicateType"].as_str().expect("a predicate");
    let hash = statement["subject"][1]["digest"]["sha256"]
        .as_str()
        .expect("a digest");
    let hash: Vec<u8> = (0..64)
        .step_by(2)
        .map(|at| u8::from_str_radix(&hash[at..at + 2], 16).expect("hexadecimal"))
        .collect();
    let hash: [u8; 32] = hash.try_into().expect("32 bytes");
    let signer = ExpectedSigner {
        identity: "https://dotcom.releases.github.com",
        issuer: "https://token.actions.githubusercontent.com",
    };
    let check = |bundle: &[u8], root: Option<&str>| {
        code(verify_statement(&hash, bundle, signer, &[kind], root))
    };
    let github = Some(SIGSTORE_GITHUB_TRUSTED_ROOT);
    let stamped = tampered(name, |bundle| {
        let place =
            "/verificationMaterial/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp";
        super::altered(bundle.pointer_mut(place).expect(place));
    });
    agree([
        (
            "by GitHub's root",
            check(&fixture(name), github),
            "sigstore-identity",
        ),
        (
            "timestamp altered",
            check(&stamped, github),
            "sigstore-time",
        ),
        (
            "by the built-in root",
            check(&fixture(name), None),
            "sigstore-malformed",
        ),
    ]);
}

/// A pair without bundle, by roots of several instances.
#[test]
fn pairs_hold_by_the_root_of_their_instance() {
    struct Hash([u8; 32]);
    impl SignedContent for Hash {
        fn sha256(&self) -> Result<[u8; 32], ProofError> {
            Ok(self.0)
        }

        fn read_pieces(&self, _: &mut dyn FnMut(&[u8])) -> Result<(), ProofError> {
            unreachable!("the digest is enough")
        }
    }
    let Some(instance) = Instance::new() else {
        return;
    };
    instance.bench.write("file", b"kubelet");
    let (signature, certificate) = leaf(&instance.bench, "prime256v1", EXTENSIONS);
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"kubelet");
    let hash = Hash(hash.as_ref().try_into().expect("32 bytes"));
    let own = instance.trusted_root().to_string();
    let both = format!(
        "{}\n{own}",
        SIGSTORE_PRODUCTION_TRUSTED_ROOT.replace('\n', " ")
    );
    for (root, wanted) in [
        (None, "keyless-certificate"),
        (Some(own.as_str()), "ok, time unproven"),
        (Some(both.as_str()), "ok, time unproven"),
    ] {
        let expected = ExpectedSignature::KeylessPair {
            certificate: &certificate,
            signer: SIGNER,
            root,
        };
        let outcome = verify_detached(&hash, &signature, &expected);
        assert_eq!(code(outcome), wanted);
        let direct = keyless::verify_signature(&hash.0, &signature, &certificate, SIGNER, root);
        assert_eq!(code(direct), wanted);
    }
}
