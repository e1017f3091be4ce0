//! Values that have a form of their own: paths, descriptors, digests, registry data.

use crate::model::paths;
use crate::model::resource::{RegistryData, RegistryValue, ResourceKind, UNPINNED};
use crate::model::value::is_digest;

use super::super::problem::Rule;
use super::super::sddl;
use super::{Context, Problems};

pub(super) fn check_paths(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        for path in resource.kind.properties().paths() {
            if let Some(fault) = paths::find_fault(path) {
                let message = format!("the path {path:?} {fault}");
                problems.add_problem(
                    Rule::BadPath,
                    resource,
                    message,
                    "write a plain absolute path such as `C:\\k`",
                );
            }
        }
    }
}

pub(super) fn check_descriptors(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        let Some((text, object)) = resource.kind.properties().descriptor() else { continue };
        if let Err(fault) = sddl::parse_sddl(text, object) {
            let message = format!("the security descriptor is not in canonical form: {fault}");
            let remedy =
                "write it as Windows prints it, such as `O:BAG:SYD:PAI(A;OICI;FA;;;SY)` for a directory";
            problems.add_problem(Rule::SddlInvalid, resource, message, remedy);
        }
    }
}

pub(super) fn check_digests(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        let Some((digest, length)) = resource.kind.properties().digest() else { continue };
        // The lockfile has not pinned it yet.
        if digest != UNPINNED && !is_digest(digest, length) {
            let message = format!("`{digest}` is not a digest of {length} lower-case hexadecimal digits");
            let remedy = "take the digest from the lockfile, and write images as `name@sha256:…`";
            problems.add_problem(Rule::DigestMalformed, resource, message, remedy);
        }
    }
}

pub(super) fn check_registry(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        let ResourceKind::RegistryValue(it) = &resource.kind else { continue };
        if let Some(message) = find_registry_fault(it) {
            let remedy = "write the key below `HKLM:\\` and the data as its kind demands";
            problems.add_problem(Rule::RegistryKind, resource, message, remedy);
        }
    }
}

fn find_registry_fault(it: &RegistryValue) -> Option<String> {
    let name = &it.value_name;
    if it.key.strip_prefix(r"HKLM:\").is_none_or(|below| below.is_empty() || below.ends_with('\\')) {
        return Some(format!("the key `{}` is not below `HKLM:\\`", it.key));
    }
    let content = it.desired.present()?;
    match &content.data {
        RegistryData::String(_) | RegistryData::ExpandString(_) => None,
        _ if content.arguments_file.is_some() => {
            Some(format!("`{name}` takes arguments from a file, but its kind is not a text"))
        }
        RegistryData::Binary(text)
            if text.len() % 2 != 0 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            Some(format!("the data `{text}` of `{name}` is not hexadecimal"))
        }
        RegistryData::Binary(_)
        | RegistryData::DWord(_)
        | RegistryData::QWord(_)
        | RegistryData::MultiString(_) => None,
    }
}

/// Arguments without a program would be lost: the engine sets both or neither.
pub(super) fn check_service_programs(context: &Context<'_>, problems: &mut Problems<'_>) {
    for resource in context.resources {
        let ResourceKind::Service(it) = &resource.kind else { continue };
        let Some(settings) = it.desired.present().filter(|it| it.program.is_none()) else { continue };
        if !settings.arguments.is_empty() || settings.arguments_file.is_some() {
            let message = format!("service `{}` has arguments but no `program`", it.service_name);
            problems.add_problem(Rule::PropertyMissing, resource, message, "give `program` in the step");
        }
    }
}
