//! Parts of a selection beside its choices: optional features, files, mirrors, versions of Packer.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::choice::Runtime;
use crate::base::code::Code;
use crate::base::json::format_plain;
use crate::base::names::format_suggestion;
use crate::base::pattern::matches_regex;
use crate::base::value::DEFAULT_REGISTRY;
use crate::base::version::Version;
use crate::catalog::CatalogError;
use crate::diagnostic::{Finding, Result};
use crate::model::conditions::Conditions;
use crate::model::containerd::{ConfigFragment, ContainerdOptions, RegistryHosts, config_version};
use crate::model::definition::SERVICE_NETWORK;
use crate::model::feature::Feature;
use crate::model::plan::Warning;
use crate::model::target::{DecidingVariable, Target};

use super::Resolver;

/// The selected features, in the order of the catalog.
pub(super) fn choose_features(
    resolver: &mut Resolver<'_>,
    conditions: &Conditions,
) -> Result<Vec<Feature>> {
    let table = resolver.catalog.load_features()?;
    let known = &table.features;
    for name in &conditions.features {
        if !known.iter().any(|feature| feature.name == *name) {
            let suggestion =
                format_suggestion(name, known.iter().map(|feature| feature.name.as_str()));
            return Err(CatalogError::Unknown {
                what: "feature",
                name: name.clone(),
                suggestion,
            }
            .into());
        }
    }

    let mut chosen = Vec::new();
    for feature in known {
        if !conditions.features.contains(&feature.name) {
            continue;
        }
        if !conditions.holds(&feature.when) {
            let message = format!(
                "the feature {} does not work with this selection: {}",
                feature.name, feature.reason
            );
            let remedy = format!("remove `--feature {}`", feature.name);
            let finding = Finding::new(Code::FEATURE_UNSUPPORTED, message, remedy);
            resolver.refusals.push(
                finding
                    .with_subject(&feature.name)
                    .with_source(&feature.source),
            );
        }
        chosen.push(feature.clone());
    }
    Ok(chosen)
}

/// A warning of addresses for which the node's programs would ask the proxy, and which no proxy reaches.
pub(super) fn warn_of_proxy(resolver: &mut Resolver<'_>, target: &Target) {
    let selection = resolver.selection;
    let proxy = selection.proxy.clone().unwrap_or_default();
    let network = selection.network.as_ref();
    let services = network.and_then(|network| network.services.as_ref());
    let services = services.map_or(SERVICE_NETWORK, |services| services.as_str());
    let first = services.split('/').next().unwrap_or_default();

    let metadata = target.image().map(|image| &image.platform.metadata);
    let metadata = metadata.into_iter().flatten();
    let mut needed: Vec<(String, String, u16)> = metadata
        .map(|endpoint| endpoint.address.to_string())
        .map(|address| (address.clone(), address, 80))
        .collect();
    needed.push(("kubernetes.default.svc".to_owned(), ".svc".to_owned(), 443));
    needed.push((first.to_owned(), services.to_owned(), 443));

    let missing: Vec<&str> = needed
        .iter()
        .filter(|(host, _, port)| proxy.is_asked_for(host, *port))
        .map(|(_, entry, _)| entry.as_str())
        .collect();
    if missing.is_empty() {
        return;
    }
    let mut list: Vec<&str> = proxy.no_proxy.as_deref().into_iter().collect();
    list.extend(&missing);
    let message = format!(
        "the node asks its proxy for {}, which no proxy reaches; give `--no-proxy {}`, with the address of the API \
         server behind it",
        missing.join(", "),
        list.join(",")
    );
    let warning = Warning::new(Code::PROXY_EXCEPTIONS, "proxy".to_owned(), message);
    resolver.warnings.push(warning);
}

/// A feature with a hypervisor is refused where the machine of the build cannot run one: its installation fails there.
pub(super) fn check_hypervisor(
    resolver: &mut Resolver<'_>,
    target: &Target,
    features: &[Feature],
    variables: &BTreeMap<String, Value>,
) {
    let image = target.image();
    let Some(nested) = image.and_then(|image| image.nested_virtualization.as_ref()) else {
        return;
    };
    if nested
        .with
        .as_ref()
        .is_some_and(|with| is_met(with, variables))
    {
        return;
    }
    for feature in features.iter().filter(|feature| feature.hypervisor) {
        let message = format!(
            "the feature {} needs hardware virtualization: {}",
            feature.name, nested.reason
        );
        let finding = Finding::new(
            Code::HYPERVISOR_UNAVAILABLE,
            message,
            nested.instead.clone(),
        );
        resolver.refusals.push(
            finding
                .with_subject(&feature.name)
                .with_source(&nested.source),
        );
    }
}

/// A feature with a serial console is refused where nothing is known of one: nobody would see it.
pub(super) fn check_serial_console(
    resolver: &mut Resolver<'_>,
    target: &Target,
    features: &[Feature],
) {
    let image = target.image();
    if image.is_some_and(|image| image.platform.serial_console.is_some()) {
        return;
    }
    for feature in features.iter().filter(|feature| feature.serial_console) {
        let message = format!(
            "the feature {} needs a serial console of the platform, and the target {} has none",
            feature.name, target.name
        );
        let remedy = format!("remove `--feature {}`", feature.name);
        let finding = Finding::new(Code::SERIAL_CONSOLE_UNAVAILABLE, message, remedy)
            .with_subject(&feature.name);
        resolver.refusals.push(finding.with_source(target.source()));
    }
}

fn is_met(with: &DecidingVariable, variables: &BTreeMap<String, Value>) -> bool {
    let Some(value) = variables.get(&with.variable) else {
        return false;
    };
    matches_regex(&with.pattern, &format_plain(value))
}

/// Files that the guest downloads by itself: an update is a package of its own.
pub(super) fn check_downloads(resolver: &mut Resolver<'_>) {
    let selection = resolver.selection;
    let updates = selection.updates.iter().flat_map(|updates| &updates.files);
    for file in updates.filter(|file| !file.url.file_name().to_lowercase().ends_with(".msu")) {
        let message = format!(
            "the file of {} is not an update package: {}",
            file.kb, file.url
        );
        let finding = Finding::new(Code::UPDATE_FILE, message, "give the URL of a `.msu` file");
        resolver.refusals.push(
            finding
                .with_subject("updates")
                .with_source("https://support.microsoft.com/kb/934307"),
        );
    }
    for (plugin, files) in &selection.volume_plugins {
        if files.is_empty() {
            let message = format!("the volume plugin {plugin} has no files");
            let remedy = "add `{\"file\": \"smb.cmd\", \"url\": \"https://…\", \"sha256\": \"…\"}`";
            let finding =
                Finding::new(Code::VOLUME_PLUGIN, message, remedy).with_subject(plugin.as_str());
            resolver
                .refusals
                .push(finding.with_source("derived: the kubelet runs the files as SYSTEM"));
        }
    }
    for (registry, _) in selection.mirrors.iter().filter(|(_, urls)| urls.is_empty()) {
        let remedy = format!("write `\"{registry}\": [\"https://mirror.example\"]`, or remove it");
        let finding = Finding::new(
            Code::MIRROR,
            format!("the registry {registry} has no mirror"),
            remedy,
        )
        .with_subject("mirrors");
        resolver.refusals.push(
            finding.with_source("https://github.com/containerd/containerd/blob/main/docs/hosts.md"),
        );
    }
}

/// Registries are described once, with a host to ask, for a containerd that reads `hosts.toml`.
pub(super) fn check_registries(
    resolver: &mut Resolver<'_>,
    runtime: Runtime,
    version: Option<&Version>,
) {
    let selection = resolver.selection;
    let reads_hosts = version.is_some_and(|version| *version >= Version::from_literal("1.5.0"));
    for (registry, known) in &selection.registries {
        let (message, remedy) = if runtime != Runtime::Containerd || !reads_hosts {
            let message = format!(
                "`registries` is for containerd 1.5 and newer, and the image has {runtime}"
            );
            (
                message,
                "remove `registries`, or choose `--runtime containerd`".to_owned(),
            )
        } else if selection.mirrors.contains_key(registry) {
            let message = format!("{registry} is in `mirrors` and in `registries`");
            (
                message,
                "move its mirrors to `hosts` of `registries`".to_owned(),
            )
        } else if known.list_hosts().next().is_none() {
            let message = format!("`registries` has neither `server` nor `hosts` of {registry}");
            let remedy = "write `\"hosts\": [{\"url\": \"https://mirror.example\"}]`, or remove it";
            (message, remedy.to_owned())
        } else if let Some(host) = known.list_hosts().find(|host| host.capabilities.is_empty()) {
            let message = format!("{} of {registry} has no capabilities", host.url);
            (
                message,
                "write `\"capabilities\": [\"pull\", \"resolve\"]`, or remove it".to_owned(),
            )
        } else {
            continue;
        };
        let finding = Finding::new(Code::MIRROR, message, remedy).with_subject("registries");
        let source = "https://github.com/containerd/containerd/blob/main/docs/hosts.md";
        resolver.refusals.push(finding.with_source(source));
    }
    if runtime == Runtime::Containerd {
        check_newer_hosts(resolver, version);
        return;
    }
    // dockerd asks mirrors for images of Docker Hub alone.
    for registry in selection.mirrors.keys() {
        if registry.as_str() == "docker.io" {
            continue;
        }
        let message = format!("the image has {runtime}, which asks no mirror for `{registry}`");
        let remedy = "name `docker.io`, or choose `--runtime containerd`";
        let finding = Finding::new(Code::MIRROR, message, remedy);
        let source = "https://docs.docker.com/reference/cli/dockerd/ (--registry-mirror)";
        resolver
            .refusals
            .push(finding.with_subject("mirrors").with_source(source));
    }
}

/// Parts of `hosts.toml` that older releases of containerd pass over in silence.
fn check_newer_hosts(resolver: &mut Resolver<'_>, version: Option<&Version>) {
    let registries = resolver.selection.list_registries();
    let has_default = registries
        .keys()
        .any(|name| name.as_str() == DEFAULT_REGISTRY);
    let mut hosts = registries.values().flat_map(RegistryHosts::list_hosts);
    let has_timeout = hosts.any(|host| host.dial_timeout.is_some());
    let parts = [
        (
            has_default,
            "the registry `_default`",
            "1.6.20",
            "containerd/containerd@v1.6.20 remotes/docker/config/config_windows.go (v1.6.0 has no `_default`)",
        ),
        (
            has_timeout,
            "`dialTimeout`",
            "2.1.0",
            "containerd/containerd@v2.1.0 core/remotes/docker/config/hosts.go (v2.0.4 has no `dial_timeout`)",
        ),
    ];
    for (is_used, part, since, source) in parts {
        let is_old = version.is_none_or(|version| *version < Version::from_literal(since));
        if is_used && is_old {
            let message = format!("{part} is for containerd {since} and newer");
            let remedy =
                format!("choose it with `--component containerd=VERSION`, or remove {part}");
            let finding = Finding::new(Code::MIRROR, message, remedy).with_subject("registries");
            resolver.refusals.push(finding.with_source(source));
        }
    }
}

/// Settings of containerd are for an image with containerd, and a fragment for the version of the configuration file
/// that it reads: keys of another version are other keys, or none.
pub(super) fn check_containerd_options(
    resolver: &mut Resolver<'_>,
    runtime: Runtime,
    version: Option<&Version>,
) {
    let Some(options) = &resolver.selection.containerd else {
        return;
    };
    let (message, remedy, source) = if runtime != Runtime::Containerd {
        let message =
            format!("`containerd` has settings of containerd, but the image has {runtime}");
        let remedy = "remove `containerd`, or choose `--runtime containerd`".to_owned();
        (
            message,
            remedy,
            "derived: nothing on the machine would read the settings",
        )
    } else if let Some((message, remedy)) =
        version.and_then(|version| find_fragment_fault(options, version))
    {
        let source = "https://github.com/containerd/containerd/blob/main/docs/cri/config.md";
        (message, remedy, source)
    } else {
        return;
    };
    let finding =
        Finding::new(Code::CONTAINERD_OPTIONS, message, remedy).with_subject("containerd");
    resolver.refusals.push(finding.with_source(source));
}

/// Message and remedy.
fn find_fragment_fault(options: &ContainerdOptions, version: &Version) -> Option<(String, String)> {
    for fragment in &options.fragments {
        if let ConfigFragment::File(path) = fragment {
            let message = format!("`containerd.fragments`: there is no file `{path}`");
            let remedy = "put the file below the folder of the definition";
            return Some((message, remedy.to_owned()));
        }
    }
    let form = config_version(version);
    if options.fragments.is_empty() || options.list_fragments(form).next().is_some() {
        return None;
    }
    let message = format!(
        "`containerd.fragments` has no fragment with `version = {form}`, which containerd {version} reads"
    );
    let remedy = format!(
        "add a fragment that begins with `version = {form}`, with the keys of that version"
    );
    Some((message, remedy))
}

/// Packer and its plugins are fetched: a version that no release holds has no address.
pub(super) fn check_packer_versions(resolver: &mut Resolver<'_>) -> Result<()> {
    let Resolver {
        catalog, selection, ..
    } = *resolver;
    let Some(choice) = &selection.packer else {
        return Ok(());
    };
    let packer = choice
        .version
        .iter()
        .map(|version| ("packer".to_owned(), version));
    let plugins = choice
        .plugins
        .iter()
        .map(|(name, version)| (format!("packer-plugin-{name}"), version));
    let names = catalog.component_names();
    for (name, version) in packer
        .chain(plugins)
        .filter(|(name, _)| names.contains(name))
    {
        let component = catalog.load_component(&name)?;
        if !component
            .definition
            .releases
            .iter()
            .any(|release| release.versions.contains(version))
        {
            let ranges: Vec<&str> = component
                .definition
                .releases
                .iter()
                .map(|release| release.versions.as_str())
                .collect();
            let message = format!("the catalog has no release {version} of {name}");
            let remedy = format!("choose a version in {}", ranges.join(" or "));
            let finding = Finding::new(Code::PACKER_VERSION, message, remedy).with_subject(&name);
            resolver
                .refusals
                .push(finding.with_source(format!("manifests/components/{name}.json")));
        }
    }
    Ok(())
}
