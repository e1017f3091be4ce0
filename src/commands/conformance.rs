//! `imagegen conformance`.

use std::fmt::Write as _;

use crate::base::output_list::OutputList;
use crate::cli::ConformanceArgs;
use crate::cluster;
use crate::diagnostic::Result;
use crate::model::cluster::Runner;
use crate::selection::SourceFolders;
use crate::ui::Printer;

use super::flags::{cluster_flags, cluster_input};
use super::node_plan::NodePlan;

pub(super) fn run_conformance(
    args: &ConformanceArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let nodes = NodePlan::read(
        args.cluster.config.as_deref(),
        &cluster_flags(&args.cluster)?,
        sources,
    )?;
    let checks = cluster::plan_conformance(
        &cluster_input(&args.cluster),
        &nodes.plan,
        &nodes.trees.catalog,
        &*nodes.trees.read_paths()?,
    )?;
    nodes.print_assumption(printer);
    let output = OutputList::new("imagegen.dev/conformance/v1", checks);
    printer.print_listing(&output, || {
        let mut text = String::new();
        for (number, check) in output.items.iter().enumerate() {
            let who = match check.who {
                Runner::Node => "on the node, as administrator",
                Runner::Cluster => "with kubectl, as administrator of the cluster",
                Runner::Developer => "with Kubernetes' test programs",
            };
            let _ = writeln!(
                text,
                "{}. {} [{}] ({who})",
                number + 1,
                check.title,
                check.id
            );
            for line in &check.run {
                let _ = writeln!(text, "   $ {line}");
            }
            let _ = writeln!(text, "   expect: {}", check.expect);
        }
        text
    })
}
