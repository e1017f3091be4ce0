//! Signing by the program `osslsigncode`, and the outcome held against our own verifier.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::end_lines_with_crlf;
use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::base::text::indent_lines;
use crate::diagnostic::{Classify, ErrorClass, Result};
use crate::io::exec::{self, ExecError, Printed, Run};
use crate::io::fs::{self, FileError, Scratch};
use crate::verify::ProofError;
use crate::verify::authenticode::{SignatureDemand, unsigned_script, verify_signer};

/// The program that signs.
pub const PROGRAM: &str = "osslsigncode";

/// So many lines of a signer that failed are shown.
const LAST_LINES: usize = 12;

/// The key to sign with. Secrets reach the signer through files and pipes alone.
#[derive(Debug, Clone)]
pub struct Key {
    pub key: PathBuf,
    /// The signer's certificate, then the authorities that its signatures are to carry.
    pub certificates: PathBuf,
    pub passphrase: Option<Secret>,
    /// RFC 3161.
    pub timestamp: Option<String>,
}

/// Reason why a key cannot sign, and what to do about it.
#[derive(Debug)]
pub struct SignerFault {
    message: String,
    remedy: String,
}

#[derive(Debug, thiserror::Error)]
pub enum SignError {
    #[error("`{PROGRAM}` is not on the PATH")]
    NoProgram,
    #[error("{file}: {PROGRAM} failed{}", indent_lines(.last))]
    Failed { file: String, last: Vec<String> },
    /// The key or the certificate cannot sign.
    #[error("{}", .0.message)]
    Signer(SignerFault),
    #[error("{file}: {error} [{}]", .error.code)]
    Proof { file: String, error: ProofError },
    #[error("interrupted; no script was changed")]
    Interrupted,
    #[error(transparent)]
    Exec(#[from] ExecError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Classify for SignError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::File(error) => error.class(),
            _ => self.code().class(),
        }
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::NoProgram => vec![
                "install osslsigncode (`apt-get install osslsigncode`), or hand the folder to your own signer"
                    .to_owned(),
            ],
            Self::Signer(fault) => vec![fault.remedy.clone()],
            Self::Proof { error, .. } if error.code == Code::UNTRUSTED_ROOT => {
                vec!["give the root of the certificate: `--root FILE`".to_owned()]
            }
            _ => Vec::new(),
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Proof { error, .. } => error.code,
            Self::Signer(_) => Code::VALUE,
            Self::NoProgram | Self::Failed { .. } => Code::TOOL_FAILED,
            Self::Exec(error) => error.code(),
            Self::File(error) => error.code(),
            Self::Interrupted => Code::INTERRUPTED,
        }
    }
}

/// Signs scripts; existing signatures are replaced. Writes nothing: the caller gets all scripts or none.
///
/// # Errors
/// There is no signer, it refuses a script, or its signature is invalid.
pub fn sign_scripts(
    files: &BTreeMap<String, Vec<u8>>,
    key: &Key,
    demand: &SignatureDemand,
) -> Result<BTreeMap<String, Vec<u8>>, SignError> {
    let program = exec::find_program(PROGRAM).ok_or(SignError::NoProgram)?;
    let scratch = Scratch::new("sign")?;
    let mut result = BTreeMap::new();
    for (path, bytes) in files {
        let unsigned = unsigned_script(bytes).map_err(|error| proof_error(path, error))?;
        let bare = end_lines_with_crlf(&unsigned);
        let made = sign_script(&program, path, &bare, key, scratch.path())?;
        check_made_script(path, &made, &bare, demand).map_err(|error| proof_error(path, error))?;
        result.insert(path.clone(), made);
    }
    Ok(result)
}

/// Neither a signer that failed in silence nor one that touched the script goes on from here.
fn check_made_script(
    path: &str,
    made: &[u8],
    bare: &[u8],
    demand: &SignatureDemand,
) -> Result<(), ProofError> {
    verify_signer(path, made.to_vec(), demand)?;
    if unsigned_script(made)? != bare {
        let message = "the signer changed the script itself";
        return Err(ProofError::new(Code::SCRIPT_CHANGED, message));
    }
    Ok(())
}

fn proof_error(path: &str, error: ProofError) -> SignError {
    SignError::Proof {
        file: path.to_owned(),
        error,
    }
}

fn sign_script(
    program: &Path,
    path: &str,
    bare: &[u8],
    key: &Key,
    folder: &Path,
) -> Result<Vec<u8>, SignError> {
    let end = path.rsplit_once('.').map_or("ps1", |(_, end)| end);
    let (input, output) = (
        folder.join(format!("in.{end}")),
        folder.join(format!("out.{end}")),
    );
    fs::write_file(&input, bare)?;
    fs::remove_if_exists(&output)?;
    let run = Run {
        input: key.passphrase.clone(),
        ..Run::new(program, build_arguments(key, &input, &output))
    };
    let printed = exec::collect_lines(&run, |_| ())?;
    if printed.outcome.interrupted {
        return Err(SignError::Interrupted);
    }
    match fs::read_if_exists(&output)? {
        Some(made) if printed.outcome.success => Ok(made),
        _ => Err(match find_signer_fault(key, &printed) {
            Some(fault) => SignError::Signer(fault),
            None => SignError::Failed {
                file: path.to_owned(),
                last: list_last_lines(printed),
            },
        }),
    }
}

/// The fault of a key, by what osslsigncode and OpenSSL print of it.
fn find_signer_fault(key: &Key, printed: &Printed) -> Option<SignerFault> {
    let has = |text: &str| printed.lines.iter().any(|(_, line)| line.contains(text));
    let (file, certificates) = (key.key.display(), key.certificates.display());
    if has("signing not supported for this key type") {
        return Some(SignerFault {
            message: format!("`--key`: {file} has a kind of key that Authenticode does not have"),
            remedy: "use a key of RSA or of ECDSA, with a certificate for it".to_owned(),
        });
    }
    if has("consistency of a private key") {
        return Some(SignerFault {
            message: format!(
                "`--key`: {file} is not the key of a certificate in {certificates} (`--certificate`)"
            ),
            remedy: "name the key and the certificate of one signer".to_owned(),
        });
    }
    if !has("Failed to decode private key file") {
        return None;
    }
    let wrong_passphrase =
        key.passphrase.is_some() && (has("bad decrypt") || has("wrong password"));
    Some(if wrong_passphrase {
        SignerFault {
            message: format!("`--key`: the passphrase is not that of {file}"),
            remedy: "check the variable that `--passphrase-env` names".to_owned(),
        }
    } else {
        SignerFault {
            message: format!("`--key`: {file} is no private key in PEM"),
            remedy:
                "name the signer's private key, which begins with `-----BEGIN … PRIVATE KEY-----`"
                    .to_owned(),
        }
    })
}

fn list_last_lines(printed: Printed) -> Vec<String> {
    let mut lines = printed.into_lines();
    lines.retain(|line| !line.trim().is_empty());
    let last = lines.split_off(lines.len().saturating_sub(LAST_LINES));
    last.iter().map(|line| line.trim().to_owned()).collect()
}

fn build_arguments(key: &Key, input: &Path, output: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["sign", "-h", "sha256", "-certs"]
        .map(OsString::from)
        .into();
    arguments.push(key.certificates.clone().into());
    arguments.extend(["-key".into(), key.key.clone().into()]);
    if key.passphrase.is_some() {
        // By its path every version reads it from the pipe; `-` is newer.
        arguments.extend([
            "-readpass".into(),
            if cfg!(unix) { "/dev/stdin" } else { "-" }.into(),
        ]);
    }
    if let Some(url) = &key.timestamp {
        arguments.extend(["-ts".into(), url.into()]);
    }
    arguments.extend(["-in".into(), input.into(), "-out".into(), output.into()]);
    arguments
}

/// Requirements of a new signature: it belongs to the given certificate, which chains to itself, to one of its
/// intermediates, or to a given root.
///
/// # Errors
/// A file contains no certificates.
pub fn build_demand(
    key: &Key,
    own: Option<&Path>,
    mut demand: SignatureDemand,
) -> Result<SignatureDemand> {
    let given = crate::verify::chain::parse_roots(&fs::read_file(&key.certificates)?)?;
    let leaf = given
        .first()
        .map(|leaf| leaf.sha256.clone())
        .unwrap_or_default();
    demand.certificates = vec![leaf];
    demand.roots.extend(given);
    if let Some(file) = own {
        let own = crate::verify::chain::parse_roots(&fs::read_file(file)?)?;
        demand.timestamp_roots.extend(own.iter().cloned());
        demand.roots.extend(own);
    }
    Ok(demand)
}
