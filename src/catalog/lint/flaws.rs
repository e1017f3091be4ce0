//! Entries of vulnerabilities: known components, versions in order.

use crate::base::code::Code;
use crate::base::version::Version;
use crate::model::vulnerability::{RangeEvent, Vulnerability};

use super::{Report, check_reference};

const PATH: &str = "vulnerabilities.json";

pub(super) fn lint_flaws(report: &mut Report<'_>) {
    let Some(flaws) = report.accept_file(PATH, report.catalog.load_vulnerabilities()) else {
        return;
    };
    for flaw in &flaws.vulnerabilities {
        let components = flaw
            .affected
            .iter()
            .flat_map(|it| &it.ecosystem_specific.components);
        for component in components {
            check_reference(report, PATH, &flaw.id, component);
        }
        if !are_events_ordered(flaw) {
            let message = format!(
                "{}: `events` are ascending, each `introduced` before its `fixed`",
                flaw.id
            );
            report.add_error(Code::ORDER, PATH, message);
        }
    }
}

fn are_events_ordered(flaw: &Vulnerability) -> bool {
    for range in flaw.affected.iter().flat_map(|it| &it.ranges) {
        let mut last: Option<(&Version, bool)> = None;
        for event in &range.events {
            let (version, begins) = match event {
                RangeEvent::Introduced(version) => (version, true),
                RangeEvent::Fixed(version) => (version, false),
            };
            let follows = match last {
                Some((before, began)) => before < version && began != begins,
                None => begins,
            };
            if !follows {
                return false;
            }
            last = Some((version, begins));
        }
    }
    true
}
