//! Files that come in parts, and their digests.

use imagegen::base::digest::sha256_hex;
use imagegen::base::value::FileDigest;
use imagegen::fetch::Request;
use imagegen::io::fs::{DigestSet, digest_stream};
use imagegen::io::http::{Options, Patience};
use imagegen::ui::Downloads;

use super::answers::sent;
use super::{content, fetcher, file, impatient, one, patience, plain, request};
use crate::support::server::{Server, Step, ranged, whole};
use crate::support::{Test, files};

#[test]
fn a_large_file_comes_over_several_connections() {
    let bytes = content(1 << 18);
    let split = Patience {
        split_from: 1 << 16,
        split_piece: 10_000,
        ..patience()
    };
    let options = || Options {
        patience: split.clone(),
        ..Options::default()
    };
    let copy = bytes.clone();
    let server = Server::new(move |asked| match asked.path.as_str() {
        // One piece fails once.
        "/broken" if asked.before == 5 => vec![Step::Close],
        // The file changes in the middle.
        "/changed" if asked.before > 3 => ranged(&copy, "\"b\"", asked),
        // A server that claims more than it can.
        "/ignored" => whole(&copy, &["ETag: \"a\"", "Accept-Ranges: bytes"]),
        "/plain" => whole(&copy, &[]),
        _ => ranged(&copy, "\"a\"", asked),
    });
    for (path, parts) in [
        ("/good?token=t", true),
        ("/broken", true),
        ("/changed", true),
        ("/ignored", true),
        ("/plain", false),
    ] {
        let test = Test::new();
        let wanted = request(&server.url(path), &bytes);
        let outcome = fetcher(&test, options())
            .fetch_all(&[wanted], 4, &Downloads::new_silent())
            .remove(0);
        let fetched = outcome.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(std::fs::read(fetched.path()).unwrap(), bytes, "{path}");
        let asked = server.asked();
        let ranges = asked
            .iter()
            .filter(|asked| asked.path == path && asked.range().is_some())
            .count();
        assert_eq!(ranges > 1, parts, "{path}: {ranges}");
        assert_eq!(files(&test.folder.join("store/partial")).len(), 0, "{path}");
    }
    let good: Vec<_> = server
        .asked()
        .into_iter()
        .filter(|asked| asked.path == "/good?token=t")
        .collect();
    assert_eq!(
        good.len(),
        1 + bytes.len().div_ceil(10_000),
        "every byte is asked for once"
    );
}

#[test]
fn a_part_is_continued_by_the_next_process() {
    let bytes = content(1 << 18);
    let copy = bytes.clone();
    let server = Server::new(move |asked| {
        if asked.before < 3 {
            let length = format!("Content-Length: {}", copy.len());
            return sent(
                "200 OK",
                &[&length, "ETag: \"a\""],
                &copy[..100_000],
                Step::Close,
            );
        }
        ranged(&copy, "\"a\"", asked)
    });
    let test = Test::new();
    let wanted = request(&server.url("/x"), &bytes);
    let error = one(&impatient(&test), &wanted).unwrap_err();
    assert_eq!(error.failure.code().as_str(), "short-body");
    let parts = files(&test.folder.join("store/partial"));
    assert_eq!(
        parts.values().max_by_key(|part| part.len()).unwrap()[..],
        bytes[..100_000]
    );
    one(&impatient(&test), &wanted).unwrap();
    let asked = server.asked();
    assert_eq!(asked.last().unwrap().range(), Some((100_000, None)));
    assert_eq!(files(&test.folder.join("store/partial")).len(), 0);

    // What a crash left may be of another file, or hold what never reached the disk.
    let test = Test::new();
    one(&impatient(&test), &request(&server.url("/x"), &bytes)).unwrap();
    let other = Server::new({
        let bytes = bytes.clone();
        move |asked| ranged(&bytes, "\"a\"", asked)
    });
    let url = other.url("/x");
    let name = test
        .folder
        .join("store/partial")
        .join(sha256_hex(url.as_bytes()));
    std::fs::write(name.with_extension("part"), vec![0; 100_000]).unwrap();
    std::fs::write(
        name.with_extension("json"),
        format!(r#"{{"url": "{url}", "etag": "\"a\""}}"#),
    )
    .unwrap();
    std::fs::remove_dir_all(test.folder.join("store/objects")).unwrap();
    one(&impatient(&test), &request(&url, &bytes)).unwrap();
    assert_eq!(other.asked().len(), 2);
}

#[test]
fn every_digest_of_a_request_is_compared() {
    let server = Server::new(plain);
    let test = Test::new();
    let right = one(&impatient(&test), &request(&server.url("/x"), &file())).unwrap();
    let [sha256, sha512] = right.file_digests().unwrap().try_into().unwrap();
    let wrong = FileDigest::Sha512("7".repeat(128).parse().unwrap());
    for (digests, fits) in [
        (vec![sha512.clone()], true),
        (vec![sha256.clone(), sha512.clone()], true),
        (vec![wrong.clone()], false),
        (vec![sha256.clone(), wrong.clone()], false),
        (vec![sha512, wrong.clone()], false),
    ] {
        // From the server, and from the store.
        for folder in [Test::new(), Test::new()] {
            let wanted = Request {
                digests: digests.clone(),
                ..request(&server.url("/x"), &file())
            };
            let fetched = one(&impatient(&folder), &wanted);
            assert_eq!(fetched.is_ok(), fits, "{digests:?}: {fetched:?}");
            assert_eq!(
                one(&impatient(&folder), &wanted).is_ok(),
                fits,
                "{digests:?}"
            );
        }
    }
    // A replaced file is recognised by the digest that it is known by.
    let replaced = Request {
        digests: vec![FileDigest::Sha256("7".repeat(64).parse().unwrap())],
        superseded: vec![(right.file_digests().unwrap().remove(1), "seen".to_owned())],
        ..request(&server.url("/x"), &file())
    };
    assert_eq!(
        one(&impatient(&Test::new()), &replaced)
            .unwrap_err()
            .failure
            .code()
            .as_str(),
        "drift"
    );
    // Its SHA-512 is computed later, of the bytes that were verified.
    std::fs::write(right.path(), b"other").unwrap();
    assert_eq!(
        right.read_both().unwrap_err().failure.code().as_str(),
        "digest-mismatch"
    );
}

#[test]
fn a_stream_is_digested_while_it_is_copied() {
    for size in [0, 1, 5, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 3_000_000] {
        let bytes = content(size);
        for set in [DigestSet::Sha256, DigestSet::Both] {
            let mut copy = Vec::new();
            let found = digest_stream(&mut bytes.as_slice(), set, &mut copy);
            let found = found.unwrap();
            assert!(
                copy == bytes
                    && found.size == bytes.len() as u64
                    && found.sha256 == sha256_hex(&bytes)
            );
            let sha512 = (set == DigestSet::Both).then(|| {
                let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &bytes);
                imagegen::base::digest::encode_hex(digest.as_ref())
            });
            assert_eq!(found.sha512, sha512, "{size}");
        }
    }
    let mut full = [0; 8];
    let mut output = full.as_mut_slice();
    assert!(
        digest_stream(
            &mut content(3_000_000).as_slice(),
            DigestSet::Both,
            &mut output
        )
        .is_err()
    );
    let mut broken = std::io::Read::chain(content(600_000).leak() as &[u8], Broken);
    assert!(digest_stream(&mut broken, DigestSet::Both, &mut std::io::sink()).is_err());
}

struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("broken"))
    }
}
