//! `imagegen join-data`.

use std::env;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use x509_cert::Certificate;
use x509_cert::der::{DecodePem as _, Encode as _};

use crate::cli::{JoinDataArgs, SelectionArgs};
use crate::diagnostic::{Error, InternalError, Result, UsageError};
use crate::embedded::sha256;
use crate::io::fs;
use crate::join::{Form, JoinError, JoinInput, Places, Secrets, Token, join};
use crate::model::json;
use crate::ui::Printer;

use crate::catalog::Trees;
use crate::selection::{read_trees, resolve_node_plan};

/// No token, however much a pipe holds.
const TOKEN_LIMIT: u64 = 4096;

/// What `join-data --format json` prints.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinOutput {
    pub kubernetes: String,
    pub api_version: String,
    pub form: Form,
    pub warnings: Vec<String>,
    /// Holds secrets; absent where it was written to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

pub(super) fn join_data(args: &JoinDataArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let trees = read_trees(manifests)?;
    let secrets = secrets(args)?;
    let input = input(args)?;
    let selection = SelectionArgs {
        config: args.config.clone(),
        k8s: args.k8s.clone(),
        runtime: args.runtime,
        ..SelectionArgs::default()
    };
    let plan = resolve_node_plan(&selection, &trees)?;
    let data =
        join(&input, &secrets, args.form, &plan, &trees.catalog, &places(&trees, args.signed_scripts)?)?;
    for warning in &data.warnings {
        printer.warning(warning);
    }
    let mut output = JoinOutput {
        kubernetes: plan.kubernetes.to_string(),
        api_version: data.api_version,
        form: args.form,
        warnings: data.warnings,
        content: None,
        file: None,
    };
    let Some(path) = &args.out else {
        output.content = Some(data.content.clone());
        return printer.result(&output, || data.content);
    };
    fs::write_secret(path, data.content.as_bytes())?;
    output.file = Some(path.display().to_string());
    printer.result(&output, || {
        format!("{}: {} for Kubernetes {}\n", path.display(), output.api_version, plan.kubernetes)
    })
}

fn places(trees: &Trees, signed: bool) -> Result<Places> {
    let paths: Value = trees.provisioners.json("paths.json")?.unwrap_or_default();
    Places::from_paths(&paths, signed)
        .ok_or_else(|| InternalError("provisioners/paths.json names no place for the join".to_owned()).into())
}

fn input(args: &JoinDataArgs) -> Result<JoinInput> {
    let base = match &args.from {
        Some(path) => {
            let bytes = fs::read(path)?;
            let file = path.display().to_string();
            if json::parse::<Value>(&file, &bytes)?.get("token").is_some() {
                return Err(usage(
                    format!("{file} holds a `token`: the input file is no place for a secret"),
                    "take it out, and give the token with `--token-env NAME` or `--token-file PATH`",
                ));
            }
            json::parse(&file, &bytes)?
        }
        None => JoinInput::default(),
    };
    let mut ca_cert_hashes = args.ca_cert_hash.clone();
    if let Some(path) = &args.ca_cert {
        ca_cert_hashes.push(public_key_hash(path)?);
    }
    let flags = JoinInput {
        schema: None,
        endpoint: args.endpoint.clone(),
        ca_cert_hashes,
        name: args.name.clone(),
        labels: args.label.clone(),
        taints: args.taint.clone(),
        kubelet_args: args.kubelet_arg.clone(),
        ignore_preflight_errors: args.ignore_preflight_error.clone(),
        discovery_timeout: args.discovery_timeout.clone(),
    };
    Ok(flags.over(base))
}

/// SHA-256 over the certificate's SubjectPublicKeyInfo, as kubeadm pins it.
fn public_key_hash(path: &Path) -> Result<String> {
    let wrong = |why: String| {
        usage(
            format!("{} is no certificate in PEM: {why}", path.display()),
            "give the cluster's CA, such as /etc/kubernetes/pki/ca.crt of a control plane",
        )
    };
    let certificate = Certificate::from_pem(fs::read(path)?).map_err(|error| wrong(error.to_string()))?;
    let key = certificate.tbs_certificate.subject_public_key_info.to_der();
    Ok(format!("sha256:{}", sha256(&key.map_err(|error| wrong(error.to_string()))?)))
}

fn secrets(args: &JoinDataArgs) -> Result<Secrets> {
    if args.token.is_some() {
        return Err(usage(
            "`--token` is refused: an argument is seen by every user of this machine".to_owned(),
            "revoke that token (`kubeadm token delete`), and give a new one with `--token-env NAME` or \
             `--token-file PATH` (`-` is stdin)",
        ));
    }
    let text = match (&args.token_env, &args.token_file) {
        (Some(name), _) => Some(from_environment(name)?),
        (None, Some(path)) if path == Path::new("-") => Some(fs::read_stdin(TOKEN_LIMIT)?),
        (None, Some(path)) => Some(fs::read(path)?),
        (None, None) => None,
    };
    let token = text
        .map(|bytes| Token::parse(&String::from_utf8_lossy(&bytes)))
        .transpose()
        .map_err(|problem| JoinError::Refused(vec![problem]))?;
    let kubeconfig = args.discovery_kubeconfig.as_deref().map(fs::read).transpose()?;
    Ok(Secrets { token, kubeconfig })
}

fn from_environment(name: &str) -> Result<Vec<u8>> {
    match env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value.into_bytes()),
        // A token in the place of a name must not be repeated.
        _ if Token::parse(name).is_ok() => Err(usage(
            "`--token-env` takes the name of a variable, and was given a token".to_owned(),
            "revoke that token (`kubeadm token delete`): it was an argument",
        )),
        _ => Err(usage(
            format!("the environment variable `{name}` is not set"),
            "set it, or use `--token-file PATH`",
        )),
    }
}

fn usage(message: String, hint: &str) -> Error {
    UsageError { message, remedy: Some(hint.to_owned()) }.into()
}
