//! Where a build runs: the page of the pipeline's run.

use crate::bake::Environment;
use crate::base::text::is_digits;
use crate::base::url::{HttpUrl, strip_secrets};

/// The page of the run in the pipeline's own system: GitHub, GitLab, DevOps, Jenkins, or
/// `IMAGEGEN_RUN_URL` for others.
pub fn find_run_url(environment: &Environment) -> Option<String> {
    let url = read_text(environment, "IMAGEGEN_RUN_URL")
        .or_else(|| find_github_url(environment))
        .or_else(|| read_text(environment, "CI_JOB_URL"))
        .or_else(|| find_devops_url(environment))
        .or_else(|| read_text(environment, "BUILD_URL"))?;
    // DevOps names a run in the query, where others have secrets.
    let (plain, query) = url.split_once('?').unwrap_or((&url, ""));
    plain.parse::<HttpUrl>().ok()?;
    let plain = strip_secrets(plain);
    Some(match query.strip_prefix("buildId=") {
        Some(id) if is_digits(id) => format!("{plain}?{query}"),
        _ => plain,
    })
}

/// A variable's text; an empty one is none.
fn read_text(environment: &Environment, name: &str) -> Option<String> {
    let value = environment.get(name)?.to_str()?;
    (!value.is_empty()).then(|| value.to_owned())
}

fn find_github_url(environment: &Environment) -> Option<String> {
    let server = read_text(environment, "GITHUB_SERVER_URL")?;
    let repository = read_text(environment, "GITHUB_REPOSITORY")?;
    let id = read_text(environment, "GITHUB_RUN_ID")?;
    Some(format!("{server}/{repository}/actions/runs/{id}"))
}

fn find_devops_url(environment: &Environment) -> Option<String> {
    let collection = read_text(environment, "SYSTEM_COLLECTIONURI")?;
    let project = read_text(environment, "SYSTEM_TEAMPROJECT")?.replace(' ', "%20");
    let id = read_text(environment, "BUILD_BUILDID")?;
    let collection = collection.trim_end_matches('/');
    Some(format!(
        "{collection}/{project}/_build/results?buildId={id}"
    ))
}
