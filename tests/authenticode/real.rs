//! Files that Microsoft signed.

use std::io::Cursor;
use std::time::{Duration, Instant};

use imagegen::base::code::Code;
use imagegen::embedded::Tree;
use imagegen::verify::authenticode::{FileKind, describe_signatures};

use super::{check, pinned};
use crate::authenticode::wheels::{DEBUGPY, MSVC_RUNTIME, ONNXRUNTIME, wheel};
use crate::authenticode::workshop::workshop;

/// How long a run takes, the best of several.
fn fastest(mut run: impl FnMut()) -> Duration {
    let times = (0..5).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    times.min().unwrap()
}

/// What Microsoft signed; the wheel's own module is not.
fn real() -> Option<Vec<(String, Vec<u8>)>> {
    let mut wheels = vec![DEBUGPY, MSVC_RUNTIME];
    if std::env::var_os("IMAGEGEN_TEST_LARGE").is_some() {
        wheels.push(ONNXRUNTIME);
    }
    let mut all = Vec::new();
    for one in &wheels {
        all.extend(wheel(one, &[".dll", ".exe", ".pyd"])?);
    }
    let unsigned = |file: &(String, Vec<u8>)| file.0.starts_with("msvc_runtime.");
    let (own, signed): (Vec<_>, Vec<_>) = all.into_iter().partition(unsigned);
    for (name, bytes) in own {
        assert_eq!(
            check(FileKind::Pe, &bytes, &pinned()).unwrap_err().code,
            Code::UNSIGNED,
            "{name}"
        );
    }
    Some(signed)
}

#[test]
fn files_of_microsoft_verify_with_the_pinned_roots() {
    let Some(files) = real() else { return };
    let mut policy = pinned();
    policy.publisher = Some("O=Microsoft Corporation,C=US".parse().unwrap());
    policy.require_timestamp = true;
    let (mut nested, mut expired) = (0, 0);
    for (name, bytes) in &files {
        assert_eq!(
            FileKind::detect(name, &bytes[..8]),
            Some(FileKind::Pe),
            "{name}"
        );
        let proven =
            check(FileKind::Pe, bytes, &policy).unwrap_or_else(|error| panic!("{name}: {error}"));
        nested += proven.facts["nested"].parse::<usize>().unwrap();
        let offers = describe_signatures(FileKind::Pe, &mut Cursor::new(bytes)).unwrap();
        assert_eq!(offers[0].signer, proven.facts["signer"], "{name}");
        expired += usize::from(offers[0].not_after < policy.at);
        let mut flipped = bytes.clone();
        flipped[0x800] ^= 1;
        assert_eq!(
            check(FileKind::Pe, &flipped, &policy).unwrap_err().code,
            Code::FILE_DIGEST,
            "{name}"
        );
        let mut foreign = policy.clone();
        foreign.publisher = Some("O=Microsoft".parse().unwrap());
        assert_eq!(
            check(FileKind::Pe, bytes, &foreign).unwrap_err().code,
            Code::PUBLISHER,
            "{name}"
        );
        foreign = policy.clone();
        foreign
            .roots
            .retain(|root| root.sha256 != proven.facts["rootSha256"]);
        assert_eq!(
            check(FileKind::Pe, bytes, &foreign).unwrap_err().code,
            Code::UNTRUSTED_ROOT,
            "{name}"
        );
    }
    println!(
        "{} files, {nested} nested signatures, {expired} with an expired certificate",
        files.len()
    );
    assert!(files.len() >= 15 && nested > 0 && expired > 0);
}

#[test]
fn osslsigncode_accepts_the_same_real_files() {
    let (Some(workshop), Some(files)) = (workshop(), real()) else {
        return;
    };
    let policy = pinned();
    let roots: String = [
        "roots/microsoft-root-2010.pem",
        "roots/microsoft-root-2011.pem",
    ]
    .iter()
    .map(|file| {
        String::from_utf8(
            Tree::embedded_manifests()
                .get(&format!("trust/{file}"))
                .unwrap()
                .to_vec(),
        )
        .unwrap()
    })
    .collect();
    workshop.write("microsoft.pem", roots.as_bytes());
    for (name, bytes) in &files {
        let at = policy.at.as_secs();
        let (accepted, said) = workshop.accepts("real.dll", bytes, "microsoft", at);
        assert!(accepted, "{name}: {said}");
        let own = fastest(|| assert!(check(FileKind::Pe, bytes, &policy).is_ok()));
        let other = fastest(|| assert!(workshop.accepts("real.dll", bytes, "microsoft", at).0));
        let ratio = other.as_secs_f64() / own.as_secs_f64();
        println!(
            "{name}: {} bytes, {own:?}, osslsigncode {other:?}: {ratio:.1} times",
            bytes.len()
        );
    }
}
