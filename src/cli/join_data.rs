//! `imagegen join-data`.

use std::path::PathBuf;

use clap::Args;

use crate::base::choice::Runtime;
use crate::io::fs::OutputFile;
use crate::join::Form;

use super::PolicyArgs;
use super::selection::accept_output_file;

#[derive(Debug, Args)]
pub struct JoinDataArgs {
    /// Image definition, lockfile or workspace [default: imagegen.json in the working folder, if it exists].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Kubernetes version of the image [default: stable].
    #[arg(long, value_name = "VERSION")]
    pub k8s: Option<String>,

    /// Container runtime of the image: `containerd` or `docker`.
    #[arg(long)]
    pub runtime: Option<Runtime>,

    /// Read the input from this JSON file; flags override it. The file must not contain secrets.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Address of the cluster's API server.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Cluster")]
    pub endpoint: Option<String>,

    /// Hash of the public key of the cluster's CA, as `sha256:…`. Repeatable.
    #[arg(long, value_name = "HASH", help_heading = "Cluster")]
    pub ca_cert_hash: Vec<String>,

    /// CA certificate of the cluster in PEM, from which the hash is computed.
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub ca_cert: Option<PathBuf>,

    /// Kubeconfig with endpoint and CA, which becomes part of the data.
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub discovery_kubeconfig: Option<PathBuf>,

    /// Timeout of kubeadm's cluster discovery, such as `5m0s`.
    #[arg(long, value_name = "DURATION", help_heading = "Cluster")]
    pub discovery_timeout: Option<String>,

    /// Read the bootstrap token from this environment variable.
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Cluster",
        conflicts_with = "token_file"
    )]
    pub token_env: Option<String>,

    /// Read the bootstrap token from this file; `-` is stdin.
    #[arg(long, value_name = "PATH", help_heading = "Cluster")]
    pub token_file: Option<PathBuf>,

    /// Refused: an argument is seen by every user of the machine.
    #[arg(long, hide = true)]
    pub token: Option<String>,

    /// Name of the node [default: name of the machine].
    #[arg(long, help_heading = "Node")]
    pub name: Option<String>,

    /// Label of the node. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Node")]
    pub label: Vec<String>,

    /// Taint of the node. Repeatable.
    #[arg(long, value_name = "KEY=VALUE:EFFECT", help_heading = "Node")]
    pub taint: Vec<String>,

    /// Argument of the kubelet, without leading dashes. Repeatable.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Node")]
    pub kubelet_arg: Vec<String>,

    /// Preflight check of kubeadm whose errors are ignored. Repeatable.
    #[arg(long, value_name = "CHECK", help_heading = "Node")]
    pub ignore_preflight_error: Vec<String>,

    /// Form of the output.
    #[arg(
        long = "as",
        value_name = "FORM",
        default_value = "kubeadm",
        help_heading = "Output"
    )]
    pub form: Form,

    /// API version of the template of `--as capi` [default: the newest one that Cluster API serves].
    #[arg(long, value_name = "VERSION", help_heading = "Output")]
    pub template_api: Option<String>,

    /// Join under the execution policy `AllSigned`, for images whose policy has `signedScripts`.
    #[arg(long, help_heading = "Output")]
    pub signed_scripts: bool,

    /// Write to this file, readable only by its owner [default: stdout].
    #[arg(long, value_name = "FILE", value_parser = accept_output_file(), help_heading = "Output")]
    pub out: Option<OutputFile>,

    #[command(flatten)]
    pub policy: PolicyArgs,
}
