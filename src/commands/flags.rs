//! Flags as the stages take them. The command line's own types end here.

use std::collections::{BTreeMap, BTreeSet};

use crate::acquire::NetworkOptions;
use crate::base::url::HttpUrl;
use crate::base::value::Registry;
use crate::cli::{
    ClusterArgs, HistoryPlaceArgs, LockUseArgs, MirrorArgs, NetworkArgs, PolicyArgs, SelectionArgs,
    SourceArgs,
};
use crate::cluster::ClusterInput;
use crate::diagnostic::Result;
use crate::model::definition::{ImageDefinition, Proxy};
use crate::planning::LockUse;
use crate::records::HistoryPlace;
use crate::selection::{Flags, NamedPolicy, SourceFolders, read_mirrors, read_overrides};

/// # Errors
/// A file of overrides cannot be read, or a flag's value is not understood.
pub(super) fn read_flags(args: &SelectionArgs) -> Result<Flags> {
    let has_proxy =
        args.http_proxy.is_some() || args.https_proxy.is_some() || args.no_proxy.is_some();
    let proxy = has_proxy.then(|| Proxy {
        http: args.http_proxy.clone(),
        https: args.https_proxy.clone(),
        no_proxy: args.no_proxy.clone(),
    });
    let definition = ImageDefinition {
        target: args.target.clone(),
        windows: args.windows.clone(),
        kubernetes: args.k8s.clone(),
        runtime: args.runtime,
        cni: args.cni.clone(),
        host_access: args.host_access,
        join: args.join,
        delivery: args.delivery,
        features: args.features.clone(),
        updates: args.updates.clone(),
        mirrors: group_mirrors(&args.registry_mirrors),
        container_images: args.images.clone(),
        image_sets: args.image_sets.clone(),
        proxy,
        components: args.component.iter().cloned().collect(),
        image_version: args.image_version.clone(),
        overrides: read_overrides(args.overrides.as_deref(), &args.override_fields)?,
        download_mirrors: read_mirrors(&args.mirrors.mirror)?,
        ..ImageDefinition::default()
    };
    Ok(Flags {
        definition,
        variables: args.variables.clone(),
        policy: NamedPolicy {
            file: args.policy.clone(),
            waivers: args.waivers.waive.clone(),
            mirrors: args.mirrors.mirror.clone(),
            plain_http: args.allow_http.clone(),
        },
        allow_old: args.allow_old.clone(),
    })
}

fn group_mirrors(pairs: &[(Registry, HttpUrl)]) -> BTreeMap<Registry, Vec<HttpUrl>> {
    let mut mirrors: BTreeMap<Registry, Vec<HttpUrl>> = BTreeMap::new();
    for (registry, url) in pairs {
        let urls = mirrors.entry(registry.clone()).or_default();
        urls.push(url.clone());
    }
    mirrors
}

/// The flags of a verb about the nodes of a cluster.
///
/// # Errors
/// The settings of this machine cannot be read.
pub(super) fn cluster_flags(args: &ClusterArgs) -> Result<Flags> {
    let settings = Flags::without_any()?;
    Ok(Flags {
        definition: ImageDefinition {
            kubernetes: args.k8s.clone(),
            runtime: args.runtime,
            cni: args.cni.clone(),
            host_access: args.host_access,
            components: args.component.iter().cloned().collect(),
            ..settings.definition
        },
        policy: name_policy(&args.policy),
        ..settings
    })
}

pub(super) fn cluster_input(args: &ClusterArgs) -> ClusterInput {
    ClusterInput {
        endpoint: args.endpoint.clone(),
        pod_subnet: args.pod_subnet.clone(),
        service_subnet: args.service_subnet.clone(),
        dns: args.dns.clone(),
        domain: args.domain.clone(),
        node_subnets: args.node_subnet.clone(),
        hns_network: args.hns_network.clone(),
        flannel_namespace: args.flannel_namespace.clone(),
        metadata_route: false,
        pipe_accounts: Vec::new(),
        images: BTreeMap::new(),
        with: BTreeSet::new(),
    }
}

pub(super) fn name_policy(args: &PolicyArgs) -> NamedPolicy {
    NamedPolicy {
        file: args.policy.clone(),
        plain_http: args.allow_http.clone(),
        ..NamedPolicy::default()
    }
}

/// The policy of a verb that has mirrors, too.
pub(super) fn name_mirrored_policy(args: &PolicyArgs, mirrors: &MirrorArgs) -> NamedPolicy {
    NamedPolicy {
        mirrors: mirrors.mirror.clone(),
        ..name_policy(args)
    }
}

impl From<&NetworkArgs> for NetworkOptions {
    fn from(args: &NetworkArgs) -> Self {
        Self {
            store: args.store.clone(),
            jobs: args.jobs,
            offline: args.offline,
            proxy: args.proxy.clone(),
            ca_files: args.ca_file.clone(),
            header_grants: args.allow_header_env.clone(),
        }
    }
}

impl From<&SourceArgs> for SourceFolders {
    fn from(args: &SourceArgs) -> Self {
        Self {
            manifests: args.manifests.clone(),
            targets: args.targets.clone(),
            steps: args.steps.clone(),
            component_files: args.component_files.clone(),
        }
    }
}

impl From<&LockUseArgs> for LockUse {
    fn from(args: &LockUseArgs) -> Self {
        Self {
            required: args.locked,
            file: args.lock.clone(),
            ignored: args.ignore_lock,
        }
    }
}

impl From<&HistoryPlaceArgs> for HistoryPlace {
    fn from(args: &HistoryPlaceArgs) -> Self {
        Self {
            from: args.from.clone(),
            network: (&args.network).into(),
        }
    }
}
