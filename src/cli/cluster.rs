//! What a user types after `cluster-manifests` and `conformance`.

use std::path::PathBuf;

use clap::Args;

use crate::model::choice::{Cni, HostAccess, Runtime};
use crate::model::version::Version;

use super::{component, pair};

/// Which nodes the cluster has.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Image definition; `imagegen.json` in the working folder where there is one.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Kubernetes version: `1.20`, `1.20.0` or `stable` [default: stable].
    #[arg(long, value_name = "VERSION")]
    pub k8s: Option<String>,

    /// Container runtime of the nodes: `containerd` or `docker`.
    #[arg(long)]
    pub runtime: Option<Runtime>,

    /// Pod network of the cluster, as for `build` [default: none].
    #[arg(long)]
    pub cni: Option<Cni>,

    /// How agents reach the host: `hostprocess`, `wins` or `services`.
    #[arg(long, value_name = "ACCESS")]
    pub host_access: Option<HostAccess>,

    /// Version of a component of the image. Repeatable.
    #[arg(long, value_name = "NAME=VERSION", value_parser = component)]
    pub component: Vec<(String, Version)>,

    /// `HOST:PORT` of the API server, as nodes reach it.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Network")]
    pub endpoint: Option<String>,

    #[arg(long, value_name = "NETWORK", default_value = "10.244.0.0/16", help_heading = "Network")]
    pub pod_subnet: String,

    #[arg(long, value_name = "NETWORK", default_value = "10.96.0.0/12", help_heading = "Network")]
    pub service_subnet: String,

    /// Network of the nodes. Repeatable.
    #[arg(long, value_name = "NETWORK", help_heading = "Network")]
    pub node_subnet: Vec<String>,

    /// Address of the cluster's DNS [default: the tenth of the service network].
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    pub dns: Option<String>,

    #[arg(long, value_name = "NAME", default_value = "cluster.local", help_heading = "Network")]
    pub domain: String,

    /// HNS network of the pods, where the pod network does not tell.
    #[arg(long, value_name = "NAME", help_heading = "Network")]
    pub hns_network: Option<String>,

    /// Namespace of flannel.
    #[arg(long, value_name = "NAME", default_value = "kube-flannel", help_heading = "Network")]
    pub flannel_namespace: String,
}

#[derive(Debug, Args)]
pub struct ClusterManifestsArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// Image of the manifests in the place of the catalog's. Repeatable.
    #[arg(long = "image", value_name = "NAME=REFERENCE", value_parser = pair, help_heading = "Manifests")]
    pub images: Vec<(String, String)>,

    /// Keep the nodes' route to their cloud's metadata service when flannel makes its network.
    #[arg(long, help_heading = "Manifests")]
    pub metadata_route: bool,

    /// Account whose pods may mount pipes of the host, such as a CSI driver's. Repeatable.
    #[arg(long, value_name = "NAMESPACE:NAME", help_heading = "Manifests")]
    pub pipe_account: Vec<String>,

    /// Take along what is not always wanted: csi-proxy, hypervisor. Repeatable.
    #[arg(long, value_name = "WHAT", help_heading = "Manifests")]
    pub with: Vec<String>,

    /// Directory to write; smoke workloads lie in its folder `smoke` [default: stdout, one stream, without smoke].
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,

    /// Replace the directory whatever it holds.
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct ConformanceArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
}
