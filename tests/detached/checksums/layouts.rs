//! Files of several layouts, and forms that are not read.

use imagegen::base::value::PinAlgorithm;
use imagegen::verify::checksums::find_checksum;

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
        (format!("md5:{ours}  {NAME}\n"), "checksum-algorithm"),
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
    let layouts: [&dyn Fn(&str) -> String; 3] = [&gnu, &certutil, &list];
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
            "the entry has 40 digits, and SHA256 has 64; `sha256sum FILE` prints it",
        ),
        (
            format!("SHA1 ({NAME}) = {}", "a".repeat(40)),
            "40 digits of SHA1, and SHA256 has 64",
        ),
        (
            format!("{}  {NAME}", HEX512.repeat(16)),
            "the entry has 128 digits, and SHA256 has 64",
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
        (
            format!(
                "\r\nAlgorithm Hash Path\r\n--------- ---- ----\r\nSHA256    {0}... C:\\{NAME}\r\n",
                &sha256(b"ours")[..40]
            ),
            "`Get-FileHash FILE | Format-List >FILE.sha256`",
        ),
        (
            format!("{NAME}: E361B7F5 B6D3F710\n             00112233\n"),
            "`gpg --print-md`",
        ),
        ("Not Found".to_owned(), "`sha256sum FILE >FILE.sha256`"),
    ] {
        let error = find_checksum(text.as_bytes(), NAME, PinAlgorithm::Sha256).unwrap_err();
        assert!(error.message.contains(said), "{error}");
    }
}
