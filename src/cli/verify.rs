//! `imagegen verify`.

use std::path::PathBuf;

use clap::Args;

use crate::model::value::{Sha256, Sha512};

use super::NetworkArgs;

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// File or URL; a lockfile, workspace or bundle is verified as a whole.
    pub file: String,

    /// Its SHA-256 must be this.
    #[arg(long, value_name = "HEX", help_heading = "Proofs")]
    pub sha256: Option<Sha256>,
    /// Its SHA-512 must be this.
    #[arg(long, value_name = "HEX", help_heading = "Proofs")]
    pub sha512: Option<Sha512>,
    /// Checksum file that must name it, as file or URL.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub checksums: Option<String>,
    /// Detached signature over it: cosign's, minisign's or OpenPGP's, by what it looks like; or the file that
    /// `lock --bundles` made of a signature with its certificate.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub signature: Option<String>,
    /// Public key or keyring of the signature, as file or URL.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub key: Option<String>,
    /// Short-lived certificate beside a signature, as Kubernetes publishes it.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub certificate: Option<String>,
    /// Sigstore bundle over it, or provenance that names it.
    #[arg(long, value_name = "FILE", help_heading = "Proofs")]
    pub bundle: Option<String>,
    /// Of a lockfile: folder of `lock --bundles`; every signer is proven again by the locked digests.
    #[arg(long, value_name = "DIR", help_heading = "Proofs")]
    pub bundles: Option<PathBuf>,
    /// Signer: e-mail, URI, or fingerprint of an OpenPGP key.
    #[arg(long, value_name = "NAME", help_heading = "Proofs")]
    pub identity: Option<String>,
    /// Who vouched for the signer.
    #[arg(long, value_name = "URL", help_heading = "Proofs")]
    pub issuer: Option<String>,
    /// It, or each `--member`, must carry a good Authenticode signature.
    #[arg(long, help_heading = "Proofs")]
    pub authenticode: bool,
    /// Publisher of the Authenticode signature: `O=…,CN=…`.
    #[arg(long, value_name = "NAME", requires = "authenticode", help_heading = "Proofs")]
    pub publisher: Option<String>,
    /// Certificates in PEM that Authenticode chains may end in, in the place of the built-in ones.
    #[arg(long, value_name = "FILE", requires = "authenticode", help_heading = "Proofs")]
    pub root: Option<PathBuf>,
    /// Members of an archive, by glob. Repeatable.
    #[arg(long, value_name = "GLOB", requires = "authenticode", help_heading = "Proofs")]
    pub member: Vec<String>,
    /// Time of the check, as seconds since 1970 or `2026-01-31T00:00:00Z` [default: now].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub at: Option<u64>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

impl VerifyArgs {
    /// Whether a proof, or anything about one, is named.
    #[must_use]
    pub fn names_proof(&self) -> bool {
        let named = [
            self.sha256.is_some(),
            self.sha512.is_some(),
            self.checksums.is_some(),
            self.signature.is_some(),
            self.key.is_some(),
            self.certificate.is_some(),
            self.bundle.is_some(),
            self.identity.is_some(),
            self.issuer.is_some(),
            self.publisher.is_some(),
            self.root.is_some(),
            self.authenticode,
            !self.member.is_empty(),
        ];
        named.contains(&true)
    }
}

fn time(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    text.parse::<der::DateTime>()
        .map(|time| time.unix_duration().as_secs())
        .map_err(|_| "write it as seconds since 1970 or as 2026-01-31T00:00:00Z".to_owned())
}
