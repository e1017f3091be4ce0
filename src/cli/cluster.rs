//! `imagegen cluster-manifests` and `imagegen conformance`.

use std::path::PathBuf;

use clap::Args;

use crate::base::choice::{HostAccess, Runtime};
use crate::base::value::{Cidr, DnsName, Ipv4Address};
use crate::base::version::Version;
use crate::cluster::{DOMAIN, FLANNEL_NAMESPACE, POD_NETWORK};
use crate::model::definition::SERVICE_NETWORK;

use super::{PolicyArgs, parse_component, parse_pair};

/// The nodes and networks of the cluster.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Image definition, or the lockfile or workspace of an image, which must fit the cluster [default: imagegen.json in
    /// the working folder, if it exists].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Kubernetes version: `1.20`, `1.20.0` or `stable` [default: stable].
    #[arg(long, value_name = "VERSION")]
    pub k8s: Option<String>,

    /// Container runtime of the nodes: `containerd` or `docker`.
    #[arg(long)]
    pub runtime: Option<Runtime>,

    /// Pod network of the cluster, as for `build` [default: that of `build`].
    #[arg(long, value_name = "NETWORK")]
    pub cni: Option<String>,

    /// How agents access the host: `hostprocess`, `wins` or `services`.
    #[arg(long, value_name = "ACCESS")]
    pub host_access: Option<HostAccess>,

    /// Version of a component in the image. Repeatable.
    #[arg(long, value_name = "NAME=VERSION", value_parser = parse_component)]
    pub component: Vec<(String, Version)>,

    /// Address of the API server for the nodes.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Network")]
    pub endpoint: Option<String>,

    /// Network of the pods.
    #[arg(
        long,
        value_name = "NETWORK",
        default_value = POD_NETWORK,
        help_heading = "Network"
    )]
    pub pod_subnet: Cidr,

    /// Network of the services.
    #[arg(
        long,
        value_name = "NETWORK",
        default_value = SERVICE_NETWORK,
        help_heading = "Network"
    )]
    pub service_subnet: Cidr,

    /// Network of the nodes. Repeatable.
    #[arg(long, value_name = "NETWORK", help_heading = "Network")]
    pub node_subnet: Vec<Cidr>,

    /// Address of the cluster's DNS service [default: the tenth address of the service network].
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    pub dns: Option<Ipv4Address>,

    /// DNS domain of the cluster.
    #[arg(
        long,
        value_name = "NAME",
        default_value = DOMAIN,
        help_heading = "Network"
    )]
    pub domain: DnsName,

    /// HNS network of the pods, if the pod network does not determine it.
    #[arg(long, value_name = "NAME", help_heading = "Network")]
    pub hns_network: Option<String>,

    /// Namespace of flannel.
    #[arg(
        long,
        value_name = "NAME",
        default_value = FLANNEL_NAMESPACE,
        help_heading = "Network"
    )]
    pub flannel_namespace: String,

    #[command(flatten)]
    pub policy: PolicyArgs,
}

#[derive(Debug, Args)]
pub struct ClusterManifestsArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// Container image to use instead of the catalog's. Repeatable.
    #[arg(long = "image", value_name = "NAME=REFERENCE", value_parser = parse_pair, help_heading = "Manifests")]
    pub images: Vec<(String, String)>,

    /// Service account whose pods may mount named pipes of the host, such as that of a CSI driver. Repeatable.
    #[arg(long, value_name = "NAMESPACE:NAME", help_heading = "Manifests")]
    pub pipe_account: Vec<String>,

    /// Optional manifests to include: csi-proxy, hypervisor. Repeatable.
    #[arg(long, value_name = "WHAT", help_heading = "Manifests")]
    pub with: Vec<String>,

    /// Directory to write; its folders are applied by themselves: `linux`, `samples`, `smoke` [default: stdout, without
    /// these folders].
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ConformanceArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
}
