//! Values that have a form of their own: paths, descriptors, digests, registry data.

use crate::model::resource::{
    self as model, AssertionCheck, Ensure, EnsureDirectory, PinAlgorithm, RegistryData, RegistryKind,
    Resource, ResourceKind, is_digest,
};

use super::super::problem::Rule;
use super::super::{paths, sddl};
use super::{Context, Problems};

/// Stands in previews for a digest that the lock has not pinned yet.
pub(super) const UNPINNED: &str = "unpinned";

pub(super) fn paths(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        for path in paths_of(&resource.kind) {
            if let Some(fault) = paths::fault(path) {
                let message = format!("the path {path:?} {fault}");
                problems.add(Rule::BadPath, resource, message, "write a plain absolute path such as `C:\\k`");
            }
        }
    }
}

fn paths_of(kind: &ResourceKind) -> Vec<&str> {
    match kind {
        ResourceKind::Directory(it) => vec![&it.path],
        ResourceKind::File(it) => vec![&it.path],
        ResourceKind::Symlink(it) => std::iter::once(it.path.as_str()).chain(it.target.as_deref()).collect(),
        ResourceKind::Artifact(it) => vec![&it.path],
        ResourceKind::Archive(it) => {
            let members = it.members.iter().map(|member| member.path.as_str());
            members.chain([it.cache.as_str()]).collect()
        }
        ResourceKind::Msi(it) => vec![&it.cache, &it.creates],
        ResourceKind::PathEntry(it) => vec![&it.entry],
        ResourceKind::Service(it) => {
            let more = it.arguments_file.iter().map(|file| file.path.as_str());
            it.program.as_deref().into_iter().chain(more).collect()
        }
        ResourceKind::RegistryValue(it) => it.arguments_file.iter().map(|file| file.path.as_str()).collect(),
        ResourceKind::ContainerImage(it) => vec![&it.program],
        ResourceKind::Sysprep(it) => vec![&it.unattend],
        ResourceKind::Hotfix(it) => vec![&it.cache],
        ResourceKind::ScheduledTask(it) => it.program.as_deref().into_iter().collect(),
        ResourceKind::PageFile(it) => vec![&it.path],
        ResourceKind::EnvironmentVariable(_)
        | ResourceKind::WindowsUpdate(_)
        | ResourceKind::WindowsCapability(_)
        | ResourceKind::HnsNetwork(_)
        | ResourceKind::PowerPlan(_)
        | ResourceKind::Certificate(_)
        | ResourceKind::Script(_)
        | ResourceKind::WindowsFeature(_)
        | ResourceKind::FirewallRule(_)
        | ResourceKind::PortRange(_)
        | ResourceKind::DefenderExclusion(_)
        | ResourceKind::WinrmListener(_)
        | ResourceKind::WinrmSetting(_)
        | ResourceKind::LocalUser(_)
        | ResourceKind::Assertion(_) => Vec::new(),
    }
}

pub(super) fn descriptors(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        let text = match &resource.kind {
            ResourceKind::Directory(it) => it.sddl.as_deref(),
            ResourceKind::File(it) => it.sddl.as_deref(),
            _ => None,
        };
        if let Some(Err(fault)) = text.map(sddl::parse) {
            let message = format!("the security descriptor is not one: {fault}");
            let remedy = "write it as Windows prints it back, such as `O:BAG:SYD:PAI(A;OICI;FA;;;SY)`";
            problems.add(Rule::SddlInvalid, resource, message, remedy);
        }
    }
}

pub(super) fn digests(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        if let Some((digest, length)) = digest_of(resource)
            && !is_digest(digest, length)
        {
            let message = format!("`{digest}` is no digest of {length} lower-case hexadecimal digits");
            let remedy = "take the digest from the lock, and give images as `name@sha256:…`";
            problems.add(Rule::DigestMalformed, resource, message, remedy);
        }
    }
}

/// The digest and its length in hexadecimal digits. What the lock has not pinned yet has none.
fn digest_of(resource: &Resource) -> Option<(&str, usize)> {
    let pinned = |digest, algorithm| match algorithm {
        PinAlgorithm::Sha256 => (digest, 64),
        PinAlgorithm::Sha512 => (digest, 128),
    };
    let (digest, length) = match &resource.kind {
        ResourceKind::Artifact(it) => pinned(it.digest.as_str(), it.algorithm),
        ResourceKind::Archive(it) => pinned(it.digest.as_str(), it.algorithm),
        ResourceKind::Msi(it) => pinned(it.digest.as_str(), it.algorithm),
        ResourceKind::Hotfix(it) => pinned(it.digest.as_str(), it.algorithm),
        ResourceKind::ContainerImage(it) => {
            (it.reference.split_once("@sha256:").map_or(it.reference.as_str(), |(_, digest)| digest), 64)
        }
        ResourceKind::File(it) => (it.sha256.as_deref()?, 64),
        _ => return None,
    };
    (digest != UNPINNED).then_some((digest, length))
}

pub(super) fn registry(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        let ResourceKind::RegistryValue(it) = &resource.kind else { continue };
        if let Some(message) = registry_fault(it) {
            let remedy =
                "write the key below `HKLM:\\` and the data as its kind wants it: text, number or list";
            problems.add(Rule::RegistryKind, resource, message, remedy);
        }
    }
}

fn registry_fault(it: &model::RegistryValue) -> Option<String> {
    if it.key.strip_prefix(r"HKLM:\").is_none_or(|below| below.is_empty() || below.ends_with('\\')) {
        return Some(format!("the key `{}` is not below `HKLM:\\`", it.key));
    }
    if it.ensure == Ensure::Absent {
        return None;
    }
    let (Some(kind), Some(data)) = (it.kind, &it.data) else {
        return Some(format!("the value `{}` has no kind or no data", it.value_name));
    };
    if it.arguments_file.is_some() && !matches!(kind, RegistryKind::String | RegistryKind::ExpandString) {
        return Some(format!("`{}` takes arguments from a file and is of kind {kind:?}", it.value_name));
    }
    let fits = match (kind, data) {
        (RegistryKind::String | RegistryKind::ExpandString, RegistryData::Text(_))
        | (RegistryKind::QWord, RegistryData::Number(_))
        | (RegistryKind::MultiString, RegistryData::List(_)) => true,
        (RegistryKind::DWord, RegistryData::Number(number)) => u32::try_from(*number).is_ok(),
        (RegistryKind::Binary, RegistryData::Text(text)) => {
            text.len() % 2 == 0 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        _ => false,
    };
    (!fits).then(|| {
        let data = serde_json::to_string(data).expect("data is plain");
        format!("the data {data} of `{}` does not fit the kind {kind:?}", it.value_name)
    })
}

/// A thing that is to be present needs the properties that make it.
pub(super) fn properties(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        if let Some(missing) = missing_property(&resource.kind) {
            let message = format!("lacks the property {missing}, without which it cannot be made");
            problems.add(Rule::PropertyMissing, resource, message, "give the property in the step");
        }
    }
}

fn missing_property(kind: &ResourceKind) -> Option<&'static str> {
    let lacks = |is_missing: bool, name| is_missing.then_some(name);
    match kind {
        ResourceKind::Directory(it) => lacks(
            it.ensure == EnsureDirectory::Absent && it.sddl.is_some(),
            "`ensure: present`, having a `sddl`,",
        ),
        ResourceKind::File(it) => lacks(it.ensure == Ensure::Present && it.content.is_none(), "`content`"),
        ResourceKind::Symlink(it) => lacks(it.ensure == Ensure::Present && it.target.is_none(), "`target`"),
        ResourceKind::EnvironmentVariable(it) => {
            lacks(it.ensure == Ensure::Present && it.value.is_none(), "`value`")
        }
        ResourceKind::Service(it) => lacks(
            it.ensure == Ensure::Present
                && it.program.is_none()
                && (!it.arguments.is_empty() || it.arguments_file.is_some()),
            "`program`",
        ),
        ResourceKind::ScheduledTask(it) if it.ensure == Ensure::Present => {
            lacks(it.program.is_none(), "`program`").or(lacks(it.trigger.is_none(), "`trigger`"))
        }
        ResourceKind::HnsNetwork(it) => lacks(it.ensure == Ensure::Present && it.kind.is_none(), "`kind`"),
        ResourceKind::FirewallRule(it) if it.ensure == Ensure::Present => {
            lacks(it.direction.is_none(), "`direction`").or(lacks(it.action.is_none(), "`action`"))
        }
        ResourceKind::Assertion(it) => match it.check {
            AssertionCheck::Command => lacks(it.program.is_none(), "`program`"),
            AssertionCheck::Service => lacks(it.service_name.is_none(), "`serviceName`"),
            AssertionCheck::OsBuild => lacks(it.build.is_none(), "`build`"),
        },
        _ => None,
    }
}
