//! `imagegen schema`: JSON schemas of what people write and programs read, made from the types.

use schemars::{Schema, schema_for};

use crate::bake::{BakedImage, CheckReport};
use crate::bundle::Index;
use crate::cli::SchemaArgs;
use crate::cluster::PlannedCheck;
use crate::diagnostic::{Result, UsageError};
use crate::join::JoinInput;
use crate::lock::Lock;
use crate::machine::{LaterFile, Machine, PortUse};
use crate::model::cluster::ClusterIndex;
use crate::model::component::Component;
use crate::model::feature::Features;
use crate::model::kubernetes::{FlagTable, KubernetesLine};
use crate::model::names::did_you_mean;
use crate::model::overrides::Overrides;
use crate::model::policy::Policy;
use crate::model::resource::GuestPlan;
use crate::model::rules::{Contents, Rules};
use crate::model::selection::ImageDefinition;
use crate::model::step::Step;
use crate::model::target::{PackerBase, Target};
use crate::model::windows::WindowsRelease;
use crate::scripts::ScriptList;
use crate::ui::Printer;

use super::build::{BundleOutput, RenderOutput};
use super::explain::Explanation;
use super::plan::PlanOutput;

/// Every published schema with its name.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("bundle", schema_for!(Index)),
        ("host-bundle", schema_for!(BundleOutput)),
        ("check-report", schema_for!(CheckReport)),
        ("cluster", schema_for!(ClusterIndex)),
        ("component", schema_for!(Component)),
        ("conformance", schema_for!(Vec<PlannedCheck>)),
        ("contents", schema_for!(Contents)),
        ("doctor", schema_for!(crate::preflight::DoctorOutput)),
        ("explanation", schema_for!(Vec<Explanation>)),
        ("features", schema_for!(Features)),
        ("flags", schema_for!(FlagTable)),
        ("guest-plan", schema_for!(GuestPlan)),
        ("image", schema_for!(BakedImage)),
        ("image-definition", schema_for!(ImageDefinition)),
        ("join-input", schema_for!(JoinInput)),
        ("kubernetes", schema_for!(KubernetesLine)),
        ("later", schema_for!(Vec<LaterFile>)),
        ("lock", schema_for!(Lock)),
        ("machine", schema_for!(Machine)),
        ("overrides", schema_for!(Overrides)),
        ("packer", schema_for!(PackerBase)),
        ("outdated", schema_for!(Vec<crate::updates::OutdatedOutput>)),
        ("plan", schema_for!(PlanOutput<'_>)),
        ("policy", schema_for!(Policy)),
        ("ports", schema_for!(Vec<PortUse>)),
        ("render", schema_for!(RenderOutput)),
        ("rules", schema_for!(Rules)),
        ("scripts", schema_for!(ScriptList)),
        ("step", schema_for!(Step)),
        ("target", schema_for!(Target)),
        ("verify", schema_for!(super::verify::VerifyOutput)),
        ("windows", schema_for!(WindowsRelease)),
    ]
}

pub(super) fn schema(args: &SchemaArgs, printer: &Printer) -> Result<()> {
    let schemas = schemas();
    let names: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
    let Some(name) = &args.name else {
        return printer.result(&names, || names.iter().map(|name| format!("{name}\n")).collect());
    };
    let Some((_, schema)) = schemas.iter().find(|(known, _)| known == name) else {
        return Err(UsageError {
            message: format!("unknown schema `{name}`"),
            remedy: Some(did_you_mean(name, names)),
        }
        .into());
    };
    printer.result(schema, || crate::model::json::pretty(schema))
}
