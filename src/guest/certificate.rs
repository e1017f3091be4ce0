//! A certificate as its publisher gives it: PEM becomes the base64 of its DER, and the digest is computed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::base::digest::sha256_hex;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// # Errors
/// The content is no certificate, or several.
pub(super) fn complete_certificate(properties: &mut Map<String, Value>) -> Result<(), String> {
    let Some(content) = properties.get("content").and_then(Value::as_str) else {
        return Ok(());
    };
    let base64 = if content.contains("-----BEGIN") {
        strip_armor(content)?
    } else {
        content.to_owned()
    };
    let der = STANDARD
        .decode(&base64)
        .map_err(|error| format!("`content` is not base64: {error}"))?;
    // A certificate is a SEQUENCE (RFC 5280, section 4.1).
    if der.first() != Some(&0x30) {
        return Err("`content` is not a certificate in PEM or DER".to_owned());
    }
    properties
        .entry("sha256")
        .or_insert_with(|| Value::String(sha256_hex(&der)));
    properties.insert("content".to_owned(), Value::String(base64));
    Ok(())
}

/// The base64 of the only certificate in a PEM text.
fn strip_armor(pem: &str) -> Result<String, String> {
    let (_, rest) = pem
        .split_once(BEGIN)
        .ok_or("`content` contains no certificate")?;
    let (body, after) = rest
        .split_once(END)
        .ok_or("the certificate in `content` is truncated")?;
    if after.contains(BEGIN) {
        return Err(
            "`content` contains several certificates; write a resource for each".to_owned(),
        );
    }
    Ok(body.split_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn complete(content: &str) -> Result<Map<String, Value>, String> {
        let mut properties = json!({ "content": content })
            .as_object()
            .cloned()
            .unwrap_or_default();
        complete_certificate(&mut properties).map(|()| properties)
    }

    #[test]
    fn a_certificate_is_one_in_pem_or_der() {
        let pem = format!("Subject: x\n{BEGIN}\nMAMC\r\nAQE=\n{END}\n");
        for content in [pem.as_str(), "MAMCAQE="] {
            let properties = complete(content).expect(content);
            assert_eq!(properties["content"], "MAMCAQE=");
            assert_eq!(properties["sha256"], sha256_hex(&[0x30, 3, 2, 1, 1]));
        }
        for (content, said) in [
            (format!("{pem}{pem}"), "several"),
            ("-----BEGIN PRIVATE KEY-----".to_owned(), "no certificate"),
            (format!("{BEGIN}\nMAMC"), "truncated"),
            ("x y".to_owned(), "not base64"),
            ("AAAA".to_owned(), "not a certificate in PEM or DER"),
        ] {
            let error = complete(&content).expect_err(&content);
            assert!(error.contains(said), "{content}: {error}");
        }
    }
}
