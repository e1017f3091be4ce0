//! JSON schemas of what people write and programs read, made from the types.

mod names;

use schemars::{Schema, schema_for};
use serde_json::Value;

use crate::catalog::Trees;
use crate::diagnostic::{Finding, Result};

use crate::bake::{CheckReport, Timeline};
use crate::base::output_list::OutputList;
use crate::bundle::{BundleIndex, BundleOutput};
use crate::cluster::PlannedCheck;
use crate::join::JoinInput;
use crate::lock::Lock;
use crate::machine::{ArgumentNeed, FeatureNeed, ForeignWrite, LaterFile, Machine, PortUse};
use crate::model::cluster::ClusterIndex;
use crate::model::component::{ComponentDefinition, Pin};
use crate::model::definition::ImageDefinition;
use crate::model::feature::{Feature, Features};
use crate::model::guest_plan::GuestPlan;
use crate::model::kubernetes::{FlagTable, LineFile, ProgramTable, Support};
use crate::model::overrides::Overrides;
use crate::model::pins::PinFile;
use crate::model::pod_network::PodNetwork;
use crate::model::policy::Policy;
use crate::model::publication::Publication;
use crate::model::rules::{Contents, Rules};
use crate::model::stage::LifeStages;
use crate::model::step::Step;
use crate::model::target::{PackerBase, Target, TargetReleases};
use crate::model::target_record::TargetRecord;
use crate::model::windows::WindowsRelease;
use crate::records::ImageRecord;
use crate::scripts::ScriptList;
use crate::selection::Settings;

use crate::view::{self, Explanation, PlanOutput};
use crate::workspace::{InstallerOutput, RenderOutput};

/// Every published schema with its name; the image definition's has the names of the catalog.
///
/// # Errors
/// The catalog cannot be read.
pub fn list_schemas(trees: &Trees) -> Result<Vec<(&'static str, Schema)>> {
    let mut schemas = list_types();
    schemas.extend(list_outputs());
    for (name, schema) in &mut schemas {
        require_own_name(name, schema);
    }
    for (_, schema) in schemas
        .iter_mut()
        .filter(|(name, _)| *name == "image-definition")
    {
        names::add_names(schema, trees)?;
    }
    Ok(schemas)
}

fn list_types() -> Vec<(&'static str, Schema)> {
    vec![
        ("attest", schema_for!(crate::records::AttestOutput)),
        ("bundle", schema_for!(BundleIndex)),
        ("installer", schema_for!(InstallerOutput)),
        ("check-report", schema_for!(CheckReport)),
        ("closed", schema_for!(Vec<crate::base::toml::ClosedKey>)),
        ("cluster", schema_for!(ClusterIndex)),
        ("component", schema_for!(ComponentDefinition)),
        ("component-pins", schema_for!(PinFile)),
        ("conformance", schema_for!(OutputList<PlannedCheck>)),
        ("contents", schema_for!(Contents)),
        ("diff", schema_for!(crate::attest::diff::ImageDiff)),
        ("doctor", schema_for!(crate::preflight::DoctorOutput)),
        ("explanation", schema_for!(OutputList<Explanation>)),
        (
            "failing-updates",
            schema_for!(Vec<crate::guest::FailingUpdate>),
        ),
        ("features", schema_for!(Features)),
        ("flags", schema_for!(FlagTable)),
        ("guest-plan", schema_for!(GuestPlan)),
        ("image", schema_for!(ImageRecord)),
        ("image-definition", schema_for!(ImageDefinition)),
        ("join-input", schema_for!(JoinInput)),
        ("kubernetes-line", schema_for!(LineFile)),
        ("later", schema_for!(Vec<LaterFile>)),
        ("lock", schema_for!(Lock)),
        ("machine", schema_for!(Machine)),
        ("overrides", schema_for!(Overrides)),
        ("packer", schema_for!(PackerBase)),
        ("arguments", schema_for!(Vec<ArgumentNeed>)),
        ("needs", schema_for!(Vec<FeatureNeed>)),
        ("network", schema_for!(PodNetwork)),
        (
            "outdated",
            schema_for!(OutputList<crate::updates::OutdatedRow>),
        ),
        ("plan", schema_for!(PlanOutput<'_>)),
        ("policy", schema_for!(Policy)),
        ("ports", schema_for!(Vec<PortUse>)),
        ("publication", schema_for!(Publication)),
        ("publish", schema_for!(crate::publish::PublishOutput)),
        ("clone-test", schema_for!(crate::publish::CloneOutput)),
        ("programs", schema_for!(ProgramTable)),
        ("render", schema_for!(RenderOutput)),
        ("report", schema_for!(crate::records::ReportOutput)),
        ("rules", schema_for!(Rules)),
        ("scripts", schema_for!(ScriptList)),
        ("settings", schema_for!(Settings)),
        ("stages", schema_for!(LifeStages)),
        ("step", schema_for!(Step)),
        ("error", schema_for!(crate::diagnostic::ErrorReport)),
        ("event", schema_for!(crate::ui::OutputEvent)),
        ("timeline", schema_for!(Timeline)),
        ("history", schema_for!(crate::records::BuildHistory)),
        ("history-prune", schema_for!(crate::records::PrunedHistory)),
        ("retirement", schema_for!(crate::records::RetirementFile)),
        ("support", schema_for!(Support)),
        ("target", schema_for!(Target)),
        ("target-record", schema_for!(TargetRecord)),
        ("target-windows", schema_for!(TargetReleases)),
        ("verify", schema_for!(crate::inspect::VerifyOutput)),
        ("workspace", schema_for!(crate::render::WorkspaceRecord)),
        ("writes", schema_for!(Vec<ForeignWrite>)),
        ("windows", schema_for!(WindowsRelease)),
    ]
}

/// Outputs of verbs that are neither a file nor described above.
fn list_outputs() -> Vec<(&'static str, Schema)> {
    vec![
        ("bundle-output", schema_for!(BundleOutput)),
        ("cluster-manifests", schema_for!(view::ManifestsOutput)),
        ("completions", schema_for!(view::CompletionsOutput)),
        ("fetch", schema_for!(OutputList<view::FetchOutput>)),
        ("findings", schema_for!(OutputList<Finding>)),
        ("images", schema_for!(view::ImagesOutput)),
        ("init", schema_for!(view::InitOutput)),
        ("join-data", schema_for!(view::JoinOutput)),
        (
            "list-components",
            schema_for!(OutputList<view::ComponentRow<'_>>),
        ),
        ("list-features", schema_for!(OutputList<Feature>)),
        ("list-images", schema_for!(OutputList<view::ImageRow<'_>>)),
        (
            "list-kubernetes",
            schema_for!(OutputList<view::KubernetesRow<'_>>),
        ),
        ("list-networks", schema_for!(OutputList<PodNetwork>)),
        ("list-rules", schema_for!(OutputList<view::RuleRow<'_>>)),
        ("list-steps", schema_for!(OutputList<view::StepRow<'_>>)),
        ("list-targets", schema_for!(OutputList<view::TargetRow<'_>>)),
        (
            "list-variables",
            schema_for!(OutputList<view::VariableRow<'_>>),
        ),
        (
            "list-windows",
            schema_for!(OutputList<view::WindowsRow<'_>>),
        ),
        ("pins", schema_for!(OutputList<Pin>)),
        ("schemas", schema_for!(OutputList<String>)),
        ("store", schema_for!(view::StoreOutput)),
        ("version", schema_for!(view::VersionOutput)),
        ("verify-lock", schema_for!(crate::inspect::WholeOutput)),
        ("written-folder", schema_for!(view::WrittenFolder)),
    ]
}

/// Requires of the member `schema` what names this schema: `imagegen.dev/plan/v1` for `plan`.
fn require_own_name(name: &str, schema: &mut Schema) {
    let member = schema
        .get_mut("properties")
        .and_then(|members| members.get_mut("schema"))
        .and_then(Value::as_object_mut);
    if let Some(member) = member {
        let pattern = format!("^imagegen\\.dev/{name}/v[0-9]+$");
        member.insert("pattern".to_owned(), pattern.into());
    }
}
