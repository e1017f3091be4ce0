//! An image beside the cluster of its nodes: what does not fit.

use std::collections::BTreeSet;

use crate::base::code::Code;
use crate::diagnostic::Finding;
use crate::model::plan::Plan;
use crate::windows::resource::Resource;

/// An image by its plan.
#[derive(Debug, Clone, Copy)]
pub struct NodeImage<'a> {
    pub plan: &'a Plan,
    pub resources: &'a [Resource],
}

/// Compares an image with nodes of the plan `nodes`, part by part. `wanted` is the same image with the pod network of these.
pub fn check_image(image: NodeImage<'_>, wanted: NodeImage<'_>, nodes: &Plan) -> Vec<Finding> {
    let own = image.plan;
    let mut found = Vec::new();
    let choices = [
        (
            "Kubernetes",
            own.line.minor.to_string(),
            nodes.line.minor.to_string(),
            "--k8s",
        ),
        (
            "the runtime",
            own.runtime.to_string(),
            nodes.runtime.to_string(),
            "--runtime",
        ),
        (
            "host access",
            own.host_access.to_string(),
            nodes.host_access.to_string(),
            "--host-access",
        ),
    ];
    for (what, has, asked, flag) in choices {
        if has != asked {
            let message = format!("the image has {what} {has}, not {asked}");
            let remedy = format!("leave `{flag}` out, or build the image with `{flag} {asked}`");
            found.push(Finding::new(Code::IMAGE_UNFIT, message, remedy));
        }
    }
    let has: BTreeSet<&str> = image.resources.iter().map(|it| it.name.as_str()).collect();
    let needs = wanted.resources.iter().map(|it| it.name.as_str());
    let lacking: Vec<&str> = needs.filter(|name| !has.contains(name)).collect();
    if !lacking.is_empty() {
        let network = &wanted.plan.network.name;
        let message = format!(
            "the image, with the pod network {}, lacks what {network} needs: {}",
            own.network.name,
            lacking.join(", ")
        );
        let remedy = format!("leave `--cni` out, or build the image with `--cni {network}`");
        found.push(Finding::new(Code::IMAGE_UNFIT, message, remedy));
    }
    found
}
