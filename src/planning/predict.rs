//! The machine that a plan makes.

use crate::catalog::{Catalog, Trees};
use crate::diagnostic::{Refusal, Result};
use crate::guest::{Guest, render_guest};
use crate::machine::{Expectations, PackageService, Prediction, predict_state};
use crate::model::component::PayloadKind;
use crate::model::plan::Plan;

/// Services that the packages of a plan install, as their components say.
fn list_package_services(plan: &Plan, catalog: &Catalog) -> Result<Vec<PackageService>> {
    let mut found = Vec::new();
    for artifact in plan
        .artifacts()
        .filter(|artifact| artifact.kind == PayloadKind::Msi)
    {
        let services = &catalog
            .load_component(&artifact.component)?
            .definition
            .services;
        found.extend(services.iter().map(|service| PackageService {
            package: plan.locate_download(&artifact.url),
            service: service.name.clone(),
            accounts: service.accounts.clone(),
        }));
    }
    Ok(found)
}

/// The guest plan and the machine it makes.
///
/// # Errors
/// A step is wrong, or the predicted machine does not work.
pub fn predict_machine(plan: &Plan, trees: &Trees) -> Result<(Guest, Prediction)> {
    let flags = trees.catalog.load_baked_flags()?;
    let table = trees.catalog.load_programs()?;
    let guest = render_guest(plan, &flags, &table, &trees.provisioners)?;
    let programs = trees.catalog.list_programs(plan.line.minor)?;
    let image = plan.target.image();
    let platform = image
        .map(|image| image.platform.clone())
        .unwrap_or_default();
    let step_file = |id: &str| {
        guest
            .step_files
            .get(id)
            .cloned()
            .unwrap_or_else(|| id.to_owned())
    };
    let packages = list_package_services(plan, &trees.catalog)?;
    let prediction = predict_state(
        &guest.plan.resources,
        &Expectations {
            build: plan.windows.build,
            windows: &plan.windows.release,
            target: &plan.target.name,
            platform: &platform,
            seals: image.is_some(),
            later: &guest.later,
            ports: &guest.ports,
            needs: &guest.needs,
            arguments: &guest.arguments,
            writes: &guest.writes,
            stages: &guest.stages,
            refusals: &guest.refusals,
            packages: &packages,
            build_user: image.map(|image| image.session().1),
            winrm: image.map(|image| image.session().0),
            programs: &programs,
            step_file: &step_file,
        },
    );
    if prediction.problems.is_empty() {
        return Ok((guest, prediction));
    }
    Err(Refusal {
        summary: "the predicted machine does not work",
        findings: prediction.problems,
    }
    .into())
}
