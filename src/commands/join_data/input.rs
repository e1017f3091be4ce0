//! Inputs of `join-data`: input file, flags, and secrets from where no other user sees them.

use std::env;
use std::path::Path;

use serde_json::Value;
use x509_cert::Certificate;
use x509_cert::der::{DecodePem as _, Encode as _};

use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::secret::Secret;
use crate::cli::JoinDataArgs;
use crate::diagnostic::{InputError, InternalError, Result, UsageError};
use crate::io::fs;
use crate::join::{BootstrapToken, JoinInput, Places, Secrets, refuse_input};

use crate::catalog::Trees;

/// No token, however much a pipe holds.
const TOKEN_LIMIT: u64 = 4096;

/// A kubeconfig for discovery has one cluster; the parsed text takes two hundred times its room.
const KUBECONFIG_LIMIT: u64 = 256 << 10;

/// # Errors
/// The provisioners name no paths for the join.
pub fn read_places(trees: &Trees, signed: bool) -> Result<Places> {
    Places::from_paths(&trees.read_paths()?, signed).ok_or_else(|| {
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
                return Err(InputError::new(message, remedy).into());
            }
            json::parse_json(&file, &bytes)?
        }
        None => JoinInput::default(),
    };
    let mut ca_cert_hashes = args.ca_cert_hash.clone();
    if let Some(path) = &args.ca_cert {
        ca_cert_hashes.push(hash_public_key(path)?);
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
        ignore_preflight_errors: args.ignore_preflight_error.clone(),
        discovery_timeout: args.discovery_timeout.clone(),
    };
    Ok(flags.merge_over(base))
}

/// SHA-256 over the certificate's SubjectPublicKeyInfo, as kubeadm pins it.
fn hash_public_key(path: &Path) -> Result<String> {
    match encode_public_key(&fs::read_text(path)?) {
        Ok(key) => Ok(format!("sha256:{}", sha256_hex(&key))),
        Err(why) => Err(InputError::new(
            format!("{} is not a certificate in PEM: {why}", path.display()),
            "give the cluster's CA, such as /etc/kubernetes/pki/ca.crt of a control plane",
        )
        .into()),
    }
}

fn encode_public_key(pem: &[u8]) -> x509_cert::der::Result<Vec<u8>> {
    let certificate = Certificate::from_pem(pem)?;
    certificate.tbs_certificate.subject_public_key_info.to_der()
}

/// # Errors
/// A secret cannot be read, or was given as an argument.
pub fn read_secrets(args: &JoinDataArgs) -> Result<Secrets> {
    if args.token.is_some() {
        return Err(UsageError::new(
            "`--token` is refused: every user of this machine can see arguments",
            "revoke that token (`kubeadm token delete`), and give a new one with `--token-env NAME` or \
             `--token-file PATH` (`-` is stdin)",
        )
        .into());
    }
    let text = match (&args.token_env, &args.token_file) {
        (Some(name), _) => Some(read_variable(name)?),
        (None, Some(path)) if path == Path::new("-") => Some(fs::read_stdin(TOKEN_LIMIT)?),
        (None, Some(path)) => Some(fs::read_text(path)?),
        (None, None) => None,
    };
    let token = text
        .map(|bytes| BootstrapToken::parse(&String::from_utf8_lossy(&bytes)))
        .transpose()
        .map_err(|problem| refuse_input(vec![problem]))?;
    let kubeconfig = args
        .discovery_kubeconfig
        .as_deref()
        .map(read_kubeconfig)
        .transpose()?;
    Ok(Secrets { token, kubeconfig })
}

fn read_kubeconfig(path: &Path) -> Result<Secret> {
    let bytes = fs::read_head(path, KUBECONFIG_LIMIT + 1)?;
    if bytes.len() as u64 > KUBECONFIG_LIMIT {
        let message = format!(
            "{} is larger than {} KiB",
            path.display(),
            KUBECONFIG_LIMIT >> 10
        );
        return Err(InputError::new(message, "give the kubeconfig of `cluster-info`").into());
    }
    Ok(Secret::new(bytes))
}

fn read_variable(name: &str) -> Result<Vec<u8>> {
    match env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value.into_bytes()),
        // A token in the place of a name must not be repeated.
        _ if BootstrapToken::parse(name).is_ok() => Err(UsageError::new(
            "`--token-env` expects the name of a variable, found a token",
            "revoke that token (`kubeadm token delete`): it was an argument",
        )
        .into()),
        _ => Err(InputError::new(
            format!("the environment variable `{name}` is not set"),
            "set it, or use `--token-file PATH`",
        )
        .into()),
    }
}
