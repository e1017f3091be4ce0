//! `imagegen init`.

use crate::base::json;
use crate::cli::InitArgs;
use crate::diagnostic::{Error, Result};
use crate::model::definition::ImageDefinition;
use crate::planning::draft_definition;
use crate::selection::{Flags, SourceFolders, read_sources};
use crate::ui::Printer;
use crate::view::InitOutput;

pub(super) fn run_init(args: &InitArgs, sources: &SourceFolders, printer: &Printer) -> Result<()> {
    let Some(out) = args.out.check_new() else {
        let message = format!("{} already exists", args.out.display());
        return Err(Error::value(
            message,
            "move it away, or choose another `--out FILE`",
        ));
    };
    let trees = read_sources(sources, &[])?;
    let (definition, plan) = draft_definition(&read_answers(args), &trees, printer)?;
    out.write(json::format_json(&definition).as_bytes())?;
    let file = args.out.display();
    let config = if file.to_string() == "imagegen.json" {
        String::new()
    } else {
        format!(" --config {file}")
    };
    printer.print_note(&format!(
        "next: imagegen plan{config}, imagegen lock{config}, imagegen build{config}"
    ));
    for missing in &plan.missing {
        printer.print_note(&format!(
            "a bake needs {}: {} ({})",
            missing.names.join(" or "),
            missing.description,
            missing.from.join("; ")
        ));
    }
    let output = InitOutput {
        schema: "imagegen.dev/init/v1",
        file: file.to_string(),
        definition,
    };
    printer.print_result(&output, || format!("{}\n", output.file))
}

/// The answers that the flags give.
fn read_answers(args: &InitArgs) -> Flags {
    Flags {
        definition: ImageDefinition {
            target: args.target.clone(),
            kubernetes: args.k8s.clone(),
            windows: args.windows.clone(),
            cni: args.cni.clone(),
            host_access: args.host_access,
            ..ImageDefinition::default()
        },
        variables: args.variables.clone(),
        ..Flags::default()
    }
}
