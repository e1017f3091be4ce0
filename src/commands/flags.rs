//! Flags as the stages take them. The command line's own types end here.

mod cluster;
mod convert;

use std::collections::BTreeMap;

use crate::base::url::HttpUrl;
use crate::base::value::Registry;
use crate::cli::{MirrorArgs, PolicyArgs, SelectionArgs};
use crate::diagnostic::Result;
use crate::model::definition::{ImageDefinition, Proxy};
use crate::selection::{Flags, NamedPolicy, read_mirrors, read_overrides};

pub(super) use cluster::{cluster_flags, cluster_input};

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
