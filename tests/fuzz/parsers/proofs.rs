//! Parsers of checksums, certificates, signatures and archives.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagegen::base::value::PinAlgorithm;
use imagegen::embedded::Tree;
use imagegen::verify::archive::{Limits, WantedMembers, read_members};
use imagegen::verify::authenticode::{FileKind, describe_signatures};
use imagegen::verify::chain::{Root, parse_roots};
use imagegen::verify::sigstore::{
    ExpectedSigner, verify_attestation, verify_bundle as verify_sigstore,
};
use imagegen::verify::{ProofError, checksums, cosign, keyless, minisign, openpgp};
use imagegen::windows::resource::ArchiveFormat;
use serde_json::Value;

use super::{Parser, files, read, text, texts};
use crate::authenticode::workshop::pe;
use crate::support::archives::{tar_gz, zip};

const SIGNER: ExpectedSigner<'_> = ExpectedSigner {
    identity: "a@example.com",
    issuer: "https://issuer.example.com",
};

fn certificates() -> Vec<Vec<u8>> {
    ["root-2010", "root-2011"]
        .map(|name| {
            Tree::embedded_manifests()
                .get(&format!("trust/roots/microsoft-{name}.pem"))
                .unwrap()
                .to_vec()
        })
        .to_vec()
}

fn certificate_of_sigstore() -> Vec<u8> {
    let bundle: Value =
        serde_json::from_slice(&read("tests/fixtures/sigstore/message-v0.3.json")).expect("JSON");
    let text = bundle["verificationMaterial"]["certificate"]["rawBytes"]
        .as_str()
        .expect("certificate");
    STANDARD.decode(text).expect("base64")
}

/// The extension with the log's promise: RFC 6962, in an octet string.
fn promises() -> Vec<Vec<u8>> {
    let der = certificate_of_sigstore();
    let oid = [0x2b, 0x06, 0x01, 0x04, 0x01, 0xd6, 0x79, 0x02, 0x04, 0x02];
    let at = der
        .windows(oid.len())
        .position(|found| found == oid)
        .expect("the extension")
        + oid.len();
    // OCTET STRING of the extension's value, with a length of one or two bytes.
    let skip = if der[at + 1] < 0x80 {
        2
    } else {
        2 + usize::from(der[at + 1] & 0x7f)
    };
    vec![
        der[at + skip..(at + skip + 130).min(der.len())].to_vec(),
        vec![4, 4, 0, 2, 0, 0],
    ]
}

fn parse_archive(format: ArchiveFormat, bytes: &[u8]) {
    let limits = Limits {
        total: 1 << 20,
        entry: 1 << 20,
        ..Limits::default()
    };
    let _ = read_members(
        Cursor::new(bytes),
        format,
        &WantedMembers::all_files(),
        &limits,
        &mut |_, _| Ok(()),
    );
}

fn parse_signed(kind: FileKind, bytes: &[u8]) {
    let _ = describe_signatures(kind, &mut Cursor::new(bytes));
}

pub(super) const PROOFS: &[Parser] = &[
    Parser {
        name: "checksums",
        files: &["src/verify/checksums.rs", "src/verify/checksums/"],
        least: 1000,
        seeds: || {
            let hex = "ab".repeat(32);
            texts(&[
                &format!("{hex}  kubelet.exe\n{hex} *b\n"),
                &format!("SHA256 (kubelet.exe) = {hex}\n"),
                &format!("SHA256 hash of kubelet.exe:\r\n{hex}\r\n"),
                &format!("Algorithm : SHA256\nHash      : {hex}\nPath      : kubelet.exe\n"),
            ])
        },
        parse: |bytes| {
            for algorithm in [PinAlgorithm::Sha256, PinAlgorithm::Sha512] {
                let _ = checksums::find_checksum(bytes, "kubelet.exe", algorithm);
            }
        },
    },
    Parser {
        name: "certificates",
        files: &["src/verify/chain.rs", "src/verify/chain/"],
        least: 300,
        seeds: || {
            let mut seeds = certificates();
            seeds.push(certificate_of_sigstore());
            seeds
        },
        parse: |bytes| {
            drop(parse_roots(bytes));
            drop(Root::from_der(bytes));
        },
    },
    Parser {
        name: "promise",
        files: &["src/verify/keyless.rs", "src/verify/keyless/"],
        least: 1000,
        seeds: promises,
        parse: |bytes| {
            let _ = keyless::parse_promise_time(bytes);
            let _ = keyless::verify_signature(&[7; 32], b"MAYCAQECAQE=", bytes, SIGNER, None);
        },
    },
    Parser {
        name: "sigstore",
        files: &["src/verify/sigstore.rs"],
        least: 40,
        seeds: || {
            ["message-v0.3.json", "provenance-v0.3.json"]
                .map(|name| read(&format!("tests/fixtures/sigstore/{name}")))
                .to_vec()
        },
        parse: |bytes| {
            assert!(verify_sigstore(&[7; 32], bytes, SIGNER, None).is_err());
            assert!(verify_attestation(&[7; 32], bytes, SIGNER, None).is_err());
        },
    },
    Parser {
        name: "signatures",
        files: &[
            "src/base/public_key.rs",
            "src/verify/cosign.rs",
            "src/verify/minisign.rs",
            "src/verify/openpgp.rs",
            "src/verify/openpgp/",
        ],
        least: 150,
        seeds: || {
            let mut seeds = texts(&[
                "-----BEGIN PGP SIGNATURE-----\n\niHUEABYIAB0=\n-----END PGP SIGNATURE-----\n",
                "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n",
                "untrusted comment: x\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n",
            ]);
            seeds.push(
                Tree::embedded_manifests()
                    .get("trust/hashicorp.asc")
                    .unwrap()
                    .to_vec(),
            );
            seeds
        },
        parse: |bytes| {
            let key = text(bytes);
            let fingerprint = "C874011F0AB405110D02105534365D9472D7468F";
            let _ = cosign::verify_key(&[7; 32], bytes, &key);
            let pieces = |each: &mut dyn FnMut(&[u8])| -> Result<(), ProofError> {
                each(b"file");
                Ok(())
            };
            let _ = minisign::verify_minisign(pieces, bytes, &key);
            let _ = openpgp::verify_detached(pieces, bytes, bytes, fingerprint, 1_795_132_800);
        },
    },
    Parser {
        name: "authenticode",
        files: &["src/verify/authenticode/"],
        least: 300,
        seeds: || {
            vec![
                pe(true),
                pe(false),
                b"'a'\r\n# SIG # Begin signature block\r\n# MIIF\r\n# SIG # End signature block\r\n".to_vec(),
            ]
        },
        parse: |bytes| {
            for kind in FileKind::ALL {
                parse_signed(*kind, bytes);
            }
        },
    },
    Parser {
        name: "zip",
        files: &["src/verify/archive/zip.rs"],
        least: 1000,
        seeds: || vec![zip(&files())],
        parse: |bytes| parse_archive(ArchiveFormat::Zip, bytes),
    },
    Parser {
        name: "tar",
        files: &["src/verify/archive/tar.rs"],
        least: 1000,
        seeds: || vec![tar_gz(&files())],
        parse: |bytes| parse_archive(ArchiveFormat::TarGz, bytes),
    },
];
