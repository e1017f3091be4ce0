//! Values that other programs write on a clone or a node. A join compares what lasts, and must not fail for them.

use crate::base::code::Code;
use crate::model::policy::matches_pattern;
use crate::windows::resource::{Phase, Resource, Scope};

use super::super::expect::ForeignWrite;
use super::Context;

pub(super) fn check_foreign_writes(context: &Context<'_>) {
    let lasting = context
        .resources
        .iter()
        .filter(|resource| resource.scope == Scope::Node);
    for resource in lasting {
        let write = context.expectations.writes.iter().find(|write| {
            is_written(resource, write) && !is_answered(context.resources, resource, write)
        });
        if let Some(write) = write {
            report_write(context, resource, write);
        }
    }
}

fn is_written(resource: &Resource, write: &ForeignWrite) -> bool {
    let identity = resource.kind.properties().identity();
    if !matches_pattern(&write.thing.to_lowercase(), identity.key()) {
        return false;
    }
    let (kind, properties) = resource.kind.to_json();
    kind == write.kind && properties.contains_key(&write.property)
}

/// A value that is set again at the first start of a clone stays only where nobody writes it later.
fn is_answered(resources: &[Resource], resource: &Resource, write: &ForeignWrite) -> bool {
    resource.volatile.contains_key(&write.property)
        || (!write.later
            && resources
                .iter()
                .any(|it| it.phase == Phase::Firstboot && it.kind == resource.kind))
}

fn report_write(context: &Context<'_>, resource: &Resource, write: &ForeignWrite) {
    let ForeignWrite { by, property, .. } = write;
    let identity = resource.kind.properties().identity();
    let message = format!("`{property}` of {identity} is also written by {by}");
    let remedy = format!(
        "say in `volatile` why the node is right with either value: `\"volatile\": {{\"{property}\": \"…\"}}`{}",
        if write.later {
            ""
        } else {
            ", or set it again on the clone: `\"firstboot\": true`"
        }
    );
    context.add_problem(Code::FOREIGN_WRITE, resource, message, &remedy);
}
