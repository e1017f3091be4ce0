//! Conditions that a `when` is asked about.

use std::collections::{BTreeMap, BTreeSet};

use super::step::When;
use crate::base::choice::{Delivery, HostAccess, Join, Runtime};
use crate::base::version::{Version, VersionRange};
use crate::windows::resource::WinrmTransport;

/// The choices of a plan, as far as conditions name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    pub target: String,
    /// Whether the target's builds make images.
    pub image: bool,
    pub windows: String,
    pub kubernetes: Version,
    pub runtime: Runtime,
    pub runtime_version: Option<Version>,
    /// Name of the pod network.
    pub cni: String,
    /// Whether that is an overlay.
    pub overlay: bool,
    /// Whether the Windows release supports direct server return at every update level.
    pub dsr: bool,
    pub host_access: HostAccess,
    pub join: Join,
    pub delivery: Delivery,
    /// How Packer reaches the machine.
    pub winrm: Option<WinrmTransport>,
    /// Optional features that were asked for.
    pub features: BTreeSet<String>,
    /// Groups and components that are part of the plan.
    pub components: BTreeMap<String, Version>,
}

impl Conditions {
    /// Whether every condition that `when` gives holds. A range that cannot be read never holds.
    pub fn holds(&self, when: &When) -> bool {
        is_listed(when.target.as_ref(), &self.target)
            && when.image.is_none_or(|image| image == self.image)
            && is_listed(when.windows.as_ref(), &self.windows)
            && in_range(when.kubernetes.as_ref(), Some(&self.kubernetes))
            && is_listed(when.runtime.as_ref(), self.runtime.as_str())
            && in_range(when.runtime_version.as_ref(), self.runtime_version.as_ref())
            && is_listed(when.cni.as_ref(), &self.cni)
            && when.overlay.is_none_or(|overlay| overlay == self.overlay)
            && when.dsr.is_none_or(|dsr| dsr == self.dsr)
            && is_listed(when.host_access.as_ref(), self.host_access.as_str())
            && is_listed(when.join.as_ref(), self.join.as_str())
            && is_listed(when.delivery.as_ref(), self.delivery.as_str())
            && when
                .winrm
                .is_none_or(|transport| self.winrm == Some(transport))
            && match_names(when.feature.as_ref(), |name| self.features.contains(name))
            && match_names(when.component.as_ref(), |name| {
                self.components.contains_key(name)
            })
    }

    /// Whether a rule for these versions of Kubernetes applies.
    pub fn admits(&self, versions: &VersionRange, when: &When) -> bool {
        versions.contains(&self.kubernetes) && self.holds(when)
    }
}

/// Whether every name is there, and none of those with a leading `!`. Of names joined by `|`, one is enough.
fn match_names(names: Option<&Vec<String>>, is_there: impl Fn(&str) -> bool) -> bool {
    let mut names = names.into_iter().flatten();
    names.all(|name| {
        name.split('|').any(|name| match name.strip_prefix('!') {
            Some(name) => !is_there(name),
            None => is_there(name),
        })
    })
}

fn is_listed(names: Option<&Vec<String>>, name: &str) -> bool {
    let Some(names) = names else {
        return true;
    };
    names.iter().any(|known| match known.strip_prefix('!') {
        Some(other) => other != name,
        None => known == name,
    })
}

fn in_range(range: Option<&VersionRange>, version: Option<&Version>) -> bool {
    match (range, version) {
        (None, _) => true,
        (Some(range), Some(version)) => range.contains(version),
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "texts of these tests")]

    use super::Conditions;
    use crate::base::choice::{Delivery, HostAccess, Join, Runtime};
    use crate::model::step::When;
    use crate::windows::resource::WinrmTransport;

    fn conditions() -> Conditions {
        Conditions {
            target: "cloud".to_owned(),
            image: true,
            windows: "2019".to_owned(),
            kubernetes: "1.20.0".parse().expect("version"),
            runtime: Runtime::Containerd,
            runtime_version: "1.7.27".parse().ok(),
            cni: "bridge".to_owned(),
            overlay: false,
            dsr: true,
            host_access: HostAccess::Wins,
            join: Join::Templates,
            delivery: Delivery::Download,
            winrm: Some(WinrmTransport::Https),
            features: ["gmsa".to_owned()].into(),
            components: [("wins".to_owned(), "0.0.4".parse().expect("version"))].into(),
        }
    }

    #[test]
    fn every_condition_can_fail_alone() {
        let conditions = conditions();
        for (holds, text) in [
            (true, "{}"),
            (true, r#"{"target":["other","cloud"]}"#),
            (false, r#"{"target":["other"]}"#),
            (false, r#"{"target":[]}"#),
            (true, r#"{"image":true}"#),
            (false, r#"{"image":false}"#),
            (false, r#"{"windows":["2022"]}"#),
            (true, r#"{"kubernetes":">=1.20.0, <1.21.0"}"#),
            (false, r#"{"kubernetes":">=1.24.0"}"#),
            (false, r#"{"runtime":["docker"]}"#),
            (false, r#"{"runtimeVersion":">=2.0.0"}"#),
            (false, r#"{"cni":["calico"]}"#),
            (true, r#"{"cni":["!calico"]}"#),
            (false, r#"{"cni":["!bridge"]}"#),
            (false, r#"{"overlay":true}"#),
            (true, r#"{"overlay":false}"#),
            (true, r#"{"dsr":true}"#),
            (false, r#"{"dsr":false}"#),
            (false, r#"{"hostAccess":["services"]}"#),
            (true, r#"{"join":["!none"]}"#),
            (false, r#"{"join":["kubeadm"]}"#),
            (false, r#"{"delivery":["media"]}"#),
            (true, r#"{"winrm":"HTTPS"}"#),
            (false, r#"{"winrm":"HTTP"}"#),
            (true, r#"{"feature":["gmsa","!smb"]}"#),
            (false, r#"{"feature":["!gmsa"]}"#),
            (false, r#"{"feature":["smb"]}"#),
            (true, r#"{"component":["wins","!csi-proxy"]}"#),
            (true, r#"{"component":["csi-proxy|wins"]}"#),
            (false, r#"{"component":["csi-proxy|docker"]}"#),
            (false, r#"{"component":["!wins"]}"#),
        ] {
            let when: When = serde_json::from_str(text).expect(text);
            assert_eq!(conditions.holds(&when), holds, "{text}");
        }
    }

    #[test]
    fn a_range_that_is_none_is_refused_when_read() {
        assert!(serde_json::from_str::<When>(r#"{"kubernetes":"1.20"}"#).is_err());
    }
}
