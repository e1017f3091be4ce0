//! Where publishers list their releases, and how such a list is read.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::base::json::parse_foreign;
use crate::base::version::Version;
use crate::diagnostic::classify;

/// A publisher's list of releases. In its `url`, `{minor}` stands for the Kubernetes line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Upstream {
    pub kind: UpstreamKind,
    pub url: String,
    /// A release's name, with `{version}`.
    pub tag: String,
    pub source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamKind {
    /// The name of the newest release and nothing else, as Kubernetes' `stable-1.36.txt`.
    Newest,
    /// GitHub's REST API: an array of releases, the newest first.
    GithubReleases,
}

/// A list of releases that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the releases of {name} ({url}) cannot be read: {reason}")]
pub struct UpstreamError {
    pub name: String,
    pub url: String,
    pub reason: String,
}

classify!(UpstreamError => DOWNLOAD);

impl Upstream {
    pub fn list_url(&self, minor: &str) -> String {
        self.url.replace("{minor}", minor)
    }

    /// The page of a release beside a list of GitHub's, with `{version}`.
    pub fn release_page(&self) -> Option<String> {
        let path = self.url.strip_prefix("https://api.github.com/repos/")?;
        let (repository, _) = path.split_once("/releases")?;
        Some(format!(
            "https://github.com/{repository}/releases/tag/{}",
            self.tag
        ))
    }

    /// The releases that a list names, ascending. Drafts, releases marked as not final, and names of
    /// another form are left out.
    ///
    /// # Errors
    /// Why it is no such list.
    pub fn parse_releases(&self, list: &[u8]) -> Result<Vec<Version>, String> {
        let mut versions = match self.kind {
            UpstreamKind::Newest => {
                let text = std::str::from_utf8(list).unwrap_or_default().trim();
                vec![self.parse_version(text).ok_or("it contains no release")?]
            }
            UpstreamKind::GithubReleases => {
                let list: Value =
                    parse_foreign(list).map_err(|error| format!("it is not JSON: {error}"))?;
                let releases = list.as_array().ok_or("it is not a list of releases")?;
                let mut versions = Vec::new();
                for release in releases {
                    let is_final = release["draft"] != true && release["prerelease"] != true;
                    if is_final && let Some(name) = release["tag_name"].as_str() {
                        versions.extend(self.parse_version(name));
                    }
                }
                versions
            }
        };
        versions.sort();
        versions.dedup();
        Ok(versions)
    }

    fn parse_version(&self, name: &str) -> Option<Version> {
        let (before, after) = self.tag.split_once("{version}")?;
        let version: Version = name
            .strip_prefix(before)?
            .strip_suffix(after)?
            .parse()
            .ok()?;
        // Any word is a version; a release has numbers.
        (version.numbers().len() >= 2).then_some(version)
    }
}

#[cfg(test)]
mod tests {
    use super::{Upstream, UpstreamKind};

    fn upstream(kind: UpstreamKind, tag: &str) -> Upstream {
        let url = "https://example.test/{minor}".to_owned();
        Upstream {
            kind,
            url,
            tag: tag.to_owned(),
            source: String::new(),
        }
    }

    fn said(upstream: &Upstream, list: &str) -> Result<Vec<String>, String> {
        let versions = upstream.parse_releases(list.as_bytes())?;
        Ok(versions.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_newest_release_of_a_line() {
        let upstream = upstream(UpstreamKind::Newest, "v{version}");
        assert_eq!(upstream.list_url("1.36"), "https://example.test/1.36");
        assert_eq!(said(&upstream, "v1.36.9\n").unwrap(), ["1.36.9"]);
        for wrong in ["", "<html>", "1.36.9", "v1.36.9 v1.36.8", "vnext"] {
            assert_eq!(
                said(&upstream, wrong),
                Err("it contains no release".to_owned()),
                "{wrong}"
            );
        }
    }

    #[test]
    fn releases_of_github_without_drafts_and_other_names() {
        let list = r#"[
        {"tag_name": "v2.3.0-rc.1", "prerelease": true},
        {"tag_name": "v1.7.30", "draft": false}, {"tag_name": "api/v1.9.0"},
        {"tag_name": "v2.2.1"}, {"tag_name": "v2.4.0", "draft": true}, {"name": "nothing"}
    ]"#;
        let versions = said(&upstream(UpstreamKind::GithubReleases, "v{version}"), list);
        assert_eq!(versions.unwrap(), ["1.7.30", "2.2.1"]);
        let preview = upstream(UpstreamKind::GithubReleases, "v{version}-Preview");
        let list = r#"[{"tag_name": "v9.8.3.0p2-Preview"}, {"tag_name": "v9.5.0.0p1-Beta"}]"#;
        assert_eq!(said(&preview, list).unwrap(), ["9.8.3.0p2"]);
    }

    #[test]
    fn what_is_no_list_is_told() {
        let github = upstream(UpstreamKind::GithubReleases, "v{version}");
        assert_eq!(
            said(&github, r#"{"message": "rate limit"}"#),
            Err("it is not a list of releases".to_owned())
        );
        assert!(
            said(&github, "<html>")
                .unwrap_err()
                .starts_with("it is not JSON")
        );
    }
}
