//! Files of several layouts, and forms that are not read.

use imagegen::base::value::PinAlgorithm;
use imagegen::verify::checksums::find_checksum;

use super::{HEX512, NAME, found, sha256};

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
    let layouts: [&dyn Fn(&str) -> String; 4] = [&gnu, &certutil, &list, &table];
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
