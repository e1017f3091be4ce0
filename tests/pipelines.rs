//! The pipelines for users: every script of every job as it stands, in the order and with the environment of its service,
//! from a pull request to images that leave.
//!
//! Never run: the services themselves, their schedulers, caches and runners, and Azure.

mod argo;
mod azure;
mod forge;
mod github;
mod gitlab;
mod shell;
mod steps;
mod story;
mod strangers;

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use crate::publish::Build;
use crate::support::{Test, root};

#[test]
fn github_tells_the_story() {
    story::tell(&github::Github::new());
}

#[test]
fn gitlab_tells_the_story() {
    story::tell(&gitlab::Gitlab::new());
}

#[test]
fn azure_tells_the_story() {
    story::tell(&azure::Azure::new());
}

#[test]
fn argo_tells_the_story() {
    story::tell(&argo::Argo::new());
}

/// GitHub takes no more jobs of a matrix.
#[test]
fn github_bakes_as_many_images_as_a_matrix_takes() {
    let Some(forge) = forge::Forge::new() else {
        return;
    };
    let github = github::Github::new();
    for (count, jobs) in [(3, 3), (256, 256), (300, 256)] {
        forge.write("many", &count.to_string());
        assert_eq!(github.list_matrix(&forge), jobs);
    }
}

/// Clones have names of 15 characters at most, and every pod is an object of the cluster.
#[test]
fn argo_bakes_as_many_images_as_clones_have_names() {
    let Some(forge) = forge::Forge::new() else {
        return;
    };
    let argo = argo::Argo::new();
    for (count, images) in [(3, 3), (1100, 256)] {
        forge.write("many", &count.to_string());
        let clones = argo.list_clones(&forge);
        assert_eq!(clones.len(), images);
        assert!(clones.iter().all(|name| name.len() <= 15), "{clones:?}");
    }
}

/// The first version of each action that runs in Node 24, as its releases on GitHub say: runners have no Node 20 since
/// September 2026, <https://github.blog/changelog/2025-09-19-deprecation-of-node-20-on-github-actions-runners/>.
const NODE_24: [(&str, u32); 5] = [
    ("actions/checkout", 5),
    ("actions/cache", 5),
    ("actions/upload-artifact", 6),
    ("actions/download-artifact", 7),
    ("actions/attest-build-provenance", 3),
];

/// Labels of runners that GitHub took away: <https://github.com/actions/runner-images/issues/13518>,
/// <https://github.com/actions/runner-images/issues/13046>, <https://github.com/actions/runner-images/issues/11101>.
const GONE_RUNNERS: [&str; 3] = ["macos-14", "macos-13", "ubuntu-20.04"];

/// A tag can be moved, and a commit cannot.
#[test]
fn actions_of_github_are_commits_that_its_runners_run() {
    let mut seen = 0;
    for file in [
        "pipelines/github.yml",
        "pipelines/github-guest.yml",
        "pipelines/github-release.yml",
        "setup-imagegen/action.yml",
    ] {
        let path = root().join("ci/publish").join(file);
        let text = std::fs::read_to_string(path).expect("pipeline");
        for label in GONE_RUNNERS {
            assert!(!text.contains(label), "{file}: {label}");
        }
        for line in text.lines() {
            let line = line.trim().trim_start_matches("- ");
            let Some(action) = line.strip_prefix("uses: ") else {
                continue;
            };
            if action.starts_with("./") {
                continue;
            }
            let (name, commit) = action.split_once('@').expect("an action");
            let (commit, version) = commit.split_once(" # v").expect(line);
            let is_hex = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_hex && commit.len() == 40, "{file}: {line}");
            let major: u32 = version.split('.').next().unwrap().parse().expect(line);
            let known = NODE_24.iter().find(|(known, _)| *known == name);
            assert!(known.expect(line).1 <= major, "{file}: {line}");
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

/// GitHub writes a cache once: a job that downloads nothing must not write that of the job that bakes.
#[test]
fn each_job_of_github_has_a_cache_of_its_own() {
    let path = root().join("ci/publish/setup-imagegen/action.yml");
    let text = std::fs::read_to_string(path).expect("action");
    let keys: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().split_once("key"))
        .map(|(_, key)| key.trim_start_matches(['s', ':', ' ']))
        .filter(|key| key.starts_with("imagegen-store-"))
        .collect();
    assert_eq!(keys.len(), 2);
    for key in keys {
        let own = "imagegen-store-${{ github.job }}-";
        assert!(key.starts_with(own), "{key}");
    }
}

/// A step of hours shows the token of its pod again and again.
#[test]
fn argo_gives_tokens_for_as_long_as_a_step_lasts() {
    let argo = argo::Argo::new();
    let tokens = argo.list_tokens();
    let expected = ["bake", "promote", "weekly"].map(|name| (name, json!("14400")));
    assert_eq!(tokens, expected.each_ref().map(|(name, it)| (*name, it)));
}

/// A person may start the pipeline, such as for images that are left, and a schedule bakes nothing.
#[test]
fn gitlab_bakes_after_a_push_or_by_hand() {
    let gitlab = gitlab::Gitlab::new();
    for source in ["push", "web", "api"] {
        let expected = ["bake", "complete", "images", "promote", "waiting"];
        assert_eq!(gitlab.list_jobs(source, &[]), expected, "{source}");
    }
    let request = gitlab.list_jobs("merge_request_event", &[]);
    assert_eq!(request, ["preview"]);
    assert_eq!(gitlab.list_jobs("schedule", &[]), [""; 0]);
    let update = gitlab.list_jobs("schedule", &[("UPDATE", "true")]);
    assert_eq!(update, ["nightly"]);
}

/// GitLab refuses a deployment of a pipeline that is older than the last one.
#[test]
fn gitlab_deploys_by_promotions_alone() {
    let gitlab = gitlab::Gitlab::new();
    for (job, name, action) in [
        (".bake", "images", json!("access")),
        ("promote", "production", Value::Null),
        ("weekly", "production", json!("access")),
    ] {
        assert_eq!(
            gitlab.find_environment(job),
            (&json!(name), &action),
            "{job}"
        );
    }
}

/// A person may take days for an approval.
#[test]
fn argo_limits_the_time_of_pods_alone() {
    let argo = argo::Argo::new();
    let (workflow, templates) = argo.list_deadlines();
    assert!(workflow.is_null(), "{workflow}");
    assert!(templates.len() > 5, "{templates:?}");
    assert!(templates.iter().all(|it| it.is_u64()), "{templates:?}");
}

fn list_unbuilt(test: &Test) -> Vec<String> {
    let listed = test.prints("list images --unbuilt --from records --format json");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let rows = listed["items"].as_array().expect("items").iter();
    rows.map(|row| row["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn images_that_share_a_lockfile_are_listed_until_they_differ() {
    let definition = json!({
        "target": "host", "kubernetes": "1.36.0", "images": {"east": {}, "west": {}, "old": {"kubernetes": "1.35.0"}},
    });
    let mut record = Build::default().record();
    record["lock"] = json!(sha256_hex(b"\"same\"\n"));
    let test = Test::new()
        .file("imagegen.json", &definition.to_string())
        .file("imagegen.east.lock.json", "\"same\"\n")
        .file("imagegen.west.lock.json", "\"same\"\n")
        .file("records/one/image.json", &record.to_string());
    assert_eq!(list_unbuilt(&test), ["east", "old", "west"]);
    let test = test.file("imagegen.west.lock.json", "\"other\"\n");
    assert_eq!(list_unbuilt(&test), ["old", "west"]);

    // An image that was retired is there; one that was deleted is built again.
    let mut retirement = json!({
        "schema": "imagegen.dev/retirement/v1", "imageVersion": "one", "started": "2020-01-01T00:00:00Z",
        "state": "retired", "at": "2020-02-01T00:00:00Z",
    });
    let test = test.file("records/one/retirement.json", &retirement.to_string());
    assert_eq!(list_unbuilt(&test), ["old", "west"]);
    retirement["state"] = json!("deleted");
    let test = test.file("records/one/retirement.json", &retirement.to_string());
    assert_eq!(list_unbuilt(&test), ["east", "old", "west"]);
}
