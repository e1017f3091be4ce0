//! `imagegen explain`.

use std::path::Path;
use std::slice;

use clap::{Command, CommandFactory as _};

use crate::base::output_list::OutputList;
use crate::cli::{Cli, ExplainArgs};
use crate::diagnostic::{Error, Result};
use crate::selection::{DefinedImage, Definitions, NamingForm, SourceFolders, read_sources};
use crate::ui::Printer;
use crate::view::{Explanation, OptionHelp, explain_name};

use super::flags::read_flags;

pub(super) fn run_explain(
    args: &ExplainArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    if args.name.trim().is_empty() {
        let remedy = "give a name, such as `imagegen explain containerd`";
        return Err(Error::value("the name to explain is empty", remedy));
    }
    let image = choose_image(args.selection.config.as_deref(), printer)?;
    let trees = read_sources(sources, slice::from_ref(&image))?;
    let (found, plan) = explain_name(
        &args.name,
        &read_flags(&args.selection)?,
        &list_options(),
        &image,
        &trees,
    )?;
    printer.print_note(&format!(
        "for Kubernetes {}, Windows {}, target {}",
        plan.kubernetes, plan.windows.release, plan.target.name
    ));
    for warning in plan.list_survey_warnings() {
        printer.print_warning(&warning);
    }
    let output = OutputList::new("imagegen.dev/explanation/v1", found);
    printer.print_listing(&output, || {
        output.items.iter().map(format_explanation).collect()
    })
}

/// The image for which a name is explained: most names mean the same in each of several.
fn choose_image(config: Option<&Path>, printer: &Printer) -> Result<DefinedImage> {
    let definitions = Definitions::load(config)?;
    let [first, _, ..] = definitions.images() else {
        return definitions.require_one(NamingForm::Config);
    };
    let name = first.config();
    printer.print_note(&format!("of the image {name}; `--config` names another"));
    Ok(first.clone())
}

/// Flags of every verb.
pub fn list_options() -> Vec<OptionHelp> {
    let mut command = Cli::command();
    command.build();
    let mut options = Vec::new();
    collect_options(&command, "", &mut options);
    options
}

fn collect_options(command: &Command, verb: &str, options: &mut Vec<OptionHelp>) {
    let mut inner = Vec::new();
    inner.extend(command.get_subcommands());
    inner.retain(|inner| inner.get_name() != "help");
    for command in &inner {
        let verb = format!("{verb} {}", command.get_name());
        collect_options(command, verb.trim(), options);
    }
    if !inner.is_empty() {
        return;
    }

    for argument in command.get_arguments() {
        if let (Some(name), Some(help)) = (argument.get_long(), argument.get_help()) {
            options.push(OptionHelp {
                verb: verb.to_owned(),
                name: format!("--{name}"),
                help: help.to_string(),
                environment: argument
                    .get_env()
                    .map(|name| name.to_string_lossy().into_owned()),
            });
        }
    }
}

fn format_explanation(item: &Explanation) -> String {
    let lines: String = item
        .lines
        .iter()
        .map(|line| format!("  {line}\n"))
        .collect();
    format!(
        "{} {}\n{lines}  source: {}\n",
        item.kind, item.name, item.source
    )
}
