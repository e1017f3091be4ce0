//! Files of several layouts, and forms that are not read.

use aws_lc_rs::digest::{SHA512, digest};
use imagegen::base::digest::encode_hex;
use imagegen::base::value::PinAlgorithm;
use imagegen::verify::checksums::find_checksum;

use super::super::tools::bench;
use super::{HEX512, NAME, found, sha256};

/// The prefix of a digest states its algorithm, in whatever case and beside a name, too.
#[test]
fn digests_with_prefixes_have_names() {
    let (ours, other) = (sha256(b"ours"), sha256(b"other"));
    let upper = ours.to_uppercase();
    for (text, code) in [
        (format!("SHA256:{upper}\n"), "ok"),
        (
            format!("sha256:{other}  x.exe\nsha256:{ours} *{NAME}\n"),
            "ok",
        ),
        (format!("sha512:{ours}  {NAME}\n"), "checksum-algorithm"),
        (format!("md5:{ours}  {NAME}\n"), "checksum-malformed"),
        (
            format!("sha256:{ours}\nsha256:{other}\n"),
            "checksum-malformed",
        ),
    ] {
        let read = found(text.as_bytes(), NAME, PinAlgorithm::Sha256);
        assert_eq!(read, code, "{text}");
    }
}

/// No line is passed over because another one has a layout of its own: all entries for a file are compared.
#[test]
fn every_line_belongs_to_one_layout() {
    let (ours, other) = (sha256(b"ours"), sha256(b"other"));
    let read = |text: &str| found(text.as_bytes(), NAME, PinAlgorithm::Sha256);
    let gnu = |digest: &str| format!("{digest}  {NAME}\n");
    let certutil = |digest: &str| {
        format!(
            "SHA256 hash of {NAME}:\n{digest}\nCertUtil: -hashfile command completed successfully.\n"
        )
    };
    let list =
        |digest: &str| format!("Algorithm : SHA256\nHash      : {digest}\nPath      : {NAME}\n");
    let table = |digest: &str| {
        format!("Algorithm Hash Path\n--------- ---- ----\nSHA256    {digest} {NAME}\n")
    };
    let gnupg = |digest: &str| {
        format!(
            "{NAME}: SHA256 = {}\n    {}\n",
            &digest[..32],
            &digest[32..]
        )
    };
    let layouts: [&dyn Fn(&str) -> String; 5] = [&gnu, &certutil, &list, &table, &gnupg];
    for (at, one) in layouts.iter().enumerate() {
        for another in layouts {
            let agreeing = format!("{}\n{}", one(&ours), another(&ours));
            assert_eq!(read(&agreeing), "ok", "{agreeing}");
            let differing = format!("{}\n{}", one(&ours), another(&other));
            assert_eq!(read(&differing), "checksum-ambiguous", "{differing}");
        }
        for line in [
            "SHA256 of the release",
            "Hash : x",
            "CertUtil: done",
            &other,
        ] {
            let text = format!("{}\n{line}\n", one(&ours));
            assert_eq!(read(&text), "checksum-malformed", "{at}: {text}");
        }
    }
}

/// `sha256sum < FILE > FILE.sha256`: nothing but the digest is said.
#[test]
fn digests_of_pipes_have_no_name() {
    let (ours, other) = (sha256(b"ours"), sha256(b"other"));
    let read = |text: &str| found(text.as_bytes(), NAME, PinAlgorithm::Sha256);
    let wide = HEX512.repeat(16);
    for text in [
        format!("{ours}  -\n"),
        format!("SHA256 (-) = {ours}\n"),
        format!("SHA2-256(stdin)= {ours}\n"),
        format!("(stdin)= {ours}\n"),
        format!("{wide}  -\n{ours}  -\n"),
    ] {
        assert_eq!(read(&text), "ok", "{text}");
    }
    let two = format!("{ours}  -\n{other}  -\n");
    assert_eq!(read(&two), "checksum-ambiguous");
    let named = format!("{ours}  -\n{other}  other.exe\n");
    assert_eq!(read(&named), "checksum-absent");
    assert_eq!(read(&format!("()= {ours}\n")), "checksum-malformed");
}

#[test]
fn refusals_say_which_form_is_read() {
    for (text, said) in [
        (
            format!("{}  {NAME}", "a".repeat(40)),
            "the entry has 40 digits; only SHA256 with 64 and SHA512 with 128 prove a file",
        ),
        (
            format!("SHA1 ({NAME}) = {}", "a".repeat(40)),
            "40 digits of SHA1; only SHA256",
        ),
        (
            format!("{}  {NAME}", HEX512.repeat(16)),
            "the entry has 128 digits; SHA256 has 64",
        ),
        (
            format!(
                "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n{}  {NAME}\n",
                sha256(b"ours")
            ),
            "gpg --decrypt",
        ),
        (r#"{"digest": "sha256:00"}"#.to_owned(), "--sha256"),
        (
            "sha256-vmwB+QgBVzMIyuqMLIZ7Vw7rAUnkoP+xQvmpTOvl0P4=".to_owned(),
            "base64",
        ),
    ] {
        let error = find_checksum(text.as_bytes(), NAME, PinAlgorithm::Sha256).unwrap_err();
        assert!(error.message.contains(said), "{error}");
    }
}

/// `gpg --print-md`, as Apache's projects publish it: in groups, over several lines, behind a long name in the next.
#[test]
fn digests_of_gnupg_are_read() {
    let Some(bench) = bench(&["gpg"]) else {
        return;
    };
    std::fs::create_dir_all(bench.path("gnupg")).unwrap();
    let long = format!("{}-{NAME}", "long".repeat(12));
    for name in [NAME, &long] {
        bench.write(name, b"ours");
        let wide = encode_hex(digest(&SHA512, b"ours").as_ref());
        for command in [
            ["--print-md", "SHA256"],
            ["--print-md", "SHA512"],
            ["--print-mds", "--no-tty"],
        ] {
            let text = bench.run("gpg", command.into_iter().chain([name]));
            let read = |algorithm| find_checksum(&text, name, algorithm).ok();
            let shown = String::from_utf8_lossy(&text);
            let narrow = read(PinAlgorithm::Sha256);
            assert_eq!(narrow.is_some(), command[1] != "SHA512", "{shown}");
            assert!(
                narrow.is_none_or(|found| found == sha256(b"ours")),
                "{shown}"
            );
            let found = read(PinAlgorithm::Sha512);
            assert_eq!(found.is_some(), command[1] != "SHA256", "{shown}");
            assert!(found.is_none_or(|found| found == wide), "{shown}");
        }
    }
}
