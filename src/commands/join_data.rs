//! `imagegen join-data`.

mod input;
mod secrets;

use crate::base::code::Code;
use crate::cli::JoinDataArgs;
use crate::diagnostic::{Finding, Result};
use crate::io::fs::OutputKind;
use crate::join::{Form, build_join_data, refuse_input};
use crate::model::definition::ImageDefinition;
use crate::selection::{Flags, SourceFolders};
use crate::ui::Printer;
use crate::view::JoinOutput;

use super::flags::name_policy;
use super::node_plan::NodePlan;
use input::{read_join_input, read_places};
use secrets::read_secrets;

/// How the forms of the data begin.
const JOIN_DATA: OutputKind = OutputKind {
    name: "data of a join",
    beginnings: &[
        "apiVersion: \"kubeadm.k8s.io/",
        "#cloud-config\n",
        "#ps1_sysnative\n",
        "Content-Type: multipart/mixed; boundary=\"imagegen-",
        "apiVersion: \"bootstrap.cluster.x-k8s.io/",
    ],
};

pub(super) fn run_join_data(
    args: &JoinDataArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    if args.signed_scripts && args.form == Form::Kubeadm {
        let message = "`--signed-scripts` is for user-data: kubeadm's configuration has no script";
        let remedy = "choose `--as cloud-config`, `--as ps1` or `--as mime`, or remove it";
        let finding = Finding::new(Code::OPTION_WITHOUT_EFFECT, message, remedy);
        return Err(refuse_input(vec![finding]).into());
    }
    let secrets = read_secrets(args)?;
    let input = read_join_input(args)?;
    let settings = Flags::without_any()?;
    let flags = Flags {
        definition: ImageDefinition {
            kubernetes: args.k8s.clone(),
            runtime: args.runtime,
            ..settings.definition
        },
        policy: name_policy(&args.policy),
        ..settings
    };
    let NodePlan {
        plan,
        policy,
        trees,
        ..
    } = NodePlan::read(args.config.as_deref(), &flags, sources)?;
    let data = build_join_data(
        &input,
        &secrets,
        args.form,
        &plan,
        &trees.catalog,
        &read_places(
            &trees,
            args.signed_scripts || policy.signed_scripts.is_some(),
        )?,
    )?;
    for warning in &data.warnings {
        printer.print_warning(warning);
    }
    let mut output = JoinOutput {
        schema: "imagegen.dev/join-data/v1",
        kubernetes: plan.kubernetes.to_string(),
        api_version: data.api_version,
        form: args.form,
        warnings: data.warnings,
        content: None,
        file: None,
    };
    let Some(path) = &args.out else {
        output.content = Some(data.content.clone());
        return printer.print_secret_result(&output, || data.content);
    };
    path.check(JOIN_DATA)?
        .write_secret(data.content.as_bytes())?;
    output.file = Some(path.display().to_string());
    printer.print_result(&output, || {
        format!(
            "{}: {} for Kubernetes {}\n",
            path.display(),
            output.api_version,
            plan.kubernetes
        )
    })
}
