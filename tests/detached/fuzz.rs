//! Whatever bytes come, no parser panics, and nothing but the whole good input is accepted.

use imagegen::base::value::PinAlgorithm;
use imagegen::embedded::Tree;
use imagegen::verify::sigstore::{ExpectedSigner, verify_attestation, verify_bundle};
use imagegen::verify::{ProofError, checksums, cosign, keyless, minisign, openpgp};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::root;

const NOW: u64 = 1_795_132_800;
const SIGNER: ExpectedSigner<'_> = ExpectedSigner {
    identity: "a@example.com",
    issuer: "https://issuer.example.com",
};
const FINGERPRINT: &str = "C874011F0AB405110D02105534365D9472D7468F";
const MINISIGN: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

fn all(bytes: &[u8]) -> Vec<bool> {
    let digest = [7; 32];
    let text = String::from_utf8_lossy(bytes).into_owned();
    let pieces = |each: &mut dyn FnMut(&[u8])| -> Result<(), ProofError> {
        each(b"file");
        Ok(())
    };
    let ring = Tree::embedded_manifests()
        .get("trust/hashicorp.asc")
        .unwrap()
        .to_vec();
    vec![
        cosign::verify_key(&digest, bytes, &text).is_ok(),
        keyless::verify_signature(&digest, bytes, bytes, SIGNER, None).is_ok(),
        keyless::verify_signature(&digest, b"MAYCAQECAQE=", bytes, SIGNER, None).is_ok(),
        verify_bundle(&digest, bytes, SIGNER, None).is_ok(),
        verify_attestation(&digest, bytes, SIGNER, None).is_ok(),
        verify_bundle(&digest, bytes, SIGNER, Some(&text)).is_ok(),
        openpgp::verify_detached(pieces, bytes, &ring, FINGERPRINT, NOW).is_ok(),
        openpgp::verify_detached(pieces, bytes, bytes, FINGERPRINT, NOW).is_ok(),
        minisign::verify_minisign(pieces, bytes, MINISIGN).is_ok(),
        minisign::verify_minisign(pieces, bytes, &text).is_ok(),
    ]
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = root().join("tests/fixtures/sigstore");
    let mut seeds = vec![
        Tree::embedded_manifests().get("trust/hashicorp.asc").unwrap().to_vec(),
        b"\x88\x33\x04\x00\x16\x08\x00\x1d".to_vec(),
        b"-----BEGIN PGP SIGNATURE-----\n\niHUEABYIAB0=\n-----END PGP SIGNATURE-----\n".to_vec(),
        format!("untrusted comment: x\n{MINISIGN}\ntrusted comment: y\n{MINISIGN}\n").into_bytes(),
        b"-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n"
            .to_vec(),
    ];
    for name in ["message-v0.3.json", "provenance-v0.3.json"] {
        seeds.push(std::fs::read(folder.join(name)).unwrap());
    }
    seeds
}

fn sums() -> Vec<Vec<u8>> {
    let hex = "ab".repeat(32);
    [
        format!("{hex}  kubelet.exe\n{hex} *b\n"),
        format!("SHA256 (kubelet.exe) = {hex}\n"),
        format!("\\{hex}  a\\\\b\\n\n"),
        format!("SHA256 hash of kubelet.exe:\r\n{hex}\r\n"),
        format!("Algorithm Hash Path\n--- --- ---\nSHA256 {hex} C:\\kubelet.exe\n"),
        format!("Algorithm : SHA256\nHash      : {hex}\nPath      : kubelet.exe\n"),
    ]
    .map(String::into_bytes)
    .to_vec()
}

/// Bytes of a seed, some of them changed, cut off or put in.
fn mutated(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (
        prop::sample::select(seeds),
        vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..8),
    )
        .prop_map(|(mut bytes, changes)| {
            for (at, value, kind) in changes {
                let at = at.index(bytes.len() + 1);
                match kind {
                    0 if at < bytes.len() => bytes[at] = value,
                    1 => bytes.insert(at, value),
                    _ if value < 40 => bytes.truncate(at),
                    _ => {}
                }
            }
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn signatures_of_any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert!(!all(&bytes).contains(&true));
    }

    #[test]
    fn signatures_that_are_nearly_right(bytes in mutated(seeds())) {
        prop_assert!(!all(&bytes).contains(&true));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn checksum_files_of_any_bytes(bytes in vec(any::<u8>(), 0..300)) {
        let _ = checksums::find_checksum(&bytes, "kubelet.exe", PinAlgorithm::Sha256);
    }

    #[test]
    fn checksum_files_that_are_nearly_right(bytes in mutated(sums())) {
        for algorithm in [PinAlgorithm::Sha256, PinAlgorithm::Sha512] {
            if let Ok(digest) = checksums::find_checksum(&bytes, "kubelet.exe", algorithm) {
                prop_assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
    }
}
