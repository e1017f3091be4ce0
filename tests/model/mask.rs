//! The mask removes every form of a secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagegen::base::secret::{Masker, Secret, mask_text};

const MASK: &str = "<sensitive>";

/// No other test has these values: all of a process share the list.
const PASSWORD: &str = "pA\"ss<W0rd>&'%41\u{fc}+/=1";
const PLAIN: &str = "Zq8-plain-0123456789";
const LINES: &str = "first-line-Qx1\nsecond-line-Qx2\r\n";

fn known() -> [Secret; 3] {
    [PASSWORD, PLAIN, LINES].map(Secret::new)
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn encode_url(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02x}")
            }
        })
        .collect()
}

fn encode_html(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_string()
            } else {
                format!("&#x{:X};", u32::from(c))
            }
        })
        .collect()
}

fn encode_base32(bytes: &[u8]) -> String {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let digit = |five: &[u8]| usize::from_str_radix(std::str::from_utf8(five).unwrap(), 2).unwrap();
    let digits = bits.as_bytes().chunks_exact(5).map(digit);
    digits
        .map(|digit| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[digit]))
        .collect()
}

fn encode_json(text: &str) -> String {
    serde_json::to_string(text)
        .unwrap()
        .trim_matches('"')
        .to_owned()
}

/// Every form in which Packer, a cloud's SDK, WinRM and PowerShell repeat a value.
fn forms(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let mut forms = vec![
        secret.to_owned(),
        encode_json(secret),
        encode_json(secret)
            .replace('<', "\\u003c")
            .replace('>', "\\u003E")
            .replace('&', "\\u0026"),
        encode_json(&encode_json(secret)),
        encode_url(secret),
        encode_url(&encode_url(secret)),
        encode_html(secret),
        secret
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;"),
        secret.replace('\'', "''"),
        secret.replace('\'', "'\\''"),
        secret
            .chars()
            .map(|c| {
                if "`\"$".contains(c) {
                    format!("`{c}")
                } else {
                    c.to_string()
                }
            })
            .collect(),
        bytes.iter().map(|byte| format!("\\{byte:03o}")).collect(),
        hex::encode(bytes),
        hex::encode_upper(bytes),
        hex::encode_upper(bytes)
            .as_bytes()
            .chunks(2)
            .map(|two| std::str::from_utf8(two).unwrap())
            .collect::<Vec<_>>()
            .join("-"),
        hex::encode(wide(secret)),
    ];
    for before in ["", "a", "ab", "abc"] {
        let inside = format!("{before}{secret}; exit 0");
        forms.push(STANDARD.encode(&inside));
        forms.push(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&inside));
        forms.push(STANDARD.encode(wide(&inside)));
        forms.push(STANDARD.encode(STANDARD.encode(&inside)));
        forms.push(encode_base32(inside.as_bytes()));
    }
    forms
}

/// What remains visible of a form holds no six characters of it in a row.
fn assert_masked(lines: &[String], form: &str) {
    let shown = lines
        .join("")
        .replace(MASK, "\u{1}")
        .split_whitespace()
        .collect::<String>();
    let bare: Vec<char> = form.chars().filter(|c| !c.is_whitespace()).collect();
    assert!(
        lines.iter().any(|line| line.contains(MASK)),
        "{form}: {lines:?}"
    );
    let middle: String = bare[bare.len() / 3..bare.len() * 2 / 3].iter().collect();
    assert!(!shown.contains(&middle), "{form}: {lines:?}");
}

fn mask(lines: &[String]) -> Vec<String> {
    let mut masker = Masker::default();
    let mut shown: Vec<String> = lines
        .iter()
        .flat_map(|line| masker.push_line(line))
        .collect();
    shown.extend(masker.finish());
    assert_eq!(shown.len(), lines.len());
    shown
}

#[test]
fn every_form_of_a_secret_is_masked() {
    let _known = known();
    for secret in [PLAIN, PASSWORD] {
        for form in forms(secret) {
            assert_masked(&mask(&[format!("before \"{form}\" behind")]), &form);
        }
    }
}

#[test]
fn secrets_are_masked_over_line_ends() {
    let _known = known();
    for form in forms(PLAIN) {
        for width in [1, 3, 5, 7, 16] {
            let lines: Vec<String> = form
                .as_bytes()
                .chunks(width)
                .map(|chunk| {
                    format!(
                        "    imagegen.builder.node: {}",
                        std::str::from_utf8(chunk).unwrap()
                    )
                })
                .collect();
            let shown = mask(&lines);
            // Of a few characters in a line, those of the first lines may be out already.
            let bare: String = shown
                .iter()
                .map(|line| line.trim_start_matches("    imagegen.builder.node: "))
                .collect();
            let middle = &form[form.len() / 2..form.len() / 2 + 6];
            assert!(!bare.contains(middle), "{width}: {form}: {shown:?}");
        }
    }
}

#[test]
fn each_line_of_a_secret_is_masked() {
    let _known = known();
    assert_eq!(mask_text("a first-line-Qx1 b"), "a <sensitive> b");
    assert_eq!(mask_text("a second-line-Qx2 b"), "a <sensitive> b");
    assert_eq!(
        mask_text("x first-line-Qx1\nsecond-line-Qx2 y"),
        "x <sensitive>\n<sensitive> y"
    );
    let json = "{\"key\": \"first-line-Qx1\\r\\nsecond-line-Qx2\\r\\n\"}";
    assert_eq!(mask_text(json), "{\"key\": \"<sensitive>\\r\\n\"}");
}

#[test]
fn fields_of_a_secret_document_are_masked() {
    let _known =
        Secret::new(r#"{"type": "service_account", "private_key": "MIIprivate/key+of=test"}"#);
    let _file =
        Secret::new("apiVersion: v1\nusers:\n- user:\n    client-key-data: TFMwdExTMUNSVWRKVGlC\n");
    assert_eq!(
        mask_text("service_account MIIprivate/key+of=test"),
        "service_account <sensitive>"
    );
    assert_eq!(mask_text("x TFMwdExTMUNSVWRKVGlC"), "x <sensitive>");
}

#[test]
fn other_text_stays_as_it_is() {
    let _known = known();
    for text in [
        "",
        "\n",
        "==> imagegen.builder.node: Zq8 plain\n\nfirst\n",
        "grün — 100 % \\n &amp; \u{1f4a9}",
    ] {
        assert_eq!(mask_text(text), text);
    }
    assert_eq!(
        mask_text("GET https://user:pw@a.example/x?v=1&sig=abc failed"),
        "GET https://<sensitive>@a.example/x?v=1&sig=<sensitive> failed"
    );
}

#[test]
fn lines_are_held_back_no_longer_than_needed() {
    let _known = known();
    let mut masker = Masker::default();
    assert_eq!(masker.push_line("a line"), ["a line"]);
    assert_eq!(masker.push_line("ends in Zq8-pl"), Vec::<String>::new());
    assert_eq!(masker.push_line("atform"), ["ends in Zq8-pl", "atform"]);
    assert_eq!(masker.push_line("x Zq"), ["x Zq"]);
    assert_eq!(masker.push_line("8-plain-0123456789 y"), ["<sensitive> y"]);
}
