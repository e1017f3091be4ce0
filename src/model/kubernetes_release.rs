//! Releases of Kubernetes itself, apart from those of the products that are built from it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;

use super::line::Minor;
use crate::base::value::serde_as_text;
use crate::base::version::Version;
use crate::diagnostic::classify;

/// A release of Kubernetes as its tags are written: `1.36.4`, or the prerelease `1.37.0-rc.0`.
///
/// Neither `1.36.04` nor `1.36.4+rke2r1` is one: nothing is published under such a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String", extend("examples" = ["1.36.4"]))]
pub struct KubernetesRelease(Version);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a release of Kubernetes such as `1.36.4`")]
pub struct KubernetesReleaseError {
    text: String,
}

classify!(KubernetesReleaseError => VALUE);

impl KubernetesRelease {
    pub fn version(&self) -> &Version {
        &self.0
    }
}

impl FromStr for KubernetesRelease {
    type Err = KubernetesReleaseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let version = is_release(text).then(|| text.parse::<Version>().ok());
        match version.flatten() {
            Some(version) => Ok(Self(version)),
            None => Err(KubernetesReleaseError {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for KubernetesRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

serde_as_text!(KubernetesRelease);

/// A release of a product, taken apart: 1.30.1 and `rke2r1` of `1.30.1+rke2r1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductRelease<'a> {
    /// The release of Kubernetes that the product is built from.
    pub kubernetes: KubernetesRelease,
    pub suffix: &'a str,
}

impl<'a> ProductRelease<'a> {
    /// None where no release of Kubernetes stands in front, nothing that has letters follows it, or the whole is a
    /// release of Kubernetes.
    pub fn split(text: &'a str) -> Option<Self> {
        let (kubernetes, suffix) = text.split_once(['+', '-'])?;
        let kubernetes = kubernetes.parse().ok()?;
        let has_letters = suffix.starts_with(|first: char| first.is_ascii_alphabetic());
        let is_product = has_letters && !is_release(text);
        is_product.then_some(Self { kubernetes, suffix })
    }
}

/// Whether three numbers stand there without leading zeros, alone or with the mark of a prerelease.
fn is_release(text: &str) -> bool {
    let (release, prerelease) = match text.split_once('-') {
        Some((release, prerelease)) => (release, Some(prerelease)),
        None => (text, None),
    };
    let Some((line, patch)) = release.rsplit_once('.') else {
        return false;
    };
    line.parse::<Minor>().is_ok() && is_number(patch) && prerelease.is_none_or(is_prerelease)
}

/// `alpha.1`, `beta.0` or `rc.2`, as the tags of Kubernetes have them.
fn is_prerelease(mark: &str) -> bool {
    let Some((kind, number)) = mark.split_once('.') else {
        return false;
    };
    ["alpha", "beta", "rc"].contains(&kind) && is_number(number)
}

fn is_number(digits: &str) -> bool {
    let is_canonical = digits == "0" || !digits.starts_with('0');
    is_canonical && digits.parse::<u32>().is_ok() && !digits.starts_with('+')
}

#[cfg(test)]
mod tests {
    use super::{KubernetesRelease, ProductRelease};

    #[test]
    fn releases_are_written_one_way() {
        for good in [
            "1.30.1",
            "1.30.0",
            "1.30.10",
            "1.37.0-rc.0",
            "1.37.0-alpha.12",
        ] {
            let release: KubernetesRelease = good.parse().expect(good);
            assert_eq!(release.to_string(), good);
        }
        for bad in [
            "",
            "1",
            "1.30",
            "1.30.",
            "1.30.01",
            "1.030.1",
            "01.30.1",
            "1.30.1.0",
            "v1.30.1",
            "1.30.+1",
            "1.30.1+",
            "1.30.1-",
            "1.30.1+k3s1",
            "1.30.1-eks-1",
            "1.30.1-rc",
            "1.30.1-rc.01",
            "1.30.1-rc.1+x",
            "1.30.1-pre.1",
            "1.30.x",
            "1.30.99999999999",
        ] {
            assert!(bad.parse::<KubernetesRelease>().is_err(), "{bad}");
        }
    }

    #[test]
    fn releases_of_products_name_their_release_of_kubernetes() {
        for (text, suffix) in [
            ("1.30.1+rke2r1", "rke2r1"),
            ("1.30.1-eks-abcdef0", "eks-abcdef0"),
            ("1.30.1-gke.100", "gke.100"),
            ("1.30.1+k3s1", "k3s1"),
        ] {
            let product = ProductRelease::split(text).expect(text);
            assert_eq!(product.kubernetes.to_string(), "1.30.1");
            assert_eq!(product.suffix, suffix);
        }
        for text in [
            "1.30.1",
            "1.30.01+k3s1",
            "1.30+k3s1",
            "1.30.1+",
            "1.30.1-1",
            "1.38.0-alpha.2",
            "stable",
        ] {
            assert_eq!(ProductRelease::split(text), None, "{text}");
        }
    }
}
