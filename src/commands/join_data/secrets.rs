//! Secrets of a join, from where no other user sees them.

use std::env;
use std::path::Path;

use crate::base::secret::Secret;
use crate::cli::JoinDataArgs;
use crate::diagnostic::{Error, Result};
use crate::io::fs;
use crate::join::{BootstrapToken, Secrets, refuse_input};

/// No token, however much a pipe holds.
const TOKEN_LIMIT: u64 = 4096;

/// A kubeconfig for discovery has one cluster; the parsed text takes two hundred times its room.
const KUBECONFIG_LIMIT: u64 = 256 << 10;

/// # Errors
/// A secret cannot be read, or was given as an argument.
pub fn read_secrets(args: &JoinDataArgs) -> Result<Secrets> {
    if args.token.is_some() {
        return Err(Error::usage(
            "`--token` is refused: every user of this machine can see arguments",
            "revoke that token (`kubeadm token delete`), and give a new one with `--token-env NAME` or \
             `--token-file PATH` (`-` is stdin)",
        ));
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
        return Err(Error::value(
            message,
            "give the kubeconfig of `cluster-info`",
        ));
    }
    Ok(Secret::new(bytes))
}

fn read_variable(name: &str) -> Result<Vec<u8>> {
    match env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value.into_bytes()),
        // A token in the place of a name must not be repeated.
        _ if BootstrapToken::parse(name).is_ok() => Err(Error::usage(
            "`--token-env` expects the name of a variable, found a token",
            "revoke that token (`kubeadm token delete`): it was an argument",
        )),
        _ => Err(Error::value(
            format!("the environment variable `{name}` is not set"),
            "set it, or use `--token-file PATH`",
        )),
    }
}
