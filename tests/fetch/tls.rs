//! Certificates, and proxies in front of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use imagegen::io::http::Options;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{Test, fetcher, file, one, patience, plain, request, to};
use crate::support::server::{Server, Step};
use crate::support::{files, openssl, program};

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// A certificate authority `ca.pem`, and servers' certificates by name: the same for all tests of a process.
pub fn certificates(folder: &Path) {
    static MADE: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    for (name, bytes) in MADE.get_or_init(make_certificates) {
        fs::write(folder.join(name), bytes).expect("certificate");
    }
}

/// Files by name.
fn make_certificates() -> BTreeMap<String, Vec<u8>> {
    let test = Test::new();
    let folder = &test.folder;
    openssl(
        folder,
        &format!("req -x509 {KEY} -keyout ca.key -out ca.pem -days 2 -subj /CN=Test"),
    );
    for (name, host, days) in [
        ("good", "IP:127.0.0.1", 2),
        ("expired", "IP:127.0.0.1", -1),
        ("other", "DNS:other.example", 2),
    ] {
        certify(folder, name, host, days);
    }
    openssl(
        folder,
        &format!(
            "req -x509 {KEY} -keyout own.key -out own.pem -days 2 -subj /CN=Own -addext \
             subjectAltName=IP:127.0.0.1"
        ),
    );
    files(folder)
}

/// A server's certificate for these names, of that authority.
pub fn certify(folder: &Path, name: &str, hosts: &str, days: i32) {
    openssl(
        folder,
        &format!(
            "req {KEY} -keyout {name}.key -out {name}.csr -subj /CN={name} -addext subjectAltName={hosts}"
        ),
    );
    openssl(
        folder,
        &format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days {days} \
             -copy_extensions copy -out {name}.pem"
        ),
    );
}

pub fn config(folder: &Path, name: &str) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let certificate =
        CertificateDer::from_pem_file(folder.join(format!("{name}.pem"))).expect("certificate");
    let key = PrivateKeyDer::from_pem_file(folder.join(format!("{name}.key"))).expect("key");
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("pair")
}

#[test]
fn servers_prove_who_they_are() {
    if program("openssl").is_none() {
        return;
    }
    let test = Test::new();
    certificates(&test.folder);
    let options = |ca: bool| Options {
        ca_files: ca.then(|| test.folder.join("ca.pem")).into_iter().collect(),
        patience: patience(),
        ..Options::default()
    };
    for (name, ca, code) in [
        ("good", true, None),
        ("good", false, Some("tls")),
        ("expired", true, Some("tls")),
        ("other", true, Some("tls")),
        ("own", true, Some("tls")),
    ] {
        let server = Server::tls(config(&test.folder, name), plain);
        let store = Test::new();
        let outcome = one(
            &fetcher(&store, options(ca)),
            &request(&server.url("/x"), &file()),
        );
        let found = outcome
            .as_ref()
            .err()
            .map(|error| error.failure.code().as_str());
        assert_eq!(found, code, "{name}: {outcome:?}");
        if let Err(error) = outcome {
            assert!(
                error
                    .failure
                    .hint()
                    .is_some_and(|hint| hint.contains("--ca-file")),
                "{error}"
            );
        }
    }
    // From HTTPS there is no way back, not even to loopback.
    let insecure = Server::new(plain);
    let url = insecure.url("/x");
    let server = Server::tls(config(&test.folder, "good"), move |_| to(&url));
    let error = one(
        &fetcher(&Test::new(), options(true)),
        &request(&server.url("/x"), &file()),
    )
    .unwrap_err();
    assert_eq!(error.failure.code().as_str(), "redirect-to-http", "{error}");
    assert_eq!(insecure.asked().len(), 0);
    // A server that speaks no TLS.
    let url = insecure.url("/x").replace("http:", "https:");
    let error = one(
        &fetcher(&Test::new(), options(true)),
        &request(&url, &file()),
    )
    .unwrap_err();
    assert!(
        ["tls", "connect"].contains(&error.failure.code().as_str()),
        "{error}"
    );
}

#[test]
fn a_proxy_is_asked_for_a_tunnel() {
    if program("openssl").is_none() {
        return;
    }
    let test = Test::new();
    certificates(&test.folder);
    let server = Server::tls(config(&test.folder, "good"), plain);
    let address = server.address;
    let proxy = Server::new(move |_| {
        vec![
            Step::Send(b"HTTP/1.1 200 Connected\r\n\r\n".to_vec()),
            Step::Tunnel(address),
        ]
    });
    let options = Options {
        ca_files: vec![test.folder.join("ca.pem")],
        proxy: Some(format!("http://user:s3cret@{}", proxy.address)),
        patience: patience(),
        ..Options::default()
    };
    one(
        &fetcher(&Test::new(), options),
        &request(&server.url("/x"), &file()),
    )
    .unwrap();
    let asked = &proxy.asked()[0];
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("CONNECT", address.to_string().as_str())
    );
    assert_eq!(
        asked.header("proxy-authorization"),
        Some("Basic dXNlcjpzM2NyZXQ=")
    );
    assert_eq!(server.asked()[0].header("proxy-authorization"), None);

    // A proxy that refuses, and one that is none.
    let refusing =
        Server::new(|_| crate::support::server::status("407 Proxy Authentication Required", &[]));
    for (proxy, codes) in [
        (refusing.url(""), ["connect", "connection"]),
        (
            "http://u:s3cret@127.0.0.1:1".to_owned(),
            ["connect", "connection"],
        ),
    ] {
        let options = Options {
            proxy: Some(proxy),
            patience: patience(),
            ..Options::default()
        };
        let error = one(
            &fetcher(&Test::new(), options),
            &request(&server.url("/x"), &file()),
        )
        .unwrap_err();
        assert!(codes.contains(&error.failure.code().as_str()), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}
