//! GitLab's pipeline. What decides here, and where it is said:
//!
//! * `before_script` and `script` are one script, by `set -o pipefail; set -o errexit; : | eval …`; `after_script` is one of
//!   its own, whose end does not matter: gitlab-org/gitlab-runner@main shells/bash.go,
//!   <https://docs.gitlab.com/ci/yaml/#after_script>
//! * `extends` merges maps and replaces lists, and later names win: <https://docs.gitlab.com/ci/yaml/yaml_optimization/>
//! * variables of a job are expanded, and a project's own win over them:
//!   <https://docs.gitlab.com/ci/variables/where_variables_can_be_used/>, <https://docs.gitlab.com/ci/variables/#cicd-variable-precedence>
//! * the address of `origin` has the job's token, which may push if the project allows it:
//!   <https://docs.gitlab.com/ci/jobs/ci_job_token/>
//! * a job with `needs` has the artifacts of these jobs alone: <https://docs.gitlab.com/ci/yaml/#needs>
//! * a stage begins when every job before it succeeded or may fail, and its jobs do not wait for each other:
//!   <https://docs.gitlab.com/ci/yaml/#allow_failure>

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::forge::{Checkout, Forge};
use super::story::{Pipeline, read_pipeline};

const ID: &str = "00000000-0000-0000-0000-000000000001";

pub struct Gitlab {
    pipeline: Value,
}

/// A run of a job.
struct Ended {
    succeeded: bool,
    /// `bake.yml`, `difference.md` or `names.txt`, if the job made it.
    artifact: Option<String>,
}

impl Gitlab {
    pub fn new() -> Self {
        Self {
            pipeline: read_pipeline("gitlab.yml").remove(0),
        }
    }

    fn run_job(&self, forge: &Forge, name: &str, revision: &str) -> Ended {
        let job = resolve_job(&self.pipeline, &self.pipeline[name]);
        run_resolved(forge, name, &job, revision, None)
    }

    /// Jobs that a rule lets run, of the default branch or of a merge request.
    pub fn list_jobs(&self, source: &str, more: &[(&str, &str)]) -> Vec<&str> {
        let mut variables = BTreeMap::from([
            ("CI_PIPELINE_SOURCE", source),
            ("CI_DEFAULT_BRANCH", "main"),
        ]);
        if source != "merge_request_event" {
            variables.insert("CI_COMMIT_BRANCH", "main");
        }
        variables.extend(more.iter().copied());
        let mut chosen = Vec::new();
        for (name, job) in self.pipeline.as_object().expect("jobs") {
            if name.starts_with('.') || !job["stage"].is_string() {
                continue;
            }
            let mut rules = job["rules"].as_array().expect("rules").iter();
            if rules.any(|rule| holds(rule["if"].as_str().expect("if"), &variables)) {
                chosen.push(name.as_str());
            }
        }
        chosen.sort_unstable();
        chosen
    }

    /// Environment of a job and its action.
    pub fn find_environment(&self, name: &str) -> (&Value, &Value) {
        let environment = &self.pipeline[name]["environment"];
        (&environment["name"], &environment["action"])
    }

    /// Runs the jobs of the pipeline that a job wrote. Its file is included in it.
    fn run_child(&self, forge: &Forge, text: &str) -> bool {
        let child: Value = serde_yaml_ng::from_str(text).expect("YAML");
        assert_eq!(child["include"][0]["local"], ".gitlab-ci.yml");
        let mut succeeded = true;
        for (name, job) in child.as_object().expect("jobs") {
            if name == "include" {
                continue;
            }
            assert!(name.len() < 255, "{name}");
            let job = resolve_job(&self.pipeline, job);
            succeeded &= run_resolved(forge, name, &job, "origin/main", None).succeeded;
        }
        succeeded
    }
}

/// Whether the condition of a rule holds: comparisons with texts, variables and lists of texts.
fn holds(condition: &str, variables: &BTreeMap<&str, &str>) -> bool {
    let find = |name: &str| {
        variables
            .get(name.strip_prefix('$').expect("a variable"))
            .copied()
    };
    condition.split(" && ").all(|comparison| {
        if let Some((name, pattern)) = comparison.split_once(" =~ /^(") {
            let mut texts = pattern.strip_suffix(")$/").expect("a list").split('|');
            return texts.any(|text| find(name) == Some(text));
        }
        let (name, value) = comparison.split_once(" == ").expect("a comparison");
        match value.strip_prefix('"') {
            Some(text) => find(name) == text.strip_suffix('"'),
            None => find(name) == find(value),
        }
    })
}

/// A job with what it extends.
fn resolve_job(pipeline: &Value, job: &Value) -> Value {
    let mut resolved = Value::Null;
    let parents = match &job["extends"] {
        Value::String(name) => vec![name.clone()],
        Value::Array(names) => names
            .iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect(),
        _ => Vec::new(),
    };
    for parent in parents {
        assert!(pipeline[&parent].is_object(), "{parent}");
        merge(&mut resolved, &resolve_job(pipeline, &pipeline[&parent]));
    }
    merge(&mut resolved, job);
    resolved
}

fn merge(into: &mut Value, from: &Value) {
    let (Value::Object(_), Value::Object(source)) = (&*into, from) else {
        into.clone_from(from);
        return;
    };
    for (key, value) in source {
        merge(&mut into[key], value);
    }
}

/// `names` is the artifact that the job needs.
fn run_resolved(
    forge: &Forge,
    name: &str,
    job: &Value,
    revision: &str,
    names: Option<&str>,
) -> Ended {
    let machine = forge.machine(&Checkout {
        origin: "forge://gitlab-ci-token:writer-gitlab@forge.test/nodes".to_owned(),
        kept: None,
        depth: match job["variables"]["GIT_DEPTH"].as_str() {
            Some("0") => None,
            _ => Some(20),
        },
        revision: revision.to_owned(),
    });
    if let Some(names) = names {
        fs::write(machine.work.join("names.txt"), names).expect("artifact");
    }
    let project = machine.work.display().to_string();
    let bin = machine.home.join("bin").display().to_string();
    fs::create_dir_all(&bin).expect("bin");
    let path = format!("{bin}:{}", machine.environment["PATH"]);
    let digest = forge.release_digest();
    // As many digits as gitlab.com has.
    let number = (11_000_000_000 + forge.list("").len()).to_string();
    let target = job["variables"]["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"].as_str();
    let target = target.unwrap_or("main");
    let mut known = BTreeMap::new();
    for (name, value) in [
        ("CI", "true"),
        ("GITLAB_CI", "true"),
        ("CI_PROJECT_DIR", &project),
        ("CI_CONFIG_PATH", ".gitlab-ci.yml"),
        ("CI_DEFAULT_BRANCH", "main"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", target),
        ("CI_JOB_ID", &number),
        ("IMAGEGEN_URL", "https://releases.test/imagegen"),
        ("IMAGEGEN_SHA256", &digest),
        ("AZURE_CLIENT_ID", ID),
        ("AZURE_TENANT_ID", ID),
        ("AZURE_SUBSCRIPTION_ID", ID),
        ("AZURE_LOCATION", "westeurope"),
        ("PATH", &path),
    ] {
        known.insert(name.to_owned(), value.to_owned());
    }
    let mut environment = BTreeMap::new();
    for (variable, value) in job["variables"].as_object().into_iter().flatten() {
        let text = value.as_str().expect("text");
        environment.insert(variable.clone(), text.to_owned());
    }
    environment.extend(known);
    // What stands for the container's folder of programs.
    environment.insert("IMAGEGEN_BIN".to_owned(), bin);
    let environment = expand_all(&environment);
    let mut environment = environment;
    for (variable, token) in job["id_tokens"].as_object().into_iter().flatten() {
        assert_eq!(token["aud"], "api://AzureADTokenExchange");
        environment.insert(variable.clone(), "oidc-gitlab".to_owned());
    }

    let script = format!(
        "{}\n{}",
        list_lines(&job["before_script"]),
        list_lines(&job["script"])
    );
    let ran = machine.run(&[], &wrap(&script), &environment);
    println!("== {name}\n{}", ran.log);
    let succeeded = ran.code == Some(0);
    if job["after_script"].is_array() {
        let status = if succeeded { "success" } else { "failed" };
        environment.insert("CI_JOB_STATUS".to_owned(), status.to_owned());
        let after = machine.run(&[], &wrap(&list_lines(&job["after_script"])), &environment);
        println!("== {name}, afterwards\n{}", after.log);
    }
    let mut files = ["bake.yml", "difference.md", "names.txt"].into_iter();
    let artifact = files.find_map(|file| fs::read_to_string(machine.work.join(file)).ok());
    Ended {
        succeeded,
        artifact,
    }
}

fn list_lines(script: &Value) -> String {
    let lines = script.as_array().into_iter().flatten();
    let lines: Vec<&str> = lines.map(|line| line.as_str().expect("text")).collect();
    lines.join("\n")
}

/// The script that the runner makes.
fn wrap(script: &str) -> String {
    let quoted = script.replace('\'', r"'\''");
    format!(
        "trap exit 1 TERM\n\nif set -o | grep pipefail > /dev/null; then set -o pipefail; fi; set -o errexit\n\
         set +o noclobber\n: | eval '{quoted}'\nexit 0\n"
    )
}

/// Expands `$NAME` in values, and those of the values that come.
fn expand_all(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut expanded = variables.clone();
    for value in expanded.values_mut() {
        while let Some((before, after)) = value.clone().split_once('$') {
            let end = after
                .find(|it: char| !it.is_ascii_alphanumeric() && it != '_')
                .unwrap_or(after.len());
            let name = &after[..end];
            let known = variables
                .get(name)
                .unwrap_or_else(|| panic!("no variable {name}"));
            *value = format!("{before}{known}{}", &after[end..]);
        }
    }
    expanded
}

impl Pipeline for Gitlab {
    fn preview(&self, forge: &Forge) -> bool {
        let ended = self.run_job(forge, "preview", "origin/change");
        // The pipeline of a fork, whose repository need not have the target branch.
        let base =
            forge.develop("git fetch --quiet origin && git merge-base origin/main origin/change");
        let mut fork = resolve_job(&self.pipeline, &self.pipeline["preview"]);
        let variables = serde_json::json!({
            "CI_PROJECT_ID": "2",
            "CI_MERGE_REQUEST_PROJECT_ID": "1",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "absent",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base.trim(),
        });
        merge(&mut fork["variables"], &variables);
        let forked = run_resolved(forge, "preview", &fork, "origin/change", None);
        assert_eq!(forked.artifact, ended.artifact);
        assert_eq!(forked.succeeded, ended.succeeded);
        forge.write("difference", &ended.artifact.unwrap_or_default());
        ended.succeeded
    }

    fn main(&self, forge: &Forge) -> bool {
        let images = self.run_job(forge, "images", "origin/main");
        if !images.succeeded {
            return false;
        }
        let trigger = &self.pipeline["bake"]["trigger"];
        assert_eq!(trigger["include"][0]["artifact"], "bake.yml");
        assert_eq!(trigger["strategy"], "depend");
        let child = images.artifact.expect("bake.yml");
        let baked = self.run_child(forge, &child);
        if !baked && self.pipeline["bake"]["allow_failure"] != true {
            return false;
        }
        let complete = self.run_job(forge, "complete", "origin/main").succeeded;
        let waiting = self.run_job(forge, "waiting", "origin/main");
        if !waiting.succeeded {
            return false;
        }
        assert_eq!(
            self.pipeline["waiting"]["artifacts"]["paths"][0],
            "names.txt"
        );
        assert_eq!(self.pipeline["promote"]["needs"][0], "waiting");
        let job = resolve_job(&self.pipeline, &self.pipeline["promote"]);
        let names = waiting.artifact.as_deref();
        complete & run_resolved(forge, "promote", &job, "origin/main", names).succeeded
    }

    fn nightly(&self, forge: &Forge) -> bool {
        let succeeded = self.run_job(forge, "nightly", "origin/main").succeeded;
        // Only what is pushed makes a request.
        if forge.read("newer").is_empty() {
            assert!(!forge.has("options"));
        } else {
            let options = forge.read("options");
            assert!(
                options.ends_with("merge_request.create\nmerge_request.target=main\n"),
                "{options}"
            );
        }
        succeeded
    }

    fn weekly(&self, forge: &Forge) -> bool {
        self.run_job(forge, "weekly", "origin/main").succeeded
    }

    fn read_preview(&self, forge: &Forge) -> String {
        forge.read("difference")
    }

    fn check_lock(&self) {
        assert_eq!(self.pipeline[".bake"]["resource_group"], "bake-$WORKSPACE");
    }

    fn cancel_signal(&self) -> &'static str {
        "-KILL"
    }
}
