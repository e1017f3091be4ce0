//! Old releases of Packer and its plugins: the catalog says from which release on they are right, and the operator, or
//! the policy, names an older one.

use crate::base::code::Code;
use crate::base::version::Version;
use crate::catalog::Trees;
use crate::diagnostic::{Error, Finding, Result};
use crate::model::plan::{Plan, PlannedPacker};
use crate::model::policy::Policy;
use crate::resolve::refuse_image;

/// Refuses tools below the catalog's floor. `accepted` are the names of `--allow-old`; under a policy,
/// `allowedVersions` alone accepts.
///
/// # Errors
/// A tool is too old, or a name accepts nothing.
pub fn check_tool_floors(
    plan: &Plan,
    policy: &Policy,
    accepted: &[String],
    trees: &Trees,
) -> Result<()> {
    let is_governed = plan.governance.policy.is_some();
    if let Some(name) = accepted.first().filter(|_| is_governed) {
        let message = "`--allow-old` is not allowed with `--policy`";
        let remedy = format!(
            "name the release in the policy: `\"allowedVersions\": [{{\"components\": [\"{name}\"], \"versions\": …}}]`"
        );
        return Err(Error::value(message, remedy));
    }
    let mut old = Vec::new();
    let mut findings = Vec::new();
    for (name, version) in plan.packer.iter().flat_map(PlannedPacker::list_tools) {
        let Ok(component) = trees.catalog.load_component(&name) else {
            continue;
        };
        let Some(floor) = component
            .definition
            .floor
            .as_ref()
            .filter(|it| *version < it.version)
        else {
            continue;
        };
        let is_accepted = if is_governed {
            names_version(policy, &name, version)
        } else {
            accepted.contains(&name)
        };
        if !is_accepted {
            let message = format!("it is older than {}: {}", floor.version, floor.reason);
            let remedy = if is_governed {
                format!(
                    "choose {} or newer, or name it in `allowedVersions`",
                    floor.version
                )
            } else {
                format!(
                    "choose {} or newer, or accept it: `--allow-old {name}`",
                    floor.version
                )
            };
            let finding = Finding::new(Code::TOOL_TOO_OLD, message, remedy);
            let finding = finding.with_subject(format!("{name} {version}"));
            findings.push(finding.with_source(&floor.source));
        }
        old.push(name);
    }
    if !findings.is_empty() {
        return Err(refuse_image(findings).into());
    }
    match accepted.iter().find(|name| !old.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("--allow-old {name}: the image is not built with an old {name}");
            Err(Error::value(message, "remove the flag"))
        }
    }
}

fn names_version(policy: &Policy, name: &str, version: &Version) -> bool {
    let mut allowed = policy.allowed_versions.iter();
    allowed.any(|entry| {
        entry.components.iter().any(|it| it == name) && entry.versions.contains(version)
    })
}
