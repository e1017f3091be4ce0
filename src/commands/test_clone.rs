//! `imagegen test-clone`.

use std::fmt::Write as _;

use crate::cli::TestCloneArgs;
use crate::diagnostic::Result;
use crate::io::clock::current_time;
use crate::publish::{
    CloneOutput, CloneRequest, CloneRuns, CloneState, delete_clones, format_clones, list_clones,
    list_named_builds, refuse_deleted, run_clones,
};
use crate::selection::{SourceFolders, read_sources};
use crate::ui::Printer;

use super::publish::collect_values;

pub(super) fn run_test_clone(
    args: &TestCloneArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let builds = list_named_builds(&args.images, &(&args.publish.place).into(), printer)?;
    // The machine of an image that was deleted may still be there.
    if !args.delete {
        refuse_deleted(&builds)?;
    }
    let trees = read_sources(sources, &[])?;
    let values = collect_values(&args.publish.values)?;
    let request = CloneRequest {
        values: &values,
        name: args.clone.as_ref(),
        image: args.image_id.as_deref(),
        runs: if args.delete {
            CloneRuns::All
        } else {
            CloneRuns::New
        },
        now: current_time(),
    };
    let mut clones = list_clones(&builds, &request, &trees)?;
    if args.delete {
        for clone in &mut clones {
            clone.claim.clear();
            clone.test.clear();
        }
    }

    if !args.publish.run {
        let output = CloneOutput::new(&clones, CloneState::Printed);
        return printer.print_result(&output, || format_clones(&clones));
    }
    let state = if args.delete {
        delete_clones(&clones, printer)?;
        CloneState::Deleted
    } else {
        run_clones(&clones, printer)?;
        CloneState::Passed
    };
    let output = CloneOutput::new(&clones, state);
    printer.print_summary(&output, || format_clones_done(&output))
}

fn format_clones_done(output: &CloneOutput) -> String {
    let mut text = String::new();
    for row in &output.clones {
        let done = match row.state {
            CloneState::Deleted => "deleted the clone of",
            CloneState::Printed | CloneState::Passed => "passed",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{done} {} {}", row.image_version, row.image);
    }
    text
}
