//! Lists of releases.

use imagegen::model::upstream::{Upstream, UpstreamKind};

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
