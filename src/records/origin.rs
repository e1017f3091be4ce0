//! Where a build runs: the page of the pipeline's run.

use crate::bake::Environment;
use crate::base::url::{HttpUrl, strip_secrets};

/// The page of the run in the pipeline's own system: GitHub, GitLab, DevOps, Jenkins, or
/// `IMAGEGEN_RUN_URL` for others.
#[must_use]
pub fn find_run_url(environment: &Environment) -> Option<String> {
    let read = |name: &str| {
        let value = environment.get(name)?.to_str()?;
        (!value.is_empty()).then(|| value.to_owned())
    };
    let on_github = || {
        let (server, repository) = (read("GITHUB_SERVER_URL")?, read("GITHUB_REPOSITORY")?);
        Some(format!(
            "{server}/{repository}/actions/runs/{}",
            read("GITHUB_RUN_ID")?
        ))
    };
    let on_devops = || {
        let (collection, project) = (read("SYSTEM_COLLECTIONURI")?, read("SYSTEM_TEAMPROJECT")?);
        let id = read("BUILD_BUILDID")?;
        let collection = collection.trim_end_matches('/');
        let project = project.replace(' ', "%20");
        Some(format!(
            "{collection}/{project}/_build/results?buildId={id}"
        ))
    };
    let url = read("IMAGEGEN_RUN_URL")
        .or_else(on_github)
        .or_else(|| read("CI_JOB_URL"))
        .or_else(on_devops)
        .or_else(|| read("BUILD_URL"))?;
    // DevOps names a run in the query, where others have secrets.
    let (plain, query) = url.split_once('?').unwrap_or((&url, ""));
    plain.parse::<HttpUrl>().ok()?;
    let plain = strip_secrets(plain);
    Some(match query.strip_prefix("buildId=") {
        Some(id) if id.bytes().all(|byte| byte.is_ascii_digit()) => format!("{plain}?{query}"),
        _ => plain,
    })
}
