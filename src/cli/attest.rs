//! Arguments of `imagegen attest`.

use std::path::PathBuf;

use clap::Args;

use crate::base::value::Sha256;

#[derive(Debug, Args)]
pub struct AttestArgs {
    /// Workspace with an image, folder of a record (`builds/VERSION`), or an `image.json` in one of them.
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,

    /// Folder for the statements and sigstore bundles [default: `attestations` beside `image.json`].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Private key on P-256 in PEM, without a password.
    #[arg(long, value_name = "FILE", conflicts_with = "sign_command")]
    pub key: Option<PathBuf>,

    /// Program with arguments that signs a file with ECDSA or RSA (PKCS #1 v1.5) over SHA-256, and prints the signature
    /// in base64 alone; `{}` stands for the file, which is the last argument otherwise. For keys in hardware and in a
    /// cloud.
    #[arg(long, value_name = "COMMAND", requires = "public_key")]
    pub sign_command: Option<String>,

    /// Public key of `--sign-command`, in PEM.
    #[arg(long, value_name = "FILE", requires = "sign_command")]
    pub public_key: Option<PathBuf>,

    /// URI of the builder in the provenance, without user, query and fragment [default: the server of the pipeline's run].
    #[arg(long, value_name = "URI")]
    pub builder_id: Option<String>,

    /// SHA-256 of the image's record, as `imagegen build` printed it; another record is refused.
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<Sha256>,
}
