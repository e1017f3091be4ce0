//! Rules of the catalog that no single component, line or release owns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::component::ComponentConditions;
use super::step::When;
use crate::base::value::ComponentName;
use crate::base::version::VersionRange;

/// `manifests/rules.json`: combinations that cannot work, or work with a flaw, and why.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rules {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub refusals: Vec<CombinationRule>,
    /// Pod networks of others that no file of `networks` makes, and what to do instead.
    #[serde(default)]
    pub networks: Vec<ForeignNetwork>,
    /// Products that install the kubelet themselves, and what an image for them must not have.
    #[serde(default)]
    pub owners: Vec<NodeOwner>,
    /// Combinations that are built, with a warning.
    #[serde(default)]
    pub warnings: Vec<CombinationRule>,
}

/// A pod network that people know and imagegen does not make.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ForeignNetwork {
    pub name: String,
    /// Why it is not made.
    pub reason: String,
    /// The nearest good choice, as an imperative.
    pub instead: String,
    pub source: String,
}

/// A product that installs the kubelet itself, or accepts only its own images.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeOwner {
    pub name: String,
    pub title: String,
    /// Services that an image for it must not have.
    #[serde(default)]
    pub services: Vec<String>,
    /// Files and folders that an image for it must not have.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Why not.
    pub reason: String,
    /// The nearest good choice, as an imperative.
    pub instead: String,
    pub source: String,
}

/// A rule applies where `when` and every component's range hold.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CombinationRule {
    pub id: String,
    #[serde(default)]
    pub when: When,
    #[serde(default)]
    pub components: BTreeMap<ComponentName, VersionRange>,
    /// Why it cannot work, or what does not work.
    pub reason: String,
    /// The nearest good choice, as an imperative.
    pub instead: String,
    pub source: String,
}

/// `manifests/contents.json`: which components an image gets.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Contents {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub groups: Vec<Group>,
}

/// Components that come together.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Group {
    /// Name that steps use; a component's own where it stands alone.
    pub name: ComponentName,
    #[serde(default)]
    pub when: When,
    /// Only where the user names the component.
    #[serde(default)]
    pub on_request: bool,
    /// Only where the pod network names it.
    #[serde(default)]
    pub by_network: bool,
    /// Sets of components that each give the whole; the one with the fewest unpinned artifacts is
    /// taken, the first of equals.
    pub alternatives: Vec<Vec<GroupMember>>,
    pub reason: String,
    pub source: String,
}

impl Group {
    /// The group of a component that stands alone.
    pub fn of_component(name: &ComponentName, own: &ComponentConditions) -> Self {
        let part = GroupMember {
            component: name.clone(),
            when: When::default(),
            follows_kubernetes: false,
        };
        Self {
            name: name.clone(),
            when: own.when.clone(),
            on_request: false,
            by_network: false,
            alternatives: vec![vec![part]],
            reason: own.reason.clone(),
            source: own.source.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GroupMember {
    pub component: ComponentName,
    #[serde(default)]
    pub when: When,
    /// Its version is the Kubernetes version.
    #[serde(default)]
    pub follows_kubernetes: bool,
}
