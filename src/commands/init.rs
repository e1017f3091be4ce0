//! `imagegen init`.

use crate::base::json;
use crate::cli::{InitArgs, SourceArgs};
use crate::diagnostic::{InputError, Result};
use crate::io::fs;
use crate::planning::draft_definition;
use crate::selection::read_sources;
use crate::ui::Printer;
use crate::view::InitOutput;

pub(super) fn run_init(args: &InitArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    if fs::read_if_exists(&args.out)?.is_some() {
        let message = format!("{} already exists", args.out.display());
        return Err(
            InputError::new(message, "move it away, or choose another `--out FILE`").into(),
        );
    }
    let trees = read_sources(sources, &[])?;
    let (definition, plan) = draft_definition(args, &trees, printer)?;
    fs::write_file(&args.out, json::format_json(&definition).as_bytes())?;
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
