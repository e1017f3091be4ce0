//! Facts of the container runtime, and the settings that a definition gives it.

use std::num::NonZeroU8;

use serde_json::{Value, json};

use crate::base::choice::{LogLevel, Runtime};
use crate::base::toml::TomlFragment;
use crate::base::value::LoopbackAddress;
use crate::base::version::Version;
use crate::model::conditions::Conditions;
use crate::model::containerd::config_version;
use crate::model::plan::Plan;

pub(super) fn collect_runtime(plan: &Plan, conditions: &Conditions) -> Value {
    let version = &plan.runtime_version;
    let hypervisor = conditions.features.contains("hyper-v");
    let at_least = |bound: &'static str| *version >= Version::from_literal(bound);
    match plan.runtime {
        Runtime::Containerd => json!({
            "name": "containerd",
            "version": version,
            "endpoint": plan.runtime.endpoint(),
            "kubeadmSocket": plan.runtime.kubeadm_socket(),
            "service": "containerd",
            "hypervisor": hypervisor,
            "configVersion": config_version(version),
            "fragments": collect_fragments(plan),
            // https://github.com/containerd/containerd/blob/main/docs/cri/config.md
            "binDirs": at_least("2.1.0"),
            // The flag came with 1.7, and is off since 2.0: without it the daemon's transfer service imports.
            // https://github.com/containerd/containerd/blob/main/cmd/ctr/commands/images/import.go
            "importArguments": if at_least("1.7.0") { json!(["--local"]) } else { json!([]) },
            "options": collect_containerd_options(plan, at_least("2.1.0")),
        }),
        Runtime::Docker => json!({
            "name": "docker",
            "version": version,
            "endpoint": plan.runtime.endpoint(),
            "kubeadmSocket": plan.runtime.kubeadm_socket(),
            "service": "docker",
            "hypervisor": hypervisor,
            "configVersion": 0,
            "fragments": [],
            "binDirs": false,
            "importArguments": [],
            "options": {},
        }),
    }
}

/// The user's parts of the configuration file.
fn collect_fragments(plan: &Plan) -> Value {
    let version = config_version(&plan.runtime_version);
    let options = plan.selection.containerd.iter();
    let fragments = options.flat_map(|options| options.list_fragments(version));
    fragments.map(TomlFragment::as_str).collect()
}

/// Settings of containerd, empty texts and zeros where it keeps its defaults. Its transfer service, which pulls images
/// since 2.1, has neither of the settings for pulls, so that containerd pulls them itself with either.
/// Source: containerd/containerd@v2.1.0 internal/cri/config/config.go (`CheckLocalImagePullConfigs`).
fn collect_containerd_options(plan: &Plan, can_transfer: bool) -> Value {
    let options = plan.selection.containerd.clone().unwrap_or_default();
    let downloads = options.max_concurrent_downloads.map_or(0, NonZeroU8::get);
    let discards = options.discard_unpacked_layers;
    let is_about_pulls = downloads > 0 || discards;
    json!({
        "logLevel": options.log_level.map_or("", LogLevel::as_str),
        "maxConcurrentDownloads": downloads,
        "discardUnpackedLayers": discards,
        "metricsAddress": options.metrics_address.as_ref().map_or("", LoopbackAddress::as_str),
        "pulls": is_about_pulls,
        "localPull": is_about_pulls && can_transfer,
    })
}
