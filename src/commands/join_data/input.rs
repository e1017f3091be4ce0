//! Inputs of `join-data`: a file, and flags over it.

use std::path::Path;

use serde_json::Value;
use x509_cert::Certificate;
use x509_cert::der::{Decode as _, Encode as _};

use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::public_key::decode_certificates;
use crate::cli::JoinDataArgs;
use crate::diagnostic::{Error, InternalError, Result};
use crate::io::fs;
use crate::join::{JoinInput, Places};

use crate::catalog::Trees;

/// # Errors
/// The provisioners name no paths for the join.
pub fn read_places(trees: &Trees, signed: bool) -> Result<Places> {
    Places::from_paths(&*trees.read_paths()?, signed).ok_or_else(|| {
        InternalError("provisioners/paths.json has no path for the join".to_owned()).into()
    })
}

/// # Errors
/// An input file cannot be read.
pub fn read_join_input(args: &JoinDataArgs) -> Result<JoinInput> {
    let base = match &args.from {
        Some(path) => {
            let bytes = fs::read_text(path)?;
            let file = path.display().to_string();
            if json::parse_json::<Value>(&file, &bytes)?
                .get("token")
                .is_some()
            {
                let message =
                    format!("{file} contains a `token`: secrets do not belong in the input file");
                let remedy =
                    "remove it, and give the token with `--token-env NAME` or `--token-file PATH`";
                return Err(Error::value(message, remedy));
            }
            json::parse_json(&file, &bytes)?
        }
        None => JoinInput::default(),
    };
    let mut ca_cert_hashes = args.ca_cert_hash.clone();
    if let Some(path) = &args.ca_cert {
        ca_cert_hashes.extend(hash_public_keys(path)?);
    }
    let flags = JoinInput {
        schema: None,
        endpoint: args.endpoint.clone(),
        ca_cert_hashes,
        name: args.name.clone(),
        labels: args.label.clone(),
        taints: args.taint.clone(),
        kubelet_args: Vec::new(),
        given_args: args.kubelet_arg.clone(),
        template_api: args.template_api.clone(),
        ignore_preflight_errors: args.ignore_preflight_error.clone(),
        discovery_timeout: args.discovery_timeout.clone(),
    };
    Ok(flags.merge_over(base))
}

/// SHA-256 over the SubjectPublicKeyInfo of each certificate, as kubeadm pins them: while a cluster changes its CA, its
/// file holds the old one and the new one.
fn hash_public_keys(path: &Path) -> Result<Vec<String>> {
    let text = fs::read_text(path)?;
    let found = decode_certificates(&String::from_utf8_lossy(&text));
    let hashes: Option<Vec<String>> = found.into_iter().map(hash_public_key).collect();
    match hashes {
        Some(hashes) if !hashes.is_empty() => Ok(hashes),
        _ => Err(Error::value(
            format!("{} is not a certificate in PEM", path.display()),
            "give the cluster's CA, such as /etc/kubernetes/pki/ca.crt of a control plane",
        )),
    }
}

fn hash_public_key(der: Option<Vec<u8>>) -> Option<String> {
    let certificate = Certificate::from_der(&der?).ok()?;
    let key = certificate.tbs_certificate.subject_public_key_info.to_der();
    Some(format!("sha256:{}", sha256_hex(&key.ok()?)))
}
