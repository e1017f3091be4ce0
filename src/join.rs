//! Join data: the JoinConfiguration and user-data of a node. Pure.
//!
//! The image lacks only the cluster's endpoint, CA hash and token, and the settings of this node. They
//! become kubeadm's JoinConfiguration for the image's Kubernetes version, and user-data that carries it.

mod capi;
mod check;
mod config;
mod kubeconfig;
mod kubelet;
mod span;
mod token;
mod userdata;
mod yaml;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::choice::Join;
use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::catalog::Catalog;
use crate::diagnostic::{Finding, Refusal, Result};
use crate::model::plan::Plan;

pub use check::check_endpoint;
pub use kubeconfig::{Credentials, check_kubeconfig};
pub use token::BootstrapToken;
pub use userdata::Places;

/// Input of the join data, without secrets: `imagegen join-data --from FILE`, or the flags.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"endpoint\": \"api.example.com:6443\"}`")]
pub struct JoinInput {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// `HOST:PORT` of the cluster's API server.
    pub endpoint: Option<String>,
    /// `sha256:…` over the public key of the cluster's CA. One of them has to fit.
    #[serde(default)]
    pub ca_cert_hashes: Vec<String>,
    /// Name of the node, where it is not the machine's own.
    pub name: Option<String>,
    /// `KEY=VALUE`
    #[serde(default)]
    pub labels: Vec<String>,
    /// `KEY[=VALUE]:EFFECT`
    #[serde(default)]
    pub taints: Vec<String>,
    /// `NAME=VALUE`, without leading dashes.
    #[serde(default)]
    pub kubelet_args: Vec<String>,
    /// The same, given by the operator on the command line: any flag of the kubelet.
    #[serde(skip)]
    pub given_args: Vec<String>,
    /// API version of a template of Cluster API.
    #[serde(skip)]
    pub template_api: Option<String>,
    /// Checks of kubeadm that may fail.
    #[serde(default)]
    pub ignore_preflight_errors: Vec<String>,
    /// How long kubeadm looks for the cluster: `5m0s`.
    pub discovery_timeout: Option<String>,
}

impl JoinInput {
    /// `self` where it says something, else `base`; lists of both.
    #[must_use]
    pub fn merge_over(self, base: Self) -> Self {
        let both = |mut base: Vec<String>, over: Vec<String>| {
            base.extend(over);
            base
        };
        Self {
            schema: None,
            endpoint: self.endpoint.or(base.endpoint),
            ca_cert_hashes: both(base.ca_cert_hashes, self.ca_cert_hashes),
            name: self.name.or(base.name),
            labels: both(base.labels, self.labels),
            taints: both(base.taints, self.taints),
            kubelet_args: both(base.kubelet_args, self.kubelet_args),
            given_args: both(base.given_args, self.given_args),
            template_api: self.template_api.or(base.template_api),
            ignore_preflight_errors: both(
                base.ignore_preflight_errors,
                self.ignore_preflight_errors,
            ),
            discovery_timeout: self.discovery_timeout.or(base.discovery_timeout),
        }
    }
}

/// In which form the join data leave the program.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// kubeadm's JoinConfiguration.
    Kubeadm,
    /// `#cloud-config`: writes the configuration and joins.
    CloudConfig,
    /// `#ps1_sysnative`: the same as a PowerShell script.
    Ps1,
    /// Multi-part MIME: configuration, secret and command in parts of their own.
    Mime,
    /// A `KubeadmConfigTemplate` of Cluster API, without cluster, token and name.
    Capi,
}

/// Secret values, which appear in the output alone.
#[derive(Debug, Default)]
pub struct Secrets {
    pub token: Option<BootstrapToken>,
    /// A kubeconfig with the address and CA of the cluster, instead of endpoint and hashes.
    pub kubeconfig: Option<Secret>,
}

/// Input that cannot be used.
#[must_use]
pub fn refuse_input(findings: Vec<Finding>) -> Refusal {
    Refusal {
        summary: "the input cannot be used",
        findings,
    }
}

/// The finished data.
#[derive(Debug)]
pub struct JoinData {
    /// `kubeadm.k8s.io/v1beta4`
    pub api_version: String,
    /// Holds the token.
    pub content: String,
    pub warnings: Vec<String>,
}

/// Joins input, secrets and the plan of the image into data for the node.
///
/// # Errors
/// All that is wrong with the input, at once; the catalog cannot be read.
pub fn build_join_data(
    input: &JoinInput,
    secrets: &Secrets,
    form: Form,
    plan: &Plan,
    catalog: &Catalog,
    places: &Places,
) -> Result<JoinData> {
    let mut problems = Vec::new();
    if plan.join == Join::None {
        let message = "an image with `--join none` has no kubeadm that could join";
        let remedy = "leave `join` out of the image definition, or join the node as the product that owns it says";
        problems.push(Finding::new(Code::JOIN_NONE, message, remedy).with_subject("join"));
    }
    let node = check::check_node(input, secrets, form, &mut problems);
    let arguments = kubelet::collect_arguments(input, form, plan, catalog, &mut problems)?;
    let apis = &catalog.load_support()?.cluster_api;
    let template_api = capi::choose_api(input, form, apis, &mut problems);
    let api = plan.line.kubeadm_api.last().cloned().unwrap_or_default();
    if !problems.is_empty() {
        return Err(refuse_input(problems).into());
    }
    let mut warnings = plan.list_survey_warnings();
    warnings.extend(arguments.warnings);
    warnings.extend(check::list_warnings(&node));
    warnings.extend(check::warn_of_proxy(&node, &plan.proxy));
    let arguments = arguments.list;
    if let Some(api) = template_api {
        let template = capi::build_template(&node, &arguments, plan, &api, places)
            .map_err(|finding| refuse_input(vec![finding]))?;
        return Ok(JoinData {
            api_version: capi::name_version(&api),
            content: template,
            warnings,
        });
    }
    let config = config::build_document(
        &node,
        &arguments,
        plan,
        &api,
        places,
        secrets.kubeconfig.is_some(),
    );
    let content = userdata::render_user_data(form, &config, secrets, places);
    warnings.extend(userdata::check_size(&content));
    if form == Form::Kubeadm && secrets.kubeconfig.is_some() {
        warnings.push(format!(
            "the discovery kubeconfig must be at {} on the node",
            places.discovery
        ));
    }
    Ok(JoinData {
        api_version: format!("{}/{api}", config::GROUP),
        content,
        warnings,
    })
}
