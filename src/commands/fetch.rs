//! `imagegen fetch`: downloads everything that an image holds and proves it.

use crate::acquire::{
    Acquirer, NetworkOptions, VerifiedArtifact, acquire_plan, acquire_platform_tools, open_fetcher,
};
use crate::base::output_list::OutputList;
use crate::cli::FetchArgs;
use crate::diagnostic::Result;
use crate::planning::{GuestScriptUse, PlannedImage, Stale};
use crate::updates::Answers;
use crate::view::FetchOutput;

use super::each::ImageRun;

pub(super) fn run_fetch(args: &FetchArgs, answers: &Answers, run: &ImageRun<'_>) -> Result<()> {
    let FetchArgs {
        online: args,
        tools: machines,
    } = args;
    let printer = run.printer;
    let (stale, scripts) = (Stale::Warn(printer), GuestScriptUse::Unused);
    let PlannedImage {
        plan,
        policy,
        trees,
        ..
    } = run.plan_selected(&args.selection, &args.lock, stale, scripts)?;
    let network = NetworkOptions::from(&args.network);
    let fetcher = answers.share(open_fetcher(&network, &policy)?);
    let acquirer = Acquirer {
        trees: &trees,
        policy: &policy,
        fetcher: &fetcher,
        network: &network,
        printer,
    };
    let proven = acquire_plan(plan, &acquirer)?;
    let tools = acquire_platform_tools(&machines.list_hosts(), proven.plan(), &acquirer)?;
    let mut verified: Vec<&VerifiedArtifact> = proven.artifacts().iter().collect();
    verified.extend(tools.iter().map(|tool| &tool.verified));
    let files = verified.iter().map(|artifact| describe_file(artifact));
    let output = OutputList::new("imagegen.dev/fetch/v1", files.collect::<Vec<_>>());
    printer.print_summary(&output, || {
        let mut text = String::new();
        for artifact in &verified {
            text.push_str(&artifact.format_summary());
            text.push('\n');
        }
        text
    })
}

fn describe_file(verified: &VerifiedArtifact) -> FetchOutput {
    let (artifact, fetched) = (verified.artifact(), verified.fetched());
    FetchOutput {
        component: artifact.component.to_string(),
        version: artifact.version.to_string(),
        url: fetched.place().to_owned(),
        sha256: fetched.sha256().to_owned(),
        size: fetched.size(),
        path: fetched.path().display().to_string(),
        evidence: artifact.evidence.clone(),
    }
}
