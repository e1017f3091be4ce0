//! `imagegen verify`.

use std::path::PathBuf;

use clap::Args;

use crate::base::value::{Sha256, Sha512};

use super::{MirrorArgs, NetworkArgs, PolicyArgs};

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// File or URL to verify; lockfiles, workspaces and bundles are verified with their contents.
    pub file: String,

    /// Expected SHA-256.
    #[arg(long, value_name = "HEX", help_heading = "Proofs")]
    pub sha256: Option<Sha256>,
    /// Expected SHA-512.
    #[arg(long, value_name = "HEX", help_heading = "Proofs")]
    pub sha512: Option<Sha512>,
    /// Checksum file that lists the file (path or URL).
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub checksums: Option<String>,
    /// Detached signature of cosign, minisign or OpenPGP (detected by content), or a file written by
    /// `lock --proofs` from a signature and its certificate.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub signature: Option<String>,
    /// Public key or keyring for the signature (path or URL).
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub key: Option<String>,
    /// Short-lived certificate of the signature, as published by Kubernetes.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub certificate: Option<String>,
    /// Sigstore bundle of the file, or provenance that lists the file.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub bundle: Option<String>,
    /// Sigstore bundle of a statement about an image, as `imagegen attest` and `cosign attest-blob` write it; FILE is a
    /// file of the image, its `image.json` or its workspace. With `--key`, or `--identity` and `--issuer`; with `--lock`
    /// and `--policy`, what the image was made of is judged as well. Repeatable.
    #[arg(
        long,
        value_name = "BUNDLE",
        conflicts_with_all = [
            "checksums", "signature", "certificate", "bundle", "proofs", "authenticode", "at",
        ],
        help_heading = "Proofs"
    )]
    pub attestation: Vec<PathBuf>,
    /// Folder written by `lock --proofs`, to verify the signers of a lockfile again.
    #[arg(long, alias = "bundles", value_name = "DIR", help_heading = "Proofs")]
    pub proofs: Option<PathBuf>,
    /// Expected signer: email address, URI, or fingerprint of an OpenPGP key.
    #[arg(long, value_name = "NAME", help_heading = "Proofs")]
    pub identity: Option<String>,
    /// Expected OIDC issuer of the signer's identity.
    #[arg(long, value_name = "URL", help_heading = "Proofs")]
    pub issuer: Option<String>,
    /// Require a valid Authenticode signature of the file, or of each `--member`.
    #[arg(long, help_heading = "Proofs")]
    pub authenticode: bool,
    /// Expected publisher of the Authenticode signature: `O=…,CN=…`.
    #[arg(
        long,
        value_name = "NAME",
        requires = "authenticode",
        help_heading = "Proofs"
    )]
    pub publisher: Option<String>,
    /// Root certificates in PEM for Authenticode, instead of the built-in roots; timestamps may be by both.
    #[arg(
        long,
        value_name = "FILE",
        requires = "authenticode",
        help_heading = "Proofs"
    )]
    pub root: Option<PathBuf>,
    /// Glob of archive members to verify. Repeatable.
    #[arg(
        long,
        value_name = "GLOB",
        requires = "authenticode",
        help_heading = "Proofs"
    )]
    pub member: Vec<String>,
    /// Reviewed lockfile; the lockfile of the workspace, bundle or image must be the same.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub lock: Option<PathBuf>,
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub mirrors: MirrorArgs,
    /// Verification time, as seconds since 1970 or `2026-01-31T00:00:00Z` [default: now].
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub at: Option<u64>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

fn parse_time(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    text.parse::<der::DateTime>()
        .map(|time| time.unix_duration().as_secs())
        .map_err(|_| "write it as seconds since 1970 or as 2026-01-31T00:00:00Z".to_owned())
}
