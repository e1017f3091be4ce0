//! Archives: what hostile and damaged ones come to, one row for each way.

use std::io::{Cursor, Write as _};

use flate2::{Compression, Crc, write::DeflateEncoder, write::GzEncoder};
use imagegen::base::code::Code;
use imagegen::verify::ProofError;
use imagegen::verify::archive::{Limits, MemberDigest, WantedMembers, read_members};
use imagegen::windows::resource::ArchiveFormat::{self, TarGz, Zip};
use proptest::prelude::*;

pub mod forge;
mod table;

use forge::{Part, gzip, tar, tar_gz, zip};

pub(crate) fn take(
    bytes: &[u8],
    format: ArchiveFormat,
    names: &[&str],
    limits: &Limits,
) -> Result<Vec<MemberDigest>, ProofError> {
    read_members(
        Cursor::new(bytes),
        format,
        &WantedMembers::from_names(names),
        limits,
        &mut |entry, reader| {
            let mut content = Vec::new();
            reader
                .read_to_end(&mut content)
                .map_err(|error| ProofError::new(Code::ARCHIVE_CORRUPT, error.to_string()))?;
            assert!(content.len() as u64 <= limits.entry && content.len() as u64 == entry.size);
            Ok(())
        },
    )
}

#[test]
fn wanted_members_come_with_their_digests() {
    let parts = [
        Part::new("bin/a.exe", b"first"),
        Part::new("bin/b.exe", b"second"),
        Part::new("README", b""),
    ];
    let folder = [
        Part::folder("./"),
        Part::folder("./bin/"),
        Part::new("./bin/a.exe", b"first"),
    ];
    for (bytes, format) in [
        (zip(&parts), Zip),
        (tar_gz(&parts), TarGz),
        (tar_gz(&folder), TarGz),
    ] {
        let found = take(&bytes, format, &["bin/a.exe"], &Limits::default()).expect("good");
        let digest = imagegen::base::digest::sha256_hex(b"first");
        assert_eq!(
            found,
            [MemberDigest {
                name: "bin/a.exe".to_owned(),
                size: 5,
                sha256: digest
            }]
        );
    }
    let globs = WantedMembers::from_globs(["bin/*.exe"]);
    let found = read_members(
        Cursor::new(zip(&parts)),
        Zip,
        &globs,
        &Limits::default(),
        &mut |_, _| Ok(()),
    );
    assert_eq!(found.expect("good").len(), 2);
}

/// The guest takes a member of a zip by its name, and .NET compares names whole: what is taken here has a name of the
/// central directory, to the byte.
#[test]
fn members_of_zips_have_names_of_the_directory() {
    for (held, wanted, code) in [
        ("bin/crictl.exe", "bin/crictl.exe", ""),
        ("./crictl.exe", "crictl.exe", "archive-name-traversal"),
        ("./crictl.exe", "./crictl.exe", "archive-name-traversal"),
        ("././crictl.exe", "crictl.exe", "archive-name-traversal"),
        ("crictl.exe", "./crictl.exe", "archive-member-absent"),
        ("CRICTL.exe", "crictl.exe", "archive-member-absent"),
        ("BIN/crictl.exe", "bin/crictl.exe", "archive-member-absent"),
    ] {
        let bytes = zip(&[Part::new(held, b"program")]);
        let taken = take(&bytes, Zip, &[wanted], &Limits::default());
        match taken {
            Ok(found) => {
                let archive = ::zip::ZipArchive::new(Cursor::new(&bytes)).expect("zip");
                let mut names = archive.file_names();
                assert!(names.any(|name| name.is_ok_and(|name| name == found[0].name)));
                assert_eq!((found[0].name.as_str(), code), (wanted, ""));
            }
            Err(error) => assert_eq!(error.code.as_str(), code, "{held} {wanted}: {error}"),
        }
    }
    for part in [Part::folder("./"), Part::folder("/")] {
        let bytes = zip(&[part, Part::new("crictl.exe", b"program")]);
        take(&bytes, Zip, &["crictl.exe"], &Limits::default()).expect_err("no name");
    }
}

/// What other programs write is read: descriptors, zip64 fields, PAX and GNU names.
#[test]
fn archives_of_real_writers_are_read() {
    let content = vec![b'x'; 300_000];
    let long = format!("{}/{}.exe", "folder".repeat(18), "name".repeat(18));
    for large in [false, true] {
        let options = ::zip::write::SimpleFileOptions::default()
            .large_file(large)
            .unix_permissions(0o755);
        let mut writer = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer.add_directory("bin", options).expect("folder");
        writer.start_file("bin/a.exe", options).expect("file");
        writer.write_all(&content).expect("content");
        let seekable = writer.finish().expect("zip").into_inner();
        let mut stream = ::zip::ZipWriter::new_stream(Vec::new());
        stream.start_file("bin/a.exe", options).expect("file");
        stream.write_all(&content).expect("content");
        let streamed = stream.finish().expect("zip").into_inner();
        for bytes in [seekable, streamed] {
            take(&bytes, Zip, &["bin/a.exe"], &Limits::default()).expect("good");
        }
    }
    let mut builder = ::tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = ::tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    // In binary, as GNU tar has it.
    header.set_uid(1_000_680_000);
    header.set_gid(u64::from(u32::MAX));
    builder
        .append_data(&mut header, &long, content.as_slice())
        .expect("entry");
    let gnu = builder.into_inner().expect("tar").finish().expect("gzip");
    take(&gnu, TarGz, &[&long], &Limits::default()).expect("good");
    let record = format!(" path={long}\n");
    let length = record.len() + 3;
    let pax = tar(&[
        Part {
            kind: b'g',
            ..Part::new(
                "pax_global_header",
                b"52 comment=0123456789012345678901234567890123456789\n",
            )
        },
        Part {
            kind: b'x',
            ..Part::new("PaxHeaders/short", format!("{length}{record}").as_bytes())
        },
        Part::new("short", b"content"),
    ]);
    take(&gzip(&pax), TarGz, &[&long], &Limits::default()).expect("good");
}

#[test]
fn errors_of_the_visitor_and_of_the_archive_come_through() {
    let bytes = zip(&[Part::new("a", b"1234")]);
    let wanted = WantedMembers::all_files();
    let said = read_members(
        Cursor::new(&bytes),
        Zip,
        &wanted,
        &Limits::default(),
        &mut |_, _| Err(ProofError::new(Code::WRONG_CONTENT, "no")),
    );
    assert_eq!(said.expect_err("refused").code, Code::WRONG_CONTENT);
    // A visitor that swallows what the archive says does not make it good.
    let damaged = forge::edit(&bytes, b"1234", b"1235");
    let said = read_members(
        Cursor::new(&damaged),
        Zip,
        &wanted,
        &Limits::default(),
        &mut |_, reader| {
            let _ = reader.read_to_end(&mut Vec::new());
            Ok(())
        },
    );
    assert_eq!(said.expect_err("refused").code, Code::ARCHIVE_CORRUPT);
}

fn seeds() -> Vec<(Vec<u8>, ArchiveFormat)> {
    let parts = [
        Part::folder("bin/"),
        Part::new("bin/a.exe", &[7; 2000]),
        Part::new("b", b"second"),
    ];
    let mut stream = ::zip::ZipWriter::new_stream(Vec::new());
    let options = ::zip::write::SimpleFileOptions::default().large_file(true);
    stream.start_file("bin/a.exe", options).expect("file");
    stream.write_all(&[9; 5000]).expect("content");
    vec![
        (zip(&parts), Zip),
        (stream.finish().expect("zip").into_inner(), Zip),
        (tar_gz(&parts), TarGz),
        (tar(&parts), TarGz),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// However an archive is damaged, reading it ends, without panic and within the limits.
    #[test]
    fn mutations_never_panic_and_never_exceed_the_limits(
        which in 0_usize..4,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 1..6),
    ) {
        let (mut bytes, format) = seeds().swap_remove(which);
        // The fourth is edited inside of its gzip member, which fits again then.
        let inner = which == 3;
        for (at, value, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = value,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, value),
                _ => bytes[at] ^= 1 << (value % 8),
            }
        }
        if inner {
            bytes = gzip(&bytes);
        }
        let limits = Limits { entries: 8, entry: 4096, total: 8192, ratio: 250 };
        let mut total = 0_u64;
        let mut seen = 0_u64;
        let outcome = read_members(Cursor::new(&bytes), format, &WantedMembers::all_files(), &limits, &mut |_, reader| {
            seen += 1;
            let mut content = Vec::new();
            let read = reader.read_to_end(&mut content);
            total += content.len() as u64;
            assert!(content.len() as u64 <= limits.entry);
            read.map(|_| ()).map_err(|error| ProofError::new(Code::ARCHIVE_CORRUPT, error.to_string()))
        });
        prop_assert!(total <= limits.total && seen <= limits.entries);
        if let Err(error) = outcome {
            prop_assert!(error.code.as_str().starts_with("archive-"), "{error:?}");
            prop_assert!(!error.message.chars().any(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn noise_is_refused(noise in prop::collection::vec(any::<u8>(), 0..400), zip in any::<bool>()) {
        let format = if zip { Zip } else { TarGz };
        let magic: &[u8] = if zip { b"PK\x05\x06" } else { b"\x1f\x8b\x08\x00" };
        let with_magic = [magic, &noise].concat();
        for bytes in [&noise, &with_magic] {
            prop_assert!(take(bytes, format, &["a"], &Limits::default()).is_err());
        }
    }

    #[test]
    fn lock_and_manifest_json_never_panic(
        which in 0_usize..3,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 1..8),
    ) {
        let tree = imagegen::embedded::Tree::embedded_manifests();
        let mut files: Vec<(String, Vec<u8>)> =
            tree.files().into_iter().filter(|(name, _)| name.starts_with("components/")).take(3).collect();
        let (name, mut bytes) = files.swap_remove(which);
        for (at, value, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = value,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, value),
            }
        }
        let _ = imagegen::base::json::parse_json::<imagegen::model::component::ComponentDefinition>(&name, &bytes);
        let _ = imagegen::lock::Lock::decode(&name, &bytes);
        let head = b"{\"schema\": \"imagegen.dev/lock/v1\", ";
        let _ = imagegen::lock::Lock::decode(&name, &[head, bytes.get(1..).unwrap_or_default()].concat());
    }
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).expect("deflate");
    encoder.finish().expect("deflate")
}

fn crc(content: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(content);
    crc.sum()
}
