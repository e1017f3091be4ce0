//! Signed files with one byte changed: what osslsigncode refuses is refused here too. `IMAGEGEN_MUTANTS=all` tries
//! every byte; otherwise a seeded part of them is tried.
//!
//! Both accept changes of what no digest covers: the PE checksum, sectors that no stream owns, a timestamp's second
//! copy of a certificate, attributes that nobody signed.

use std::fmt::Write as _;

use imagegen::verify::authenticode::FileKind;

use super::workshop::{self, NOW, Workshop, workshop};
use super::{check, policy};

/// Kinds of changes that were accepted here once, by place in a file that osslsigncode made; each is refused now:
///
/// * `digestAlgorithms` without the signer's algorithm: RFC 5652, section 5.1, lets a reader go by that list.
/// * parameters of an algorithm that are neither absent nor an empty NULL: RFC 5754, section 2.
/// * counts of sectors in the header of a compound file that are not those of its chains: a reader that goes by
///   the counts finds other streams ([MS-CFB] 2.2).
/// * the name and creation time of the root entry, times of streams, names without an end ([MS-CFB] 2.6.1); times
///   of streams are part of the signed metadata, and were taken for zero.
/// * a stream of small streams that is longer than its sectors ([MS-CFB] 2.6.2).
const FLIPS: [u8; 3] = [0x01, 0x80, 0xff];

fn signed_files(workshop: &Workshop) -> Vec<(&'static str, FileKind, Vec<u8>)> {
    let script = b"param($a)\r\nif ($a) {\r\n  'text'\r\n}\r\n";
    vec![
        (
            "m.msi",
            FileKind::Msi,
            workshop.sign("m.msi", &workshop.msi(), "leaf", &[]),
        ),
        (
            "e.msi",
            FileKind::Msi,
            workshop.sign("e.msi", &workshop.msi(), "leaf", &["-add-msi-dse"]),
        ),
        (
            "m.ps1",
            FileKind::PowerShell,
            workshop.stamped("m.ps1", script, "leaf", "tsa", workshop::THEN),
        ),
        (
            "m.exe",
            FileKind::Pe,
            workshop.stamped("m.exe", &workshop::pe(true), "leaf", "tsa", workshop::THEN),
        ),
    ]
}

/// Every place and flip, or a part of them that is the same in each run.
fn choose_mutants(length: usize) -> Vec<(usize, u8)> {
    let all = (0..length).flat_map(|at| FLIPS.map(|flip| (at, flip)));
    if std::env::var("IMAGEGEN_MUTANTS").is_ok_and(|wanted| wanted == "all") {
        return all.collect();
    }
    // A multiplicative congruential generator: a tenth of all, spread over the file.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    all.filter(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).is_multiple_of(10)
    })
    .collect()
}

/// Places of the kinds above, which every run tries: offsets into the file or into its signature.
fn known_places(name: &str, bytes: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    if name.ends_with("msi") {
        // Directory, FAT, mini FAT and DIFAT counts; name and time of the root, times of the second entry.
        let directory =
            512 * (1 + u32::from_le_bytes(bytes[0x30..0x34].try_into().unwrap()) as usize);
        places.extend([
            0x28,
            0x2d,
            0x41,
            0x49,
            directory,
            directory + 0x64,
            directory + 0x79,
            directory + 0xe4,
        ]);
    }
    // `31 0f 30 0d 06 09 …`: digestAlgorithms with SHA-256, and what follows its parameters.
    let set = [0x31, 0x0f, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48];
    places.extend(
        bytes
            .windows(set.len())
            .position(|found| found == set)
            .into_iter()
            .flat_map(|at| [at + 2, at + 12, at + 16]),
    );
    places
}

#[test]
fn what_osslsigncode_refuses_is_refused() {
    let Some(workshop) = workshop() else { return };
    let trusting = policy(&workshop, "root");
    let mut failures = String::new();
    for (name, kind, bytes) in signed_files(&workshop) {
        check(kind, &bytes, &trusting).unwrap();
        let known = known_places(name, &bytes).into_iter().map(|at| (at, 0x01));
        let (mut tried, mut accepted) = (0, 0);
        for (at, flip) in choose_mutants(bytes.len()).into_iter().chain(known) {
            tried += 1;
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            if check(kind, &changed, &trusting).is_err() {
                continue;
            }
            accepted += 1;
            let (other, said) = workshop.accepts(&format!("mutant-{name}"), &changed, "root", NOW);
            if !other {
                let why = said
                    .lines()
                    .filter(|line| line.contains("rror") || line.contains("MISMATCH"));
                let _ = writeln!(
                    failures,
                    "{name} {at:#x} ^ {flip:#x}: {}",
                    why.collect::<Vec<_>>().join("; ")
                );
            }
        }
        println!("{name}: {tried} mutants, {accepted} accepted by both");
    }
    assert!(failures.is_empty(), "accepted here alone:\n{failures}");
}
